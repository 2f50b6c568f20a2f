"""Captures a module and its example inputs with torch.export."""

from __future__ import annotations

import logging
import os
import sysconfig
import traceback
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from . import _fixes, _shapes
from ._errors import CaptureError


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
    modes = [False, True] if strict is None else [strict]
    first: Exception | None = None
    for mode in modes:
        for share in shares:
            try:
                return _refined(model, args, kwargs, _shapes.for_torch(dynamic_shapes, share), mode, adopt_fixes, oblivious)
            except Exception as error:  # PyTorch passes on whatever the model raises.
                if first is None or mode is modes[0]:
                    first = error
        if _is_final(first):
            break
    assert first is not None
    raise failure(first) from first


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


def _is_final(error: Exception | None) -> bool:
    """Whether the other mode would fail in the same way."""
    from torch._dynamo.exc import UserError
    from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

    return isinstance(error, (UserError, GuardOnDataDependentSymNode))


def failure(error: Exception) -> CaptureError:
    """Returns PyTorch's error with the line of the model that caused it."""
    line = source_line(error)
    text = _essence(str(error)) or type(error).__name__
    return CaptureError(
        f"torch.export cannot capture this model: {text}",
        place=[line] if line else [],
        help=_advice(text),
        source_line=line,
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
    return f'File "{frames[-1].filename}", line {frames[-1].lineno}, in {frames[-1].name}' if frames else None


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
_ENDS = ("The following call raised this error", "The error above occurred when", "Traceback (most recent call last)", "from user code:", "While executing")


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

    with ExitStack() as stack:
        stack.enter_context(onnx_export_flag())
        # Do not specialize dynamic dimensions whose size is 0 or 1 in the example inputs.
        if hasattr(_config, "backed_size_oblivious"):
            stack.enter_context(_config.patch(backed_size_oblivious=oblivious))  # type: ignore[attr-defined]
        stack.enter_context(torch.no_grad())
        stack.enter_context(quiet())
        if not strict:  # the strict mode does not run the patched method
            stack.enter_context(_idle_conversions())
        return torch.export.export(model, args, kwargs or None, dynamic_shapes=dynamic_shapes, strict=strict)


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
