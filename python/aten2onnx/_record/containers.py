"""What holds values while a loop or branch is run: lists, tuples, dictionaries, named tuples, lists in tensors, and objects of the model's classes."""

from __future__ import annotations

import dataclasses
import enum
import sys
from collections import Counter, OrderedDict, defaultdict
from functools import lru_cache
from types import ModuleType, SimpleNamespace
from typing import Any

import torch

from .arrays import Array
from .deques import Deque
from .long import Compound

#: Dictionaries whose values may change.
DICTIONARIES = (dict, OrderedDict, defaultdict, Counter)
#: Objects with more attributes are taken as they are.
_MOST = 64
_OTHERS = (type, ModuleType, enum.Enum, BaseException, torch.Tensor, torch.nn.Module, list, tuple, dict, set, str)
#: Packages whose objects hold no state of a model.
_FOREIGN = frozenset("torch numpy aten2onnx onnx onnxruntime sympy logging".split())


@lru_cache(maxsize=4096)
def _holds_state(kind: type) -> bool:
    """Whether objects of a class are what their attributes are."""
    if kind in (SimpleNamespace, Deque, Array):
        return True
    if issubclass(kind, _OTHERS) or any("__slots__" in vars(base) or "__call__" in vars(base) for base in kind.__mro__[:-1]):
        return False
    if kind.__setattr__ is not object.__setattr__ and not dataclasses.is_dataclass(kind):
        return False
    top = kind.__module__.partition(".")[0]
    return kind.__getattribute__ is object.__getattribute__ and top not in _FOREIGN and (top == "__main__" or top not in sys.stdlib_module_names)


def is_object(value: Any) -> bool:
    kind: Any = type(value)
    return _holds_state(kind) and hasattr(value, "__dict__") and len(vars(value)) <= _MOST


def is_tuple(value: Any) -> bool:
    """Whether it is a tuple, or a named one."""
    return type(value) is tuple or (isinstance(value, tuple) and hasattr(type(value), "_fields") and hasattr(type(value), "_make"))


def remade(value: Any, items: list[Any]) -> Any:
    """A tuple of the same class with other items."""
    return tuple(items) if type(value) is tuple else type(value)._make(items)


def is_kept(value: Any) -> bool:
    """Whether it is a list, dictionary, or list of several tensors, whose parts may change."""
    return type(value) is list or type(value) in DICTIONARIES or isinstance(value, Compound)


def item_at(container: Any, key: Any) -> Any:
    if isinstance(container, Compound):
        return container.parts[key]
    return vars(container)[key] if is_object(container) else container[key]


def set_item(container: Any, key: Any, item: Any) -> None:
    if isinstance(container, Compound):
        container.parts[key] = item
    elif is_object(container):
        vars(container)[key] = item
    else:
        container[key] = item


def items_of(container: Any) -> list[tuple[Any, Any]]:
    if isinstance(container, Compound):
        return list(container.parts.items())
    if is_object(container):
        return list(vars(container).items())
    return list(container.items()) if type(container) in DICTIONARIES else list(enumerate(container))


def makes_lists(value: Any) -> bool:
    """Whether it is a `defaultdict(list)`."""
    return type(value) is defaultdict and value.default_factory is list


def copy_of(value: Any) -> Any:
    """A list or dictionary of its own, or an object with attributes of its own."""
    if isinstance(value, Compound):
        return value.like(dict(value.parts))
    if not is_object(value):
        return value.copy()
    made = SimpleNamespace() if type(value) is SimpleNamespace else object.__new__(type(value))
    vars(made).update(vars(value))
    return made


__all__ = ["DICTIONARIES", "copy_of", "is_kept", "is_object", "is_tuple", "item_at", "items_of", "makes_lists", "remade", "set_item"]
