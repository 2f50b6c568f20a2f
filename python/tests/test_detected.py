"""Detectors that find nothing at the example, held against PyTorch where they find something."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import aten2onnx

from tiers import slow

torchvision = pytest.importorskip("torchvision")


class Detector(nn.Module):
    """Boxes of each cell, as FCOS has them: those above a threshold, without what overlaps."""

    def __init__(self):
        super().__init__()
        self.head = nn.Conv2d(3, 6, 3, padding=1)

    def forward(self, image):
        found = self.head(image)[0].flatten(1).T
        scores, kinds = found[:, :2].sigmoid().max(1)
        keep = torch.where(scores > 0.7)[0]
        if keep.numel() == 0:
            return torch.zeros(0, 4), torch.zeros(0), torch.zeros(0, dtype=torch.long)
        corner = keep.unsqueeze(1) % image.shape[-1] + found[keep, 2:4]
        boxes = torch.cat([corner, corner + found[keep, 4:].abs() * 4 + 1], 1)
        kept = torchvision.ops.batched_nms(boxes, scores[keep], kinds[keep], 0.4)
        return boxes[kept], scores[keep][kept], kinds[keep][kept]


class Both(nn.Module):
    """Two masks, of which only both together choose nothing."""

    def forward(self, x):
        rows = x[(x[:, 0] > 0) & (x[:, 1] > 0)]
        if rows.shape[0] > 0:
            return rows.max(0).values - rows.min(0).values
        return torch.zeros(x.shape[1])


class Rare(nn.Module):
    """What no data that are tried have."""

    def forward(self, x):
        rows = x[x[:, 0] > 1e12]
        if rows.numel() == 0:
            return torch.zeros(x.shape[1])
        return rows.max(0).values


def test_what_only_a_mask_that_is_filled_finds(tmp_path):
    program = aten2onnx.export(Rare().eval(), (torch.randn(6, 3),), tmp_path / "model.onnx", dynamic_shapes={"x": {0: "n"}}, capture="record")
    for n, rare in ((4, ()), (5, (1,)), (9, (0, 3, 8)), (1, (0,))):
        x = torch.randn(n, 3)
        x[list(rare), 0] = 2e12
        torch.testing.assert_close(torch.as_tensor(program(x)[0]), Rare()(x))


@pytest.mark.parametrize("shapes", (None, {"image": {2: "h", 3: "w"}}))
def test_a_detector_whose_example_has_no_object(shapes, tmp_path):
    torch.manual_seed(0)
    model = Detector().eval()
    program = aten2onnx.export(model, (torch.zeros(1, 3, 8, 10) - 1,), tmp_path / "model.onnx", dynamic_shapes=shapes, capture="record")
    counts = set()
    for scale in (0, 1, 3, 10):
        image = torch.randn(1, 3, 8, 10) * scale
        with torch.no_grad():
            want = model(image)
        counts.add(len(want[0]))
        for got, one in zip(program(image), want, strict=True):
            torch.testing.assert_close(torch.as_tensor(got), one, atol=1e-4, rtol=1e-4)
    assert 0 in counts and len(counts) > 2, counts


def test_masks_that_choose_nothing_together(tmp_path):
    x = torch.tensor([[1.0, -1.0, 3.0], [-1.0, 1.0, 2.0], [-2.0, 0.5, 1.0]])
    program = aten2onnx.export(Both().eval(), (x,), tmp_path / "model.onnx", dynamic_shapes={"x": {0: "n"}}, capture="record")
    for n in (1, 2, 5, 9, 20):
        given = torch.randn(n, 3)
        torch.testing.assert_close(torch.as_tensor(program(given)[0]), Both()(given))


@slow
def test_fcos_that_finds_nothing(tmp_path):
    torch.manual_seed(0)
    build = torchvision.models.detection.fcos_resnet50_fpn
    model = build(weights=None, weights_backbone=None, num_classes=4, min_size=64, max_size=64, score_thresh=0.0).eval()
    with torch.no_grad():
        model.head.classification_head.cls_logits.weight *= 100
        images = [torch.full((3, 64, 64), 0.5), *(torch.rand(3, 64, 64) * scale for scale in (1, 4, 20))]
        best = {float(model([image])[0]["scores"].max()): image for image in images}
        model.score_thresh = min(best) + (max(best) - min(best)) / 2
        plain = best[min(best)]
        assert len(model([plain])[0]["boxes"]) == 0
    program = aten2onnx.export(model, ([plain],), tmp_path / "model.onnx", capture="record")
    counts = set()
    for image in images:
        with torch.no_grad():
            want = model([image])[0]
        counts.add(len(want["boxes"]))
        for got, one in zip(program([image]), want.values(), strict=True):
            torch.testing.assert_close(torch.as_tensor(got), one, atol=1e-3, rtol=1e-3)
    assert 0 in counts and len(counts) > 1, counts
