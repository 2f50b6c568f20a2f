"""Makes one turn of all turns of a loop: they must be the same calls on values that correspond.

The second turn stands for all. A value that it reads and does not make is the same in all turns, or carried from turn to turn: it was made by the turn before at the
same place, or a name of the model's code stands for it at the begin of every turn. If the first turn differs, it stays before the loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from .align import kind_of
from .alike import FEWEST, MISSING, FewTurns, Held, TurnOfItems, Unalike
from .branches import Ask, Carried, Item, Rolled, Step, Turn, made_in, with_values, written_by
from .join import _Private, like
from .loops import CHOSEN, Loop
from .numbers import Number, number_of
from .recorder import Call, Question
from .tensors import Value, scalar_value

if TYPE_CHECKING:
    from .roll import Roller

aten = torch.ops.aten



class Rolling:
    """Makes a loop of turns."""

    is_branched = False

    def __init__(self, roller: Roller, loop: Loop, turns: list[TurnOfItems]) -> None:
        self.roller = roller
        self.merger = roller.merger
        self.loop = loop
        self.turns = turns
        self.chosen = turns[CHOSEN]
        self.own = {id(self.merger.canon(value)) for value in made_in(self.chosen.items)} | {id(self.chosen.counter)}
        #: Numbers that names stand for at the begin of the turn that stands for all, unless all turns have them.
        self.states = {
            self.merger.name(number): name
            for name, number in self.chosen.before.items()
            if isinstance(number, Number) and turns[0].before.get(name) is not number and not _is_counter(number, turns)
        }
        for number, turn in enumerate(turns):
            turn.number = number
        self.first = 0
        self.depth = roller.depth
        self.held: dict[int, Held] = {}
        #: What is carried, by what the chosen turn reads.
        self.carried: dict[Any, Carried] = {}
        self.solved: set[Any] = set()
        #: Where the numbers of what they become stand.
        self.paths: dict[int, Any] = {}
        self.finals: dict[Any, Any] = {}
        self.stacks: dict[Any, Value] = {}
        self.item: Any = None
        #: The calls that write to memory from before the loop.
        self.written_back: list[Item] = []
        self.written: dict[int, Value] = {}

    def is_same(self, a: Any, b: Any) -> bool:
        if isinstance(a, (Value, Number)) or isinstance(b, (Value, Number)):
            return a is b or (type(a) is type(b) and self.merger.is_same(a, b))
        return type(a) is type(b) and (a == b or (a != a and b != b))

    def is_equal(self, a: Any, b: Any) -> bool:
        return type(a) is type(b) and bool(a == b)

    # All turns as one.
    def roll(self) -> list[Item]:
        for number in range(1, len(self.turns)):
            self.held[number] = self._hold(number)
        try:
            self.held[0] = self._hold(0)
            self._solve()
        except Unalike:
            self.held.pop(0, None)
            self._peel()
        return self._made()

    def _hold(self, number: int) -> Held:
        held = Held(self, self.turns[number])
        held.items(self.chosen.solid, self.turns[number].solid)
        if self.loop.asked:
            held.reference(self.roller.reference(self.loop.asked[CHOSEN + 1].number), self.roller.reference(self.loop.asked[number + 1].number), ("again",))
        return held

    def _peel(self) -> None:
        """Leaves the first turn before the loop."""
        if self.loop.asked:
            raise Unalike("the first is another one", self.loop.line)
        self.first = 1
        self.carried, self.solved = {}, set()
        if len(self.turns) < FEWEST + 1:
            raise FewTurns(self.loop.line)
        self._solve()

    def _solve(self) -> None:
        """Finds what is carried: for each value that the chosen turn reads and does not make, what it is in the other turns."""
        while True:
            new = [key for key in self.held[CHOSEN].slots if key not in self.solved]
            if not new:
                break
            for key in new:
                self.solved.add(key)
                self._solve_slot(key)

    def _solve_slot(self, key: Any, mine: Any = None) -> None:
        mine = self.held[CHOSEN].slots[key][0]
        sequence = {number: held.slots[key][1] for number, held in self.held.items() if key in held.slots}
        if all(self.is_same(mine, other) for other in sequence.values()):
            return
        path: Any = ()
        after = self._at_place(mine, sequence)
        if after is None:
            after, path = self._by_name(mine, sequence)
        if after is MISSING:
            raise Unalike("a value comes neither from before the loop nor from the turn before", self.loop.line)
        init = sequence[self.first]
        if path:
            init = self.roller.reference(self._raw(self.first, path[1]))
        one = self.carried[key] = self._new(mine, init, after)
        self.paths[id(one)] = path

    def _new(self, mine: Any, init: Any, after: Any) -> Carried:
        if kind_of(mine) != kind_of(init) or kind_of(mine) != kind_of(after):
            raise Unalike("a value changes its type or rank", self.loop.line)
        param, result = ((like(mine), like(mine)) if isinstance(mine, Value) and mine.device is not None else (scalar_value(0, kind_of(mine)), scalar_value(0, kind_of(mine))))
        if isinstance(init, Value) and init.device is not None and isinstance(after, Value):
            param.ragged = result.ragged = True
        self.roller.kept += [param, result]
        return Carried(param, init, after, result)

    def _at_place(self, mine: Any, sequence: dict[int, Any]) -> Any:
        """What the chosen turn makes at the place where the turn before made what it reads."""
        place = self.turns[CHOSEN - 1].places.get(id(mine))
        if place is None or not all(self.turns[number - 1].at.get(place) is other for number, other in sequence.items() if number > self.first):
            return None
        return self.chosen.at.get(place)

    def _by_name(self, mine: Any, sequence: dict[int, Any]) -> tuple[Any, Any]:
        """What a name stands for after the chosen turn, if it stands for what the turns read at the begin of each."""
        for name in self.chosen.before:
            if not all(self.is_same(self._state(number, name), other) for number, other in sequence.items()):
                continue
            after = self._raw(CHOSEN + 1, name)
            before = {number: (dict(held.slots), dict(held.numbers)) for number, held in self.held.items()}
            try:
                for number, held in self.held.items():
                    held.reference(self.roller.reference(after), self.roller.reference(self._raw(number + 1, name)), ("name", name))
            except Unalike:
                for number, (slots, numbers) in before.items():
                    self.held[number].slots, self.held[number].numbers = slots, numbers
                continue
            return self.roller.reference(after), ("name", name)
        return MISSING, ()

    def _state(self, number: int, name: Any) -> Any:
        """What a name stands for at the begin of a turn."""
        return self.roller.now(self.loop.states[number].get(name, MISSING))

    def _raw(self, number: int, name: Any) -> Any:
        """The same as the turn before has made it."""
        return self.loop.raw[number].get(name, MISSING)

    # The loop.
    def _made(self) -> list[Item]:
        index = scalar_value(0, int)
        self.roller.kept.append(index)
        self.index = index
        self.counter: Any = Number(CHOSEN - self.first, "item", (index,), self.chosen_ask)
        if self.first:
            self.counter = self.counter._binary("add", self.first, lambda a, b: a + b)
        items = [self._item(item) for item in self._with_paths() if not self._is_told(item[0])]
        count = self.roller.reference(_number(self.loop.count))
        first, again = self._conditions()
        for one in self.carried.values():
            one.next = self._reference(one.next, self.paths.get(id(one), ()))
        items, writes = self._own_memory(items)
        before: list[Item] = []
        if self.first:
            before = self._first_turn(count)
            count = count._binary("sub", self.first, lambda a, b: a - b) if isinstance(count, Number) else count - self.first
        self.item = Rolled(self.loop.line, index, count, first, again, list(self.carried.values()) + self.writes, [], items)
        for number, turn in enumerate(self.turns):
            if number < self.first:
                continue
            for place, value in turn.at.items():
                self.roller.owner[id(self.merger.canon(value))] = (self, number, place)
        for name, number in self.loop.states[-1].items():
            if isinstance(number, Number) and self.loop.states[0].get(name) is not number and not _is_counter(number, self.turns):
                self.roller.numbers.setdefault(id(number), (self, name))
        self.written_back = writes
        return [*before, self.item, *writes]

    def _conditions(self) -> tuple[Any, Any]:
        """The conditions before the first turn, and after each."""
        if not self.loop.asked:
            return None, None
        return self.roller.reference(self.loop.asked[0].number), self._reference(self.roller.reference(self.loop.asked[CHOSEN + 1].number), ("again",))

    def chosen_ask(self, number: Number, what: str) -> Any:
        return number.value

    def _with_paths(self) -> list[tuple[Item, Any]]:
        found, number = [], 0
        for item in self.chosen.items:
            is_solid = not isinstance(item, Ask) or item.question.by_model
            found.append((item, (number,) if is_solid else None))
            number += is_solid
        return found

    def _is_told(self, item: Item) -> bool:
        """Whether an item is a question of PyTorch's for the plain number of a turn: the calls have it, and were compared."""
        return isinstance(item, Ask) and item.question.is_plain and not item.question.by_model and self._is_of_turn(item.question.number)

    def _is_of_turn(self, number: Any) -> bool:
        if not isinstance(number, Number):
            return True
        return number.operands[0] is self.chosen.counter if number.function == "item" else number.function != "size" and all(map(self._is_of_turn, number.operands))

    def _item(self, item_and_path: tuple[Item, Any]) -> Item:
        item, path = item_and_path
        path = () if path is None else path
        if isinstance(item, Ask):
            return Ask(item.question._replace(number=self._reference(item.question.number, (*path, "asked"))), item.failure)
        if isinstance(item, Step):
            call = item.call
            return Step(call._replace(args=self._reference(call.args, (*path, "args")), kwargs=self._reference(call.kwargs, (*path, "kwargs"))), item.is_split)
        if isinstance(item, Turn):
            return Ask(item.question._replace(number=self._reference(item.question.number, (*path, "asked"))))
        if not isinstance(item, Rolled):
            raise Unalike("a branch on both sides in a loop")
        item.count, item.first = self._reference(item.count, (*path, "count")), self._reference(item.first, (*path, "first"))
        item.again = self._reference(item.again, (*path, "again"))
        for number, one in enumerate(item.carried):
            one.init, one.next = self._reference(one.init, (*path, "init", number)), self._reference(one.next, (*path, "next", number))
        item.slices = [(self._reference(reference, (*path, "slice", number)), value) for number, (reference, value) in enumerate(item.slices)]
        found, number = [], 0
        for inner in item.items:
            is_solid = not isinstance(inner, Ask) or inner.question.by_model
            found.append(self._item((inner, (*path, "items", number) if is_solid else None)))
            number += is_solid
        item.items = found
        return item

    def _reference(self, reference: Any, path: Any) -> Any:
        """A reference in the chosen turn, with what the loop gives it."""
        if isinstance(reference, Value):
            one = self.carried.get(("value", id(self.merger.canon(reference))))
            return one.param if one is not None else reference
        if isinstance(reference, Number):
            return self._number(reference, path)
        if isinstance(reference, (list, tuple)):
            return type(reference)(self._reference(item, (*path, number)) for number, item in enumerate(reference))
        if isinstance(reference, dict):
            return {name: self._reference(item, (*path, name)) for name, item in reference.items()}
        return self._constant(reference, path) if type(reference) is int else reference

    def _number(self, number: Number, path: Any, known: dict[int, Any] | None = None) -> Any:
        """A number in the chosen turn. `known` has those that were made in the same expression."""
        known = {} if known is None else known
        if id(number) not in known:
            known[id(number)] = self._new_number(number, path, known)
        return known[id(number)]

    def _new_number(self, number: Number, path: Any, known: dict[int, Any]) -> Any:
        one = self.carried.get(("number", self.merger.name(number)))
        if one is not None:
            return Number(number.value, "item", (one.param,), self.chosen_ask)
        if number.function == "item" and self.merger.canon(number.operands[0]) is self.merger.canon(self.chosen.counter):
            return self.counter
        operands = tuple(
            self._number(operand, (*path, place), known) if isinstance(operand, Number) else self._reference(operand, (*path, place)) for place, operand in enumerate(number.operands)
        )
        return number if all(a is b for a, b in zip(operands, number.operands)) else Number(number.value, number.function, operands, self.chosen_ask)

    def _constant(self, known: int, path: Any) -> Any:
        """A number of Python's that grows by the same amount in each turn."""
        found = {number: held.numbers[path][1] for number, held in self.held.items() if path in held.numbers}
        if all(other == known for other in found.values()):
            return known
        step = found[CHOSEN + 1] - known
        if any(other != known + step * (number - CHOSEN) for number, other in found.items()):
            raise Unalike(f"a number of Python's is {', '.join(str(found[number]) for number in sorted(found))} in the turns")
        turn = Number(CHOSEN, "mul", (self.counter, step), self.chosen_ask) if step != 1 else self.counter
        rest = known - step * CHOSEN
        return Number(known, "add", (turn, rest), self.chosen_ask) if rest else turn

    def _first_turn(self, count: Any) -> list[Item]:
        self.roller.plain[id(self.turns[0].counter)] = 0
        items: list[Item] = []
        for item in self.turns[0].items:
            if not isinstance(item, (Ask, Step)):
                items.append(item)
                continue
            made = self.roller.item(item)
            if made is None:
                continue
            # A branch on the number of the turn is decided.
            if not isinstance(made, Ask) or isinstance(made.question.number, Number):
                items.append(made)
        for one in self.carried.values():
            one.init = self.roller.reference(one.init)
        if isinstance(count, Number):
            at_least = Number(True, "ge", (count, self.first), count.ask)
            question = Question("bool", at_least, True, self.loop.line, False, 0)
            items.insert(0, Ask(question))
        return items

    # Writes.
    def _own_memory(self, items: list[Item]) -> tuple[list[Item], list[Item]]:
        """A loop that writes to memory from before it carries a copy of that, which is written back after it."""
        merger = self.merger
        own = {id(value) for value in made_in(items)}
        params = {id(one.param): one for one in self.carried.values()}
        roots: dict[int, Value] = {}
        for item in items:
            for value in written_by(item.call) if isinstance(item, Step) else ():
                root = merger.root(value)
                if id(root) not in own:
                    roots[id(root)] = root
        self.writes: list[Carried] = []
        self.written = {}
        if not roots:
            return items, []
        question = Question("bool", Number(True, "", (), self.chosen_ask), True, self.loop.line, True, 0)
        for key, root in roots.items():
            if key in params and not self.first:
                raise Unalike("a loop writes to what it carries", self.loop.line)
        private = _Private(merger, question, items, own, roots)
        found: list[Item] = private.items
        writes: list[Item] = []
        self.private = private
        for key, root in roots.items():
            if key in params:
                if params[key].next is root:
                    params[key].next = private.copies[key]
                continue
            self.written[key] = root
            one = Carried(like(root), root, private.copies[key], like(root))
            self.roller.kept += [one.param, one.result]
            found = [_with(item, root, one.param) for item in found]
            self.writes.append(one)
            writes.append(Step(Call(aten.copy_.default, (root, one.result), {}, like(root), self.loop.line, {})))
        for one in self.carried.values():
            one.next = private.reference(one.next)
        return found, writes

    # After the loop.
    def after(self, value: Value, number: int, place: Any) -> Value:
        """What a value of a turn is after the loop."""
        if number == len(self.turns) - 1:
            return self._final(value, place)
        named = self._named(value)
        if named is not None:
            return named
        stack = self.stack(place)
        start = number - self.first
        return self.roller.add(aten.select.int, stack, 0, start if start < 2 else number - len(self.turns), line=self.loop.line)

    def note_finals(self) -> None:
        """Makes what local names stand for after the loop a result of it: the turns of a loop around it must all have it."""
        for name, reference in self.loop.states[-1].items():
            if len(name) > 2 or not isinstance(reference, (Value, Number)):
                continue
            key = id(self.merger.canon(reference)) if isinstance(reference, Value) else id(reference)
            if key not in self.roller.owner and key not in self.roller.numbers:
                continue
            raw, init = self._raw(len(self.turns), name), self._state(self.first, name)
            if kind_of(init) != kind_of(reference) or (isinstance(raw, Number) and _is_counter(raw, self.turns)):
                continue  # what nothing reads after the loop, such as its own variable
            try:
                self.roller.new = []
                self.roller.reference(reference)
            except Unalike:
                continue

    def _named(self, value: Value) -> Value | None:
        """What a name stands for after the loop, if it stands for a value of a turn before the last; None if no name does, or several that differ."""
        found: list[Carried] = []
        for name in self.loop.states[-1]:
            if self._state(len(self.turns), name) is not value:
                continue
            try:
                one = self._final_of(name, None)
            except Unalike:
                continue
            if one is not None:
                found.append(one)
        same = [one for one in found if one.next is found[0].next and self.is_same(one.init, found[0].init)]
        return same[0].result if found and len(same) == len(found) else None

    def _final(self, value: Value, place: Any) -> Value:
        mine = self.chosen.at[place]
        names = [name for name in self.loop.states[-1] if self._state(len(self.turns), name) is value]
        inits: list[Any] = []
        for name in names:
            init = self.roller.reference(self._raw(self.first, name))
            if init is not MISSING and kind_of(init) == kind_of(mine) and not any(self.is_same(init, one) for one in inits):
                inits.append(init)
        if mine.device is None and not inits:
            inits = [{int: 0, float: 0.0, bool: False}[mine.dtype]]
        if len(inits) != 1:
            return self.roller.add(aten.select.int, self.stack(place), 0, -1, line=self.loop.line)
        known = next((one for one in self.item.carried if one.next is mine and self.is_same(one.init, inits[0])), None)
        if known is None:
            after = self.counter if mine is self.chosen.counter else mine
            known = self._new(mine, inits[0], after)
            self.item.carried.append(known)
        return known.result

    def number_after(self, name: Any, number: Number) -> Any:
        """A number that a name stands for after the loop."""
        one = self._final_of(name, type(number.value)(0))
        assert one is not None  # noqa: S101
        return Number(number.value, "item", (one.result,), self.chosen_ask)

    def _final_of(self, name: Any, default: Any) -> Carried | None:
        """What is carried for a name that is read after the loop.

        Raises:
            Unalike: The turns do not make the same of it.
        """
        if name in self.finals:
            return self.finals[name]  # type: ignore[no-any-return]
        with self.roller.inside(self):
            mine = self.roller.reference(self._raw(CHOSEN + 1, name))
            for number, held in self.held.items():
                held.reference(mine, self.roller.reference(self._raw(number + 1, name)), ("name", name))
            self._solve_more()
        init = self.roller.reference(self._raw(self.first, name))
        if init is MISSING or kind_of(init) != kind_of(mine):
            if default is None:
                return None
            init = default
        one = self._new(mine, init, self._reference(mine, ("name", name)))
        self.item.carried.append(one)
        self.finals[name] = one
        return one

    def _solve_more(self) -> None:
        """Finds what else is carried for what is read after the loop."""
        known = set(self.carried)
        self._solve()
        for key, one in self.carried.items():
            if key not in known:
                one.next = self._reference(one.next, self.paths.get(id(one), ()))
                self.item.carried.append(one)

    def scalars(self, calls: list[Call]) -> Any:
        """The place of a tensor that each turn makes of a number, as these calls do for all turns.

        Raises:
            Unalike: The turns do not make the same.
        """
        mine = calls[CHOSEN - self.first]
        path = ("scalar", id(mine))
        for number, call in enumerate(calls, self.first):
            held = self.held[number]
            held.reference(mine.args, call.args, (*path, "args"))
            if mine.kwargs != call.kwargs:
                raise Unalike("a list has numbers of several types", self.loop.line)
        self._solve_more()
        made = like(mine.results)
        self.roller.kept.append(made)
        self.item.items.append(Step(mine._replace(args=self._reference(mine.args, (*path, "args")), results=made)))
        return self.stack(path, made)

    def made_at(self, place: Any) -> tuple[Value, list[Value]]:
        """What the chosen turn makes at a place, and all turns."""
        return self.chosen.at[place], [turn.at[place] for turn in self.turns[self.first :]]

    def stack(self, place: Any, of: Value | None = None) -> Value:
        """What all turns make at a place, stacked."""
        if place not in self.stacks:
            mine, made = self.made_at(place) if of is None else (of, [of])
            if any(not isinstance(value, Value) or value.shape != mine.shape for value in made):
                raise Unalike("what the turns make has other sizes in each of them", self.loop.line)
            if mine.device is None:
                raise Unalike("numbers of all turns are read after the loop", self.loop.line)
            if id(self.merger.root(mine)) in self.written:
                raise Unalike("a list has views of a tensor that the loop writes to", self.loop.line)
            count = len(self.turns) - self.first
            stacked = self.roller.new_value(torch.empty((count, *mine.shape), dtype=mine.dtype, device="meta"))
            self.stacks[place] = stacked
            self.item.slices.append((mine, stacked))
        return self.stacks[place]


def _is_counter(number: Number, turns: list[TurnOfItems]) -> bool:
    """Whether a number is that of a turn."""
    return number.function == "item" and any(number.operands[0] is turn.counter for turn in turns)


def _with(item: Item, old: Value, new: Value) -> Item:
    return with_values(item, lambda value: new if value is old else value)


def _number(count: Any) -> Any:
    found = number_of(count)
    return count if found is None else found


__all__ = ["Rolling"]
