"""Lists of whole numbers that are as long as a size says: `torch.tensor(list(range(n))[::-1])`. As long as nobody asks for their elements in Python, a tensor of
them is `arange`, and no number becomes plain.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from .kinds import Kind
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
        """A slice whose length does not depend on how it compares with the size."""
        if (index.start, index.stop) == (None, None) and index.step in (None, 1):
            return self
        if (index.start, index.stop, index.step) == (None, None, -1):
            return Numbers(self.start + self.step * (self.length - 1), -self.step, self.length)
        return None

    def tensor(self) -> torch.Tensor:
        """The elements as a tensor."""
        return torch.arange(self.start, self.start + self.step * self.length, self.step)


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
