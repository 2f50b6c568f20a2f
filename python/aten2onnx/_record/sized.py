"""Functions of PyTorch that take plain numbers only, called with numbers of sizes: pools whose windows a size gives (`F.avg_pool1d(x, n // 2)`), and diagonals at such a place.
They are other calls here, which take such numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import _disable_current_modes

from .numbers import number_of
from .tensors import Tracked


def _is_open(value: Any) -> bool:
    """Whether a number, or one of several, is one of sizes."""
    if isinstance(value, (list, tuple)):
        return any(map(_is_open, value))
    return number_of(value) is not None


def _unfold(x: Any, dimension: int, size: Any, step: Any) -> Any:
    """PyTorch's own asks for plain numbers, and nothing tells which of two that are equal in all runs is which."""
    if not isinstance(x, Tracked) or not _is_open((size, step)):
        return NotImplemented
    with _disable_current_modes():
        return x.recorder.call(torch.ops.aten.unfold.default, (x, dimension, size, step), {})


def _each(value: Any, count: int) -> list[Any]:
    """A number for each dimension."""
    found = list(value) if isinstance(value, (list, tuple)) else [value]
    return found * count if len(found) == 1 else found


def _is_whole(tensor: Any, sizes: Sequence[Any]) -> bool:
    """Whether windows are those dimensions of a tensor themselves: its rule knows them."""
    numbers = list(map(number_of, sizes))
    return all(number is not None and number.function == "size" and number.operands == (tensor.value, tensor.dim() - len(sizes) + axis) for axis, number in enumerate(numbers))


def _windows(x: Any, sizes: list[Any], steps: list[Any]) -> Any:
    """The windows over the last dimensions, each of which is a new dimension at the end."""
    count = len(sizes)
    for axis in range(count):
        found = _unfold(x, -count, sizes[axis], steps[axis])  # the one before has put a dimension after it
        x = x.unfold(-count, sizes[axis], steps[axis]) if found is NotImplemented else found
    return x


def _padded(x: Any, paddings: list[Any], value: float) -> Any:
    if all(type(padding) is int and padding == 0 for padding in paddings):
        return x
    return F.pad(x, [padding for padding in reversed(paddings) for _ in range(2)], value=value)


def _average_pool(
    count: int, x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: Any = False, count_include_pad: Any = True, divisor_override: Any = None
) -> Any:
    stride = kernel_size if stride is None or stride == [] or stride == () else stride
    if not isinstance(x, Tracked) or ceil_mode or not (_is_open(kernel_size) or _is_open(stride) or _is_open(padding)):
        return NotImplemented
    sizes, steps, paddings = _each(kernel_size, count), _each(stride, count), _each(padding, count)
    if _is_whole(x, sizes):
        return NotImplemented
    axes = list(range(-count, 0))
    windows = _windows(_padded(x, paddings, 0.0), sizes, steps)
    if divisor_override is not None:
        return windows.sum(axes) / divisor_override
    if count_include_pad:
        return windows.mean(axes)
    return windows.sum(axes) / _windows(_padded(torch.ones_like(x), paddings, 0.0), sizes, steps).sum(axes)


def _largest_pool(count: int, x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: Any = False, return_indices: Any = False) -> Any:
    stride = kernel_size if stride is None or stride == [] or stride == () else stride
    is_simple = not ceil_mode and not return_indices and all(type(step) is int and step == 1 for step in _each(dilation, count))
    if not isinstance(x, Tracked) or not x.is_floating_point() or not is_simple or not (_is_open(kernel_size) or _is_open(stride) or _is_open(padding)):
        return NotImplemented
    sizes, steps, paddings = _each(kernel_size, count), _each(stride, count), _each(padding, count)
    if _is_whole(x, sizes):
        return NotImplemented
    return _windows(_padded(x, paddings, float("-inf")), sizes, steps).amax(list(range(-count, 0)))


def _power_pool(count: int, x: Any, norm_type: Any, kernel_size: Any, stride: Any = None, ceil_mode: Any = False) -> Any:
    if not isinstance(x, Tracked):
        return NotImplemented
    means = _average_pool(count, x.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    if means is NotImplemented:
        return NotImplemented
    return (means.sign() * means.abs()).mul(math.prod(_each(kernel_size, count))).pow(1.0 / norm_type)


def _shares(size: Any, parts: Any) -> Any:
    """Which elements of a dimension each part of it covers, as `adaptive_avg_pool1d` divides it: [parts, size]."""
    part, place = torch.arange(parts)[:, None], torch.arange(size)
    return (place >= part * size // parts) & (place < ((part + 1) * size + parts - 1) // parts)


def _adaptive_pool(count: int, is_average: bool, x: Any, output_size: Any, return_indices: bool = False) -> Any:
    if not isinstance(x, Tracked) or not x.is_floating_point() or not _is_open(output_size) or return_indices:
        return NotImplemented
    for axis, parts in enumerate(_each(output_size, count), -count):
        if parts is None:
            continue
        shares = _shares(x.shape[axis], parts)
        moved = x.movedim(axis, -1)
        if is_average:
            weights = shares.to(x.dtype)
            found = moved @ (weights / weights.sum(1, keepdim=True)).t()
        else:
            found = moved.unsqueeze(-2).masked_fill(~shares, float("-inf")).amax(-1)
        x = found.movedim(-1, axis)
    return x


def _diagonal(x: Any, offset: Any = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """A view, as PyTorch's is: the main diagonal of what begins at the first element."""
    if not isinstance(x, Tracked) or not _is_open(offset):
        return NotImplemented
    below, above = torch.sym_max(-offset, 0), torch.sym_max(offset, 0)
    aten = torch.ops.aten
    return aten.slice.Tensor(aten.slice.Tensor(x, dim1, below), dim2, above).diagonal(0, dim1, dim2)


def _diagonal_embedded(x: Any, offset: Any = 0, dim1: int = -2, dim2: int = -1) -> Any:
    if not isinstance(x, Tracked) or not _is_open(offset) or (dim1, dim2) != (-2, -1):
        return NotImplemented
    below, above = torch.sym_max(-offset, 0), torch.sym_max(offset, 0)
    return F.pad(torch.diag_embed(x), [above, below, below, above])


def _of_diagonal(x: Any, diagonal: Any = 0) -> Any:
    if not isinstance(x, Tracked) or not _is_open(diagonal):
        return NotImplemented
    return _diagonal_embedded(x, diagonal) if x.dim() == 1 else _diagonal(x, diagonal).clone()


_NN: Any = torch._C._nn
FUNCTIONS: dict[Any, Callable[..., Any]] = {
    torch.Tensor.unfold: _unfold,
    torch.avg_pool1d: partial(_average_pool, 1),
    _NN.avg_pool2d: partial(_average_pool, 2),
    _NN.avg_pool3d: partial(_average_pool, 3),
    torch.max_pool1d: partial(_largest_pool, 1),
    torch.max_pool2d: partial(_largest_pool, 2),
    torch.max_pool3d: partial(_largest_pool, 3),
    F.max_pool1d: partial(_largest_pool, 1),
    F.max_pool2d: partial(_largest_pool, 2),
    F.max_pool3d: partial(_largest_pool, 3),
    F.lp_pool1d: partial(_power_pool, 1),
    F.lp_pool2d: partial(_power_pool, 2),
    F.lp_pool3d: partial(_power_pool, 3),
    F.adaptive_max_pool1d: partial(_adaptive_pool, 1, False),
    F.adaptive_max_pool2d: partial(_adaptive_pool, 2, False),
    torch.adaptive_avg_pool1d: partial(_adaptive_pool, 1, True),
    _NN.adaptive_avg_pool2d: partial(_adaptive_pool, 2, True),
    torch.diagonal: _diagonal,
    torch.Tensor.diagonal: _diagonal,
    torch.diag_embed: _diagonal_embedded,
    torch.Tensor.diag_embed: _diagonal_embedded,
    torch.diag: _of_diagonal,
    torch.Tensor.diag: _of_diagonal,
}

__all__ = ["FUNCTIONS"]
