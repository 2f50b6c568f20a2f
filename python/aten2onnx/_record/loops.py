"""Notes the turns of loops while a model runs: where each begins, and what the names of the model's code stand for there."""

from __future__ import annotations

import ast
import ctypes
import inspect
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from functools import lru_cache
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any

import torch

from .numbers import Number, is_from_data, number_of, plain, symbolic
from .places import kind_of_file, kind_of_frame, line_of_model, nodes_of
from .ranges import cut_of
from .tensors import Tracked, scalar_value, turn_value
from .turns import NoBothSides

if TYPE_CHECKING:
    from .recorder import Question, Recorder

#: The name of something that the code of a model reaches: a local name or an attribute of a module, and the steps from there.
Name = tuple[Any, ...]

#: The file whose code calls the model.
_RUNS = os.path.join(os.path.dirname(__file__), "runs.py")

#: So many elements of a list, and so many steps from a name, are looked at.
_ELEMENTS, _STEPS = 400, 4

#: So many turns may a loop make in a run.
_MOST = 5000


class Mark:
    """Stands in the list of calls where a loop begins, a turn begins, or a loop ends."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return self.name


LOOP, TURN, LEAVE, NUMBER = Mark("the begin of a loop"), Mark("the begin of a turn"), Mark("the end of a loop"), Mark("a number that a loop carries")


#: The number of the turn that stands for all.
CHOSEN = 1


class Loop:
    """A loop that a run has made.

    Attributes:
        line: Its line.
        frame: The frame that it runs in, while it does.
        count: The number of its turns, if it is known before them.
        number: The number of this loop among those of the run.
        states: What names stand for at the begin of each turn, and last after the loop.
        raw: The same before numbers were replaced by those that the loop carries.
        asked: For a `while`, its conditions with their answers.
        is_left: Whether it was left before its last turn was over.
    """

    def __init__(self, line: Any, frame: FrameType | None, count: Any, number: int) -> None:
        self.line = line
        self.frame = frame
        self.count = count
        self.number = number
        self.turns = 0
        self.states: list[dict[Name, Any]] = []
        self.raw: list[dict[Name, Any]] = []
        self.counters: list[Any] = []
        self.asked: list[Question] = []
        self.is_left = False
        self.is_returned = False
        self.more = 0
        #: The name of a number that a turn changes and nothing else can stand for.
        self.loose: Name | None = None
        #: The answers of branches before it.
        self.known: dict[Any, bool] = {}
        #: The answers of branches in the turn that is running.
        self.answers: dict[Any, bool] = {}

    @property
    def has_else(self) -> bool:
        """Whether it has an `else`, which runs if it is not left."""
        loops = nodes_of(self.line.file, ast.For, ast.While)
        return any(node.orelse and node.lineno <= self.line.number <= node.body[0].lineno for node in loops)


class Loops:
    """The loops of a run, and those that are running.

    Attributes:
        lines: The files and numbers of lines whose loops are noted turn by turn.
        without: The number of a loop that makes no turn in this run, whatever its condition says.
        changing: For the line of each loop the names of numbers that a turn has changed in some run: they are numbers that remember in all runs.
        least: So many turns does a loop make at least, if data decide.
        more: So many turns does each `while` on data make when its condition holds no longer: runs with other numbers of turns show what depends on them.
    """

    def __init__(self, lines: frozenset[tuple[str, int]], without: int | None = None, more: int = 0, changing: dict[Any, set[Name]] | None = None, least: int = 0) -> None:
        self.lines = lines
        self.changing = {} if changing is None else changing
        self.least = least
        #: Whether a branch or condition has another answer than its data give it.
        self.is_forced = False
        self.more = more
        self.without = without
        self.found: list[Loop] = []
        self.running: list[Loop] = []
        #: Lists that turns have changed, with their lengths when a turn began or the loop ended: as a number that remembers, and as it was.
        self.lengths: dict[int, tuple[list[Any], Any, int]] = {}

    def begin(self, recorder: Recorder, line: Any, frame: FrameType, count: Any) -> Loop:
        loop = Loop(line, frame, count, len(self.found))
        loop.known = self.running[0].known if self.running else dict(recorder.turns.answers) if recorder.turns is not None else {}
        self.found.append(loop)
        self.running.append(loop)
        _mark(recorder, LOOP, loop, None)
        return loop

    def turn(self, recorder: Recorder, loop: Loop, frame: FrameType) -> Number:
        """Begins a turn. Returns its number, counted from 0."""
        self._leave_inner(recorder, loop)
        self._note(recorder, loop, frame)
        counter = turn_value(recorder.next_key())
        if loop.turns >= _MOST:
            raise NoBothSides(f"a loop of more than {_MOST} turns", loop.line)
        loop.counters.append(counter)
        _mark(recorder, TURN, loop, counter)
        loop.turns += 1
        return Number(loop.turns - 1, "item", (counter,), recorder.ask)

    def leave(self, recorder: Recorder, loop: Loop, frame: FrameType, is_left: bool = False) -> None:
        """Ends a loop."""
        if loop not in self.running:
            return
        self._leave_inner(recorder, loop)
        self._note(recorder, loop, frame)
        loop.is_left, loop.frame = is_left, None
        loop.is_returned = is_left and _is_return_in(loop.line.file, loop.line.number, frame.f_lineno)
        self.running.remove(loop)
        _mark(recorder, LEAVE, loop, None)

    def _note(self, recorder: Recorder, loop: Loop, frame: FrameType) -> None:
        """Notes what names stand for. A number of Python's that a turn has changed becomes one that remembers: the loop carries it."""
        lists: dict[Name, list[Any]] = {}
        raw = names_of(frame, recorder, lists)
        before = loop.states[-1] if loop.states else {}
        for name, values in lists.items():
            length = before.get(name)
            if isinstance(length, Number):
                growth = len(values) - length.value
                raw[name] = Number(len(values), "add", (length, growth), length.ask) if growth else length
        given = dict(raw)
        known = self.changing.setdefault(loop.line.place, set())
        loop.answers = {}
        for name, value in raw.items():
            if not _is_number(value) or not (name in known or (loop.states and self._is_changed(before, name, value))):
                continue
            if name not in lists and (len(name) != 2 or not _can_set(frame, name)):
                if not isinstance(value, Number) and not (type(name[-1]) is int and name[-1] < 0):
                    loop.loose = name
                continue
            shown = None
            if type(plain(value)) is bool:  # the turns of a loop hand on tensors and integers
                value = raw[name] = given[name] = _as_int(value)
                shown = lambda made: Number(bool(made.value), "ne", (made, 0), made.ask)  # noqa: E731
            made = Number(plain(value), "item", (scalar_value(recorder.next_key(), type(plain(value))),), recorder.ask)
            known.add(name)
            _mark(recorder, NUMBER, loop, made.operands[0])
            if name in lists:
                self.lengths[id(lists[name])] = (lists[name], symbolic(made), len(lists[name]))
            else:
                _set_local(frame, name, symbolic(made if shown is None else shown(made)))
            given[name] = made
        loop.raw.append(raw)
        loop.states.append(given)

    @staticmethod
    def _is_changed(before: dict[Name, Any], name: Name, value: Any) -> bool:
        """Whether a turn has changed a number. Of Python's own that were not there before, the next turn tells."""
        if not _is_number(before.get(name)):
            return isinstance(value, Number)
        return not _is_equal(before[name], value)

    def length(self, values: list[Any]) -> Any:
        """The length of a list that turns of loops have changed; None of others."""
        known = self.lengths.get(id(values))
        return None if known is None else known[1] + (len(values) - known[2])

    def _leave_inner(self, recorder: Recorder, loop: Loop) -> None:
        while self.running and self.running[-1] is not loop:
            inner = self.running[-1]
            if inner.frame is None:
                self.running.pop()
            else:
                self.leave(recorder, inner, inner.frame, is_left=True)

    def condition(self, recorder: Recorder, question: Question, frame: FrameType) -> bool:
        """Whether a `while` goes on: its condition was asked."""
        place = question.line.place  # type: ignore[union-attr]
        loop = next((one for one in reversed(self.running) if one.frame is frame and one.count is None and one.line.place == place), None)
        if loop is None and frame.f_code.co_flags & inspect.CO_GENERATOR:
            raise NoBothSides("a `while` in a generator, which is left and entered again,", question.line)
        if loop is None:
            loop = self.begin(recorder, question.line, frame, None)
        else:
            self._leave_inner(recorder, loop)
        goes_on = bool(question.answer)
        if not goes_on and loop.turns < self.least and is_from_data(question.number):
            goes_on = self.is_forced = True
        if not goes_on and loop.turns > 0 and loop.more < self.more and is_from_data(question.number):
            goes_on = self.is_forced = True
            loop.more += 1
        goes_on = goes_on and self.without != loop.number
        loop.asked.append(question._replace(answer=goes_on, calls=len(recorder.calls)))
        if goes_on:
            self.turn(recorder, loop, frame)
        else:
            self.leave(recorder, loop, frame)
        return goes_on

    def finish(self, recorder: Recorder) -> None:
        """Ends the loops that were running when the model returned."""
        while self.running:
            loop = self.running[-1]
            if loop.frame is None:
                self.running.pop()
            else:
                self.leave(recorder, loop, loop.frame, is_left=True)

    def is_chosen(self, turn: int) -> bool:
        """Whether in each loop that is running the turn with a number is."""
        return all(loop.turns == turn + 1 for loop in self.running)

    def answered(self, question: Question, key: Any) -> Question | None:
        """A branch in a turn that does not stand for all; None if the same was asked before in it. It does not leave the loop before enough turns are made."""
        loop = self.running[-1]
        if key in loop.known or key in loop.answers:
            return None
        leaving = self.leaving(question)
        if leaving is not None and question.answer == leaving and loop.turns <= self.least:
            self.is_forced = True
            question = question._replace(answer=not leaving)
        loop.answers[key] = question.answer
        return question

    @staticmethod
    def leaving(question: Question) -> bool | None:
        return None if question.line is None else leaving_answer(*question.line.place)

    def check_left(self, recorder: Recorder) -> None:
        """Ends each `while` that the code of the model has left without asking its condition again."""
        frames: list[FrameType] = []
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            frames.append(frame)
            frame = frame.f_back
        for loop in [one for one in self.running if one.count is None]:
            if loop.frame is None or loop not in self.running:
                continue
            first, last = _extent(*loop.line.place)
            if loop.frame not in frames or not first <= loop.frame.f_lineno <= last:
                self.leave(recorder, loop, loop.frame, is_left=True)


def _mark(recorder: Recorder, mark: Mark, loop: Loop, result: Any) -> None:
    from .recorder import Call

    recorder.calls.append(Call(mark, (loop,), {}, result, loop.line, recorder.modules.current))


@lru_cache(maxsize=1024)
def _extent(file: str, number: int) -> tuple[int, int]:
    """The first and the last line of the innermost `while` whose condition has a line."""
    found = (number, number)
    for node in nodes_of(file, ast.While):
        if node.test.lineno <= number <= (node.test.end_lineno or number):
            found = (node.lineno, node.end_lineno or number)
    return found


@lru_cache(maxsize=1024)
def _is_return_in(file: str, loop: int, number: int) -> bool:
    """Whether a line is in a `return` in the loop on another line."""
    loops = [node for node in nodes_of(file, ast.For, ast.While) if node.lineno <= loop < node.body[0].lineno]
    return any(isinstance(node, ast.Return) and node.lineno <= number <= (node.end_lineno or number) for one in loops for node in ast.walk(one))


@lru_cache(maxsize=1024)
def leaving_answer(file: str, number: int) -> bool | None:
    """The answer with which a branch on a line leaves a loop, by `break` or `return`; None if it does not."""
    for node in nodes_of(file, ast.If):
        if node.test.lineno <= number <= (node.test.end_lineno or number):
            for answer, body in ((True, node.body), (False, node.orelse)):
                if body and isinstance(body[-1], (ast.Break, ast.Return)):
                    return answer
    return None


# What names stand for.
def names_of(frame: FrameType, recorder: Recorder, lists: dict[Name, list[Any]]) -> dict[Name, Any]:
    """What the names stand for that the code in a frame can reach: tensors, numbers, and what is in lists and attributes. Notes lists by the names of their lengths."""
    found: dict[Name, Any] = {}
    seen: set[int] = set()
    for depth, current in enumerate(_frames(frame)):
        for name, value in current.f_locals.items():
            if not name.startswith("."):
                _note((depth, name), value, found, seen, recorder, 0)
                if type(value) is list:
                    found[(depth, name, "length")] = len(value)
                    lists[(depth, name, "length")] = value
    return found


def _frames(frame: FrameType) -> list[FrameType]:
    """A frame and those that called it, of the model's code."""
    found: list[FrameType] = []
    current: FrameType | None = frame
    while current is not None and len(found) < 3 and current.f_code.co_filename != _RUNS:
        if kind_of_frame(current) == "model":
            found.append(current)
        current = current.f_back
    return found


def _can_set(frame: FrameType, name: Name) -> bool:
    owner = _frames(frame)[name[0]]
    return owner.f_code.co_name != "<module>" and name[1] in owner.f_locals


def _set_local(frame: FrameType, name: Name, value: Any) -> None:
    """Gives a local name another value, as debuggers do."""
    owner = _frames(frame)[name[0]]
    names = owner.f_locals
    names[name[1]] = value
    if sys.version_info < (3, 13):
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(owner), ctypes.c_int(0))


def _as_int(value: Any) -> Any:
    return value.sym_ite(1, 0) if isinstance(value, Number) else int(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, Number) or type(value) in (bool, int, float)


def _is_equal(one: Any, other: Any) -> bool:
    return one is other or (not isinstance(one, Number) and type(one) is type(other) and (one == other or (one != one and other != other)))


def _note(name: Name, value: Any, found: dict[Name, Any], seen: set[int], recorder: Recorder, steps: int) -> None:
    if isinstance(value, Tracked):
        found[name] = value.value
    elif isinstance(value, torch.Tensor):
        known = recorder._known.get(id(value))
        if known is not None:
            found[name] = known
    elif value is None or type(value) in (bool, int, float):
        found[name] = value
    elif number_of(value) is not None:
        found[name] = number_of(value)
    elif steps < _STEPS and id(value) not in seen and not isinstance(value, (ModuleType, type)):
        _note_parts(name, value, found, seen, recorder, steps + 1)


def _note_parts(name: Name, value: Any, found: dict[Name, Any], seen: set[int], recorder: Recorder, steps: int) -> None:
    seen.add(id(value))
    if getattr(value, "is_by_turn", False) or isinstance(value, Walkable):
        return  # the elements are what turns make
    if isinstance(value, (list, tuple, deque)) and len(value) <= _ELEMENTS:
        for index, item in enumerate(value):
            _note((*name, index), item, found, seen, recorder, steps)
        for index in range(1, min(3, len(value) + 1)):
            _note((*name, -index), value[-index], found, set(seen), recorder, steps)
    elif isinstance(value, dict) and len(value) <= _ELEMENTS:
        for key, item in value.items():
            if isinstance(key, (str, int)):
                _note((*name, key), item, found, seen, recorder, steps)
    elif isinstance(value, torch.nn.Module):
        for path, module in value.named_modules():
            seen.add(id(module))
            for key, item in (*vars(module).items(), *module._buffers.items()):
                if not key.startswith("_") and key != "training":
                    _note((*name, path, key), item, found, seen, recorder, steps)
    elif hasattr(value, "__dict__") and kind_of_file(str(getattr(sys.modules.get(type(value).__module__), "__file__", "<"))) == "model":
        for key, item in vars(value).items():
            _note((*name, key), item, found, seen, recorder, steps)


# What loops walk over.
class Walk:
    """Walks over something of as many elements as a size says, and notes each turn."""

    def __init__(self, recorder: Recorder, count: Any, make: Callable[[Any], Any]) -> None:
        self.recorder = recorder
        self.count = count
        self.make = make
        self.loop: Loop | None = None
        self.turn = 0
        self.is_over = False

    def __iter__(self) -> Walk:
        return self

    def __next__(self) -> Any:
        recorder, frame = self.recorder, sys._getframe(1)
        if self.is_over or type(recorder).current is not recorder or recorder.loops is None:
            raise StopIteration
        loops = recorder.loops
        if self.loop is None:
            self.loop = loops.begin(recorder, line_of_model(), frame, self.count)
        if self.turn >= plain(self.count) or loops.without == self.loop.number:
            self.is_over = True
            loops.leave(recorder, self.loop, frame)
            raise StopIteration
        self.turn += 1
        return self.make(symbolic(loops.turn(recorder, self.loop, frame)))

    def __del__(self) -> None:
        recorder, loop = self.recorder, self.loop
        if not self.is_over and loop is not None and loop.frame is not None and type(recorder).current is recorder and recorder.loops is not None:
            recorder.loops.leave(recorder, loop, loop.frame, is_left=True)


class Walkable(list):  # type: ignore[type-arg]
    """Something of as many elements as a size says: a range, the rows of a tensor, or several of these side by side. PyTorch sees an empty list: its functions are told
    of it before.

    Attributes:
        whole: The tensor that it is the parts of, the dimension, and whether the parts are rows.
        ends: The first number of a range, and how far its numbers are apart.
    """

    whole: tuple[Any, int, bool] | None = None
    ends: tuple[Any, Any] | None = None
    count: Any  # type: ignore[assignment]

    def __init__(self, recorder: Recorder, count: Any, make: Callable[[Any], Any]) -> None:
        super().__init__()
        self.recorder = recorder
        self.count = count
        self.make = make

    def __iter__(self) -> Iterator[Any]:
        if self.recorder.structure is not None:  # code that is not lowered makes as many turns as in this run
            line = line_of_model()
            if line is not None:
                self.recorder.walked.append(line)
                self.recorder.turns_made.append((line, plain(self.count)))
            return (self.make(turn) for turn in range(int(self.count)))
        return Walk(self.recorder, self.count, self.make)

    def __len__(self) -> int:
        return int(self.count)

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._cut(index)
        is_negative: Any = number_of(index < 0)
        if is_negative is None:
            return self.make(self.count + index if index < 0 else index)
        return self.make(symbolic(is_negative.sym_ite(number_of(index + self.count), number_of(index))))

    def _cut(self, index: slice) -> Walkable:
        cut = cut_of(index, self.count)
        if cut is None:
            raise TypeError("a slice of a list that is as long as a size")
        return Walkable(self.recorder, cut.length, lambda turn: self.make((turn if cut.step == 1 else turn * cut.step) + cut.first))

    def __reversed__(self) -> Iterator[Any]:
        return iter(Walkable(self.recorder, self.count, lambda turn: self.make(self.count - 1 - turn)))


__all__ = ["CHOSEN", "LEAVE", "LOOP", "NUMBER", "TURN", "Loop", "Loops", "Mark", "Walk", "Walkable", "names_of"]
