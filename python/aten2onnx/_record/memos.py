"""What a model remembers of earlier calls: results of functions with `functools.lru_cache`, and attributes that it makes anew where a size is another one than in the last call,
as `if self.grid.shape != x.shape: self.grid = ..` does. A model that cannot be recorded with them is recorded without: then each run makes them anew."""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import torch

from .containers import DICTIONARIES
from .places import is_installed, kind_of_file, nodes_of

_Cached = type(lru_cache(lambda: None))
#: An attribute that is no memo in a run: nothing is there.
_NOTHING = object()


class Memo(NamedTuple):
    """An attribute of a module, and what it is for a model that remembers nothing."""

    module: torch.nn.Module
    name: str
    empty: Any


def caches_of(model: torch.nn.Module, namespaces: Iterable[dict[str, Any]]) -> list[Any]:
    """The functions with a cache among the names that the model's own code has, and the methods of its modules."""
    own = [names for names in namespaces if not is_installed(str(names.get("__file__")))]
    classes = [vars(base) for kind in {type(module) for module in model.modules()} for base in kind.__mro__ if not base.__module__.startswith("torch.")]
    found = {id(value): value for names in (*own, *classes) for value in list(names.values()) if isinstance(value, _Cached)}
    return list(found.values())


@contextmanager
def forgotten(caches: list[Any], memos: list[Memo]) -> Iterator[None]:
    """While the block runs, memos hold nothing; others put them back. Functions remember nothing of the block afterwards: their results are values of a run."""
    for module, name, empty in memos:
        (module._buffers if name in module._buffers else vars(module))[name] = copy.copy(empty)  # the model may put something into it
    before = [cache.cache_info().misses for cache in caches]
    try:
        yield
    finally:
        for cache, misses in zip(caches, before):
            if cache.cache_info().misses != misses:
                cache.cache_clear()


def clear(caches: list[Any]) -> None:
    for cache in caches:
        cache.cache_clear()


def memos_of(model: torch.nn.Module) -> list[Memo]:
    """The attributes that a branch on themselves makes anew, and dictionaries that a branch adds to, if something is there."""
    found = []
    for module in model.modules():
        kind: Any = type(module)
        for name in _names_of(kind):
            value = module._buffers[name] if name in module._buffers else vars(module).get(name, _NOTHING)
            empty = _empty(value)
            if empty is not _NOTHING:
                found.append(Memo(module, name, empty))
    return found


def _empty(value: Any) -> Any:
    """What an attribute is before anything is put there; `_NOTHING` if that is unknown, or nothing is there."""
    if isinstance(value, torch.Tensor) and not isinstance(value, torch.nn.Parameter) and value.numel() > 0:
        return torch.empty(0, dtype=value.dtype, device=value.device)
    if type(value) is list and value and all(isinstance(item, torch.Tensor) for item in value):
        made = [_empty(item) for item in value]
        return _NOTHING if any(item is _NOTHING for item in made) else made
    if type(value) in (tuple, torch.Size) and value and all(type(item) is int for item in value):
        return None
    if type(value) in DICTIONARIES and value and not any(isinstance(item, torch.nn.Module) for item in value.values()):
        made = value.copy()
        made.clear()
        return made
    return _NOTHING


@lru_cache(maxsize=1024)
def _names_of(kind: type) -> frozenset[str]:
    """The attributes that the methods of a class make anew in a branch that asks for them."""
    functions = [inspect.unwrap(value) for base in kind.__mro__ for value in vars(base).values() if callable(value)]
    codes = [function.__code__ for function in functions if isinstance(function, FunctionType)]
    return frozenset(name for code in codes if kind_of_file(code.co_filename) == "model" and code.co_argcount for name in _names_in(code))


def _names_in(code: CodeType) -> Iterator[str]:
    owner = code.co_varnames[0]
    lines = [line for _, _, line in code.co_lines() if line is not None]
    inside = [node for node in nodes_of(code.co_filename, ast.If, ast.Try, ast.Call, ast.Assign) if lines and min(lines) <= node.lineno <= max(lines)]
    for node in inside:
        if isinstance(node, ast.If):
            yield from _read([node.test], owner) & _assigned(node.body, owner)
        elif isinstance(node, ast.Try):
            yield from _read(node.body, owner) & _assigned([statement for handler in node.handlers for statement in handler.body], owner)
    asked = {node.func.value.attr for node in inside if isinstance(node, ast.Call) and _is_get(node, owner)}  # type: ignore[attr-defined]
    yield from asked & _assigned([node for node in inside if isinstance(node, ast.Assign)], owner)


def _is_get(node: ast.Call, owner: str) -> bool:
    return isinstance(node.func, ast.Attribute) and node.func.attr == "get" and _is_own(node.func.value, owner)


def _is_own(node: ast.AST, owner: str) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == owner


def _read(nodes: Iterable[ast.AST], owner: str) -> set[str]:
    return {node.attr for one in nodes for node in ast.walk(one) if _is_own(node, owner)}  # type: ignore[attr-defined]


def _assigned(nodes: Iterable[ast.AST], owner: str) -> set[str]:
    """The attributes that statements assign, or elements of which they assign."""
    found = set()
    for node in (node for one in nodes for node in ast.walk(one)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "register_buffer" and node.args and isinstance(node.args[0], ast.Constant):
            found.add(str(node.args[0].value))
        for target in node.targets if isinstance(node, ast.Assign) else ():
            for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                while isinstance(part, ast.Subscript):
                    part = part.value
                if _is_own(part, owner):
                    found.add(part.attr)  # type: ignore[attr-defined]
    return found


__all__ = ["Memo", "caches_of", "clear", "forgotten", "memos_of"]
