"""`aten2onnx.export(model, .., before=, after=)`: modules around a model, in one file."""

from __future__ import annotations

import collections
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

import aten2onnx
from aten2onnx import ready


class Net(torch.nn.Module):
    """It has a module, a parameter and a buffer at its root, and a module with the name `after`."""

    def __init__(self) -> None:
        super().__init__()
        self.features = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU())
        self.after = torch.nn.Linear(4, 10)
        self.scale = torch.nn.Parameter(torch.full((1,), 2.0))
        self.register_buffer("shift", torch.ones(10))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.after(self.features(x).mean((2, 3))) * self.scale + self.shift


def photo(n: int, h: int, w: int) -> torch.Tensor:
    return torch.randint(0, 256, (n, h, w, 3), dtype=torch.uint8)


@pytest.mark.parametrize("capture", ["auto", "export"])
def test_one_file_has_all(tmp_path: Path, capture: Any) -> None:
    net, before, after = Net().eval(), ready.Image(16, 16), ready.TopK(3, labels=[f"class {i}" for i in range(10)])
    shapes = {"image": {0: "n", 1: "h", 2: "w"}}
    program = aten2onnx.export(
        net, (photo(2, 20, 30),), tmp_path / "all.onnx", before=before, after=after, dynamic_shapes=shapes, output_names=["p", "c"], metadata={"stride": "8"}, verify=True, capture=capture
    )
    assert not program.report.conditions and program.report.model == "Net"
    model = onnx.load(tmp_path / "all.onnx")
    [image] = model.graph.input
    assert image.name == "image" and [dim.dim_param or dim.dim_value for dim in image.type.tensor_type.shape.dim] == ["n", "h", "w", 3]
    entries = {entry.key: entry.value for entry in model.metadata_props}
    assert entries["stride"] == "8" and entries["names"].startswith('{"0": "class 0"')
    own = "" if capture == "auto" else "model."
    nodes = {node.name.rpartition("/")[0] for node in model.graph.node}
    # The name of a module of the model is not taken.
    assert {"before", f"{own}features.1", f"{own}after", "after_"} <= nodes, nodes
    weights = {tensor.name for tensor in model.graph.initializer}
    assert {f"{own}features.0.weight", f"{own}after.weight", f"{own}scale", f"{own}shift", "before.mean"} <= weights, weights
    session = onnxruntime.InferenceSession(str(tmp_path / "all.onnx"))
    for size in ((1, 16, 16), (3, 40, 25), (2, 7, 90)):
        x = photo(*size)
        for found, wanted in zip(session.run(None, {"image": x.numpy()}), after(net(before(x)))):
            np.testing.assert_allclose(found, wanted.detach().numpy(), rtol=1e-4, atol=1e-6)


def test_what_a_module_returns_is_given_to_the_next() -> None:
    class Two(torch.nn.Module):
        def forward(self, a: torch.Tensor, *, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return a + 1, b * 2

    class Named(torch.nn.Module):
        def forward(self, p: torch.Tensor, q: torch.Tensor) -> dict[str, torch.Tensor]:
            return {"right": p - q, "left": p + q}

    class Last(torch.nn.Module):
        def forward(self, left: torch.Tensor, right: torch.Tensor) -> list[torch.Tensor]:
            return [left, right / 2]

    class Listed(torch.nn.Module):
        def forward(self, both: list[torch.Tensor]) -> Any:
            return collections.namedtuple("Pair", "x y")(*both)

    class Paired(torch.nn.Module):
        def forward(self, pair: Any) -> torch.Tensor:
            return pair.x * pair.y

    a, b = torch.randn(3), torch.randn(3)
    program = aten2onnx.export(Named(), (a,), kwargs={"b": b}, before=Two(), after=Last(), dynamic_shapes={"a": {0: "n"}, "b": {0: "n"}}, verify=True)
    assert [name for name, _ in program.report.inputs] == ["a", "b"]
    p, q = a + 1, b * 2
    for found, wanted in zip(program(a, b=b), (p + q, (p - q) / 2)):
        torch.testing.assert_close(found, wanted)
    program = aten2onnx.export(Listed(), ([a, b],), after=Paired(), verify=True)
    torch.testing.assert_close(program([a, b])[0], a * b)


def test_the_metadata_of_the_user_comes_first(tmp_path: Path) -> None:
    aten2onnx.export(torch.nn.Linear(3, 4).eval(), (torch.randn(1, 3),), tmp_path / "m.onnx", after=ready.TopK(1, labels="abcd".split()), metadata={"names": "mine"})
    assert [entry.value for entry in onnx.load(tmp_path / "m.onnx").metadata_props if entry.key == "names"] == ["mine"]


def test_the_mode_is_that_of_all() -> None:
    net = Net().eval()
    with pytest.warns(UserWarning, match="training mode"):
        aten2onnx.export(net, (torch.randn(1, 3, 8, 8),), after=torch.nn.Dropout())
    assert not net.training


def test_misuse_is_named(tmp_path: Path) -> None:
    x = torch.randn(1, 3, 8, 8)
    for arguments, said in [
        ({"model": Net().eval(), "before": torch.relu}, "before: expected a torch.nn.Module"),
        ({"model": Net().eval(), "after": "after.onnx"}, "after: expected a torch.nn.Module, found an object of the class `str`"),
        ({"model": tmp_path / "net.pt2", "after": torch.nn.ReLU()}, "model: expected a torch.nn.Module"),
        ({"model": torch.jit.trace(Net().eval(), x), "after": torch.nn.ReLU()}, "model: expected a torch.nn.Module"),
    ]:
        with pytest.raises(aten2onnx.ArgumentError, match=said) as raised:
            aten2onnx.export(args=(x,), **arguments)
        assert "aten2onnx.join" in str(raised.value)
