"""The weights of a live module are read from its memory, with any layout."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import aten2onnx
import onnx
import pytest
import torch
from onnx import numpy_helper
from torch import nn


class Weights(nn.Module):
    """Returns its weights, each plus the input."""

    def __init__(self, *weights: torch.Tensor) -> None:
        super().__init__()
        self.count = len(weights)
        for i, weight in enumerate(weights):
            self.register_buffer(f"w{i}", weight)

    def forward(self, x):
        return tuple(getattr(self, f"w{i}") + x.to(getattr(self, f"w{i}").dtype) for i in range(self.count))


def initializers(program) -> dict[str, torch.Tensor]:
    graph = program.model_proto.graph
    return {tensor.name: torch.from_numpy(numpy_helper.to_array(tensor).copy()) for tensor in graph.initializer}


def test_views_are_gathered() -> None:
    base = torch.arange(24.0).reshape(4, 6)
    views = [base, base.t(), base[1:3, ::2], base[:, 5], base[2, 3], torch.tensor([7.0]).expand(3, 5), base[:0]]
    program = aten2onnx.export(Weights(*views).eval(), (torch.zeros(()),), optimize=False)
    found = initializers(program)
    for i, view in enumerate(views):
        if view.numel():
            assert torch.equal(found[f"w{i}"], view), i


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.int64, torch.int8, torch.uint8, torch.bool, torch.uint16])
def test_element_types(dtype) -> None:
    weight = torch.tensor([0, 1, 1, 0, 1]).to(dtype)

    class Picks(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("weight", weight)

        def forward(self, i):
            return self.weight[i]

    program = aten2onnx.export(Picks().eval(), (torch.tensor([0, 2]),))
    assert torch.equal(initializers(program)["weight"], weight)


def test_tied_weights_are_written_once() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(50, 8)
            self.head = nn.Linear(8, 50, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, i):
            return self.head(self.embed(i))

    net = Tied().eval()
    program = aten2onnx.export(net, (torch.tensor([[1, 2]]),), optimize=False, verify=True)
    assert len(program.model_bytes) < 2 * net.embed.weight.nbytes


def test_changes_before_saving_are_saved() -> None:
    net = Weights(torch.zeros(300)).eval()
    program = aten2onnx.export(net, (torch.zeros(()),), optimize=False)
    net.w0.fill_(3)
    assert initializers(program)["w0"].unique().tolist() == [3]


def test_freed_memory_is_not_read() -> None:
    net = Weights(torch.zeros(300)).eval()
    program = aten2onnx.export(net, (torch.zeros(()),), optimize=False)
    net.w0.untyped_storage().resize_(0)
    with pytest.raises(aten2onnx.InputError, match="memory of the weight `w0` was resized"):
        program.model_bytes


def test_weights_outlive_the_module() -> None:
    net = Weights(torch.full((300,), 5.0)).eval()
    program = aten2onnx.export(net, (torch.zeros(()),), optimize=False)
    del net
    assert initializers(program)["w0"].unique().tolist() == [5]


def test_weights_without_data() -> None:
    with torch.device("meta"):
        net = nn.Linear(4, 3).eval()
    with pytest.raises(aten2onnx.Error) as caught:
        aten2onnx.export(net, (torch.zeros(2, 4),))
    assert "meta" in str(caught.value)


def test_a_live_model_needs_little_memory(tmp_path) -> None:
    """Runs `bench/memory.py` with a small model."""
    script = Path(__file__).parents[1] / "bench/memory.py"
    done = subprocess.run([sys.executable, script, "--megabytes", "256", "--folder", tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    model = onnx.load(tmp_path / "large.onnx", load_external_data=False)
    assert model.graph.initializer


class Tied(nn.Module):
    """An embedding, a table that is not in the state dict, and a head that shares the weight of the embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.norm = nn.Embedding(300, 64), nn.LayerNorm(64)
        self.register_buffer("table", torch.arange(64.0), persistent=False)
        self.head = nn.Linear(64, 300, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, x):
        return self.head(self.norm(self.embed(x)) * self.table)


def elsewhere(folder: Path) -> tuple[nn.Module, nn.Module]:
    """Writes the weights of a module to a file; returns it, and the same on the meta device."""
    from safetensors.torch import save_file

    module = Tied().eval()
    save_file({name: value for name, value in module.state_dict().items() if name != "head.weight"}, folder / "model.safetensors")
    with torch.device("meta"):
        return module, Tied().eval()


@pytest.mark.parametrize("where", ["auto", "link"])
def test_a_module_on_the_meta_device_gets_its_weights_from_files(tmp_path, where) -> None:
    module, empty = elsewhere(tmp_path)
    x = torch.arange(6).reshape(2, 3)
    program = aten2onnx.export(empty, (x.to("meta"),), weights=[tmp_path, {"table": module.table}], external_data=where)
    program.save(tmp_path / "m.onnx")
    onnx.checker.check_model(tmp_path / "m.onnx", full_check=True)
    import onnxruntime

    (found,) = onnxruntime.InferenceSession(tmp_path / "m.onnx").run(None, {"x": x.numpy()})
    torch.testing.assert_close(torch.from_numpy(found), module(x).detach(), rtol=1e-4, atol=1e-3)
    with pytest.raises(aten2onnx.UnsupportedError, match="weights come from elsewhere"):
        program.verify()


def test_a_fake_module_gets_its_weights_from_files(tmp_path) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    module, _ = elsewhere(tmp_path)
    x = torch.arange(6).reshape(2, 3)
    with FakeTensorMode():
        exported = torch.export.export(Tied().eval(), (torch.zeros(2, 3, dtype=torch.int64),))
    program = aten2onnx.export(exported, weights=[tmp_path / "model.safetensors", {"table": module.table}])
    (found,) = program(x)
    torch.testing.assert_close(found, module(x).detach(), rtol=1e-4, atol=1e-3)


def test_weights_that_are_nowhere_are_named(tmp_path) -> None:
    _, empty = elsewhere(tmp_path)
    x = torch.zeros(2, 3, dtype=torch.int64, device="meta")
    with pytest.raises(aten2onnx.InputError, match="has no data: it is on the meta device") as error:
        aten2onnx.export(empty, (x,))
    assert "weights=" in str(error.value)
    with pytest.raises(aten2onnx.InputError, match="1 weight is not in the given files: `table`"):
        aten2onnx.export(empty, (x,), weights=tmp_path)
    with pytest.raises(aten2onnx.InputError, match=r"`weight_names=.\"\": \"other\.\".`|not in the given files"):
        aten2onnx.export(empty, (x,), weights=tmp_path, weight_names={"": "other."})


def test_weights_that_another_thread_writes_to_are_an_error(tmp_path) -> None:
    net = torch.nn.Linear(2000, 4000).eval()
    program = aten2onnx.export(net, (torch.ones(1, 2000),))
    program.save(tmp_path / "before.onnx")
    net.weight.data.add_(1)  # before the next save, which writes what is there then
    program.save(tmp_path / "after.onnx")
    assert (tmp_path / "before.onnx").read_bytes() != (tmp_path / "after.onnx").read_bytes()
    stop = threading.Event()

    def train() -> None:
        while not stop.is_set():
            with torch.no_grad():
                net.weight.add_(1)

    thread = threading.Thread(target=train)
    thread.start()
    try:
        with pytest.raises(aten2onnx.Error, match="`weight` was changed while it was written"):
            for _ in range(50):
                program.save(tmp_path / "torn.onnx")
    finally:
        stop.set()
        thread.join()
    assert {path.name for path in tmp_path.iterdir()} <= {"before.onnx", "after.onnx", "torn.onnx"}


class OfAttribute(nn.Module):
    """A tensor that is neither a parameter nor a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.ones(4, device="meta")

    def forward(self, x):
        return x * self.scale


@pytest.mark.parametrize("capture", ["auto", "record", "fake", "export", "strict"])
@pytest.mark.parametrize("on_meta", [True, False])
@pytest.mark.parametrize("kind, told", [("weights", "the weight `0.weight` has no data"), ("attribute", "the attribute `scale` of the module is a tensor that has no data")])
def test_a_module_without_data_says_what_to_do(capture, on_meta, kind, told) -> None:
    with torch.device("meta"):
        module = nn.Sequential(nn.Linear(4, 8), nn.ReLU()).eval() if kind == "weights" else OfAttribute().eval()
    x = torch.ones(2, 4, device="meta" if on_meta else "cpu")
    if kind == "attribute" and on_meta and capture in ("export", "strict"):
        told = "has no data"  # torch.export makes a constant of it
    with pytest.raises(aten2onnx.InputError, match=told) as error:
        aten2onnx.export(module, (x,), capture=capture)
    assert "on a real device" in str(error.value) or "to a real device" in str(error.value)


def test_a_module_without_data_that_needs_none_is_exported() -> None:
    class Unused(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4, device="meta")

        def forward(self, x):
            return x * 2

    program = aten2onnx.export(Unused().eval(), (torch.ones(2, 4),), dynamic_shapes=({0: "n"},))
    assert program(torch.ones(3, 4))[0].tolist() == [[2.0] * 4] * 3
