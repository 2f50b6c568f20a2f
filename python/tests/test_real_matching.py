"""LightGlue, exported as it is: it stops after the layer that is sure of all points, and drops points that have no match."""

from __future__ import annotations

import torch

import aten2onnx

from real_models import matcher, points
from tiers import slow


@slow
def test_lightglue_stops_early_and_drops_points() -> None:
    model = matcher()
    torch.manual_seed(1)
    m, n = torch.export.Dim("m", min=2), torch.export.Dim("n", min=2)
    shapes = {"kpts0": {1: m}, "kpts1": {1: n}, "desc0": {1: m}, "desc1": {1: n}}
    program = aten2onnx.export(model, points(12, 9), dynamic_shapes=shapes, capture="record", max_runs=2)
    assert program.report.operators["If"] > 6 and not program.report.conditions
    depths, dropped = set(), 0
    for sizes in ((12, 9), (3, 3), (5, 2), (9, 20), (30, 24)):
        for scale in (0.1, 0.5, 1.0, 1.0, 2.0, 2.0, 4.0, 4.0):
            args = points(*sizes, scale)
            wanted = model(*args)
            depths.add(wanted[4])
            dropped += int((wanted[5] < wanted[4]).sum())
            for got, want in zip(program(*args), wanted, strict=True):
                torch.testing.assert_close(got, torch.as_tensor(want), atol=1e-4, rtol=1e-4)
    assert len(depths) > 1 and dropped > 10
