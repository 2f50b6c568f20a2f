"""Shapes of results for the operators that PyTorch computes them of with all of their arithmetic in Python: a run without elements would mostly wait for that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch

aten = torch.ops.aten

#: Functions of one float each, that keep its type. They are also there as writes in place.
_OF_ONE = ("hardswish", "hardsigmoid", "hardtanh", "relu6", "relu", "leaky_relu", "elu", "celu", "selu", "silu", "mish", "sigmoid", "tanh", "gelu", "softplus", "clamp", "exp", "sqrt", "rsqrt", "neg", "abs")
#: Normalizations that keep the type of their first argument; `batch_norm` does outside training.
_NORMS = (aten.batch_norm.default, aten.group_norm.default, aten.instance_norm.default)
_CONVOLUTIONS = {aten.conv1d.default: 1, aten.conv2d.default: 2, aten.conv3d.default: 3}
_ELEMENTWISE = {
    getattr(getattr(aten, name), "default") for base in _OF_ONE for name in (base, f"{base}_") if hasattr(aten, name) and hasattr(getattr(aten, name), "default")
}


class Shape(NamedTuple):
    """The shape of a result, and the order of its elements."""

    sizes: list[int]
    order: torch.memory_format = torch.contiguous_format


def shape_of_result(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Shape | None:
    """The shape of the result of a call, which has the dtype of the first argument; None if PyTorch has to say what the result is."""
    first = args[0] if args else None
    if not isinstance(first, torch.Tensor) or (kwargs and function not in _ELEMENTWISE):
        return None
    if function is aten.linear.default:
        weight = args[1]
        return Shape([*first.shape[:-1], weight.shape[0]]) if first.dim() > 0 and weight.dim() == 2 and first.shape[-1] == weight.shape[1] else None
    if function is aten.layer_norm.default:
        return Shape(list(first.shape))
    order = _order_of(first)
    if order is None:
        return None
    if function in _ELEMENTWISE:
        return Shape(list(first.shape), order) if first.is_floating_point() else None
    if function is aten.instance_norm.default and order is not torch.contiguous_format:
        return None
    if function in _NORMS:
        return None if function is aten.batch_norm.default and args[5] else Shape(list(first.shape), order)
    if function in _CONVOLUTIONS:
        return _shape_of_convolution(_CONVOLUTIONS[function], order, *args)
    return None


def _order_of(tensor: torch.Tensor) -> torch.memory_format | None:
    """The order of the elements of a dense tensor; None if it is another one."""
    if tensor.is_contiguous():
        return torch.contiguous_format
    return torch.channels_last if tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last) else None


def _shape_of_convolution(
    rank: int, order: torch.memory_format, first: Any, weight: Any, _: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Shape | None:
    of_weight = _order_of(weight)
    if first.dim() != rank + 2 or weight.dim() != rank + 2 or first.shape[1] != weight.shape[1] * groups or of_weight is None:
        return None
    sizes = [first.shape[0], weight.shape[0]]
    for axis in range(rank):
        step, pad, wide = (_at(given, axis) for given in (stride, padding, dilation))
        size = (first.shape[axis + 2] + 2 * pad - wide * (weight.shape[axis + 2] - 1) - 1) // step + 1
        if size <= 0:
            return None
        sizes.append(size)
    return Shape(sizes, torch.channels_last if torch.channels_last in (order, of_weight) else order)


def _at(given: Any, axis: int) -> int:
    """What is given for an axis: one number may be for all."""
    if isinstance(given, int):
        return given
    return int(given[axis] if len(given) > 1 else given[0])


__all__ = ["Shape", "shape_of_result"]
