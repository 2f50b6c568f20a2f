"""Functions of PyTorch that take plain numbers only, called with numbers of sizes: pools, windows and diagonals."""

from __future__ import annotations

from typing import Any

import aten2onnx
import pytest
import torch
import torch.nn.functional as F
from torch import nn

SIZES = [(4, 4), (5, 7), (8, 12), (9, 16), (17, 13), (4, 30)]


class Sized(nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x, *x.shape[2:])


def diagonals_written(x: torch.Tensor, h: int, w: int) -> torch.Tensor:
    y = x[0, 0].clone()
    y.diagonal(h // 3).add_(1)
    torch.diagonal(y, -(h // 3))[:] = 5
    return y


def pyramid(x: torch.Tensor, h: int, w: int) -> torch.Tensor:
    levels = [F.max_pool2d(x, (-(-h // k), -(-w // k)), padding=((-(-h // k) * k - h + 1) // 2, (-(-w // k) * k - w + 1) // 2)) for k in (1, 2)]
    return torch.cat([level.flatten(1).sum(1) for level in levels])


FUNCTIONS: dict[str, Any] = {
    "average": lambda x, h, w: F.avg_pool2d(x, (h - h // 2, w - 2 * (w // 3)), (h // 2, w // 3)),  # both are 4 where h is 8
    "average of one dimension": lambda x, h, w: F.avg_pool1d(x[0], min(w, 5), stride=1, padding=min(w, 5) // 2),
    "average of three": lambda x, h, w: F.avg_pool3d(x[None].repeat(1, 1, 2, 1, 1), (2, h // 2, w // 2)),
    "average without padding": lambda x, h, w: F.avg_pool2d(x, (h // 2, 2), (1, w // 3), padding=(h // 4, 1), count_include_pad=False),
    "average with a divisor": lambda x, h, w: F.avg_pool2d(x, h // 2, divisor_override=3),
    "average with strides": lambda x, h, w: F.avg_pool2d(x, 3, stride=(h // 4, w // 4)),
    "largest": lambda x, h, w: F.max_pool2d(x, (h // 2, w // 2), 1, (h // 5, 0)),
    "largest with strides": lambda x, h, w: F.max_pool2d(x, 2, stride=h // 4),
    "largest of one dimension": lambda x, h, w: F.max_pool1d(x[0], w // 2, 2),
    "power": lambda x, h, w: F.lp_pool2d(x, 2, (h // 2, 2)),
    "layer": lambda x, h, w: nn.AvgPool2d((h // 2, 1))(x),
    "whole": lambda x, h, w: (F.avg_pool2d(x, x.shape[2:]), F.max_pool2d(x, kernel_size=(h, w)), F.avg_pool2d(x, (h, 1))),
    "adaptive average": lambda x, h, w: F.adaptive_avg_pool2d(x, (h // 2, 3)) + F.adaptive_avg_pool1d(x[0], w // 3 + 1).sum(),
    "adaptive average of one axis": lambda x, h, w: F.adaptive_avg_pool2d(x, (None, w - 1)),
    "adaptive largest": lambda x, h, w: F.adaptive_max_pool2d(x, (h // 2, w // 2)),
    "pyramid": pyramid,
    "windows": lambda x, h, w: x.unfold(2, h - h // 2, h // 2),
    "windows of as many as there are": lambda x, h, w: x.unfold(3, min(w, 4), min(w - 1, 4)),
    "diagonal": lambda x, h, w: (x.diagonal(h // 2 - 1, 2, 3), torch.diagonal(x, -(h // 3), dim1=-2, dim2=-1)),
    "diagonal matrix": lambda x, h, w: (torch.diag_embed(x, h // 2), x[0, 0, 0].diag(-(w // 4)), x[0, 0].diag(h // 3)),
    "diagonals that are written to": diagonals_written,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_number_of_sizes_in_place_of_a_plain_one(name):
    model = Sized(FUNCTIONS[name]).eval()
    program = aten2onnx.export(model, (torch.randn(1, 2, 8, 12),), dynamic_shapes={"x": {2: "h", 3: "w"}}, capture="record")
    assert not program.report.conditions
    tried = 0
    for h, w in SIZES:
        x = torch.randn(1, 2, h, w)
        try:
            wanted = torch.utils._pytree.tree_leaves(model(x))
        except RuntimeError:  # windows are smaller than their padding
            continue
        tried += 1
        for result, want in zip(program(x), wanted, strict=True):
            torch.testing.assert_close(result, want)
    assert tried >= 3


def test_all_diagonals():
    class Sums(nn.Module):
        def forward(self, x):
            n = x.shape[0]
            return torch.stack([x.diagonal(k).sum() for k in range(-n + 1, n)])

    program = aten2onnx.export(Sums().eval(), (torch.randn(5, 5),), dynamic_shapes={"x": {0: "n", 1: "n"}}, capture="record")
    for n in (1, 2, 3, 8):
        x = torch.randn(n, n)
        torch.testing.assert_close(program(x)[0], Sums()(x))
