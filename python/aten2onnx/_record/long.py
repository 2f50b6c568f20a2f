"""What lists do that are as long as the turns of a loop or the sides of branches say, whatever holds their elements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .turns import NoBothSides


class Long(list):  # type: ignore[type-arg]
    """A list whose elements are in tensors. PyTorch sees an empty list: its functions are told of it before.

    Attributes:
        line: The line of the branch or loop.
        wishes: How lists are read in other runs.
        key: The key of this one among them.
    """

    line: Any
    wishes: dict[Any, Any]
    key: Any

    # What each kind has.
    @property
    def count(self) -> Any:  # type: ignore[override]
        raise NotImplementedError

    def element(self, index: Any) -> Any:
        raise NotImplementedError

    def example(self) -> Any:
        """Something of the type of its elements."""
        raise NotImplementedError

    def of(self, elements: list[Any]) -> Any:
        """A list of the same kind, with these elements: one or more."""
        raise NotImplementedError

    def joined(self, others: list[Any]) -> Any:
        """A list of its elements and those of others of the same kind."""
        raise NotImplementedError

    def sliced(self, start: Any, stop: Any) -> Any:
        raise NotImplementedError

    def taken(self, order: Any) -> Any:
        """A list of the elements at places that a tensor has."""
        raise NotImplementedError

    def flipped(self) -> Any:
        raise NotImplementedError

    def blank(self, count: Any) -> Any:
        """A list of so many elements of the same type, which nobody reads."""
        raise NotImplementedError

    def copy(self) -> Any:
        raise NotImplementedError

    def become(self, other: Any) -> None:
        """Gets the elements of another one of the same kind."""
        raise NotImplementedError

    def set(self, index: Any, value: Any) -> None:
        raise NotImplementedError

    def as_same(self, values: Any) -> Any:
        """Other elements, as a list of the same kind; None if there are none."""
        if not isinstance(values, Long):
            values = list(values)
            return self.of(values) if values else None
        if type(values) is not type(self):
            raise self.other()
        return values

    def other(self) -> NoBothSides:
        return NoBothSides("a list of a loop or branch has elements of other types", self.line)

    # What a list does.
    def append(self, element: Any) -> None:
        self.become(self.joined([self.of([element])]))

    def extend(self, elements: Iterable[Any]) -> None:
        others = self.as_same(elements)
        if others is not None:
            self.become(self.joined([others]))

    def insert(self, index: Any, element: Any) -> None:
        if type(index) is not int:
            raise NoBothSides("an element is put into the middle of a list of a loop", self.line)
        if index == 0:
            self.become(self.of([element]).joined([self]))
        else:
            self.become(self.sliced(None, index).joined([self.of([element]), self.sliced(index, None)]))

    def pop(self, index: Any = -1) -> Any:
        if type(index) is not int:
            raise NoBothSides("an element is taken out of the middle of a list of a loop", self.line)
        found = self.element(index)
        if index == -1:
            self.become(self.sliced(None, -1))
        elif index == 0:
            self.become(self.sliced(1, None))
        else:
            self.become(self.sliced(None, index).joined([self.sliced(index + 1, None)]))
        return found

    def clear(self) -> None:
        self.become(self.sliced(0, 0))

    def reverse(self) -> None:
        self.become(self.flipped())

    def __iadd__(self, elements: Any) -> Any:
        self.extend(elements)
        return self

    def __add__(self, elements: Any) -> Any:
        made = self.copy()
        made.extend(elements)
        return made

    def __radd__(self, elements: Any) -> Any:
        elements = list(elements)
        return self.of(elements).joined([self]) if elements else self.copy()

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            return self.element(index)
        if index.step is None or index.step == 1:
            return self.sliced(index.start, index.stop)
        if type(index.step) is int and index.step < 0 and (index.step != -1 or index.start is not None or index.stop is not None):
            raise NoBothSides("a list of a loop is read backwards in part", self.line)
        return self.flipped() if index.step == -1 else self.stepped(index)

    def stepped(self, index: slice) -> Any:
        import torch

        return self.taken(torch.arange(self.count)[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, slice):
            self._replace(index, value)
        else:
            self.set(index, value)

    def __delitem__(self, index: Any) -> None:
        if isinstance(index, slice):
            self._replace(index, [])
        else:
            self.pop(index)

    def _replace(self, index: slice, values: Any) -> None:
        """`values[1:3] = others`, of bounds that are known and in their order."""
        start, stop = index.start or 0, index.stop
        is_known = index.step in (None, 1) and type(start) is int and start >= 0 and (stop is None or (type(stop) is int and stop >= start))
        if not is_known:
            raise NoBothSides("several elements of a list of a loop get others", self.line)
        others = self.as_same(values)
        parts = [*([] if others is None else [others]), *([] if stop is None else [self.sliced(stop, None)])]
        self.become(self.sliced(None, start).joined(parts))

    def __len__(self) -> int:
        return int(self.count)

    def __bool__(self) -> bool:
        return bool(self.count != 0)

    def __iter__(self) -> Iterator[Any]:
        return (self.element(index) for index in range(int(self.count)))

    def __reversed__(self) -> Iterator[Any]:
        return iter(self.flipped())

    def __contains__(self, value: Any) -> bool:
        raise NoBothSides("`in` of a list of a loop", self.line)

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__  # type: ignore[assignment]


def _refused(name: str) -> Any:
    def method(self: Long, *_: Any, **__: Any) -> Any:
        raise NoBothSides(f"`{name}` of a list of a loop", self.line)

    return method


for _name in ("index", "remove", "__mul__", "__rmul__", "__imul__", "__lt__", "__le__", "__gt__", "__ge__"):
    setattr(Long, _name, _refused(_name))


class Compound(Long):
    """A list whose elements are in several tensors or lists.

    Attributes:
        parts: These, by a name or number each.
    """

    def __init__(self, parts: dict[Any, Any], line: Any) -> None:
        super().__init__()
        self.parts, self.line = parts, line
        self.wishes, self.key = {}, None

    def like(self, parts: dict[Any, Any]) -> Any:
        made = Compound.__new__(type(self))
        vars(made).update(vars(self))
        made.parts = parts
        return made

    def copy(self) -> Any:
        return self.like(dict(self.parts))

    def become(self, other: Any) -> None:
        self.parts = dict(other.parts)


__all__ = ["Compound", "Long"]
