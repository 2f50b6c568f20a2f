"""What the code of a model is told of the classes of values while a run is recorded: a size is an int, and a tensor is a torch.Tensor, as in a run that is not."""

from __future__ import annotations

import builtins
import re
import sys
from functools import lru_cache
from typing import Any

import torch

from .arrays import Array
from .kinds import Kind
from .numbers import number_of
from .ranges import Numbers, Range
from .sources import text_of
from .tensors import Tracked

#: What arrays are instances of as a model sees it.
_ARRAYS: dict[type, type] = {}
if "numpy" in sys.modules:  # PyTorch imports it, where it is installed
    from .numpys import ndarray_

    _ARRAYS = {Array: ndarray_, ndarray_.real: ndarray_}


def is_instance(value: Any, kinds: Any) -> bool:
    """`isinstance`: a number that remembers belongs to the classes of the plain one, too."""
    if builtins.isinstance(value, kinds):
        return True
    number = number_of(value)
    return number is not None and builtins.isinstance(number.value, kinds)


def is_subclass(kind: Any, kinds: Any) -> bool:
    """`issubclass`: what stands for a class is that class."""
    return builtins.issubclass(kind.real if builtins.isinstance(kind, Kind) else kind, kinds)


def class_of(value: Any) -> type:
    """The class that a value has in a run that is not recorded."""
    number = number_of(value)
    if number is not None:
        return builtins.type(number.value)
    found = builtins.type(value)
    if found is Tracked:
        return torch.Tensor
    if found in _ARRAYS:
        return _ARRAYS[found]
    if found is Range:
        return builtins.range
    is_list = found is Numbers or (issubclass(found, builtins.list) and found.__module__.startswith(__package__))
    return builtins.list if is_list else found


class _Type(Kind):
    """The class `type` as a model sees it."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) != 1 or kwargs:
            return builtins.type(*args, **kwargs)
        found = class_of(args[0])
        return cls.seen.get(found, found)

    def __getitem__(cls, item: Any) -> Any:
        return builtins.type[item]

    #: What stands for classes under their names.
    seen: dict[type, type]


def type_with(seen: dict[type, type]) -> type:
    """What a model sees as `type`, where other classes than Python's have the names of some."""
    return _Type("type", (), {"real": builtins.type, "seen": seen})


#: Code that asks for a class in a way that nothing here answers.
_ASKED = re.compile(r"\.__class__\s*(\)|,|is\b|in\b|not\b|==|!=|\])|^\s*@.*\bsingledispatch|^\s*case\s.*\b(int|float|bool)\(|\bis\s+(not\s+)?(True|False|-?\d)")


@lru_cache(maxsize=256)
def lines_that_ask(file: str) -> tuple[str, ...]:
    """The places in a file whose code asks for the class of a value in a way that is not seen, as `n.__class__ is int` does, or `flag is True`."""
    return tuple(f'File "{file}", line {number}' for number, line in enumerate(text_of(file).splitlines(), 1) if _ASKED.search(line))


__all__ = ["lines_that_ask", "class_of", "is_instance", "is_subclass", "type_with"]
