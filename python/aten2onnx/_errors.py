"""What can go wrong: one class for each thing that a caller may want to do about it."""

from __future__ import annotations

import re
from typing import Any


class Error(Exception):
    """Any failure of aten2onnx.

    Attributes:
        message: what happened.
        place: where, from the outside in: file, node, argument.
        help: what to do.
        operator: the PyTorch operator that it is about, such as `aten::add.Tensor`, if it is about one.
        node: the node of the PyTorch graph.
        source_line: the line of the model's source, `File "net.py", line 3, in forward`.
        needs_opset: the lowest opset at which it would have worked.
        report: what is known of the export that failed (`aten2onnx.Report`), if it was one.
    """

    def __init__(
        self,
        message: str,
        *,
        place: list[str] | tuple[str, ...] = (),
        help: str | None = None,
        operator: str | None = None,
        node: str | None = None,
        source_line: str | None = None,
        needs_opset: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.place = list(place)
        self.help = help
        self.operator = operator
        self.node = node
        self.source_line = source_line
        self.needs_opset = needs_opset
        self.report: Any = None

    def __str__(self) -> str:
        lines = [self.message, *(f"  --> {place}" for place in self.place)]
        advice = self.help
        if advice is None and self.needs_opset is not None:
            advice = f"`opset_version={self.needs_opset}` would do"
        if advice:
            lines.append(f"help: {advice}")
        return "\n".join(lines)


class UnsupportedError(Error):
    """The model needs what the target opset, or this exporter, does not have. `operators` lists all such operators.

    Each has the keys operator, reason, node, source_line, count, needs_opset.
    """

    operators: list[dict[str, Any]]

    def __init__(self, message: str, *, operators: list[dict[str, Any]] | None = None, **facts: Any) -> None:
        super().__init__(message, **facts)
        self.operators = operators or []


class CaptureError(Error):
    """torch.export could not make a graph of the model; PyTorch's own error is the `__cause__`."""


class VerificationError(Error):
    """The model was exported, but gives other results than PyTorch. `program` is the export."""

    program: Any = None


class InputError(Error):
    """The input is damaged, or not of a known format."""


class FileError(Error, OSError):
    """A file could not be read or written."""

    def __str__(self) -> str:
        return Error.__str__(self)


class MissingPackageError(Error, ImportError):
    """Another Python package is needed for this."""

    def __str__(self) -> str:
        return Error.__str__(self)


class InternalError(Error):
    """A fault of aten2onnx itself; please report it with the model's graph."""


_KINDS: dict[str, type[Error]] = {
    "file": FileError,
    "input": InputError,
    "unsupported": UnsupportedError,
    "internal": InternalError,
    "stopped": Error,
}

# Options of the command, which the library's messages speak of, as arguments of the functions here.
_OPTIONS = {"-o": "f", "--opset": "opset_version", "--output": "f", "--input-name": "input_names", "--output-name": "output_names"}


def from_native(kind: str, message: str, **facts: Any) -> Error:
    """The exception for an error of the native library."""
    advice = facts.pop("help", None)
    # The number that the system gives an error tells a user nothing.
    message = message.split(" (os error")[0]
    return _KINDS[kind](message, help=advice and in_python(advice), **facts)


def in_python(text: str) -> str:
    """A message that speaks of options of the command, in terms of Python's arguments."""

    def argument(match: re.Match[str]) -> str:
        option, value = match["option"], match["value"]
        name = _OPTIONS.get(option, option.lstrip("-").replace("-", "_"))
        if value is None:
            return f"`{name}`"
        return f"`{name}={value}`" if value.isdigit() else f'`{name}="{value}"`'

    return re.sub(r"`(?P<option>--[a-z][a-z-]*|-o)(?:[ =](?P<value>[^`\s]+))?`", argument, text)


def require(name: str, purpose: str) -> Any:
    """Imports a package that is not always needed."""
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        if error.name is not None and error.name.split(".")[0] != name.split(".")[0]:
            raise
        package = name.split(".")[0]
        raise MissingPackageError(
            f"{purpose} needs the package `{package}`", help=f"pip install {package}"
        ) from None
