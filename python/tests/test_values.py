"""Values and graphs of single operators and small modules, each held against PyTorch: numbers, dtypes, sizes, names."""

from __future__ import annotations

import copy
import dataclasses
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import nn

import aten2onnx

onnxruntime = pytest.importorskip("onnxruntime")


class Calls(nn.Module):
    """A module that calls a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: torch.Tensor) -> Any:
        return self.function(*args)


def held(function: Callable[..., Any], args: tuple, *others: tuple, **options: Any) -> aten2onnx.ONNXProgram:
    """Exports a function and compares the model with it at the example and at other inputs."""
    program = aten2onnx.export(Calls(function).eval(), args, **options)
    session = onnxruntime.InferenceSession(program.model_bytes)
    for inputs in (args, *others):
        wanted = torch.utils._pytree.tree_leaves(function(*copy.deepcopy(inputs)))
        feeds = {given.name: value.numpy() for given, value in zip(session.get_inputs(), inputs)}
        results = [torch.from_numpy(np.asarray(result)) for result in session.run(None, feeds)]
        assert len(results) == len(wanted)
        for result, want in zip(results, wanted):
            torch.testing.assert_close(result, want, equal_nan=True)
    return program


def nodes(program: aten2onnx.ONNXProgram) -> Counter[str]:
    return Counter(node.op_type for node in program.model_proto.graph.node)


def test_a_float_that_was_a_size_is_a_number() -> None:
    # A tensor without dimensions keeps its dtype, as with any number of Python.
    held(
        lambda x: (
            x.sum() / (x.shape[1] - 1.0),
            x.long().sum() * (x.shape[1] / 2),
            x.half().sum() + x.shape[1] / 4,
            torch.where(x.sum() > 0, x.shape[1] / 2, 0.5),
        ),
        (torch.randn(3, 4),),
        (torch.randn(3, 9),),
        dynamic_shapes={"args": ({1: "w"},)},
    )


def test_an_item_is_a_number() -> None:
    held(lambda x, n: (x.sum() * n.item(), x.long() * n.item()), (torch.randn(3), torch.tensor(2.5, dtype=torch.float64)))


@pytest.mark.parametrize("dtypes", [(torch.int64, torch.float32), (torch.float32, torch.float64), (torch.float32, torch.int64)])
def test_threshold_backward_promotes(dtypes: tuple[torch.dtype, torch.dtype]) -> None:
    # torch.export records the dtype of the gradient.
    grad, own = (torch.arange(-3, 3).to(dtype) for dtype in dtypes)
    held(lambda g, x: torch.ops.aten.threshold_backward(g, x, 0.5), (grad, own))


def test_ranges_fill_what_they_are_given() -> None:
    def ranges(x: torch.Tensor) -> Any:
        filled = x.new_zeros(4, 3, 4)
        torch.arange(12, out=filled[0])
        torch.linspace(0, 1, 12, out=filled[1])
        torch.arange(0, 24, 2, out=filled[2].T.reshape(4, 3))  # a copy
        torch.arange(12, out=filled[3].T)
        return filled * x

    held(ranges, (torch.randn(1),))
    held(lambda x: torch.ops.aten.arange.start_out(0, 12, 1, out=x.clone().view(3, 4)), (torch.zeros(12),))


def test_the_sign_of_nan() -> None:
    x = torch.tensor([float("nan"), -0.0, 1.0, -2.0]).copysign(torch.tensor([-1.0, -1.0, 1.0, -1.0]))
    assert torch.signbit(x).tolist() == [True, True, False, True]
    for dtype in (torch.float32, torch.float64, torch.float16):
        held(torch.signbit, (x.to(dtype),), opset_version=26)


aten = torch.ops.aten
OFFSETS, TARGETS = torch.tensor([0, 2, 2, 6]), torch.tensor([1, 0, 3, 1, 0])
REPORTED: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...]]] = {
    "segments": (lambda x: tuple(torch.segment_reduce(x, name, offsets=OFFSETS, initial=1.5) for name in ("amax", "amin", "max", "min", "sum")), (torch.randn(6, 2),)),
    "nll_backward": (lambda g, x: aten.nll_loss_backward(g, x, torch.tensor(2), None, 1, -100, torch.tensor(1.0)), (torch.randn(()), torch.randn(4))),
    "nll_backward_rows": (lambda g, x: aten.nll_loss_backward(g, x, TARGETS, torch.arange(4.0), 0, 3, torch.tensor(1.0)), (torch.randn(5), torch.randn(5, 4))),
    "trilinear": (lambda x, y: aten._trilinear(x, y, x, [], [], [], [1]), (torch.randn(2, 0, 3), torch.randn(2, 0, 3))),
    "trilinear_none": (lambda x, y: aten._trilinear(x, y, x, [], [], [], [1]), (torch.randn(0, 2, 3), torch.randn(0, 2, 3))),
    "trilinear_sizes": (lambda x, y, z: aten._trilinear(x, y, z, [2], [0], [1], [1]), (torch.randn(2, 3), torch.randn(3, 0), torch.randn(1, 1))),
    "trilinear_sizes_of_the_last": (lambda x, y, z: aten._trilinear(x, y, z, [], [0], [0], [1]), (torch.randn(2, 0), torch.randn(0), torch.randn(0))),
    "unique": (lambda x: (aten._unique2(x), aten._unique2(x, True, True, True)), (torch.tensor([[3, 1, 3], [2, 1, 1]]),)),
    "unique_counts": (lambda x: aten._unique2(x, True, False, True), (torch.tensor([[3, 1, 3], [2, 1, 1]]),)),
    "unique_of_a_number": (lambda x: aten._unique2(x, True, True, True), (torch.tensor(3),)),
    "istft": (lambda x: torch.istft(torch.stft(x, 8, return_complex=True, window=torch.ones(8)), 8, window=torch.ones(8), return_complex=False), (torch.randn(2, 32),)),
    "istft_at_a_length": (lambda x: torch.istft(torch.stft(x, 8, 2, return_complex=True, window=torch.ones(8)), 8, 2, window=torch.ones(8), length=30), (torch.randn(32),)),
}


@pytest.mark.parametrize("opset", [9, 13, 18, 23])
@pytest.mark.parametrize("name", REPORTED)
def test_what_was_wrong_or_refused(name: str, opset: int) -> None:
    function, args = REPORTED[name]
    held(function, args, opset_version=opset)


def fake_quantized() -> nn.Module:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale, self.zero = nn.Parameter(torch.rand(4) / 9 + 0.1), nn.Parameter(torch.rand(4))
            self.register_buffer("by", torch.tensor(0.1))
            self.register_buffer("shift", torch.tensor(3, dtype=torch.int32))
            self.weight = nn.Parameter(torch.randn(4, 5))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = torch.fake_quantize_per_tensor_affine(x, self.by, self.shift, 0, 255)
            weight = torch._fake_quantize_learnable_per_channel_affine(self.weight, self.scale, self.zero, 0, -128, 127)
            y = x @ weight.T
            return torch._fake_quantize_learnable_per_tensor_affine(y, self.scale[:1], self.zero[:1], -128, 127)

    torch.manual_seed(0)
    return Net().eval()


@pytest.mark.parametrize("opset", [9, 10, 13, 18, 23])
def test_fake_quantization_is_quantization(opset: int) -> None:
    net, x = fake_quantized(), torch.randn(3, 5)
    program = aten2onnx.export(net, (x,), opset_version=opset)
    np.testing.assert_allclose(program(x)[0], net(x).detach(), rtol=1e-5, atol=1e-6)
    pairs = {9: 0, 10: 2}.get(opset, 3)
    found = nodes(program)
    assert (found["QuantizeLinear"], found["DequantizeLinear"]) == (pairs, pairs)
    assert found["Clip"] <= (3 - pairs) + 2, "the learned zero points are limited"


def test_fake_quantization_rounds_before_the_zero_point() -> None:
    # Halves: PyTorch rounds them to even before it adds the zero point.
    x = torch.arange(-9, 10) * 0.25
    for zero in (0, 1, 3, -5):
        for low, high in ((-128, 127), (-16, 15), (-99999, 99999)):
            for opset in (9, 13, 21):
                held(lambda x: torch.fake_quantize_per_tensor_affine(x, 0.5, zero, low, high), (x,), opset_version=opset)


def test_a_zero_point_beyond_the_limits_is_kept() -> None:
    # PyTorch does not check a zero point that is a tensor.
    x = torch.randn(8)
    for zero in (200, -3):
        program = held(
            lambda x: torch.fake_quantize_per_tensor_affine(x, torch.tensor(0.1), torch.tensor(zero, dtype=torch.int32), -128, 127),
            (x,),
        )
        assert ("QuantizeLinear" in nodes(program)) == (zero == -3)


def unfused(program: aten2onnx.ONNXProgram, x: torch.Tensor) -> np.ndarray:
    """The result in ONNX Runtime without its optimizations: products of integers, which it fuses, saturate on processors without VNNI."""
    onnxruntime = pytest.importorskip("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(program.model_bytes, options)
    return session.run(None, {session.get_inputs()[0].name: x.numpy()})[0]


@pytest.mark.parametrize("backend", ["x86", "qnnpack"])
def test_a_model_of_quantized_training(backend: str) -> None:
    quantization = pytest.importorskip("torch.ao.quantization")

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()
            self.conv, self.linear = nn.Conv2d(3, 4, 3), nn.Linear(4, 5)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.dequant(self.linear(self.conv(self.quant(x)).relu().mean((2, 3))))

    torch.manual_seed(0)
    net = Net().train()
    net.qconfig = quantization.get_default_qat_qconfig(backend)
    net = quantization.prepare_qat(net)
    for _ in range(3):
        net(torch.randn(2, 3, 8, 8))
    x = torch.randn(2, 3, 8, 8)
    net = net.eval().apply(quantization.disable_observer)
    program = aten2onnx.export(net, (x,))
    np.testing.assert_allclose(unfused(program, x), net(x).detach(), rtol=1e-5, atol=1e-6)
    found = nodes(program)
    assert found["QuantizeLinear"] == found["DequantizeLinear"] == 5
    limits = 3 if backend == "x86" else 0  # seven bits for activations
    assert dict(found) == {
        "QuantizeLinear": 5, "DequantizeLinear": 5, "Conv": 1, "Relu": 1, "ReduceMean": 1, "Gemm": 1
    } | ({"Clip": limits} if limits else {})  # fmt: skip
    # While the observers run, scales follow from the input.
    net.apply(quantization.enable_observer)
    observed = aten2onnx.export(copy.deepcopy(net), (x,))
    y = torch.randn(2, 3, 8, 8) * 3
    np.testing.assert_allclose(unfused(observed, y), copy.deepcopy(net)(y).detach(), rtol=1e-4, atol=1e-5)


class Pair(NamedTuple):
    first: torch.Tensor
    second: torch.Tensor


@dataclasses.dataclass
class Scores:
    logits: torch.Tensor
    loss: torch.Tensor | None = None
    hidden: tuple[torch.Tensor, ...] = ()


def output_names(function: Callable[..., Any], args: tuple, **options: Any) -> list[str]:
    return [output.name for output in held(function, args, **options).model_proto.graph.output]


def test_outputs_are_named_by_keys_and_fields() -> None:
    x = torch.randn(4)
    assert output_names(lambda x: {"logits": x + 1, "h": [x + 2, (x + 3, {"q": x + 4})]}, (x,)) == ["logits", "h.0", "h.1.0", "h.1.1.q"]
    assert output_names(lambda x: Pair(x + 1, x + 2), (x,)) == ["first", "second"]
    assert output_names(lambda x: torch.max(x, 0), (x,)) == ["values", "indices"]
    assert output_names(lambda x: (torch.topk(x, 2), x + 1), (x,)) == ["output_0.values", "output_0.indices", "add"]
    assert output_names(lambda x: (x + 1, [x + 2]), (x,)) == ["add", "add_1"]
    assert output_names(lambda x: {"logits": x + 1}, (x,), output_names=["scores"]) == ["scores"]


def test_an_output_with_the_name_of_an_input() -> None:
    class Echo(nn.Module):
        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            return {"x": x + 1}

    program = aten2onnx.export(Echo().eval(), (torch.randn(3),))
    assert [output.name for output in program.model_proto.graph.output] == ["output.x"]


def test_a_file_names_its_outputs_like_the_module(tmp_path: Path) -> None:
    torch.utils._pytree._register_namedtuple(Pair, serialized_type_name="Pair")
    results = {
        "dict": lambda x: {"logits": x + 1, "h": [x + 2, x + 3], 3: x + 4},
        "tuple": lambda x: (x, {"a": x + 1}),
        "named": lambda x: Pair(x + 1, x + 2),
    }
    for name, function in results.items():
        exported = torch.export.export(Calls(function).eval(), (torch.randn(3),))
        torch.export.save(exported, tmp_path / f"{name}.pt2")
        live, file = aten2onnx.export(exported), aten2onnx.export(tmp_path / f"{name}.pt2")
        names = [output.name for output in live.model_proto.graph.output]
        assert names == [output.name for output in file.model_proto.graph.output]
        assert names[-1] == {"dict": "3", "tuple": "output_1.a", "named": "second"}[name]


def test_a_dataclass_is_a_result() -> None:
    class Model(nn.Module):
        def forward(self, x: torch.Tensor) -> Scores:
            return Scores(x + 1, hidden=(x + 2, x + 3))

    program = aten2onnx.export(Model().eval(), (torch.randn(3),), dynamic_shapes={"x": {0: "n"}})
    assert [output.name for output in program.model_proto.graph.output] == ["logits", "hidden.0", "hidden.1"]
    assert program.model_proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "n"
    x = torch.randn(5)
    np.testing.assert_allclose(program(x)[1], x + 2)


def test_a_quantized_layer_at_opset_10_is_told() -> None:
    # ONNX Runtime's optimizer adds Round for the bias, which opset 10 lacks.
    import onnxruntime

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(3, 4, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            quantized = torch.fake_quantize_per_tensor_affine(x, 0.05, 0, -128, 127)
            return torch.fake_quantize_per_tensor_affine(self.conv(quantized), 0.05, 0, -128, 127)

    model, x = Model().eval(), torch.randn(1, 3, 6, 6)
    told = lambda program: any("No Op registered for Round" in note for note in program.report.notes)  # noqa: E731
    program = aten2onnx.export(model, (x,), opset_version=10)
    assert told(program)
    with pytest.raises(onnxruntime.capi.onnxruntime_pybind11_state.InvalidGraph, match="Round"):
        onnxruntime.InferenceSession(program.model_bytes)
    np.testing.assert_allclose(unfused(program, x), model(x).detach(), atol=0.051)
    program = aten2onnx.export(model, (x,), opset_version=11)
    assert not told(program)
    np.testing.assert_allclose(program(x)[0], model(x).detach(), atol=0.051)


def test_numbers_of_a_trace_are_numbers() -> None:
    # A trace has them as constant tensors of float64 and int64, which PyTorch takes as numbers; a buffer is a tensor.
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("factor", torch.tensor(0.5, dtype=torch.float64))

        def forward(self, i: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return i * 0.5, 0.5 + i, i / 2.0, i.sum().int() * 2, i.half().sum() * 2.5, i * self.factor, torch.where(i > 0, i, 0.5)

    i = torch.arange(5)
    traced = torch.jit.trace(Model().eval(), (i,))
    results = aten2onnx.export(traced, (i,))(i)
    wanted = traced(i)
    assert [result.dtype for result in results] == [want.numpy().dtype for want in wanted]
    assert wanted[0].dtype == torch.float32 and wanted[5].dtype == torch.float64
    for result, want in zip(results, wanted):
        np.testing.assert_allclose(result, want)


def test_sizes_in_a_trace_are_noted() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Parameter(torch.randn(32, 5))

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            height, width = (int(size) for size in x.shape[2:])
            resized = nn.functional.interpolate(x, size=(height * 2, width), mode="bilinear")
            return resized, self.table[:height].sum(), x[:, :2], x[:, :1]

    x = torch.randn(1, 3, 7, 5)
    traced = torch.jit.trace(Model().eval(), (x,))
    notes = " ".join(aten2onnx.export(traced, (x,), dynamic_shapes=({2: "h", 3: "w"},)).report.notes)
    assert "write `2*h` with `h = x.size(2)` in place of 14 in `aten::upsample_bilinear2d`" in notes
    assert "write `x.size(3)` in place of 5 in `aten::upsample_bilinear2d`" in notes
    assert "write `x.size(2)` in place of 7 in `aten::slice.Tensor`" in notes
    assert "``" not in notes and "in place of 2" not in notes and "in place of 1 " not in notes
    # A cut of a size that is no example's, and that of an axis that stays as it is, are none.
    notes = " ".join(aten2onnx.export(traced, (x,), dynamic_shapes=({2: "h"},)).report.notes)
    assert "``" not in notes and "in place of 5" not in notes


def metadata(model: Any) -> dict[str, str]:
    return {entry.key: entry.value for entry in model.metadata_props}


def test_the_smallest_sizes_are_stated() -> None:
    class Model(nn.Module):
        def forward(self, x: torch.Tensor, f: torch.Tensor) -> torch.Tensor:
            return x + 1 if f.numel() else x - 1  # PyTorch records no guard

    args = (torch.zeros(3), torch.zeros(2, 4))
    program = aten2onnx.export(Model().eval(), args, dynamic_shapes={"x": None, "f": {1: torch.export.Dim("m", min=1)}})
    assert metadata(program.model_proto)["aten2onnx.ranges"] == "m >= 1" and not program.report.conditions
    assert [given.doc_string for given in program.model_proto.graph.input] == ["", "the model was captured for sizes where `m >= 1`"]
    # A program of PyTorch alone: a size of at least 2 decides, too.
    exported = torch.export.export(Model().eval(), args, dynamic_shapes={"x": None, "f": {1: torch.export.Dim.DYNAMIC}})
    with pytest.warns(UserWarning, match="right only where `s[0-9]+ >= 2`"):
        aten2onnx.export(exported)


def test_conditions_go_along(tmp_path: Path) -> None:
    class Model(nn.Module):
        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            return {"y": x * 2 if x.shape[1] % self.by == 0 else x - 1}

    onnx = pytest.importorskip("onnx")
    shapes = {"x": {0: "b", 1: "n"}}
    with pytest.warns(UserWarning, match="right only where"):
        program = aten2onnx.export(Model(16).eval(), (torch.randn(2, 32),), tmp_path / "a.onnx", dynamic_shapes=shapes, branches="example")
    stated = metadata(program.model_proto)
    assert stated["aten2onnx.conditions"] == "n % 16 == 0"
    aten2onnx.convert(tmp_path / "a.onnx", tmp_path / "b.onnx", opset_version=11)
    converted = onnx.load(tmp_path / "b.onnx")
    assert metadata(converted) == stated
    assert converted.graph.input[0].doc_string == program.model_proto.graph.input[0].doc_string != ""
    for by in (16, 8):
        exported = torch.export.export(Model(by).eval(), (torch.randn(2, 32),), dynamic_shapes={"x": {1: torch.export.Dim.DYNAMIC}})
        torch.export.save(exported, tmp_path / f"m{by}.pt2")
    aten2onnx.export_many({f"m{by}": tmp_path / f"m{by}.pt2" for by in (16, 8)}, tmp_path / "c.onnx", merge=True)
    merged = onnx.load(tmp_path / "c.onnx")
    found = metadata(merged)
    assert [found[f"aten2onnx.conditions.m{by}"].split(" % ")[1] for by in (16, 8)] == ["16 == 0", "8 == 0"]
    doc = merged.graph.input[0].doc_string
    assert doc.startswith("`m16`: the model is right only where") and "; `m8`: the model is right only where" in doc


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_float64_is_resized_without_a_kernel(mode: str) -> None:
    # ONNX Runtime resizes no float64.
    x = torch.randn(1, 2, 4, 4, dtype=torch.float64)
    for opset in (11, 18):
        held(lambda x: nn.functional.interpolate(x, scale_factor=2, mode=mode), (x,), opset_version=opset)


def test_bfloat16_for_onnx_runtime() -> None:
    # Its CPU has no kernel for any of these: with the target they compute in float32.
    class Model(nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            y = x.to(torch.bfloat16)
            found = y.relu(), torch.maximum(y, y * 2), torch.minimum(y, y * 2), y.clamp(-1, 1), nn.functional.interpolate(y, scale_factor=2)
            return tuple(part.float() for part in found)

    x = torch.randn(1, 2, 4, 4)
    for opset in (13, 18, 23):
        results = aten2onnx.export(Model().eval(), (x,), opset_version=opset, target="onnxruntime")(x)
        for result, want in zip(results, Model()(x)):
            np.testing.assert_array_equal(result, want)
