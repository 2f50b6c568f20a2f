"""Makes one turn of all turns of a loop whose turns have branches.

One turn was run in all ways through its branches, and its ways were joined, as those of a model are. Every turn of every run is held against the way that has its
answers. What a turn hands to the next has the names of the model's code, because no two ways make it at the same place.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from .alike import FEWEST, MISSING, FewTurns, Held, TurnOfItems, Unalike, is_solid
from .align import kind_of
from .branches import Ask, Carried, If, Item, Rolled, Step, Turn, made_by, made_in
from .loops import CHOSEN, Loop
from .numbers import Number
from .roll import Roller
from .rolling import Rolling
from .tensors import Value
from .turns import NoBothSides

aten = torch.ops.aten

#: The name of whether a loop goes on after a turn.
GOES_ON = ("goes on",)


@dataclass
class Way:
    """A way through the branches of a turn.

    Attributes:
        items: Its calls.
        after: What names stand for after it.
        run: The loop of the run that took it, with its roller.
    """

    items: list[Item]
    after: dict[Any, Any]
    loop: Loop
    turns: list[WayTurn] = field(default_factory=list)

    @property
    def solid(self) -> list[Item]:
        return [item for item in self.items if is_solid(item)]


@dataclass
class WayTurn:
    """A turn of a run: its calls, and what names stand for before and after it."""

    counter: Value
    items: list[Item]
    before: dict[Any, Any]
    after: dict[Any, Any]
    number: int


@dataclass
class Tree:
    """A turn with all ways through its branches.

    Attributes:
        items: Its calls, with branches that have both sides.
        after: What names stand for after it.
        ways: The ways.
    """

    items: list[Item]
    after: dict[Any, Any]
    ways: list[Way]


def answers_of(items: list[Item]) -> tuple[Any, ...]:
    """The branches of a turn, with their answers."""
    return tuple((item.question.line, item.question.answer) for item in items if isinstance(item, (Ask, Turn)) and item.question.what == "bool" and item.question.by_model)


def turns_of(roller: Roller, loop: Loop, turns: list[TurnOfItems]) -> list[WayTurn]:
    """The turns of a run with what names stand for after each."""
    found = []
    for number, turn in enumerate(turns):
        found.append(WayTurn(turn.counter, turn.items, loop.states[number], after_of(roller, loop, number), number))
    return found


def after_of(roller: Roller, loop: Loop, number: int) -> dict[Any, Any]:
    """What names stand for after a turn. Of a list to which a turn adds nothing before it leaves the loop, nobody reads what it would have added."""
    found: dict[Any, Any] = {}
    for name, value in loop.raw[number + 1].items():
        try:
            found[name] = roller.reference(value)
        except Unalike:
            continue  # what no turn reads is no reason for an error
    found[GOES_ON] = roller.reference(goes_on(loop, number))
    if found[GOES_ON] is False:
        for name, value in list(found.items()):
            if name[2:] == (-1,) and isinstance(value, Value) and found.get((*name[:2], "length")) is loop.states[number].get((*name[:2], "length")):
                same = (other for key, other in found.items() if len(key) == 2 and isinstance(other, Value) and (other.dtype, other.shape) == (value.dtype, value.shape))
                found[name] = next(same, value)
    return found


def goes_on(loop: Loop, number: int) -> Any:
    """Whether a loop goes on after a turn: the condition of a `while`, or what is known."""
    if loop.asked:
        return loop.asked[number + 1].number if len(loop.asked) > number + 1 else False
    return not (loop.is_left and number == loop.turns - 1)


def mapped(item: Item, change: Any) -> Item:
    """An item with other references."""
    if isinstance(item, (Ask, Turn)):
        question = item.question._replace(number=change(item.question.number))
        return Ask(question, item.failure) if isinstance(item, Ask) else Turn(item.index, question)
    if isinstance(item, Step):
        return Step(item.call._replace(args=change(item.call.args), kwargs=change(item.call.kwargs)), item.is_split, item.stands_for)
    if isinstance(item, If):
        yes, no = ([mapped(inner, change) for inner in side] for side in (item.yes, item.no))
        results = [(value, change(one), change(other)) for value, one, other in item.results]
        return If(item.question._replace(number=change(item.question.number)), yes, no, results)
    carried = [Carried(one.param, change(one.init), change(one.next), one.result) for one in item.carried]
    slices = [(change(reference), value) for reference, value in item.slices]
    return Rolled(item.line, item.index, change(item.count), change(item.first), change(item.again), carried, slices, [mapped(inner, change) for inner in item.items])


class HeldWay(Held):
    """A turn held against the way that has its answers."""

    def __init__(self, rolling: Branched, way: Way, turn: WayTurn) -> None:
        super().__init__(rolling, turn, {id(rolling.merger.canon(value)) for value in (rolling.chosen.counter, *made_in(way.items))})
        self.way = way

    def reference(self, a: Any, b: Any, path: Any) -> None:
        if type(a) is int and type(b) is int and a != b:
            raise Unalike(f"{a!r} is {b!r} in another turn")
        super().reference(a, b, path)


class Branched(Rolling):
    """Makes a loop of turns with branches."""

    is_branched = True

    def __init__(self, roller: Roller, loop: Loop, turns: list[TurnOfItems], tree: Tree) -> None:
        super().__init__(roller, loop, turns)
        reference = roller.reference
        self.tree_items = [mapped(item, reference) for item in tree.items]
        self.tree_after = {name: reference(value) for name, value in tree.after.items()}
        self.own = {id(self.merger.canon(value)) for value in made_in(self.tree_items)}
        self.all: list[HeldWay] = []
        self.ways: dict[Any, Any] = {}
        for way in tree.ways:
            made = Way([mapped(item, reference) for item in way.items], {name: reference(value) for name, value in way.after.items()}, way.loop)
            self.ways.setdefault(answers_of(made.items), made)
        own_turns = turns_of(roller, loop, turns)
        others = [turn for way in tree.ways if way.loop is not loop for turn in way.turns if turn.number >= CHOSEN]
        self.evidence = [*own_turns, *(self._with_references(turn) for turn in others)]
        self.is_left = any(way.after.get(GOES_ON) is False for way in tree.ways) or loop.is_left

    def _with_references(self, turn: WayTurn) -> WayTurn:
        reference = self.roller.reference
        return WayTurn(turn.counter, [mapped(item, reference) for item in turn.items], turn.before, {name: reference(value) for name, value in turn.after.items()}, turn.number)

    # Turns and ways.
    def roll(self) -> list[Item]:
        if self.is_left and self.loop.has_else:
            raise NoBothSides("a loop with `else` that is left by `break`", self.loop.line)
        for turn in self.evidence:
            try:
                held = self._held(turn)
            except Unalike:
                if turn is not self.evidence[0] or self.loop.asked or len(self.turns) < FEWEST + 1:
                    raise
                self.first = 1
                continue
            self.all.append(held)
        self._solve()
        return self._made()

    def _held(self, turn: WayTurn) -> HeldWay:
        way = self.ways.get(answers_of(turn.items))
        if way is None:
            asked = [item.question.line for item in turn.items if isinstance(item, Ask) and item.question.what == "bool" and item.question.by_model]
            known = {line for answers in self.ways for line, _ in answers if line is not None}
            other = next((line for line in asked if line not in known), asked[-1] if asked else None)
            raise Unalike("a way through their branches was not run", None, other)
        held = HeldWay(self, way, turn)
        held.items(way.solid, [item for item in turn.items if is_solid(item)])
        held.reference(way.after[GOES_ON], turn.after[GOES_ON], GOES_ON)
        return held

    def _solve(self) -> None:
        while True:
            new = {key: held.slots[key][0] for held in self.all for key in held.slots if key not in self.solved}
            if not new:
                break
            for key, mine in new.items():
                self.solved.add(key)
                self._solve_slot(key, mine)

    def _begin(self, turn: WayTurn, name: Any) -> Any:
        """What a name stands for at the begin of a turn."""
        return self.roller.now(turn.before.get(name, MISSING))

    def _solve_slot(self, key: Any, mine: Any = None) -> None:
        read = [(held.turn, held.slots[key][1]) for held in self.all if key in held.slots]
        names = [name for name in self.chosen.before if all(self.is_same(self._begin(turn, name), other) for turn, other in read)]
        names = [name for name in names if name in self.tree_after]
        changed = [name for name in names if not self.is_same(self.tree_after[name], mine)]
        is_constant = all(self.is_same(mine, other) for _, other in read) and not self._is_of_turns(mine)
        if is_constant and (not changed or len(changed) < len(names)):
            return
        if is_constant and not names:
            return
        if not names:
            raise Unalike("a value that a turn reads has no name at its begin", self.loop.line)
        chosen = sorted(changed or names, key=lambda name: (len(name), str(name)))
        after = self.tree_after[chosen[0]]
        if any(len(name) == 2 and not self.is_same(self.tree_after[name], after) for name in chosen):
            raise Unalike("several names stand for a value that a turn reads, and no turn tells which is read", self.loop.line)
        name = chosen[0]
        self._conform(name)
        init = self.roller.reference(self._raw(self.first, name))
        self.carried[key] = self._new(mine, init, after)
        self.finals[name] = self.carried[key]

    def _is_of_turns(self, mine: Any) -> bool:
        """Whether a turn has made a value."""
        if isinstance(mine, Number):
            return True
        return any(id(self.merger.canon(value)) == id(mine) for turn in self.turns for item in turn.items for value in made_by(item))

    def _conform(self, name: Any) -> None:
        """Holds what a name stands for after each turn against what it stands for after its way."""
        for held in self.all:
            held.reference(held.way.after.get(name, MISSING), held.turn.after.get(name, MISSING), ("name", name))

    # The loop.
    def _with_paths(self) -> list[tuple[Item, Any]]:
        return [(item, None) for item in self.tree_items]

    def _item(self, item_and_path: tuple[Item, Any]) -> Item:
        item = mapped(item_and_path[0], lambda reference: self._reference(reference, ()))
        return Ask(item.question) if isinstance(item, Turn) else item

    def _constant(self, known: int, path: Any) -> Any:
        return known

    def _conditions(self) -> tuple[Any, Any]:
        again = self._reference(self.tree_after[GOES_ON], ())
        if self.loop.asked:
            return self.roller.reference(self.loop.asked[0].number), again
        return (None, None) if again is True else (True, again)

    def _solve_more(self) -> None:
        known = len(self.carried)
        super()._solve_more()
        if len(self.carried) > known:  # what branches result in may be made of it
            self.item.items = [self._item((item, None)) for item in self.item.items]

    # After the loop.
    def after(self, value: Value, number: int, place: Any) -> Value:
        named = self._named(value)
        if named is not None:
            return named
        for name in self.loop.states[-1]:
            if self._state(len(self.turns), name) is value and isinstance(self.tree_after.get(name), Value):
                self._conform(name)
                self._solve_more()
                return self.roller.add(aten.select.int, self.stack(("name", name)), 0, -1, line=self.loop.line)
        raise Unalike("a value of some turns is read after the loop, and no name stands for it", self.loop.line)

    def _final_of(self, name: Any, default: Any) -> Carried | None:
        if name in self.finals:
            return self.finals[name]  # type: ignore[no-any-return]
        mine = self.tree_after.get(name, MISSING)
        if mine is MISSING:
            raise Unalike("what a name stands for after the loop has another type in some turns", self.loop.line)
        with self.roller.inside(self):
            self._conform(name)
            self._solve_more()
        init = self.roller.reference(self._raw(self.first, name))
        if init is MISSING or kind_of(init) != kind_of(mine):
            if default is None:
                return None
            init = default
        if kind_of(mine) is None:
            raise Unalike("what a name stands for after the loop is no tensor and no number", self.loop.line)
        one = self._new(mine, init, self._reference(mine, ()))
        self.item.carried.append(one)
        self.finals[name] = one
        return one

    def name_of(self, values: list[tuple[int, Value]], from_end: int) -> Any:
        """The name of an element at the end of a list, if it stands for these values of turns after their turns."""
        turns = {turn.number: turn for turn in self.evidence[: len(self.turns)]}
        for name, mine in self.tree_after.items():
            if name[2:] != (-from_end,) or not isinstance(mine, Value):
                continue
            if all(self.is_same(turns[number].after.get(name), value) for number, value in values):
                with self.roller.inside(self):
                    self._conform(name)
                    self._solve_more()
                return ("name", name)
        raise Unalike("a list has what only some turns have made", self.loop.line)

    def rows_of(self, place: Any, width: int) -> Any:
        """The number of turns that have added to a list, if a turn that leaves the loop may add nothing; None if all turns do.

        Raises:
            Unalike: A turn that does not leave the loop adds another number of elements.
        """
        length = (*place[1][:2], "length")
        before = self.loop.states[CHOSEN].get(length)
        start = before.value if isinstance(before, Number) else before
        is_whole = True
        for way in self.ways.values():
            after = way.after.get(length)
            growth = (after.value if isinstance(after, Number) else after) - start
            if growth != width and (growth != 0 or way.after[GOES_ON] is not False):
                raise Unalike("a list has what only some turns have made", self.loop.line)
            is_whole = is_whole and growth == width
        if is_whole:
            return None
        number = self.loop.states[-1].get(length)
        begin = self.loop.raw[self.first].get(length)
        if not isinstance(number, Number) or width != 1:
            raise Unalike("a list has what only some turns have made", self.loop.line)
        begin = begin.value if isinstance(begin, Number) else begin
        found = self.roller.reference(number)
        return found._binary("sub", begin, lambda a, b: a - b) if begin else found

    def made_at(self, place: Any) -> tuple[Any, list[Value]]:
        name = place[1]
        mine = self.tree_after[name]
        turns = self.evidence[self.first : len(self.turns)]
        return self._reference(mine, ()), [turn.after[name] for turn in turns]


__all__ = ["Branched", "Tree", "Way", "after_of", "answers_of", "turns_of", "FewTurns"]
