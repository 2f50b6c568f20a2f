"""The values of a run: tensors around the real ones, which send every call and every question about a shape to the recorder."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from .numbers import Number, plain, symbolic

if TYPE_CHECKING:
    from .recorder import Recorder

aten = torch.ops.aten


def note_device(tensor: Any, device: torch.device) -> None:
    """Notes the device that a tensor of the meta device stands for."""
    tensor._stands_for = device


def place_of(tensor: Any) -> torch.device:
    """The device of a tensor, or that which one of the meta device stands for."""
    device: torch.device = tensor.device
    return getattr(tensor, "_stands_for", device) if device.type == "meta" else device


class Value:
    """A tensor of the recording: its type in this run, without its elements.

    Attributes:
        fixed: Whether it is the same at all inputs: it follows from weights and constants alone.
        again: The key of the value that a call was given, if it returned that.
        base: The value whose memory it shares, which was there before it; None if it has its own.
        ragged: Whether elements of tensors may decide its sizes, so that they differ at other inputs of the same sizes.
        source: Where it comes from, if no call makes it: ("input", number), ("weight", name) or ("constant", number).
        is_turn: Whether it is the number of a turn of a loop, which is never below 0.
        is_seen: Whether its sizes are those of the run. A side that this run cannot take is that of another run, which had other sizes.
    """

    __slots__ = ("again", "base", "device", "dtype", "fixed", "is_seen", "is_turn", "key", "node", "ragged", "shape", "sizes", "source", "stride")

    def __init__(self, key: int, tensor: torch.Tensor, fixed: bool, source: tuple[str, Any] | None = None) -> None:
        self.key = key
        self.dtype: Any = tensor.dtype
        self.device: Any = place_of(tensor)
        self.shape = tuple(tensor.shape)
        self.stride = tuple(tensor.stride()) if tensor.layout is torch.strided else ()
        self.fixed = fixed
        self.source = source
        self.sizes: list[Any] | None = None
        self.node: Any = None
        self.again: int | None = None
        self.base: Value | None = None
        self.ragged = False
        self.is_seen = True
        self.is_turn = False


class Tracked(torch.Tensor):
    """A value of a run around the real tensor. Its sizes are numbers that remember."""

    actual: torch.Tensor
    value: Value
    recorder: Recorder

    @staticmethod
    def __new__(cls, inner: torch.Tensor, value: Value, recorder: Recorder) -> Tracked:
        made: Any = torch.Tensor._make_wrapper_subclass(
            cls,
            inner.size(),
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            layout=inner.layout,
            device=place_of(inner),
            requires_grad=inner.requires_grad,
            dispatch_sizes_strides_policy="sizes",
        )
        made.actual, made.value, made.recorder = inner, value, recorder
        return made  # type: ignore[no-any-return]

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        recorder = active(args, kwargs)
        return recorder.call(function, args, kwargs or {})

    def __format__(self, spec: str) -> str:
        return format(self.actual, spec)

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        return repr(self.actual)


#: The classes of tensors that have their elements themselves.
_PLAIN = frozenset({torch.Tensor, torch.nn.Parameter, torch.nn.Buffer, torch.nn.UninitializedParameter, torch.nn.UninitializedBuffer, Tracked, FakeTensor})


def has_foreign(args: Any) -> bool:
    """Whether an argument is a tensor of a class of its own, such as a quantized weight, which says what a call with it means."""
    for arg in args:
        if isinstance(arg, torch.Tensor):
            if type(arg) not in _PLAIN:
                return True
        elif isinstance(arg, (list, tuple)) and has_foreign(arg):
            return True
    return False


def named_tensors(model: torch.nn.Module) -> list[tuple[str, torch.Tensor]]:
    """The parameters and buffers of a model by name. Of a tensor of a class of its own these are the tensors in it."""
    found: list[tuple[str, torch.Tensor]] = []
    for name, tensor in (*model.named_parameters(remove_duplicate=False), *model.named_buffers(remove_duplicate=False)):
        found += _parts(name, tensor)
    return found


def _parts(name: str, tensor: Any) -> list[tuple[str, torch.Tensor]]:
    if not isinstance(tensor, torch.Tensor) or type(tensor) in _PLAIN or not hasattr(tensor, "__tensor_flatten__"):
        return [(name, tensor)]
    inner, _ = tensor.__tensor_flatten__()
    return [part for attribute in inner for part in _parts(f"{name}.{attribute}", getattr(tensor, attribute))]


def active(args: Any, kwargs: Any) -> Any:
    """The recorder of the first value in the arguments of a call."""
    from .recorder import Recorder

    if Recorder.current is not None:
        return Recorder.current
    return _Ended


class _Ended:
    """What a value does after its run: what its real tensor does."""

    @staticmethod
    def call(function: Any, args: Any, kwargs: Any) -> Any:
        from torch.utils import _pytree as pytree

        args, kwargs = pytree.tree_map(lambda x: x.actual if isinstance(x, Tracked) else plain(x), (args, kwargs))
        return function(*args, **kwargs)


#: Questions about a tensor, which are answered and not written down.
QUERIES: dict[Any, Callable[..., Any]] = {}


def _query(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(answer: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            packet, _, overload = name.partition(".")
            QUERIES[getattr(getattr(aten, packet), overload or "default")] = answer
        return answer

    return add


def sizes_of(tensor: Tracked) -> list[Any]:
    """The sizes of a value, each a number with the expression `size(value, axis)`."""
    value = tensor.value
    if value.shape != (shape := tuple(tensor.actual.shape)):
        value.shape, value.sizes = shape, None
    return sizes_of_value(value, tensor.recorder)


def sizes_of_value(value: Value, recorder: Recorder) -> list[Any]:
    """The sizes that a value has in a run, as `sizes_of` gives them."""
    if value.fixed or not (recorder.dynamic or value.ragged):
        return list(value.shape)
    if value.sizes is None:
        value.sizes = [torch.SymInt(Number(size, "size", (value, axis), recorder.ask)) for axis, size in enumerate(value.shape)]
    return list(value.sizes)


def _count(tensor: Tracked) -> Any:
    found: Any = 1
    for size in sizes_of(tensor):
        found = found * size
    return found


@_query("sym_size")
def _sym_size(tensor: Tracked) -> list[Any]:
    return sizes_of(tensor)


@_query("sym_size.int")
def _sym_size_int(tensor: Tracked, axis: int) -> Any:
    return sizes_of(tensor)[axis]


@_query("size")
def _size(tensor: Tracked) -> list[int]:
    return list(tensor.actual.shape)


@_query("sym_numel")
def _sym_numel(tensor: Tracked) -> Any:
    return _count(tensor)


@_query("numel")
def _numel(tensor: Tracked) -> int:
    return int(tensor.actual.numel())


@_query("sym_stride")
def _sym_stride(tensor: Tracked) -> list[Any]:
    """Strides of a dense tensor are products of sizes."""
    strides = list(tensor.actual.stride())
    if tensor.value.fixed or not tensor.recorder.dynamic:
        return strides
    sizes = sizes_of(tensor)
    found: list[Any] = list(strides)
    expected: Any = 1
    for axis in sorted(range(len(strides)), key=lambda axis: (strides[axis], -axis)):
        if strides[axis] != plain(expected):
            return strides
        found[axis] = expected
        expected = expected * sizes[axis]
    return found


@_query("stride")
def _stride(tensor: Tracked) -> list[int]:
    return list(tensor.actual.stride())


@_query("dim")
def _dim(tensor: Tracked) -> int:
    return tensor.actual.dim()


@_query("sym_storage_offset", "storage_offset")
def _storage_offset(tensor: Tracked) -> int:
    return int(tensor.actual.storage_offset())


@_query("is_contiguous")
def _is_contiguous(tensor: Tracked) -> bool:
    return tensor.actual.is_contiguous()


@_query("is_contiguous.memory_format")
def _is_contiguous_in(tensor: Tracked, memory_format: Any) -> bool:
    return tensor.actual.is_contiguous(memory_format=memory_format)


@_query("is_strides_like_format")
def _is_strides_like(tensor: Tracked, memory_format: Any) -> bool:
    return tensor.actual.is_contiguous(memory_format=memory_format)


@_query("is_non_overlapping_and_dense")
def _is_dense(tensor: Tracked) -> bool:
    return bool(torch.ops.aten.is_non_overlapping_and_dense(tensor.actual))


QUERIES[torch.ops.prim.layout.default] = lambda tensor: tensor.actual.layout
QUERIES[torch.ops.prim.device.default] = lambda tensor: place_of(tensor.actual)


def turn_value(key: int) -> Value:
    """The number of a turn of a loop."""
    value = scalar_value(key, int)
    value.is_turn = True
    return value


def scalar_value(key: int, kind: type, source: tuple[str, Any] | None = None, fixed: bool = False) -> Value:
    """A number that an operator returns: an int, float or bool."""
    value = Value.__new__(Value)
    value.key, value.fixed, value.source, value.node, value.sizes, value.again = key, fixed, source, None, None, None
    value.ragged, value.base, value.is_seen, value.is_turn = False, None, True, False
    value.shape, value.stride, value.dtype, value.device = (), (), kind, None
    return value


def symbolic_item(value: Any, made: Value, ask: Any) -> Any:
    """A number that is read from a tensor."""
    return symbolic(Number(value, "item", (made,), ask)) if type(value) in (int, float, bool) else value
