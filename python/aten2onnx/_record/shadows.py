"""Python's own functions that would turn a number that remembers into a plain one: `int`, `len`, `math.ceil`, `np.sqrt`, and functions of PyTorch.

While a run is recorded, the modules that the model's code lives in see other functions under these names: a global name of a module comes before a
built-in one. Nothing else sees them.
"""

from __future__ import annotations

import builtins
import math
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import _disable_current_modes

from . import folds, grown
from .arrays import elements_of
from .grown import Grown
from .deques import items_of
from .hashed import hash_of, hash_of_bool
from .kinds import Kind
from .long import Compound, Long
from .loops import Walkable
from .numbers import Number, number_of, symbolic
from .picked import module_at
from .places import is_installed, kind_of_file, line_of_model
from .ranges import Numbers, list_, lists_ranges
from .recorder import Recorder, Unrecorded
from .slots import Slots
from .sources import has_line, names_without_use
from .states import UNDEFINED
from .tensors import Tracked, has_foreign, sizes_of
from .walks import FUNCTIONS, WALKS, note_line, numbers_of
from .writes import write_whole

aten = torch.ops.aten
_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)


def _item(value: Any) -> Any:
    """The number in a tensor of one element, or the value as it is."""
    if isinstance(value, torch.Tensor) and Recorder.current is not None and value.numel() == 1:
        return value.item()
    return value


class _Kind(Kind):
    """The class of `int` and `float` as a model sees them: symbolic numbers are numbers."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs:
            return _converted(args[0], cls.real)
        return cls.real(*args, **kwargs)


def _converted(value: Any, to: type) -> Any:
    if isinstance(value, torch.Tensor):
        value = _item(value)
    number = number_of(value)
    if number is None:
        return to(value)
    if number.is_bool():
        number = number.sym_ite(1, 0)
    return symbolic(number.trunc() if to is int else number.sym_float())


class int_(metaclass=_Kind):
    real = int
    others = (torch.SymInt,)


class float_(metaclass=_Kind):
    real = float
    others = (torch.SymFloat,)


def _len(value: Any) -> Any:
    value = items_of(value)
    if isinstance(value, Tracked) and value.actual.dim() > 0:
        return sizes_of(value)[0]
    if isinstance(value, (Walkable, Long, Slots)):
        return value.count
    if isinstance(value, Numbers):
        return value.length
    if type(value) is list and Recorder.current is not None and Recorder.current.loops is not None:
        found = Recorder.current.loops.length(value)
        if found is not None:
            return found
    return builtins.len(value)


def _extreme(name: str) -> Any:
    plain_one, sym_one = getattr(builtins, name), getattr(torch, f"sym_{name}")

    def extreme(*args: Any, **kwargs: Any) -> Any:
        args = tuple(map(items_of, args))
        if len(args) == 1 and not kwargs and isinstance(args[0], Grown) and args[0].kind is not torch.Tensor:
            return getattr(grown.tensor(args[0], args[0].rows.dtype), name)().item()
        if len(args) == 1 and kwargs.keys() <= {"key", "default"}:
            found = folds.extreme(name == "max", args[0], kwargs.get("key"), kwargs.get("default", UNDEFINED))
            if found is not NotImplemented:
                return found
        values = args[0] if len(args) == 1 and not kwargs and isinstance(args[0], (list, tuple)) else args
        if kwargs or len(values) < 2 or not any(isinstance(value, _SYMBOLIC) for value in values):
            return plain_one(*args, **kwargs)
        if not all(isinstance(value, (*_SYMBOLIC, int, float)) for value in values):
            return plain_one(*args, **kwargs)
        found = values[0]
        for value in values[1:]:
            found = sym_one(found, value)
        return found

    return extreme


def _round(value: Any, digits: Any = None) -> Any:
    number = number_of(value)
    if number is None or digits is not None:
        return builtins.round(value) if digits is None else builtins.round(value, digits)
    return symbolic(number.round())


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


def _functions(real: ModuleType, rounds_to_float: bool) -> dict[str, Any]:
    found = {name: _function_of_one(getattr(real, name), f"sym_{name}", False) for name in _OF_REALS if hasattr(real, name)}
    found |= {name: _function_of_one(getattr(real, name), name, rounds_to_float) for name in ("floor", "ceil", "trunc")}
    return found


def _prod(real: Any) -> Any:
    def prod(values: Any, *rest: Any, **kwargs: Any) -> Any:
        if rest or kwargs or not isinstance(values, (list, tuple)) or not any(isinstance(value, _SYMBOLIC) for value in values):
            return real(values, *rest, **kwargs)
        return math.prod(values)

    return prod


def _shadow_of(name: str, value: Any) -> Any:
    """What a global name of a module is while a run is recorded; None if it stays."""
    if value is math:
        return _Module(math, _functions(math, False))
    if isinstance(value, ModuleType) and value.__name__ in folds.OF_MODULES:
        return _Module(value, folds.OF_MODULES[value.__name__])
    if id(value) in folds.OF_FUNCTIONS:
        return folds.OF_FUNCTIONS[id(value)]
    numpy = sys.modules.get("numpy")
    if numpy is not None and value is numpy:
        return _Module(numpy, {**_functions(numpy, True), "prod": _prod(numpy.prod)})
    for real in (math, numpy):
        if real is not None and isinstance(name, str) and value is getattr(real, name, None) and (name in _OF_REALS or name in ("floor", "ceil", "trunc")):
            return _functions(real, real is numpy)[name]
    return None


#: The classes of what may have a shadow: modules, and functions of math and NumPy.
_SHADOWED = (ModuleType, type(math.sqrt), type(sys.modules["numpy"].sqrt)) if "numpy" in sys.modules else (ModuleType, type(math.sqrt))
def _sum(values: Any, start: Any = 0) -> Any:
    values = items_of(values)
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
            found[place], found[place + 1] = torch.sym_min(a, b), torch.sym_max(a, b)
    return found[::-1] if reverse else found


_BUILTINS = {"any": _quantified("any"), "all": _quantified("all"), "map": folds.map_, "filter": folds.filter_, "sorted": _sorted, "sum": _sum, "int": int_, "float": float_, "len": _len, "min": _extreme("min"), "max": _extreme("max"), "round": _round, **WALKS}
#: Code that asks for the class of a number would not know the one above.
_IDENTITY = re.compile(r"\btype\([^()]*\) (is|is not|in|not in) |dtype\s*=\s*(int|float)\b|\b(to|view|astype|type)\((int|float)\)")


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
    left_out = names_without_use(file, _BUILTINS) | (_CLASSES if _asks_for_classes(file) else frozenset())
    changes: Changes = [(names, name, shadow) for name, shadow in _BUILTINS.items() if name not in names and name not in left_out]
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


_CLASSES = frozenset(("int", "float"))


def _asks_for_classes(file: str | None) -> bool:
    """Whether the code of a file asks for the class of a number: it would not know the one here."""
    return file is not None and has_line(file, _IDENTITY)


def _attention(*args: Any, **kwargs: Any) -> Any:
    """Attention whose `is_causal` may be a comparison of sizes."""
    plain_ones = {name: bool(value) if isinstance(value, torch.SymBool) else value for name, value in kwargs.items()}
    return _ATTENTION(*(bool(arg) if isinstance(arg, torch.SymBool) else arg for arg in args), **plain_ones)


_ATTENTION: Any = torch.nn.functional.scaled_dot_product_attention


@contextmanager
def taken_as_plain() -> Iterator[None]:
    """Lets PyTorch take numbers that remember where it wants plain ones: sizes as keys, as functools.cache has them, and `is_causal`; lists of loops as indices, and numbers as those of modules."""
    hashes = torch.SymInt.__hash__, torch.SymBool.__hash__
    torch.SymInt.__hash__, torch.SymBool.__hash__ = hash_of, hash_of_bool  # type: ignore[method-assign,assignment]
    torch.nn.functional.scaled_dot_product_attention = _attention
    padding = torch.nn.utils.rnn.pad_sequence
    torch.nn.utils.rnn.pad_sequence = grown.pad_sequence
    Tracked.__getitem__, Tracked.__setitem__ = _row, _set_row  # type: ignore[method-assign,assignment]
    before = torch.nn.ModuleList.__getitem__
    torch.nn.ModuleList.__getitem__ = module_at  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        torch.SymInt.__hash__, torch.SymBool.__hash__ = hashes  # type: ignore[method-assign]
        torch.nn.functional.scaled_dot_product_attention = _ATTENTION
        torch.nn.utils.rnn.pad_sequence = padding
        torch.nn.ModuleList.__getitem__ = before  # type: ignore[method-assign]
        del Tracked.__getitem__, Tracked.__setitem__


class Functions(TorchFunctionMode):
    """Functions of PyTorch that would turn numbers or tensors into plain ones, or leave a call out where it changes nothing."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        own = _FUNCTIONS.get(function)
        if own is not None and Recorder.current is not None:
            found = own(*args, **(kwargs or {}))
            if found is not NotImplemented:
                return found
        if Recorder.current is not None and any(isinstance(arg, (Walkable, Long)) for arg in (*args, *(kwargs or {}).values())):
            # PyTorch takes as many elements as there are in this run.
            args = tuple(builtins.list(iter(arg)) if isinstance(arg, (Walkable, Long)) else arg for arg in args)
            kwargs = {name: builtins.list(iter(arg)) if isinstance(arg, (Walkable, Long)) else arg for name, arg in (kwargs or {}).items()}
        return function(*args, **(kwargs or {}))


def _getitem(tensor: Any, index: Any) -> Any:
    """A slice that takes everything in this run is a slice in another one, also of a weight. A row that a number chooses is another one in another run."""
    parts = _parts_with_cuts(index) if isinstance(tensor, Tracked) or _has_symbolic_bound(index) else None
    if parts is None or has_foreign((tensor,)) or Recorder.current is None or torch._C._functorch.is_functorch_wrapped_tensor(tensor):  # type: ignore[attr-defined]
        return NotImplemented
    tensor = Recorder.current.lifted(tensor)
    found, rest = _cut(tensor, parts)
    return found if all(isinstance(part, slice) for part in rest) else found[tuple(rest)]


def _setitem(tensor: Any, index: Any, value: Any) -> Any:
    """A write to a slice that takes everything in this run, or to a row that a number chooses."""
    if not isinstance(tensor, Tracked):
        return NotImplemented
    parts = _parts_with_cuts(index)
    if parts is None:
        return None if write_whole(tensor, index if isinstance(index, tuple) else (index,), value) else NotImplemented
    found, rest = _cut(tensor, parts)
    if all(isinstance(part, slice) for part in rest):
        rest = [Ellipsis]
    if not write_whole(found, tuple(rest), value):
        found[tuple(rest)] = value
    return None


def _has_list(index: Any) -> bool:
    """Whether the elements of a list of a loop are an index."""
    return isinstance(index, Grown) or (type(index) is tuple and any(isinstance(part, Grown) for part in index))


def _with_rows(index: Any) -> Any:
    """An index with tensors in place of lists of loops."""
    if isinstance(index, tuple):
        return tuple(map(_with_rows, index))
    return grown.tensor(index) if isinstance(index, Grown) else index


def _row(tensor: Any, index: Any) -> Any:
    return torch.Tensor.__getitem__(tensor, _with_rows(index) if _has_list(index) else index)


def _set_row(tensor: Any, index: Any, value: Any) -> None:
    torch.Tensor.__setitem__(tensor, _with_rows(index) if _has_list(index) else index, value)


def _parts_with_cuts(index: Any) -> tuple[Any, ...] | None:
    """The parts of an index; None if none of them is a slice that takes less than everything in some run, or a number that remembers."""
    parts = tuple(map(_of_numbers, index if isinstance(index, tuple) else (index,)))
    return parts if any(isinstance(part, torch.SymInt) or (isinstance(part, slice) and _is_cut(part)) for part in parts) else None


def _has_symbolic_bound(index: Any) -> bool:
    parts = index if isinstance(index, tuple) else (index,)
    bounds = [bound for part in parts for bound in ((part.start, part.stop, part.step) if isinstance(part, slice) else (part,))]
    return any(isinstance(bound, torch.SymInt) or (isinstance(bound, Tracked) and bound.actual.dim() == 0) for bound in bounds)


def _of_numbers(part: Any) -> Any:
    """A part of an index, with the numbers that are in tensors: of a slice its bounds, and one that chooses a row."""
    if isinstance(part, Tracked) and part.actual.dim() == 0 and part.dtype in (torch.int64, torch.int32, torch.int16, torch.int8):
        return part.item()
    if not isinstance(part, slice):
        return part
    return slice(_item(part.start), _item(part.stop), _item(part.step))


def _cut(tensor: Any, parts: Any) -> tuple[Any, list[Any]]:
    """A tensor with the slices of an index taken, and the rows that numbers choose, and the rest of the index."""
    used = sum(_axes_of(part) for part in parts)
    axis, found, rest = 0, tensor, []
    for part in parts:
        if part is Ellipsis:
            axis += tensor.actual.dim() - used
        if isinstance(part, torch.SymInt):
            found = aten.select.int(found, axis, part)
            continue
        if isinstance(part, slice) and _is_cut(part):
            found = aten.slice.Tensor(found, axis, part.start, part.stop, 1 if part.step is None else part.step)
            part = slice(None)
        rest.append(part)
        axis += _axes_of(part)
    return found, rest


def _is_cut(part: slice) -> bool:
    """Whether a slice takes less than everything in some run, and its bounds are numbers."""
    bounds = (part.start, part.stop, part.step)
    if not all(bound is None or isinstance(bound, (int, torch.SymInt)) for bound in bounds):
        return False
    is_symbolic = any(isinstance(bound, torch.SymInt) for bound in bounds)
    return is_symbolic or not (part.start in (None, 0) and part.stop is None and part.step in (None, 1))


def _axes_of(part: Any) -> int:
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    if isinstance(part, torch.Tensor) and part.dtype in (torch.bool, torch.uint8):
        return part.dim()
    return 1


def _tensor(data: Any, *args: Any, **kwargs: Any) -> Any:
    """A tensor of numbers or tensors that the run has made."""
    if isinstance(data, Long):
        return grown.tensor(data, *args, **kwargs)
    if isinstance(data, torch.Tensor) or not (isinstance(data, Numbers) or _has_number(data)) or args:
        return NotImplemented
    kwargs.pop("requires_grad", None)
    dtype, device = kwargs.pop("dtype", None), kwargs.pop("device", None)
    if kwargs:
        return NotImplemented
    found = data.tensor() if isinstance(data, Numbers) else _stacked(data, device)
    return found if dtype is None or dtype == found.dtype else found.to(dtype)


def _has_number(data: Any) -> bool:
    if isinstance(data, (list, tuple)):
        return any(map(_has_number, data))
    return number_of(data) is not None or isinstance(data, Tracked)


def _stacked(data: Any, device: Any) -> Any:
    if isinstance(data, (list, tuple)):
        items = [_stacked(item, device) for item in data]
        dtype = items[0].dtype
        for item in items:
            dtype = torch.promote_types(dtype, item.dtype)
        return torch.stack([item if item.dtype == dtype else item.to(dtype) for item in items])
    if isinstance(data, torch.Tensor):
        return data.reshape(())
    number = number_of(data)
    if number is None:
        return torch.tensor(data, device=device)
    dtype = torch.bool if number.is_bool() else torch.int64 if number.is_int() else torch.get_default_dtype()
    return torch.scalar_tensor(data, dtype=dtype, device=device)


def _new_tensor(tensor: Any, data: Any, *, dtype: Any = None, device: Any = None, **kwargs: Any) -> Any:
    if not isinstance(tensor, Tracked) or kwargs:
        return NotImplemented
    return _tensor(data, dtype=tensor.dtype if dtype is None else dtype, device=tensor.device if device is None else device)


def _tolist(tensor: Any) -> Any:
    if not isinstance(tensor, Tracked):
        return NotImplemented
    if tensor.recorder.is_fixed(tensor):
        return tensor.actual.tolist()
    if tensor.actual.dim() == 0:
        return tensor.item()
    numbers = numbers_of(tensor)
    if numbers is not None:
        return numbers
    note_line(tensor, 0)
    return [_tolist(row) for row in tensor.unbind(0)]


def _numpy(tensor: Any, *args: Any, **kwargs: Any) -> Any:
    if not isinstance(tensor, Tracked):
        return NotImplemented
    if tensor.recorder.is_fixed(tensor):
        return tensor.actual.detach().numpy(*args, **kwargs)
    return elements_of(tensor, lambda: _tolist(tensor))


def _nbytes(tensor: Any) -> Any:
    return tensor.numel() * tensor.element_size() if isinstance(tensor, Tracked) else NotImplemented


def _set_data(tensor: Any, value: Any) -> Any:
    """A tensor of the model that gets the memory of a value would have none."""
    if isinstance(value, Tracked) or isinstance(tensor, Tracked):
        raise Unrecorded("the model replaces the data of a tensor, as `module.to(..)` does", line_of_model())
    return NotImplemented


def _contiguous(tensor: Any, *, memory_format: Any = torch.contiguous_format) -> Any:
    """A call that PyTorch leaves out where it changes nothing, which depends on sizes."""
    if not isinstance(tensor, Tracked):
        return NotImplemented
    with _disable_current_modes():
        return tensor.recorder.call(aten.contiguous.default, (tensor,), {} if memory_format is torch.contiguous_format else {"memory_format": memory_format})


_FUNCTIONS: dict[Any, Any] = {
    **FUNCTIONS,
    **grown.FUNCTIONS,
    torch.Tensor.contiguous: _contiguous,
    torch.Tensor.__getitem__: _getitem,
    torch.Tensor.__setitem__: _setitem,
    torch.tensor: _tensor,
    torch.as_tensor: _tensor,
    torch.Tensor.new_tensor: _new_tensor,
    torch.Tensor.tolist: _tolist,
    torch.Tensor.numpy: _numpy,
    torch.Tensor.nbytes.__get__: _nbytes,  # type: ignore[attr-defined]
    torch.Tensor.data.__set__: _set_data,  # type: ignore[attr-defined]
}
