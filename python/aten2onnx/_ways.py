"""Captures a module in the way that the user chose: whoever needs a program of a module asks here."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from . import _progress
from ._errors import ArgumentError, CaptureError, Error, InputError
from ._native import Rules
from ._report import Report
from ._weights import OutsideWeights, check_data

_log = logging.getLogger(__name__)

@dataclass
class Request:
    """What is to be captured, and how.

    Attributes:
        arguments: The arguments of `_export.captured` without the module: args, kwargs, dynamic_shapes, dynamic_axes, input_names,
            output_names, strict and adopt_fixes.
        way: What `capture` may be.
        branches: What becomes of branches in Python.
        examples: Other inputs, for the runs of the recorder at other sizes.
        branch_inputs: Inputs with which both sides of the branch in a line can be run, by `model.py:12`.
        keep_results: Whether the results of these runs are kept, to verify the file with.
        max_branches: So many branches may have both sides.
        max_runs: So many runs may be made at one choice of sizes.
        roll: Loops of at least so many turns become a Loop, though their number is fixed.
    """

    arguments: tuple[Any, ...]
    way: str = "auto"
    branches: str = "both"
    examples: Sequence[Any] = ()
    branch_inputs: Mapping[str, Any] = field(default_factory=dict)
    keep_results: bool = False
    max_branches: int = 32
    max_runs: int = 64
    roll: int | None = None


@dataclass
class Found:
    """A captured module.

    Attributes:
        live: The program.
        call: How the arguments of the module become those of the program, if they are not the same.
        dims: The names of its symbols, if they are not the program's own.
        notes: Notes for the user.
        decomposed: The operators that PyTorch decomposed.
    """

    live: Any
    call: Any = None
    dims: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    decomposed: list[str] = field(default_factory=list)


def way_of(capture: str, strict: bool | None) -> str:
    """How a module is captured: `strict` is an argument of torch.export, and asks for it.

    Raises:
        ArgumentError: One asks for torch.export in this mode, and the other for something else.
    """
    if strict is None or capture == "export" or (capture == "strict" and strict):
        return capture
    if capture == "auto":
        return "export"
    raise ArgumentError(
        f"capture={capture!r} cannot be used with strict={strict}, which is the mode of torch.export",
        help=f"leave one of them out, or pass capture=\"{'strict' if strict else 'export'}\"",
    )


def capture(model: Any, request: Request, rules: Rules, opset: int, report: Report, shown: _progress.Progress, outside: OutsideWeights | None = None) -> Found:
    """Captures a module.

    Raises:
        CaptureError: No way that can be right is possible.
    """
    if request.way in ("auto", "record", "fake"):
        found = _recorded(model, request, rules, opset, report, shown, outside)
        if found is not None:
            return found
    found = _exported(model, request, report, shown, outside)
    if request.way == "auto" and report.unrecorded:
        _check_exported(found, model, request, report)
    return found


def _recorded(
    model: Any, request: Request, rules: Rules, opset: int, report: Report, shown: _progress.Progress, outside: OutsideWeights | None
) -> Found | None:
    """Records a module; None if that is impossible and another way may do."""
    from . import _recorded
    from ._export import name_of_model, prepare_call
    from ._record import texts
    from ._record.memory import few_collections
    from ._record.steady import kept_generators

    shown.step("recording")
    texts.TEXTS.clear()
    try:
        with report.timed("record"), few_collections(), kept_generators(model):
            prepared = prepare_call(model, *request.arguments[:6])
            if prepared is None:
                raise _recorded.NotRecorded("these arguments are not recorded yet")
            inner, call, args, kwargs, shapes = prepared
            wanted = _recorded.Wanted(
                args,
                kwargs,
                shapes,
                request.branches,
                arranged(request.examples, call),
                dict(zip(request.branch_inputs, arranged(list(request.branch_inputs.values()), call, "branch_inputs"))),
                request.keep_results,
                request.way == "fake",
                outside or OutsideWeights(),
                request.max_branches,
                request.max_runs,
                roll=request.roll,
            )
            with nullcontext() if call is None else call.traced():
                found = _recorded.capture(inner, name_of_model(model), wanted, rules, opset)
    except _recorded.NotRecorded as error:
        if "has no data" in str(error):  # no other way has it
            check_data(model, outside or OutsideWeights())
        if request.way in ("record", "fake") or error.is_final or texts.TEXTS:
            place = [] if error.line is None else [str(error.line)]
            message = f"the model cannot be recorded: {error}"
            raise CaptureError(message, place=place, source_line=place[0] if place else None, help=_help_of(error, texts.TEXTS), cause=error) from None
        _log.debug("not recorded: %s", error)
        report.unrecorded, report.unrecorded_line = str(error), None if error.line is None or error.is_of_model else str(error.line)
        return None
    return Found(found.live, call, notes=found.notes, decomposed=found.decomposed)


def _help_of(error: Any, texts: list[Any]) -> str:
    """What to do about a model that cannot be recorded."""
    if error.is_final:
        return "change this line (docs/capture.md says what is recorded)"
    line = next((line for line in texts if line is not None), None)
    if line is not None:  # torch.export has the name of the size in it
        return f"`{line.text}` ({line}) makes text of a size, which no file has: compare the size itself, or find by it what the text finds"
    return '`capture="auto"` tries torch.export, too'


def arranged(examples: Sequence[Any], call: Any, option: str = "examples") -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Other inputs as the arguments of a call: a tuple, a mapping of arguments by name, or both as a pair."""
    found = []
    for example in examples:
        args: tuple[Any, ...]
        if isinstance(example, Mapping):
            args, kwargs = (), dict(example)
        elif isinstance(example, tuple) and len(example) == 2 and isinstance(example[0], tuple) and isinstance(example[1], Mapping):
            args, kwargs = example[0], dict(example[1])
        elif hasattr(example, "detach"):
            args, kwargs = (example,), {}
        elif isinstance(example, (tuple, list)):
            args, kwargs = tuple(example), {}
        else:
            raise InputError(f"{option}: found an object of type `{type(example).__name__}`", help="pass tuples of inputs, or dictionaries of inputs by name")
        found.append((args, kwargs) if call is None else ((), call.arranged(args, kwargs)))
    return found


def _exported(model: Any, request: Request, report: Report, shown: _progress.Progress, outside: OutsideWeights | None) -> Found:
    """Captures a module with torch.export."""
    from ._export import captured
    from ._live import LiveProgram
    from ._record.steady import kept_generators

    shown.step("torch.export")
    arguments = list(request.arguments)
    if request.way == "strict":
        arguments[6] = True
    with report.timed("torch.export"), kept_generators(model) as is_used:
        try:
            found = captured(model, *arguments)
            if is_used():
                found.notes.append("numbers that the model draws with `random` or `numpy.random` are constants of the file: draw them with torch, or pass them as inputs")
        except CaptureError as error:
            check_data(model, outside or OutsideWeights())
            if report.unrecorded:
                error.ways = [("recording it", report.unrecorded), *(error.ways or [("torch.export", error.message)])]
                if report.unrecorded_line:
                    _tell_line(error, report.unrecorded, report.unrecorded_line)
            raise
    try:
        live = LiveProgram(found.exported, found.name, outside)
    except Error as error:
        if report.unrecorded:
            error.message += f"\nrecording it: {report.unrecorded}"
        raise
    return Found(live, found.call, found.dims, found.notes)


def _tell_line(error: CaptureError, reason: str, line: str) -> None:
    """Begins an error with the line of the model that cannot be recorded. What the other ways say is about PyTorch's graphs."""
    error.message = f"this model cannot be captured: {reason.removesuffix(f' ({line})')}"
    error.place, error.source_line = [line], line
    error.help = "change this line (docs/capture.md says what is recorded, and docs/messages.md what to do). If it takes one size of a dimension only, leave it out of `dynamic_shapes`. The other ways failed, too:"


def _check_exported(found: Found, model: Any, request: Request, report: Report) -> None:
    """Holds a program of torch.export against a model that could not be recorded.

    Raises:
        CaptureError: It gives other results.
    """
    from ._exported_check import check_exported
    from ._export import prepare_call

    prepared = prepare_call(model, *request.arguments[:6])
    if prepared is None:
        return
    call = prepared[1]
    with report.timed("try out"), nullcontext() if call is None else call.traced():
        check_exported(found.live.exported, model, prepared, str(report.unrecorded), report.unrecorded_line)


def decompose(found: Found, name: str, blockers: Callable[[Any], list[dict[str, Any]]]) -> None:
    """Decomposes the operators of a program of torch.export that have no rule. A recording has none that can be decomposed."""
    from ._decompose import decomposed

    found.live, found.decomposed = decomposed(found.live, name, blockers)
