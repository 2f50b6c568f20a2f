"""Interpolation by factors that contradict the sizes, and by factors that leave a size as it is or double it at some sizes only: PyTorch ignores some of these factors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import aten2onnx

onnxruntime = pytest.importorskip("onnxruntime")
aten = torch.ops.aten

#: Sizes of images: the example, and others.
SIZES = ((6, 8), (8, 5), (4, 9), (11, 7), (2, 3))


class Calls(nn.Module):
    def __init__(self, function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def interpolated(factors, mode, **named):
    return lambda x: F.interpolate(x, scale_factor=factors, mode=mode, **named)


CASES = {
    "nearest, other sizes": lambda x: aten.upsample_nearest2d(x, [x.shape[2] + 3, 9], 1.7, 0.9),
    "nearest, the same and twice the size": lambda x: aten.upsample_nearest2d(x, [x.shape[2], 2 * x.shape[3]], 1.5, 1.5),
    "nearest, a number that is the size once": lambda x: aten.upsample_nearest2d(x, [8, 16], 1.7, 1.1),
    "nearest, no factors": lambda x: aten.upsample_nearest2d(x, [x.shape[2] + 1, 9], -1.0, 0.0),
    "nearest 1d": lambda x: aten.upsample_nearest1d(x[0], [x.shape[3]], 1.5),
    "nearest 3d": lambda x: aten.upsample_nearest3d(x[None], [2, x.shape[2], 9], 1.0, 1.5, 2.0),
    "nearest-exact": lambda x: aten._upsample_nearest_exact2d(x, [x.shape[2], 9], 1.5, 0.7),
    "bilinear, other sizes": lambda x: aten.upsample_bilinear2d(x, [2 * x.shape[2], 9], False, 1.3, 2.0),
    "bilinear, the same size": lambda x: aten.upsample_bilinear2d(x, [x.shape[2], 9], False, 2.0, 1.5),
    "bilinear, corners": lambda x: aten.upsample_bilinear2d(x, [x.shape[2] + 2, 9], True, 2.0, 1.5),
    "linear": lambda x: aten.upsample_linear1d(x[0], [x.shape[3] + 4], False, 1.5),
    "trilinear": lambda x: aten.upsample_trilinear3d(x[None], [3, x.shape[2], 9], False, 1.7, 1.5, 2.0),
    "bicubic, the same size": lambda x: aten.upsample_bicubic2d(x, [x.shape[2], 9], False, 2.0, 1.5),
    "antialias": lambda x: aten._upsample_bilinear2d_aa(x, [x.shape[2], 3], False, 1.5, 0.5),
    "nearest by factors": interpolated((1.05, 2.1), "nearest"),
    "bilinear by factors": interpolated((1.05, 1.2), "bilinear"),
    "bicubic by factors": interpolated((1.2, 1.3), "bicubic"),
    "antialias by factors": interpolated((1.05, 0.7), "bilinear", antialias=True),
    "factors anew": interpolated((1.3, 0.7), "bilinear", recompute_scale_factor=True),
    "nearest, factors anew": interpolated(1.7, "nearest", recompute_scale_factor=True),
}


def smooth(x, size, mode, corners):
    return F.interpolate(x, size=size, mode=mode, antialias=True, align_corners=corners)


@pytest.mark.parametrize("opset", [9, 13, 18])
@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("width", [1, 8])
def test_antialiasing_to_a_width_of_1_gives_each_row_its_own_value(width, mode, corners, opset) -> None:
    x = torch.randn(1, 2, 10, width)
    program = aten2onnx.export(Calls(lambda x: smooth(x, (4, 1), mode, corners)).eval(), (x,), opset_version=opset)
    # The CPU kernel of PyTorch takes an image of width 1 for one whose channels lie side by side. It is right for the same image twice, side by side.
    narrow = smooth(x, (10, 1), mode, corners)
    want = smooth(torch.cat([narrow, narrow], 3), (4, 2), mode, corners)[..., :1]
    torch.testing.assert_close(torch.as_tensor(program(x)[0]), want, rtol=1e-4, atol=1e-5)
    assert (smooth(x, (4, 1), mode, corners) - want).abs().max() > 0.01, "PyTorch is right now: the difference `narrow-images` can go"


@pytest.mark.parametrize("opset", [9, 18])
@pytest.mark.parametrize("way", ["record", "pt2", "static"])
@pytest.mark.parametrize("name", CASES)
def test_interpolation_is_that_of_pytorch_whatever_the_factors(name, way, opset, tmp_path) -> None:
    torch.manual_seed(0)
    model, x = Calls(CASES[name]).eval(), torch.randn(1, 2, *SIZES[0])
    if way == "pt2":
        exported = torch.export.export(model, (x,), dynamic_shapes=({2: torch.export.Dim.AUTO, 3: torch.export.Dim.AUTO},))
        torch.export.save(exported, tmp_path / "model.pt2")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # conditions of torch.export's
            program = aten2onnx.export(tmp_path / "model.pt2", opset_version=opset)
    else:
        program = aten2onnx.export(model, (x,), dynamic_shapes=({2: "h", 3: "w"},) if way == "record" else None, capture="record", opset_version=opset)
        assert not program.report.conditions
    session = onnxruntime.InferenceSession(program.model_bytes)
    for height, width in SIZES if way != "static" else SIZES[:1]:
        x = torch.randn(1, 2, height, width)
        (found,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
        torch.testing.assert_close(torch.from_numpy(np.asarray(found)), model(x), rtol=1e-3, atol=1e-3)
