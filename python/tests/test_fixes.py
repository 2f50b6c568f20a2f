"""The suggested fixes of torch.export: those that narrow or relate dimensions are adopted, others are not."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.export import Dim

import aten2onnx
from aten2onnx import _fixes


class AtLeastThree(nn.Module):
    def forward(self, x):
        return x.sum() if x.shape[0] >= 3 else x


class Longer(nn.Module):
    def forward(self, x, y):
        return torch.cat([x, x[:1]]) + y


class AlwaysEight(nn.Module):
    def forward(self, x):
        return x + torch.ones(8)


def test_a_narrower_range_is_adopted() -> None:
    program = aten2onnx.export(AtLeastThree().eval(), (torch.ones(8),), dynamic_shapes={"x": {0: Dim("h")}}, verify=True, capture="export")
    assert program.report.notes == ["The dimension `h` is at least 3: the model allows no other sizes."]
    assert program.report.inputs == [("x", "float32[h]")]


def test_a_relation_is_adopted() -> None:
    shapes = {"x": {0: Dim("h")}, "y": {0: Dim("g")}}
    program = aten2onnx.export(Longer().eval(), (torch.ones(8), torch.ones(9)), dynamic_shapes=shapes, verify=True, capture="export")
    assert program.report.notes == ["The dimension `g` is always `h + 1`: the model allows no other sizes."]
    assert program.report.inputs == [("x", "float32[h]"), ("y", "float32[h + 1]")]
    assert program(torch.ones(4), torch.ones(5))[0].shape == (5,)


def test_fixes_can_be_forbidden() -> None:
    with pytest.raises(aten2onnx.CaptureError, match="3 <= "):
        aten2onnx.export(AtLeastThree().eval(), (torch.ones(8),), dynamic_shapes={"x": {0: Dim("h")}}, adopt_fixes=False, capture="export")


def test_a_dimension_never_becomes_constant() -> None:
    with pytest.raises(aten2onnx.CaptureError, match="specialized it to be a constant") as error:
        aten2onnx.export(AlwaysEight().eval(), (torch.ones(8),), dynamic_shapes={"x": {0: Dim("h")}})
    assert "test_fixes.py" in (error.value.source_line or "test_fixes.py")
    assert error.value.help is not None


def test_fixes_are_read_from_the_message() -> None:
    message = "Constraints violated (g)!\nSuggested fixes:\n  _h = Dim('_h', min=1, max=oo)\n  h = 2*_h\n\nThe error above"
    assert _fixes.suggested(message) == {"_h": "Dim('_h', min=1, max=oo)", "h": "2*_h"}
    assert _fixes.suggested("no fix") == {}
    assert _fixes.is_constant("8") and not _fixes.is_constant("h + 1")
