"""Copies a part of a path for another place, where other values correspond to those that it reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .branches import Ask, Carried, If, Item, Rolled, Step, Turn, made_by, replaced
from .nested import Body
from .tensors import Value

if TYPE_CHECKING:
    from .join import Merger


class OnOneSide(Exception):
    """What is to be copied reads a value that nothing corresponds to."""


class Copy:
    """A copy, with values of its own.

    Args:
        merger: What knows which values are the same.
        values: Values with those that correspond to them. One that has several counterparts cannot be read.
        private: All values that cannot be read as they are.
        is_careful: Whether other values that correspond to anything but themselves cannot be read, either.
        is_seen: Whether its values have the sizes that they have in the run of the other place.
    """

    def __init__(self, merger: Merger, values: list[tuple[Value, Value]], private: list[Value], is_careful: bool, is_seen: bool = True) -> None:
        self.is_seen = is_seen
        self.merger = merger
        self.private = {id(merger.canon(value)) for value in private}
        self.doubtful: set[int] = set()
        self.known: dict[int, Value] = {}
        self.bodies: dict[int, Body] = {}
        for one, other in values:
            key, other = id(merger.canon(one)), merger.canon(other)
            if self.known.setdefault(key, other) is not other or (is_careful and key not in self.private and key != id(other)):
                self.doubtful.add(key)

    def items(self, items: list[Item]) -> list[Item]:
        """The items, in order.

        Raises:
            OnOneSide: They read a value that nothing corresponds to.
        """
        return [self._item(item) for item in items]

    def reference(self, reference: Any) -> Any:
        """A reference to the values of the copy."""
        return replaced(reference, self._value, self._body)

    def _value(self, value: Value) -> Value:
        value = self.merger.canon(value)
        found = self.known.get(id(value))
        if id(value) in self.doubtful or (found is None and id(value) in self.private):
            raise OnOneSide
        return value if found is None else found

    def _body(self, other: Any) -> Any:
        return self.bodies.setdefault(id(other), Body(-1)) if isinstance(other, Body) else other

    def _fresh(self, value: Value) -> Value:
        from .join import like

        value = self.merger.canon(value)
        made = like(value)
        made.is_seen = value.is_seen and self.is_seen
        made.base = None if value.base is None else self._value(value.base)
        again = self.merger.again.get(id(value))
        if again is not None:
            self.merger.again[id(made)] = self._value(again)
        self.known[id(value)] = made
        return made

    def _item(self, item: Item) -> Item:
        if isinstance(item, Step):
            call = item.call._replace(args=self.reference(item.call.args), kwargs=self.reference(item.call.kwargs))
            made = Step(call._replace(results=replaced(call.results, self._fresh)), item.is_split, self.reference(item.stands_for))
            for value in made_by(made):
                self.merger.makers[id(value)] = made
            return made
        if isinstance(item, If):
            question = item.question._replace(number=self.reference(item.question.number))
            yes, no = self.items(item.yes), self.items(item.no)
            sides = [(self.reference(one), self.reference(other)) for _, one, other in item.results]
            return If(question, yes, no, [(self._fresh(value), *side) for (value, _, _), side in zip(item.results, sides)])
        if isinstance(item, Rolled):
            return self._loop(item)
        question = item.question._replace(number=self.reference(item.question.number))
        return Turn(item.index, question) if isinstance(item, Turn) else Ask(question, item.failure)

    def _loop(self, loop: Rolled) -> Rolled:
        count, first = self.reference(loop.count), self.reference(loop.first)
        inits = [self.reference(one.init) for one in loop.carried]
        index = self._fresh(loop.index)
        params = [self._fresh(one.param) for one in loop.carried]
        items = self.items(loop.items)
        again, nexts = self.reference(loop.again), [self.reference(one.next) for one in loop.carried]
        slices = [(self.reference(each), self._fresh(whole)) for each, whole in loop.slices]
        results = [self._fresh(one.result) for one in loop.carried]
        return Rolled(loop.line, index, count, first, again, list(map(Carried, params, inits, nexts, results)), slices, items)
