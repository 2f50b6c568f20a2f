"""Modules as ONNX functions."""

from __future__ import annotations

from collections import Counter

import aten2onnx
import onnx
import onnxruntime
import pytest
import torch
from onnx import inliner
from torch import nn


class Norm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class Block(nn.Module):
    """Attention, and a branch with a slope of its own."""

    def __init__(self, width: int, slope: float) -> None:
        super().__init__()
        self.first, self.second = Norm(width), Norm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.act = nn.LeakyReLU(slope)

    def forward(self, x):
        q, k, v = self.qkv(self.first(x)).chunk(3, -1)
        x = x + self.out(nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True))
        return x + self.act(self.second(x))


class OtherName(Block):
    """The same under another name."""


class Net(nn.Module):
    def __init__(self, layers: int = 4, width: int = 16) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, width)
        self.layers = nn.ModuleList((OtherName if i == 2 else Block)(width, 0.1 * (i + 1)) for i in range(layers))
        self.norm = Norm(width)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.norm(self.layers[0](x))


IDS = torch.arange(14).reshape(2, 7)


def exported(which: str, **options):
    return aten2onnx.export(Net().eval(), (IDS,), dynamic_shapes=({0: "batch", 1: "sequence"},), functions=which, verify=True, **options)


def operators(model: onnx.ModelProto) -> Counter[str]:
    """The operators of the main graph and its subgraphs; constants are nodes in functions and initializers outside."""

    def nodes(graph):
        for node in graph.node:
            yield node
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    yield from nodes(attribute.g)

    return Counter(node.op_type for node in nodes(model.graph) if node.op_type != "Constant")


def run(model: onnx.ModelProto) -> torch.Tensor:
    (found,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"ids": IDS.numpy()})
    return torch.from_numpy(found)


@pytest.mark.parametrize("opset", [9, 13, 18, 23, 26])
@pytest.mark.parametrize("which", ["modules", "repeated"])
def test_inlined_the_model_is_the_flat_one(opset, which) -> None:
    torch.manual_seed(1)
    flat = exported("none", opset_version=opset).model_proto
    torch.manual_seed(1)
    program = exported(which, opset_version=opset)
    model = program.model_proto
    assert program.report.ir_version == 8 and flat.ir_version < 8
    onnx.checker.check_model(model, full_check=True)
    inlined = inliner.inline_local_functions(model)
    onnx.checker.check_model(inlined, full_check=True)
    assert not inlined.functions
    assert operators(inlined) == operators(flat)
    for same in (inlined, model):
        torch.testing.assert_close(run(same), run(flat), rtol=1e-5, atol=1e-6)


def test_calls_of_the_same_nodes_share_a_function() -> None:
    model = exported("repeated", opset_version=18).model_proto
    (block,) = model.functions
    assert (block.domain, block.name) == (Block.__module__, "Block")
    # The slope differs, so each call gives it; the name of the class does not matter.
    assert list(block.attribute) == ["alpha"]
    calls = [node for node in model.graph.node if node.op_type == "Block"]
    assert [call.name for call in calls] == ["layers.0", "layers.1", "layers.2", "layers.3", "layers.0@1"]
    assert [round(call.attribute[0].f, 3) for call in calls] == [0.1, 0.2, 0.3, 0.4, 0.1]
    assert "first.weight" in block.input and "layers.3.first.weight" in calls[3].input
    assert any(node.name == "qkv/MatMul" for node in block.node)


def test_modules_are_nested() -> None:
    model = exported("modules", opset_version=18).model_proto
    names = [function.name for function in model.functions]
    assert len(set(names)) == len(names) and {"Block", "Norm", "Linear", "LeakyReLU", "Embedding"} <= set(names)
    block = next(function for function in model.functions if function.name == "Block")
    assert {"Norm", "Linear", "LeakyReLU"} <= {node.op_type for node in block.node}
    linear = next(function for function in model.functions if function.name == "Linear")
    assert linear.domain == "torch.nn.modules.linear"
    assert {(entry.domain, entry.version) for entry in model.opset_import} >= {("", 18), ("torch.nn.modules.linear", 1)}


def test_functions_state_types_where_the_ir_version_has_them() -> None:
    assert all(function.value_info for function in exported("repeated", ir_version=10).model_proto.functions)
    assert not any(function.value_info for function in exported("repeated").model_proto.functions)


def test_old_ir_versions_have_no_functions() -> None:
    with pytest.raises(aten2onnx.UnsupportedError, match="IR version 7 is too old") as error:
        exported("modules", ir_version=7)
    assert "function" in str(error.value)
    with pytest.raises(ValueError, match="functions"):
        exported("layers")


def test_a_conversion_keeps_or_inlines_functions(tmp_path) -> None:
    torch.manual_seed(1)
    exported("modules", opset_version=16).save(tmp_path / "m.onnx", external_data="always")
    expected = run(onnx.load(tmp_path / "m.onnx"))
    for opset, kept in ((17, True), (19, False), (11, False)):
        aten2onnx.convert(tmp_path / "m.onnx", tmp_path / "c.onnx", opset_version=opset)
        converted = onnx.load(tmp_path / "c.onnx")
        onnx.checker.check_model(converted, full_check=True)
        # ReduceMean and Constant have other versions at 19 and 11.
        assert any(function.name == "Norm" for function in converted.functions) == kept
        torch.testing.assert_close(run(converted), expected)


def test_a_runtime_without_functions_is_given_none(tmp_path) -> None:
    with pytest.raises(aten2onnx.UnsupportedError, match="openvino-.* runs no functions: .*No conversion rule"):
        exported("repeated", target="openvino")
    exported("repeated").save(tmp_path / "repeated.onnx")
    aten2onnx.convert(tmp_path / "repeated.onnx", tmp_path / "flat.onnx", target="openvino")
    assert not onnx.load(tmp_path / "flat.onnx").functions
    aten2onnx.convert(tmp_path / "repeated.onnx", tmp_path / "kept.onnx", target="onnxruntime", opset_version=18)
    assert onnx.load(tmp_path / "kept.onnx").functions


def test_small_and_flat_models_say_so() -> None:
    program = aten2onnx.export(nn.ReLU(), (torch.ones(2),), functions="repeated")
    assert not program.model_proto.functions
    assert any("no functions" in note for note in program.report.notes)
