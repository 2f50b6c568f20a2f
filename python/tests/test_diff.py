"""`aten2onnx.diff`: what differs between files, and the first value that differs when both are run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import helper as h
from onnx import numpy_helper as nh

import aten2onnx


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.third = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.third(self.second(self.first(x).relu()).sigmoid())


def exported(path: Path, net: torch.nn.Module | None = None, **options: Any) -> Path:
    torch.manual_seed(0)
    aten2onnx.export((net or Net()).eval(), (torch.randn(2, 4),), path, dynamic_shapes={"x": {0: "n"}}, output_names=["y"], **options)
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return exported(tmp_path / "a.onnx")


def changed(file: Path, change: Callable[[onnx.ModelProto], object]) -> onnx.ModelProto:
    model = onnx.load(file)
    change(model)
    return model


def test_the_text_is_that_of_the_command(file: Path, tmp_path: Path) -> None:
    found = aten2onnx.diff(file, file)
    assert found.equal and str(found) == "the models are equal\n" and not found.values
    other = aten2onnx.edit(onnx.load(file), input_names=["image"])
    found = aten2onnx.diff(file, other)
    assert not found.equal and found.sections["Inputs"] == ["- x float32[n, 4]", "+ image float32[n, 4]"]
    onnx.save(other, tmp_path / "b.onnx")
    run = subprocess.run([sys.executable, "-m", "aten2onnx", "diff", str(file), str(tmp_path / "b.onnx")], capture_output=True, text=True)
    assert run.returncode == 1 and run.stdout == str(aten2onnx.diff(file, tmp_path / "b.onnx"))


def test_the_first_value_that_differs(file: Path) -> None:
    """A weight in the middle differs: what comes before is equal by structure, and what follows is matched by name."""

    def weight(model: onnx.ModelProto) -> None:
        tensor = next(tensor for tensor in model.graph.initializer if tensor.name == "second.bias")
        tensor.CopyFrom(nh.from_array(nh.to_array(tensor) + np.array([0, 0, 0.5, 0], np.float32), "second.bias"))

    other = changed(file, weight)
    for arguments in ({"seed": 3}, {"inputs": {"x": np.ones((3, 4), np.float32)}}, {"inputs": {"x": torch.ones(3, 4)}}, {"seed": 0, "sizes": {"n": 5}}):
        found = aten2onnx.diff(file, other, **arguments)
        first = found.first_difference
        assert first is not None and "second" in first.node and first.matched == "name", found
        assert first.largest_difference == pytest.approx(0.5, rel=1e-4) and ", 2]: " in first.text
        assert [value.matched for value in found.values if value.equal] == ["structure", "structure"]
        assert "the first that differs" in str(found) and not found.equal
    assert first.text.startswith("float32[5, 4], ")
    assert aten2onnx.diff(file, other, seed=0, atol=1.0).first_difference is None
    assert aten2onnx.diff(file, file, seed=0).equal and "all 5 are equal" in str(aten2onnx.diff(file, file, seed=0))


def test_values_are_matched_by_form_and_as_outputs(file: Path) -> None:
    def weights(model: onnx.ModelProto) -> None:
        for tensor in model.graph.initializer:
            if tensor.name.endswith("weight"):
                tensor.CopyFrom(nh.from_array(nh.to_array(tensor) * np.float32(1.5), tensor.name))

    other = aten2onnx.edit(changed(file, weights), strip="names", output_names=["result"])
    found = aten2onnx.diff(file, other, seed=0)
    assert {value.matched for value in found.values} == {"form"} and len(found.values) == 5
    assert found.first_difference is not None and "first" in found.first_difference.node
    # Another graph: the outputs alone are the same.
    last = lambda model: model.graph.node.insert(0, h.make_node("Neg", ["x"], ["minus"])) or model.graph.node[1].input.__setitem__(0, "minus")  # noqa: E731
    found = aten2onnx.diff(file, aten2onnx.edit(changed(file, last), strip="names", output_names=["result"]), seed=0)
    assert [value.matched for value in found.values] == ["output"] and found.values[0].second == "result"


def test_two_exporters(tmp_path: Path) -> None:
    """The same module from torch.onnx.export: other names and nodes, the same results."""
    ours = exported(tmp_path / "ours.onnx")
    torch.manual_seed(0)
    torch.onnx.export(Net().eval(), (torch.randn(2, 4),), str(tmp_path / "theirs.onnx"), dynamo=False, dynamic_axes={"x": {0: "n"}}, input_names=["x"], output_names=["y"])
    found = aten2onnx.diff(ours, tmp_path / "theirs.onnx", seed=1, sizes={"n": 4})
    assert found.values and found.first_difference is None, str(found)


def test_inputs_of_the_second_model(tmp_path: Path) -> None:
    """By name, in whatever order; else by order."""

    def model(*names: str) -> onnx.ModelProto:
        inputs = [h.make_tensor_value_info(name, 1, ["n"]) for name in names]
        graph = h.make_graph([h.make_node("Sub", sorted(names), ["y"])], "g", inputs, [h.make_tensor_value_info("y", 1, ["n"])])
        return h.make_model(graph, opset_imports=[h.make_opsetid("", 18)], ir_version=8)

    assert aten2onnx.diff(model("a", "b"), model("b", "a"), seed=0).first_difference is None
    assert aten2onnx.diff(model("a", "b"), model("c", "d"), seed=0).first_difference is None
    assert aten2onnx.diff(model("a", "b"), model("d", "c"), seed=0).first_difference is not None
    with pytest.raises(aten2onnx.InputError, match="`c`, those of the first `a`, `b`"):
        one = h.make_graph([h.make_node("Abs", ["c"], ["y"])], "g", [h.make_tensor_value_info("c", 1, ["n"])], [h.make_tensor_value_info("y", 1, ["n"])])
        aten2onnx.diff(model("a", "b"), h.make_model(one, opset_imports=[h.make_opsetid("", 18)], ir_version=8), seed=0)


def judged(first: list[Any], second: list[Any], values: tuple[Any, Any], dtype: int = 1) -> aten2onnx.Difference:
    """Two models of one node each."""
    shape: list[Any] = [2]
    models = []
    for nodes in (first, second):
        graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", dtype, shape)], [h.make_empty_tensor_value_info("y")])
        models.append(h.make_model(graph, opset_imports=[h.make_opsetid("", 18)], ir_version=8).SerializeToString())
    return aten2onnx.diff(*models, inputs={"x": values[0]}) if values[1] is None else aten2onnx.diff(*models, inputs={"x": values[1]})


def test_what_is_no_float() -> None:
    x = np.array([1.0, np.nan], np.float32)
    same = judged([h.make_node("Abs", ["x"], ["y"])], [h.make_node("Identity", ["x"], ["y"])], (x, None))
    assert same.values[0].equal, "NaN is NaN"
    infinite = judged([h.make_node("Abs", ["x"], ["y"])], [h.make_node("Neg", ["x"], ["y"])], (np.array([np.inf, 0], np.float32), None))
    assert infinite.first_difference is not None and "at [0]: inf and -inf" in infinite.first_difference.text
    types = judged([h.make_node("Abs", ["x"], ["y"])], [h.make_node("Cast", ["x"], ["y"], to=6)], (x * 0, None))
    assert types.first_difference is not None and types.first_difference.text == "float32[2] and int32[2]"
    large = judged([h.make_node("Abs", ["x"], ["y"])], [h.make_node("Add", ["x", "one"], ["y"])][:0] + [h.make_node("Neg", ["x"], ["y"])], (np.array([2**62 + 1, 0], np.int64), None), 7)
    assert large.first_difference is not None and "4611686018427387905" in large.first_difference.text
    lists = judged([h.make_node("SequenceConstruct", ["x", "x"], ["y"])], [h.make_node("SequenceConstruct", ["x"], ["y"])], (x, None))
    assert lists.first_difference is not None and lists.first_difference.text == "a sequence of 2 and a sequence of 1"
    equal = judged([h.make_node("SequenceConstruct", ["x", "x"], ["y"])], [h.make_node("SequenceConstruct", ["x", "x"], ["y"], name="other")], (x, None))
    assert equal.equal and equal.values[0].text == "a sequence of 2, equal"
    half = judged([h.make_node("Cast", ["x"], ["h"], to=16), h.make_node("Cast", ["h"], ["y"], to=1)], [h.make_node("Cast", ["x"], ["h"], to=16), h.make_node("Cast", ["h"], ["y"], to=11)], (x, None))
    assert [value.equal for value in half.values] == [True, False], str(half)
    nibbles = [h.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"]), h.make_node("DequantizeLinear", ["q", "scale", "zero"], ["y"])]
    weights = [nh.from_array(np.float32(0.5), "scale"), h.make_tensor("zero", onnx.TensorProto.INT4, [], [0])]
    graph = h.make_graph(nibbles, "g", [h.make_tensor_value_info("x", 1, [4])], [h.make_tensor_value_info("y", 1, [4])], weights)
    small = h.make_model(graph, opset_imports=[h.make_opsetid("", 21)], ir_version=10).SerializeToString()
    found = aten2onnx.diff(small, small, inputs={"x": np.array([1, 2, 3, -1], np.float32)})
    assert found.first_difference is None and found.values[-1].first == "y", str(found)
    assert len(found.values) + len(found.notes) // 2 == len(nibbles)


def test_a_page_beside_the_text(file: Path, tmp_path: Path) -> None:
    other = aten2onnx.edit(onnx.load(file), output_names=["<b>"], metadata={"a": "1 & 2"})
    found = aten2onnx.diff(file, other, seed=0, html=tmp_path / "diff.html")
    page = (tmp_path / "diff.html").read_text()
    assert "+ &lt;b&gt; float32[n, 4]" in page and "1 &amp; 2" in page and "<b>" not in page.replace("<body>", "") and "All 5 are equal" in page
    assert "http" not in page and "<script" not in page
    found.save(tmp_path / "again.html")
    assert (tmp_path / "again.html").read_text() == page
    with pytest.raises(aten2onnx.FileError, match="no/diff.html"):
        found.save(tmp_path / "no/diff.html")


def test_the_command_runs_models(file: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", x=np.ones((3, 4), np.float32))
    aten2onnx.edit(file, tmp_path / "b.onnx", output_names=["scores"])

    def command(*arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "aten2onnx", "diff", *map(str, arguments)], capture_output=True, text=True)

    run = command(file, file, "--inputs", tmp_path / "data.npz")
    assert run.returncode == 0 and "all 5 are equal" in run.stdout, run.stderr
    run = command(file, tmp_path / "b.onnx", "--random=7", "--size", "n=3", "--html", tmp_path / "diff.html")
    assert run.returncode == 1 and "+ scores" in run.stdout and (tmp_path / "diff.html").exists(), run.stderr
    assert command(file, tmp_path / "b.onnx", "--random", "7", "-q").stdout == ""
    for arguments, code, said in [
        (["--inputs", tmp_path / "none.npz"], 3, "cannot read"),
        (["--inputs", file], 4, "not a file of arrays"),
        (["--random", "x"], 2, "no number"),
        (["--random", "1", "--size", "n"], 2, "NAME=SIZE"),
        (["--random", "1", "--inputs", tmp_path / "data.npz"], 2, "not allowed"),
        (["--random", "1", "--size", "m=2"], 4, "no input has a dimension `m`"),
    ]:
        run = command(file, file, *arguments)
        assert run.returncode == code and said in run.stderr, (arguments, run.returncode, run.stderr)


def test_misuse_is_named(file: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "one.npy", np.ones(3))
    x = np.ones((2, 4), np.float32)
    for arguments, kind, said in [
        ({"inputs": {"x": x}, "seed": 1}, aten2onnx.ArgumentError, "both"),
        ({"rtol": 1.0}, aten2onnx.ArgumentError, "no value is compared"),
        ({"sizes": {"n": 1}}, aten2onnx.ArgumentError, "random inputs"),
        ({"inputs": {}}, aten2onnx.ArgumentError, "`x` is missing"),
        ({"inputs": {"x": x, "z": x}}, aten2onnx.ArgumentError, "no input `z`"),
        ({"inputs": {"x": x[:, :3]}}, aten2onnx.InputError, "ONNX Runtime cannot run"),
        ({"inputs": tmp_path / "one.npy"}, aten2onnx.InputError, "has no name"),
        ({"inputs": tmp_path / "none.npz"}, aten2onnx.FileError, "cannot read"),
    ]:
        with pytest.raises(kind, match=said):
            aten2onnx.diff(file, file, **arguments)
    with pytest.raises(aten2onnx.FileError, match="missing.onnx"):
        aten2onnx.diff(file, tmp_path / "missing.onnx")
