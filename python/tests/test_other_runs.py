"""Sides that a run cannot be made to take, and that another run takes by itself: held against PyTorch where each is taken."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import aten2onnx

torchvision = pytest.importorskip("torchvision")


class Chosen(nn.Module):
    """Rows that are never none, unless there are none before: no input takes the other side of the second branch after that of the first."""

    def forward(self, x):
        kept = x[x[:, 0] > 0]
        if kept.numel() == 0:
            places = torch.empty((0,), dtype=torch.int64)
        else:
            places = torch.where(kept[:, 0] >= kept.amax(0)[0])[0]
        rows = kept[places]
        count = rows.shape[0]
        if count > 0:
            rows = rows.reshape(count, -1)
        halves = rows.sigmoid() * 2
        if count > 0:
            halves = halves.reshape(count, -1, 16)
        return halves[:, 1:].reshape(-1, 16) * 3 + 1


class Middle(nn.Module):
    """The same with a branch before it on both sides of which the rows come by."""

    def __init__(self):
        super().__init__()
        self.chosen = Chosen()

    def forward(self, x):
        if x.shape[0] > 7:
            x = x - x.mean()
        return self.chosen(x)


@pytest.mark.parametrize("model", (Chosen, Middle))
def test_a_side_of_another_run(model, tmp_path):
    torch.manual_seed(0)
    module = model().eval()
    program = aten2onnx.export(module, (torch.randn(5, 112),), tmp_path / "model.onnx", dynamic_shapes={"x": {0: "n"}}, capture="record")
    for x in (torch.randn(5, 112), -torch.rand(3, 112), torch.rand(1, 112) + 1, torch.randn(12, 112), -torch.ones(9, 112)):
        torch.testing.assert_close(torch.as_tensor(program(x)[0]), module(x))


def test_faster_rcnn(tmp_path):
    torch.manual_seed(0)
    backbone = nn.Sequential(nn.Conv2d(3, 8, 3, stride=8, padding=1), nn.ReLU())
    backbone.out_channels = 8
    anchors = torchvision.models.detection.anchor_utils.AnchorGenerator(sizes=((16, 32),), aspect_ratios=((0.5, 1.0),))
    pool = torchvision.ops.MultiScaleRoIAlign(featmap_names=["0"], output_size=3, sampling_ratio=2)
    module = torchvision.models.detection.FasterRCNN(
        backbone, num_classes=3, rpn_anchor_generator=anchors, box_roi_pool=pool, min_size=64, max_size=96, rpn_pre_nms_top_n_test=60, rpn_post_nms_top_n_test=30, box_score_thresh=0.4
    ).eval()
    with torch.no_grad():
        for weight in module.parameters():
            weight.mul_(3)
    program = aten2onnx.export(module, ([torch.rand(3, 64, 80)],), tmp_path / "model.onnx", capture="record")
    counts = []
    # Images of noise: where scores are equal, their order is not told.
    for scale in (1.0, 0.6, 0.3, 3.0):
        image = torch.rand(3, 64, 80) * scale
        with torch.no_grad():
            want = module([image])[0]
        got = [torch.as_tensor(one) for one in program([image])]
        counts.append(len(want["scores"]))
        for one, name in zip(got, ("boxes", "labels", "scores"), strict=True):
            torch.testing.assert_close(one, want[name], atol=1e-3, rtol=1e-4)
    assert max(counts) > 3, counts
