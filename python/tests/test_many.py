"""Several programs that share one file of weights, or one model."""

from __future__ import annotations

from pathlib import Path

import aten2onnx
import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from torch import nn

IDS, ONE = torch.arange(10).reshape(2, 5), torch.tensor([[3], [4]])


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.mid, self.head = nn.Embedding(500, 128), nn.Linear(128, 128), nn.Linear(128, 500, bias=False)


class Prefill(nn.Module):
    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, ids):
        x = torch.relu(self.net.mid(self.net.embed(ids)))
        return self.net.head(x), x.sum(1)


class Decode(Prefill):
    def forward(self, ids, past):
        x = torch.relu(self.net.mid(self.net.embed(ids) + past[:, None]))
        return self.net.head(x), x.sum(1) + past


def models() -> dict[str, tuple]:
    net = Net().eval()
    return {"prefill": (Prefill(net).eval(), (IDS,)), "decode": (Decode(net).eval(), (ONE, torch.randn(2, 128)))}


def session(path: Path) -> onnxruntime.InferenceSession:
    onnx.checker.check_model(path, full_check=True)
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def test_equal_weights_are_written_once(tmp_path) -> None:
    given = models()
    programs = aten2onnx.export_many(given, tmp_path / "both", opset_version=17)
    assert sorted(path.name for path in (tmp_path / "both").iterdir()) == ["decode.onnx", "prefill.onnx", "weights.data"]
    once = sum(weight.nbytes for weight in given["prefill"][0].parameters())
    assert (tmp_path / "both/weights.data").stat().st_size < 1.02 * once + 8192
    assert programs["prefill"].report.opset == 17
    for name, (module, args) in given.items():
        found = session(tmp_path / f"both/{name}.onnx").run(None, dict(zip(["ids", "past"], [arg.numpy() for arg in args])))
        for got, wanted in zip(found, module(*args)):
            torch.testing.assert_close(torch.from_numpy(got), wanted.detach(), rtol=1e-4, atol=1e-4)


def test_two_models_become_the_branches_of_one(tmp_path) -> None:
    given = models()
    path = tmp_path / "merged.onnx"
    aten2onnx.export_many(given, path, merge=True, output_names=["logits", "state"])
    assert path.stat().st_size < 1.05 * sum(weight.nbytes for weight in given["prefill"][0].parameters())
    merged = session(path)
    for later, (module, args) in enumerate(given.values()):
        feeds = dict(zip(["ids", "past"], [arg.numpy() for arg in args]))
        feeds = {"past": np.zeros((2, 128), np.float32), **feeds, "use_cache_branch": np.array([bool(later)])}
        for got, wanted in zip(merged.run(["logits", "state"], feeds), module(*args)):
            torch.testing.assert_close(torch.from_numpy(got), wanted.detach(), rtol=1e-4, atol=1e-4)


def test_what_cannot_be_shared_is_refused(tmp_path) -> None:
    given = models()
    with pytest.raises(aten2onnx.UnsupportedError, match="but `decode` returns"):
        aten2onnx.export_many(given, tmp_path / "merged.onnx", merge=True)
    with pytest.raises(aten2onnx.UnsupportedError, match="cannot be inside of each"):
        aten2onnx.export_many(given, tmp_path / "both", external_data="never")
    with pytest.raises(aten2onnx.UnsupportedError, match="1 models cannot be merged"):
        aten2onnx.export_many({"one": given["prefill"]}, tmp_path / "merged.onnx", merge="later")
    with pytest.raises(aten2onnx.InputError, match="no model"):
        aten2onnx.export_many({}, tmp_path)
    with pytest.raises(aten2onnx.InputError, match="need `model`"):
        aten2onnx.export_many({"a": {"args": ()}}, tmp_path)
