"""Static quantization and measured ranges: `calibrate` of `export` and `convert`, and `aten2onnx.calibrate`."""

import json
import subprocess
import sys

import aten2onnx
import numpy as np
import onnx
import onnx.reference
import onnxruntime
import pytest
import torch
from torch import nn


class Net(nn.Module):
    """A picture's features: convolutions, an activation function, a sum with what came before, a pool, a layer."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 16, 3, padding=1)
        self.norm, self.last = nn.BatchNorm2d(16), nn.Linear(16, 10)

    def forward(self, x):
        x = torch.relu(self.norm(self.first(x)))
        x = torch.relu(self.second(x) + x)
        x = torch.max_pool2d(x, 2)
        return self.last(x.mean((2, 3)))


def module():
    torch.manual_seed(0)
    return Net().eval()


def pictures(count, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return [(torch.randn(2, 3, 16, 16, generator=generator),) for _ in range(count)]


def exported(**options):
    options = {"quantize": "static", "calibrate": pictures(4), **options}
    return aten2onnx.export(module(), pictures(1)[0], dynamic_shapes=({0: "batch"},), **options)


def fused(program, tmp_path):
    """The operators that ONNX Runtime makes of a model."""
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath, options.log_severity_level = str(tmp_path / "optimized.onnx"), 3
    onnxruntime.InferenceSession(program.model_bytes, options, providers=["CPUExecutionProvider"])
    return [node.op_type for node in onnx.load(options.optimized_model_filepath).graph.node]


def noise(program, runs):
    """The signal to noise of runs, in decibels."""
    signal = error = 0.0
    for run in runs:
        wanted, (found,) = module()(*run).detach(), program(*run)
        signal, error = signal + float((wanted**2).sum()), error + float(((wanted - found) ** 2).sum())
    return 10 * np.log10(signal / error)


@pytest.mark.parametrize("opset", [10, 13, 18, 23])
@pytest.mark.parametrize("method", ["minmax", "percentile", "entropy"])
def test_results_are_near_those_of_floats(opset, method):
    program = exported(opset_version=opset, calibration=method, verify=True)
    assert noise(program, pictures(3, seed=7)) > 15
    assert any("nodes compute with integers" in note for note in program.report.notes)


def test_onnxruntime_computes_with_integers(tmp_path):
    program = exported(target="onnxruntime")
    found = fused(program, tmp_path)
    assert found.count("QLinearConv") == 2 and "QLinearAdd" in found
    assert not {"Conv", "Relu", "Add"} & set(found)
    assert noise(program, pictures(3, seed=7)) > 20


def test_tensorrt_takes_signed_integers_without_a_zero_point():
    program = exported(target="tensorrt", opset_version=17)
    graph = program.model_proto.graph
    constants = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    zeros = [constants[node.input[2]] for node in graph.node if node.op_type == "QuantizeLinear"]
    assert zeros and all(zero.dtype == np.int8 and zero == 0 for zero in zeros)


def test_what_is_skipped_stays_float(tmp_path):
    program = exported(target="onnxruntime", skip=("second",))
    assert fused(program, tmp_path).count("QLinearConv") == 1
    with pytest.raises(aten2onnx.UnsupportedError, match="`third`"):
        exported(skip=("third",))


def test_a_file_is_measured_and_converted(tmp_path):
    path = tmp_path / "float.onnx"
    aten2onnx.export(module(), pictures(1)[0], path, dynamic_shapes=({0: "batch"},), input_names=["image"], external_data=True)
    np.savez(tmp_path / "data.npz", image=np.stack([run[0].numpy() for run in pictures(4)]))
    ranges = aten2onnx.calibrate(path, tmp_path / "data.npz", tmp_path / "ranges.json")
    assert ranges["runs"] == 4 and len(ranges["values"]) > 8
    least, largest = ranges["values"]["image"]
    assert (least, largest) == (min(float(run[0].min()) for run in pictures(4)), max(float(run[0].max()) for run in pictures(4)))
    by_file, at_once = tmp_path / "by-file.onnx", tmp_path / "at-once.onnx"
    aten2onnx.convert(path, by_file, quantize="static", ranges=tmp_path / "ranges.json", external_data=False)
    aten2onnx.convert(path, at_once, quantize="static", external_data=False, calibrate=[{"image": run[0]} for run in pictures(4)])
    assert by_file.read_bytes() == at_once.read_bytes()
    for arguments in (["calibrate", path, tmp_path, "-o", tmp_path / "again.json"], ["convert", path, "-o", tmp_path / "command.onnx", "--quantize", "static", "--external-data", "never", "--calibrate", tmp_path / "data.npz"]):
        subprocess.run([sys.executable, "-m", "aten2onnx", *map(str, arguments)], check=True, capture_output=True)
    assert json.loads((tmp_path / "again.json").read_text()) == ranges
    assert (tmp_path / "command.onnx").read_bytes() == by_file.read_bytes()


class Attending(nn.Module):
    """Attention with a mask of infinities, a branch, and a product of two values."""

    def __init__(self):
        super().__init__()
        self.keys, self.values = nn.Linear(32, 32), nn.Linear(32, 32)

    def forward(self, x):
        mask = torch.full((x.shape[1], x.shape[1]), float("-inf")).triu(1)
        scores = self.keys(x) @ x.transpose(-1, -2) / 6 + mask
        return torch.softmax(scores, -1) @ self.values(x)


@pytest.mark.parametrize("target", [None, "onnxruntime"])
def test_values_without_a_finite_range_stay_floats(target):
    torch.manual_seed(0)
    model, runs = Attending().eval(), [(torch.randn(2, 12, 32),) for _ in range(4)]
    program = aten2onnx.export(
        model, runs[0], dynamic_shapes=({0: "batch", 1: "steps"},), quantize="static", calibrate=runs, target=target, verify=True
    )
    assert program.report.verification["outputs"][program.report.outputs[0][0]]["signal_to_noise"] > 20


class Growing(nn.Module):
    """A value that float16 does not hold, between two that it does."""

    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(64, 64), nn.Linear(64, 64)

    def forward(self, x):
        return self.outer((self.inner(x) * 4000) * 0.001)


def test_precision_keeps_what_was_too_large():
    torch.manual_seed(0)
    model, x = Growing().eval(), torch.randn(4, 64) * 30
    plain = aten2onnx.export(model, (x,), precision="float16", optimize=False)
    measured = aten2onnx.export(model, (x,), precision="float16", calibrate=[(x,)], optimize=False)
    wanted = model(x).detach().numpy()
    # ONNX Runtime on a CPU computes in float32 where it has no kernel of float16, and so hides what overflows.
    values = {name: onnx.reference.ReferenceEvaluator(program.model_proto).run(None, {"x": x.numpy()})[0] for name, program in (("plain", plain), ("measured", measured))}
    assert not np.isfinite(values["plain"]).all()
    np.testing.assert_allclose(values["measured"], wanted, rtol=2e-2, atol=0.3)
    assert any("in the measured runs" in note for note in measured.report.notes)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"calibrate": None}, "quantize=\"static\" takes the ranges"),
        ({"calibrate": []}, "there are no data"),
        ({"calibrate": [3]}, "int"),
        ({"calibrate": "missing.npz"}, "cannot read missing.npz"),
        ({"calibrate": [(torch.zeros(2, 3, 16, 16), torch.zeros(1))]}, "inputs"),
        ({"quantize": None}, "nothing takes the ranges"),
        ({"calibration": "percentile", "percentile": 20}, "percentile: found 20"),
        ({"quantize_weights": "int4"}, "integers of 8 bits"),
        ({"precision": "float16"}, "float32 around its products"),
    ],
)
def test_wrong_data_are_told(options, what):
    with pytest.raises(aten2onnx.Error, match=what):
        exported(**options)


def test_wrong_ranges_are_told(tmp_path):
    path, ranges = tmp_path / "float.onnx", tmp_path / "ranges.json"
    aten2onnx.export(module(), pictures(1)[0], path)
    for text, what in (
        ("[", "no ranges of values"),
        ('{"values": {"x": [2, 1]}}', "before it begins"),
        ('{"values": {"nobody": [0, 1]}}', "no value with a name of this file"),
    ):
        ranges.write_text(text)
        with pytest.raises(aten2onnx.Error, match=what):
            aten2onnx.convert(path, tmp_path / "out.onnx", quantize="static", ranges=ranges)
    ranges.write_text('{"values": {}}')
    with pytest.raises(aten2onnx.Error, match="--ranges|ranges"):
        aten2onnx.convert(path, tmp_path / "out.onnx", ranges=ranges)
    assert not (tmp_path / "out.onnx").exists()
