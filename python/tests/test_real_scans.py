"""Real models whose number of turns or whose way depends on sizes, exported as they are: Mamba's scan, the sampling of PointNet++, DINOv2's positions."""

from __future__ import annotations

import pytest
import torch

import aten2onnx

from real_models import SetAbstraction, dinov2, mamba
from test_branch_runs import FIRST, counted_runs

pytest.importorskip("transformers")


def check(program, model, examples) -> None:
    for args in examples:
        wanted = model(*args)
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        for got, want in zip(program(*args), wanted, strict=True):
            torch.testing.assert_close(got, want, atol=1e-4, rtol=1e-4)


def test_the_sequential_scan_of_mamba_at_any_length() -> None:
    model = mamba()
    program = aten2onnx.export(model, (torch.randint(0, 29, (2, 7)),), dynamic_shapes={"ids": {0: "batch", 1: "n"}}, capture="record")
    assert program.report.operators["Loop"] == 1 and not program.report.conditions
    check(program, model, [(torch.randint(0, 29, sizes),) for sizes in ((1, 1), (1, 2), (3, 5), (2, 40), (1, 133))])


@pytest.mark.parametrize("sizes", [(16, 16), (20, 24)])
def test_the_positions_of_dinov2_are_interpolated_unless_the_sizes_are_those_of_training(sizes, monkeypatch) -> None:
    model, number = dinov2(), counted_runs(monkeypatch)
    program = aten2onnx.export(model, (torch.randn(1, 3, *sizes),), dynamic_shapes={"pixels": {0: "batch", 2: "h", 3: "w"}}, capture="record")
    assert program.report.operators["If"] >= 1 and not program.report.conditions
    # The positions are used as they are at one size of images alone: at most others that side raises an error, but sizes at which both sides run are found soon.
    assert len(number) <= FIRST + 3 * 2 * program.report.operators["If"]
    others = [(1, 16, 16), (2, 16, 20), (1, 24, 24), (1, 12, 20), (3, 8, 32), (1, 32, 8), (1, 17, 16), (2, 18, 21)]
    check(program, model, [(torch.randn(batch, 3, h, w),) for batch, h, w in others])


@pytest.mark.parametrize(("count", "loops"), [(None, 1), (8, 0)])
def test_sampling_and_grouping_of_pointnet(count, loops) -> None:
    model = SetAbstraction(count).eval()
    program = aten2onnx.export(model, (torch.randn(2, 20, 3),), dynamic_shapes={"xyz": {0: "batch", 1: "n"}}, capture="record")
    assert program.report.operators.get("Loop", 0) == loops
    check(program, model, [(torch.randn(*sizes, 3) * scale,) for sizes in ((1, 10), (2, 15), (3, 33), (1, 64)) for scale in (0.3, 1.0, 3.0)])
