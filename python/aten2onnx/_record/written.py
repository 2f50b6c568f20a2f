"""What is written down of a branch and of a loop of lowered code, and what is known of a loop while its turns are run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .grown import OtherSizes
from .loops import Mark
from .numbers import numbers_in
from .recorder import Call, Question, Unrecorded
from .states import Place, Values
from .tensors import Value
from .turns import NoBothSides

BRANCH, ROLLED, ONE_SIDE = Mark("a branch"), Mark("a loop"), Mark("a branch with one side")

#: What reads the names that a side or a turn uses, and what writes them.
Get: TypeAlias = Callable[[], Values]
Set: TypeAlias = Callable[[Values], None]

#: So many times the turns of a loop are run to find what it carries, and so many turns are run at most.
ATTEMPTS, MOST_TURNS = 24, 5000


@dataclass
class Block:
    """Calls and questions that were written down on their own."""

    calls: list[Call] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    splits: set[int] = field(default_factory=set)


@dataclass
class RawBranch:
    """A branch: its sides, first the one that the inputs take, and results with what they are on both."""

    question: Question
    sides: tuple[Block, Block]
    results: list[tuple[Value, Any, Any]]


@dataclass
class RawLoop:
    """A loop, as `branches.Rolled` has it, with the calls of a turn as they were written down."""

    line: Any
    index: Value
    count: Any
    first: Any
    again: Any
    carried: list[tuple[Value, Any, Any, Value]]
    block: Block


def asks_for_turn(calls: list[Call]) -> bool:
    """Whether a plain number was made of the number of a turn, in a loop among these calls."""
    loops = [call.args[0] for call in calls if call.function is ROLLED]
    return any(question.is_plain and _reads(question.number, loop.index) for loop in loops for question in _questions(loop.block))


def _questions(block: Block) -> Iterator[Question]:
    """The questions of a block and of those in it."""
    yield from block.questions
    for call in block.calls:
        if call.function is ROLLED:
            yield from _questions(call.args[0].block)
        elif call.function is BRANCH:
            yield from (question for side in call.args[0].sides for question in _questions(side))


def _reads(number: Any, value: Value) -> bool:
    return number is value or any(operand is value for one in numbers_in(number) for operand in one.operands)


class Again(Exception):
    """The turns of a loop are run again, because more is known of them."""


class Peel(Exception):
    """The first turn of a loop is another one, and stays before it."""


#: Errors that say nothing about the side of a branch that they come from.
OWN = (NoBothSides, Unrecorded, OtherSizes, Again, Peel)


@dataclass
class Plan:
    """What is known of a loop: what it carries, its lists, those that it makes in a `defaultdict(list)`, numbers that are tensors in other turns, containers in whose place
    turns put others, and whether it makes one turn at most."""

    carried: dict[Place, Any] = field(default_factory=dict)
    lists: dict[Place, Any] = field(default_factory=dict)
    made: list[Place] = field(default_factory=list)
    tensors: dict[Place, Any] = field(default_factory=dict)
    replaced: set[Place] = field(default_factory=set)
    is_early: bool = False


@dataclass
class TurnsOfLoop:
    """The turns of a loop: how many, the condition, and whether it was left."""

    line: Any
    count: Any
    make: Callable[[Any], Any]
    test: Callable[[], Any] | None
    is_left: Callable[[], Any] | None
    body: Callable[..., None]
    get: Get
    set: Set
    is_peeled: bool = False

    def run(self, turn: Any) -> None:
        if self.count is None:
            self.body()
        else:
            self.body(self.make(turn))


__all__ = ["ATTEMPTS", "Again", "BRANCH", "Block", "Get", "MOST_TURNS", "ONE_SIDE", "OWN", "Peel", "Plan", "ROLLED", "RawBranch", "RawLoop", "Set", "TurnsOfLoop", "asks_for_turn"]
