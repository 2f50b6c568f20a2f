"""Holds a run against others at the same sizes. Numbers that Python or NumPy draw, the time, and what else differs from run to run without PyTorch
would be constants of the program."""

from __future__ import annotations

import logging
import pickle
import random
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from .._errors import CaptureError
from .runs import Run
from .same import Parted, united

_log = logging.getLogger(__name__)

#: So often a model runs again if it draws numbers: a branch on them may be taken in the same way several times.
_DRAWN = 5
_AT_SIZES = re.compile("other calls at [^:]*:")


@contextmanager
def kept_generators(model: Any) -> Iterator[Callable[[], bool]]:
    """While the block runs, the generators of Python and NumPy, and those in attributes of a model, go on from run to run; afterwards they are as before. Gives
    whether one of Python or NumPy was used."""
    numpy: Any = sys.modules.get("numpy")
    modules = model.modules() if isinstance(model, torch.nn.Module) else ()
    own = [(value, value.get_state()) for module in modules for value in vars(module).values() if isinstance(value, torch.Generator)]
    before = random.getstate()
    arrays = numpy and numpy.random.get_state(legacy=False)

    def is_used() -> bool:
        # NumPy's state is a dictionary with an array, whose form depends on the kind of generator.
        return random.getstate() != before or bool(numpy and pickle.dumps(numpy.random.get_state(legacy=False)) != pickle.dumps(arrays))

    try:
        yield is_used
    finally:
        for generator, state in own:
            generator.set_state(state)
        random.setstate(before)
        if numpy:
            numpy.random.set_state(arrays)


def check_steady(first: Run, again: Callable[[bool], Run], draws: bool) -> None:
    """Compares a run with others of the same model with the same inputs.

    Args:
        first: The run.
        again: Makes another run; without elements where that is cheaper, if the argument is true.
        draws: Whether the model draws numbers without PyTorch.

    Raises:
        CaptureError: They differ.
    """
    for _ in range(_DRAWN if draws else 1):
        parted = _difference(first, again, True, draws)
        if parted is None:
            continue
        place = [] if parted.line is None else [str(parted.line)]
        what = str(parted).removesuffix(": how it is computed was not recorded").replace("at other sizes", "the second time")
        raise CaptureError(
            f"the model does not do the same when it runs again with the same inputs: {_AT_SIZES.sub('other calls:', what)}",
            place=place,
            source_line=place[0] if place else None,
            help="numbers that `random` or `numpy.random` draw, or that come from the time, would be constants of the file: draw them with torch, or pass them as inputs",
        )


def _difference(first: Run, again: Callable[[bool], Run], may_be_light: bool, draws: bool) -> Parted | None:
    recorder = first.recorder
    calls, tied = list(recorder.calls), recorder.tied
    try:
        run = again(may_be_light)
    except Exception as error:  # whatever the model raises when it runs again
        _log.debug("no second run: %s", error)
        return None
    if not draws and [call.function for call in run.recorder.calls] != [call.function for call in calls]:
        return None  # as where the first run fills a cache
    try:
        united(first, [run])
        return None
    except Parted as parted:
        found = parted
    finally:
        recorder.calls, recorder.tied = calls, tied
    # Without elements, PyTorch may take other ways.
    return _difference(first, again, False, draws) if run.is_light else found


__all__ = ["check_steady", "kept_generators"]
