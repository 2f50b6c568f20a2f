"""Models that change themselves: a note says so if their next call gives other results."""

from __future__ import annotations


import aten2onnx
import pytest
import torch
from torch import nn



class Steps(nn.Module):
    def __init__(self):
        super().__init__()
        self.step = 0

    def forward(self, x):
        self.step += 1
        return x * self.step


class Previous(nn.Module):
    def __init__(self):
        super().__init__()
        self.before = None

    def forward(self, x):
        y = x if self.before is None else x + self.before
        self.before = x.sum()
        return y


class Listed(nn.Module):
    def __init__(self):
        super().__init__()
        self.found = []

    def forward(self, x):
        self.found.append(x.shape[0])
        return x * len(self.found)


class First(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Steps()
        self.is_first = True

    def forward(self, x):
        if self.is_first:
            self.is_first = False
            return x
        return x * 2


class Counts(nn.Module):
    """Nothing reads what it counts."""

    def __init__(self):
        super().__init__()
        self.calls = 0
        self.sizes = {}

    def forward(self, x):
        self.calls += 1
        self.last = x.shape
        self.sizes[self.calls] = x.shape[0]
        return x * 2


class Grid(nn.Module):
    def __init__(self):
        super().__init__()
        self.grid = None

    def forward(self, x):
        if self.grid is None or self.grid.shape[0] != x.shape[0]:
            self.grid = torch.arange(x.shape[0])
        return x + self.grid[:, None]


class Draws(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x + torch.rand_like(x)


def notes(model: nn.Module) -> list[str]:
    program = aten2onnx.export(model.eval(), (torch.ones(6, 4),), dynamic_shapes={"x": {0: "n"}})
    return [note for note in program.report.notes if "next call" in note]


@pytest.mark.parametrize("kind, name", [(Steps, "step"), (Previous, "before"), (Listed, "found"), (First, "is_first")])
def test_other_results_of_the_next_call_are_a_note(kind, name):
    model = kind().eval()
    before = dict(vars(model))
    assert [f"`{name}`" in note for note in notes(model)] == [True]
    assert vars(model) == before and torch.equal(model(torch.ones(3, 4)), torch.ones(3, 4))


@pytest.mark.parametrize("kind", [Counts, Grid, Draws])
def test_the_same_results_are_none(kind):
    assert notes(kind()) == []
