"""Runs branches and loops of lowered code: each side of a branch, and one turn of a loop, is written down on its own, and what names stand for afterwards is a result.

A side that the inputs do not take runs before the one that they take, and what it changes is changed back. A turn of a loop is given new values for what the turns
before have changed; the other turns run without being written down. So a branch takes one run of each side, in whatever it stands, and a loop one of its turns.
"""

from __future__ import annotations

import logging
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from . import folds
from .arrays import tensor_in
from .align import kind_of
from .attempts import Attempt
from .attributes import Attributes
from .caught import is_caught_in
from .containers import DICTIONARIES
from .deques import items_of
from .grown import Grown, OtherSizes
from .joined_sides import JoinedSides
from .keyed import at_text, attribute_at_text
from .keys import Keys, check_keys
from .long import Long
from .loops import Mark, Walkable
from .modes import Mode, attribute_by, code_of, codes_in, found_by, found_or, is_text
from .numbers import Number, number_of, numbers_in, plain, symbolic
from .picked import item_of
from .placed import IN_PLACE, changed_at, set_at
from .places import line_of_model
from .ragged import Table, long_list
from .ranges import Numbers
from .recorder import Call, Question, Recorder
from .slotted import Slotted, is_none, repeated
from .states import UNDEFINED, Place, Poison, Copies, Snapshot, Values, is_attribute, is_number, refuse
from .tensors import Tracked, Value, scalar_value, sizes_of, symbolic_item
from .turns import NoBothSides, Turns, check_depth, key_of
from .walks import rows_of
from .written import BRANCH, ONE_SIDE, Get, Set, ATTEMPTS, MOST_TURNS, Block, RawBranch, Again, Peel, OWN, Plan, TurnsOfLoop, asks_for_turn

_log = logging.getLogger(__name__)


class Structure:
    """What lowered code calls in place of branches and loops."""

    def __init__(self, recorder: Recorder, turns: Turns, model: torch.nn.Module) -> None:
        self.recorder = recorder
        self.attributes = Attributes(model, turns.lengths)
        self.turns = turns
        #: So many loops around what runs only find out what they change.
        self.dry = 0
        #: So many sides that the inputs do not take are around what runs.
        self.turned = 0
        #: The keys that turns make for texts.
        self.keys = Keys()
        #: Conditions of branches around what runs, with their answers.
        self.known: dict[Any, bool] = {}
        self.journals: list[dict[int, tuple[Any, Any]]] = []
        #: What names stand for before the branch or loop that is being made: sizes of what is not there yet may be theirs.
        self.near: dict[Place, Any] = {}
        #: Elements of lists that may be None, with whether they are something else, and the error that the model raises if they are not.
        self.elements: dict[int, tuple[Any, Any, Any]] = {}

    # Values of expressions.
    @staticmethod
    def seen(look: Callable[[], Any]) -> Any:
        """The value of a name; UNDEFINED if it has none."""
        try:
            return look()
        except (NameError, AttributeError):
            return UNDEFINED

    @staticmethod
    def can_change(look: Callable[[], Any]) -> bool:
        """Whether the attributes of something may be given other values: those of tuples may not."""
        return not isinstance(look(), tuple)

    def same(self, one: Any, other: Any) -> Any:
        for value in (one, other):
            if isinstance(value, Poison):
                raise refuse(value)
        if one is None or other is None:
            return is_none(self, other if one is None else one)
        return one is other

    def other(self, one: Any, other: Any) -> Any:
        found = self.same(one, other)
        return not found if type(found) is bool else torch.sym_not(found)

    def note_element(self, value: Any, is_written: Any, error: Exception) -> None:
        """Notes an element of a list that may be None instead. The error is what is raised if the model does not ask."""
        self.elements[id(value)] = (value, is_written, error)

    def state(self, condition: Any, error: Exception, line: Any) -> None:
        """Writes down that a condition holds where the model goes on: it raises an error elsewhere."""
        number = number_of(condition)
        if number is not None and not self.dry:
            self._mark(ONE_SIDE, (self._question(number, True, line), error), line)

    def condition(self, test: Any) -> Any:
        """A condition as a number, if its answer may be another one at other inputs; otherwise its answer."""
        if isinstance(test, Poison):
            raise refuse(test)
        test = tensor_in(items_of(test))
        if isinstance(test, Long):
            test = test.count != 0
        if isinstance(test, Walkable):
            test = test.count != 0
        if isinstance(test, Mode):
            test = test != ""
        if isinstance(test, Tracked) and not self.recorder.is_fixed(test) and test.numel() == 1:
            test = test.item()
        number = number_of(test)
        if number is None or self.recorder.fakes is not None:
            return bool(test)
        if not number.is_bool():
            number = Number(number.value != 0, "ne", (number, 0), number.ask)
        if not number.function or self.turns._is_static(number):
            return bool(symbolic(number))
        if self.turns.decides(number):
            return bool(number.value)
        return self.known.get(key_of(number), number)

    def negated(self, test: Any) -> Any:
        found = self.condition(test)
        return not found if type(found) is bool else symbolic(found.sym_not())

    def every(self, *looks: Callable[[], Any]) -> Any:
        return self._series(looks, True)

    def some(self, *looks: Callable[[], Any]) -> Any:
        return self._series(looks, False)

    def contained(self, value: Any, container: Any) -> Any:
        """`value in container`: the elements are asked for one after the other, as far as they are known."""
        found = self.keys.is_there(container, value) if isinstance(container, dict) else None
        if found is not None:
            return found
        is_asked = isinstance(value, Mode) or (number_of(value) is not None and isinstance(container, (list, tuple)))
        if not is_asked or not isinstance(container, (list, tuple, set, frozenset, dict)) or not all(is_number(item) or is_text(item) for item in container):
            return value in container
        return self.some(*(partial(lambda item: value == item, item) for item in container))

    def first(self, *looks: Callable[[], Any]) -> Any:
        """`a or b` as a value."""
        return self._value(looks, True)

    def last(self, *looks: Callable[[], Any]) -> Any:
        """`a and b` as a value."""
        return self._value(looks, False)

    def _value(self, looks: tuple[Callable[[], Any], ...], ends: bool) -> Any:
        """The first value that holds or does not, as `ends` says, or the last one."""
        value, rest = looks[0](), looks[1:]
        if not rest:
            return value
        test = self.condition(value)
        if type(test) is bool:
            return value if test is ends else self._value(rest, ends)
        sides = (lambda: value, lambda: self._value(rest, ends))
        return self.chosen(symbolic(test), *(sides if ends else sides[::-1]))

    def _series(self, looks: tuple[Callable[[], Any], ...], going: bool) -> Any:
        """`and`, or `or`: conditions until one of them is not `going`."""
        for place, look in enumerate(looks):
            found = self.condition(look())
            if type(found) is bool:
                if found is not going:
                    return found
                continue
            rest = looks[place + 1 :]
            if not rest:
                return symbolic(found)
            if self.dry:
                return self._series(rest, going) if found.value is going else found.value
            return self._both(found, lambda: self._series(rest, going), going)
        return going

    def _both(self, first: Number, rest: Callable[[], Any], going: bool) -> Any:
        """Two conditions as one. The second is asked only where the first leaves it open, unless it takes no call."""
        second = self._second(first, rest, going)
        if type(second) is bool:
            return symbolic(first) if second is going else second
        if second is not None and not _divides(second):
            value = (first.value and second.value) if going else (first.value or second.value)
            return symbolic(Number(value, "and_" if going else "or_", (first, second), first.ask))
        yes, no = (rest, lambda: False) if going else (lambda: True, rest)
        return self.chosen(symbolic(first), yes, no)

    def _second(self, first: Number, rest: Callable[[], Any], going: bool) -> Any:
        """The second of two conditions; None if it takes calls."""
        self.turned += 1
        try:
            with self._written_to(Block()) as block, self._knowing(first, going), self._journal() as journal:
                try:
                    second = self.condition(rest())
                except OWN:
                    raise
                except Exception:  # whatever the model raises where the first condition does not hold
                    return None
                finally:
                    self._undo(journal)
        finally:
            self.turned -= 1
        return None if block.calls or block.questions else second

    def chosen(self, test: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
        """`a if c else b`."""
        box: Values = {"value": UNDEFINED}
        self.branch(test, lambda: box.update(value=yes()), lambda: box.update(value=no()), lambda: dict(box), box.update)
        return box["value"]

    @staticmethod
    def listed(kind: Any, values: Any) -> Any:
        """`list(values)` or `tuple(values)`."""
        if kind == list and isinstance(values, Numbers) and number_of(values.length) is not None:
            return Grown(values.tensor(), int, line_of_model())
        check_keys(values)
        if kind not in (list, tuple) or isinstance(values, Numbers):
            return kind(values)
        found = folds.listed(values)
        return found if isinstance(found, Long) or kind == list else tuple(found)

    sort_in = staticmethod(folds.sort_in)

    def item(self, container: Any, index: Any) -> Any:
        """`container[index]`."""
        container = items_of(container)
        if type(container) in (defaultdict, Counter) and not self.dry:
            self.keys.need(container, index)
        return found_by(self, container, index) if isinstance(index, Mode) else item_of(self, container, index)

    def returned(self, value: Any) -> Any:
        """What a function returns."""
        self.keys.check_returned(value, sys._getframe(1).f_back)
        return value

    @staticmethod
    def whole(container: Any) -> Any:
        """What `items()`, `keys()` or `values()` is asked of."""
        check_keys(container)
        return container

    def got(self, container: Any, index: Any, *default: Any) -> Any:
        """`container.get(index, default)`."""
        container = items_of(container)
        if not isinstance(index, Mode) or type(container) not in DICTIONARIES:
            if isinstance(container, dict) and not self.keys.stands_for(container, index, *default):
                return self.chosen(self.keys.is_there(container, index), lambda: container[index], lambda: default[0] if default else None)
            return container.get(index, *default)
        otherwise = default[0] if default else None
        self.keys.note_default(container, otherwise)
        return container.get(index.now, otherwise) if self.dry else found_or(self, container, index, otherwise)

    def set_at(self, container: Any, index: Any, value: Any) -> None:
        """`container[index] = value`."""
        set_at(self, container, index, value)

    def change_at(self, container: Any, index: Any, operation: str, value: Callable[[], Any]) -> None:
        """`container[index] += value()`, or another operation."""
        container = items_of(container)
        set_at(self, container, index, IN_PLACE[operation](self.item(container, index), value()))

    def changed_at(self, container: Any, index: Any, otherwise: Callable[[], Any] | None, method: str, *args: Any) -> None:
        """`container[index].append(x)` or `container.setdefault(index, otherwise()).append(x)`, or another method that changes a list."""
        changed_at(self, items_of(container), index, otherwise, method, args)

    def attribute(self, owner: Any, name: Any) -> Any:
        """`getattr(owner, name)`."""
        return attribute_by(self, owner, name) if isinstance(name, Mode) else getattr(owner, name)

    def at_text(self, container: Any, text: Callable[..., str], *parts: Any) -> Any:
        """`container[f"head{k}"]`."""
        return at_text(self, items_of(container), text, *parts)

    def attribute_at_text(self, owner: Any, text: Callable[..., str], *parts: Any) -> Any:
        """`getattr(owner, f"head{k}")`."""
        return attribute_at_text(self, owner, text, *parts)

    @staticmethod
    def extended(values: Any, others: Any) -> Any:
        """`values.extend(others)`. Returns what the name stands for then."""
        others = _open_rows(others)
        if type(values) is list and isinstance(others, (Long, Walkable)):
            return values + folds.listed(others)
        values.extend(folds.listed(others) if isinstance(others, Walkable) else others)
        return values

    @staticmethod
    def added(value: Any, other: Any) -> Any:
        """`value += other`."""
        other = _open_rows(other) if isinstance(value, list) else items_of(other)
        if isinstance(value, list) and isinstance(other, (Long, Walkable)):
            return value + folds.listed(other)
        condition = number_of(other)
        if condition is not None and condition.is_bool() and is_number(value):  # one of Python's booleans is 0 or 1
            other = symbolic(condition.sym_ite(1, 0))
        value += other
        return value

    @staticmethod
    def counted(values: Any, value: Any) -> Any:
        """`values.count(value)`."""
        values = items_of(values)
        if isinstance(values, Walkable):
            values = folds.listed(values)
        if isinstance(values, Grown) and values.kind in (int, float, bool):
            return (values.rows == value).sum().item()
        if isinstance(values, Long):
            raise NoBothSides("`count` of a list of a loop", values.line)
        is_open = type(values) in (list, tuple) and all(map(is_number, values)) and any(number_of(one) is not None for one in (*values, value))
        return sum((one == value) * 1 for one in values) if is_open else values.count(value)

    def repeated_list(self, elements: Any, count: Any) -> Any:
        """`[element] * count`."""
        return repeated(self, elements, count)

    def nones(self, values: Any) -> Any:
        """`[None for _ in values]`."""
        walk = rows_of(values)
        return [None for _ in values] if walk is None else repeated(self, [None], walk.count)

    # What is written down.
    @contextmanager
    def _written_to(self, block: Block) -> Iterator[Block]:
        """While the block runs, calls and questions are written to it."""
        recorder = self.recorder
        before = recorder.calls, recorder.questions, recorder.open_splits
        recorder.calls, recorder.questions, recorder.open_splits = block.calls, block.questions, block.splits
        try:
            yield block
        finally:
            recorder.calls, recorder.questions, recorder.open_splits = before

    @contextmanager
    def _knowing(self, number: Number, answer: bool) -> Iterator[None]:
        key = key_of(number)
        before = self.known.get(key)
        self.known[key] = answer
        try:
            yield
        finally:
            del self.known[key]
            if before is not None:
                self.known[key] = before

    @contextmanager
    def _dry(self) -> Iterator[None]:
        """While the block runs, nothing is written down."""
        self.dry += 1
        try:
            with self._written_to(Block()):
                yield
        finally:
            self.dry -= 1

    @contextmanager
    def _journal(self) -> Iterator[dict[int, tuple[Any, Any]]]:
        """Keeps the memory that is written to while the block runs, as it was."""
        self.journals.append({})
        try:
            yield self.journals[-1]
        finally:
            self.journals.pop()

    def note_write(self, tensor: torch.Tensor) -> None:
        for journal in self.journals:
            storage = tensor.untyped_storage()
            if storage._cdata not in journal:
                with _disable_current_modes():
                    journal[storage._cdata] = (storage, storage.clone())

    @staticmethod
    def _undo(journal: dict[int, tuple[Any, Any]]) -> None:
        with _disable_current_modes():
            for storage, before in journal.values():
                storage.copy_(before)

    def _mark(self, mark: Mark, item: Any, line: Any) -> None:
        self.recorder.calls.append(Call(mark, (item,), {}, None, line, self.recorder.modules.current))

    def _question(self, number: Number, answer: bool, line: Any, by_model: bool = True) -> Question:
        return Question("bool", number, answer, line, by_model, len(self.recorder.calls), (), by_model and is_caught_in(sys._getframe(1), line))

    # Branches.
    def branch(self, test: Any, yes: Callable[[], None], no: Callable[[], None], get: Get, set_: Set) -> None:
        get, set_ = self.attributes.with_tracked(get, set_)
        number = self.condition(test)
        if type(number) is bool or self.dry:
            (yes if (number if type(number) is bool else number.value) else no)()
            return
        line, answer = line_of_model(), bool(number.value)
        if self.turned and line is not None:
            check_depth(line)
        run = {True: yes, False: no}
        before, attributes = Snapshot(get()), self.attributes.now()
        question = self._question(number, answer, line)
        theirs, other, failure = self._other_side(run[not answer], number, not answer, get, set_, before)
        self.attributes.note(attributes, before.values)
        if failure is None:
            mine, block, error = self._side(run[answer], number, answer, get)
            self.attributes.note(attributes, before.values)
            if error is None:
                self._join(question, mine, theirs, (block, other), get, set_, before)
                return
            before.restore(get, set_)
            # The data contradict a branch around this one: the side that fails is not taken there.
            question, failure, answer = question._replace(answer=not answer), error, not answer
        self._mark(ONE_SIDE, (question, failure), line)
        with self._knowing(number, answer):
            run[answer]()

    def _side(self, run: Callable[[], None], number: Number, answer: bool, get: Get) -> tuple[Values, Block, Exception | None]:
        """The side that the inputs take."""
        block = Block()
        with self._journal() as journal:
            try:
                with self._written_to(block), self._knowing(number, answer):
                    run()
                return get(), block, None
            except OWN:
                raise
            except Exception as error:  # whatever the model raises on data that contradict its conditions
                if not self.turned:
                    raise
                self._undo(journal)
                return {}, block, error

    def _other_side(self, run: Callable[[], None], number: Number, answer: bool, get: Get, set_: Set, before: Snapshot) -> tuple[Values, Block, Exception | None]:
        """A side that the inputs do not take."""
        block, failure = Block(), None
        values: Values = {}
        self.turned += 1
        try:
            with self._journal() as journal:
                try:
                    with self._written_to(block), self._knowing(number, answer):
                        run()
                    values = Copies(get())
                except OWN:
                    raise
                except Exception as error:  # whatever the model raises on a side that its inputs do not take
                    failure = error
                finally:
                    self._undo(journal)
        finally:
            self.turned -= 1
        before.restore(get, set_)
        return values, block, failure

    def _join(self, question: Question, mine: Values, theirs: Values, blocks: tuple[Block, Block], get: Get, set_: Set, before: Snapshot) -> None:
        """Makes results of what names stand for after both sides."""
        join, self.near = JoinedSides(self, question, blocks, getattr(theirs, "origins", {})), before.leaves
        found = {name: join.merged(value, theirs.get(name, UNDEFINED), name) for name, value in mine.items() if not is_attribute(mine, name)}
        set_({name: value for name, value in found.items() if value is not mine[name]})
        self._mark(BRANCH, RawBranch(question, blocks, join.results), question.line)

    # Loops.
    def walked(self, values: Any, is_left: Any, body: Any, get: Get, set_: Set) -> None:
        """`for`."""
        if isinstance(values, Poison):
            raise refuse(values)
        if isinstance(values, folds.Chain):
            for part in values.parts:
                self._or_left(is_left, partial(self.walked, part, is_left, body, get, set_), get, set_)
            return
        walk = rows_of(values)
        if walk is None or self.recorder.fakes is not None:
            self._unrolled(values, is_left, body, get, set_)
        elif number_of(walk.count) is None or self.turns._is_static(number_of(walk.count)):
            self._fixed(walk, is_left, body, get, set_)
        else:
            self._rolled(TurnsOfLoop(line_of_model(), walk.count, walk.make, None, is_left, body, get, set_))

    def _fixed(self, walk: Walkable, is_left: Any, body: Any, get: Get, set_: Set) -> None:
        """A loop of a fixed number of turns. It is rolled if that is asked for, and if each turn does the same."""
        count = plain(walk.count)
        if self.turns.roll is not None and count >= self.turns.roll and not self.dry:
            before, place = Snapshot(get()), self._place()
            with self._journal() as journal:
                try:
                    self._rolled(TurnsOfLoop(line_of_model(), count, walk.make, None, is_left, body, get, set_))
                    if not asks_for_turn(self.recorder.calls[place[0] :]):
                        return
                except Exception as error:  # whatever the model raises where the number of a turn is no number of Python's
                    _log.debug("a loop of %s turns is not rolled: %s", count, error)
                self._undo(journal)
            before.restore(get, set_)
            self._cut(place)
        self._unrolled(map(walk.make, range(count)), is_left, body, get, set_)

    def _unrolled(self, values: Any, is_left: Any, body: Any, get: Get, set_: Set) -> None:
        """A loop of a fixed number of turns. After a turn that may leave it, the next ones are on a side of a branch."""
        for value in values:
            if self._or_left(is_left, partial(body, value), get, set_):
                return

    def _or_left(self, is_left: Any, run: Callable[[], None], get: Get, set_: Set) -> bool:
        """Runs the next part of a loop, on a side of a branch if the part before may have left it. Whether it has."""
        left = False if is_left is None else self.condition(is_left())
        if left is False:
            run()
        elif left is not True:
            self.branch(symbolic(left.sym_not()), run, lambda: None, get, set_)
        return left is True

    def repeated(self, test: Any, is_left: Any, body: Any, get: Get, set_: Set) -> None:
        """`while`."""
        line = line_of_model()
        turns = TurnsOfLoop(line, None, lambda turn: None, test, is_left, body, get, set_)
        if self.dry or self.recorder.fakes is not None:
            self._run_dry(turns, 0)
            return
        for _ in range(MOST_TURNS):
            before, place = Snapshot(get()), self._place()
            if type(self.condition(test())) is not bool:
                self._cut(place)
                self._rolled(turns)
                return
            if not self.condition(test()):
                return
            self._cut(place)
            with self._journal() as journal:
                body()
                left = False if is_left is None else self.condition(is_left())
                if type(left) is not bool:
                    self._undo(journal)
            if left is True:
                return
            if left is not False:
                before.restore(get, set_)
                self._cut(place)
                self._rolled(turns)
                return
        raise NoBothSides(f"a loop of more than {MOST_TURNS} turns", line)

    def _place(self) -> tuple[int, int]:
        return len(self.recorder.calls), len(self.recorder.questions)

    def _cut(self, place: tuple[int, int]) -> None:
        """Forgets what was written down after a place."""
        del self.recorder.calls[place[0] :], self.recorder.questions[place[1] :]
        self.recorder.open_splits -= {position for position in self.recorder.open_splits if position >= place[0]}

    def _rolled(self, turns: TurnsOfLoop) -> None:
        if self.dry:
            self._run_dry(turns, 0)
            return
        get, set_ = self.attributes.with_tracked(turns.get, turns.set)
        turns = replace(turns, get=get, set=set_)
        attributes = self.attributes.now()
        try:
            self._attempted(turns)
        finally:
            self.attributes.note(attributes, turns.get())

    def _attempted(self, turns: TurnsOfLoop) -> None:
        """A loop, which is run until all that its turns change is known."""
        before, plan, place = Snapshot(turns.get()), Plan(), self._place()
        for _ in range(ATTEMPTS):
            self.keys.put(before)
            with self._journal() as journal:
                try:
                    with self.keys.within(before):
                        Attempt(self, turns, plan, before).run()
                    return
                except Again:
                    self._undo(journal)
                except Peel:
                    self._undo(journal)
                    before.restore(turns.get, turns.set)
                    self._cut(place)
                    self._peeled(turns)
                    return
                except OtherSizes as error:
                    self._undo(journal)
                    if not error.is_new or not self._is_list_of(turns, plan, error.key):
                        raise
            before.restore(turns.get, turns.set)
            self._cut(place)
        raise NoBothSides("what the turns of a loop change was not found", turns.line)

    def _peeled(self, turns: TurnsOfLoop) -> None:
        """A loop whose first turn is another one: it stays before the loop."""
        if turns.count is None:
            test = self.condition(turns.test()) if turns.test is not None else True
            rest = replace(turns, is_peeled=True)
            if type(test) is bool:
                self._first_turn(turns, rest)
            else:
                self.branch(symbolic(test), lambda: self._first_turn(turns, rest), lambda: None, turns.get, turns.set)
            return
        number = number_of(turns.count)
        if number is None or number.value < 1:
            raise NoBothSides("the first turn of a loop is another one, and there is none at the sizes that were tried", turns.line)
        condition = Number(True, "ge", (number, 1), number.ask)
        self.recorder.questions.append(self._question(condition, True, turns.line, False))
        self._first_turn(turns, replace(turns, count=turns.count - 1, make=lambda turn: turns.make(turn + 1), is_peeled=True))

    def _first_turn(self, turns: TurnsOfLoop, rest: TurnsOfLoop) -> None:
        turns.run(0)
        left = False if turns.is_left is None else self.condition(turns.is_left())
        if left is False:
            self._rolled(rest)
        elif left is not True:
            self.branch(symbolic(left.sym_not()), lambda: self._rolled(rest), lambda: None, turns.get, turns.set)

    def _is_list_of(self, turns: TurnsOfLoop, plan: Plan, key: Any) -> bool:
        """Whether a list, or one that is in it, is made longer by this loop, which is run again."""
        found = [self.key_of_list(turns.line, place) for place in plan.lists]
        return any(key[: len(one)] == one for one in found)

    def _goes_on(self, turns: TurnsOfLoop, turn: int) -> bool:
        """Whether there is another turn after so many."""
        if turn >= MOST_TURNS:
            raise NoBothSides(f"a loop of more than {MOST_TURNS} turns", turns.line)
        if turns.count is not None and turn >= plain(turns.count):
            return False
        if turns.is_left is not None and _holds(turns.is_left()):
            return False
        return turns.test is None or _holds(turns.test())

    def _run_dry(self, turns: TurnsOfLoop, turn: int) -> None:
        """Runs turns that are not written down."""
        while self._goes_on(turns, turn):
            turns.run(turn)
            turn += 1

    # Values.
    def with_value(self, leaf: Any, value: Value | None = None) -> tuple[Any, Value]:
        """The same thing with a value of its own, and this."""
        recorder = self.recorder
        if isinstance(leaf, Grown):
            rows, made = self.with_value(leaf.rows, value)
            return leaf.like(rows), made
        if isinstance(leaf, torch.Tensor):
            actual = leaf.actual if isinstance(leaf, Tracked) else leaf
            with _disable_current_modes():
                actual = actual.detach().clone(memory_format=torch.preserve_format)
            made = value if value is not None else recorder.new_value(actual, False)
            made.ragged = True
            return Tracked(actual, made, recorder), made
        if is_text(leaf):
            made = value if value is not None else scalar_value(recorder.next_key(), int)
            return Mode(symbolic_item(plain(code_of(leaf, self.codes)), made, recorder.ask), self.codes), made
        now = plain(leaf)
        if type(now) is bool:  # loops hand on tensors and integers
            made = value if value is not None else scalar_value(recorder.next_key(), int)
            return symbolic(Number(now, "ne", (Number(int(now), "item", (made,), recorder.ask), 0), recorder.ask)), made
        made = value if value is not None else scalar_value(recorder.next_key(), type(now))
        return symbolic_item(now, made, recorder.ask), made

    def reference(self, leaf: Any) -> Any:
        """What a leaf is in the recording."""
        if isinstance(leaf, Grown):
            return self.reference(leaf.rows)
        if isinstance(leaf, torch.Tensor):
            return self.recorder.reference(leaf)
        if is_text(leaf):
            leaf = code_of(leaf, self.codes)
        number = number_of(leaf)
        if type(plain(leaf)) is bool:
            return int(leaf) if number is None else number.sym_ite(1, 0)
        return leaf if number is None else number

    def kind(self, leaf: Any) -> Any:
        """The type that a result must have; None of what is no result."""
        if isinstance(leaf, Grown):
            return ("list", leaf.kind, kind_of(self.recorder.reference(leaf.rows)))
        if isinstance(leaf, torch.Tensor):
            return kind_of(self.recorder.reference(leaf))
        if is_text(leaf):
            return str
        return type(plain(leaf)) if is_number(leaf) else None

    @property
    def codes(self) -> dict[str, int]:
        """The numbers of texts."""
        return codes_in(self.turns.lengths)

    def dummy(self, leaf: Any) -> Any:
        """Something of the type of a leaf, which nobody reads."""
        if isinstance(leaf, Grown):
            return leaf.like(self.dummy(leaf.rows))
        if isinstance(leaf, torch.Tensor):
            sizes = [self.size_of(axis, size, None, 0) for axis, size in enumerate(getattr(leaf, "actual", leaf).shape)]
            return torch.full(sizes, 0, dtype=leaf.dtype, device=leaf.device)
        return "" if is_text(leaf) else type(plain(leaf))(0)

    def size_of(self, axis: int, size: int, name: Any = None, otherwise: int | None = None) -> Any:
        """A size of a tensor that is not there yet: that of an input or of a tensor before it, if one is as long in all runs."""
        line = line_of_model()
        inputs = enumerate(self.recorder.inputs)
        found: list[Any] = [(number, place) for number, value in inputs for place, known in enumerate(value.shape) if known == size and not self.turns.is_static(value, place)]
        near = {place: leaf for place, leaf in self.near.items() if isinstance(leaf, Tracked) and not leaf.value.fixed}
        found += [(place, at) for place, leaf in near.items() for at, known in enumerate(leaf.actual.shape) if known == size]
        found.append(size)
        key = ("size", None if line is None else line.place, axis, name)
        before = self.turns.lengths.setdefault(key, found)
        known_in_all = [one for one in before if one in found]
        self.turns.lengths[key] = known_in_all
        if not known_in_all:
            return otherwise if otherwise is not None else size
        if type(known_in_all[0]) is int:
            return size
        number, place = known_in_all[0]
        if type(number) is tuple:
            return sizes_of(near[number])[place]
        return symbolic(Number(size, "size", (self.recorder.inputs[number], place), self.recorder.ask))

    @staticmethod
    def key_of_list(line: Any, name: Any) -> tuple[Any, ...]:
        """What tells a list of a loop or branch from others, in all runs."""
        return ("list", None if line is None else line.place, name)

    def as_list(self, value: Any, example: Any, line: Any, name: Any = None) -> Long:
        """A list as rows of tensors: stacked, or joined along the dimension in which they differ."""
        make = lambda elements: long_list(elements, example, self.key_of_list(line, name), self.turns.lengths, self.size_of, line)  # noqa: E731
        if isinstance(value, Slotted):
            value.begin(lambda: make([]))
        return value if isinstance(value, Long) else make(list(value))

    @staticmethod
    def unzipped(zip_: Any, values: Any) -> Any:
        """`zip(*values)`."""
        return values.unzipped() if isinstance(values, (Slotted, Table)) else zip_(*values)


def _open_rows(values: Any) -> Any:
    """The rows of a tensor as a list, if a size says how many they are."""
    walk = rows_of(values) if isinstance(values, torch.Tensor) else None
    return items_of(values) if walk is None or number_of(walk.count) is None else Grown(values, torch.Tensor, line_of_model())


def _holds(test: Any) -> bool:
    """Whether a condition holds in this run."""
    test = tensor_in(test)
    if isinstance(test, Tracked):
        return bool(test.actual)
    if isinstance(test, Long):
        return bool(plain(test.count) != 0)
    return bool(plain(test))


def _divides(number: Any) -> bool:
    """Whether a number divides by another one, which a condition before it may keep from being zero."""
    return any(one.function in ("floordiv", "mod", "truediv") and isinstance(one.operands[1], Number) for one in numbers_in(number))


__all__ = ["Structure"]
