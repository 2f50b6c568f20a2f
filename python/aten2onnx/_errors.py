"""The exceptions: one class for each kind of error that callers may handle differently."""

from __future__ import annotations

import re
from typing import Any


class Error(Exception):
    """The base class of all errors of aten2onnx.

    Attributes:
        message: What happened.
        place: Where it happened, from the outside in: file, node, argument.
        help: How to fix it.
        operator: The PyTorch operator that caused it, such as `aten::add.Tensor`, if any.
        node: The node of the PyTorch graph, if any.
        source_line: The line of the model's source, `File "net.py", line 3, in forward`, if known.
        needs_opset: The lowest opset that works, if there is one.
        report: The report (`aten2onnx.Report`) of the export that failed, if it was an export.
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
            advice = f"use `opset_version={self.needs_opset}`"
        if advice:
            lines.append(f"help: {advice}")
        return "\n".join(self._more(lines))

    def _more(self, lines: list[str]) -> list[str]:
        """The lines of the message, for classes that have more to say."""
        return lines


class UnsupportedError(Error):
    """The target opset, or aten2onnx, does not support something in the model.

    Attributes:
        operators: All unsupported operators, as dictionaries with the keys operator, reason, node, source_line, count and needs_opset.
    """

    operators: list[dict[str, Any]]

    def __init__(
        self,
        message: str,
        *,
        operators: list[dict[str, Any]] | None = None,
        place: list[str] | tuple[str, ...] = (),
        help: str | None = None,
        operator: str | None = None,
        node: str | None = None,
        source_line: str | None = None,
        needs_opset: int | None = None,
    ) -> None:
        super().__init__(message, place=place, help=help, operator=operator, node=node, source_line=source_line, needs_opset=needs_opset)
        self.operators = operators or []


class CaptureError(Error):
    """The model cannot be captured.

    Attributes:
        cause: The error of PyTorch or of the model, if there is one. It may have thousands of lines, and a traceback does not show it.
        ways: The ways that were tried, each with why it failed, in one line.
    """

    #: More lines than this help nobody.
    LINES = 20
    #: The longest line about a way.
    WIDTH = 300

    def __init__(self, message: str, *, cause: BaseException | None = None, ways: list[tuple[str, str]] | None = None, **facts: Any) -> None:
        super().__init__(message, **facts)
        self.cause = cause
        self.ways = list(ways or ())

    def _more(self, lines: list[str]) -> list[str]:
        # The message is about one of the ways. If there was only this one, nothing is left to say.
        told = {why for _, why in self.ways if self.source_line is not None and why == f"{self.message.partition(': ')[2]} ({self.source_line})"}
        ways = [f"{name}: {_shortened(why, self.WIDTH)}" for name, why in self.ways if why not in told] if len(self.ways) > 1 else []
        whole = [line for text in lines for line in text.splitlines()]
        kept = self.LINES - len(ways)
        if len(whole) > kept:
            place = whole[len(self.message.splitlines()) :]
            whole = whole[: max(1, kept - len(place) - 1)] + ["  .."] + place[: kept - 2]
        return [_shortened(line, 2 * self.WIDTH) for line in whole] + ways


def _shortened(text: str, width: int) -> str:
    text = " ".join(text.splitlines()) if "\n" in text else text
    return text if len(text) <= width else text[: width - 3] + "..."


class VerificationError(Error):
    """The results of the exported model differ from PyTorch's.

    Attributes:
        program: The exported model (`aten2onnx.ONNXProgram`).
    """

    program: Any = None


class InputError(Error):
    """The input is damaged or has an unknown format."""


class ArgumentError(InputError, TypeError, ValueError):
    """An argument of a call is of the wrong kind, has no such value, or does not exist."""

    def __str__(self) -> str:
        return Error.__str__(self)


class FileError(Error, OSError):
    """A file cannot be read or written."""

    def __str__(self) -> str:
        return Error.__str__(self)


class MissingPackageError(Error, ImportError):
    """A required Python package is not installed."""

    def __str__(self) -> str:
        return Error.__str__(self)


class InternalError(Error):
    """A bug in aten2onnx. Please report it together with the model's graph."""


#: The exit codes of the command `aten2onnx`; README.md lists them.
_EXIT_CODES: tuple[tuple[type[BaseException], int], ...] = (
    (OSError, 3),
    (InputError, 4),
    (CaptureError, 5),
    (UnsupportedError, 5),
    (InternalError, 70),
    (VerificationError, 1),
)


def exit_code_of(error: BaseException) -> int:
    """The exit code of a command that ends with this error: 2, wrong usage, also for a package that is missing."""
    return next((code for kind, code in _EXIT_CODES if isinstance(error, kind)), 2)


_KINDS: dict[str, type[Error]] = {
    "file": FileError,
    "input": InputError,
    "unsupported": UnsupportedError,
    "internal": InternalError,
    "stopped": Error,
}

# Messages of the library name options of the command. These are the arguments with another name.
_OPTIONS = {
    "-o": "f",
    "--opset": "opset_version",
    "--output": "f",
    "--input-name": "input_names",
    "--output-name": "output_names",
    "--from": "from_",
    "--type": "types",
    "--input-type": "input_types",
    "--output-type": "output_types",
    "--to-weight": "to_weights",
    "--to-input": "to_inputs",
    "--drop-output": "drop_outputs",
    "--wire": "wires",
    "--random": "seed",
    "--ranges": "calibrate",
    "--weight-name": "weight_names",
}
# Those whose value is a dictionary in Python, and what is between a key and its value.
_DICTIONARIES = {"--weight-name": "=", "--input-type": "=", "--output-type": "=", "--to-weight": "=", "--wire": "=", "--type": ":"}


def from_native(kind: str, message: str, **facts: Any) -> Error:
    """Creates the exception for an error of the native library."""
    advice = facts.pop("help", None)
    # Error numbers of the system do not help users.
    message = message.split(" (os error")[0]
    return _KINDS[kind](message, help=advice and in_python(advice), **facts)


def in_python(text: str) -> str:
    """Replaces options of the command in a message by arguments of the Python functions."""

    def argument(match: re.Match[str]) -> str:
        option, value = match["option"], match["value"]
        name = _OPTIONS.get(option, option.lstrip("-").replace("-", "_"))
        if value is None:
            return f"`{name}`"
        if option in _DICTIONARIES:
            key, _, item = value.partition(_DICTIONARIES[option])
            return f'`{name}={{"{key}": {_item(item)}}}`'
        return f"`{name}={value}`" if value.isdigit() else f'`{name}="{value}"`'

    return re.sub(r"`(?P<option>--[a-z][a-z-]*|-o)(?:[ =](?P<value>[^`\s]+))?`", argument, text)


def _item(text: str) -> str:
    """A value of a dictionary: a number, a list of numbers, or a text."""
    numbers = text.split(",")
    if all(number.isdigit() for number in numbers):
        return text if len(numbers) == 1 else f"[{', '.join(numbers)}]"
    return f'"{text}"'


def require(name: str, purpose: str) -> Any:
    """Imports an optional package."""
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        if error.name is not None and error.name.split(".")[0] != name.split(".")[0]:
            raise
        package = name.split(".")[0]
        raise MissingPackageError(
            f"{purpose} requires the package `{package}`", help=f"pip install {package}"
        ) from None
