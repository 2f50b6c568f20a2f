"""What `numpy()` gives of a tensor of the run: an array of `torch._numpy`, whose functions are calls of PyTorch.

Whole numbers of one dimension are a list of numbers that remember: `for i, count in enumerate(counts.cpu().numpy())`. For all else that arrays do
they are an array.
"""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch._numpy import ndarray as Array
from torch.utils import _pytree as pytree

from .places import line_of_model
from .recorder import Recorder

#: Functions of PyTorch that keep the type of a number of NumPy's. Others take it as a number of Python's.
_TYPED = (torch.tensor, torch.as_tensor, torch.asarray)
#: Types whose elements are as Python's numbers are.
_WHOLE = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


class Elements(list):  # type: ignore[type-arg]
    """The elements of a tensor of one dimension.

    Attributes:
        tensor: The tensor.
    """

    def __init__(self, numbers: list[Any], tensor: torch.Tensor) -> None:
        super().__init__(numbers)
        self.tensor = tensor

    def __getattr__(self, name: str) -> Any:
        return getattr(Array(self.tensor), name)

    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, (int, torch.SymInt)):
            return list.__getitem__(self, index)
        if isinstance(index, slice):
            return Elements(list.__getitem__(self, index), self.tensor[index])
        return Array(self.tensor)[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        Array(self.tensor)[index] = value
        numbers = self.tensor.tolist()
        list.__setitem__(self, slice(None), numbers)

    def tolist(self) -> list[Any]:
        return list(self)

    def item(self) -> Any:
        (found,) = self
        return found


def _of_array(function: Any) -> Any:
    return lambda elements, *others: function(Array(elements.tensor), *others)


def _reflected(function: Any) -> Any:
    return lambda elements, other: function(other, Array(elements.tensor))


for _name in "add sub mul truediv floordiv mod pow matmul eq ne lt le gt ge neg abs and_ or_ xor invert".split():
    _plain = _name.rstrip("_")
    setattr(Elements, f"__{_plain}__", _of_array(getattr(operator, _name)))
    if _plain in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor"):
        setattr(Elements, f"__r{_plain}__", _reflected(getattr(operator, _name)))
for _name in ("iadd", "imul"):
    setattr(Elements, f"__{_name}__", _of_array(getattr(operator, _name)))


def array_of(tensor: torch.Tensor) -> Any:
    """What `numpy()` of a tensor is."""
    assert Recorder.current is not None  # noqa: S101
    Recorder.current.array_lines.append(line_of_model())
    return Array(tensor)


def tensor_in(value: Any) -> Any:
    """The tensor in an array of the run, or the value as it is."""
    if isinstance(value, Array):
        return value.tensor
    return value.tensor if isinstance(value, Elements) else value


def number_in(value: Any) -> Any:
    """The number that an array of the run without dimensions is, or the value as it is."""
    return value.tensor.item() if isinstance(value, Array) and value.tensor.dim() == 0 else value


def outputs_of(returned: Any) -> tuple[list[Any], Any]:
    """The results of a model, with tensors in place of arrays, and the tree that they were in."""
    outputs, tree = pytree.tree_flatten(returned)
    return [tensor_in(output) for output in outputs], tree


def has_array(values: Any) -> bool:
    """Whether an array of the run is among the arguments of a call, or in a list of these."""
    return any(isinstance(value, (Array, Elements)) or (type(value) in (list, tuple) and has_array(value)) for value in values)


def without_arrays(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a function of PyTorch, with tensors and numbers in place of arrays of the run."""
    is_typed = function in _TYPED

    def plain(value: Any) -> Any:
        if type(value) in (list, tuple):
            return type(value)(map(plain, value)) if has_array(value) else value
        return tensor_in(value if is_typed else number_in(value))

    return tuple(map(plain, args)), {name: plain(value) for name, value in kwargs.items()}


def is_whole(tensor: torch.Tensor) -> bool:
    """Whether a tensor has one dimension, or none, and whole numbers."""
    return tensor.dtype in _WHOLE and tensor.dim() <= 1


__all__ = ["Array", "Elements", "array_of", "has_array", "is_whole", "number_in", "outputs_of", "tensor_in", "without_arrays"]
