"""Puts loops in place of the turns that a run has made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from .alike import FEWEST, FewTurns, TurnOfItems, Unalike
from .branches import Ask, Item, Step, Turn
from .join import Merger
from .loops import LEAVE, LOOP, NUMBER, TURN, Loop
from .numbers import Number, is_from_data, number_of
from .recorder import Call, Question, Recorder
from .references import values_in
from .rolling import Rolling
from .tensors import Value
from .turns import NoBothSides
from .windows import check_windows

aten = torch.ops.aten


class Roller:
    """Rolls the loops of a run, one after the other."""

    def __init__(self, merger: Merger, recorder: Recorder, trees: dict[int, Any] | None = None) -> None:
        #: Turns with all ways through their branches, by the number of the loop.
        self.trees = trees or {}
        self.merger = merger
        self.recorder = recorder
        #: The loop, the turn and the place that made a value.
        self.owner: dict[int, tuple[Rolling, int, Any]] = {}
        #: The loop after which a name stands for a number.
        self.numbers: dict[int, tuple[Rolling, Any]] = {}
        #: What values of turns are after their loops.
        self.after: dict[Any, Any] = {}
        #: Numbers of turns that stay before their loops.
        self.plain: dict[int, int] = {}
        #: Calls that make tensors of numbers of turns, by their results: a list of all of them is a result of the loop.
        self.scalars: dict[int, Step] = {}
        #: Calls that must stand before the item that is being written.
        self.new: list[Item] = []
        self.kept: list[Any] = []
        self.rolled: list[Rolling] = []
        #: The loop whose values are not looked at from after it.
        self.skipped: Rolling | None = None
        #: So many loops are around what is rolled.
        self.depth = 0

    @contextmanager
    def inside(self, rolling: Rolling) -> Iterator[None]:
        """While the block runs, references are those of the turns of a loop."""
        before, self.skipped = self.skipped, rolling
        try:
            yield
        finally:
            self.skipped = before

    def items(self, items: list[Item]) -> list[Item]:
        """The items with loops in place of turns."""
        found: list[Item] = []
        position = 0
        while position < len(items):
            item = items[position]
            if isinstance(item, Step) and item.call.function is NUMBER:
                position += 1
                continue
            if isinstance(item, Step) and item.call.function is LOOP:
                end = _end_of(items, position)
                found += self.loop(item.call.args[0], items[position + 1 : end])
                position = end + 1
                continue
            self.new = []
            made = self.item(item)
            found += self.new if made is None else [*self.new, made]
            position += 1
        return found

    def turn_of(self, number: Any) -> tuple[Rolling, int] | None:
        """The turn whose values alone a number is computed of; None if there is none, or several."""
        owners = {self.owner[id(self.merger.canon(value))][:2] for value in values_in(number) if id(self.merger.canon(value)) in self.owner}
        return owners.pop() if len(owners) == 1 else None

    def item(self, item: Item) -> Item | None:
        if isinstance(item, Ask):
            return self._ask(item)
        if isinstance(item, Turn):
            return Turn(item.index, item.question._replace(number=self.reference(item.question.number)))
        if not isinstance(item, Step):
            raise Unalike("a branch on both sides in a loop")
        call = item.call
        if call.function is aten.scalar_tensor.default and isinstance(call.args[0], Number) and self.turn_of(call.args[0]) is not None:
            self.scalars[id(call.results)] = item
            return None
        if call.function in (aten.stack.default, aten.cat.default) and self._has_turns(call.args[0]):
            from .gather import gathered

            return gathered(self, call)
        return Step(call._replace(args=self.reference(call.args), kwargs=self.reference(call.kwargs)), item.is_split)

    def _ask(self, item: Ask) -> Ask | None:
        question = item.question
        try:
            return Ask(question._replace(number=self.reference(question.number)), item.failure)
        except Unalike:
            if question.by_model or not is_from_data(question.number):
                raise
            return None  # a check of PyTorch's own that data decide

    def _has_turns(self, values: Any) -> bool:
        made = lambda value: isinstance(value, Value) and (id(value) in self.scalars or id(self.merger.canon(value)) in self.owner)  # noqa: E731
        return isinstance(values, (list, tuple)) and any(map(made, values))

    def add(self, function: Any, *args: Any, results: Value | None = None, line: Any = None) -> Value:
        """Adds a call before the item that is being written."""
        made = results if results is not None else self.value_of(function, args)
        self.new.append(Step(Call(function, args, {}, made, line, {})))
        self.merger.makers[id(made)] = self.new[-1]  # type: ignore[assignment]
        return made

    def value_of(self, function: Any, args: Any) -> Value:
        """A value of the type that a function returns."""
        return self.new_value(function(*_described(args)))

    def new_value(self, like_this: torch.Tensor) -> Value:
        made = Value(0, like_this, False)
        made.device = torch.device("cpu")
        self.kept.append(made)
        return made

    # What values are after their loops.
    def reference(self, reference: Any) -> Any:
        if isinstance(reference, Value):
            return self.value(reference)
        if isinstance(reference, Number):
            return self.number(reference)
        if isinstance(reference, (list, tuple)):
            return type(reference)(self.reference(item) for item in reference)
        if isinstance(reference, dict):
            return {name: self.reference(item) for name, item in reference.items()}
        return reference

    def value(self, value: Value) -> Value:
        value = self.merger.canon(value)
        known = self.after.get(id(value))
        if known is not None:
            return known  # type: ignore[no-any-return]
        scalar = self.scalars.pop(id(value), None)
        if scalar is not None:
            self.new.append(Step(scalar.call._replace(args=self.reference(scalar.call.args))))
            return value
        owner = self.owner.get(id(value))
        if owner is None or owner[0] is self.skipped:
            return value
        found = self.after[id(value)] = owner[0].after(value, owner[1], owner[2])
        return found

    def number(self, number: Number) -> Any:
        return self._number(number, {})

    def _number(self, number: Number, seen: dict[int, Any]) -> Any:
        """What a number is, with what was `seen` in the same walk."""
        if id(number) not in seen:
            seen[id(number)] = self._new_number(number, seen)
        return seen[id(number)]

    def _new_number(self, number: Number, seen: dict[int, Any]) -> Any:
        if id(number) in self.after:
            return self.after[id(number)]
        known = self.numbers.get(id(number))
        if known is not None and known[0] is not self.skipped:
            found = self.after[id(number)] = known[0].number_after(known[1], number)
            self.kept.append(number)
            return found
        if number.function == "item" and id(number.operands[0]) in self.plain:
            return self.plain[id(number.operands[0])]
        operands = tuple(self._number(operand, seen) if isinstance(operand, Number) else self.reference(operand) for operand in number.operands)
        if all(a is b for a, b in zip(operands, number.operands)):
            return number
        made = Number(number.value, number.function, operands, number.ask)
        self.kept.append(made)
        return made

    def now(self, reference: Any) -> Any:
        """What a name stands for, in the values that items have now."""
        if isinstance(reference, Value):
            value = self.merger.canon(reference)
            return self.after.get(id(value), value)
        return self.after.get(id(reference), reference) if isinstance(reference, Number) else reference

    # Loops.
    def loop(self, loop: Loop, items: list[Item]) -> list[Item]:
        turns = self._turns(loop, items)
        if not turns:
            never = self._never(loop)
            for name, number in loop.states[-1].items():
                raw = loop.raw[-1][name]
                if isinstance(number, Number) and number is not raw:
                    self.after[id(number)] = self.reference(raw)
                    self.kept.append(number)
            return never
        if loop.loose is not None:
            changed = ".".join(str(part) for part in loop.loose[1:] if part != "")
            raise NoBothSides(f"a turn of a loop changes the number `{changed}`, which is no local name (`self.n += 1`, `numbers[0] += 1`),", loop.line)
        if loop.is_returned:
            raise NoBothSides("a loop that is left by `return` in some turn", loop.line)
        if len(turns) < FEWEST:
            raise FewTurns(loop.line)
        tree = self.trees.get(loop.number)
        if tree is None and loop.is_left:
            refusal = NoBothSides("a loop that is left before its last turn is over, and no branch tells when,", loop.line)
            asked = [item.question.line for item in turns[-1].items if isinstance(item, Ask) and item.question.by_model]
            refusal.branch = asked[-1] if asked else None
            raise refusal
        from .branched import Branched

        rolling = Rolling(self, loop, turns) if tree is None else Branched(self, loop, turns, tree)
        try:
            check_windows(loop)
            found = rolling.roll()
        except Unalike as error:
            refusal = NoBothSides(f"the turns of a loop are not the same: {error}", error.line or loop.line)
            refusal.branch = error.branch
            raise refusal from None
        self.rolled.append(rolling)
        if self.depth:
            rolling.note_finals()
        return found

    def _never(self, loop: Loop) -> list[Item]:
        """What is asked of a loop without turns: on a side that was answered otherwise, such as that of no objects, whether it never makes any there.

        Raises:
            FewTurns: It may make some at other inputs.
        """
        number = number_of(loop.count)
        if number is None or self.recorder.loops.without == loop.number:  # type: ignore[union-attr]
            return []
        turns = self.recorder.turns
        if self.depth or turns is None or not (turns.may_have_none and turns.forced):
            raise FewTurns(loop.line)
        return [Ask(Question("int", self.reference(number), 0, loop.line, True, 0))]

    def _turns(self, loop: Loop, items: list[Item]) -> list[TurnOfItems]:
        found: list[TurnOfItems] = []
        begins = [place for place, item in enumerate(items) if isinstance(item, Step) and item.call.function is TURN and item.call.args[0] is loop]
        for number, begin in enumerate(begins):
            end = begins[number + 1] if number + 1 < len(begins) else len(items)
            self.depth += 1
            made = self.items(items[begin + 1 : end])
            self.depth -= 1
            found.append(TurnOfItems(items[begin].call.results, made, loop.states[number], self.merger.canon))  # type: ignore[union-attr]
        return found


def _end_of(items: list[Item], begin: int) -> int:
    loop = items[begin].call.args[0]  # type: ignore[union-attr]
    for place in range(begin + 1, len(items)):
        item = items[place]
        if isinstance(item, Step) and item.call.function is LEAVE and item.call.args[0] is loop:
            return place
    raise NoBothSides("a loop that does not end", loop.line)


def _described(arg: Any) -> Any:
    """Arguments as tensors without elements."""
    if isinstance(arg, Value):
        return torch.empty_strided(arg.shape, arg.stride, dtype=arg.dtype, device="meta")
    if isinstance(arg, Number):
        return arg.value
    return type(arg)(map(_described, arg)) if isinstance(arg, (list, tuple)) else arg


__all__ = ["Roller"]
