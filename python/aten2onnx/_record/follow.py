"""Holds the program of all paths against runs that combine the answers of branches in ways in which no run has combined them before."""

from __future__ import annotations

import itertools
import logging
import random
from collections.abc import Iterator, Sequence
from typing import Any

from .align import Unlike, zipped
from .branches import Ask, If, Item, Path, Step, Turn, made_by, written_by
from .explorer import Explorer
from .join import Merger
from .nested import Body
from .numbers import Number
from .runs import Run
from .tensors import Value
from .turns import Place

_log = logging.getLogger(__name__)

#: So many rows are drawn for each that is chosen.
_DRAWN = 40

Answers = dict[Place, bool]


def holds(path: Path, explorer: Explorer) -> bool:
    """Whether the program is the model's where any three branches (any two, if there are many) have any answers."""
    places = sorted({place for answers in explorer.answers for place in answers})
    for answers in combinations(places, explorer.answers):
        try:
            run = explorer.record(explorer.turns((), answers))
        except Exception as error:  # whatever the model raises on a side that its inputs do not take
            _log.debug("no run has the answers %s: %s", answers, error)
            continue
        if not follows(path, run, explorer.merger):
            _log.debug("the model is another one with the answers %s", answers)
            return False
    return True


def combinations(places: Sequence[Place], known: Sequence[Answers]) -> Iterator[Answers]:
    """Answers that complete those that are known, so that any few branches have had any answers."""
    strength = 3 if len(places) <= 12 else 2
    missing = {tuple(zip(chosen, answers)) for chosen in itertools.combinations(places, strength) for answers in itertools.product((False, True), repeat=strength)}
    missing -= {pairs for row in known for pairs in _covered(row, strength)}
    draw = random.Random(0)
    while missing:
        wanted = draw.choice(sorted(missing))
        rows = [{**{place: draw.random() < 0.5 for place in places}, **dict(wanted)} for _ in range(_DRAWN)]
        best = max(rows, key=lambda row: len(missing & set(_covered(row, strength))))
        missing -= set(_covered(best, strength))
        yield best


def _covered(row: Answers, strength: int) -> Iterator[tuple[tuple[Place, bool], ...]]:
    return itertools.combinations(sorted(row.items()), strength)


def follows(path: Path, run: Run, merger: Merger) -> bool:
    """Whether a program makes the calls of a run, and returns what it returns, if its branches have the run's answers."""
    raw = merger.path(run)
    follower = _Follower(merger, raw)
    try:
        follower.items(path.items)
        outputs = merger.all_outputs(path, raw)
        if outputs is None or path.tree != raw.tree:
            return False
        follower.equal(follower.reference(outputs[0][0]), outputs[0][1])
    except _Elsewhere:
        return True
    except (Unlike, StopIteration):
        return False
    return True


class _Elsewhere(Exception):
    """A run on a side that the program does not have."""


class _Follower:
    def __init__(self, merger: Merger, raw: Path) -> None:
        self.merger = merger
        self.raw = iter(raw.items)
        #: What values of the program are in the run.
        self.bound: dict[int, Any] = {}
        self._kept: list[Any] = []

    def items(self, items: list[Item]) -> None:
        for item in items:
            if isinstance(item, Step):
                self._step(item)
            elif isinstance(item, If):
                answer = self._turn(item).answer
                self.items(item.yes if answer else item.no)
                for value, yes, no in item.results:
                    self._bind(value, self.reference(yes if answer else no))
            elif isinstance(item, Ask) and item.failure is not None and self._turn(item).answer != item.question.answer:
                raise _Elsewhere

    def _bind(self, value: Value, to: Any) -> None:
        self._kept.append(value)
        self.bound[id(self.merger.canon(value))] = to

    def reference(self, reference: Any) -> Any:
        """What a reference of the program is in the run."""
        if isinstance(reference, Number) and reference.function == "item":
            found = self._value(reference.operands[0])
            return Number(reference.value, "item", (found,), reference.ask) if isinstance(found, Value) else found
        if isinstance(reference, Number):
            operands = tuple(map(self.reference, reference.operands))
            return Number(reference.value, reference.function, operands, reference.ask)
        if isinstance(reference, (list, tuple)):
            return type(reference)(map(self.reference, reference))
        if isinstance(reference, dict):
            return {name: self.reference(item) for name, item in reference.items()}
        return self._value(reference) if isinstance(reference, Value) else reference

    def _value(self, value: Value) -> Any:
        value = self.merger.canon(value)
        return self.bound.get(id(value), value)

    def equal(self, one: Any, other: Any) -> None:
        """Compares two references of the run.

        Raises:
            Unlike: They are not the same.
        """
        zipped(one, other, self._leaf)

    def _leaf(self, a: Any, b: Any, in_results: bool) -> Any:
        is_same = isinstance(a, Body) and isinstance(b, Body) or self.merger.is_same(a, b)
        if not is_same:
            raise Unlike
        return a

    def _step(self, step: Step) -> None:
        """Finds the call of the run. Those that are passed over are read by nobody."""
        if step.stands_for is not None:
            for value, old in step.stands_for:
                self._bind(value, self.reference(old))
            return
        args = self.reference((step.call.args, step.call.kwargs))
        for item in self.raw:
            if not isinstance(item, Step):
                continue
            if item.call.function is step.call.function and self._is_equal(args, (item.call.args, item.call.kwargs)):
                for mine, theirs in zip(made_by(step), made_by(item)):
                    self._bind(mine, theirs)
                return
            if written_by(item.call):
                break
        raise Unlike

    def _is_equal(self, one: Any, other: Any) -> bool:
        try:
            self.equal(one, other)
        except Unlike:
            return False
        return True

    def _turn(self, item: If | Ask) -> Any:
        """The branch of the run."""
        number = self.reference(item.question.number)
        for other in self.raw:
            if isinstance(other, Turn) and other.question.line == item.question.line and self._is_equal(number, other.question.number):
                return other.question
            if isinstance(other, Step) and written_by(other.call):
                break
        raise Unlike


__all__ = ["combinations", "follows", "holds"]
