"""Operators that are not PyTorch's own."""

from __future__ import annotations

from pathlib import Path

import aten2onnx
import pytest
import torch
from torch import nn


@torch.library.custom_op("a2otest::scaled_sign", mutates_args=())
def scaled_sign(x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
    return torch.sign(x) * scale


@scaled_sign.register_fake
def _(x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
    return torch.empty_like(x)


RULE = """
/// The sign, times a number.
map a2otest::scaled_sign(Tensor x, float scale=1.0) -> Tensor = Sign(x) * scale
"""


class Signs(nn.Module):
    def forward(self, x):
        y = torch.ops.a2otest.scaled_sign(x, 3.0)
        return y.relu()


@pytest.fixture
def mapping(tmp_path) -> Path:
    path = tmp_path / "my_ops.opmap"
    path.write_text(RULE)
    return path


def test_a_custom_operator_without_a_rule() -> None:
    with pytest.raises(aten2onnx.UnsupportedError) as caught:
        aten2onnx.export(Signs().eval(), (torch.randn(3),))
    error = caught.value
    assert error.operator == "a2otest::scaled_sign"
    assert "test_custom.py" in error.source_line and "in forward" in error.source_line
    assert [operator["operator"] for operator in error.operators] == ["a2otest::scaled_sign"]
    assert "mappings=" in error.help
    assert error.report.error == str(error)


@pytest.mark.parametrize("opset", [9, 18])
def test_a_custom_operator_with_a_mapping_file(mapping, opset) -> None:
    program = aten2onnx.export(Signs().eval(), (torch.randn(3),), mappings=mapping, opset_version=opset, verify=True)
    assert program.report.operators == {"Sign": 1, "Mul": 1, "Relu": 1}


def test_mapping_files_are_asked_too(mapping) -> None:
    assert aten2onnx.supported("a2otest::scaled_sign", mappings=[str(mapping)])
    assert not aten2onnx.supported("a2otest::scaled_sign", 18)
    found = aten2onnx.inspect(Signs().eval(), (torch.randn(3),), mappings=mapping.parent, opset=9)
    assert found.opsets == [9]


def test_a_mapping_file_may_replace_a_rule(tmp_path) -> None:
    path = tmp_path / "relu.opmap"
    path.write_text("map aten::relu(Tensor self) -> Tensor = Max(self, 0)\n")
    program = aten2onnx.export(nn.ReLU().eval(), (torch.randn(3),), mappings=path, verify=True)
    assert program.report.operators == {"Max": 1}


def test_a_wrong_mapping_file_is_told_as_the_compiler_tells(tmp_path) -> None:
    path = tmp_path / "wrong.opmap"
    path.write_text("map a2otest::scaled_sign(Tensor x, float scale=1.0) -> Tensor = Elu(x, alpha_i = scale)\n")
    with pytest.raises(aten2onnx.InputError) as caught:
        aten2onnx.export(Signs().eval(), (torch.randn(3),), mappings=path)
    assert "error[E0301]: attribute `alpha` of `Elu` is a FLOAT" in str(caught.value)
    with pytest.raises(aten2onnx.FileError, match="No such file"):
        aten2onnx.export(Signs().eval(), (torch.randn(3),), mappings=tmp_path / "none.opmap")


def test_a_custom_operator_that_is_a_composition_is_decomposed() -> None:
    library = torch.library.Library("a2ocomposite", "DEF")
    library.define("softsquare(Tensor x) -> Tensor")
    library.impl("softsquare", lambda x: torch.nn.functional.softplus(x) ** 2, "CompositeImplicitAutograd")

    class Net(nn.Module):
        def forward(self, x):
            return torch.ops.a2ocomposite.softsquare(x)

    program = aten2onnx.export(Net().eval(), (torch.randn(3),), verify=True)
    assert program.report.nodes


def test_only_operators_without_a_rule_are_decomposed() -> None:
    class Net(nn.Module):
        def forward(self, x):
            return nn.functional.gelu(torch.special.xlog1py(2.0, x.abs()))

    program = aten2onnx.export(Net().eval(), (torch.randn(3),), opset_version=20, verify=True)
    # What PyTorch says it with is decomposed in its turn, if it must be; gelu stays.
    assert program.report.decomposed[0] == "aten::special_xlog1py.self_scalar"
    assert all(name.startswith("prims::") for name in program.report.decomposed[1:])
    assert program.report.operators["Gelu"] == 1
    assert "aten::special_xlog1py.self_scalar" in program.report.markdown()


@pytest.mark.parametrize("strict", [False, True])
def test_autograd_functions(strict) -> None:
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(x, shift):
            return x**3 + shift

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * grad, None

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x):
            return Cube.apply(self.linear(x), 1.0)

    aten2onnx.export(Net().eval(), (torch.randn(2, 4),), strict=strict, verify=True)


def test_torchvision_operators() -> None:
    torchvision = pytest.importorskip("torchvision")

    class Net(nn.Module):
        def forward(self, features, boxes, scores):
            kept = torchvision.ops.nms(boxes, scores, 0.5)
            batch = torch.cat([torch.zeros(3, 1), boxes], 1)
            return kept, torchvision.ops.roi_align(features, batch, (2, 2), 1.0, 2, True)

    boxes = torch.tensor([[0.0, 0.0, 4.0, 4.0], [0.0, 0.0, 4.0, 3.9], [2.0, 2.0, 6.0, 6.0]])
    args = torch.randn(1, 2, 8, 8), boxes, torch.tensor([0.5, 0.9, 0.7])
    aten2onnx.export(Net().eval(), args, opset_version=18, verify=True)
