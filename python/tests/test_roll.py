"""`roll=`: loops of a fixed number of turns become a Loop, if each turn does the same."""

from __future__ import annotations

import cProfile
import gc
import sys

import pytest
import torch
from torch import nn

import aten2onnx


class Recurrence(nn.Module):
    """Turns over a range, that carry a state and collect results."""

    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        h, out = torch.zeros(x.shape[0], 4), []
        for t in range(x.shape[1]):
            h = torch.tanh(self.inner(x[:, t]) + self.outer(h))
            out.append(h)
        return torch.stack(out, 1), h


class Rows(nn.Module):
    def forward(self, x):
        h = torch.zeros(4)
        for row in x:
            h = h * 0.5 + row.sin()
        return h


class Unbound(nn.Module):
    def forward(self, x):
        h = torch.zeros(12)
        for column in x.unbind(1):
            h = h * 0.5 + column
        return h


class Counted(nn.Module):
    """Turns that compute with their number, from 3 in steps of 2, and begin in another way."""

    def forward(self, x):
        h = x
        for i in range(3, 27, 2):
            h = h + torch.cos(x * i) if i > 3 else h * 2
        return h


class Sides(nn.Module):
    """A branch on data in each turn."""

    def forward(self, x):
        h = x
        for i in range(10):
            if h.sum() > 0:
                h = h - x.abs() * 0.4
            else:
                h = h + 0.25 * i
        return h


class Pairs(nn.Module):
    def forward(self, x, y):
        h = torch.zeros(4)
        for i, (a, b) in enumerate(zip(x, y)):
            h = h * 0.5 + a * b + i
        return h


class Comprehension(nn.Module):
    def forward(self, x):
        return torch.stack([x[i] * i + x.sum() for i in range(12)])


ROLLED = [
    (Recurrence, (torch.randn(3, 16, 4),)),
    (Rows, (torch.randn(12, 4),)),
    (Unbound, (torch.randn(12, 9),)),
    (Counted, (torch.randn(5),)),
    (Sides, (torch.randn(6),)),
    (Pairs, (torch.randn(12, 4), torch.randn(12, 4))),
    (Comprehension, (torch.randn(12, 3),)),
]


def kinds(program: aten2onnx.ONNXProgram) -> list[str]:
    return [node.op_type for node in program.model_proto.graph.node]


def compared(program: aten2onnx.ONNXProgram, model: nn.Module, args: tuple[torch.Tensor, ...]) -> None:
    wanted = model(*args)
    for got, want in zip(program(*args), wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        torch.testing.assert_close(got, want, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("kind", "args"), ROLLED, ids=[kind.__name__ for kind, _ in ROLLED])
def test_turns_that_do_the_same_are_rolled(kind, args):
    model = kind().eval()
    plain = aten2onnx.export(model, args)
    rolled = aten2onnx.export(model, args, roll=8)
    assert "Loop" not in kinds(plain)
    assert kinds(rolled).count("Loop") == 1
    assert len(kinds(rolled)) < len(kinds(plain))
    for program in (plain, rolled):
        compared(program, model, args)
        compared(program, model, tuple(-2 * arg for arg in args))


def test_other_sizes_stay_dynamic():
    model, x = Recurrence().eval(), torch.randn(3, 16, 4)
    program = aten2onnx.export(model, (x,), dynamic_shapes={"x": {0: "batch"}}, roll=8)
    assert "Loop" in kinds(program)
    for batch in (1, 3, 7):
        compared(program, model, (torch.randn(batch, 16, 4),))


class Layers(nn.Module):
    """Each turn has weights of its own."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(10))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        for i in range(10):
            x = x + self.layers[i].bias
        return x


@pytest.mark.parametrize(("model", "args", "turns"), [(Layers(), (torch.randn(2, 4),), 8), (Rows(), (torch.randn(6, 4),), 8)], ids=["weights", "few turns"])
def test_other_turns_stay_unrolled(model, args, turns):
    program = aten2onnx.export(model.eval(), args, roll=turns)
    assert "Loop" not in kinds(program)
    compared(program, model, args)
    assert any(f"no loop of at least {turns} turns" in note for note in program.report.notes)


def test_one_of_two_loops_is_rolled():
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers, self.rows = Layers(), Rows()

        def forward(self, x):
            return self.layers(x), self.rows(x)

    model, args = Both().eval(), (torch.randn(12, 4),)
    program = aten2onnx.export(model, args, roll=8)
    assert kinds(program).count("Loop") == 1
    compared(program, model, args)


@pytest.mark.parametrize(("options", "words"), [({"roll": 1}, "roll: found 1"), ({"roll": 4, "branches": "example"}, "roll cannot be used with branches='example'")])
def test_wrong_values_say_what_to_pass(options, words):
    with pytest.raises(aten2onnx.ArgumentError, match=words):
        aten2onnx.export(Rows().eval(), (torch.randn(6, 4),), **options)


class Converges(nn.Module):
    def forward(self, x):
        y = x.sum(0)
        for turn in range(50):
            following = torch.tanh(y * 0.8 + 0.1)
            if (following - y).abs().max() < 1e-3:
                break
            y = following
        return y, turn


def test_a_loop_with_more_branches_than_are_allowed_is_rolled():
    model = Converges().eval()
    program = aten2onnx.export(model, (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")
    assert program.report.operators["Loop"] == 1
    assert any("became a Loop, as with `roll=8`" in note for note in program.report.notes)
    for n in (1, 2, 9):
        for scale in (1, -5, 0):
            x = torch.randn(n, 4) * scale
            for result, want in zip(program(x), model(x), strict=True):
                torch.testing.assert_close(result, torch.as_tensor(want))


def test_a_profiler_goes_on() -> None:
    """Loops are found by the hook that cProfile has, too."""
    profile = cProfile.Profile()
    profile.enable()
    try:
        program = aten2onnx.export(Counted().eval(), (torch.randn(4),), roll=4)
        assert sys.getprofile() is profile
    finally:
        profile.disable()
    assert program.report.operators["Loop"] == 1


def test_code_that_a_frozen_collector_does_not_list_is_found() -> None:
    gc.freeze()
    try:
        program = aten2onnx.export(Counted().eval(), (torch.randn(4),), roll=4)
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
    assert program.report.operators["Loop"] == 1
