"""TorchScript: files and live modules."""

from __future__ import annotations

from typing import Dict, List, Optional

import aten2onnx
import pytest
import torch
from torch import nn

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::torch.jit.TracerWarning")


class Chooses(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor, more: List[torch.Tensor], scale: Optional[float] = None) -> Dict[str, torch.Tensor]:
        y = self.linear(x)
        if bool(y.sum() > 0):
            y = y * 2
        for item in more:
            y = y + item
        return {"y": y if scale is None else y * scale}


def same(result, expected: torch.Tensor) -> None:
    torch.testing.assert_close(torch.from_numpy(result), expected)


def inputs(batch: int) -> tuple:
    return torch.randn(batch, 4), [torch.randn(batch, 3), torch.randn(3)]


def test_a_live_script_module() -> None:
    model = Chooses().eval()
    program = aten2onnx.export(torch.jit.script(model), inputs(2), dynamic_shapes=({0: "batch"}, [{0: "batch"}, None]))
    for batch in (2, 5):
        x, more = inputs(batch)
        same(program(x, *more)[0], model(x, more)["y"].detach())


def test_a_file_with_recorded_inputs(tmp_path) -> None:
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU()).eval()
    torch.jit.trace(model, torch.randn(2, 4)).save(tmp_path / "model.pt")
    x = torch.randn(2, 4)
    same(aten2onnx.export(tmp_path / "model.pt")(x)[0], model(x).detach())
    program = aten2onnx.export(tmp_path / "model.pt", (torch.randn(2, 4),), dynamic_axes={"0": {0: "batch"}})
    x = torch.randn(7, 4)
    same(program(x)[0], model(x).detach())


def test_a_function() -> None:
    @torch.jit.script
    def twice(x: torch.Tensor, n: int) -> torch.Tensor:
        for i in range(n):
            x = x * 2
        return x

    program = aten2onnx.export(twice, (torch.ones(3), 4))
    assert program(torch.ones(3))[0].tolist() == [16.0] * 3


class Keywords(nn.Module):
    def forward(self, x: torch.Tensor, scale: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return x * scale + bias


@pytest.mark.parametrize("traced", [False, True])
def test_keywords_in_another_order_than_the_parameters(traced: bool) -> None:
    given = {"bias": torch.randn(3), "scale": torch.randn(2, 1), "x": torch.randn(2, 3)}
    script = torch.jit.trace(Keywords(), example_kwarg_inputs=given) if traced else torch.jit.script(Keywords())
    program = aten2onnx.export(script, kwargs=given, input_names=["first", "second", "third"], dynamic_shapes=({1: "n"}, None, {0: "n"}))
    x, scale, bias = torch.randn(2, 5), torch.randn(2, 1), torch.randn(5)
    same(program(first=x, second=scale, third=bias)[0], x * scale + bias)


class Defaults(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.tensor(0.1) + torch.tensor([0.1, 0.2]) + torch.ones(2)


def test_the_default_dtype(tmp_path) -> None:
    x = torch.tensor([1, 2])
    script = torch.jit.script(Defaults())
    script.save(tmp_path / "model.pt")
    torch.set_default_dtype(torch.float64)
    try:
        expected = Defaults()(x)
        assert expected.dtype == torch.float64
        same(aten2onnx.export(script, (x,))(x)[0], expected)
    finally:
        torch.set_default_dtype(torch.float32)
    same(aten2onnx.export(tmp_path / "model.pt", (x,), default_dtype=torch.float64)(x)[0], expected)
    same(aten2onnx.export(tmp_path / "model.pt", (x,))(x)[0], Defaults()(x))
    with pytest.raises(ValueError, match="expected float32"):
        aten2onnx.export(tmp_path / "model.pt", (x,), default_dtype="int64")


def test_a_missing_description_is_asked_for(tmp_path) -> None:
    torch.jit.script(Chooses()).save(tmp_path / "model.pt")
    with pytest.raises(aten2onnx.UnsupportedError, match="does not say what the inputs"):
        aten2onnx.export(tmp_path / "model.pt")


def test_inspect_needs_no_descriptions(tmp_path) -> None:
    script = torch.jit.script(Chooses())
    script.save(tmp_path / "model.pt")
    for model in (tmp_path / "model.pt", script):
        shown = aten2onnx.inspect(model)
        [method] = shown.methods
        assert method["signature"].startswith("forward(x: Tensor, more: List[Tensor], scale: Optional[float] = None) -> ")
        assert method["parameters"][0]["describe"] == "x:f32[batch,3,224,224]"
        assert shown.operators["aten::linear"] == 1
        assert shown.opsets == []
    assert aten2onnx.inspect(script, inputs(2)).opsets != []
