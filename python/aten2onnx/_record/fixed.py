"""Finds the loops of a model's own code, for `roll=`: those of a fixed number of turns become a Loop only if that is asked for."""

from __future__ import annotations

import ast
import logging
import sys
from types import CodeType, FrameType
from typing import Any

import torch
from torch.utils import _pytree as pytree

from .fakes import IsFake, run_plainly
from .places import kind_of_file, nodes_of
from .swapped import Spot, can_swap

_log = logging.getLogger(__name__)

_LOOPS = (ast.For, ast.comprehension)


def loop_spots(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], is_fake: IsFake | None) -> frozenset[Spot]:
    """The lines of the `for` loops and comprehensions in functions that a run of the model calls, if these have another form. Of a model that
    fails, those that it has called before."""
    leaves, tree = pytree.tree_flatten((args, kwargs))
    codes: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            codes.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run_plainly(model, leaves, tree, is_fake)
    except Exception as error:  # whatever the model raises
        _log.debug("no loops, because the model does not run: %s", error)
    finally:
        _profile_again(before)
    return frozenset(spot for code in codes if kind_of_file(code.co_filename) == "model" for spot in _spots(code))


def _profile_again(before: Any) -> None:
    """Goes on with the profiler that there was. That of cProfile is no function: it has a method instead."""
    if hasattr(before, "enable"):
        before.enable()
    else:
        sys.setprofile(before)


def _spots(code: CodeType) -> list[Spot]:
    lines = [line for _, _, line in code.co_lines() if line is not None]
    if not lines:
        return []
    numbers = {getattr(node, "lineno", None) or node.target.lineno for node in nodes_of(code.co_filename, *_LOOPS)}
    spots = [(code.co_filename, number) for number in numbers if min(lines) <= number <= max(lines)]
    return list(filter(can_swap, spots))


__all__ = ["loop_spots"]
