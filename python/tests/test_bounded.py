"""Runs at other sizes end if they make many more calls than the one at the example."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import aten2onnx
from aten2onnx._record.bounded import Bounded, Reach, TooManyCalls
from aten2onnx._record.recorder import Recorder

SMALL = (2, 3, 5, 7)


class Doubling(nn.Module):
    """2^n turns for n rows: 30 rows never end."""

    def forward(self, x):
        h, k = x[0], 0
        for row in x:
            for _ in range(k + 1):
                h = torch.tanh(h * 0.5 + row)
                k += 1
        return h * k


def test_a_run_that_ends_leaves_its_blocks() -> None:
    with pytest.raises(TooManyCalls), Bounded(4), torch.no_grad():
        for _ in range(9):
            torch.ones(1)
    assert torch.is_grad_enabled()


def test_turns_that_double_with_each_row_are_exported() -> None:
    model, calls = Doubling().eval(), 0

    def count(*_: object) -> None:
        nonlocal calls
        calls += 1

    model.register_forward_pre_hook(count)
    program = aten2onnx.export(model, (torch.randn(6, 3),), dynamic_shapes={"x": {0: "n"}}, capture="record")
    assert calls > 2
    for size in SMALL:
        x = torch.randn(size, 3)
        torch.testing.assert_close(program(x)[0], model(x), atol=1e-4, rtol=1e-4)


def test_sizes_beyond_those_of_a_run_that_was_ended_are_not_tried() -> None:
    reach = Reach()
    reach.start(1000)
    assert reach.most == 20_000
    reach.note(ValueError("another error"), {"n": 1, "m": 1})
    assert not reach.is_beyond({"n": 9, "m": 9})
    reach.note(TooManyCalls("too many"), {"n": 4, "m": 5})
    assert reach.is_beyond({"n": 4, "m": 5}) and reach.is_beyond({"n": 9, "m": 5})
    assert not reach.is_beyond({"n": 3, "m": 50})


def test_a_run_ends_after_so_many_calls() -> None:
    ended = False
    try:
        with Bounded(10):
            for _ in range(11):
                torch.ones(1)
    except TooManyCalls:
        ended = True
    assert ended


class Endless(nn.Module):
    """No end where the sum is negative."""

    def forward(self, x):
        step, count = 1, 0
        if x.sum() < 0:
            step = 0
        while count < 5:
            x = x + 1
            count += step
        return x


def test_a_side_without_an_end_is_ended(monkeypatch) -> None:
    known, calls = Recorder.call, 0

    def counted(*args):
        nonlocal calls
        calls += 1
        if calls > 300_000:
            raise SystemExit("no end")
        return known(*args)

    monkeypatch.setattr(Recorder, "call", counted)
    program = aten2onnx.export(Endless().eval(), (torch.rand(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")
    for size in SMALL:
        x = torch.rand(size, 4)
        torch.testing.assert_close(program(x)[0], Endless()(x))
