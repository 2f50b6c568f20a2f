"""Python's own functions that would turn a number that remembers into a plain one: `int`, `len`, `math.ceil`, `np.sqrt`, and functions of PyTorch.

While a run is recorded, the modules that the model's code lives in see other functions under these names: a global name of a module comes before a
built-in one. Nothing else sees them.
"""

from __future__ import annotations

import builtins
import functools
import math
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import torch

from . import folds, grown
from .arrays import Array
from .classes import is_instance, is_subclass, lines_that_ask, type_with
from .grown import Grown
from .deques import items_of
from .functions import item_of
from .kinds import Kind
from .long import Compound, Long
from .keys import check_keys
from .loops import Walkable
from .mixed import chosen_extreme
from .numbers import Number, number_of, symbolic
from .places import is_installed, kind_of_file
from .ranges import Numbers, Range, list_, lists_ranges
from .reals import of_math, power, rounded
from .recorder import Recorder
from .slots import Slots
from .sources import has_line, names_without_use
from .states import UNDEFINED
from .tensors import Tracked, sizes_of
from .walks import WALKS, total_of

_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)

if "numpy" in sys.modules:  # PyTorch imports it, where it is installed
    from . import numpys


class _Kind(Kind):
    """The class of `int` and `float` as a model sees them: symbolic numbers are numbers."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs:
            return _converted(args[0], cls.real)
        return cls.real(*args, **kwargs)


def _converted(value: Any, to: type) -> Any:
    if to is int and isinstance(value, Tracked) and value.is_floating_point() and not value.recorder.is_fixed(value):
        value = value.to(torch.int64)  # a whole number out of a tensor, with which bodies of branches and loops compute
    value = item_of(value)
    number = number_of(value)
    if number is None:
        return to(value)
    if number.is_bool():
        number = number.sym_ite(1, 0)
    return symbolic(number.trunc() if to is int else number.sym_float())


class int_(metaclass=_Kind):
    real = int
    others = (torch.SymInt, torch.SymBool)


class _Truth(Kind):
    """The class of `bool` as lowered code sees it: a condition of the file stays one."""

    def __call__(cls, *args: Any) -> Any:
        recorder = Recorder.current
        if len(args) != 1 or recorder is None or recorder.structure is None or recorder.structure.dry:
            return builtins.bool(*args)
        found = recorder.structure.condition(args[0])
        return found if type(found) is builtins.bool else symbolic(found)


class bool_(metaclass=_Truth):
    real = bool
    others = (torch.SymBool,)


class float_(metaclass=_Kind):
    real = float
    others = (torch.SymFloat,)


def _len(value: Any) -> Any:
    check_keys(value)
    value = items_of(value)
    value = value.tensor if isinstance(value, Array) else value
    if isinstance(value, Tracked) and value.actual.dim() > 0:
        return sizes_of(value)[0]
    if isinstance(value, (Walkable, Long, Slots)):
        return value.count
    if isinstance(value, (Numbers, Range)):
        return value.length
    if type(value) is list and Recorder.current is not None and Recorder.current.loops is not None:
        found = Recorder.current.loops.length(value)
        if found is not None:
            return found
    return builtins.len(value)


def _are_numbers(values: Any) -> bool:
    """Whether there are two numbers at least, and one of them is another one at other inputs."""
    is_open = any(isinstance(value, _SYMBOLIC) for value in values)
    return len(values) > 1 and is_open and all(isinstance(value, (*_SYMBOLIC, int, float)) for value in values)


def _are_scalars(values: Any) -> bool:
    """Whether there are two tensors without dimensions and numbers at least, all of one type, so that the largest is a tensor of that type whichever it is."""
    tensors = [value for value in values if isinstance(value, torch.Tensor)]
    if len(values) < 2 or not any(isinstance(tensor, Tracked) and not tensor.recorder.is_fixed(tensor) for tensor in tensors):
        return False
    kinds = {tensor.dtype for tensor in tensors}
    if len(kinds) > 1 or any(tensor.dim() > 0 or tensor.dtype is torch.bool or tensor.is_complex() for tensor in tensors):
        return False
    numbers = (int, torch.SymInt) if not tensors[0].is_floating_point() else (int, float, torch.SymInt, torch.SymFloat)
    return all(isinstance(value, (torch.Tensor, *numbers)) and type(value) is not bool for value in values)


def _extreme(name: str) -> Any:
    plain_one = getattr(builtins, name)

    def extreme(*args: Any, **kwargs: Any) -> Any:
        args = tuple(map(items_of, args))
        if len(args) == 1 and not kwargs and isinstance(args[0], Grown) and args[0].kind is not torch.Tensor:
            return getattr(grown.tensor(args[0], args[0].rows.dtype), name)().item()
        if len(args) == 1 and kwargs.keys() <= {"key", "default"}:
            found = folds.extreme(name == "max", args[0], kwargs.get("key"), kwargs.get("default", UNDEFINED))
            if found is not NotImplemented:
                return found
        values = args[0] if len(args) == 1 and not kwargs and isinstance(args[0], (list, tuple)) else args
        if not kwargs and _are_scalars(values):
            return functools.reduce(lambda best, value: torch.where(value > best if name == "max" else value < best, value, best), values)
        if kwargs or not _are_numbers(values):
            found = folds.extreme(name == "max", args, kwargs.get("key"), UNDEFINED) if len(args) > 1 and kwargs.keys() <= {"key"} else NotImplemented
            return plain_one(*args, **kwargs) if found is NotImplemented else found
        found = values[0]
        for value in values[1:]:
            found = chosen_extreme(name == "max", found, value)
        return found

    return extreme


def _round(number: Any, ndigits: Any = None) -> Any:
    return rounded(number, ndigits)


class _Module:
    """A module of which some functions take symbolic numbers."""

    def __init__(self, real: ModuleType, functions: dict[str, Any]) -> None:
        self.__dict__.update(functions)
        self.__dict__["_real"] = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_real"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__dict__["_real"], name, value)


#: Functions of a real number by their method.
_OF_REALS = ("sqrt", "exp", "log", "log2", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh")


def _function_of_one(real: Any, method: str, as_float: bool) -> Any:
    def function(value: Any, *rest: Any, **kwargs: Any) -> Any:
        number = number_of(value)
        if number is None or rest or kwargs:
            return real(value, *rest, **kwargs)
        found: Number = getattr(number, method)()
        return symbolic(found.sym_float() if as_float else found)

    return function


def _functions(real: Any, rounds_to_float: bool) -> dict[str, Any]:
    found = {name: _function_of_one(getattr(real, name), f"sym_{name}", False) for name in _OF_REALS if hasattr(real, name)}
    found |= {name: _function_of_one(getattr(real, name), name, rounds_to_float) for name in ("floor", "ceil", "trunc")}
    if rounds_to_float:
        found |= {name: _function_of_one(getattr(real, name), "round", True) for name in ("round", "rint", "around")}
    return found


def _limits(real: Any) -> dict[str, Any]:
    """NumPy's functions that keep a number within limits."""

    def limit(name: str, sym_one: Any) -> Any:
        plain_one = getattr(real, name)
        return lambda a, b, *rest, **kwargs: plain_one(a, b, *rest, **kwargs) if rest or kwargs or not _are_numbers((a, b)) else sym_one(a, b)

    def clip(value: Any, low: Any, high: Any, **kwargs: Any) -> Any:
        if kwargs or not _are_numbers((value, low, high)):
            return real.clip(value, low, high, **kwargs)
        return torch.sym_min(torch.sym_max(value, low), high)

    return {"maximum": limit("maximum", torch.sym_max), "minimum": limit("minimum", torch.sym_min), "clip": clip}


def _prod(real: Any) -> Any:
    def prod(values: Any, *rest: Any, **kwargs: Any) -> Any:
        if rest or kwargs or not isinstance(values, (list, tuple)) or not any(isinstance(value, _SYMBOLIC) for value in values):
            return real(values, *rest, **kwargs)
        return math.prod(values)

    return prod


def _shadow_of(name: str, value: Any) -> Any:
    """What a global name of a module is while a run is recorded; None if it stays."""
    if value is math:
        return _Module(math, {**_functions(math, False), **of_math()})
    if isinstance(value, ModuleType) and value.__name__ in folds.OF_MODULES:
        return _Module(value, folds.OF_MODULES[value.__name__])
    if id(value) in folds.OF_FUNCTIONS:
        return folds.OF_FUNCTIONS[id(value)]
    numpy = sys.modules.get("numpy")
    if numpy is not None and value is numpy:
        seen = numpys.Namespace(numpy, numpys.by_torch, {})
        return numpys.Namespace(numpy, numpys.by_torch, {**_functions(seen, True), **_limits(seen), "prod": _prod(seen.prod)})
    if isinstance(name, str) and value is getattr(math, name, None) and name in of_math():
        return of_math()[name]
    for real in (math, numpy):
        if real is not None and isinstance(name, str) and value is getattr(real, name, None) and (name in _OF_REALS or name in ("floor", "ceil", "trunc")):
            return _functions(real, real is numpy)[name]
    if numpy is not None and callable(value) and isinstance(name, str) and value is getattr(numpy, getattr(value, "__name__", ""), None):
        return numpys.function_of(value, getattr(numpys.by_torch, str(getattr(value, "__name__", "")), None))
    return None


#: The classes of what may have a shadow: modules, and functions of math and NumPy.
_SHADOWED = (ModuleType, type(math.sqrt), *((type(numpys.numpy.sqrt), type(numpys.numpy.stack)) if "numpy" in sys.modules else ()))


def _sum(values: Any, start: Any = 0) -> Any:
    values = items_of(values)
    counted = total_of(values)
    if counted is not None:
        return counted if type(start) is int and start == 0 else start + counted
    if isinstance(values, (Walkable, Compound)) and Recorder.current is not None and Recorder.current.structure is not None:
        return folds.total(values, start)
    if not isinstance(values, Grown):
        return builtins.sum(values, start)
    total = values.rows.sum(0)
    total = total if values.kind is torch.Tensor else total.item()
    return total if type(start) is int and start == 0 else start + total


def _quantified(name: str) -> Any:
    plain_one = getattr(builtins, name)

    def quantified(values: Any) -> Any:
        found = folds.listed(values) if isinstance(values, Walkable) else values
        if not isinstance(found, Grown):
            return plain_one(found)
        return getattr(found.rows != 0, name)().item()

    return quantified


def _sorted(values: Any, *, key: Any = None, reverse: bool = False) -> Any:
    """Numbers in their order: each two are exchanged if they are not. In lowered code other things have an order, too."""
    made = folds.sorted_(values, key, reverse)
    if made is not NotImplemented:
        return made
    if key is not None or not isinstance(values, (list, tuple)) or not 1 < len(values) <= 8 or not any(isinstance(value, (torch.SymInt, torch.SymFloat)) for value in values):
        return builtins.sorted(values, key=key, reverse=reverse)
    found = builtins.list(values)
    for end in builtins.range(len(found) - 1, 0, -1):
        for place in builtins.range(end):
            a, b = found[place], found[place + 1]
            found[place], found[place + 1] = chosen_extreme(False, a, b), chosen_extreme(True, a, b)
    return found[::-1] if reverse else found


_BUILTINS = {"any": _quantified("any"), "all": _quantified("all"), "map": folds.map_, "filter": folds.filter_, "sorted": _sorted, "sum": _sum, "int": int_, "float": float_, "bool": bool_, "len": _len, "min": _extreme("min"), "max": _extreme("max"), "round": _round, "pow": power, "isinstance": is_instance, "issubclass": is_subclass, **WALKS}
#: What stands for classes under their names.
_SEEN: dict[str, Any] = {"int": int_, "float": float_, "bool": bool_}
#: PyTorch and NumPy would not know the classes above.
_GIVEN = {name: re.compile(rf"dtype\s*=\s*{name}\b|\b(to|view|astype|type)\([^()]*\b{name}\)") for name in _SEEN}


def _globals_of(model: torch.nn.Module) -> dict[int, dict[str, Any]]:
    """The global names of the modules that the code of a model lives in, and of those that these take functions from."""
    found: dict[int, dict[str, Any]] = {}
    waiting: list[dict[str, Any]] = []
    seen: set[int] = set()

    def add(names: Any) -> None:
        if id(names) in seen or not isinstance(names, dict):
            return
        seen.add(id(names))
        file = names.get("__file__")
        if names.get("__name__") == "builtins" or (file is not None and kind_of_file(str(file)) != "model") or _is_foreign(str(names.get("__name__", ""))):
            return
        found[id(names)] = names
        waiting.append(names)

    for kind in {type(module) for module in model.modules()}:
        for base in kind.__mro__:
            for member in vars(base).values():
                function = getattr(member, "__wrapped__", member)
                if isinstance(function, FunctionType):
                    add(function.__globals__)
    for module in model.modules():
        for value in vars(module).values():
            function = _function_in(value)
            if function is not None:
                add(function.__globals__)
    while waiting:
        for names in _reached_from(waiting.pop()):
            add(names)
    return found


class _Reached(NamedTuple):
    """What the names of a module lead to. Those of an installed package are looked through once, as long as it gets no others."""

    names: dict[str, Any]
    length: int
    others: list[dict[str, Any]]


_REACHED: dict[int, _Reached] = {}


def _reached_from(names: dict[str, Any]) -> list[dict[str, Any]]:
    """The global names of functions, classes and modules among these."""
    known = _REACHED.get(id(names))
    if known is not None and known.names is names and known.length == len(names):
        return known.others
    others: dict[int, dict[str, Any]] = {}
    for value in list(names.values()):
        found = _names_of(value)
        if isinstance(found, dict):
            others[id(found)] = found
    made = list(others.values())
    if is_installed(str(names.get("__file__"))):
        _REACHED[id(names)] = _Reached(names, len(names), made)
    return made


def _names_of(value: Any) -> Any:
    """The global names of a function, a class or a module."""
    if isinstance(value, FunctionType):
        return value.__globals__
    if isinstance(value, type):
        return getattr(sys.modules.get(value.__module__), "__dict__", None)
    return value.__dict__ if isinstance(value, ModuleType) else None


def _function_in(value: Any) -> FunctionType | None:
    """The function that an attribute of a module is, or makes a call of."""
    while isinstance(value, (partial, MethodType)):
        value = value.func if isinstance(value, partial) else value.__func__
    return value if isinstance(value, FunctionType) else None


#: Packages that no model computes sizes with, but that many import. Others are looked through.
_FOREIGN = frozenset(
    """torch numpy scipy builtins aten2onnx sympy onnx onnxruntime pytest triton huggingface_hub tokenizers safetensors PIL jinja2 markupsafe yaml
    filelock tqdm regex packaging typing_extensions requests urllib3 certifi idna charset_normalizer httpx httpx2 httpcore httpcore2 h11 h2 anyio sniffio
    truststore fsspec psutil pandas pyarrow sklearn matplotlib IPython""".split()
)


def _is_foreign(name: str) -> bool:
    top = name.partition(".")[0]
    return top in _FOREIGN or (top in sys.stdlib_module_names and top != "__main__")


Changes = list[tuple[dict[str, Any], str, Any]]


def shadows_of(model: torch.nn.Module) -> Changes:
    """The names that the code of a model sees other functions under: the names of a module, a name, and what it stands for."""
    return [change for names in _globals_of(model).values() for change in _changes_in(names)]


_CHANGES: dict[int, tuple[dict[str, Any], int, Changes]] = {}


def _changes_in(names: dict[str, Any]) -> Changes:
    """What the code of a module sees. An installed package is looked through once, as long as it gets no other names."""
    known = _CHANGES.get(id(names))
    if known is not None and known[0] is names and known[1] == len(names):
        return known[2]
    file = None if names.get("__file__") is None else str(names["__file__"])
    left_out = names_without_use(file, _BUILTINS) | _given_to_others(file)
    changes: Changes = [(names, name, shadow) for name, shadow in _BUILTINS.items() if name not in names and name not in left_out]
    if "type" not in names and not names_without_use(file, ["type"]):
        changes.append((names, "type", type_with({kind.real: kind for name, kind in _SEEN.items() if name not in left_out and name not in names})))
    if "list" not in names and lists_ranges(file):
        changes.append((names, "list", list_))
    for name, value in names.items():
        if (type(value) in _SHADOWED or id(value) in folds.OF_FUNCTIONS) and not name.startswith("__"):
            found = _shadow_of(name, value)
            if found is not None:
                changes.append((names, name, found))
    if file is not None and is_installed(file):
        _CHANGES[id(names)] = (names, len(names), changes)
    return changes


def asked_for_classes(changes: Changes) -> list[str]:
    """Where the model's own code asks for the class of a value in a way in which it would not know the one that is there."""
    files = dict.fromkeys(str(file) for names, _, _ in changes if (file := names.get("__file__")) is not None)
    return [place for file in files if not is_installed(file) for place in lines_that_ask(file)]


@contextmanager
def shadowed(changes: Changes) -> Iterator[None]:
    """Lets the code of a model see these functions while the block runs."""
    missing = object()
    before: Changes = []
    try:
        for names, name, shadow in changes:
            before.append((names, name, names.get(name, missing)))
            names[name] = shadow
        yield
    finally:
        for names, name, value in reversed(before):
            if value is missing:
                names.pop(name, None)
            else:
                names[name] = value


def _given_to_others(file: str | None) -> frozenset[str]:
    """The classes of numbers that the code of a file gives to PyTorch or NumPy as a data type."""
    return frozenset() if file is None else frozenset(name for name, given in _GIVEN.items() if has_line(file, given))
