"""Checks the arguments of public functions by their annotations, before anything is done: what is wrong is named, with what is expected."""

from __future__ import annotations

import difflib
import functools
import inspect
import numbers
import os
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, ParamSpec, TypeVar

from ._errors import ArgumentError

_P = ParamSpec("_P")
_R = TypeVar("_R")

#: Names that other tools, the command or the other functions have for the arguments here.
_OTHER_NAMES = {
    "opset": "opset_version",
    "opset_version": "opset",
    "target_opset": "opset_version",
    "output": "f",
    "output_path": "f",
    "path": "f",
    "inputs": "args",
    "example_inputs": "args",
    "sample_inputs": "args",
    "ir": "ir_version",
    "dims": "dynamic_shapes",
    "opt_level": "optimize",
    "tolerance": "atol",
}


def branch_inputs(given: Mapping[str, object] | None, branches: str) -> Mapping[str, object]:
    """The inputs for branches.

    Raises:
        ArgumentError: A key is not the line of a branch, or branches do not have both sides.
    """
    for name in given or {}:
        if not re.fullmatch(r".+:[1-9][0-9]*", name):
            raise ArgumentError(f"branch_inputs: found {name!r}", help='pass the file and line of a branch: `{"model.py:12": (x,)}`')
    if given and branches != "both":
        raise ArgumentError(f"branch_inputs cannot be used with branches={branches!r}, which keeps one side", help="leave one of them out")
    return given or {}


def description(
    metadata: Mapping[str, str] | None,
    doc_string: str | None,
    value_docs: Mapping[str, str] | None,
    producer_name: str | None,
    producer_version: str | None,
) -> dict[str, object]:
    """What a model says of itself, as the options have it."""
    return {
        "metadata": list((metadata or {}).items()),
        "doc_string": doc_string,
        "value_docs": list((value_docs or {}).items()),
        "producer_name": producer_name,
        "producer_version": producer_version,
    }


def precision(precision: str | None, io: str | None, keep_float32: Sequence[str]) -> dict[str, object]:
    """The precision that a model computes in, as the options have it."""
    return {"precision": precision, "io": io, "keep_float32": list(keep_float32)}


def quantize(weights: str | None, kind: str | None, block_size: int | str | None, scales: str | None, skip: Sequence[str]) -> dict[str, object]:
    """What weights are quantized to, as the options have it."""
    size = None if block_size is None else str(block_size)
    return {"quantize_weights": weights, "quantize": kind, "block_size": size, "scales": scales, "skip": list(skip)}


def roll(turns: int | None, branches: str) -> int | None:
    """From how many turns on a loop becomes a Loop.

    Raises:
        ArgumentError: There are fewer than two, or loops stay as the example has them.
    """
    if turns is None:
        return None
    if turns < 2:
        raise ArgumentError(f"roll: found {turns}", help="pass a number of turns that is at least 2")
    if branches != "both":
        raise ArgumentError(f"roll cannot be used with branches={branches!r}, which makes no Loop", help="leave one of them out")
    return turns


def checked(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Makes a function raise `ArgumentError` for arguments that it does not have, and for those that its annotations do not allow."""

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        check_call(function, args, kwargs)
        return function(*args, **kwargs)

    return call


def check_call(function: Callable[..., Any], args: Sequence[object], kwargs: Mapping[str, object]) -> None:
    """Checks a call of a function."""
    signature, hints = _described(function)
    check_names(function.__name__, signature, kwargs)
    try:
        bound = signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        raise ArgumentError(f"{function.__name__}(): {error}", help=f"its arguments are {_listed(_names(signature))}") from None
    for name, value in bound.items():
        kind = signature.parameters[name].kind
        if kind not in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL) and name in hints:
            check_value(name, value, hints[name])


def check_names(function: str, signature: inspect.Signature, kwargs: Mapping[str, object]) -> None:
    """Raises an error for a keyword that a function lacks, with the nearest one."""
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in signature.parameters.values()):
        return
    known = _names(signature)
    for name in kwargs:
        if name not in known:
            raise unknown(function, name, known)


def unknown(function: str, name: str, known: Sequence[str]) -> ArgumentError:
    """The error for a keyword that a function lacks."""
    close = difflib.get_close_matches(name, known, 1)
    other = _OTHER_NAMES.get(name)
    nearest = other if other in known else close[0] if close else None
    return ArgumentError(
        f"{function}() got an unexpected keyword argument '{name}'",
        help=f"write `{nearest}=`" if nearest else f"its arguments are {_listed(known)}",
    )


def check_value(name: str, value: object, wanted: Any) -> None:
    """Raises an error for a value that is not of a type."""
    if not _fits(value, wanted):
        raise ArgumentError(f"{name}: expected {described(wanted)}, found {_shown(value)}")


def opset(version: int | None, name: str = "opset_version") -> int | None:
    """An opset, which may be too old or too new, but is none of the numbers that cannot be one."""
    if version is not None and not 0 <= version < 2**32:
        raise ArgumentError(f"{name}: {version} is no opset")
    return version


def arguments(name: str, args: object) -> tuple[object, ...]:
    """The positional arguments of a call of a model: a tuple, or the only tensor."""
    if args is None:
        return ()
    if hasattr(args, "dtype") and hasattr(args, "shape"):
        return (args,)
    if isinstance(args, (list, tuple)):
        return tuple(args)
    help = "pass arguments by name as `kwargs`" if isinstance(args, Mapping) else "pass one argument as `(argument,)`"
    raise ArgumentError(f"{name}: expected a tuple of the arguments of the model, found {_shown(args)}", help=help)


def shapes(found: object) -> None:
    """Checks the form of `dynamic_shapes`; what is in it is compared with the arguments of the model later."""
    from ._calls import is_auto

    if found is None or is_auto(found) or isinstance(found, (Mapping, list, tuple)) or hasattr(found, "dynamic_shapes"):
        return
    raise ArgumentError(
        f"dynamic_shapes: {_shown(found)} is neither a dictionary nor a sequence",
        help='write the dynamic dimensions of each argument: `{"x": {0: "batch"}}`',
    )


@functools.cache
def _described(function: Callable[..., Any]) -> tuple[inspect.Signature, dict[str, Any]]:
    return inspect.signature(function), typing.get_type_hints(function)


def _names(signature: inspect.Signature) -> list[str]:
    return [name for name in signature.parameters if name != "self"]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _shown(value: object) -> str:
    """A value in a message: short ones as they are, others by their class."""
    if value is None or isinstance(value, (bool, int, float, str, bytes, list, tuple, dict)):
        text = repr(value)
        if len(text) <= 60:
            return text
    return f"an object of the class `{type(value).__name__}`"


def _fits(value: object, wanted: Any) -> bool:
    """Whether a value is of a type."""
    if wanted is object or wanted is Any:
        return True
    if wanted is None or wanted is type(None):
        return value is None
    origin, parts = typing.get_origin(wanted), typing.get_args(wanted)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is Literal:
        return any(type(value) is type(part) and value == part for part in parts)
    if wanted is bool:
        return isinstance(value, bool) or type(value).__name__ == "bool_" or (isinstance(value, int) and value in (0, 1))
    if wanted is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if wanted is float:
        return isinstance(value, numbers.Real) and not isinstance(value, bool)
    return _fits_class(value, wanted if origin is None else origin, parts)


def _fits_class(value: object, wanted: Any, parts: tuple[Any, ...]) -> bool:
    """Whether a value is an instance of a class, and what it holds of the types that the class has as parameters."""
    if wanted in (Sequence, list):
        # Views of a dictionary are in order, too.
        ordered = isinstance(value, (Sequence, type({}.keys()), type({}.values()))) and not isinstance(value, (str, bytes, bytearray))
        return ordered and all(_fits(part, parts[0]) for part in typing.cast("Sequence[object]", value) if parts)
    if wanted is Mapping:
        pairs = value.items() if isinstance(value, Mapping) else ()
        return isinstance(value, Mapping) and all(_fits(key, parts[0]) and _fits(item, parts[1]) for key, item in pairs if parts)
    return isinstance(value, wanted)


def described(wanted: Any) -> str:
    """A type in words."""
    origin, parts = typing.get_origin(wanted), typing.get_args(wanted)
    if origin in (typing.Union, types.UnionType):
        texts: list[str] = []
        for part in sorted(parts, key=lambda part: part is type(None)):
            text = described(part)
            if text not in texts and not (text == "a path" and "a str" in texts):
                texts.append(text)
        return " or ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else texts[0]
    if origin is Literal:
        return ", ".join(map(repr, parts[:-1])) + f" or {parts[-1]!r}" if len(parts) > 1 else repr(parts[0])
    if origin is Mapping:
        return "a dictionary" + (f" from {described(parts[0])} to {described(parts[1])}" if parts and object not in parts else "")
    if origin in (Sequence, list):
        return "a list" + (f" of {described(parts[0])}" if parts and parts[0] is not object else "")
    if wanted is type(None) or wanted is None:
        return "None"
    if origin is os.PathLike:
        return "a path"
    name = getattr(wanted, "__name__", str(wanted))
    return {"Writable": "an object with `write`", "int": "an int"}.get(name, f"a {name}")
