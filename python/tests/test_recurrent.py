"""One recurrent layer that is called twice: its weights are in the file once, and each call has its own state, also without the passes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import aten2onnx

pytest.importorskip("onnxruntime")

pytestmark = pytest.mark.filterwarnings("ignore")
KINDS = {"LSTM": nn.LSTM, "GRU": nn.GRU, "RNN": nn.RNN}
WAYS = ["record", "export", "file", "script", "trace"]


class Twice(nn.Module):
    """Other inputs to the same layer; with `chained` the state of the first call goes into the second."""

    def __init__(self, kind: Any, chained: bool) -> None:
        super().__init__()
        self.layer = kind(4, 5, batch_first=True, bidirectional=True)
        self.chained = chained

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        first, state = self.layer(x)
        second, _ = self.layer(y, state) if self.chained else self.layer(y)
        return first, second


def exported(model: nn.Module, args: tuple[torch.Tensor, ...], way: str, folder: Path, **options: Any) -> aten2onnx.ONNXProgram:
    if way != "file":
        return aten2onnx.export(model, args, capture=way, **options)
    torch.export.save(torch.export.export(model, args), folder / "model.pt2")
    return aten2onnx.export(folder / "model.pt2", **options)


@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize("chained", [False, True], ids=["apart", "chained"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_that_is_called_twice(kind: str, way: str, chained: bool, optimize: bool, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    torch.manual_seed(0)
    model, args = Twice(KINDS[kind], chained).eval(), (torch.randn(2, 3, 4), torch.randn(2, 6, 4))
    opset = 9 if way in ("record", "script") else 18
    program = exported(model, args, way, tmp_path, optimize=optimize, opset_version=opset)
    onnx.checker.check_model(program.model_proto, full_check=True)
    assert program.report.operators[kind] == 2
    for result, want in zip(program(*args), model(*args), strict=True):
        torch.testing.assert_close(torch.as_tensor(result), want, rtol=1e-4, atol=1e-5)
    if optimize:
        stored = sum(len(tensor.raw_data) for tensor in program.model_proto.graph.initializer) // 4
        weights = sum(weight.numel() for weight in model.parameters())
        assert weights <= stored < 1.3 * weights
