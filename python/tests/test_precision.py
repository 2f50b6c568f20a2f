"""Half precision: `precision`, `io` and `keep_float32` of `export` and `convert`."""

import aten2onnx
import onnx
import pytest
import torch
from torch import nn

FLOAT, FLOAT16 = onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16))
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        return torch.softmax(self.head(self.body(x)), -1)


def exported(**options):
    torch.manual_seed(0)
    return aten2onnx.export(Classifier().eval(), (torch.randn(3, 8),), dynamic_shapes=({0: "batch"},), verify=True, **options)


def weights(program):
    return {tensor.name: tensor.data_type for tensor in program.model_proto.graph.initializer}


def outside(program):
    graph = program.model_proto.graph
    return {value.type.tensor_type.elem_type for value in [*graph.input, *graph.output]}


def test_weights_are_half_and_inputs_are_not():
    program = exported(precision="float16")
    assert set(weights(program).values()) == {FLOAT16}
    assert outside(program) == {FLOAT}
    assert any("Softmax" in note for note in program.report.notes)
    assert 0 < program.report.verification["outputs"]["softmax"]["largest_difference"] < 1e-2


def test_inputs_and_outputs_by_choice():
    program = exported(precision="float16", io="float16")
    assert outside(program) == {FLOAT16}
    assert program(torch.randn(5, 8))[0].dtype == torch.float16


def test_a_module_stays_float32():
    kept = weights(exported(precision="float16", keep_float32=["head"]))
    assert {name for name, dtype in kept.items() if dtype == FLOAT} == {"head.bias", "head.weight"}
    assert FLOAT16 in kept.values()


def test_a_wrong_result_is_found():
    """The tolerance is that of half precision, not more."""
    from aten2onnx._verify import compare

    one = torch.ones(4)
    assert compare(one, one.half() * 1.001, None, None, "float16")["ok"]
    assert not compare(one, one.half() * 1.05, None, None, "float16")["ok"]
    assert not compare(one, one.half(), None, None)["ok"]


def test_a_file_of_another_exporter_is_converted():
    model = exported().model_proto
    narrow = aten2onnx.convert(model, precision="float16")
    onnx.checker.check_model(narrow, full_check=True)
    assert {tensor.data_type for tensor in narrow.graph.initializer} == {FLOAT16}
    both = aten2onnx.convert(model, precision="float16", io="float16")
    onnx.checker.check_model(both, full_check=True)
    assert both.graph.input[0].type.tensor_type.elem_type == both.graph.output[0].type.tensor_type.elem_type == FLOAT16


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"precision": "half"}, "precision"),
        ({"io": "float16"}, "belong to a precision"),
        ({"precision": "float16", "io": "bfloat16"}, "cannot be bfloat16"),
        ({"precision": "float16", "keep_float32": ["nothing"]}, "is named `nothing`"),
        ({"precision": "float16", "keep_float32": "head"}, "expected a list"),
        ({"precision": "bfloat16", "opset_version": 12}, "has no operators that compute in bfloat16"),
        ({"precision": "float16", "external_data": "link"}, "cannot be linked"),
    ],
)
def test_what_cannot_be_is_an_error(options, message):
    with pytest.raises(aten2onnx.Error, match=message):
        exported(**options)


@pytest.mark.parametrize(("target", "operator"), [("onnxruntime", "MatMulNBits"), (None, "DequantizeLinear")])
def test_scales_of_weights_are_half_too(target, operator):
    """transformers.js calls such a file q4f16: products with weights of 4 bits read and make float16."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 256)).eval()
    program = aten2onnx.export(model, (torch.randn(4, 256),), precision="float16", quantize_weights="int4", target=target, opset_version=21, verify=True)
    graph = program.model_proto.graph
    assert [node.op_type for node in graph.node].count("Cast") == 2
    assert [node.op_type for node in graph.node].count(operator) == 2
    assert FLOAT not in weights(program).values()


def test_a_conversion_keeps_the_opset_that_has_the_precision():
    """Convolutions take bfloat16 from opset 22 on."""
    program = aten2onnx.export(nn.Conv2d(3, 8, 3).eval(), (torch.randn(1, 3, 8, 8),), opset_version=22)
    converted = aten2onnx.convert(program.model_proto, precision="bfloat16")
    assert converted.opset_import[0].version == 22
    assert aten2onnx.convert(program.model_proto).opset_import[0].version == aten2onnx.DEFAULT_OPSET
