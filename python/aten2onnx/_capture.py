"""Captures a module and its example inputs with torch.export."""

from __future__ import annotations

import logging
import os
import re
import sys
import sysconfig
import traceback
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from . import _fixes, _shapes
from ._errors import CaptureError
from ._older import mended


def capture(
    model: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    dynamic_shapes: Any,
    strict: bool | None,
    adopt_fixes: bool = True,
    oblivious: bool = True,
) -> tuple[Any, list[str]]:
    """Returns the ExportedProgram of a module, and notes on dimensions that are less free than `dynamic_shapes` says.

    If `oblivious` is False, PyTorch assumes that dynamic dimensions are larger than 1.

    If `strict` is None, the strict mode is tried after the non-strict mode has failed.
    """
    # Equal names mean equal sizes, if torch.export can prove that they are equal.
    shares = [True, False] if _shapes.repeats_names(dynamic_shapes) else [False]
    modes = [(False, oblivious), (True, oblivious)] if strict is None else [(strict, oblivious)]
    if oblivious and dynamic_shapes is not None and strict is not True:
        modes.append((False, False))  # a model may take sizes from 2 on only: the program then says so
    first: list[Exception] = []
    for mode, is_oblivious in modes:
        failed: list[Exception] = []
        for share in shares:
            try:
                return _refined(model, args, kwargs, _shapes.for_torch(dynamic_shapes, share), mode, adopt_fixes, is_oblivious)
            except Exception as error:  # PyTorch passes on whatever the model raises.
                failed.append(error)
        first.append(failed[-1] if len(first) == 0 else failed[0])
    refused = failure(first[0])
    names = {(False, True): "torch.export", (True, True): "torch.export (strict)", (False, False): "torch.export (sizes from 2)", (True, False): "torch.export (strict, sizes from 2)"}
    refused.ways = [(names[mode], _one_line(why)) for mode, why in zip(modes, first)]
    raise refused from None


def _one_line(error: Exception) -> str:
    """Why torch.export refuses a model, and the line of the model, in one line."""
    text = _first_sentence(_essence(str(error))) or type(error).__name__
    line = getattr(error, "specialised", None) or source_line(error)
    return text if line is None else f"{text} ({line})"


def _first_sentence(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    # A heading says nothing without what it announces.
    found = " ".join(lines[:2]) if lines and lines[0].endswith(("!", ":", "!)")) else (lines or [""])[0]
    return found.partition(" If you're using mark_dynamic")[0]  # advice about functions of PyTorch that nobody has called


def _refined(
    model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any, strict: bool, adopt_fixes: bool, oblivious: bool
) -> tuple[Any, list[str]]:
    """Captures a module, and adopts the fixes that torch.export suggests, if they leave all dimensions dynamic."""
    notes: list[str] = []
    for _ in range(_fixes.ROUNDS):
        try:
            return _export(model, args, kwargs, dynamic_shapes, strict, oblivious), notes
        except Exception as error:  # PyTorch passes on whatever the model raises.
            found = _fixes.adopted(error, dynamic_shapes) if adopt_fixes else None
            if found is None:
                raise
            dynamic_shapes, more = found
            notes += more
    return _export(model, args, kwargs, dynamic_shapes, strict, oblivious), notes


def failure(error: Exception) -> CaptureError:
    """Returns PyTorch's error with the line of the model that caused it."""
    line = getattr(error, "specialised", None) or source_line(error)
    text = _essence(str(error)) or type(error).__name__
    return CaptureError(
        f"torch.export cannot capture this model: {text}",
        place=[line] if line else [],
        help=_advice(text),
        source_line=line,
        cause=error,
    )


def source_line(error: BaseException) -> str | None:
    """Returns the innermost line of the model in a traceback: `File "net.py", line 3, in forward`."""
    import torch

    own = os.path.dirname(__file__)
    foreign = (os.path.dirname(torch.__file__), sysconfig.get_path("stdlib") + os.sep, "<")
    site = sysconfig.get_path("purelib")
    # Functions that replace others while a model is captured, of this package and of transformers, are called by the model.
    between = (foreign[0], os.path.join(site, "transformers", "exporters"), own)
    frames = list(traceback.extract_tb(error.__traceback__))
    # Frames before PyTorch's belong to this package and its caller.
    first = next((i for i, frame in enumerate(frames) if frame.filename.startswith(foreign[0])), 0)
    frames = [frame for frame in frames[first:] if frame.filename.startswith(site) or not frame.filename.startswith(foreign)]
    frames = [frame for frame in frames if not frame.filename.startswith(between)]
    return f'File "{frames[-1].filename}", line {frames[-1].lineno}, in {frames[-1].name}' if frames else _line_in_text(_stack(error) + str(error))


def _stack(error: BaseException) -> str:
    """The lines of the model that an error of the strict mode has with it."""
    stack: Any = getattr(error, "real_stack", None)
    return "".join(stack.format()) if hasattr(stack, "format") else ""


def _line_in_text(text: str) -> str | None:
    """The innermost line of the model in a message: the strict mode reads bytecode, and no frame of the model is in the traceback."""
    from ._record.places import kind_of_file

    found = re.findall(r'File "([^"]+)", line (\d+), in (\S+)', text)
    found = [place for place in found if kind_of_file(place[0]) == "model"]
    return 'File "{}", line {}, in {}'.format(*found[-1]) if found else None


# Lines of PyTorch's messages that only help to debug PyTorch.
_NOISE = (
    "For more information, run with",
    "For more information about this error",
    "For extended logs",
    "For more debugging help",
    "For C++ stack trace",
    "If you suspect the guard",
    "consider using data-dependent friendly",
    "Caused by: (",
    "Use tlparse",
    "Set TORCH",
)
_ENDS = ("User stack:", "The following call raised this error", "The error above occurred when", "Traceback (most recent call last)", "from user code:", "While executing")


def _essence(text: str) -> str:
    """Returns PyTorch's message without its advice for debugging PyTorch."""
    kept: list[str] = []
    for line in text.strip().splitlines():
        if line.startswith(_ENDS):
            break
        if line.strip() and not line.startswith(_NOISE):
            kept.append(line.split(" For more information, run with")[0].rstrip())
    return "\n".join(kept)


_NOT_DYNAMIC = "the model does not support other sizes of a dimension in `dynamic_shapes`: leave it out of `dynamic_shapes`, or change the model"
_DTYPES = "PyTorch rejects these inputs: convert them to the dtype of the weights"

_KNOWN_SIZES = (
    "PyTorch's operator takes only sizes that are known, as torch.randn does with a generator: "
    "pass its result as an input, or leave the dimension out of `dynamic_shapes`"
)

_UNKNOWN = (
    "call the model with these inputs, to see whether it fails by itself; "
    "if it does not, change this line so that torch.export can trace it, or leave dimensions out of `dynamic_shapes`"
)

_ADVICE = [
    ("Constraints violated", _NOT_DYNAMIC),
    ("marked as dynamic but", _NOT_DYNAMIC),
    ("Could not guard on data-dependent", "the model branches on the contents of a tensor: use torch.cond or torch.where, or state known facts with torch._check"),
    ("Could not extract specialized integer", "the model converts the contents of a tensor to a Python number: keep the tensor"),
    ("must have the same dtype", _DTYPES),
    ("expected m1 and m2 to have the same dtype", _DTYPES),
    ("Couldn't swap", "the model converts or moves a module when it is called: do that before the export, and take it out of `forward`"),
    ("expected to contain only concrete integers", _KNOWN_SIZES),
]


def _advice(text: str) -> str:
    return next((advice for part, advice in _ADVICE if part in text), _UNKNOWN)


def _export(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any, strict: bool, oblivious: bool) -> Any:
    import torch
    from torch.fx.experimental import _config

    import torch._dynamo  # its loggers must be known to be silenced

    with ExitStack() as stack:
        stack.enter_context(onnx_export_flag())
        # Do not specialize dynamic dimensions whose size is 0 or 1 in the example inputs.
        if hasattr(_config, "backed_size_oblivious"):
            stack.enter_context(_config.patch(backed_size_oblivious=oblivious))  # type: ignore[attr-defined]
        stack.enter_context(torch.no_grad())
        stack.enter_context(quiet())
        if not strict:  # the strict mode does not run the patched method
            stack.enter_context(_idle_conversions())
        stack.enter_context(unmarked((args, kwargs)))
        stack.enter_context(specialised_lines())
        stack.enter_context(_unprinted())
        stack.enter_context(mended())
        return torch.export.export(model, args, kwargs or None, dynamic_shapes=dynamic_shapes, strict=strict)


@contextmanager
def unmarked(arguments: Any) -> Iterator[None]:
    """torch.export marks the tensors of the example as dynamic, for all later exports of them: afterwards they are as before."""
    import torch
    from torch.utils import _pytree as pytree

    tensors = [leaf for leaf in pytree.tree_leaves(arguments) if isinstance(leaf, torch.Tensor)]
    before = [dict(vars(tensor)) for tensor in tensors]
    try:
        yield
    finally:
        for tensor, attributes in zip(tensors, before):
            vars(tensor).clear()
            vars(tensor).update(attributes)


@contextmanager
def _unprinted() -> Iterator[None]:
    """torch.export prints the graph as far as it came, when it fails: thousands of lines about code that is not the user's."""
    from torch.export import _trace

    _trace.print = lambda *_, **__: None  # type: ignore[attr-defined]
    try:
        yield
    finally:
        del _trace.print  # type: ignore[attr-defined]


@contextmanager
def specialised_lines() -> Iterator[None]:
    """Gives an error the line of the model that made a dynamic dimension constant: torch.export raises it when the model has run."""
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    lines: list[str] = []
    original = getattr(ShapeEnv, "_set_replacement", None)
    if original is None:  # another version of torch
        yield
        return

    def replace(self: Any, symbol: Any, target: Any, *others: Any, **named: Any) -> Any:
        if getattr(target, "is_number", False) and getattr(symbol, "is_symbol", False):
            line = _running_line() or _line_in_dynamo()
            lines.extend([] if line is None else [str(line)])
        return original(self, symbol, target, *others, **named)

    ShapeEnv._set_replacement = replace  # type: ignore[method-assign,assignment]
    try:
        yield
    except Exception as error:
        if lines and any(word in str(error) for word in ("Constraints violated", "marked as dynamic", "specialized")):
            error.specialised = lines[0]  # type: ignore[attr-defined]
        raise
    finally:
        ShapeEnv._set_replacement = original  # type: ignore[method-assign]


def _running_line() -> Any:
    """The innermost line of the model that is running; None in the strict mode, which does not run it."""
    from ._record.places import line_of_frame

    return line_of_frame(sys._getframe(2), __file__)


def _line_in_dynamo() -> Any:
    """The line of the model that the strict mode has come to: it reads bytecode, and no frame of the model runs."""
    from torch._guards import TracingContext

    from ._record.places import Line, kind_of_file

    try:
        frames = list(TracingContext.extract_stack())
    except Exception:  # another version of torch
        return None
    found = [frame for frame in frames if kind_of_file(frame.filename) == "model"]
    return Line(found[-1].filename, found[-1].lineno or 0, found[-1].name) if found else None


@contextmanager
def _idle_conversions() -> Iterator[None]:
    """Makes `module.to(..)` do nothing inside the block where nothing is to convert: torch.export would record that it replaces weights."""
    from torch import nn

    original = nn.Module.to

    def to(module: Any, *args: Any, **kwargs: Any) -> Any:
        return module if _is_converted(module, *args, **kwargs) else original(module, *args, **kwargs)

    nn.Module.to = to  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        nn.Module.to = original  # type: ignore[method-assign]


def _is_converted(module: Any, *args: Any, **kwargs: Any) -> bool:
    """Whether all tensors of a module have the device and the dtype of a call of `to`."""
    import torch

    device, dtype, _, memory_format = torch._C._nn._parse_to(*args, **kwargs)
    if memory_format is not None:
        return False
    tensors = [*module.parameters(), *module.buffers()]
    here = all(device in (None, tensor.device) for tensor in tensors)
    return here and all(dtype in (None, tensor.dtype) or not (tensor.is_floating_point() or tensor.is_complex()) for tensor in tensors)


@contextmanager
def quiet() -> Iterator[None]:
    """Silences PyTorch's log messages and deprecation warnings. Its errors contain what users need."""
    loggers = [] if "TORCH_LOGS" in os.environ else [logging.getLogger(name) for name in logging.root.manager.loggerDict if name.startswith("torch")]
    loggers = [logger for logger in loggers if not logger.disabled]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=DeprecationWarning, module="torch")
        warnings.filterwarnings("ignore", category=FutureWarning, message=".*LeafSpec")
        warnings.filterwarnings("ignore", category=UserWarning, message=".*were assigned during export")
        for logger in loggers:
            logger.disabled = True
        try:
            yield
        finally:
            for logger in loggers:
                logger.disabled = False


@contextmanager
def onnx_export_flag() -> Iterator[None]:
    """Makes `torch.onnx.is_in_onnx_export()` return True inside the block."""
    try:
        from torch.onnx._internal.exporter import _flags
    except ImportError:  # another version of torch
        yield
        return
    before = getattr(_flags, "_is_onnx_exporting", False)
    _flags._is_onnx_exporting = True
    try:
        yield
    finally:
        _flags._is_onnx_exporting = before
