"""Functions of PyTorch while a run is recorded: those that would turn numbers or tensors into plain ones, or leave a call out where it changes nothing."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import _disable_current_modes

from . import grown, sized
from .arrays import Array, Elements, array_of, has_array, is_whole, tensor_in, without_arrays
from .grown import Grown
from .hashed import hash_of, hash_of_bool
from .long import Long
from .loops import Walkable
from .mixed import check_elements
from .numbers import number_of
from .picked import module_at
from .places import line_of_model
from .ranges import Numbers, Range
from .recorder import Recorder, Unrecorded
from .tensors import Tracked, has_foreign, sizes_of
from .walks import FUNCTIONS, note_line, numbers_of
from .writes import write_whole

if "numpy" in sys.modules:  # PyTorch imports it, where it is installed
    from . import numpys

aten = torch.ops.aten


def _attention(*args: Any, **kwargs: Any) -> Any:
    """Attention whose `is_causal` may be a comparison of sizes."""
    plain_ones = {name: bool(value) if isinstance(value, torch.SymBool) else value for name, value in kwargs.items()}
    return _ATTENTION(*(bool(arg) if isinstance(arg, torch.SymBool) else arg for arg in args), **plain_ones)


_ATTENTION: Any = torch.nn.functional.scaled_dot_product_attention


def _checks_but_packed(check: Any) -> Any:
    """The check of a recurrent layer, which makes a plain number of the size of a packed batch. The operator checks it, too."""
    return lambda layer, given, hidden, batch_sizes: None if isinstance(batch_sizes, Tracked) else check(layer, given, hidden, batch_sizes)


_RECURRENT: tuple[Any, ...] = (torch.nn.RNNBase, torch.nn.LSTM)


@contextmanager
def taken_as_plain() -> Iterator[None]:
    """Lets PyTorch take numbers that remember where it wants plain ones: sizes as keys, as functools.cache has them, and `is_causal`; lists of loops as indices, and numbers as those of modules."""
    hashes = torch.SymInt.__hash__, torch.SymBool.__hash__
    torch.SymInt.__hash__, torch.SymBool.__hash__ = hash_of, hash_of_bool  # type: ignore[method-assign,assignment]
    torch.nn.functional.scaled_dot_product_attention = _attention
    padding = torch.nn.utils.rnn.pad_sequence
    torch.nn.utils.rnn.pad_sequence = grown.pad_sequence
    Tracked.__getitem__, Tracked.__setitem__ = _row, _set_row  # type: ignore[method-assign,assignment]
    checks = [kind.check_forward_args for kind in _RECURRENT]
    for kind, check in zip(_RECURRENT, checks):
        kind.check_forward_args = _checks_but_packed(check)
    before = torch.nn.ModuleList.__getitem__
    torch.nn.ModuleList.__getitem__ = module_at  # type: ignore[method-assign,assignment]
    try:
        with numpys.taken_by_torch() if "numpy" in sys.modules else nullcontext():
            yield
    finally:
        torch.SymInt.__hash__, torch.SymBool.__hash__ = hashes  # type: ignore[method-assign]
        torch.nn.functional.scaled_dot_product_attention = _ATTENTION
        torch.nn.utils.rnn.pad_sequence = padding
        torch.nn.ModuleList.__getitem__ = before  # type: ignore[method-assign]
        for kind, check in zip(_RECURRENT, checks):
            kind.check_forward_args = check
        del Tracked.__getitem__, Tracked.__setitem__


class Functions(TorchFunctionMode):
    """Functions of PyTorch that would turn numbers or tensors into plain ones, or leave a call out where it changes nothing."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        own = _FUNCTIONS.get(function)
        if Recorder.current is not None and function not in (torch.tensor, torch.as_tensor) and (has_array(args) or (kwargs and has_array(kwargs.values()))):
            args, kwargs = without_arrays(function, args, kwargs or {})
        if own is not None and Recorder.current is not None:
            found = own(*args, **(kwargs or {}))
            if found is not NotImplemented:
                return found
        if Recorder.current is not None and any(isinstance(arg, (Walkable, Long)) for arg in (*args, *(kwargs or {}).values())):
            # PyTorch takes as many elements as there are in this run.
            args = tuple(builtins.list(iter(arg)) if isinstance(arg, (Walkable, Long)) else arg for arg in args)
            kwargs = {name: builtins.list(iter(arg)) if isinstance(arg, (Walkable, Long)) else arg for name, arg in (kwargs or {}).items()}
        return function(*args, **(kwargs or {}))


def item_of(value: Any) -> Any:
    """The number in a tensor of one element, or the value as it is."""
    value = tensor_in(value)
    if isinstance(value, torch.Tensor) and Recorder.current is not None and value.numel() == 1:
        return value.item()
    return value


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
    """Whether the elements of a list of a loop, of an array or of a range are an index."""
    kinds = (Grown, Array, Elements, Numbers, Range)
    return isinstance(index, kinds) or (type(index) is tuple and any(isinstance(part, kinds) for part in index))


def _with_rows(index: Any) -> Any:
    """An index with tensors in place of lists of loops, arrays and ranges."""
    if isinstance(index, tuple):
        return tuple(map(_with_rows, index))
    if isinstance(index, (Numbers, Range)):
        return index.tensor()
    return grown.tensor(index) if isinstance(index, Grown) else tensor_in(index)


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
    return slice(item_of(part.start), item_of(part.stop), item_of(part.step))


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
    if isinstance(data, (Array, Elements)):
        return _as_tensor(Array(data.tensor.clone()), *args, **kwargs)
    if type(data) in (list, tuple) and has_array(data):
        ((data,), _) = without_arrays(torch.tensor, (data,), {})
    if isinstance(data, torch.Tensor) or not (isinstance(data, (Numbers, Range)) or _has_number(data)) or args:
        return NotImplemented
    kwargs.pop("requires_grad", None)
    dtype, device = kwargs.pop("dtype", None), kwargs.pop("device", None)
    if kwargs:
        return NotImplemented
    if dtype is None:
        check_elements(data)
    found = data.tensor() if isinstance(data, (Numbers, Range)) else _stacked(data, device)
    return found if dtype is None or dtype == found.dtype else found.to(dtype)


def _as_tensor(data: Any, *args: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """`torch.as_tensor` of an array shares its memory."""
    if not isinstance(data, (Array, Elements)):
        return _tensor(data, *args, dtype=dtype, **kwargs)
    return data.tensor if dtype is None else data.tensor.to(dtype)


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
    if not is_whole(tensor) or isinstance(sizes_of(tensor)[0] if tensor.actual.dim() else None, torch.SymInt):
        return array_of(tensor)
    numbers = _tolist(tensor)
    return Elements(numbers, tensor) if type(numbers) is list else numbers


def _equal(one: Any, other: Any) -> Any:
    """Whether two tensors are equal, as a number that remembers: PyTorch's own would be a plain one."""
    if not (isinstance(one, Tracked) or isinstance(other, Tracked)) or Recorder.current is None or Recorder.current.structure is None:
        return NotImplemented
    return one.shape == other.shape and torch.all(one == other).item()


def _all_close(one: Any, other: Any, *given: Any, **named: Any) -> Any:
    if not (isinstance(one, Tracked) or isinstance(other, Tracked)) or Recorder.current is None or Recorder.current.structure is None:
        return NotImplemented
    return torch.all(torch.isclose(one, other, *given, **named)).item()


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
    **sized.FUNCTIONS,
    torch.Tensor.contiguous: _contiguous,
    torch.Tensor.__getitem__: _getitem,
    torch.Tensor.__setitem__: _setitem,
    torch.tensor: _tensor,
    torch.as_tensor: _as_tensor,
    torch.Tensor.new_tensor: _new_tensor,
    torch.Tensor.tolist: _tolist,
    torch.Tensor.numpy: _numpy,
    torch.equal: _equal,
    torch.Tensor.equal: _equal,
    torch.allclose: _all_close,
    torch.Tensor.allclose: _all_close,
    torch.Tensor.nbytes.__get__: _nbytes,  # type: ignore[attr-defined]
    torch.Tensor.data.__set__: _set_data,  # type: ignore[attr-defined]
}

__all__ = ["Functions", "item_of", "taken_as_plain"]
