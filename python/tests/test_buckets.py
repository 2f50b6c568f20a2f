"""Lists that are made longer where they stand: in objects, in lists and dictionaries at a place that data choose, and by the rows of tensors."""

from __future__ import annotations

from typing import Any

import aten2onnx
import pytest
import torch
from torch import nn

SIZES = (1, 2, 3, 5, 8, 13)


def held(model: nn.Module, *make: Any, signs: tuple[float, ...] = (1, -1, 0.2)) -> aten2onnx.ONNXProgram:
    """Exports a model of rows, and compares it with itself at other sizes and data."""
    inputs = lambda n: tuple(one(n) for one in make) or (torch.randn(n, 4),)  # noqa: E731
    names = ("x", "y")[: len(inputs(2))]
    program = aten2onnx.export(model.eval(), inputs(6), dynamic_shapes={name: {0: "n"} for name in names}, capture="record")
    for n in SIZES:
        for sign in signs:
            args = tuple(value.abs() * sign if value.is_floating_point() and sign != 0.2 else value for value in inputs(n))
            wanted = [torch.as_tensor(value) for value in torch.utils._pytree.tree_leaves(model(*args))]
            for result, want in zip(program(*args), wanted, strict=True):
                torch.testing.assert_close(result, want, check_dtype=True)
    assert not program.report.conditions
    return program


class Found:
    def __init__(self) -> None:
        self.rows: list[torch.Tensor] = []
        self.best = -1e9

    def note(self, row: torch.Tensor) -> None:
        score = row.sum().item()
        if score > self.best:
            self.best = score
            self.rows.append(row)


class OfObject(nn.Module):
    def forward(self, x):
        found = Found()
        for row in x:
            found.note(row)
        return torch.stack(found.rows), found.best


class OfObjectHere(nn.Module):
    def forward(self, x):
        found = Found()
        for row in x:
            if row.sum() > 0:
                found.rows.append(row)
        return torch.stack(found.rows) if found.rows else x * 0


class OfNumber(nn.Module):
    def forward(self, x):
        buckets = [[] for _ in range(3)]
        for row in x:
            buckets[0 if row[0] < -0.5 else 1 if row[0] < 0.5 else 2].append(row)
        return torch.stack([torch.stack(rows).sum(0) if rows else torch.zeros(4) for rows in buckets]), torch.tensor([len(rows) for rows in buckets])


class OfText(nn.Module):
    def forward(self, x):
        sides = {"up": [torch.zeros(4)], "down": []}
        for row in x:
            side = "up" if row.sum() > 0 else "down"
            sides[side].append(row)
        return torch.stack(sides["up"]), len(sides["down"])


class OfModule(nn.Module):
    def forward(self, x):
        self.sides = {"up": [0], "down": [0]}
        for number, row in enumerate(x):
            self.sides["up" if row.sum() > 0 else "down"].append(number)
        return torch.tensor(self.sides["up"]), max(self.sides["down"])


class OfDefault(nn.Module):
    """Keys in the order in which the code has them."""

    def forward(self, x):
        sides = {"up": [], "down": []}
        for row in x:
            sides.setdefault("up" if row.sum() > 0 else "down", []).append(row)
        return len(sides["up"]), torch.stack(sides["down"]) if sides["down"] else x * 0


@pytest.mark.parametrize("model", [OfObject, OfObjectHere, OfNumber, OfText, OfModule, OfDefault])
def test_a_list_at_a_place_that_data_choose_is_made_longer(model):
    assert held(model()).report.operators["Loop"] == 1


def test_elements_choose_lists():
    class Groups(nn.Module):
        def forward(self, x, y):
            groups = [[] for _ in range(3)]
            for place in range(len(y)):
                groups[int(y[place])].append(x[place])
            return torch.stack([torch.stack(rows).sum(0) if len(rows) > 0 else torch.zeros(4) for rows in groups])

    held(Groups(), lambda n: torch.randn(n, 4), lambda n: torch.randint(0, 3, (n,)))


class Merges(nn.Module):
    """Merges two sorted lists: what is left of either follows."""

    def forward(self, x, y):
        i = j = 0
        merged = []
        while i < len(x) and j < len(y):
            if x[i] <= y[j]:
                merged.append(x[i])
                i += 1
            else:
                merged.append(y[j])
                j += 1
        merged.extend(x[i:])
        merged += y[j:]
        return torch.stack(merged)


def test_a_list_gets_the_rows_of_a_tensor():
    held(Merges(), lambda n: torch.randn(n).sort().values, lambda n: torch.randn(n).sort().values)


class Empties(nn.Module):
    def forward(self, x):
        rows = []
        rows.extend(x[1:])
        rows += torch.flip(x, (0,))
        return torch.stack(rows), len(rows)


def test_an_empty_list_gets_the_rows_of_a_tensor_without_a_loop():
    assert "Loop" not in held(Empties()).report.operators


class Skyline(nn.Module):
    """What no other row exceeds in all elements: `bool` of a tensor is a condition of the file."""

    def forward(self, x):
        keep = []
        for i in range(len(x)):
            is_below = False
            for j in range(len(x)):
                if j != i and bool((x[j] > x[i]).all()):
                    is_below = True
                    break
            keep.append(not is_below)
        return torch.tensor(keep), x[torch.tensor(keep)]


def test_bool_of_a_tensor_is_a_condition_in_a_turn():
    held(Skyline())
