"""Custom operators, mapping files, and ONNX nodes in the model."""

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
/// The sign multiplied by a number.
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


def test_a_custom_operator_with_a_mapping_file(mapping) -> None:
    program = aten2onnx.export(Signs().eval(), (torch.randn(3),), mappings=mapping, opset_version=9, verify=True)
    assert program.report.operators == {"Sign": 1, "Mul": 1, "Relu": 1}


def test_mapping_files_extend_supported_and_inspect(mapping) -> None:
    assert aten2onnx.supported("a2otest::scaled_sign", mappings=[str(mapping)])
    assert not aten2onnx.supported("a2otest::scaled_sign", 18)
    found = aten2onnx.inspect(Signs().eval(), (torch.randn(3),), mappings=mapping.parent, opset=9)
    assert found.opsets == [9]


def test_a_mapping_file_can_replace_a_rule(tmp_path) -> None:
    path = tmp_path / "relu.opmap"
    path.write_text("map aten::relu(Tensor self) -> Tensor = Max(self, 0)\n")
    program = aten2onnx.export(nn.ReLU().eval(), (torch.randn(3),), mappings=path, verify=True)
    assert program.report.operators == {"Max": 1}


def test_errors_in_a_mapping_file_are_those_of_the_compiler(tmp_path) -> None:
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
    library = torch.library.Library("a2oonly", "DEF")
    library.define("softened(Tensor x) -> Tensor")
    library.impl("softened", lambda x: torch.nn.functional.softplus(x).abs(), "CompositeImplicitAutograd")

    class Net(nn.Module):
        def forward(self, x):
            return nn.functional.gelu(torch.ops.a2oonly.softened(x))

    program = aten2onnx.export(Net().eval(), (torch.randn(3),), opset_version=20, verify=True, capture="export")
    # gelu and the operators of the decomposition have rules, so they are not decomposed.
    assert program.report.decomposed == ["a2oonly::softened"]
    assert program.report.operators["Gelu"] == 1
    assert "a2oonly::softened" in program.report.markdown()


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
    import torchvision

    class Net(nn.Module):
        def forward(self, features, boxes, scores):
            kept = torchvision.ops.nms(boxes, scores, 0.5)
            batch = torch.cat([torch.zeros(3, 1), boxes], 1)
            return kept, torchvision.ops.roi_align(features, batch, (2, 2), 1.0, 2, True)

    boxes = torch.tensor([[0.0, 0.0, 4.0, 4.0], [0.0, 0.0, 4.0, 3.9], [2.0, 2.0, 6.0, 6.0]])
    args = torch.randn(1, 2, 8, 8), boxes, torch.tensor([0.5, 0.9, 0.7])
    aten2onnx.export(Net().eval(), args, opset_version=18, verify=True)


def test_a_custom_operator_stays_as_a_node() -> None:
    import onnx
    program = aten2onnx.export(Signs().eval(), (torch.randn(3),), fallback="aten")
    assert program.report.operators == {"org.pytorch.aten::a2otest_scaled_sign": 1, "Relu": 1}
    assert any("a2otest::scaled_sign" in note for note in program.report.notes)
    onnx.checker.check_model(program.model_proto)
    with pytest.raises(ValueError, match="fallback: expected 'none' or 'aten', a bool or None, found 'torch'"):
        aten2onnx.export(Signs().eval(), (torch.randn(3),), fallback="torch")
    with pytest.warns(UserWarning, match="no other exporter"):
        aten2onnx.export(nn.ReLU().eval(), (torch.randn(3),), fallback=True)


class Symbolic(nn.Module):
    """A node of the ONNX domain and one of another domain, with all kinds of attributes."""

    def forward(self, x):
        y = torch.onnx.ops.symbolic("Elu", (x,), {"alpha": 2}, dtype=x.dtype, shape=x.shape, version=6, metadata_props={"why": "a test"})
        attrs = {"k": 3, "text": "abc", "ints": [1, 2], "floats": [1.5, 2.5], "texts": ["a", "b"], "flag": True}
        types = {"dtypes": (x.dtype, torch.int64), "shapes": (x.shape, [x.shape[0], 1])}
        z, w = torch.onnx.ops.symbolic_multi_out("mydomain::Two", (y, None, x), attrs, **types, version=4)
        return z + y, w


def test_symbolic_nodes_of_other_domains() -> None:
    import onnx
    program = aten2onnx.export(Symbolic().eval(), (torch.randn(2, 3),), dynamic_shapes=({0: "batch"},), ir_version=10)
    model = program.model_proto
    onnx.checker.check_model(model)
    assert {opset.domain: opset.version for opset in model.opset_import} == {"": 18, "mydomain": 4}
    elu, two, _ = model.graph.node
    assert (elu.op_type, elu.attribute[0].f) == ("Elu", 2.0)
    assert {entry.key: entry.value for entry in elu.metadata_props} == {"why": "a test"}
    assert (two.domain, list(two.input)[1]) == ("mydomain", "")
    assert {attr.name: onnx.helper.get_attribute_value(attr) for attr in two.attribute} == {
        "k": 3,
        "text": b"abc",
        "ints": [1, 2],
        "floats": [1.5, 2.5],
        "texts": [b"a", b"b"],
        "flag": 1,
    }
    assert program.report.outputs[1][1] == "int64[batch, 1]"


@pytest.mark.parametrize("opset", [9, 18, 20])
def test_symbolic_nodes_of_onnx_are_lowered(opset) -> None:
    class Net(nn.Module):
        def forward(self, x):
            if torch.onnx.is_in_onnx_export():
                return torch.onnx.ops.symbolic("Gelu", (x,), {"approximate": "tanh"}, dtype=x.dtype, shape=x.shape, version=20)
            return nn.functional.gelu(x, approximate="tanh")

    x = torch.randn(7)
    program = aten2onnx.export(Net().eval(), (x,), opset_version=opset)
    assert ("Gelu" in program.report.operators) == (opset >= 20)
    torch.testing.assert_close(program(x)[0], nn.functional.gelu(x, approximate="tanh"), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("op", "attrs", "version", "message"),
    [
        ("Eluu", {}, 18, "ONNX has no operator `Eluu`"),
        ("Gelu", {}, 18, "ONNX has no `Gelu` at opset 18: it was added in 20"),
        ("Elu", {"beta": 1.0}, 18, "`Elu` has no attribute `beta`"),
        ("Elu", {"alpha": "a"}, 18, "the attribute `alpha` of `Elu` must have type Float"),
    ],
)
def test_errors_in_symbolic_nodes(op, attrs, version, message) -> None:
    class Net(nn.Module):
        def forward(self, x):
            return torch.onnx.ops.symbolic(op, (x,), attrs, dtype=x.dtype, shape=x.shape, version=version)

    with pytest.raises(aten2onnx.Error, match=message) as caught:
        aten2onnx.export(Net().eval(), (torch.randn(3),))
    assert "test_custom.py" in caught.value.source_line


def test_operators_of_torch_onnx() -> None:
    class Net(nn.Module):
        def forward(self, x, cos, sin):
            y = torch.onnx.ops.rotary_embedding(x, cos, sin)
            return torch.onnx.ops.attention(y, y, x, is_causal=True)[0]

    args = torch.randn(1, 2, 3, 4), torch.randn(1, 3, 2), torch.randn(1, 3, 2)
    for opset in (9, 18, 23):
        aten2onnx.export(Net().eval(), args, opset_version=opset, verify=True)
