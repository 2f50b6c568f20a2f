"""An argument that an operator lacks is an error, and not left out: the numbers would be wrong in silence."""

from __future__ import annotations

import zipfile
from pathlib import Path

import aten2onnx
import pytest
import torch
from torch.nn import functional

X = torch.randn(2, 4)


class Net(torch.nn.Module):
    def forward(self, x):
        return functional.layer_norm(functional.gelu(x, approximate="tanh"), (4,), eps=0.1)


def edited(path: Path, pairs: list[tuple[bytes, bytes]]) -> Path:
    """A copy of an archive in which its texts are changed."""
    copy = path.with_name(f"edited{path.suffix}")
    changed = 0
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(copy, "w", zipfile.ZIP_STORED) as target:
        for entry in source.infolist():
            content = source.read(entry)
            for old, new in pairs:
                changed += content.count(old)
                content = content.replace(old, new)
            target.writestr(entry.filename, content)
    assert changed > 0
    return copy


def refusal(call, *args, **options) -> str:
    with pytest.raises(aten2onnx.Error) as caught:
        call(*args, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "operator"),
    [("approximate", "approximat", "gelu"), ("eps", "epsilon", "layer_norm"), ("eps", "", "layer_norm")],
    ids=["misspelled", "renamed", "one too many"],
)
def test_in_a_file_of_torch_export(old: str, new: str, operator: str, tmp_path: Path) -> None:
    path = tmp_path / "net.pt2"
    torch.export.save(torch.export.export(Net(), (X,)), path)
    assert aten2onnx.export(path).verify is not None
    message = refusal(aten2onnx.export, edited(path, [(f'"name": "{old}"'.encode(), f'"name": "{new}"'.encode())]))
    assert f"`aten::{operator}`" in message and f"node `{operator}`" in message
    assert (f"has no argument `{new}`" if new else "more arguments than it has") in message
    assert "its arguments are" in message and f"`{old}`" in message


@pytest.mark.parametrize(
    ("old", "new"),
    [("approximate=", "approximat="), ("gelu(x,", "gelu(x, 3,"), ('approximate="tanh"', 'approximate="tanh", more=1')],
    ids=["misspelled", "one too many", "unknown"],
)
def test_in_a_torchscript_file(old: str, new: str, tmp_path: Path) -> None:
    path = tmp_path / "net.pt"
    torch.jit.save(torch.jit.trace(Net(), (X,)), path)
    aten2onnx.export(path)
    message = refusal(aten2onnx.export, edited(path, [(old.encode(), new.encode())]))
    assert "no overload of `aten::gelu` takes" in message and "`aten::gelu(self, approximate)`" in message
    if new == "approximat=":
        assert "none has an argument `approximat`" in message


@pytest.mark.parametrize("nested", [False, True], ids=["plain", "in a branch"])
@pytest.mark.parametrize("surplus", ["keyword", "position"])
def test_in_a_live_program(surplus: str, nested: bool) -> None:
    class Branches(torch.nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: functional.gelu(x, approximate="tanh"), lambda x: x * 2, (x,))

    program = torch.export.export(Branches() if nested else Net(), (X,))
    found = 0
    for graph in program.graph_module.modules():
        for node in graph.graph.nodes if isinstance(graph, torch.fx.GraphModule) else ():
            if node.target is torch.ops.aten.gelu.default:
                found += 1
                if surplus == "keyword":
                    node.kwargs = {"approximat": "tanh"}
                else:
                    node.args = (*node.args, 3)
    assert found == 1
    message = refusal(aten2onnx.export, program)
    assert "`aten::gelu`" in message and "its arguments are `self`, `approximate`" in message
    assert ("has no argument `approximat`" if surplus == "keyword" else "more arguments than it has") in message


def test_where_the_serializer_of_pytorch_writes_the_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    from aten2onnx import _live

    class Program:
        @staticmethod
        def traced(*_):
            raise NotImplementedError("as for rare arguments")

        live = _live.Program.live

    program = torch.export.export(Net(), (X,))
    monkeypatch.setattr(_live, "Program", Program)
    aten2onnx.export(program)
    (node,) = program.graph.find_nodes(op="call_function", target=torch.ops.aten.gelu.default)
    node.kwargs = {"approximat": "tanh"}
    assert "`aten::gelu` has no argument `approximat`" in refusal(aten2onnx.export, program)
