"""Records a model on both sides of its branches, and makes one recording of all paths: a branch becomes a call of `torch.cond`'s operator with two bodies."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import torch

from .branches import If, Item, Path, Rolled, Step, count_of_calls, parts_of, replaced
from .composed import composed
from .explorer import Care, Explorer, Record
from .follow import holds
from .growing import grows
from .join import Merger, like
from .nested import BEGIN, END, LOOP_OPERATOR, Body
from .numbers import Number, is_from_data, symbolic
from .places import kind_of_file
from .pruned import check_nesting
from .recorder import Call, Question, Recorder, Unrecorded
from .runs import Run
from .slotted import Unwritten
from .tensors import Tracked, Value, scalar_value
from .turns import NoBothSides, Turns, Unlikely, raises
from .wide import Overflowed

_ITEM = torch.ops.aten._local_scalar_dense.default


class Turned(NamedTuple):
    """A branch with both sides.

    Attributes:
        line: Its line.
        calls: The numbers of calls where it holds, and where not.
        number: The condition.
    """

    line: Any
    calls: tuple[int, int]
    number: Any


class RolledLoop(NamedTuple):
    """A loop that is in the program: its line, the number of calls of a turn, what it carries, and whether its whole numbers may become too large for a file."""

    line: Any
    calls: int
    carried: str
    grows: bool


class GapAtEmpty(Exception):
    """A side that cannot be run, in a model that finds nothing in the example: it may run with other inputs, which are tried before all other sides are.

    Attributes:
        run: The run that its inputs take.
    """

    def __init__(self, run: Run) -> None:
        super().__init__("a side cannot be run where masks choose nothing")
        self.run = run


@dataclass
class Both:
    """What is recorded on both sides.

    Attributes:
        lines: The lines of the branches.
        loops: The lines of the loops.
        max_branches: So many branches may become an If.
        max_runs: So many runs may be made for one choice of sizes.
        made: The branches of the last recording.
        rolled: Its loops.
        failures: The errors of sides that could not be run, by the file and the number of their lines.
        taken: The sides that inputs have taken by themselves: the file and number of the line, and the answer.
        held: The lines with which the program was held against runs with other answers, and the care that it took.
        is_static: Whether a dimension of a value is the same at all inputs.
        sizes: Sizes at which branches go the other way by themselves.
        natural: The lines of branches that do so, though the model raises an error where they are turned at the example.
        more: So many turns are added to each `while` on data.
        max_tries: So many inputs are tried at which both sides of all branches can run.
        ends_at_gap: Whether a recording ends with the error of a side that could not be run.
        may_have_none: Whether loops may make no turn on sides that the inputs do not take, under the condition that they never do there.
        ends_if_empty: Whether it ends so where masks choose nothing at the inputs.
        is_another: Whether a run is only held against another one.
        changing: For the lines of loops the names of numbers that turns change.
        least: So many turns does a loop make at least, if data decide.
        lowered: The lines whose functions are lowered: their branches and loops are written down as such.
        lengths: Sizes of inputs that those of tensors may be which are not there yet, by their lines.
        roll: Loops of a fixed number of turns become a Loop if they make at least so many; None if they never do.
        rows: How many loops of each line have branches in their turns in the run that the program is made of, but for loops within others.
        is_patient: Whether all runs are made, even if they are not likely to do.
    """

    lines: frozenset[tuple[str, int]] = frozenset()
    loops: frozenset[tuple[str, int]] = frozenset()
    max_branches: int = 32
    max_runs: int = 64
    made: list[Turned] = field(default_factory=list)
    rolled: list[RolledLoop] = field(default_factory=list)
    failures: dict[tuple[str, int], BaseException] = field(default_factory=dict)
    taken: set[tuple[str, int, bool]] = field(default_factory=set)
    held: frozenset[tuple[str, int]] = frozenset()
    care: Care = Care.LEAST
    is_static: Callable[[Value, int], bool] = lambda value, axis: False
    sizes: list[dict[str, int]] = field(default_factory=list)
    natural: frozenset[tuple[str, int]] = frozenset()
    more: int = 0
    ends_at_gap: bool = False
    may_have_none: bool = False
    ends_if_empty: bool = False
    max_tries: int = 16
    is_another: bool = False
    changing: dict[Any, Any] = field(default_factory=dict)
    least: int = 3
    lowered: frozenset[tuple[str, int]] = frozenset()
    lengths: dict[Any, Any] = field(default_factory=dict)
    roll: int | None = None
    rows: dict[tuple[str, int], int] = field(default_factory=dict)
    is_patient: bool = False

    @property
    def has_gaps(self) -> bool:
        """Whether a side could not be run in the last recording, though the model does not forbid it."""
        return any(self.is_gap(place, error) for place, error in self.failures.items())

    def is_gap(self, place: tuple[str, int], error: BaseException) -> bool:
        """Whether an error on the side of a branch says nothing about the model, but about the inputs."""
        return place in self.natural or not is_refusal(error)

    @property
    def changes(self) -> int:
        """How many numbers are known that turns change."""
        return sum(map(len, self.changing.values()))

    @contextmanager
    def ending_at_gaps(self) -> Iterator[None]:
        """While the block runs, a recording ends with the error of a side that cannot be run."""
        before, self.ends_at_gap = self.ends_at_gap, True
        try:
            yield
        finally:
            self.ends_at_gap = before

    @contextmanager
    def kept(self) -> Iterator[None]:
        """What is noted of the last recording stays as it is, whatever is recorded inside."""
        made, failures, rolled = self.made, self.failures, self.rolled
        before, self.is_another = self.is_another, True
        try:
            yield
        finally:
            self.is_another = before
            self.made, self.failures, self.rolled = made, failures, rolled


def recorded_both(record: Record, both: Both) -> Run:
    """A recording of all paths. It is made again if a turn of a loop has changed a number of Python's that was thought to stay.

    Raises:
        NoBothSides: There are more branches or runs than are allowed.
        Unrecorded: The sides of a branch do not go together.
        Exception: What the model raises on the way that its inputs take.
    """
    if both.lowered:
        return _recorded_lowered(record, both)
    while True:
        before = both.changes
        failure: Exception | None = None
        run = None
        try:
            run = _recorded_once(record, both)
        except (NoBothSides, Unrecorded) as error:
            failure = error
        if both.changes > before:
            continue
        if failure is not None:
            raise failure
        assert run is not None  # noqa: S101
        return run


def _recorded_lowered(record: Record, both: Both) -> Run:
    """A recording of lowered code.

    Raises:
        NoBothSides: The sides of a branch or the turns of a loop do not go together.
        Exception: What the model raises on the way that its inputs take.
    """
    merger = Merger()
    first = record(Turns(frozenset(), (), both.is_static, lowered=both.lowered, lengths=both.lengths, roll=both.roll))
    merger.begin(first.recorder)
    path, failures = composed(merger, first)
    for line, error in failures:
        if both.ends_at_gap and both.is_gap(line.place, error):
            raise error
    both.made, both.failures, both.rolled = _made(path.items, both.max_branches), _worst(failures), list(_loops(path.items))
    return _Writer(merger, first).run(path)


def _recorded_once(record: Record, both: Both) -> Run:
    """A recording of all paths.

    Raises:
        NoBothSides: There are more branches or runs than are allowed.
        Unrecorded: The sides of a branch do not go together.
        Exception: What the model raises on the way that its inputs take.
    """

    def turns(forced: tuple[bool, ...], wanted: Any = None, without: int | None = None) -> Turns:
        made = Turns(both.lines, forced, both.is_static, wanted, both.loops, without, both.more, both.changing, both.least)
        made.may_have_none = both.may_have_none
        return made

    is_held = both.held == both.lines or bool(both.loops)
    for care in [Care.MOST if both.loops else both.care] if is_held else Care:
        explorer = Explorer(record, turns, both.max_runs, care, not both.is_another, both.is_patient)
        known = both.changes
        first = explorer.recorded(turns(()))
        if both.changes > known:
            return first  # it is made again
        explorer.ends_at = partial(_ends_at, both, first)
        asked = first.recorder.turns.asked.values()  # type: ignore[union-attr]
        both.taken |= {(*question.line.place, question.answer) for question in asked if question.line is not None}
        if not asked and not (first.recorder.loops is not None and first.recorder.loops.found):
            return first
        _check_rows(both, first)
        explorer.merger.begin(first.recorder)
        path = explorer.path(first)
        if is_held or not explorer.is_shortened or holds(path, explorer):
            break
    _check_kept(path.items)
    both.made, both.failures, both.rolled = _made(path.items, both.max_branches), _worst(explorer.failures), list(_loops(path.items))
    both.held, both.care = both.lines, care
    return _Writer(explorer.merger, first).run(path)


def _check_kept(items: list[Item]) -> None:
    """Looks for loops of which nothing is kept that a program has. What Python keeps of their turns, as `sum(1 for i in range(n) if i > 40)` does, is that of the run.

    Raises:
        NoBothSides: There is one.
    """
    for item in items:
        if isinstance(item, Rolled) and not item.carried and not item.slices and (any(isinstance(one, If) for one in item.items) or not count_of_calls(item.items)):
            raise NoBothSides("what is kept of the turns of a loop is a number of Python's", item.line)
        for part in parts_of(item):
            _check_kept(part)


def _check_rows(both: Both, run: Run) -> None:
    """Compares how many loops with branches in their turns there are with those of the run that the program is made of. If they are one for each turn of a loop around
    them whose turns depend on a size, the programs will not be the same, which all runs of both would show.

    Raises:
        NoBothSides: There are more or fewer of them.
    """
    turns: Turns = run.recorder.turns  # type: ignore[assignment]
    numbers = {number for number in turns.within if number is not None}
    lines = [run.recorder.loops.found[number].line for number in sorted(numbers)]  # type: ignore[union-attr]
    rows = Counter(line.place for line in lines)
    if not both.is_another:
        both.rows = rows
    elif not both.is_patient:
        for line in lines:
            if 1 < both.rows.get(line.place, 0) != rows[line.place]:
                raise Unlikely("a loop with branches in its turns is in another one, whose number of turns depends on a size", line)


def _ends_at(both: Both, first: Run, line: Any, error: Exception) -> bool:
    """Whether the error of a side ends a recording.

    Raises:
        GapAtEmpty: It may be for want of elements.
    """
    if not both.is_gap(line.place, error):
        return False
    if both.ends_if_empty and first.recorder.has_empty_masks:
        raise GapAtEmpty(first)
    return both.ends_at_gap


def _made(items: list[Item], most: int) -> list[Turned]:
    """The branches that have both sides.

    Raises:
        NoBothSides: There are more than are allowed, or they are too deep.
    """
    found = list(_branches(items))
    if len(found) > most:
        help = f"allow them with `max_branches={len(found)}`, or give the dimensions a range in which branches are always the same (`Dim(\"n\", min=8)`)"
        error = NoBothSides(f"the model has more than {most} branches with both sides (`max_branches`)", found[most].line, help)
        error.is_limit = True
        raise error
    check_nesting(items)
    return found


def _branches(items: list[Item]) -> Iterator[Turned]:
    for item in items:
        if isinstance(item, If):
            yield Turned(item.question.line, (count_of_calls(item.yes), count_of_calls(item.no)), item.question.number)
        for part in parts_of(item):
            yield from _branches(part)


def _loops(items: list[Item]) -> Iterator[RolledLoop]:
    """The loops of a program."""
    for item in items:
        if isinstance(item, Rolled):
            yield RolledLoop(item.line, count_of_calls(item.items), _described(item), grows(item))
        for part in parts_of(item):
            yield from _loops(part)


def _worst(failures: list[tuple[Any, Exception]]) -> dict[tuple[str, int], BaseException]:
    """The errors of sides by their line, those that are no refusal of the model before others."""
    found: dict[tuple[str, int], BaseException] = {}
    for line, error in failures:
        if is_refusal(found.get(line.place)) or line.place not in found:
            found[line.place] = error
    return found


def _described(loop: Rolled) -> str:
    """What a loop carries, by its kind."""
    values = [one.param for one in loop.carried]
    kinds = {value.device is None: 0 for value in values}
    for value in values:
        kinds[value.device is None] += 1
    names = {False: "tensor", True: "number"}
    return " and ".join(f"{count} {names[kind]}{'s' if count > 1 else ''}" for kind, count in sorted(kinds.items()))


def is_refusal(error: BaseException | None) -> bool:
    """Whether a model raises an error itself, with `raise` or `assert`, or has no value that a file computes."""
    if isinstance(error, (Unwritten, Overflowed)):
        return True
    frames = traceback.extract_tb(error.__traceback__) if error is not None else []
    if not frames or kind_of_file(frames[-1].filename) != "model":
        return False
    return raises(frames[-1].filename, frames[-1].lineno or 0)


class _Writer:
    """Writes the program of all paths into the recorder of one run."""

    def __init__(self, merger: Merger, run: Run) -> None:
        self.merger = merger
        self.first = run
        self.recorder: Recorder = run.recorder
        self.calls: list[Call] = []
        self.questions: list[Question] = []
        self.splits: set[int] = set()
        self.bodies: dict[int, Body] = {}
        self.kept: list[Body] = []
        #: The sides that are being written, whose branches are on sizes.
        self.sides: list[tuple[Number, bool]] = []
        #: The body that is being written, and the numbers that are known in it, besides integers.
        self.own: dict[int, Value] = {}
        #: Copies of the tensors that numbers are read from.
        self.tensors: dict[int, Value] = {}
        self.constants: list[torch.Tensor] = []
        self.seen: dict[int, Value] = {}
        self.count = 0

    def run(self, path: Path) -> Run:
        for value in self.recorder.inputs:
            self._value(value)
        self._items(path.items)
        outputs = [self._reference(output) for output in path.outputs]
        recorder = self.recorder
        for value in self.seen.values():
            again = self.merger.again.get(id(value))
            again = None if again is None else self.seen.get(id(self.merger.canon(again)))
            value.again = None if again is None else again.key
        recorder.calls, recorder.questions, recorder.open_splits, recorder.bodies = self.calls, self.questions, self.splits, len(self.bodies)
        recorder._kept, recorder._count, recorder.turns = self.constants, self.count, None
        first = self.first
        before = [*first.outputs, *(first.buffers.get(name) for name in path.buffers)]
        made = [self._output(output, known) for output, known in zip(outputs, before)]
        count = len(made) - len(path.buffers)
        return Run(first.sizes, first.leaves, recorder, made[:count], path.tree, dict(zip(path.buffers, made[count:])), first.results)

    def _output(self, reference: Any, known: Any) -> Any:
        """A result as a run returns it."""
        if isinstance(reference, Value):
            actual = known.actual if isinstance(known, Tracked) else known
            if not isinstance(actual, torch.Tensor):
                actual = torch.empty(reference.shape, dtype=reference.dtype, device=reference.device)
            return Tracked(actual.detach(), reference, self.recorder)
        return symbolic(reference) if isinstance(reference, Number) else reference

    def _value(self, value: Value) -> Value:
        value = self.merger.canon(value)
        if value.device is None and value.dtype is not int and id(value) in self.seen:
            return self._number_here(value)
        return self._numbered(value)

    def _number_here(self, value: Value) -> Value:
        """A float or bool in the body that reads it: bodies are given tensors and integers, so it is read from its tensor again."""
        known = self.own.get(id(value))
        if known is None:
            tensor = self.tensors.get(id(value))
            if tensor is None:
                raise Unrecorded("a side of a branch reads a float that another branch has made")
            known = self.own[id(value)] = self._numbered(scalar_value(0, value.dtype))
            self.merger._kept.append(known)
            self.calls.append(Call(_ITEM, (tensor,), {}, known, None, {}))
        return known

    def _numbered(self, value: Value) -> Value:
        """A value with a key of its own."""
        if value.device is None and id(value) not in self.seen:
            self.own[id(value)] = value
        if id(value) not in self.seen:
            self.count += 1
            self.seen[id(value)] = value
            value.key = self.count
            tensor = self.merger.constants.get(id(value))
            if tensor is not None:
                value.source = ("constant", len(self.constants))
                self.constants.append(tensor)
        return value

    def _reference(self, reference: Any) -> Any:
        return replaced(reference, self._value)

    def _items(self, items: list[Item]) -> None:
        for item in items:
            if isinstance(item, Step):
                self._step(item)
            elif isinstance(item, If):
                self._if(item)
            elif isinstance(item, Rolled):
                self._loop(item)
            else:
                self._ask(item.question)

    def _ask(self, question: Question) -> None:
        self.questions.append(question._replace(number=self._reference(question.number), calls=len(self.calls), sides=tuple(self.sides)))

    def _step(self, item: Step) -> None:
        call = item.call
        if call.function in (_ITEM, torch.ops.aten.item.default):
            self._copy(call)
        if item.is_split:
            self.splits.add(len(self.calls))
        if call.function in (BEGIN, END) or isinstance(call.function, torch._ops.HigherOrderOperator):
            call = call._replace(args=tuple(self._body(arg) if isinstance(arg, Body) else arg for arg in call.args))
        if call.function is BEGIN:
            for place, value in enumerate(call.results):
                value.source = ("param", (call.args[0].number, place))
        self.calls.append(call._replace(args=self._reference(call.args), kwargs=self._reference(call.kwargs), results=self._reference(call.results)))

    def _copy(self, call: Call) -> None:
        """Keeps the tensor that a float or bool is read from as it is now."""
        value = self.merger.canon(call.results)
        source = self.merger.canon(call.args[0])
        if value.dtype is not int:
            copy = self.tensors[id(value)] = self._numbered(like(source))
            self.merger._kept.append(copy)
            self.calls.append(Call(torch.ops.aten.clone.default, (self._reference(source),), {}, copy, call.line, call.modules))

    def _body(self, body: Body) -> Body:
        """A body with a number that no other has."""
        if id(body) not in self.bodies:
            self.kept.append(body)
            self.bodies[id(body)] = Body(len(self.bodies))
        return self.bodies[id(body)]

    def _if(self, item: If) -> None:
        question = item.question
        number = self._reference(question.number)
        # A float that sizes or data give has another type in the file than a constant.
        floats = {id(one): self._float_tensor() for one, *sides in item.results if one.device is None and one.dtype is float and any(type(side) is not float for side in sides)}
        bodies = []
        for place, side in ((1, item.yes), (2, item.no)):
            body = self._body(Body(-1))
            bodies.append(body)
            if not is_from_data(number):
                self.sides.append((number, place == 1))
            self.calls.append(Call(BEGIN, (body,), {}, (), question.line, {}))
            outer, self.own = self.own, {}
            self._items(side)
            results = [self._as_tensor(result[place], question.line) if id(result[0]) in floats else self._reference(result[place]) for result in item.results]
            self.own = outer
            if not is_from_data(number):
                self.sides.pop()
            self.calls.append(Call(END, (body, results), {}, None, question.line, {}))
        made = tuple(self._numbered(floats[id(value)]) if id(value) in floats else self._value(value) for value, _, _ in item.results)
        self.calls.append(Call(torch.ops.higher_order.cond, (number, *bodies, ()), {}, made, question.line, {}))
        for value, _, _ in item.results:
            if id(value) in floats:
                self._from_tensor(floats[id(value)], value, question.line)

    def _loop(self, item: Rolled) -> None:
        count, first = self._reference(item.count), self._reference(item.first)
        floats = {id(one): (self._float_tensor(), self._float_tensor()) for one in item.carried if one.param.device is None and one.param.dtype is float}
        inits = [self._as_tensor(one.init, item.line) if id(one) in floats else self._reference(one.init) for one in item.carried]
        body = self._body(Body(-1))
        params = [item.index, *(floats[id(one)][0] if id(one) in floats else one.param for one in item.carried)]
        for place, value in enumerate(params):
            self._numbered(value).source = ("param", (body.number, place))
        self.calls.append(Call(BEGIN, (body,), {}, tuple(params), item.line, {}))
        outer, self.own = self.own, {id(value): value for value in params if value.device is None}
        for one in item.carried:
            if id(one) in floats:
                self._from_tensor(floats[id(one)][0], one.param, item.line)
        self._items(item.items)
        nexts = [self._as_tensor(one.next, item.line) if id(one) in floats else self._reference(one.next) for one in item.carried]
        results = [*(() if item.first is None else (self._reference(item.again),)), *nexts, *(self._reference(reference) for reference, _ in item.slices)]
        self.own = outer
        self.calls.append(Call(END, (body, results), {}, None, item.line, {}))
        made = tuple(self._numbered(floats[id(one)][1]) if id(one) in floats else self._value(one.result) for one in item.carried)
        made += tuple(self._value(value) for _, value in item.slices)
        self.calls.append(Call(LOOP_OPERATOR, (body, count, first, inits, ()), {}, made, item.line, {}))
        for one in item.carried:
            if id(one) in floats:
                self._from_tensor(floats[id(one)][1], one.result, item.line)

    # Bodies hand on tensors and integers: a float is in a tensor.
    def _float_tensor(self) -> Value:
        made = Value(0, torch.empty((), dtype=torch.float64), False)
        self.merger._kept.append(made)
        return made

    def _as_tensor(self, reference: Any, line: Any) -> Value:
        made = self._numbered(self._float_tensor())
        self.calls.append(Call(torch.ops.aten.scalar_tensor.default, (self._reference(reference),), {"dtype": torch.float64}, made, line, {}))
        return made

    def _from_tensor(self, tensor: Value, value: Value, line: Any) -> None:
        self.tensors[id(value)] = self._numbered(tensor)
        self.calls.append(Call(_ITEM, (tensor,), {}, self._numbered(value), line, {}))


__all__ = ["Both", "GapAtEmpty", "NoBothSides", "Turned", "is_refusal", "recorded_both"]
