"""The process: interrupts, threads, a missing PyTorch, the command, and the progress."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import types

import aten2onnx
import onnx
import pytest
import torch
from aten2onnx import _progress
from torch import nn


class Expanded(nn.Module):
    """A weight that is 32 times as large in a file as in memory."""

    def __init__(self, elements: int) -> None:
        super().__init__()
        self.register_buffer("weight", torch.zeros(elements // 32).expand(32, -1))

    def forward(self, x):
        return x + self.weight[0, :1]


@pytest.fixture
def listens_to_ctrl_c():
    """Restores the handler of Ctrl-C, because shells let background processes ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_stops_writing_and_leaves_no_files(tmp_path, listens_to_ctrl_c) -> None:
    program = aten2onnx.export(Expanded(1 << 31).eval(), (torch.zeros(1),), optimize=False)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        program.save(tmp_path / "large.onnx")
    assert not any(tmp_path.iterdir())


def test_other_threads_run_during_an_export(tmp_path) -> None:
    program = aten2onnx.export(Expanded(1 << 25).eval(), (torch.zeros(1),), optimize=False)
    ticks, over = [], threading.Event()

    def tick() -> None:
        while not over.wait(0.001):
            ticks.append(None)

    thread = threading.Thread(target=tick)
    thread.start()
    before = len(ticks)
    program.save(tmp_path / "large.onnx", external_data=True)
    during = len(ticks) - before
    over.set()
    thread.join()
    # A call that blocked all other threads would let one tick through, when it returns.
    assert during >= 5


def test_pt2_files_need_no_torch(mobilenet, tmp_path) -> None:
    script = """
import sys
sys.modules["torch"] = None  # importing it fails
import aten2onnx
program = aten2onnx.export(sys.argv[1], f=sys.argv[2], opset_version=11, report=True, input_names=["image"])
assert aten2onnx.inspect(sys.argv[1]).opsets
assert aten2onnx.supported("aten::relu", 9)
import numpy
assert program(image=numpy.zeros((2, 3, 64, 64), "float32"))[0].shape == (2, 100)
assert aten2onnx.convert(sys.argv[2], opset_version=9)
try:
    aten2onnx.export(object())
except aten2onnx.MissingPackageError as error:
    assert error.help == "pip install torch", error
else:
    raise AssertionError("exporting a module needs torch")
"""
    done = subprocess.run([sys.executable, "-c", script, mobilenet, tmp_path / "m.onnx"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "m.onnx.report.md").exists()


def test_the_command(mobilenet, tmp_path) -> None:
    def run(*args: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "aten2onnx", *map(str, args)], capture_output=True, text=True, check=False)

    assert run("export", mobilenet, "-o", tmp_path / "m.onnx", "--opset", 13).returncode == 0
    assert (tmp_path / "m.onnx").exists()
    assert run("export", tmp_path / "none.pt2").returncode == 3
    assert run("export", mobilenet, "--opset", 5).returncode == 2
    assert aten2onnx.__version__ in run("--version").stdout


def test_convert_returns_the_type_of_its_argument(mobilenet, tmp_path) -> None:
    proto = aten2onnx.export(mobilenet).model_proto
    converted = aten2onnx.convert(proto, opset_version=11)
    assert converted.opset_import[0].version == 11 and type(converted) is type(proto)
    assert isinstance(aten2onnx.convert(proto.SerializeToString(), opset_version=11), bytes)
    aten2onnx.convert(proto, tmp_path / "m.onnx", opset_version=11)
    assert onnx.load(tmp_path / "m.onnx") == converted


def test_convert_makes_sizes_constant(mobilenet) -> None:
    proto = aten2onnx.export(mobilenet).model_proto
    name = proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param
    made = aten2onnx.convert(proto, dims={name: 3})
    assert made.graph.input[0].type.tensor_type.shape.dim[0].dim_value == 3
    with pytest.raises(aten2onnx.UnsupportedError, match="no dimension `nothing`"):
        aten2onnx.convert(proto, dims={"nothing": 3})


def test_convert_in_memory_includes_external_weights(mobilenet, tmp_path) -> None:
    program = aten2onnx.export(mobilenet)
    program.save(tmp_path / "beside.onnx", external_data=True)
    assert aten2onnx.convert(tmp_path / "beside.onnx", opset_version=11) == aten2onnx.convert(program.model_bytes, opset_version=11)


def test_convert_with_mappings_and_targets(tmp_path) -> None:
    mapping = tmp_path / "old.opmap"
    mapping.write_text("lower Gelu before 20 (X, approximate_s) {\n    ignore(approximate_s) \"both are approximated\";\n    X * Sigmoid(X * 1.702)\n}\n")
    model = aten2onnx.export(nn.GELU().eval(), (torch.zeros(3),), opset_version=20).model_proto
    types = lambda **choices: [node.op_type for node in aten2onnx.convert(model, **choices).graph.node]  # noqa: E731
    assert types(opset_version=13, mappings=mapping) == ["Mul", "Sigmoid", "Mul"]
    assert "Erf" in types(opset_version=13)
    assert aten2onnx.convert(model, target="tensorrt-8.6").opset_import[0].version <= 17
    twice = onnx.helper.make_model(onnx.parser.parse_graph("g (float[3] x) => (float[3] y) { z = Neg(x) unused = Abs(x) y = Neg(z) }"))
    twice.opset_import[0].version = 18
    assert len(aten2onnx.convert(twice).graph.node) == 3
    assert len(aten2onnx.convert(twice, optimize=True).graph.node) < 3


def test_progress_is_delayed_and_cleared(monkeypatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr(_progress, "_display", lambda wanted: shown.append)
    with _progress.shown(True) as progress:
        progress.step("quick")
    assert shown == []
    monkeypatch.setattr(_progress, "DELAY", 0.0)
    monkeypatch.setattr(_progress, "PAUSE", 0.0)
    with _progress.shown(True) as progress:
        progress.step("writing")
        progress(1 << 30, 1 << 31)
    assert shown[0] == "aten2onnx: writing"
    assert "1,074 of 2,147 MB" in shown[1] and shown[1].count("█") == 15
    assert shown[-1] == ""


class Notebook:
    """A stand-in for IPython's display functions."""

    def __init__(self) -> None:
        self.config = {"IPKernelApp": {}}
        self.shown: list[tuple[str, str]] = []

    def display(self, bundle, *, raw, display_id):
        assert raw and display_id
        self.shown.append(("new", bundle["text/plain"]))
        return self

    def update(self, bundle, *, raw):
        self.shown.append(("again", bundle["text/plain"]))


def test_a_notebook_output_is_updated(monkeypatch, capfd) -> None:
    notebook = Notebook()
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: notebook))
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=notebook.display))
    monkeypatch.setattr(_progress, "DELAY", 0.0)
    monkeypatch.setattr(_progress, "PAUSE", 0.0)
    with _progress.shown(None) as progress:
        progress.step("reading")
        progress.step("writing")
        progress(1 << 30, 1 << 31)
    kinds, texts = zip(*notebook.shown)
    assert kinds == ("new", "again", "again", "again")
    assert texts[0] == "aten2onnx: reading" and "1,074 of 2,147 MB" in texts[2] and texts[3] == ""
    assert capfd.readouterr() == ("", "")


def test_no_progress_outside_of_terminals(capfd, tmp_path) -> None:
    aten2onnx.export(nn.ReLU().eval(), (torch.zeros(1),), tmp_path / "m.onnx")
    assert capfd.readouterr() == ("", "")


def test_every_error_is_an_aten2onnx_error() -> None:
    kinds = [aten2onnx.CaptureError, aten2onnx.FileError, aten2onnx.InputError, aten2onnx.InternalError]
    kinds += [aten2onnx.MissingPackageError, aten2onnx.UnsupportedError, aten2onnx.VerificationError]
    for kind in kinds:
        error = kind("what", place=["where"], help="what to do")
        assert isinstance(error, aten2onnx.Error)
        assert str(error) == "what\n  --> where\nhelp: what to do"
    assert issubclass(aten2onnx.FileError, OSError) and issubclass(aten2onnx.MissingPackageError, ImportError)


def test_messages_name_python_arguments() -> None:
    from aten2onnx._errors import in_python

    assert in_python("use `--opset 20`") == "use `opset_version=20`"
    assert in_python("leave out `--external-data always`") == '`external_data="always"`'.join(["leave out ", ""])
    assert in_python("choose another name with `-o`") == "choose another name with `f`"
