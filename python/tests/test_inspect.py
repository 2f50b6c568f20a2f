"""`inspect` and `supported`."""

from __future__ import annotations

import json

import aten2onnx
import torch
from torch import nn


OPSETS = list(range(aten2onnx.MIN_OPSET, aten2onnx.MAX_OPSET + 1))


def test_a_file(mobilenet) -> None:
    found = aten2onnx.inspect(mobilenet)
    assert found.inputs[0] == {"name": "x", "kind": "tensor", "dtype": "float32", "shape": ["s77", "3", "64", "64"]}
    assert found.operators["aten::conv2d"] == 52
    assert found.opsets == OPSETS
    assert json.loads(found.json()) == found.data
    assert "Symbolic dimensions" in str(found)


def test_the_problems_of_a_module() -> None:
    class Net(nn.Module):
        def forward(self, x):
            return torch.linalg.eigvals(x)

    found = aten2onnx.inspect(Net().eval(), (torch.zeros(2, 2),), opset=13)
    assert found.opsets == []
    (reason,) = found.reasons(13)
    assert "aten::linalg_eigvals" in reason["message"]
    assert any("test_inspect.py" in place for place in reason["place"])


def test_what_a_target_replaces() -> None:
    class Net(nn.Module):
        def forward(self, x):
            return nn.functional.celu(x, 0.5)

    found = aten2onnx.inspect(Net().eval(), (torch.zeros(2, 2),), opset=18, target="tract")
    assert found.opsets == [18]
    assert "Celu" in json.dumps(found.data) and "Celu" in str(found)


def test_operators_by_name_and_as_objects() -> None:
    for name in ["aten::gelu", "aten.gelu", "aten.gelu.default", "torch.ops.aten.gelu.default", torch.ops.aten.gelu, torch.ops.aten.gelu.default]:
        support = aten2onnx.supported(name, 9)
        assert support and support.operator == "aten::gelu" and support.rule.startswith("mappings/aten/activation.opmap:")
    assert list(aten2onnx.supported("aten::add.Tensor").full) == OPSETS
    unknown = aten2onnx.supported("nobody::knows", 18)
    assert not unknown and unknown.reasons == ("there is no rule for `nobody::knows`",)
