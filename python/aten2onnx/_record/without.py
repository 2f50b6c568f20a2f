"""Holds a program with a loop against a run in which that loop makes no turn: what is read after it must be what was there before it."""

from __future__ import annotations

from typing import Any

from .branches import Ask, Item, Path, made_by
from .numbers import Number
from .alike import Held, Unalike
from .rolling import Rolling
from .tensors import Value


class Without(Held):
    """A path with a loop, and one of the same model without its turns."""

    def __init__(self, rolling: Rolling, path: Path, other: Path) -> None:
        super().__init__(rolling, rolling.turns[0])
        self.made = {}
        self.own: set[int] = set()
        self.inits: dict[int, Any] = {}
        #: The pairs of numbers that were compared; they are kept, so that no other one has their identity.
        self.held_numbers: dict[tuple[int, int], tuple[Number, Number]] = {}
        skipped = {id(item) for item in rolling.written_back}
        mine = [item for item in path.items if id(item) not in skipped and _counts(item)]
        theirs = [item for item in other.items if _counts(item)]
        place = next(index for index, item in enumerate(mine) if item is rolling.item)
        self._note(mine[:place])
        self.items(mine[:place], theirs[:place])
        self.own.update(id(value) for value in made_by(rolling.item))
        self.inits = {id(one.result): one.init for one in rolling.item.carried}
        self._note(mine[place + 1 :])
        self.items(mine[place + 1 :], theirs[place:])
        self.reference(path.outputs, other.outputs, ("outputs",))
        if path.tree != other.tree or path.buffers != other.buffers:
            raise Unalike("the results have another form")
        if any(a != b for a, b in self.numbers.values()):
            raise Unalike("a number is another one")

    def _note(self, items: list[Item]) -> None:
        for item in items:
            self.own.update(id(value) for value in made_by(item))

    def _value(self, a: Value, b: Any) -> None:
        merger = self.rolling.merger
        a = merger.canon(a)
        if id(a) in self.inits:
            return self.reference(self.inits[id(a)], b, ("init",))
        known = self.made.get(id(a))
        if not isinstance(b, Value):
            raise Unalike("a value is a number")
        if known is not None or id(a) in self.own:
            if known is None or merger.canon(known) is not merger.canon(b):
                raise Unalike("a call reads another value")
            return
        if not merger.is_same(a, b):
            raise Unalike("a call reads another value")

    def _number(self, a: Number, b: Any, path: Any) -> None:
        if a.function == "item" and id(a.operands[0]) in self.inits:
            return self.reference(self.inits[id(a.operands[0])], b, path)
        if not isinstance(b, Number) or a.function != b.function or len(a.operands) != len(b.operands):
            raise Unalike("a number is computed in another way")
        if (id(a), id(b)) in self.held_numbers:
            return None
        self.held_numbers[id(a), id(b)] = (a, b)
        for number, (x, y) in enumerate(zip(a.operands, b.operands)):
            self.reference(x, y, (*path, number))
        return None


def _counts(item: Item) -> bool:
    return not isinstance(item, Ask) or item.question.by_model


def is_same_without(rolling: Rolling, path: Path, other: Path) -> bool:
    """Whether the program does at no turn what the model does."""
    try:
        Without(rolling, path, other)
    except Unalike:
        return False
    return True


__all__ = ["is_same_without"]
