"""Branches that are deeper in one another than readers of ONNX files take: protobuf reads messages that are 100 deep."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import aten2onnx
import onnx
import pytest
import torch


def branching(count: int, folder: Path) -> Any:
    """A module that asks so many `elif`, one in the other."""
    lines = [f"    {'el' if place else ''}if s > {count - place}:\n        return x * {place + 1}" for place in range(count)]
    text = "\n".join(["from torch import nn", "", "def chosen(x):", "    s = x.sum()", *lines, "    return x - 1", "", "class Model(nn.Module):", "    def forward(self, x):", "        return chosen(x)", ""])
    path = folder / f"branching_{count}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Model().eval()


def test_branches_that_readers_take(tmp_path: Path) -> None:
    model = branching(31, tmp_path)
    program = aten2onnx.export(model, (torch.ones(4),), tmp_path / "model.onnx", dynamic_shapes={"x": {0: "n"}})
    onnx.checker.check_model(onnx.load(tmp_path / "model.onnx"))
    for x in (torch.ones(1), torch.ones(40), torch.ones(17), -torch.ones(3)):
        assert torch.equal(program(x)[0], model(x))


def test_deeper_ones_are_refused_with_their_line(tmp_path: Path) -> None:
    with pytest.raises(aten2onnx.CaptureError, match="more than 31 deep") as refused:
        aten2onnx.export(branching(33, tmp_path), (torch.ones(4),), tmp_path / "model.onnx", dynamic_shapes={"x": {0: "n"}}, max_branches=64)
    assert "branching_33.py" in str(refused.value) and not (tmp_path / "model.onnx").exists()
