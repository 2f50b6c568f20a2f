"""Takes the objects that models take and give apart into named tensors: caches, model outputs, dataclasses, lists, dictionaries.

torch.export only knows tensors and the containers of Python. What is no tensor (`None`, numbers, window sizes) stays a constant.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

Tensors = Mapping[str, Any]
#: Makes an object again, around other tensors with the same names.
Builder = Callable[[Tensors], Any]


def take_apart(value: Any, name: str, found: dict[str, Any], past: str = "past") -> Builder:
    """Adds the tensors of an object to `found` by name, and returns what puts the object together again.

    `past` is how the names of cached tensors start: "past" for inputs, "present" for outputs.
    """
    import torch

    from . import _caches

    if isinstance(value, torch.Tensor):
        return _tensor(value, name, found)
    if _caches.is_cache(value):
        if past == "past":
            _caches.check(value)
        return _caches.take_apart(value, _caches.names(name, past), found)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _fields(value, name, found, past)
    if isinstance(value, Mapping):
        parts = {key: take_apart(part, joined(name, key), found, past) for key, part in value.items()}
        return lambda tensors: _mapping(value, {key: build(tensors) for key, build in parts.items()})
    if isinstance(value, (list, tuple)):
        items = [take_apart(part, joined(name, index), found, past) for index, part in enumerate(value)]
        return lambda tensors: _sequence(value, [build(tensors) for build in items])
    if _is_state(value):
        return attributes(value, name, found, past)
    if past == "present" and is_number(value):
        found[name] = value  # the file may compute it
    return lambda tensors: value


def is_number(value: Any) -> bool:
    """Whether it is a number of Python's, or one that a tracer follows."""
    import torch

    return isinstance(value, (int, float, torch.SymInt, torch.SymFloat, torch.SymBool))


def joined(name: str, part: Any) -> str:
    """The name of a part of an object."""
    if name == "encoder_outputs" and part in ("last_hidden_state", 0):
        return "encoder_hidden_states"  # what every runtime calls it
    return f"{name}.{part}" if name else str(part)


def attributes(value: Any, name: str, found: dict[str, Any], past: str) -> Builder:
    """Takes an object of an unknown class apart by its attributes."""
    parts = {key: take_apart(part, joined(name, key), found, past) for key, part in vars(value).items() if not is_number(part)}

    def build(tensors: Tensors) -> Any:
        made = copy.copy(value)
        for key, part in parts.items():
            made.__dict__[key] = part(tensors)
        return made

    return build


def is_structured(value: Any) -> bool:
    """Whether torch.export does not know an object, or makes inputs of constants in it."""
    from . import _caches

    if _caches.is_cache(value) or (dataclasses.is_dataclass(value) and not isinstance(value, type)):
        return True
    if isinstance(value, Mapping):
        return any(map(is_structured, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(is_structured, value))
    return _is_state(value)


def _tensor(value: Any, name: str, found: dict[str, Any]) -> Builder:
    unique, count = name, 1
    while unique in found:
        unique, count = f"{name}_{count}", count + 1
    found[unique] = value
    return lambda tensors: tensors[unique]


def _fields(value: Any, name: str, found: dict[str, Any], past: str) -> Builder:
    # A ModelOutput is a dataclass and a dictionary: only `__init__` keeps both equal.
    names = [field.name for field in dataclasses.fields(value) if field.init]
    parts = {key: take_apart(getattr(value, key), joined(name, key), found, past) for key in names}
    return lambda tensors: type(value)(**{key: build(tensors) for key, build in parts.items()})


def _mapping(value: Any, parts: dict[Any, Any]) -> Any:
    if type(value) is dict:
        return parts
    made = copy.copy(value)
    for key, part in parts.items():
        made[key] = part
    return made


def _sequence(value: Any, parts: list[Any]) -> Any:
    if hasattr(value, "_fields"):  # a named tuple
        return type(value)(*parts)
    return type(value)(parts)


def _is_state(value: Any) -> bool:
    """Whether an object of an unknown class carries tensors, such as a cache that one model defines."""
    import torch

    if isinstance(value, (torch.nn.Module, torch.Tensor, type)) or callable(value) or not hasattr(value, "__dict__"):
        return False
    return any(_has_tensors(part) for part in vars(value).values())


def _has_tensors(value: Any) -> bool:
    import torch

    if isinstance(value, Mapping):
        return any(map(_has_tensors, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(_has_tensors, value))
    return isinstance(value, torch.Tensor)
