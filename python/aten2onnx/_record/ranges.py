"""Ranges, and lists of whole numbers, that are as long as a size says: `len(range(n, m, 3))`, `torch.tensor(list(range(n))[::-1])`. As long as nobody walks over them
in Python, a tensor of a list is `arange`, and no number becomes plain.
"""

from __future__ import annotations

import builtins
import functools
import operator
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch

from .kinds import Kind
from .numbers import number_of
from .places import line_of_model
from .sources import has_line

#: Code that makes a list or a tensor of a range.
_LISTED = re.compile(r"\b(list|tensor|as_tensor|LongTensor)\(range\(")
#: Code that would not know the class below.
_IDENTITY = re.compile(r"\btype\([^()]*\) is (not )?list\b")


class Numbers(Sequence[Any]):
    """`start`, `start + step` and so on, `length` of them. In all else than slices and tensors it is the list of plain numbers."""

    def __init__(self, start: Any, step: Any, length: Any) -> None:
        self.start, self.step, self.length = start, step, length

    def __len__(self) -> int:
        return int(self.length)

    def __iter__(self) -> Iterator[int]:
        return iter(self.plain())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            found = self._cut(index)
            return self.plain()[index] if found is None else found
        return self.start + self.step * (self.length + index if index < 0 else index)

    def __add__(self, other: Any) -> Any:
        return self.plain() + list(other)

    def __eq__(self, other: object) -> bool:
        return self.plain() == other

    __hash__ = None  # type: ignore[assignment]

    def plain(self) -> list[int]:
        """The elements. Their number becomes a plain one."""
        start, step = int(self.start), int(self.step)
        return [start + step * turn for turn in builtins.range(int(self.length))]

    def _cut(self, index: slice) -> Numbers | None:
        if (index.start, index.stop) == (None, None) and index.step in (None, 1):
            return self
        cut = cut_of(index, self.length)
        return None if cut is None else Numbers(self.start + self.step * cut.first, self.step * cut.step, cut.length)

    def tensor(self) -> torch.Tensor:
        return _tensor(self)


def _tensor(numbers: Any) -> torch.Tensor:
    """The elements of a range or list as a tensor."""
    return torch.arange(numbers.start, numbers.start + numbers.step * numbers.length, numbers.step)


class Cut(NamedTuple):
    """A slice of as many elements as a number says: the place of the first of them, how far they are apart, and how many there are."""

    first: Any
    step: int
    length: Any


def cut_of(index: slice, length: Any) -> Cut | None:
    """The places that a slice takes; None if their number depends on more than the ends of the slice."""
    step = 1 if index.step is None else index.step
    if type(step) is int and step < 0 and (index.start, index.stop) == (None, None):
        return Cut(length - 1, step, length if step == -1 else (length - step - 1) // -step)
    ends = [_end(index.start, length, 0), _end(index.stop, length, length)]
    if type(step) is not int or step < 1 or None in ends:
        return None
    first, last = ends
    if type(first) is int and first == 0:
        return Cut(0, step, (last + step - 1) // step if step > 1 else last)
    return Cut(first, step, torch.sym_max((last - first + step - 1) // step, 0))


def _end(place: Any, length: Any, otherwise: Any) -> Any:
    """An end of a slice as a place from the begin on; None if it may be one or the other."""
    if place is None:
        return otherwise
    number = number_of(place)
    if number is not None and not number.is_natural():
        return None
    return torch.sym_max(length + place, 0) if number is None and place < 0 else torch.sym_min(place, length)


class Range(Sequence[Any]):
    """A range of sizes. To walk over it asks for plain numbers; its length, its elements, its slices and what is in it do not."""

    def __init__(self, start: Any, stop: Any, step: Any, length: Any) -> None:
        self.start, self.stop, self.step, self.length = start, stop, step, length

    def __len__(self) -> int:
        return int(self.length)

    def __bool__(self) -> bool:
        return bool(self.length > 0)

    def __iter__(self) -> Iterator[int]:
        return iter(self.plain())

    def __reversed__(self) -> Iterator[int]:
        return reversed(self.plain())

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            place = self.length + index if index < 0 else index
            if place >= self.length or place < 0:
                raise IndexError("range object index out of range")
            return self.start + self.step * place
        cut = cut_of(index, self.length)
        if cut is None:
            return self.plain()[index]
        start, step = self.start + self.step * cut.first, self.step * cut.step
        return Range(start, start + step * cut.length, step, cut.length)

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, (int, torch.SymInt)):
            return value in self.plain()
        is_up = isinstance(self.step, torch.SymInt) or self.step > 0
        low, high = (self.start, self.stop) if is_up else (self.stop + 1, self.start + 1)
        inside: list[Any] = [value >= low, value < high, (value - self.start) % self.step == 0]
        return bool(functools.reduce(operator.and_, inside))

    def __eq__(self, other: object) -> bool:
        return self.plain() == (other.plain() if isinstance(other, Range) else other)

    __hash__ = None  # type: ignore[assignment]

    def index(self, value: Any, *rest: Any) -> int:
        return self.plain().index(value)

    def count(self, value: Any) -> int:
        return self.plain().count(value)

    def tensor(self) -> torch.Tensor:
        return _tensor(self)

    def plain(self) -> range:
        """The range itself. Its ends become plain numbers."""
        return builtins.range(self.start, self.stop, self.step)


class _List(Kind):
    """The class `list` as a model sees it."""

    def __getitem__(cls, item: Any) -> Any:
        return builtins.list[item]

    def __call__(cls, *args: Any) -> Any:
        return args[0] if len(args) == 1 and isinstance(args[0], Numbers) else builtins.list(*args)


class list_(metaclass=_List):
    real = builtins.list
    others = (Numbers,)


def is_listed() -> bool:
    """Whether the line that is running makes a list or a tensor of a range."""
    line = line_of_model()
    return line is not None and _LISTED.search(line.text) is not None


def lists_ranges(file: str | None) -> bool:
    """Whether the code of a file makes lists of ranges, and asks for no class in a way that would not know the one here."""
    return file is not None and has_line(file, _LISTED) and not has_line(file, _IDENTITY)
