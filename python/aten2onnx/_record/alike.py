"""Holds the turns of a loop against the one that stands for all."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .align import kind_of
from .branches import Ask, Item, Rolled, Step, Turn, made_by
from .numbers import FUNCTIONS, Number
from .tensors import Value

if TYPE_CHECKING:
    from .rolling import Rolling

#: So many turns are compared at least.
FEWEST = 3

#: What has no value in a turn.
MISSING = object()


class FewTurns(Exception):
    """A loop that makes too few turns in a run to compare them."""

    def __init__(self, line: Any) -> None:
        super().__init__(f"a loop makes less than {FEWEST} turns")
        self.line = line


class Unalike(Exception):
    """Two turns that are not the same: what differs, the line, and that of a branch that may have both sides."""

    def __init__(self, message: str, line: Any = None, branch: Any = None) -> None:
        super().__init__(message)
        self.line = line
        self.branch = branch


def is_solid(item: Item) -> bool:
    """Whether an item is none of PyTorch's questions."""
    return not isinstance(item, Ask) or item.question.by_model


class TurnOfItems:
    """A turn: its calls, what names stand for at its begin, and where its values are made."""

    def __init__(self, counter: Value, items: list[Item], before: dict[Any, Any], canon: Callable[[Value], Value]) -> None:
        self.counter = counter
        self.items = items
        self.before = before
        self.number = 0
        self.solid = [item for item in items if is_solid(item)]
        self.at: dict[Any, Value] = {(-1, 0): counter}
        for number, item in enumerate(self.solid):
            for place, value in enumerate(made_by(item)):
                self.at[(number, place)] = canon(value)
        self.places = {id(value): place for place, value in self.at.items()}


class Held:
    """A turn held against the one that stands for all: what corresponds to what."""

    def __init__(self, rolling: Rolling, turn: Any, own: set[int] | None = None) -> None:
        self.rolling = rolling
        self.turn = turn
        self.own = rolling.own if own is None else own
        self.canon = rolling.merger.canon
        self.made: dict[int, Value] = {id(self.canon(rolling.chosen.counter)): turn.counter}
        self.slots: dict[Any, tuple[Any, Any]] = {}
        self.numbers: dict[Any, tuple[int, int]] = {}
        self.pairs: list[tuple[Rolled, Rolled]] = []

    def items(self, mine: list[Item], theirs: list[Item], path: Any = ()) -> None:
        for number, (a, b) in enumerate(zip(mine, theirs)):
            self.item(a, b, (*path, number))
        if len(mine) != len(theirs):
            longer = max(mine, theirs, key=len)[min(len(mine), len(theirs))]
            raise Unalike(f"one of them makes more calls: {_name_of(longer)}", _line_of(longer))

    def item(self, a: Item, b: Item, path: Any) -> None:
        line = _line_of(a) or _line_of(b)
        try:
            self._item(a, b, path)
        except Unalike as error:
            raise Unalike(str(error), error.line or line, error.branch) from None

    def _item(self, a: Item, b: Item, path: Any) -> None:
        if isinstance(a, (Ask, Turn)) and isinstance(b, (Ask, Turn)):
            if a.question.what != b.question.what or (a.question.what == "bool" and a.question.answer != b.question.answer):
                raise Unalike("a branch goes another way", None, a.question.line)
            return self.reference(a.question.number, b.question.number, (*path, "asked"))
        if isinstance(a, Step) and isinstance(b, Step):
            if a.call.function is not b.call.function or len(made_by(a)) != len(made_by(b)):
                raise Unalike(f"{_name_of(b)} in place of {_name_of(a)}")
            self.reference(a.call.args, b.call.args, (*path, "args"))
            self.reference(a.call.kwargs, b.call.kwargs, (*path, "kwargs"))
        elif isinstance(a, Rolled) and isinstance(b, Rolled):
            self._loop(a, b, path)
        else:
            raise Unalike(f"{_name_of(b)} in place of {_name_of(a)}")
        for x, y in zip(made_by(a), made_by(b)):
            if kind_of(x) != kind_of(y):
                raise Unalike(f"the result of {_name_of(a)} has another type or rank")
            self.made[id(self.canon(x))] = y

    def _loop(self, a: Rolled, b: Rolled, path: Any) -> None:
        if a.line != b.line or len(a.carried) != len(b.carried) or (a.first is None) != (b.first is None):
            raise Unalike("a loop in them is another one")
        self.reference(a.count, b.count, (*path, "count"))
        self.reference(a.first, b.first, (*path, "first"))
        self.made[id(self.canon(a.index))] = b.index
        for number, (one, other) in enumerate(zip(a.carried, b.carried)):
            self.reference(one.init, other.init, (*path, "init", number))
            self.made[id(self.canon(one.param))] = other.param
        mine, theirs = ([item for item in items if not isinstance(item, Ask) or item.question.by_model] for items in (a.items, b.items))
        self.items(mine, theirs, (*path, "items"))
        self.reference(a.again, b.again, (*path, "again"))
        for number, (one, other) in enumerate(zip(a.carried, b.carried)):
            self.reference(one.next, other.next, (*path, "next", number))
        for number, ((ref, _), (other_ref, _)) in enumerate(zip(a.slices, b.slices)):
            self.reference(ref, other_ref, (*path, "slice", number))
        if len(a.slices) != len(b.slices):
            raise Unalike("a loop in them is another one")

    def reference(self, a: Any, b: Any, path: Any) -> None:
        if isinstance(a, Value):
            return self._value(a, b)
        if isinstance(a, Number):
            return self._number(a, b, path)
        if isinstance(a, (list, tuple)):
            if type(a) is not type(b) or len(a) != len(b):
                raise Unalike("a list of another length")
            for number, (x, y) in enumerate(zip(a, b)):
                self.reference(x, y, (*path, number))
        elif isinstance(a, dict):
            if not isinstance(b, dict) or list(a) != list(b):
                raise Unalike("another argument")
            for name in a:
                self.reference(a[name], b[name], (*path, name))
        elif type(a) is int and type(b) is int:
            self.numbers[path] = (a, b)
        elif type(a) is not type(b) or not (a == b or a != a and b != b):
            raise Unalike(f"{a!r} is {b!r} in another turn")

    def _value(self, a: Value, b: Any) -> None:
        merger = self.rolling.merger
        a = merger.canon(a)
        if not isinstance(b, Value):
            raise Unalike("a value is a number in another turn")
        b = merger.canon(b)
        known = self.made.get(id(a))
        if known is not None or id(a) in self.own:
            if known is None or merger.canon(known) is not b:
                raise Unalike("a call reads another value")
            return
        self._slot(("value", id(a)), a, b)

    def _number(self, a: Number, b: Any, path: Any) -> None:
        """Compares two numbers. One that is read at several places of an expression has the path of the first, as in `Rolling`."""
        seen: dict[int, Any] = {}
        waiting: list[tuple[Any, Any, Any]] = [(a, b, path)]
        while waiting:
            x, y, place = waiting.pop()
            if not isinstance(x, Number):
                self.reference(x, y, place)
                continue
            if id(x) in seen:
                if seen[id(x)] is not y and not self.rolling.is_same(seen[id(x)], y):
                    raise Unalike("a number is computed in another way")
                continue
            seen[id(x)] = y
            waiting += reversed(self._operands(x, y, place))

    def _operands(self, a: Number, b: Any, path: Any) -> list[tuple[Any, Any, Any]]:
        """What is left to compare of two numbers: their operands, with their paths."""
        name = self.rolling.merger.name(a)
        if name in self.rolling.states:
            self._slot(("number", name), a, b)
            return []
        if isinstance(b, Number) and a.function == b.function and len(a.operands) == len(b.operands):
            return [(x, y, (*path, number)) for number, (x, y) in enumerate(zip(a.operands, b.operands))]
        if not isinstance(b, Number) and self.rolling.is_equal(self.value_of(a), b):
            return []
        raise Unalike("a number is computed in another way")

    def value_of(self, a: Any, known: dict[int, Any] | None = None) -> Any:
        """The value of a number of the chosen turn in this one, if only sizes and what is carried are in it. `known` has those of its operands."""
        if not isinstance(a, Number):
            return a
        known = {} if known is None else known
        if id(a) not in known:
            known[id(a)] = self._value_of(a, known)
        return known[id(a)]

    def _value_of(self, a: Number, known: dict[int, Any]) -> Any:
        key = self.rolling.merger.name(a)
        name = self.rolling.states.get(key)
        if name is not None:
            self._slot(("number", key), a, self.rolling._state(self.turn.number, name))
        found = self.slots.get(("number", key))
        if found is not None:
            return found[1].value if isinstance(found[1], Number) else found[1]
        if a.function == "size":
            value = self.rolling.merger.canon(a.operands[0])
            made = self.made.get(id(self.canon(value))) or self.slots.get(("value", id(value)), (None, None))[1]
            return made.shape[a.operands[1]] if isinstance(made, Value) else MISSING
        if a.function == "item" and self.made.get(id(self.canon(a.operands[0]))) is self.turn.counter:
            return self.turn.number
        function = FUNCTIONS.get(a.function)
        operands = [self.value_of(operand, known) for operand in a.operands]
        return MISSING if function is None or any(operand is MISSING for operand in operands) else function(*operands)

    def _slot(self, key: Any, a: Any, b: Any) -> None:
        known = self.slots.setdefault(key, (a, b))
        if not self.rolling.is_same(known[1], b):
            raise Unalike("a call reads another value")


def _name_of(item: Item) -> str:
    if isinstance(item, Step):
        return f"`{item.call.function}`"
    return "a branch" if isinstance(item, Ask) else "a loop"


def _line_of(item: Item) -> Any:
    if isinstance(item, Step):
        return item.call.line
    return item.question.line if isinstance(item, Ask) else getattr(item, "line", None)


__all__ = ["FEWEST", "MISSING", "FewTurns", "Held", "TurnOfItems", "Unalike", "is_solid"]
