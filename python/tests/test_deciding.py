"""Operators whose results have sizes that elements decide, in models without dynamic dimensions: no size of the example is in the file."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import aten2onnx


class Where(nn.Module):
    def forward(self, boxes, scores):
        found = boxes[torch.where(scores > 0.5)[0][:10]]
        return torch.full_like(found, 2), found.new_zeros(found.shape[0])


class Suppressed(nn.Module):
    def forward(self, boxes, scores):
        import torchvision

        kept = torchvision.ops.nms(boxes, scores, 0.5)
        found = boxes[kept[:10]]
        return torch.cat([torch.full_like(found[:, :1], 1), found], 1), torch.zeros_like(kept), torch.arange(kept.shape[0])


class Repeated(nn.Module):
    def forward(self, boxes, scores):
        found = boxes.repeat_interleave((scores * 3).long(), 0)
        return torch.ones_like(found), found


def inputs():
    corners = torch.rand(20, 2)
    return torch.cat([corners, corners + torch.rand(20, 2)], 1), torch.rand(20)


@pytest.mark.parametrize("kind", [Where, Suppressed, Repeated])
def test_sizes_that_elements_decide_are_none_of_the_example(kind) -> None:
    if kind is Suppressed:
        pytest.importorskip("torchvision")
    torch.manual_seed(0)
    model = kind().eval()
    program = aten2onnx.export(model, inputs(), capture="record")
    for _ in range(8):
        args = inputs()
        for got, want in zip(program(*args), model(*args), strict=True):
            torch.testing.assert_close(got, want)
