"""Captures a module with torch.jit: scripts it, or traces it at several sizes, which must give the same calls."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from ._errors import CaptureError, InputError

_SCRIPT = "TorchScript takes a part of Python only: change this line, or use `capture=\"auto\"`"
_TRACE = (
    "a trace has the calls of one run: leave the dimension out of `dynamic_shapes`, replace the plain number by `x.shape[0]`, or use `capture=\"auto\"`, "
    "which keeps the arithmetic on sizes"
)


def converted(
    model: Any, way: str, args: Any, kwargs: Any, dynamic_shapes: Any, dynamic_axes: Any, input_names: Any, output_names: Any, examples: Sequence[Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any], Any]:
    """The ScriptModule of a module, and the arguments of its call.

    Raises:
        CaptureError: torch.jit refuses the module, or its traces at other sizes are not the same.
    """
    from . import _calls
    from ._export import prepare_call

    prepared = prepare_call(model, args, kwargs, dynamic_shapes, dynamic_axes, input_names, output_names)
    if prepared is None or prepared[0].training or prepared[1] is not None or _calls.is_auto(dynamic_shapes):
        raise InputError(
            f'`capture="{way}"` takes modules in evaluation mode whose arguments are tensors, numbers, lists, tuples and dictionaries, with named dimensions',
            help='use `capture="auto"`',
        )
    inner, _, plain, named, shapes = prepared
    if way == "script":
        return _scripted(inner), plain, named, shapes
    return _traced(inner, plain, named, shapes, examples), plain, named, shapes


def _scripted(model: Any) -> Any:
    import torch

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.jit.script(model)
    except Exception as error:  # torch.jit raises several kinds
        line, text = _of_script(str(error))
        raise CaptureError(f"torch.jit.script cannot capture this model: {text}", place=[line] if line else [], help=_SCRIPT, source_line=line, cause=error) from None


def _of_script(text: str) -> tuple[str | None, str]:
    """The line in a message of torch.jit, and its first sentence."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    place = next((line.rstrip(":") for line in lines if line.startswith('File "')), None)
    return place, (lines or ["it gives no reason"])[0].rstrip(":")


def _traced(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], shapes: Any, examples: Sequence[Any]) -> Any:
    """The trace at the example, which those at other sizes must be like."""
    from torch.utils import _pytree as pytree

    from ._record.arguments import arguments_of, example_of
    from ._record.runs import sizes_apart, sizes_together
    from ._ways import arranged

    arguments = arguments_of(model, args, kwargs, shapes)
    arguments.examples = [example_of(model, (args, kwargs), arguments, *example) for example in arranged(examples, None)]
    first = _trace(model, args, kwargs)
    calls = _calls_of(first)
    held = 0
    failure: CaptureError | None = None
    proposals = [sizes for sizes, _ in arguments.examples] or [*sizes_apart(arguments), *sizes_together(arguments)]
    for sizes in proposals if arguments.sizes else []:
        if sizes == arguments.sizes or held == 2:
            continue
        try:
            other = _trace(model, *pytree.tree_unflatten(arguments.at(sizes), arguments.tree))
        except CaptureError as error:
            failure = failure or error
            continue
        _hold(calls, _calls_of(other), sizes)
        held += 1
    if arguments.sizes and not held:
        place = failure.place if failure is not None else []
        why = f": {failure.message}" if failure is not None else ""
        message = f"the model cannot be traced at other sizes of its dynamic dimensions{why}"
        raise CaptureError(message, place=place, source_line=place[0] if place else None, help=_TRACE, cause=failure) from None
    return first


def _trace(model: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
    import torch

    from ._record import free
    from ._record.state import untouched

    inputs: dict[str, Any] = {"example_kwarg_inputs": dict(kwargs)} if kwargs else {"example_inputs": tuple(args)}
    if kwargs and args:
        names = list(model.forward.__code__.co_varnames[1:])
        inputs = {"example_kwarg_inputs": dict(zip(names, args)) | dict(kwargs)}
    try:
        with torch.no_grad(), untouched(model), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.jit.trace(model, **copy.deepcopy(inputs), check_trace=False, strict=False)
    except Exception as error:  # whatever the model raises
        found = free.line_of(error)
        line = None if found is None else str(found)
        text = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise CaptureError(f"torch.jit.trace cannot capture this model: {text}", place=[line] if line else [], help=_TRACE, source_line=line, cause=error) from None


def _calls_of(traced: Any) -> list[tuple[Any, str | None]]:
    """The calls of a trace with their constants, without what is known of sizes; and the line of each."""
    places: dict[str, int] = {}
    found: list[tuple[Any, str | None]] = []
    graph = traced.inlined_graph
    for place, value in enumerate(graph.inputs()):
        places[value.debugName()] = place
    for node in graph.nodes():
        kind = node.kind()
        constant = None
        if kind == "prim::Constant":
            held: Any = node.output().toIValue() if node.mustBeNone() is False else None
            constant = (type(held).__name__, held.tolist() if hasattr(held, "tolist") else repr(held))
        elif kind == "prim::GetAttr":
            constant = node.s("name")
        inputs = tuple(places.get(value.debugName(), -1) for value in node.inputs())
        for value in node.outputs():
            places[value.debugName()] = len(places)
        found.append(((kind, constant, inputs), node.sourceRange() or None))
    return found


def _hold(mine: list[tuple[Any, str | None]], theirs: list[tuple[Any, str | None]], sizes: Mapping[str, int]) -> None:
    """Raises an error if two traces are not the same calls."""
    where = ", ".join(f"{symbol}={size}" for symbol, size in sizes.items())
    before: str | None = None  # a list or a number has the line of the call before it
    for (call, line), (other, _) in zip(mine, theirs):
        if call == other:
            before = line if _line(line) is not None else before
            continue
        text = f"the number {call[1][1]} where it is {other[1][1]} at {where}" if call[0] == other[0] == "prim::Constant" else f"other arguments at {where}" if call[0] == other[0] else f"`{call[0]}` where it has `{other[0]}` at {where}"
        place = _line(line) or _line(before)
        raise CaptureError(f"the trace of the model has {text}", place=[place] if place else [], help=_TRACE, source_line=place)
    if len(mine) != len(theirs):
        place = _line((mine if len(mine) > len(theirs) else theirs)[min(len(mine), len(theirs))][1])
        raise CaptureError(f"the trace of the model has {len(mine)} calls, and {len(theirs)} at {where}", place=[place] if place else [], help=_TRACE, source_line=place)


def _line(text: str | None) -> str | None:
    """The line of the model in what torch.jit says of a node: `/net.py(3): forward`, the innermost first."""
    import re

    from ._record.places import kind_of_file

    for file, number, function in re.findall(r"^(\S.*)\((\d+)\): (\S+)", text or "", re.MULTILINE):
        if kind_of_file(file) == "model":
            return f'File "{file}", line {number}, in {function}'
    return None
