"""`collections.deque` of lowered code: an object with a list, which turns and sides may change as any other."""

from __future__ import annotations

import builtins
import collections
from collections.abc import Iterator
from typing import Any

from .kinds import Kind
from .long import Long
from .places import line_of_model
from .recorder import Recorder
from .turns import NoBothSides


class Deque:
    """What a deque does.

    Attributes:
        items: Its elements: a list, or one of a loop.
        maxlen: So many it has at most; None for any number.
    """

    def __init__(self, items: Any, maxlen: int | None) -> None:
        self.items, self.maxlen = items, maxlen

    def _cut(self, from_left: bool) -> None:
        """Drops what is too much after an element was put in at the other end."""
        if self.maxlen is None:
            return
        if not isinstance(self.items, Long):
            too_many = max(len(self.items) - self.maxlen, 0)
            self.items[:] = self.items[too_many:] if from_left else self.items[: self.maxlen]
        elif from_left and self.maxlen:
            self.items.become(self.items.sliced(-self.maxlen, None))
        else:
            self.items.become(self.items.sliced(0, self.maxlen))

    def append(self, element: Any) -> None:
        self.items.append(element)
        self._cut(True)

    def appendleft(self, element: Any) -> None:
        self.items.insert(0, element)
        self._cut(False)

    def extend(self, elements: Any) -> None:
        for element in _known(elements):
            self.append(element)

    def extendleft(self, elements: Any) -> None:
        for element in _known(elements):
            self.appendleft(element)

    def pop(self) -> Any:
        return self.items.pop()

    def popleft(self) -> Any:
        return self.items.pop(0)

    def clear(self) -> None:
        self.items.clear()

    def reverse(self) -> None:
        self.items.reverse()

    def copy(self) -> Deque:
        return Deque(self.items.copy(), self.maxlen)

    __copy__ = copy

    def rotate(self, count: int = 1) -> None:
        if type(count) is not int or count not in (1, -1):
            raise NoBothSides("a deque is rotated by more than one element", line_of_model())
        if count == 1:
            self.items.insert(0, self.items.pop())
        else:
            self.items.append(self.items.pop(0))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise TypeError("sequence index must be integer, not 'slice'")
        return self.items[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.items[index] = value

    def __len__(self) -> int:
        return len(self.items)

    def __bool__(self) -> bool:
        return bool(self.items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def __reversed__(self) -> Iterator[Any]:
        return reversed(self.items)

    def __contains__(self, value: Any) -> bool:
        return value in self.items

    def __iadd__(self, elements: Any) -> Deque:
        self.extend(elements)
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(collections.deque, name):
            raise AttributeError(name)
        raise NoBothSides(f"`{name}` of a deque", line_of_model())


def _known(elements: Any) -> list[Any]:
    """Elements whose number is known."""
    elements = elements.items if isinstance(elements, Deque) else elements
    if isinstance(elements, Long):
        raise NoBothSides("a list of a loop is put into a deque", line_of_model())
    return builtins.list(elements)


class _DequeKind(Kind):
    """The class `deque` as a model sees it."""

    def __call__(cls, iterable: Any = (), maxlen: Any = None) -> Any:
        recorder = Recorder.current
        if recorder is None or recorder.structure is None or not (maxlen is None or (type(maxlen) is int and maxlen >= 0)):
            return collections.deque(iterable, maxlen)
        made = Deque([], maxlen)
        given = iterable.items if isinstance(iterable, Deque) else iterable
        if isinstance(given, Long) and maxlen is None:
            made.items = given.copy()
        else:
            made.extend(given)
        return made


class deque_(metaclass=_DequeKind):
    real = collections.deque
    others = (Deque,)


def items_of(values: Any) -> Any:
    """The list of a deque; other things as they are."""
    return values.items if type(values) is Deque else values


__all__ = ["Deque", "deque_", "items_of"]
