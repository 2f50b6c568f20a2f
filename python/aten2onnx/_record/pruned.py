"""What of a program with loops stays: results that are read, and branches that count."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .branches import Ask, If, Item, Rolled, Step, made_by, parts_of
from .numbers import is_from_data
from .places import only_stops
from .references import values_in
from .turns import NoBothSides

#: Protobuf reads messages that are 100 deep. A graph in a graph is three deeper, and the sizes of its values are five.
_DEEPEST = 31


def without_unread(items: list[Item], outputs: list[Any], all_branches: bool = False) -> list[Item]:
    """The items without results of loops that nobody reads, and of branches in them; with `all_branches` of all."""
    while True:
        read: set[int] = {id(value) for value in values_in(outputs)}
        loops: list[Any] = []
        _note_reads(items, read, loops, all_branches)
        gone = False
        for loop in loops:
            if isinstance(loop, If):
                results = [one for one in loop.results if id(one[0]) in read]
                gone = gone or len(results) < len(loop.results)
                loop.results = results
                continue
            carried = [one for one in loop.carried if id(one.result) in read or id(one.param) in read]
            slices = [one for one in loop.slices if id(one[1]) in read]
            gone = gone or len(carried) < len(loop.carried) or len(slices) < len(loop.slices)
            loop.carried, loop.slices = carried, slices
        if not gone:
            return items


def check_branches(items: list[Item]) -> None:
    """Raises an error if a turn has a branch on data that has one side only: what Python does after the loop may depend on it, also if nobody reads the results of
    the loop. A branch on sizes in such a loop stands before it.

    Raises:
        NoBothSides: There is one.
    """
    for place in reversed(range(len(items))):
        item = items[place]
        if not isinstance(item, Rolled):
            continue
        for ask in _asks(item.items):
            line = ask.question.line
            if ask.question.what != "bool" or not ask.question.by_model or line is None or (only_stops(line.file, line.number, ask.question.answer) and not ask.question.is_caught):
                continue
            if is_from_data(ask.question.number) and ask.failure is None:
                refusal = NoBothSides("a branch in a turn of a loop depends on data", line)
                refusal.branch = line
                raise refusal
            if not is_from_data(ask.question.number) and not made_by(item):
                items.insert(place, ask)


def check_nesting(items: list[Item], depth: int = 0) -> None:
    """Compares how deep branches and loops are within one another with what readers of files take.

    Raises:
        NoBothSides: They are deeper.
    """
    for item in items:
        if depth == _DEEPEST and parts_of(item):
            line = item.question.line if isinstance(item, If) else item.line if isinstance(item, Rolled) else None
            help = "many `elif` are one after the other if the last is asked first: `k = 3 if a else k`; or choose by a number: `torch.searchsorted(bounds, x)`"
            error = NoBothSides(f"branches and loops are more than {_DEEPEST} deep in one another, which no reader of ONNX files takes", line, help)
            error.is_limit = True
            raise error
        for part in parts_of(item):
            check_nesting(part, depth + 1)


def _asks(items: list[Item]) -> Iterator[Ask]:
    for item in items:
        if isinstance(item, Ask):
            yield item
        for part in parts_of(item):
            yield from _asks(part)


def _note_reads(items: list[Item], read: set[int], loops: list[Any], is_inner: bool = False) -> None:
    for item in items:
        if isinstance(item, Step):
            read.update(id(value) for value in values_in((item.call.args, item.call.kwargs)))
        elif isinstance(item, Rolled):
            loops.append(item)
            own = [(one.init, one.next) for one in item.carried]
            read.update(id(value) for value in values_in((item.count, item.first, item.again, own, [reference for reference, _ in item.slices])))
            _note_reads(item.items, read, loops, True)
        elif isinstance(item, If):
            if is_inner:
                loops.append(item)
            read.update(id(value) for value in values_in((item.question.number, [(yes, no) for _, yes, no in item.results])))
            _note_reads([*item.yes, *item.no], read, loops, is_inner)
        else:
            read.update(id(value) for value in values_in(item.question.number))


__all__ = ["check_branches", "check_nesting", "without_unread"]
