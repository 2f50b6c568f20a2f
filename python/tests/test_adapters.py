"""Adapters: weights that ONNX Runtime replaces when a model runs."""

from __future__ import annotations

from pathlib import Path

import aten2onnx
import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

X = torch.randn(3, 16, generator=torch.Generator().manual_seed(3))


class LoraLinear(nn.Module):
    """A linear module with an adapter under the names of peft."""

    def __init__(self, width: int, rank: int = 4) -> None:
        super().__init__()
        self.base_layer = nn.Linear(width, width)
        self.lora_A = nn.ModuleDict({"default": nn.Linear(width, rank, bias=False)})
        self.lora_B = nn.ModuleDict({"default": nn.Linear(rank, width, bias=False)})

    def forward(self, x):
        return self.base_layer(x) + 2.0 * self.lora_B["default"](self.lora_A["default"](x))


def net() -> nn.Module:
    torch.manual_seed(5)
    return nn.Sequential(LoraLinear(16), nn.ReLU(), LoraLinear(16)).eval()


def adapter(seed: int) -> dict[str, torch.Tensor]:
    """An adapter under the names of peft's files."""
    made = torch.Generator().manual_seed(seed)
    names = [name for name in net().state_dict() if "lora_" in name]
    sizes = {name: net().state_dict()[name].shape for name in names}
    return {f"base_model.model.{name.replace('.default', '')}": torch.randn(sizes[name], generator=made) for name in names}


def expected(values: dict[str, torch.Tensor]) -> torch.Tensor:
    module = net()
    own = {name.removeprefix("base_model.model.").replace(".weight", ".default.weight"): value for name, value in values.items()}
    missing = module.load_state_dict(own, strict=False)
    assert not missing.unexpected_keys
    return module(X).detach()


def run(session: onnxruntime.InferenceSession, file: Path | None) -> torch.Tensor:
    options = onnxruntime.RunOptions()
    if file is not None:
        loaded = onnxruntime.LoraAdapter()
        loaded.Load(str(file))
        options.add_active_adapter(loaded)
    (found,) = session.run(None, {session.get_inputs()[0].name: X.numpy()}, options)
    return torch.from_numpy(found)


@pytest.mark.parametrize("functions", ["none", "modules"])
def test_adapters_are_swapped_in_onnx_runtime(tmp_path, functions) -> None:
    program = aten2onnx.export(net(), (X,), adapters="lora_", functions=functions, verify=True)
    program.save(tmp_path / "m.onnx")
    onnx.checker.check_model(tmp_path / "m.onnx", full_check=True)
    first, second = adapter(1), adapter(2)
    save_file(first, tmp_path / "first.safetensors")
    program.save_adapter(tmp_path / "first.onnx_adapter", tmp_path / "first.safetensors")
    program.save_adapter(tmp_path / "second.onnx_adapter", second)
    program.save_adapter(tmp_path / "own.onnx_adapter")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    assert [value.name for value in session.get_overridable_initializers()] == [name for name in net().state_dict() if "lora_" in name]
    assert len(session.get_inputs()) == 1
    own = net()(X).detach()
    for file, wanted in (("first", expected(first)), ("second", expected(second)), ("own", own)):
        torch.testing.assert_close(run(session, tmp_path / f"{file}.onnx_adapter"), wanted, rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(run(session, None), own, rtol=1e-5, atol=1e-5)
    assert not torch.allclose(expected(first), expected(second))


def test_the_file_is_what_onnx_runtime_reads(tmp_path) -> None:
    program = aten2onnx.export(net().half(), (X.half(),), adapters="lora_A")
    program.save_adapter(tmp_path / "own.onnx_adapter")
    read = onnxruntime.AdapterFormat.read_adapter(str(tmp_path / "own.onnx_adapter"))
    values = read.get_parameters()
    state = {name: value for name, value in net().half().state_dict().items() if "lora_A" in name}
    assert sorted(values) == sorted(state)
    for name, value in state.items():
        assert np.array_equal(values[name].numpy(), value.numpy())


def test_adapters_that_do_not_fit_are_refused(tmp_path) -> None:
    program = aten2onnx.export(net(), (X,), adapters="lora_")
    path = tmp_path / "a.onnx_adapter"
    values = adapter(1)
    name = next(iter(values))
    with pytest.raises(aten2onnx.InputError, match=r"is float32\[2, 2\] in the adapter and float32\[4, 16\] in the model"):
        program.save_adapter(path, {**values, name: torch.ones(2, 2)})
    with pytest.raises(aten2onnx.InputError, match="the adapter has no `0.lora_A.default.weight`"):
        program.save_adapter(path, {key: value for key, value in values.items() if key != name})
    with pytest.raises(aten2onnx.InputError, match="the model has no adapter weight `other`"):
        program.save_adapter(path, {**values, "other": torch.ones(1)})
    with pytest.raises(aten2onnx.UnsupportedError, match="the model has no adapter weights"):
        aten2onnx.export(net(), (X,)).save_adapter(path, values)
    with pytest.raises(aten2onnx.UnsupportedError, match="no weight has `dora_` in its name"):
        aten2onnx.export(net(), (X,), adapters="dora_")
    assert not path.exists()


def test_the_command_writes_adapters_beside_the_model(tmp_path) -> None:
    torch.export.save(torch.export.export(net(), (X,)), tmp_path / "m.pt2")
    save_file(adapter(1), tmp_path / "first.safetensors")
    arguments = ["export", str(tmp_path / "m.pt2"), "-q", "--adapter", f"first={tmp_path / 'first.safetensors'}"]
    assert aten2onnx._native.main(["aten2onnx", *arguments]) == 0
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    torch.testing.assert_close(run(session, tmp_path / "first.onnx_adapter"), expected(adapter(1)), rtol=1e-5, atol=1e-4)
