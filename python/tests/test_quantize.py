"""Quantized weights: `quantize_weights`, `block_size`, `scales` and `skip` of `export` and `convert`."""

import math

import aten2onnx
import numpy as np
import onnx
import pytest
import torch
from torch import nn

INT4, UINT4, UINT8 = onnx.TensorProto.INT4, onnx.TensorProto.UINT4, onnx.TensorProto.UINT8


class Tied(nn.Module):
    """The head has the elements of the embedding."""

    def __init__(self):
        super().__init__()
        self.embed, self.mix, self.head = nn.Embedding(200, 64), nn.Linear(64, 64), nn.Linear(64, 200, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        return self.head(torch.relu(self.mix(self.embed(ids))))


def module():
    torch.manual_seed(0)
    return Tied().eval()


IDS = torch.arange(6).reshape(2, 3)


def exported(**options):
    options = {"quantize_weights": "int4", "opset_version": 21, **options}
    return aten2onnx.export(module(), (IDS,), dynamic_shapes=({0: "batch"},), verify=True, **options)


def kinds(program):
    return [tensor.data_type for tensor in program.model_proto.graph.initializer]


def operators(program):
    return [node.op_type for node in program.model_proto.graph.node]


def test_shared_weights_are_stored_once():
    program = exported()
    assert kinds(program).count(INT4) == 2
    size = sum(len(tensor.raw_data) for tensor in program.model_proto.graph.initializer)
    assert size < (200 * 64 + 64 * 64) * 0.75
    assert any("int4: 2 of 2 weights are quantized, 5.00 bits" in note for note in program.report.notes)
    assert 6 < program.report.verification["outputs"]["linear_1"]["signal_to_noise"] < 40


def test_the_runtime_has_operators_of_its_own():
    program = exported(target="onnxruntime", opset_version=None)
    assert {"MatMulNBits", "GatherBlockQuantized"} <= set(operators(program))
    large = [len(tensor.raw_data) for tensor in program.model_proto.graph.initializer if tensor.data_type == UINT8]
    assert sorted(large) == [64 * 64 // 2, 200 * 64 // 2]


@pytest.mark.parametrize("target", [None, "onnxruntime"])
def test_scales_are_exact_in_half_precision(target):
    """Integers are chosen for scales of float16, whatever dtype the operator has them in."""
    program = exported(precision="float16", target=target, opset_version=None if target else 21)
    assert target is None or "MatMulNBits" in operators(program)
    scales = [onnx.numpy_helper.to_array(tensor) for tensor in program.model_proto.graph.initializer if "scale" in tensor.name]
    assert len(scales) == 2 and all((scale.astype(np.float16) == scale).all() for scale in scales)
    plain = [onnx.numpy_helper.to_array(tensor) for tensor in exported().model_proto.graph.initializer if "scale" in tensor.name]
    assert not any((scale.astype(np.float16) == scale).all() for scale in plain)


def weights(model):
    """What the weights of a model are after it, by NumPy."""
    graph = model.graph
    stored = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    found = []
    for node in graph.node:
        if node.op_type == "DequantizeLinear":
            codes, scale, *zero = [stored[name] for name in node.input]
            block = next(a.i for a in node.attribute if a.name == "block_size")
            spread = np.repeat(scale, block, -1)
            found.append((codes.astype(np.float32) - (np.repeat(zero[0].astype(np.float32), block, -1) if zero else 0)) * spread)
    return found


@pytest.mark.parametrize("scales", ["nearest", "mse", "hqq"])
@pytest.mark.parametrize("format", ["int4", "uint4"])
def test_integers_are_as_near_as_they_can_be(format, scales):
    model = exported(quantize_weights=format, scales=scales).model_proto
    [embed, *_], wanted = weights(model), module().embed.weight.detach().numpy()
    error = math.sqrt(((embed - wanted) ** 2).mean())
    blocks = wanted.reshape(200, 2, 32)
    steps = (blocks.max(-1) - blocks.min(-1)) / 15
    # Numbers that are rounded to steps of this length are wrong by a twelfth of their square.
    ideal = math.sqrt((steps**2).mean() / 12)
    assert error < (1.2 if format == "int4" else 1.03) * ideal
    if scales == "mse":
        nearest = weights(exported(quantize_weights=format).model_proto)[0]
        assert error < math.sqrt(((nearest - wanted) ** 2).mean()) * 0.99


def test_what_is_skipped_stays():
    program = exported(skip=["Gather"])
    assert kinds(program).count(INT4) == 1
    assert any("stays as it is: as asked" in note for note in program.report.notes)
    assert kinds(exported(skip=["mix"])).count(INT4) == 1


def test_a_file_of_another_exporter_is_converted(tmp_path, caplog):
    plain = aten2onnx.export(module(), (IDS,), dynamic_shapes=({0: "batch"},), opset_version=21)
    plain.save(tmp_path / "plain.onnx")
    with caplog.at_level("INFO", "aten2onnx"):
        aten2onnx.convert(tmp_path / "plain.onnx", tmp_path / "small.onnx", opset_version=21, quantize_weights="uint4", block_size=16, skip=["Gather"])
    assert "stays as it is: as asked" in caplog.text
    aten2onnx.convert(tmp_path / "plain.onnx", tmp_path / "small.onnx", opset_version=21, quantize_weights="uint4", block_size=16)
    small = onnx.load(tmp_path / "small.onnx")
    onnx.checker.check_model(small, full_check=True)
    assert [tensor.data_type for tensor in small.graph.initializer].count(UINT4) == 4
    again = aten2onnx.convert(small, opset_version=21, quantize_weights="int8")
    assert [tensor.data_type for tensor in again.graph.initializer] == [tensor.data_type for tensor in small.graph.initializer]


def test_a_wrong_result_is_found():
    """The tolerance is that of the format, not more."""
    from aten2onnx._verify import compare

    torch.manual_seed(0)
    wanted = torch.randn(1000)
    noisy = lambda decibels: wanted + torch.randn(1000) * 10 ** (-decibels / 20)  # noqa: E731
    assert compare(wanted, noisy(25), None, None, None, "int8")["ok"]
    assert not compare(wanted, noisy(15), None, None, None, "int8")["ok"]
    assert not compare(wanted, torch.randn(1000), None, None, None, "int4")["ok"]
    assert not compare(wanted, torch.where(wanted > 2, torch.nan, wanted), None, None, None, "int4")["ok"]
    assert not compare(wanted, noisy(25), 1e-3, None, None, "int8")["ok"]
    assert abs(compare(wanted, noisy(25), None, None)["signal_to_noise"] - 25) < 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"quantize_weights": "int3"}, "quantize_weights"),
        ({"quantize_weights": None, "skip": ["mix"]}, "is about quantized weights"),
        ({"quantize_weights": None, "block_size": 32}, "is about quantized weights"),
        ({"block_size": 1}, "a number of at least 2"),
        ({"skip": ["nothing"]}, "is named `nothing`"),
        ({"skip": "mix"}, "expected a list"),
        ({"quantize_weights": "fp8", "opset_version": 18}, "has no float8"),
        ({"external_data": "link"}, "cannot be linked"),
    ],
)
def test_what_cannot_be_is_an_error(options, message):
    with pytest.raises(aten2onnx.Error, match=message):
        exported(**options)


class BothWays(nn.Module):
    """A square weight, as it is and transposed."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(64, 64))

    def forward(self, x):
        return x @ self.weight, x @ self.weight.t()


class Moved(nn.Module):
    """A convolution whose weight has its channels last."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 3, 16, 16))

    def forward(self, x):
        return (torch.nn.functional.conv2d(x, self.weight.permute(3, 2, 0, 1)),)


@pytest.mark.parametrize("options", [{"quantize": "dynamic"}, {"quantize": "dynamic", "quantize_weights": "uint8"}, {"quantize_weights": "int8"}])
@pytest.mark.parametrize(("model", "shape"), [(BothWays, (4, 64)), (Moved, (2, 16, 9, 8))])
def test_weights_in_another_order_give_the_same_numbers(model, shape, options, tmp_path):
    torch.manual_seed(0)
    module, x = model().eval(), torch.randn(shape)
    program = aten2onnx.export(module, (x,), tmp_path / "model.onnx", **options)
    for got, want in zip(program(x), module(x), strict=True):
        assert (got - want).abs().max() < 0.03 * want.abs().max()
