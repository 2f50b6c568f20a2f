"""A write to a place of a list or dictionary that a number or text of the file chooses: `counts[k] += 1`, `buckets[k].append(x)`. Each place is written to on a side of a branch."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from .containers import DICTIONARIES
from .modes import Mode
from .numbers import number_of, plain
from .places import line_of_model
from .turns import NoBothSides

#: What `+=` and its kin do, by the name of the operation in Python's syntax.
IN_PLACE: dict[str, Any] = {
    **{"Add": operator.iadd, "Sub": operator.isub, "Mult": operator.imul, "Div": operator.itruediv, "FloorDiv": operator.ifloordiv, "Mod": operator.imod, "Pow": operator.ipow},
    **{"MatMult": operator.imatmul, "BitAnd": operator.iand, "BitOr": operator.ior, "BitXor": operator.ixor, "LShift": operator.ilshift, "RShift": operator.irshift},
}
#: Of more places than this none is chosen.
_MOST = 64


def set_at(structure: Any, container: Any, index: Any, value: Any) -> None:
    """`container[index] = value` in lowered code."""
    if type(container) is not list and type(container) not in DICTIONARIES:
        container[index] = value
        return
    if isinstance(index, torch.Tensor) and index.numel() == 1 and not structure.recorder.is_fixed(index):
        index = index.item()
    if structure.dry or not _is_open(structure, index):
        container[index.now if isinstance(index, Mode) else index] = value
        return
    if len(container) > _MOST:
        raise NoBothSides(f"a number or text chooses among more than {_MOST} places that are written to", line_of_model(), "write to a tensor: `counts[k] += 1`")
    structure.keys.need(container, index)
    for key in _present_keys(container, index, "list assignment index out of range", "0"):
        test = _test(structure, container, index, key)
        container[key] = structure.chosen(test, lambda: value, partial(container.__getitem__, key))


#: Methods that change a list, and whose result is often dropped.
CHANGES = ("append", "extend", "insert", "clear", "pop", "reverse")


def changed_at(structure: Any, container: Any, index: Any, otherwise: Callable[[], Any] | None, method: str, args: tuple[Any, ...]) -> None:
    """`container[index].append(x)` in lowered code: each list is changed on a side of a branch. `otherwise` makes one that is not there yet."""
    if isinstance(index, torch.Tensor) and index.numel() == 1 and not structure.recorder.is_fixed(index):
        index = index.item()
    is_known = type(container) is list or type(container) in DICTIONARIES
    if not is_known or not _is_open(structure, index) or len(container) > _MOST:
        found = structure.item(container, index) if otherwise is None else container.setdefault(index, otherwise())
        getattr(found, method)(*args)
        return
    if structure.dry:
        now = _now(index)
        found = container[now] if otherwise is None else container.setdefault(now, otherwise())
        getattr(found, method)(*args)
        return
    structure.keys.need(container, index, otherwise, method == "append")
    for key in _present_keys(container, index, "list index out of range", "[]"):
        test = _test(structure, container, index, key)
        get, set_ = partial(_value_at, container, key), partial(_set_value_at, container, key)
        structure.branch(test, lambda: getattr(container[key], method)(*args), lambda: None, get, set_)


def _now(index: Any) -> Any:
    """What an index is in the run that is made."""
    return index.now if isinstance(index, Mode) else plain(index)


def _present_keys(container: Any, index: Any, beyond: str, value: str) -> Any:
    """The places that an index may mean, among which that of this run is. `value` stands for one of them in the help."""
    keys, now = _keys(container, index), _now(index)
    if now in keys or (type(container) is list and now + len(container) in keys):
        return keys
    if type(container) is list:
        raise IndexError(beyond)
    help = f"write all keys before, as in `{{{now!r}: {value}}}`, or use a tensor"
    raise NoBothSides(f"a key that a number or text chooses is new in a dictionary ({now!r})", line_of_model(), help)


def _value_at(container: Any, key: Any) -> dict[str, Any]:
    return {"value": container[key]}


def _set_value_at(container: Any, key: Any, given: dict[str, Any]) -> None:
    if "value" in given:
        container[key] = given["value"]


def _is_open(structure: Any, index: Any) -> bool:
    """Whether an index may be another one at other inputs."""
    number = number_of(index)
    return isinstance(index, Mode) or (number is not None and number.is_int() and not structure.turns._is_static(number))


def _keys(container: Any, index: Any) -> list[Any]:
    """The places that an index may be."""
    if type(container) is list:
        return list(range(len(container)))
    kind = str if isinstance(index, Mode) else int
    return [key for key in container if type(key) is kind]


def _test(structure: Any, container: Any, index: Any, key: Any) -> Any:
    """Whether an index is that of a place."""
    if type(container) is not list:
        return index == key
    return structure.some(lambda: index == key, lambda: index == key - len(container))


__all__ = ["CHANGES", "IN_PLACE", "changed_at", "set_at"]
