"""Reports of exports, as JSON, as Markdown and as pages."""

from __future__ import annotations

import json

import aten2onnx
import pytest
import torch
from torch import nn

NET = nn.Sequential(nn.Linear(4, 4), nn.ReLU()).eval()
ARGS = (torch.zeros(2, 4),)


def test_json_and_markdown(tmp_path) -> None:
    program = aten2onnx.export(NET, ARGS, tmp_path / "net.onnx", report=tmp_path / "net.json", verify=True)
    data = json.loads((tmp_path / "net.json").read_text())
    assert data == json.loads(program.report.json())
    assert data["inputs"] == [{"name": "input", "type": "float32[2, 4]"}]
    assert data["nodes"] == sum(data["operators"].values()) == 2
    assert data["weights"] == {"tensors": 2, "bytes": 80}
    assert set(data["seconds"]) == {"record", "translate", "verify", "write"}
    assert data["files"][0]["bytes"] == (tmp_path / "net.onnx").stat().st_size
    aten2onnx.export(NET, ARGS, tmp_path / "net.onnx", report=True)
    page = (tmp_path / "net.onnx.report.md").read_text()
    assert page.startswith("# Sequential: opset 18, IR ") and "| Gemm | 1 |" in page


def test_a_failed_export_has_a_report(tmp_path) -> None:
    class Net(nn.Module):
        def forward(self, x):
            return torch.linalg.eigvals(x)

    with pytest.raises(aten2onnx.UnsupportedError):
        aten2onnx.export(Net().eval(), (torch.zeros(2, 2),), report=tmp_path / "net.md")
    page = (tmp_path / "net.md").read_text()
    assert page.startswith("# Net: not exported") and "aten::linalg_eigvals" in page


def test_the_exported_program_can_be_saved(tmp_path) -> None:
    aten2onnx.export(NET, ARGS, dump_exported_program=True, artifacts_dir=tmp_path)
    assert aten2onnx.export(tmp_path / "Sequential.pt2").report.nodes == 2


def test_a_page_has_the_verification_and_the_modules(tmp_path) -> None:
    page = tmp_path / "net.html"
    program = aten2onnx.export(NET, ARGS, report=page, verify=True)
    text = page.read_text()
    assert text == program.report.html()
    assert text.startswith("<!DOCTYPE html>") and text.endswith("</html>\n")
    assert "<h2>Compared with PyTorch</h2>" in text and "Elements of relu" in text
    assert "aten/relu/" in text and "onnx/Gemm/" in text and "0.weight" in text
    top = text.split("<h2>Inputs</h2>")[0]
    assert "<dt>opset</dt><dd>18</dd>" in top and "<dt>IR version</dt><dd>" in top and "<dt>time</dt><dd>" in top
    assert list(tmp_path.iterdir()) == [page]


def test_the_files_and_the_notes_are_on_top_of_a_page(tmp_path) -> None:
    program = aten2onnx.export(NET, ARGS, tmp_path / "net.onnx", report=tmp_path / "net.html")
    program.report.notes.append("a < b")
    top = program.report.html().split("<h2>Inputs</h2>")[0]
    size = (tmp_path / "net.onnx").stat().st_size
    assert f"<dd><code>net.onnx</code>, {size} bytes</dd>" in top and "<li>a &lt; b</li>" in top
    assert "<dt>file</dt>" in (tmp_path / "net.html").read_text()


def test_a_page_of_a_failed_export_says_why(tmp_path) -> None:
    class Net(nn.Module):
        def forward(self, x):
            return torch.linalg.eigvals(x)

    with pytest.raises(aten2onnx.UnsupportedError):
        aten2onnx.export(Net().eval(), (torch.zeros(2, 2),), branches="refuse", report=tmp_path / "net.html")
    text = (tmp_path / "net.html").read_text()
    assert "<h2>Error</h2>" in text and "Why not opset 9" in text


def test_a_page_of_a_model_that_cannot_be_captured_says_why(tmp_path) -> None:
    class Net(nn.Module):
        def forward(self, x):
            return x[: int(x.sum().item())] if x.sum() > 0 else x

    with pytest.raises(aten2onnx.Error) as found:
        aten2onnx.export(Net().eval(), (torch.zeros(2, 2),), branches="refuse", report=tmp_path / "net.html")
    assert "<h2>Error</h2>" in (tmp_path / "net.html").read_text()
    assert found.value.report.error


def test_differences_are_counted_by_size() -> None:
    from aten2onnx._verify import compare

    row = compare(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 2.002, 3.5]), None, None)
    assert row["differences"] == {"exact": 1, "-3": 1, "-1": 1}
