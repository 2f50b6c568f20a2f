"""How far the results of a model are from each other at inputs that differ in their last digits: so far may two right ways to compute them differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils import _pytree as pytree

#: The inputs change so often, by as many units in the last place at most.
_TIMES, _UNITS = 3, 2
#: A result may differ from that of the model by so many times of what it changes, and by so much of its largest element: more is no rounding.
_MOST, _SHARE = 4.0, 0.01


def nudged_inputs(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Copies of arguments whose floats are a few units in the last place off."""
    leaves, tree = pytree.tree_flatten((args, kwargs))
    generator = torch.Generator().manual_seed(0)
    for _ in range(_TIMES):
        changed, named = pytree.tree_unflatten([_nudged(leaf, generator) for leaf in leaves], tree)
        yield changed, named


def _nudged(leaf: Any, generator: torch.Generator) -> Any:
    if not isinstance(leaf, torch.Tensor) or not leaf.is_floating_point():
        return leaf
    steps = torch.randint(-_UNITS, _UNITS + 1, leaf.shape, generator=generator).to(leaf.device, leaf.dtype)
    return leaf.detach() * (1 + steps * torch.finfo(leaf.dtype).eps)


def is_noise(want: torch.Tensor, got: torch.Tensor, others: Callable[[], Iterator[torch.Tensor]]) -> bool:
    """Whether a result differs from that of a model no more than the latter does from its results at inputs that are nearly the same."""
    if want.shape != got.shape or not want.is_floating_point() or want.numel() == 0:
        return False
    wide = want.to(torch.float64)
    apart = (got.to(torch.float64) - wide).abs().max()
    if not _is_small(apart, wide):
        return False
    changes = [(other.to(torch.float64) - wide).abs().max() for other in others() if other.shape == want.shape]
    return bool(changes) and bool(apart <= _MOST * torch.stack(changes).max())


def _is_small(apart: torch.Tensor, wide: torch.Tensor) -> bool:
    return bool(apart <= _SHARE * wide.abs().max())


__all__ = ["is_noise", "nudged_inputs"]
