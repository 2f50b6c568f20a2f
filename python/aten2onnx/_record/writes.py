"""Writes of values whose first size may be 1: PyTorch leaves out the first dimensions of a value that have one element, and writes what is left.

`out[rows] = layer(x[rows])` makes another call where there is one row. A value of no more dimensions than what it is written to is broadcast to it all the same.
"""

from __future__ import annotations

from typing import Any

import torch

from .tensors import Tracked, sizes_of

aten = torch.ops.aten


def write_whole(tensor: Any, parts: tuple[Any, ...], value: Any) -> bool:
    """Writes a value to a part of a tensor as it is, if its first size is 1 in this run only; whether it was such a write."""
    if not isinstance(value, Tracked) or value.actual.dim() == 0 or value.actual.shape[0] != 1 or not isinstance(sizes_of(value)[0], torch.SymInt):
        return False
    full = _full(parts, tensor.dim())
    if full is None:
        return False
    indices = [part if isinstance(part, torch.Tensor) else None for part in full]
    if all(index is None for index in indices):
        if value.dim() > tensor.dim():
            return False
        tensor.copy_(value)
        return True
    if value.dim() > _rank(tensor.dim(), indices):
        return False
    aten.index_put_.default(tensor, indices, value)
    return True


def _full(parts: tuple[Any, ...], rank: int) -> list[Any] | None:
    """An index with whole dimensions in place of `...`; None if it has something else than tensors and whole dimensions."""
    if not all(part is Ellipsis or isinstance(part, torch.Tensor) or (isinstance(part, slice) and part == slice(None)) for part in parts):
        return None
    used = sum(_taken(part) for part in parts if part is not Ellipsis)
    found: list[Any] = []
    for part in parts:
        found += [slice(None)] * (rank - used) if part is Ellipsis else [part]
    return found


def _taken(part: Any) -> int:
    """The dimensions that a part of an index stands for."""
    return part.dim() if isinstance(part, torch.Tensor) and part.dtype in (torch.bool, torch.uint8) else 1


def _rank(rank: int, indices: list[Any]) -> int:
    """The dimensions of what tensors choose."""
    tensors = [index for index in indices if index is not None]
    chosen = [1 if index.dtype in (torch.bool, torch.uint8) else index.dim() for index in tensors]
    return rank - sum(map(_taken, tensors)) + max(chosen)


__all__ = ["write_whole"]
