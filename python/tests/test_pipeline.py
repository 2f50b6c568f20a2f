"""What models say of themselves, and models in parts."""

from __future__ import annotations

import json
import subprocess
import sys
import weakref

import numpy as np
import onnx
import pytest
import torch
from torch import nn

import aten2onnx


@pytest.fixture(scope="module")
def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3)).eval()


def split(*arguments: object) -> None:
    subprocess.run([sys.executable, "-m", "aten2onnx", "split", *map(str, arguments), "--quiet"], check=True)


def test_a_model_says_what_it_is_told_to_say(net, tmp_path) -> None:
    said = {"metadata": {"names": "@file", "stride": "32"}, "doc_string": "Classes", "value_docs": {"input": "a row"}, "producer_name": "shop", "producer_version": "7"}
    program = aten2onnx.export(net, (torch.randn(2, 4),), tmp_path / "model.onnx", input_names=["input"], **said)
    for proto in (onnx.load(tmp_path / "model.onnx"), program.model_proto, aten2onnx.convert(tmp_path / "model.onnx", opset_version=13, ir_version="lowest")):
        proto = onnx.load_from_string(proto) if isinstance(proto, bytes) else proto
        assert {p.key: p.value for p in proto.metadata_props} == {"names": "@file", "stride": "32"}, "a text is not the name of a file"
        assert (proto.doc_string, proto.graph.input[0].doc_string, proto.producer_name, proto.producer_version) == ("Classes", "a row", "shop", "7")
    changed = aten2onnx.convert(program.model_proto, opset_version=13, metadata={"stride": "16"})
    assert {p.key: p.value for p in changed.metadata_props} == {"names": "@file", "stride": "16"}


def test_what_cannot_be_said_is_named(net) -> None:
    with pytest.raises(aten2onnx.ArgumentError, match="metadata"):
        aten2onnx.export(net, (torch.randn(2, 4),), metadata={"stride": 32})
    with pytest.raises(aten2onnx.UnsupportedError, match="no input or output `image`"):
        aten2onnx.export(net, (torch.randn(2, 4),), value_docs={"image": "a row"})


def test_parts_run_one_after_the_other(net, tmp_path) -> None:
    x = torch.randn(2, 4)
    program = aten2onnx.export(net, (x,), tmp_path / "model.onnx", output_names=["y"])
    split(tmp_path / "model.onnx", "--nodes", 1, "-o", tmp_path)
    pipeline = aten2onnx.Pipeline(tmp_path / "model.json")
    assert len(pipeline.sessions) > 3
    assert [node.name for node in pipeline.get_inputs()] == pipeline.inputs and [node.name for node in pipeline.get_outputs()] == ["y"] == pipeline.outputs
    [found] = pipeline.run(None, {pipeline.inputs[0]: x.numpy()})
    np.testing.assert_allclose(found, program(x)[0] if isinstance(program(x), (list, tuple)) else program(x), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(pipeline.run(["y"], {pipeline.inputs[0]: x.numpy()})[0], found)


def test_values_that_no_later_part_reads_are_freed(net, tmp_path) -> None:
    aten2onnx.export(net, (torch.randn(2, 4),), tmp_path / "model.onnx", output_names=["y"])
    split(tmp_path / "model.onnx", "--nodes", 1, "-o", tmp_path)
    pipeline = aten2onnx.Pipeline(tmp_path / "model.json")
    made: list[weakref.ref] = []
    alive: list[int] = []

    class Watched:
        def __init__(self, session) -> None:
            self.session = session

        def run(self, names, feeds, options):
            alive.append(sum(reference() is not None for reference in made))
            results = self.session.run(names, feeds, options)
            made.extend(weakref.ref(result) for result in results)
            return results

    pipeline.sessions = [Watched(session) for session in pipeline.sessions]
    pipeline.run(None, {pipeline.inputs[0]: np.zeros((2, 4), np.float32)})
    assert len(made) > 3 and max(alive) <= 2, alive


def test_misuse_of_a_pipeline_is_named(net, tmp_path) -> None:
    x = torch.randn(2, 4)
    aten2onnx.export(net, (x,), tmp_path / "model.onnx", input_names=["x"], output_names=["y"])
    split(tmp_path / "model.onnx", "--parts", 2, "-o", tmp_path)
    pipeline = aten2onnx.Pipeline(tmp_path / "model.json")
    for names, feeds, said in [
        (None, {}, "the input `x` is missing"),
        (None, {"x": x.numpy(), "z": x.numpy()}, "no input `z`"),
        (["z"], {"x": x.numpy()}, "no output `z`"),
    ]:
        with pytest.raises(aten2onnx.ArgumentError, match=said):
            pipeline.run(names, feeds)
    with pytest.raises(aten2onnx.FileError, match="cannot read"):
        aten2onnx.Pipeline(tmp_path / "missing.json")
    wiring = json.loads((tmp_path / "model.json").read_text())
    for broken in ("{", "[]", json.dumps({**wiring, "parts": [{}]})):
        (tmp_path / "broken.json").write_text(broken)
        with pytest.raises(aten2onnx.InputError, match="not a list of parts"):
            aten2onnx.Pipeline(tmp_path / "broken.json")
    (tmp_path / "newer.json").write_text(json.dumps({**wiring, "format": 2}))
    with pytest.raises(aten2onnx.InputError, match="update aten2onnx"):
        aten2onnx.Pipeline(tmp_path / "newer.json")
    (tmp_path / "model-2.onnx").unlink()
    with pytest.raises(aten2onnx.FileError, match="model-2.onnx` is missing"):
        aten2onnx.Pipeline(tmp_path / "model.json")
