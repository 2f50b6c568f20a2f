"""Whole numbers that a model takes out of PyTorch with `numpy()`: `for i, count in enumerate(counts.cpu().numpy())`.

They are a list of numbers that remember.
"""

from __future__ import annotations

from typing import Any, NoReturn

import torch

from .places import line_of_model
from .recorder import Unrecorded

#: Types whose elements are as Python's numbers are.
_WHOLE = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


class Elements(list):  # type: ignore[type-arg]
    """The elements of a tensor of one dimension. All that only NumPy's arrays do ends the export."""

    def __getattr__(self, name: str) -> Any:
        raise _refusal(f"numpy().{name}")

    def _refuse(self, *_: Any) -> NoReturn:
        raise _refusal("numpy()")

    __add__ = __radd__ = __iadd__ = __mul__ = __rmul__ = __imul__ = _refuse  # type: ignore[assignment]
    __sub__ = __rsub__ = __truediv__ = __floordiv__ = __mod__ = __neg__ = _refuse  # type: ignore[assignment]
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __setitem__ = __delitem__ = _refuse  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, (int, torch.SymInt, slice)):
            raise _refusal("numpy()")
        found = list.__getitem__(self, index)
        return Elements(found) if isinstance(index, slice) else found

    def tolist(self) -> list[Any]:
        return list(self)

    def item(self) -> Any:
        (found,) = self
        return found


def elements_of(tensor: Any, numbers: Any) -> Any:
    """What `numpy()` gives of a tensor whose elements `numbers()` lists.

    Raises:
        Unrecorded: It has more than one dimension, or no whole numbers.
    """
    if tensor.dtype not in _WHOLE or tensor.actual.dim() > 1:
        raise _refusal("numpy()")
    found = numbers()
    return Elements(found) if type(found) is list else found


def _refusal(what: str) -> Unrecorded:
    return Unrecorded(f"the model takes the elements of a tensor out of PyTorch with `{what}`", line_of_model())


__all__ = ["Elements", "elements_of"]
