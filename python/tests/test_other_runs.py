"""Sides that a run cannot be made to take, and that another run takes by itself: held against PyTorch where each is taken."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import aten2onnx

from tiers import slow

torchvision = pytest.importorskip("torchvision")
detection = torchvision.models.detection


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


def detector(kind, **more):
    """A small detector with random weights that finds something."""
    torch.manual_seed(0)
    backbone = nn.Sequential(nn.Conv2d(3, 8, 3, stride=8, padding=1), nn.ReLU())
    backbone.out_channels = 8
    anchors = detection.anchor_utils.AnchorGenerator(sizes=((16, 32),), aspect_ratios=((0.5, 1.0),))
    limits = {"min_size": 64, "max_size": 96, "rpn_pre_nms_top_n_test": 60, "rpn_post_nms_top_n_test": 30, "box_score_thresh": 0.4}
    module = kind(backbone, num_classes=3, rpn_anchor_generator=anchors, box_roi_pool=pool(3), **limits, **more).eval()
    with torch.no_grad():
        for weight in module.parameters():
            weight.mul_(3)
    return module


def pool(size):
    return torchvision.ops.MultiScaleRoIAlign(featmap_names=["0"], output_size=size, sampling_ratio=2)


def faster_rcnn():
    return detector(detection.FasterRCNN)


def mask_rcnn():
    return detector(detection.MaskRCNN, mask_roi_pool=pool(6), mask_head=detection.mask_rcnn.MaskRCNNHeads(8, (256,), 1))


def keypoint_rcnn():
    return detector(detection.KeypointRCNN, num_keypoints=4, keypoint_roi_pool=pool(4), keypoint_head=detection.keypoint_rcnn.KeypointRCNNHeads(8, (512,)))


@pytest.mark.parametrize("build", (faster_rcnn, pytest.param(mask_rcnn, marks=slow), pytest.param(keypoint_rcnn, marks=slow)))
def test_detectors_whose_example_has_objects(build, tmp_path):
    module = build()
    # Images of noise: where scores are equal, their order is not told.
    images = [torch.rand(3, 64, 80) * scale for scale in (1.0, 0.6, 0.3, 3.0)]
    with torch.no_grad():
        best = [float(module([image])[0]["scores"].max()) for image in images]
        # In one image nothing is found.
        module.roi_heads.score_thresh = min(best) + (sorted(best)[1] - min(best)) / 2
        wanted = [module([image])[0] for image in images]
    example = images[best.index(max(best))]
    program = aten2onnx.export(module, ([example],), tmp_path / "model.onnx", capture="record")
    for image, want in zip(images, wanted, strict=True):
        got = [torch.as_tensor(one) for one in program([image])]
        for one, wished in zip(got, want.values(), strict=True):
            torch.testing.assert_close(one, wished, atol=1e-3, rtol=1e-3)
    counts = [len(want["scores"]) for want in wanted]
    assert 0 in counts and max(counts) > 2, counts
