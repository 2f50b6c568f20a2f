"""`aten2onnx.extract`, `edit`, `join` and `split`: what the commands do, with their options as arguments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

import aten2onnx


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(4, 3)
        self.second = torch.nn.Linear(3, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x).relu())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "net.onnx"
    aten2onnx.export(Net().eval(), (torch.randn(2, 4),), path, dynamic_shapes={"x": {0: "n"}}, output_names=["y"])
    return path


def run(model: Any, **feeds: Any) -> Any:
    model = model.SerializeToString() if isinstance(model, onnx.ModelProto) else model if isinstance(model, bytes) else str(model)
    return onnxruntime.InferenceSession(model).run(None, feeds)


def test_a_part_has_the_form_of_the_model(file: Path, tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    [whole] = run(file, x=x)
    # A path gives bytes, a ModelProto one, and `f` a file.
    first = aten2onnx.extract(file, to="first")
    assert isinstance(first, bytes)
    second = aten2onnx.extract(onnx.load(file), from_=["second"], metadata={"part": "2"})
    assert isinstance(second, onnx.ModelProto) and second.metadata_props[-1].value == "2"
    [hidden] = run(first, x=x)
    [name] = [value.name for value in second.graph.input]
    np.testing.assert_array_equal(run(second, **{name: np.maximum(hidden, 0)})[0], whole)
    assert aten2onnx.extract(file.read_bytes(), tmp_path / "part.onnx", from_="first", to="first") is None
    assert [node.op_type for node in onnx.load(tmp_path / "part.onnx").graph.node] == ["Gemm"]


def test_edits_have_the_options_of_the_command(file: Path) -> None:
    edited = aten2onnx.edit(
        onnx.load(file), input_names={"x": "image"}, output_names=["scores"], dims={"n": "batch"}, input_types={"x": torch.float16}, strip="docs", sort=True, deduplicate=True
    )
    [image], [scores] = edited.graph.input, edited.graph.output
    assert (image.name, scores.name) == ("image", "scores") and image.type.tensor_type.elem_type == onnx.TensorProto.FLOAT16
    assert image.type.tensor_type.shape.dim[0].dim_param == "batch"
    fixed = aten2onnx.edit(onnx.load(file), dims={"x:0": 1}, to_inputs="first.bias", keep_defaults=True)
    assert fixed.graph.input[0].type.tensor_type.shape.dim[0].dim_value == 1 and [value.name for value in fixed.graph.input] == ["x", "first.bias"]
    x = np.ones((1, 4), np.float32)
    shuffled = onnx.ModelProto.FromString(onnx.load(file).SerializeToString())
    nodes = list(reversed(shuffled.graph.node))
    del shuffled.graph.node[:]
    shuffled.graph.node.extend(nodes)
    assert [node.op_type for node in aten2onnx.edit(shuffled, sort=True).graph.node] == ["Gemm", "Relu", "Gemm"]
    assert [node.op_type for node in nodes] == [node.op_type for node in aten2onnx.edit(shuffled).graph.node]
    assert nodes != list(aten2onnx.edit(shuffled, sort=True).graph.node)
    back = aten2onnx.edit(fixed, to_weights=["first.bias"])
    np.testing.assert_array_equal(run(back, x=x)[0], run(file, x=x)[0])
    for elements in ([0, 0, 0], np.zeros(3), torch.zeros(3), 0):
        zero = aten2onnx.edit(fixed, to_weights={"first.bias": elements})
        np.testing.assert_array_equal(run(zero, x=x)[0], run(fixed, x=x, **{"first.bias": np.zeros(3, np.float32)})[0])


def test_models_become_one(file: Path, tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    [whole] = run(file, x=x)
    aten2onnx.extract(file, tmp_path / "a.onnx", to="first")
    aten2onnx.extract(file, tmp_path / "b.onnx", from_="second")
    [out], [into] = (onnx.load(tmp_path / "a.onnx").graph.output, onnx.load(tmp_path / "b.onnx").graph.input)
    relu = onnx.helper.make_model(
        onnx.helper.make_graph([onnx.helper.make_node("Relu", ["in"], ["out"])], "g", [onnx.helper.make_tensor_value_info("in", 1, ["n", 3])], [onnx.helper.make_tensor_value_info("out", 1, ["n", 3])]),
        opset_imports=[onnx.helper.make_opsetid("", 18)],
        ir_version=8,
    )
    models = [tmp_path / "a.onnx", relu, tmp_path / "b.onnx"]
    joined = aten2onnx.join(models, wires={out.name: "in", "model:out": into.name})
    assert isinstance(joined, bytes)
    np.testing.assert_array_equal(run(joined, x=x)[0], whole)
    named = aten2onnx.join({"one": models[0], "two": relu, "three": models[2]}, wires=[(f"one:{out.name}", "two:in"), ("two:out", f"three:{into.name}")], keep=[out.name], opset_version=20)
    parsed = onnx.load_from_string(named)
    assert parsed.opset_import[0].version == 20 and [value.name for value in parsed.graph.output] == [out.name, "y"]
    both = aten2onnx.join([relu, relu])
    assert isinstance(both, onnx.ModelProto) and [value.name for value in both.graph.input] == ["in", "model_2/in"]


@pytest.mark.parametrize("way", [{"at": "second"}, {"at": ["second"]}, {"nodes": 1}, {"bytes": "80B"}, {"bytes": 80}, {"parts": 2}])
def test_parts_are_a_pipeline(file: Path, tmp_path: Path, way: dict[str, Any]) -> None:
    x = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    for model in (file, onnx.load(file), file.read_bytes()):
        written = aten2onnx.split(model, tmp_path / "parts", name="part", **way)
        assert written == tmp_path / "parts/part.json" and len(json.loads(written.read_text())["parts"]) >= 2
        np.testing.assert_allclose(aten2onnx.Pipeline(written).run(None, {"x": x})[0], run(file, x=x)[0], rtol=1e-6)
    assert aten2onnx.split(file, tmp_path / "own", parts=2).name == "net.json"


def test_a_target_has_parts_of_its_own(tmp_path: Path) -> None:
    """The parts for it are valid there; the others say why they are not."""
    nodes = [
        onnx.helper.make_node("Add", ["x", "x"], ["twice"], "add"),
        onnx.helper.make_node(
            "TfIdfVectorizer", ["twice"], ["counts"], "count", mode="TF", min_gram_length=1, max_gram_length=1, max_skip_count=0, ngram_counts=[0], ngram_indexes=[0, 1], pool_int64s=[2, 4]
        ),
        onnx.helper.make_node("Neg", ["counts"], ["y"], "negate"),
        onnx.helper.make_node("Mul", ["twice", "x"], ["z"], "multiply"),
    ]
    values = [onnx.helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in (("x", 7, [4]), ("y", 1, [2]), ("z", 7, [4]))]
    model = onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", values[:1], values[1:]), opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=8)
    with pytest.raises(aten2onnx.UnsupportedError, match="TfIdfVectorizer"):
        aten2onnx.convert(model, target="tract")
    wiring = json.loads(aten2onnx.split(model, tmp_path, target="tract").read_text())
    assert wiring["target"].startswith("tract-") and [part["runs_on_target"] for part in wiring["parts"]] == [True, False, True]
    # What does not need the other part is in the first one.
    assert wiring["parts"][0]["outputs"] == ["twice", "z"] and wiring["parts"][1]["inputs"] == ["twice"]
    for part in wiring["parts"]:
        if part["runs_on_target"]:
            aten2onnx.convert(tmp_path / part["file"], target="tract")
            assert "reasons" not in part
        else:
            assert part["reasons"][0].startswith("node `count` (TfIdfVectorizer)") and len(part["reasons"]) == 1
    pipeline = aten2onnx.Pipeline(tmp_path / "model.json", other_providers=["CPUExecutionProvider"])
    x = np.array([1, 1, 2, 9], np.int64)
    for found, wanted in zip(pipeline.run(None, {"x": x}), run(model, x=x)):
        np.testing.assert_array_equal(found, wanted)
    whole = json.loads(aten2onnx.split(model, tmp_path / "all", target="onnxruntime").read_text())
    assert [part["runs_on_target"] for part in whole["parts"]] == [True]
    with pytest.raises(aten2onnx.ArgumentError, match="not split for a target"):
        aten2onnx.Pipeline(aten2onnx.split(model, tmp_path / "two", parts=2), other_providers=[])


def test_the_providers_of_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[tuple[str, Any]] = []

    class Session:
        def __init__(self, path: str, options: object, providers: Any) -> None:
            opened.append((Path(path).name, providers))

    monkeypatch.setattr(onnxruntime, "InferenceSession", Session)
    parts = [{"file": f"{number}.onnx", "inputs": [], "outputs": [], "runs_on_target": number != 1} for number in range(3)]
    for part in parts:
        (tmp_path / str(part["file"])).write_bytes(b"")
    (tmp_path / "m.json").write_text(json.dumps({"format": 1, "inputs": [], "outputs": [], "target": "a-1", "parts": parts}))
    aten2onnx.Pipeline(tmp_path / "m.json", providers=["A"], other_providers=["B"])
    assert opened == [("0.onnx", ["A"]), ("1.onnx", ["B"]), ("2.onnx", ["A"])]


def test_misuse_is_named(file: Path, tmp_path: Path) -> None:
    for call, said in [
        (lambda: aten2onnx.extract(file), "whole model"),
        (lambda: aten2onnx.extract(file, form="x"), "unexpected keyword"),
        (lambda: aten2onnx.extract(file, to="first", types={"x": "nothing[2]"}), "types"),
        (lambda: aten2onnx.extract(3, to="x"), "model"),
        (lambda: aten2onnx.edit(file, strip="everything"), "strip"),
        (lambda: aten2onnx.edit(file, dims={"n": "a b"}), "dims"),
        (lambda: aten2onnx.edit(file, output_types={"y": "float7"}), "float7"),
        (lambda: aten2onnx.edit(file, to_weights={"x": ["a"]}), "no numbers"),
        (lambda: aten2onnx.join([file]), "two models"),
        (lambda: aten2onnx.join([file, file], wires=[("y",)]), "wires"),
        (lambda: aten2onnx.join([file, file], opset_version=3), "opset"),
        (lambda: aten2onnx.split(file, tmp_path), "none of them"),
        (lambda: aten2onnx.split(file, tmp_path, at="first", parts=2), "`at` and `parts`"),
        (lambda: aten2onnx.split(file, tmp_path, parts=0), "at least 1"),
        (lambda: aten2onnx.split(file, tmp_path, bytes="much"), "500MB"),
        (lambda: aten2onnx.split(file, tmp_path, target="toaster"), "toaster"),
        (lambda: aten2onnx.split(file, tmp_path, parts=2, name="a/b"), "name"),
    ]:
        with pytest.raises(aten2onnx.ArgumentError) as raised:
            call()
        assert said in str(raised.value), (said, str(raised.value))
    for call, said in [
        (lambda: aten2onnx.extract(file, to="frist"), "did you mean `first`"),
        (lambda: aten2onnx.extract(file, from_="second", to="first"), "`from_`"),
        (lambda: aten2onnx.edit(file, drop_outputs="z"), "it has `y`"),
        (lambda: aten2onnx.edit(file, to_weights="x"), '`to_weights={"x": 1}` or `to_weights={"x": [1, 2, 3]}`'),
        (lambda: aten2onnx.join([file, file], wires={"y": "z"}), "z"),
        (lambda: aten2onnx.split(file, tmp_path / "no", bytes=1), "a node is not cut"),
    ]:
        with pytest.raises(aten2onnx.UnsupportedError) as raised:
            call()
        assert said in str(raised.value), (said, str(raised.value))
    with pytest.raises(aten2onnx.FileError, match="net.onnx"):
        aten2onnx.edit(tmp_path / "missing.onnx")
    assert not (tmp_path / "no").exists()
