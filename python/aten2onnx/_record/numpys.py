"""NumPy in the code of a model. Arrays of what the run has made are those of `torch._numpy`, whose functions are calls of PyTorch.

While a run is recorded, the model's code sees another `np`: a function of it is that of `torch._numpy` where an argument depends on inputs, and NumPy's own
elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy
import torch
import torch._numpy as by_torch
from torch._numpy import _dtypes

from .arrays import Array, Elements, tensor_in, without_arrays
from .kinds import Kind
from .long import Long
from .loops import Walkable
from .mixed import check_class
from .numbers import number_of
from .places import line_of_model
from .recorder import Recorder, Unrecorded
from .tensors import Tracked
from .walks import iterated_array

#: Functions that make an array as long as a number says.
_MAKERS = frozenset("arange linspace logspace geomspace zeros ones full empty eye identity tri hanning hamming blackman bartlett kaiser indices".split())
_ARITHMETIC = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
_COMPARISONS = "eq ne lt le gt ge".split()


class _NdArray(Kind):
    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return numpy.ndarray(*args, **kwargs)


class ndarray_(metaclass=_NdArray):
    real = numpy.ndarray
    others = (Array, Elements)


class Namespace:
    """NumPy as a model sees it, or one of its modules."""

    def __init__(self, real: ModuleType, own: ModuleType | None, names: dict[str, Any]) -> None:
        self.__dict__.update(names)
        self.__dict__["_real"], self.__dict__["_own"] = real, own

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._real, name)
        own = getattr(self._own, name, None)
        if isinstance(value, ModuleType):
            return value if name == "random" else Namespace(value, own if isinstance(own, ModuleType) else None, {})
        if value is numpy.ndarray:
            return ndarray_
        return value if isinstance(value, type) or not callable(value) else function_of(value, own)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._real, name, value)


def function_of(real: Any, own: Any) -> Callable[..., Any]:
    """A function of NumPy that is one of PyTorch where an argument depends on inputs."""
    name = str(real.__name__)
    own = _OWN.get(name, own)

    def function(*args: Any, **kwargs: Any) -> Any:
        recorder = Recorder.current
        if recorder is None or not _is_open((*args, *kwargs.values()), name in _MAKERS):
            return real(*args, **kwargs)
        if own is None:
            raise Unrecorded(f"the model computes with `np.{name}`, which PyTorch does not have", line_of_model())
        recorder.array_lines.append(line_of_model())
        return own(*map(_operand, args), **{key: _operand(value) for key, value in kwargs.items()})

    return function


def _is_open(values: Any, is_maker: bool) -> bool:
    """Whether an argument of a function of NumPy is another one at other inputs."""
    for value in values:
        if isinstance(value, (Array, Tracked, Elements, Long, Walkable)):
            return True
        if type(value) in (list, tuple) and _is_open(value, is_maker):
            return True
        if is_maker and number_of(value) is not None:
            return True
    return False


def _operand(value: Any) -> Any:
    """An argument as `torch._numpy` takes it."""
    if isinstance(value, Long):
        from . import grown

        return Array(grown.tensor(value))
    if isinstance(value, Elements):
        return Array(value.tensor)
    if isinstance(value, torch.Tensor):
        return Array(value)
    if isinstance(value, (numpy.ndarray, numpy.generic)):
        return Array(torch.as_tensor(value))
    if type(value) in (list, tuple):
        return type(value)(map(_operand, value))
    return value


def _asarray(values: Any, dtype: Any = None, **_: Any) -> Any:
    tensor = _tensor_of(values)
    return Array(tensor if dtype is None else tensor.to(by_torch.dtype(dtype).torch_dtype))


def _array(values: Any, dtype: Any = None, **_: Any) -> Any:
    """`np.array` of numbers and arrays of the run: a copy, also of an array."""
    return _asarray(Array(values.tensor.clone()) if isinstance(values, Array) else values, dtype)


def _tensor_of(values: Any) -> torch.Tensor:
    if isinstance(values, Array):
        return values.tensor
    if isinstance(values, (list, tuple)):
        items = [_tensor_of(value) for value in values]
        dtype = items[0].dtype
        for item in items:
            dtype = torch.promote_types(dtype, item.dtype)
        return torch.stack([item.to(dtype) for item in items])
    number = number_of(values)
    if number is None:
        return torch.as_tensor(numpy.asarray(values))
    check_class(values)
    return torch.scalar_tensor(values, dtype=torch.bool if number.is_bool() else torch.int64 if number.is_int() else torch.float64)


def _stack(values: Any, axis: int = 0, **rest: Any) -> Any:
    """`np.stack`. An array, or a list of a loop in one, is stacked already."""
    if not isinstance(values, Array) or rest:
        return getattr(by_torch, "stack")(values, axis, **rest)  # made when the module is loaded: types do not know it
    return Array(values.tensor.movedim(0, axis))


def _concatenate(values: Any, axis: int = 0, **rest: Any) -> Any:
    if not isinstance(values, Array) or rest:
        return getattr(by_torch, "concatenate")(values, axis, **rest)
    axis = axis + values.tensor.dim() - 1 if axis < 0 else axis
    return Array(values.tensor.movedim(0, axis).flatten(axis, axis + 1))


_OWN: dict[str, Any] = {"stack": _stack, "concatenate": _concatenate, "array": _array, "asarray": _asarray, "ascontiguousarray": _asarray, "asanyarray": _asarray}


# What PyTorch and `torch._numpy` do while a run is recorded.
def _from_numpy(value: Any) -> Any:
    tensor = tensor_in(value)
    if tensor is value and value.dtype == object:  # numbers of sizes
        return torch.tensor(value.tolist())
    return tensor if isinstance(tensor, torch.Tensor) else _FROM_NUMPY(value)


_FROM_NUMPY = torch.from_numpy


def _refused_array(*_: Any, **__: Any) -> Any:
    raise Unrecorded("the model gives an array of what it has computed to another library", line_of_model())


def _torch_function(function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    args, kwargs = without_arrays(function, args, kwargs or {})
    return function(*args, **kwargs)


def _init_dtype(dtype: Any, arg: Any) -> None:
    """The data types of NumPy are those of `torch._numpy` of the same name."""
    if isinstance(arg, numpy.dtype) or (isinstance(arg, type) and issubclass(arg, numpy.generic)):
        arg = numpy.dtype(arg).name
    _INIT_DTYPE(dtype, arg)


_TORCH: Any = torch
_DTYPE: Any = _dtypes.DType
_INIT_DTYPE = _DTYPE.__init__


def _but_not_for_tensors(operator: Any) -> Any:
    return lambda array, other: NotImplemented if isinstance(other, torch.Tensor) else operator(array, _operand(other))


@contextmanager
def taken_by_torch() -> Iterator[None]:
    """Lets PyTorch take arrays of the run as it takes those of NumPy."""
    kind: Any = Array
    names = [f"__{name}__" for name in (*_ARITHMETIC, *(f"r{name}" for name in _ARITHMETIC), *_COMPARISONS)]
    before = {name: vars(kind)[name] for name in names}
    for name, operator in before.items():
        setattr(kind, name, _but_not_for_tensors(operator))
    iterated = kind.__iter__
    kind.__iter__ = iterated_array
    kind.__array__, kind.__array_ufunc__ = _refused_array, None
    kind.__torch_function__ = staticmethod(_torch_function)
    _DTYPE.__init__ = _init_dtype
    _TORCH.from_numpy = _from_numpy
    try:
        yield
    finally:
        _TORCH.from_numpy = _FROM_NUMPY
        _DTYPE.__init__ = _INIT_DTYPE
        kind.__iter__ = iterated
        del kind.__array__, kind.__array_ufunc__, kind.__torch_function__
        for name, operator in before.items():
            setattr(kind, name, operator)


__all__ = ["Namespace", "function_of", "taken_by_torch"]
