"""What a model remembers of earlier calls, and what is left of an export."""

from __future__ import annotations

import copy
import functools
from typing import Any

import aten2onnx
import pytest
import torch
from torch import nn

from tiers import by_turns

SIZES = [(1, 1), (2, 2), (3, 5), (5, 3), (7, 1), (9, 9)]


def held(model: nn.Module) -> aten2onnx.ONNXProgram:
    """Exports a model, and compares it with itself at other sizes."""
    program = aten2onnx.export(model, (torch.randn(1, 2, 3, 5),), dynamic_shapes={"x": {2: "n", 3: "m"}}, capture="record")
    assert not program.report.conditions
    for n, m in SIZES:
        x = torch.randn(1, 2, n, m)
        result = model(x)
        assert type(result) is torch.Tensor
        torch.testing.assert_close(program(x)[0], result)
    return program


def grid(n: int, m: int) -> torch.Tensor:
    return torch.arange(n)[:, None] * 10.0 + torch.arange(m)


class OfShape(nn.Module):
    """As detectors keep the grids of their last input."""

    def __init__(self) -> None:
        super().__init__()
        self.grids = [torch.empty(0)] * 2

    def forward(self, x):
        for place in range(2):
            if self.grids[place].shape != x.shape[2:]:
                self.grids[place] = grid(*x.shape[2:]) * (place + 1)
            x = x + self.grids[place]
        return x


class OfSize(nn.Module):
    """As detectors keep the anchors of their last input, and its shape."""

    def __init__(self) -> None:
        super().__init__()
        self.shape: Any = None
        self.register_buffer("anchors", torch.empty(0), persistent=False)

    def forward(self, x):
        shape = x.shape
        if self.shape != shape:
            self.anchors = grid(shape[2], shape[3])
            self.shape = shape
        return x * self.anchors


class OfKey(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.grids: dict[Any, torch.Tensor] = {}

    def forward(self, x):
        key = (x.shape[2], x.shape[3])
        if key not in self.grids:
            self.grids[key] = grid(*key)
        return x + self.grids[key]


class OfText(OfKey):
    def forward(self, x):
        key = f"{x.shape[2]}x{x.shape[3]}"
        if self.grids.get(key) is None:
            self.grids[key] = grid(x.shape[2], x.shape[3])
        return x + self.grids[key]


class OfGet(OfKey):
    def forward(self, x):
        key = x.shape[3]
        found = self.grids.get(key)
        if found is None:
            found = torch.ones(key, key).tril()
            self.grids[key] = found
        return x @ found


class OfError(OfKey):
    def forward(self, x):
        key = x.shape[2]
        try:
            return x + self.grids[key]
        except KeyError:
            self.grids[key] = grid(key, 1)
            return x + self.grids[key]


cached_grid = functools.lru_cache(maxsize=8)(grid)


class OfFunction(nn.Module):
    @functools.cache  # noqa: B019
    def own(self, n: int) -> torch.Tensor:
        return torch.arange(n) * 2.0

    def forward(self, x):
        return x + cached_grid(x.shape[2], x.shape[3]) + self.own(x.shape[3])


MODELS = [OfShape, OfSize, OfKey, OfText, OfGet, OfError, OfFunction]


@pytest.mark.parametrize("model", MODELS)
def test_a_model_that_was_not_called_before(model):
    cached_grid.cache_clear()
    held(model().eval())


#: The first are the sizes of the example, the second those of another run.
BEFORE = [(3, 5), (6, 10), (4, 4)]


@pytest.mark.parametrize(("model", "before"), by_turns(MODELS, BEFORE))
def test_a_model_that_was_called_before(model, before):
    made = model().eval()
    made(torch.randn(1, 2, *before))
    kept = copy.deepcopy({name: value for name, value in vars(made).items() if not name.startswith("_")})
    program = held_once(made)
    assert {name: str(value) for name, value in kept.items()} == {name: str(vars(made)[name]) for name in kept}
    for n, m in SIZES:
        x = torch.randn(1, 2, n, m)
        torch.testing.assert_close(program(x)[0], made(x))


def held_once(model: nn.Module) -> aten2onnx.ONNXProgram:
    return aten2onnx.export(model, (torch.randn(1, 2, 3, 5),), dynamic_shapes={"x": {2: "n", 3: "m"}}, capture="record")


class Counts(nn.Module):
    """What it keeps is no memo: it is another result after each call."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: dict[int, int] = {}

    def forward(self, x):
        n = x.shape[2]
        if n not in self.seen:
            self.seen[n] = len(self.seen)
        return x * (self.seen[n] + 1)


def test_a_state_that_is_no_memo_is_not_forgotten():
    model = Counts().eval()
    model(torch.randn(1, 2, 8, 5))
    model(torch.randn(1, 2, 3, 5))
    program = held_once(model)
    for n in (1, 3, 5, 8):
        x = torch.randn(1, 2, n, 4)
        torch.testing.assert_close(program(x)[0], copy.deepcopy(model)(x))


class Drifts(nn.Module):
    """A state that no file has: the recording without it is another program."""

    def __init__(self) -> None:
        super().__init__()
        self.grid = torch.empty(0)

    def forward(self, x):
        if self.grid.shape != x.shape[2:]:
            self.grid = grid(*x.shape[2:]) + self.grid.sum()
        return x + self.grid


def test_a_recording_without_a_state_is_held_against_the_model():
    model = Drifts().eval()
    model(torch.randn(1, 2, 3, 5))
    with pytest.raises(aten2onnx.CaptureError, match="test_memos.py"):
        held_once(model)
