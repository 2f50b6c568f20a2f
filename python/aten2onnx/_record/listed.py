"""Lists of lists that are as long as the turns of a loop say: `[[f(i, j) for j in range(i + 1)] for i in range(n)]`. The elements of all of them are in one tensor."""

from __future__ import annotations

from typing import Any

import torch

from .grown import Grown
from .long import Compound
from .ragged import Ragged
from .turns import NoBothSides

_HELP = "make the inner list whole before it is put into the outer one, or use a list of tensors"


class Lists(Compound):
    """A list of lists, each of which is a tensor of its elements.

    Attributes:
        inner: A list of the kind that its elements are.
    """

    kind = list
    inner: Grown

    def __init__(self, rows: Ragged, inner: Grown, line: Any) -> None:
        super().__init__({"rows": rows}, line)
        self.inner = inner

    @property
    def rows(self) -> Any:
        return self.parts["rows"]

    @property
    def count(self) -> Any:  # type: ignore[override]
        return self.rows.count

    def _with(self, rows: Any) -> Lists:
        return self.like({"rows": rows})  # type: ignore[no-any-return]

    def _tensor(self, element: Any) -> Any:
        """The elements of one of the lists."""
        if isinstance(element, Grown):
            if element.kind is not self.inner.kind:
                raise self.other()
            return element.rows
        if type(element) is not list:
            raise self.other()
        return (self.inner.of(element) if element else self.inner.sliced(0, 0)).rows

    def example(self) -> Any:
        return Element(self.inner)

    def of(self, elements: list[Any]) -> Lists:
        return self._with(self.rows.of([self._tensor(element) for element in elements]))

    def joined(self, others: list[Any]) -> Lists:
        if any(not isinstance(other, Lists) or other.inner.kind is not self.inner.kind for other in others):
            raise self.other()
        return self._with(self.rows.joined([other.rows for other in others]))

    def element(self, index: Any) -> Any:
        return Element(self.inner.like(self.rows.element(index)))

    def sliced(self, start: Any, stop: Any) -> Lists:
        return self._with(self.rows.sliced(start, stop))

    def taken(self, order: Any) -> Lists:
        return self._with(self.rows.taken(order))

    def blank(self, count: Any) -> Lists:
        return self._with(self.rows.blank(count))

    def flipped(self) -> Lists:
        return self._with(self.rows.flipped())

    def copy(self) -> Lists:
        return self._with(self.rows.copy())

    def become(self, other: Any) -> None:
        self.rows.become(other.rows)

    def set(self, index: Any, value: Any) -> None:
        self.rows.set(index, self._tensor(value))


class Element(Grown):
    """A list that is an element of another one. The other one would not see what is put into it."""

    def __init__(self, values: Grown) -> None:
        super().__init__(values.rows, values.kind, values.line)
        self.wishes, self.key = values.wishes, values.key

    def become(self, other: Any) -> None:
        raise NoBothSides("a list that is an element of a list of a loop is changed", self.line, _HELP)

    def set(self, index: Any, value: Any) -> None:
        self.become(value)


def of_lists(inner: Any, line: Any) -> Lists:
    """An empty list of lists of this kind.

    Raises:
        NoBothSides: They have no such form.
    """
    if not isinstance(inner, Grown):
        raise NoBothSides("a list of lists whose elements have several sizes, or are no tensors and no numbers", line, "write a tuple in place of the inner list, or a list of tensors")
    return Lists(Ragged(inner.rows, torch.full([0], 0, dtype=torch.int64), 0, line), inner, line)


__all__ = ["Lists", "of_lists"]
