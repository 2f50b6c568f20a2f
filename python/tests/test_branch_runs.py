"""How many times a model runs so that both sides of its branches are recorded."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import aten2onnx

#: The runs of a model without branches, at the example and at two other sizes, and one that finds out whether a branch on a size matters.
FIRST = 4


class Branches(nn.Module):
    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(count))


class OnData(Branches):
    def forward(self, x):
        for i in range(self.count):
            x = torch.tanh(self.layers[i](x)) if x.sum() * (1 if i % 2 else -1) > 0 else x * 0.5 + i
        return x


class OnSizes(Branches):
    def forward(self, x):
        for i in range(self.count):
            x = torch.tanh(self.layers[i](x)) if x.shape[0] > i + 5 else x * 0.5 + i
        return x


class Nested(Branches):
    def inner(self, x, i):
        if i == self.count:
            return x
        if x.sum() > i:
            return self.inner(torch.tanh(self.layers[i](x)), i + 1)
        return x * (i + 2)

    def forward(self, x):
        return self.inner(x, 0)


class InLoop(Branches):
    def forward(self, x):
        h = torch.zeros(4)
        for row in x:
            for i in range(self.count):
                h = torch.tanh(self.layers[i](h) + row) if h.sum() > row[i % 4] else h * 0.5 + row
        return h


@pytest.mark.parametrize("count", [1, 3, 10])
@pytest.mark.parametrize(("kind", "most"), [(OnData, 3), (OnSizes, 3), (Nested, 3), (InLoop, 5)])
def test_a_side_of_a_branch_takes_few_runs(kind, most, count, monkeypatch) -> None:
    from aten2onnx._record import runs

    recorded, number = runs._recorded, []
    monkeypatch.setattr(runs, "_recorded", lambda *args: [recorded(*args), number.append(1)][0])
    program = aten2onnx.export(kind(count).eval(), (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")
    assert program.report.operators["If"] == count
    assert len(number) - FIRST <= most * 2 * count
