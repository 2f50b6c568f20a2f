"""Holds two recordings against each other: the calls must be the same, and every number that differs must have an expression."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree

from .fakes import is_unknown
from .expressions import is_same_number
from .numbers import Number
from .recorder import Call, Question, Recorder
from .references import values_in
from .runs import Run
from .tensors import Value


class Parted(Exception):
    """Two recordings that are not the same: what differs, the line of the model, and the branch that they part at with the sizes of the other one, if it is known."""

    def __init__(self, message: str, line: Any, branch: Question | None = None, sizes: dict[str, int] | None = None) -> None:
        super().__init__(message)
        self.line = line if branch is None or branch.line is None else branch.line
        self.branch = branch
        self.sizes = sizes
        #: The lines of loops that make another number of turns, if that may be why.
        self.loop_lines: list[Any] = []


def united(first: Run, others: list[Run]) -> Recorder:
    """The first recording, with an expression for each number that differs in another one.

    Raises:
        Parted: The calls differ, or a number has no expression.
    """
    recorder = first.recorder
    try:
        _check_targets(first, others)
    except Parted as parted:
        if first.recorder.structure is not None:  # loops of functions that are not lowered yet
            parted.loop_lines = [*parted.loop_lines, *first.recorder.walked]
        raise
    try:
        _tie(first, others)
    except Parted as parted:
        branches = ((_parting_question(recorder.questions, other.recorder.questions), other.sizes) for other in others)
        branch, sizes = next(((branch, sizes) for branch, sizes in branches if branch is not None and (branch.what == "bool" or branch.by_model)), (None, None))
        found = Parted(str(parted), parted.line, branch, sizes)
        found.loop_lines = _lines_of_turns(first, others)
        raise found from None
    try:
        _check_constants(first, others)
    except Parted as parted:
        parted.loop_lines = _lines_of_turns(first, others)
        raise
    return recorder


def _lines_of_turns(first: Run, others: list[Run]) -> list[Any]:
    """The line of the last loop that makes another number of turns in another run, or those that take a tensor apart."""
    numbers = [_last_plain(first.recorder.questions, other.recorder.questions) for other in others]
    found = next((number.line for number in numbers if number is not None), None)
    return [*([] if found is None else [found]), *first.recorder.walked]


#: Calls that give a tensor with the elements of their argument.
_COPIES = (torch.ops.aten.contiguous.default, torch.ops.aten.clone.default, torch.ops.aten.alias.default, torch.ops.aten.lift_fresh_copy.default)

#: The value that one is a copy of, by its key.
_Copies = dict[int, Value]


def same_but_for_copies(first: Run, other: Run) -> bool:
    """Whether two runs make the same calls but for those that copy a tensor, as `contiguous` does. If a call writes or asks for strides, copies are not the same."""
    functions = {call.function for run in (first, other) for call in run.recorder.calls if isinstance(call.function, torch._ops.OpOverload)}
    if any(function._schema.is_mutable or function is torch.ops.aten.as_strided.default for function in functions):
        return False
    before = [(run.recorder, run.recorder.calls, run.recorder.questions, run.recorder.tied) for run in (first, other)]
    try:
        copies = [_leave_copies_out(first.recorder), _leave_copies_out(other.recorder)]
        calls = list(first.recorder.calls)
        _check_targets(first, [other])
        _tie(first, [other], copies)
        _check_constants(first, [other])
        # A number that only this run shows to depend on sizes is a constant in the program.
        return all(old is now for old, now in zip(calls, first.recorder.calls))
    except Parted:
        return False
    finally:
        for recorder, old_calls, questions, tied in before:
            recorder.calls, recorder.questions, recorder.tied = old_calls, questions, tied


def _leave_copies_out(recorder: Recorder) -> _Copies:
    """Leaves the calls that copy out of a recording. Returns what they copied."""
    copies: _Copies = {}
    calls: list[Call] = []
    places = [0]
    for call in recorder.calls:
        if call.function in _COPIES:
            copied = call.args[0]
            copies[call.results.key] = copies.get(copied.key, copied)
        else:
            calls.append(call)
        places.append(len(calls))
    recorder.calls = calls
    recorder.questions = [question._replace(calls=places[question.calls]) for question in recorder.questions]
    return copies


def takes_other_side(first: Run, other: Run) -> bool:
    """Whether two runs part at a branch of the model's own code."""
    branch = _parting_question(first.recorder.questions, other.recorder.questions)
    return branch is not None and branch.by_model


def _tie(first: Run, others: list[Run], copies: list[_Copies] | None = None) -> None:
    recorder = first.recorder
    numbers = _Tied([recorder.questions, *(other.recorder.questions for other in others)], recorder.ask, copies)
    for position, call in enumerate(recorder.calls):
        same = [other.recorder.calls[position] for other in others]
        where = f"an argument of `{call.function}`"
        if any(len(one.args) != len(call.args) or list(one.kwargs) != list(call.kwargs) for one in same):
            raise Parted(f"{where} is left out at other sizes", call.line)
        args, kwargs = numbers.tied_call(call, same, position, where)
        if args is not call.args or kwargs is not call.kwargs:
            recorder.calls[position] = call._replace(args=args, kwargs=kwargs)
        _check_ranks(call, same)
        numbers.relate(call.results, [one.results for one in same])
    _check_outputs(first, others, numbers)
    recorder.tied = {id(numbers.questions[0][index].number) for index in numbers.used}
    recorder.guessed += numbers.guessed


def _check_ranks(call: Call, same: list[Call]) -> None:
    """A result must have as many dimensions in all runs: `squeeze` drops those of size 1."""
    for one in same:
        for mine, theirs in zip(values_in(call.results), values_in(one.results)):
            if len(mine.shape) != len(theirs.shape):
                raise Parted(f"`{call.function}` gives {len(mine.shape)} dimensions, and {len(theirs.shape)} at other sizes", call.line)


def _check_outputs(first: Run, others: list[Run], numbers: _Tied) -> None:
    """The results must be the same values in the same places."""
    if any(other.tree != first.tree for other in others):
        raise Parted("the model returns its results in another form at other sizes", None)
    last = Call(None, (), {}, None, None, {})
    mine = [first.recorder.reference(output) for output in first.outputs]
    theirs = [[other.recorder.reference(output) for output in other.outputs] for other in others]
    for index, output in enumerate(mine):
        numbers.tied(output, [one[index] for one in theirs], last, len(first.recorder.calls), f"output {index}")


def _check_targets(first: Run, others: list[Run]) -> None:
    calls = first.recorder.calls
    for other in others:
        for mine, theirs in zip(calls, other.recorder.calls):
            if mine.function is not theirs.function:
                raise _other_calls(first, other, mine, theirs)
        if len(calls) != len(other.recorder.calls):
            longer = max((calls, other.recorder.calls), key=len)
            extra = longer[min(len(calls), len(other.recorder.calls))]
            raise _other_calls(first, other, extra, extra)


def _other_calls(first: Run, other: Run, mine: Call, theirs: Call) -> Parted:
    branch = _parting_question(first.recorder.questions, other.recorder.questions)
    sizes = ", ".join(f"{name}={size}" for name, size in other.sizes.items())
    turns = _other_turns(first, other) if branch is None else None
    if turns is not None:
        call, many, others = turns
        parted = Parted(f"`{call.function}` gives {many} tensors, and {others} at {sizes}: a loop over them is another one", call.line)
        parted.loop_lines = [call.line]
        return parted
    number = None if branch is not None else _last_plain(first.recorder.questions, other.recorder.questions)
    if number is not None and number.line is not None:
        parted = Parted(f"a plain number is made of a size, such as the number of turns of a loop: `{number.line.text}`", number.line)
        parted.loop_lines = [number.line]
        return parted
    calls = f"`{mine.function}`" if mine is theirs else f"`{theirs.function}` in place of `{mine.function}`"
    return Parted(f"the model makes other calls at {sizes}: {calls}", mine.line or theirs.line, branch, other.sizes)


def _other_turns(first: Run, other: Run) -> tuple[Call, int, int] | None:
    """The first call that gives another number of tensors, before the calls differ: Python loops over them, or takes them apart."""
    for mine, theirs in zip(first.recorder.calls, other.recorder.calls):
        if mine.function is not theirs.function:
            return None
        both = (mine.results, theirs.results)
        if all(isinstance(results, (list, tuple)) for results in both) and len(both[0]) != len(both[1]):
            return mine, len(both[0]), len(both[1])
    return None


def _parting_question(mine: list[Question], theirs: list[Question]) -> Question | None:
    """The first branch that two runs take differently. Where the questions differ, it is the plain number before them, such as the number of turns of a loop."""
    plain = None
    for a, b in zip(mine, theirs):
        if a.what != b.what or a.line != b.line:
            return plain or a
        if a.what == "bool" and a.answer != b.answer:
            return a
        if a.is_plain and a.by_model and a.answer != b.answer:
            plain = a
    return None


def _last_plain(mine: list[Question], theirs: list[Question]) -> Question | None:
    """The last plain number that differs in two runs, as that of the turns of a loop."""
    found = None
    numbers = [[question for question in one if question.is_plain and question.by_model] for one in (mine, theirs)]
    for a, b in zip(*numbers):
        if a.answer != b.answer and a.line is not None and a.line == b.line:
            found = a
    return found


def _check_constants(first: Run, others: list[Run]) -> None:
    mine = first.recorder.constants
    for other in others:
        theirs = other.recorder.constants
        for index, (a, b) in enumerate(zip(mine, theirs)):
            if a is b:
                continue
            if a.dtype != b.dtype or a.shape != b.shape or not _equal(a, b):
                raise Parted("the model makes a tensor of Python's numbers that is another one at other sizes", _reader(first.recorder, index))


def _equal(a: torch.Tensor, b: torch.Tensor) -> bool:
    if is_unknown(a) or is_unknown(b):
        return True
    return torch.equal(a, b) or bool(a.is_floating_point() and torch.allclose(a, b, rtol=0, atol=0, equal_nan=True))


def _reader(recorder: Recorder, index: int) -> Any:
    for call in recorder.calls:
        for value in values_in(call.args):
            if value.source == ("constant", index):
                return call.line
    return None


class _Tied:
    """Ties plain numbers that differ between runs to numbers that were asked for before."""

    def __init__(self, questions: list[list[Question]], ask: Callable[..., Any], copies: list[_Copies] | None = None) -> None:
        self.ask = ask
        self.copies = copies
        self.questions = [[q for q in one if q.is_plain] for one in questions]
        self.calls = [q.calls for q in self.questions[0]]
        self.before: dict[int, list[int]] = {}
        for index, question in enumerate(self.questions[0]):
            if not question.by_model:
                self.before.setdefault(question.calls, []).append(index)
        #: Whether an operator may have asked for the argument that is compared.
        self.is_asked = True
        #: Constants of the call that is compared may be equal to these numbers that were asked for.
        self.doubtful: set[tuple[type, Any]] = set()
        self.used: set[int] = set()
        #: The lines of calls with numbers that were found by their values alone: how they are computed was not seen.
        self.guessed: list[Any] = []
        #: The keys of the values of the other runs, by those of the first.
        self.keys: list[dict[int, set[int | None]]] = [{} for _ in questions[1:]]

    def tied_call(self, call: Call, same: list[Call], position: int, where: str) -> tuple[Any, Any]:
        """The arguments of a call, with numbers in place of plain ones that were asked for.

        An argument that takes any number takes a symbolic one, so nobody asks for a plain one: the 1 in `torch.linspace(0, 1, n)` is not n, though n is 1 in all runs.
        """
        parameters = call.function._schema.arguments if isinstance(call.function, torch._ops.OpOverload) else ()
        takes_any = {name for index, parameter in enumerate(parameters) if str(parameter.real_type) == "number" for name in (index, parameter.name)}
        self.doubtful = self._doubtful_numbers(call, position, takes_any)
        args = list(call.args)
        for index, value in enumerate(args):
            self.is_asked = index not in takes_any
            args[index] = self.tied(value, [one.args[index] for one in same], call, position, where)
        kwargs = dict(call.kwargs)
        for name, value in kwargs.items():
            self.is_asked = name not in takes_any
            kwargs[name] = self.tied(value, [one.kwargs[name] for one in same], call, position, where)
        self.is_asked = True
        is_same = all(a is b for a, b in zip((*args, *kwargs.values()), (*call.args, *call.kwargs.values())))
        return (call.args, call.kwargs) if is_same else (tuple(args), kwargs)

    def _doubtful_numbers(self, call: Call, position: int, takes_any: set[Any]) -> set[tuple[type, Any]]:
        """Plain numbers that more arguments of a call are than numbers were asked for: some are constants, and nothing tells which.

        The two in `x.unfold(0, 1, n % 2 + 1)` are 1 at all even sizes.
        """
        indices = self.before.get(position, ())
        asked: dict[tuple[type, Any], set[int]] = {}
        for question in (self.questions[0][index] for index in indices):
            asked.setdefault((type(question.answer), question.answer), set()).add(id(question.number))
        leaves = pytree.tree_leaves([value for name, value in (*enumerate(call.args), *call.kwargs.items()) if name not in takes_any])
        counts = Counter((type(leaf), leaf) for leaf in leaves if type(leaf) in (int, float))
        return {number for number, numbers in asked.items() if counts[number] > len(numbers)}

    def tied(self, mine: Any, theirs: list[Any], call: Call, position: int, where: str) -> Any:
        """An argument, with a number in place of one that differs."""
        if isinstance(mine, Number):
            if not all(self._is_same_number(mine, other, keys) for other, keys in zip(theirs, self.keys)):
                raise Parted(f"{where} is computed in another way at other sizes", call.line)
            return mine
        if isinstance(mine, Value):
            if not all(isinstance(other, Value) and self._is_related(mine, other, keys) for other, keys in zip(theirs, self.keys)):
                raise Parted(f"{where} is another value at other sizes", call.line)
            return mine
        if isinstance(mine, (list, tuple)):
            if any(type(other) is not type(mine) or len(other) != len(mine) for other in theirs):
                raise Parted(f"{where} is a list of another length at other sizes", call.line)
            made = [self.tied(item, [other[index] for other in theirs], call, position, where) for index, item in enumerate(mine)]
            return mine if all(a is b for a, b in zip(made, mine)) else type(mine)(made)
        if isinstance(mine, dict):
            if any(list(other) != list(mine) for other in theirs):
                raise Parted(f"{where} is left out at other sizes", call.line)
            named = {name: self.tied(item, [other[name] for other in theirs], call, position, where) for name, item in mine.items()}
            return mine if all(named[name] is mine[name] for name in mine) else named
        if self.is_asked and type(mine) in (int, float) and position in self.before:
            found = self._asked(mine, theirs, position)
            if found is not None:
                return found
        if type(mine) in (int, float) and any(_differs(mine, other) for other in theirs):
            return self._number(mine, theirs, call, position, where)
        if any(type(other) is not type(mine) or other != mine for other in theirs) and not isinstance(mine, float):
            raise Parted(f"{where} is {mine!r} in one run and another value at other sizes", call.line)
        return mine

    def relate(self, mine: Any, theirs: list[Any]) -> None:
        """Notes that the results of a call are the same values."""
        if isinstance(mine, Value):
            for other, keys in zip(theirs, self.keys):
                if isinstance(other, Value):
                    # A call that returns its argument in one run only makes the same value.
                    keys.setdefault(mine.key, set()).update((other.key, other.again))
                    if mine.again is not None and other.again is None:
                        keys.setdefault(mine.again, set()).add(other.key)
        elif isinstance(mine, (list, tuple)):
            for index, item in enumerate(mine):
                self.relate(item, [other[index] if isinstance(other, (list, tuple)) and index < len(other) else None for other in theirs])

    def _is_related(self, mine: Value, other: Value, keys: dict[int, set[int | None]]) -> bool:
        if self.copies is not None:
            mine, other = self.copies[0].get(mine.key, mine), self.copies[1].get(other.key, other)
        if mine.source is not None and mine.source == other.source:
            return True
        return other.key in keys.get(mine.key, ())

    def _is_same_number(self, mine: Any, other: Any, keys: dict[int, set[int | None]]) -> bool:
        """Whether two numbers are the same expression of the same values."""

        def is_same_operand(a: Any, b: Any) -> bool:
            if isinstance(a, Value):
                return isinstance(b, Value) and self._is_related(a, b, keys)
            return type(a) is type(b) and bool(a == b)

        return is_same_number(mine, other, is_same_operand)

    def _asked(self, mine: Any, theirs: list[Any], position: int) -> Number | None:
        """The number that this operator has asked for: it takes plain ones only."""
        values = [mine, *(other.value if isinstance(other, Number) else other for other in theirs)]
        if (type(mine), mine) in self.doubtful and all(value == mine for value in values):
            return None
        for index in self.before[position]:
            if all(index < len(one) and type(one[index].answer) is type(value) and one[index].answer == value for one, value in zip(self.questions, values)):
                self.used.add(index)
                return self.questions[0][index].number
        return None

    def _number(self, mine: Any, theirs: list[Any], call: Call, position: int, where: str) -> Any:
        values = [mine, *(other.value if isinstance(other, Number) else other for other in theirs)]
        count = sum(calls <= position for calls in self.calls)
        for index in reversed(range(max(0, count - 64), count)):
            if any(index >= len(one) for one in self.questions):
                continue
            found = _fit([one[index].answer for one in self.questions], values, self.questions[0][index].number)
            if found is not None:
                self.used.add(index)
                self.guessed.append(call.line)
                return found
        raise Parted(f"{where} is the number {mine}, and {values[1]} at other sizes: how it is computed was not recorded", call.line)


def _differs(a: Any, b: Any) -> bool:
    b = b.value if isinstance(b, Number) else b
    return type(a) is not type(b) or (a != b and not (a != a and b != b))


def _fit(known: list[Any], wanted: list[Any], number: Number) -> Number | None:
    """An expression of a known number that has the wanted values in all runs."""
    tries: list[tuple[Callable[[Any], Any], Callable[[Number], Number]]] = [(lambda x: x, lambda n: n)]
    if isinstance(known[0], float) and type(wanted[0]) is int:
        tries += [(math.floor, Number.floor), (math.ceil, Number.ceil), (math.trunc, Number.trunc), (round, Number.round)]
    if type(wanted[0]) is float and type(known[0]) is int:
        tries += [(float, Number.sym_float)]
    for apply, make in tries:
        try:
            if all(apply(a) == b and type(apply(a)) is type(b) for a, b in zip(known, wanted)):
                return make(number)
        except (ValueError, OverflowError):
            continue
    return None

