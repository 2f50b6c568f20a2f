"""Lists of None as many times as a size says (`[None] * n`), to whose places lowered code writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .grown import DTYPES, Grown, tensor
from .long import Compound, Long
from .numbers import number_of, plain
from .places import line_of_model
from .ragged import is_element, long_list
from .recorder import Recorder
from .turns import NoBothSides


class Unwritten(TypeError):
    """What Python's code would raise that goes on with None as if it was an element.

    Attributes:
        is_asked: Whether the model asks if it is None.
    """

    is_asked = False


class Slotted(Compound):
    """A list of which turns or sides write elements.

    Its parts are flags of the places that were written to, and, as soon as there is one, a list of the elements. In other places it has what nobody reads.
    """

    def __init__(self, count: Any, line: Any) -> None:
        flags = Grown(torch.full([count], False, dtype=torch.bool), bool, line)
        super().__init__({"flags": flags}, line)

    @property
    def flags(self) -> Grown:
        return self.parts["flags"]  # type: ignore[no-any-return]

    @property
    def values(self) -> Any:
        """The elements; None if no place was written to."""
        return self.parts.get("values")

    @property
    def kind(self) -> Any:
        return type(None) if self.values is None else self.values.kind

    @property
    def count(self) -> Any:  # type: ignore[override]
        return self.flags.count

    def begin(self, make: Callable[[], Any]) -> None:
        """Gets places for elements, if it has none. `make` makes a list of their type."""
        if self.values is None:
            self.parts["values"] = make().blank(self.count)

    def _each(self, function: Any) -> Slotted:
        return self.like({name: function(part) for name, part in self.parts.items()})  # type: ignore[no-any-return]

    def example(self) -> Any:
        return None if self.values is None else self.values.example()

    def of(self, elements: list[Any]) -> Slotted:
        if any(element is None for element in elements):
            if any(element is not None for element in elements):
                raise self.other()
            return Slotted(len(elements), self.line)
        found = Slotted(len(elements), self.line)
        known = _list_of(elements[0], self.line) if self.values is None else self.values
        found.parts = {"flags": self.flags.of([True] * len(elements)), "values": known.of(elements)}
        return found

    def joined(self, others: list[Any]) -> Slotted:
        all_of_them = [self, *others]
        if any(not isinstance(one, Slotted) for one in all_of_them):
            raise self.other()
        known = next((one.values for one in all_of_them if one.values is not None), None)
        parts = {"flags": self.flags.joined([one.flags for one in others])}
        if known is not None:
            first, *rest = [known.blank(one.count) if one.values is None else one.values for one in all_of_them]
            parts["values"] = first.joined(rest)
        return self.like(parts)  # type: ignore[no-any-return]

    def sliced(self, start: Any, stop: Any) -> Slotted:
        return self._each(lambda part: part.sliced(start, stop))

    def taken(self, order: Any) -> Slotted:
        return self._each(lambda part: part.taken(order))

    def flipped(self) -> Slotted:
        return self._each(lambda part: part.flipped())

    def blank(self, count: Any) -> Slotted:
        return self._each(lambda part: part.blank(count))

    def copy(self) -> Slotted:
        return self._each(lambda part: part.copy())

    def become(self, other: Any) -> None:
        self.parts = {name: part.copy() for name, part in other.parts.items()}

    # Elements.
    def element(self, index: Any) -> Any:
        """An element; None before any was written. Where Python has None, it is something that only `is None` may read: a note tells of what else does."""
        if self.values is None:
            return None
        found, is_written, error = self.values.element(index), self.flags.element(index), Unwritten()
        _structure().note_element(found, is_written, error)
        _structure().state(is_written, error, line_of_model())
        return found

    def set(self, index: Any, value: Any) -> None:
        if value is None:
            self.flags.set(index, False)
            return
        if not _is_element(value):
            raise self.other()
        self.begin(lambda: _list_of(value, self.line))
        self.values.set(index, value)
        self.flags.set(index, True)

    def whole(self) -> Any:
        """The elements as a list that has all of them."""
        if self.values is None:
            return list(self)
        is_full = self.flags.rows.all().item()
        if not plain(is_full) and not _structure().dry and not _structure().turned:
            raise NoBothSides("a list is read whole, and places of it that nothing was written to are None", line_of_model())
        _structure().state(is_full, Unwritten(), line_of_model())
        return self.values

    # What PyTorch's functions make of it.
    def stacked(self, dim: int) -> Any:
        return self.whole().stacked(dim)

    def concatenated(self, dim: int) -> Any:
        return self.whole().concatenated(dim)

    def padded(self, batch_first: bool, value: float, side: str) -> Any:
        return self.whole().padded(batch_first, value, side)

    def as_tensor(self, dtype: Any) -> Any:
        return tensor(self.whole(), dtype)

    def unzipped(self) -> Any:
        found = self.whole()
        return found.unzipped() if hasattr(found, "unzipped") else zip(*found)


def _structure() -> Any:
    assert Recorder.current is not None  # noqa: S101
    return Recorder.current.structure


def _list_of(element: Any, line: Any) -> Any:
    """A list of one element, with the sizes that it has."""
    structure = _structure()
    key = structure.key_of_list(line_of_model(), "slots")
    return long_list([element], element, key, structure.turns.lengths, lambda axis, size, key: size, line)


def repeated(structure: Any, elements: Any, count: Any) -> Any:
    """`[element] * count` or `count * [element]`, in which a number of the file may be the count."""
    if type(elements) is not list:
        elements, count = count, elements
    number, line = number_of(count), line_of_model()
    if number is None or structure.turns._is_static(number) or len(elements) != 1 or structure.recorder.fakes is not None:
        return elements * count
    element, kind = elements[0], type(plain(elements[0]))
    count = torch.sym_max(count, 0)
    if element is None:
        return Slotted(count, line)
    if kind in DTYPES:
        return Grown(torch.full([count], element, dtype=DTYPES[kind]), kind, line)
    if not isinstance(element, (torch.Tensor, tuple)) or not _is_element(element):
        return elements * count
    return _list_of(element, line).taken(torch.full([count], 0, dtype=torch.int64))


def _is_element(value: Any) -> bool:
    return is_element(value, lambda leaf: _structure().kind(leaf) not in (None, str) and not isinstance(leaf, Long))


def is_none(structure: Any, value: Any) -> Any:
    """Whether something is None: as a number, if it is an element of such a list."""
    known = structure.elements.get(id(value))
    if known is None:
        return value is None
    _, is_written, error = known
    error.is_asked = True
    return not is_written if number_of(is_written) is None else torch.sym_not(is_written)


__all__ = ["Slotted", "Unwritten", "is_none", "repeated"]
