"""Programs of paths: the calls that a model makes if its branches are answered in one way, those in which a branch has both sides, and loops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Union

import torch

from .expressions import changed_number
from .numbers import Number
from .recorder import Call, Question
from .references import values_in
from .tensors import Value


@dataclass
class Step:
    """A call.

    Attributes:
        is_split: Whether it has as many parts as sizes ask for.
        stands_for: For a call that the model does not make, what its results stand for in the model: a side writes to a copy in place of the tensor.
    """

    call: Call
    is_split: bool = False
    stands_for: Any = None


@dataclass
class Ask:
    """A question that stays one. `failure` is the error of the other side, which could not be run."""

    question: Question
    failure: BaseException | None = None


@dataclass
class Turn:
    """A branch whose other side is to be found: the number of the branch on its path."""

    index: int
    question: Question


@dataclass
class If:
    """A branch with both sides. Each result is a value, with what it is on either side."""

    question: Question
    yes: list[Item]
    no: list[Item]
    results: list[tuple[Value, Any, Any]] = field(default_factory=list)


@dataclass
class Carried:
    """A value that a loop carries from turn to turn: what a turn is given, what it is before the first, what a turn makes of it, and what it is after the last."""

    param: Value
    init: Any
    next: Any
    result: Value


@dataclass
class Rolled:
    """A loop.

    Attributes:
        line: Its line.
        index: The number of a turn, counted from 0, as the turn is given it.
        count: The number of turns; None if only the condition tells.
        first: The condition before the first turn; None if there is none.
        again: The condition after a turn.
        carried: What it carries.
        slices: What each turn makes, with the value of all of them, stacked.
        items: The calls of a turn.
    """

    line: Any
    index: Value
    count: Any
    first: Any
    again: Any
    carried: list[Carried]
    slices: list[tuple[Any, Value]]
    items: list[Item]


Item = Union[Step, Ask, Turn, If, Rolled]


@dataclass
class Path:
    """The program of a path, or of several that were joined.

    Attributes:
        items: Its calls, in order.
        outputs: References to its results, and after them to new values of buffers.
        buffers: The names of these buffers.
        tree: How the results are put together.
    """

    items: list[Item]
    outputs: list[Any]
    buffers: list[str]
    tree: Any


def made_by(item: Item) -> list[Value]:
    """The values that an item gives to those after it."""
    if isinstance(item, Step):
        return list(values_in(item.call.results))
    if isinstance(item, Rolled):
        return [*(one.result for one in item.carried), *(value for _, value in item.slices)]
    return [value for value, _, _ in item.results] if isinstance(item, If) else []


def parts_of(item: Item) -> list[list[Item]]:
    """The items in an item: those of the sides of a branch, and of a turn of a loop."""
    if isinstance(item, If):
        return [item.yes, item.no]
    return [item.items] if isinstance(item, Rolled) else []


def made_in(items: list[Item]) -> Iterator[Value]:
    """The values that items and the sides in them make."""
    for item in items:
        yield from made_by(item)
        if isinstance(item, Rolled):
            yield item.index
            yield from (one.param for one in item.carried)
        for part in parts_of(item):
            yield from made_in(part)


def count_of_calls(items: list[Item]) -> int:
    """The number of calls of items and of the sides in them."""
    return sum(isinstance(item, Step) + sum(map(count_of_calls, parts_of(item))) for item in items)


def written_by(call: Call) -> list[Value]:
    """The values that a call writes to."""
    if not isinstance(call.function, torch._ops.OpOverload) or not call.function._schema.is_mutable:
        return []
    found: list[Value] = []
    for index, parameter in enumerate(call.function._schema.arguments):
        if parameter.alias_info is not None and parameter.alias_info.is_write:
            found += values_in(call.args[index] if index < len(call.args) else call.kwargs.get(parameter.name))
    return found


def replaced(reference: Any, change: Any, change_other: Any = None) -> Any:
    """A reference with `change(value)` in place of each value, and `change_other(x)` in place of all that is no value, number or container."""
    known: dict[int, Any] = {}

    def new(old: Any) -> Any:
        if isinstance(old, Value):
            return change(old)
        if isinstance(old, Number):
            return changed_number(old, new, known)
        if isinstance(old, (list, tuple)):
            return type(old)(map(new, old))
        if isinstance(old, dict):
            return {name: new(item) for name, item in old.items()}
        return old if change_other is None else change_other(old)

    return new(reference)


def with_values(item: Item, change: Any) -> Item:
    """An item that reads other values."""
    if isinstance(item, Step):
        call = item.call
        return Step(call._replace(args=replaced(call.args, change), kwargs=replaced(call.kwargs, change)), item.is_split, replaced(item.stands_for, change))
    if isinstance(item, Rolled):
        return _loop_with_values(item, change)
    question = item.question._replace(number=replaced(item.question.number, change))
    if isinstance(item, Ask):
        return Ask(question, item.failure)
    if isinstance(item, Turn):
        return Turn(item.index, question)
    yes, no = ([with_values(inner, change) for inner in side] for side in (item.yes, item.no))
    return If(question, yes, no, [(value, replaced(one, change), replaced(other, change)) for value, one, other in item.results])


def _loop_with_values(item: Rolled, change: Any) -> Rolled:
    carried = [Carried(one.param, replaced(one.init, change), replaced(one.next, change), one.result) for one in item.carried]
    slices = [(replaced(reference, change), value) for reference, value in item.slices]
    items = [with_values(inner, change) for inner in item.items]
    return Rolled(item.line, item.index, replaced(item.count, change), replaced(item.first, change), replaced(item.again, change), carried, slices, items)
