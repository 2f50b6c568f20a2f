"""Finds inputs that take the sides of branches by themselves: the example, other sizes, and other data."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch

from .held import other_data
from .paths import Both
from .runs import Arguments, Run, sizes_to_try
from .turns import Turns

_log = logging.getLogger(__name__)

#: So many inputs are tried.
_MOST = 120

#: A side: the file and the number of the line, and the answer.
Side = tuple[str, int, bool]


def wanted(both: Both) -> set[Side]:
    """The sides that are in the program."""
    return {(*made.line.place, answer) for made in both.made for answer in (True, False)}


def checks_of_sides(record: Callable[[Arguments, dict[str, int], Turns], Run], arguments: Arguments, both: Both) -> list[tuple[dict[str, int], Arguments, list[Any]]]:
    """Sizes, arguments and results of the model for inputs that take sides which no run has taken by itself."""
    found = []
    for _, (sizes, leaves) in zip(range(_MOST), _inputs(arguments)):
        missing = wanted(both) - both.taken
        if not missing:
            break
        chosen = replace(arguments, examples=[(sizes, leaves)], keep_results=True)
        try:
            run = record(chosen, sizes, Turns(both.lines, (), both.is_static, loops=both.loops))
        except Exception as error:  # whatever the model raises for inputs that it does not take
            _log.debug("the model does not run at %s: %s", sizes, error)
            continue
        taken = sides_taken(run, both)
        if taken & missing:
            both.taken |= taken
            found.append((sizes, chosen, run.results))
    return found


def sides_taken(run: Run, both: Both) -> set[Side]:
    """The sides that a run took, in all turns of its loops."""
    asked = ((question.line.place, question.answer) for question in run.recorder.questions if question.what == "bool" and question.by_model and question.line is not None)
    return {(*place, answer) for place, answer in asked if place in both.lines}


def _inputs(arguments: Arguments) -> Iterator[tuple[dict[str, int], list[Any]]]:
    """Sizes with inputs: those that the user gave for branches, then all kinds of data by turns."""
    yield from arguments.branch_inputs
    base = dict(arguments.sizes)
    others = list(sizes_to_try(arguments)) if base else []
    for sizes, some in ((sizes, some) for all_sizes, some in (([base], (_same,)), ([base], CHANGES), (others, (_same,)), (others, CHANGES)) for sizes in all_sizes):
        for change in some:
            yield sizes, [change(leaf) for leaf in arguments.at(sizes)]


def _same(leaf: Any) -> Any:
    return leaf


def _is_float(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.is_floating_point()


def _positive(leaf: Any) -> Any:
    return leaf.detach().abs() + 0.5 if _is_float(leaf) else leaf


def _negative(leaf: Any) -> Any:
    return -leaf.detach().abs() - 0.5 if _is_float(leaf) else leaf


def _scaled(by: float) -> Callable[[Any], Any]:
    return lambda leaf: leaf.detach() * by if _is_float(leaf) else leaf


#: Other data of inputs: floats of both signs, of one, large ones, and zeros.
CHANGES = (lambda leaf: other_data(leaf, 1), _positive, _negative, _scaled(10), _scaled(0))
