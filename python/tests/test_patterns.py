"""Patterns of Python's that models have, each held against PyTorch at other sizes and data: none may give other results without saying so."""

from __future__ import annotations

import contextlib

import pytest
import torch
from torch import nn
from torch.utils import _pytree as pytree

import aten2onnx


class Net(nn.Module):
    """A model with a few layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.table, self.head = nn.Linear(4, 4), nn.Linear(4, 4), nn.Embedding(7, 4), nn.Linear(4, 7)


class Caught(Net):
    """An error of the model that the model catches."""

    def root(self, x):
        if x.sum() < 0:
            raise ValueError("negative")
        return x.abs().sqrt()

    def forward(self, x):
        try:
            return self.root(x)
        except ValueError:
            return x * 0


class Suppressed(Net):
    def forward(self, x):
        y = x * 2
        with contextlib.suppress(AssertionError):
            assert x.max() < 2
            y = y + 1
        return y


class Contained(Net):
    """A branch on data that code of PyTorch asks for the model."""

    def forward(self, x):
        ids = self.head(x).argmax(-1)
        if 3 in ids:
            return x * 2
        return x


class Base(Net):
    """A float that is a constant on one side, and follows from a size on the other."""

    def forward(self, x):
        n, base = x.shape[0], 10000.0
        if n > 8:
            base = base * ((2.0 * n / 8) - 1) ** 2
        turns = torch.outer(torch.arange(n).float(), 1.0 / base ** (torch.arange(0, 4, 2).float() / 4))
        return x * torch.cat([turns.cos(), turns.sin()], 1)


class Walrus(Net):
    """Assignments in the conditions of a branch, a loop and a comprehension."""

    def forward(self, x):
        if (most := x.max()) > 2:
            return x / most
        while (n := x.shape[0]) > 3:
            x = x[: n - 2]
        kept = [total for row in x if (total := row.sum()) > 0]
        return x * n + most + (torch.stack(kept).sum() if kept else 0.0)


class Endless(Net):
    """Power iteration: a loop that only `return` leaves."""

    def forward(self, x):
        matrix, v, turns = x.T @ x + torch.eye(4), torch.ones(4), 0
        while True:
            w: torch.Tensor = matrix @ v
            w = w / w.norm()
            turns += 1
            if (w - v).norm() < 1e-3 or turns > 50:
                return w
            v = w


class Advantages(Net):
    """Generalized advantage estimation: a number in place of a tensor in the first turn."""

    def forward(self, x):
        rewards, values, done = x[:, 0], x[:, 1], x[:, 2] > 1
        found, last = torch.zeros_like(rewards), 0.0
        for t in reversed(range(len(rewards))):
            following = values[t + 1] if t + 1 < len(rewards) else 0.0
            delta = rewards[t] + 0.99 * following * (~done[t]) - values[t]
            last = delta + 0.9 * last * (~done[t])
            found[t] = last
        return found


class Suppression(Net):
    """Non-maximum suppression with a mask, whose list of rows is an index."""

    def forward(self, x):
        distances, gone, kept = torch.cdist(x, x), torch.zeros(len(x), dtype=torch.bool), []
        for i in x.sum(1).argsort(descending=True).tolist():
            if gone[i]:
                continue
            kept.append(i)
            gone |= distances[i] < 1.5
        return torch.tensor(kept), x[kept]


class Expert(Net):
    """A module of a list that an element of a tensor chooses, for each row."""

    def __init__(self) -> None:
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

    def forward(self, x):
        gate = self.head(x)[:, :3].argmax(-1)
        return torch.stack([self.experts[gate[i]](x[i]) for i in range(x.shape[0])])


class Adaptive(Net):
    """The name of a layer that was not left is another type on the side that leaves the loop; the layer that was the last one chooses a head."""

    def __init__(self) -> None:
        super().__init__()
        self.heads = nn.ModuleList(nn.Linear(4, 2) for _ in range(3))

    def forward(self, x):
        sure = None
        for i in range(3):
            if len(x) == 0:
                break
            x = torch.tanh(self.first(x)) + x
            sure = x.norm(dim=1)
            if sure.mean() > 3:
                break
            if len(x) > 4:
                x = x[sure > 0.5]
        return self.heads[i](x), i + 1


PATTERNS = [Caught, Suppressed, Contained, Base, Walrus, Endless, Advantages, Suppression, Expert, Adaptive]


def inputs():
    torch.manual_seed(0)
    for n in (1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13):
        for change in (torch.clone, torch.abs, lambda x: -x.abs()):
            yield change(torch.randn(n, 4)) * (1 + n % 3)


def check(program, model) -> None:
    compared = 0
    for x in inputs():
        try:
            wanted = [torch.as_tensor(value) for value in pytree.tree_leaves(model(x.clone()))]
        except Exception:
            continue
        compared += 1
        for got, want in zip(program(x), wanted, strict=True):
            assert got.shape == want.shape, (x.shape, got.shape, want.shape)
            torch.testing.assert_close(got, want, atol=1e-3, rtol=1e-3, equal_nan=True, check_dtype=False)
    assert compared >= 12


def exported(kind):
    torch.manual_seed(1)
    model = kind().eval()
    torch.manual_seed(0)
    return aten2onnx.export(model, (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record"), model


@pytest.mark.parametrize("kind", PATTERNS, ids=lambda kind: kind.__name__)
def test_patterns_are_right(kind) -> None:
    program, model = exported(kind)
    assert not program.report.conditions
    check(program, model)


def test_a_mask_that_pytorch_looks_at_may_be_another_one() -> None:
    """`nn.TransformerEncoder` compares its mask with the causal one, and computes something else then."""
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 1, enable_nested_tensor=False).eval()
    x, causal = torch.randn(2, 6, 4), nn.Transformer.generate_square_subsequent_mask(6)
    program = aten2onnx.export(model, (x, causal), capture="record")
    for mask in (causal, torch.zeros(6, 6), torch.randn(6, 6)):
        torch.testing.assert_close(program(x, mask)[0], model(x, mask), atol=1e-5, rtol=1e-5)


class State:
    """An object of a class that no library knows."""

    def __init__(self, h) -> None:
        self.h, self.width = h, 4


@pytest.mark.parametrize("state", [None, State(torch.ones(4))], ids=["tensors", "object"])
def test_numbers_among_the_results_are_outputs(state) -> None:
    class Counts(nn.Module):
        def forward(self, x, state):
            count = 0
            for row in x:
                if row.sum() > 0:
                    count += 1
            return x * 2 if state is None else x * 2 + state.h, count, x.sum(0), x.shape[0]

    model = Counts().eval()
    program = aten2onnx.export(model, (torch.randn(6, 4), state), dynamic_shapes={"x": {0: "n"}, "state": None}, capture="record", verify=True)
    session = program.initialize_inference_session() or program._session
    for n in (1, 3, 9):
        x = torch.randn(n, 4)
        found = session.run(None, dict(zip([put.name for put in session.get_inputs()], [x.numpy(), *([] if state is None else [state.h.numpy()])])))
        for got, want in zip(found, model(x, state), strict=True):
            torch.testing.assert_close(torch.as_tensor(got), torch.as_tensor(want), atol=1e-4, rtol=1e-4)


def test_an_error_of_an_operator_that_the_model_catches_is_noted() -> None:
    class Jittered(nn.Module):
        def forward(self, x):
            try:
                return torch.linalg.cholesky(x)
            except torch.linalg.LinAlgError:
                return torch.linalg.cholesky(x + 10 * torch.eye(3))

    program = aten2onnx.export(Jittered().eval(), (torch.eye(3),), capture="record")
    assert any("catches errors of `return torch.linalg.cholesky(x)`" in note and "test_patterns.py" in note for note in program.report.notes), program.report.notes
