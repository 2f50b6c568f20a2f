"""Numbers as keys of dictionaries and elements of sets.

Python looks for their hash first, and asks whether two are equal only where it finds one. A key that the example does not find is asked for here, so that it is
a branch like any other. A size that is put into a dictionary becomes a plain number: nothing tells which keys are looked for later.
"""

from __future__ import annotations

import ast
import dis
import sys
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

import torch

from .numbers import Number, is_from_data, number_of, plain
from .places import kind_of_frame, line_of_model, nodes_of
from .recorder import Unrecorded
from .turns import key_of

#: A number is compared with so many keys at most.
_MOST = 32
#: What puts a number into a set or dictionary that nothing else knows yet.
_SETS = frozenset("BUILD_SET SET_ADD SET_UPDATE".split())
_DICTIONARIES = frozenset("BUILD_MAP BUILD_CONST_KEY_MAP MAP_ADD DICT_UPDATE DICT_MERGE".split())
_LOOKS = frozenset("CONTAINS_OP BINARY_SUBSCR STORE_SUBSCR DELETE_SUBSCR BINARY_OP STORE_SLICE".split())
#: Methods that look for a key, and put none in its place.
_LOOK_UPS = frozenset("get pop count index __contains__ __getitem__".split())
#: Functions that make a set or dictionary of what they are given.
_MAKERS = (set, frozenset, dict)
_SIMPLE = (ast.Name, ast.Attribute, ast.Constant, ast.Set, ast.Dict, ast.Tuple, ast.List, ast.UnaryOp, ast.USub, ast.Load, ast.Store, ast.Del)


def hash_of(value: Any) -> int:
    """The hash of a whole number that remembers: that of the key it is equal to, if there is one. Whether there is, is a branch of the line that asks.

    Raises:
        Unrecorded: Other keys that it may be equal to are not known.
    """
    number = number_of(value)
    if number is None:
        return int(_HASH(value))
    frame = _frame()
    for key in () if frame is None else _keys(frame, number):
        if bool(value == key):
            return hash(plain(key))
    if frame is not None and _is_put(frame):
        if is_from_data(number):
            raise _unknown(number)
        return hash(int(value))
    return hash(number.value)


_HASH = torch.SymInt.__hash__


def hash_of_bool(value: Any) -> int:
    return hash(bool(value))


def _frame() -> FrameType | None:
    """The frame whose code looks for a number."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and kind_of_frame(frame) == "own":
        frame = frame.f_back
    return frame


def _is_put(frame: FrameType) -> bool:
    """Whether code of the model puts a number into a dictionary, or gives it to a function of Python that may do so."""
    kind, operation = kind_of_frame(frame), _operation(frame)
    if kind != "model":
        return kind == "python" and _is_called_by_model(frame)
    if operation.startswith(("CALL", "PRECALL")):
        calls = _nodes(frame.f_code, frame.f_lasti, frame.f_lineno, True)
        return not all(isinstance(call.func, ast.Attribute) and call.func.attr in _LOOK_UPS for call in calls)
    return operation in _DICTIONARIES or operation == "STORE_SUBSCR"


def _is_called_by_model(frame: FrameType | None) -> bool:
    """Whether a function of Python works for the model, and not for PyTorch."""
    while frame is not None and kind_of_frame(frame) in ("python", "own"):
        frame = frame.f_back
    return frame is not None and kind_of_frame(frame) == "model"


def _operation(frame: FrameType) -> str:
    return dis.opname[frame.f_code.co_code[frame.f_lasti]]


def _keys(frame: FrameType, number: Number) -> list[Any]:
    """The keys that a number may be equal to at other inputs."""
    kind, operation = kind_of_frame(frame), _operation(frame)
    if kind == "python" and is_from_data(number):
        raise _unknown(number)
    if kind != "model":
        return []
    if operation in _SETS or (operation in _DICTIONARIES and is_from_data(number)):
        raise _unknown(number)
    is_call = operation.startswith(("CALL", "PRECALL"))
    if operation not in _LOOKS and not is_call:
        return []
    found: dict[Any, Any] = {}
    for node in _nodes(frame.f_code, frame.f_lasti, frame.f_lineno, is_call):
        for container in _containers(node, frame):
            if container is None:
                raise _unknown(number)
            for key in _numbers(container):
                other = number_of(key)
                if other is None or key_of(other) != key_of(number):
                    found.setdefault(key_of(key if other is None else other), key)
    if len(found) > _MOST:
        raise _unknown(number)
    return list(found.values())


def _unknown(number: Number) -> Unrecorded:
    what = "an element of a tensor" if is_from_data(number) else "a size"
    return Unrecorded(f"{what} is an element of a set or a key of a dictionary, and whether others are equal to it is not recorded", line_of_model())


@lru_cache(maxsize=4096)
def _nodes(code: CodeType, place: int, number: int, is_call: bool) -> tuple[Any, ...]:
    """The expressions whose value an instruction computes: all of its kind on the line, if Python does not know more."""
    kinds: Any = (ast.Call,) if is_call else (ast.Compare, ast.Subscript)
    on_line = [node for node in nodes_of(code.co_filename, *kinds) if node.lineno <= number <= (node.end_lineno or number)]
    if not hasattr(code, "co_positions"):
        return tuple(on_line)
    first, last, begin, end = list(code.co_positions())[place // 2]
    exact = [node for node in on_line if (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset) == (first, last, begin, end)]
    return tuple(exact or on_line)


def _containers(node: ast.AST, frame: FrameType) -> Iterator[Any]:
    """The sets and dictionaries that an expression looks into; None for one that is not known."""
    if isinstance(node, ast.Compare):
        looked = [other for sign, other in zip(node.ops, node.comparators) if isinstance(sign, (ast.In, ast.NotIn))]
    elif isinstance(node, ast.Subscript):
        looked = [node.value]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        looked = [node.func.value]
    elif isinstance(node, ast.Call):
        if _value(node.func, frame) in _MAKERS:
            yield None
        return
    else:
        return
    for one in looked:
        value = _value(one, frame)
        if value is None or isinstance(value, (dict, set, frozenset)):
            yield value


def _value(node: ast.expr, frame: FrameType) -> Any:
    """The value of names, attributes and displays; None of what may do more."""
    if not all(isinstance(inner, _SIMPLE) for inner in ast.walk(node)):
        return None
    try:
        return eval(compile(ast.Expression(node), "<key>", "eval"), frame.f_globals, frame.f_locals)  # noqa: S307
    except (NameError, AttributeError, TypeError, SyntaxError, ValueError):
        return None


def _numbers(keys: Any) -> Iterator[Any]:
    """The whole numbers among keys, and in keys that are tuples."""
    for key in keys:
        if isinstance(key, tuple):
            yield from _numbers(key)
        elif isinstance(key, (int, torch.SymInt)) or (isinstance(key, float) and key.is_integer()):
            yield key


__all__ = ["hash_of", "hash_of_bool"]
