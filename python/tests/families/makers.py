"""Modules around functions and layers, and inputs from texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

#: Sizes of the named dimensions: those of the example, and others. An `e` is even.
SIZES = [
    {"a": 2, "b": 3, "c": 4, "d": 5, "e": 4, "h": 8, "w": 9},
    {"a": 3, "b": 5, "c": 6, "d": 2, "e": 6, "h": 11, "w": 7},
    {"a": 4, "b": 2, "c": 3, "d": 7, "e": 2, "h": 6, "w": 12},
    {"a": 1, "b": 4, "c": 5, "d": 3, "e": 8, "h": 9, "w": 6},
]
_DTYPES = {"f": torch.float32, "d": torch.float64, "h": torch.float16, "i": torch.int64, "w": torch.int32, "u": torch.uint8}


def layer(make: Callable[[], nn.Module], call: Callable[..., Any] = lambda inner, *args: inner(*args)) -> Callable[[], nn.Module]:
    """A class of modules that call a layer."""

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = make()

        def forward(self, *args: torch.Tensor) -> Any:
            return call(self.inner, *args)

    return Layer


class Calls(nn.Module):
    """A module that calls a function, or a module of a class."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function() if isinstance(function, type) else function

    def forward(self, *args: torch.Tensor) -> Any:
        return self.function(*args)


def tensor(text: str, sizes: dict[str, int]) -> torch.Tensor:
    """A tensor of `KIND SIZE ..`. Kinds: f, d and h are normal floats of 32, 64 and 16 bits, those with + from 0.5 to 1.5, r from 0 to 1; i, w and u are
    integers of 64, 32 and 8 bits, i5 below 5, i+ positive, p5 different ones below 5 in each row; b is a truth value, n one whose first is false."""
    kind, *names = text.split()
    shape = [sizes[name] if name in sizes else int(name) for name in names]
    letter, rest = kind[0], kind[1:]
    if letter == "p":
        rows = [torch.randperm(int(rest))[: shape[-1]] for _ in range(torch.Size(shape[:-1]).numel())]
        return torch.stack(rows).reshape(shape)
    if letter in "fdh":
        return (torch.rand(shape) + 0.5 if rest == "+" else torch.randn(shape)).to(_DTYPES[letter])
    if letter == "r":
        return torch.rand(shape)
    if letter in "bn":
        chosen = torch.rand(shape) > 0.5
        if letter == "n":
            chosen[..., 0] = False
        return chosen
    low, high = (0, int(rest)) if rest.isdigit() else (1, 9) if rest == "+" else (0, 9) if letter == "u" else (-9, 10)
    return torch.randint(low, high, shape).to(_DTYPES[letter])


def inputs(texts: tuple[str, ...], turn: int) -> tuple[torch.Tensor, ...]:
    """The inputs at a set of sizes."""
    torch.default_generator.manual_seed(turn + 1)
    return tuple(tensor(text, SIZES[turn]) for text in texts)


def axes(texts: tuple[str, ...], chosen: Callable[[str], Any]) -> dict[str, Any]:
    """The dynamic dimensions: all that have a name."""
    return {"args": tuple({axis: chosen(name) for axis, name in enumerate(text.split()[1:]) if not name.isdigit()} for text in texts)}
