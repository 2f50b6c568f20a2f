"""Holds a recorded program against its model at sizes that it was not recorded at: sizes of 1, which PyTorch and models treat in another way."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import torch
from torch.utils import _pytree as pytree

from .._calls import outputs
from .._runtime import user_inputs
from .._verify import is_random, results
from .runs import Arguments, summed
from .state import untouched


class Differs(Exception):
    """The program gives other results than the model, or does not run."""


def sizes_seen(recorded: Any, model: torch.nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, list[int]]:
    """The sizes of all tensors of a program at these arguments.

    Raises:
        Differs: The results are not those of the model.
        Exception: What the model raises.
    """
    sizes: dict[str, list[int]] = {}
    with torch.no_grad(), untouched(model):
        wanted = list(outputs(model(*copy.deepcopy(args), **copy.deepcopy(dict(kwargs)))).values())
        try:
            found, _ = results(recorded, user_inputs(recorded, args, kwargs), lambda node, value: sizes.update({node.name: list(value.shape)}))
        except Exception as error:  # PyTorch passes on whatever an operator raises.
            raise Differs(f"the program does not run: {(str(error).splitlines() or [''])[0]}") from error
    random = is_random(recorded)
    for number, (want, got) in enumerate(zip(wanted, found)):
        want, got = torch.as_tensor(want), torch.as_tensor(got)
        if want.shape != got.shape or want.dtype != got.dtype:
            raise Differs(f"output {number} is {got.dtype}{list(got.shape)}, and {want.dtype}{list(want.shape)} in the model")
        if not random and not _is_close(want, got):
            raise Differs(f"output {number} has other elements than in the model")
    return sizes


def _is_close(one: torch.Tensor, other: torch.Tensor) -> bool:
    wide = torch.complex128 if one.is_complex() else torch.float64
    return torch.allclose(one.to(wide), other.to(wide), 1e-3, 1e-5, True)


def sizes_at_one(recorded: Any, model: torch.nn.Module, arguments: Arguments, symbol: str) -> list[tuple[dict[str, int], dict[str, list[int]]]]:
    """The sizes of all tensors where a dimension is 1, at the sizes of the other dimensions in each run, and for three choices of data.

    Raises:
        Differs: The program is not right there.
        Exception: What the model raises.
    """
    found = []
    for sizes, _ in list(recorded.observed):
        chosen = summed(arguments, {**sizes, symbol: 1})
        leaves = arguments.at(chosen)
        for data in (leaves, [_other_data(leaf, 1) for leaf in leaves], [_other_data(leaf, -1) for leaf in leaves]):
            args, kwargs = pytree.tree_unflatten(data, arguments.tree)
            found.append((chosen, sizes_seen(recorded, model, args, kwargs)))
    return found


def _other_data(leaf: Any, sign: int) -> Any:
    """A tensor of floats of this sign, by turns with the other. Integers may be ids, and keep their values."""
    if not isinstance(leaf, torch.Tensor) or not leaf.is_floating_point():
        return leaf
    drawn = torch.rand(leaf.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64) + 0.5
    signs = (1 - 2 * (torch.arange(drawn.numel()) % 2)).reshape(drawn.shape)
    return (sign * signs * drawn).to(leaf.device, leaf.dtype)
