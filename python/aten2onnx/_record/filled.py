"""Masks that choose nothing at the example, as where a detector finds nothing: in a run of their own some elements are chosen, so that what follows can be recorded."""

from __future__ import annotations

from typing import Any

import torch

aten = torch.ops.aten

#: So many elements are chosen.
_CHOSEN = 2
#: Operators whose results choose elements.
_MASKS = frozenset(
    overload
    for operator in (aten.gt, aten.ge, aten.lt, aten.le, aten.logical_and, aten.bitwise_and, aten.__and__)
    for overload in (getattr(operator, name) for name in operator.overloads())
)


def is_empty_mask(function: Any, out: Any) -> bool:
    """Whether the result of a call is a mask that chooses none of its elements."""
    return function in _MASKS and isinstance(out, torch.Tensor) and out.dtype == torch.bool and out.dim() > 0 and out.numel() > 0 and not out.is_meta and not out.any()


def fill_mask(mask: torch.Tensor) -> None:
    """Chooses the first elements of a mask."""
    first = torch.zeros(mask.numel(), dtype=torch.bool)
    first[:_CHOSEN] = True
    mask.copy_(first.view(mask.shape))


__all__ = ["fill_mask", "is_empty_mask"]
