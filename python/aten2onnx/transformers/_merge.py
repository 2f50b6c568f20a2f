"""Joins the decoders of the first and of later steps into one graph with a branch, as optimum-onnx does and transformers.js expects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .._errors import require
from . import _external

#: The bytes of a model with its weights: protobuf holds less than 2 GiB.
LIMIT = 2**31 - 2**24
#: Smaller tensors stay in the model.
SMALL = 1024


def merge(folder: Path, first: str, later: str, merged: str) -> list[Path]:
    """Writes the merged model and returns its files. The input `use_cache_branch` chooses the decoder of later steps.

    The weights go to a file beside it if those of a decoder do, or if protobuf cannot hold them.
    """
    onnx = require("onnx", "merging decoders")
    models = {name: onnx.load(folder / f"{name}.onnx", load_external_data=False) for name in (first, later)}
    without, with_past = models[first].graph, models[later].graph
    pool = Pool(folder)
    for prefix, graph in (("first.", without), ("later.", with_past)):
        _rename(graph, prefix, {tensor.name: pool.add(tensor, prefix) for tensor in graph.initializer}, pool)
    outputs = list(without.output)
    branches = {
        "else_branch": onnx.helper.make_graph(list(without.node), "first_step", [], [_named(onnx, value, f"first.{value.name}") for value in outputs]),
        "then_branch": _later(onnx, with_past, outputs),
    }
    inputs = {value.name: value for value in [*without.input, *with_past.input]}
    flag = onnx.helper.make_tensor_value_info("use_cache_branch", onnx.TensorProto.BOOL, [1])
    node = onnx.helper.make_node("If", ["use_cache_branch"], [value.name for value in outputs], name="decoder", **branches)
    path = folder / f"{merged}.onnx"
    files = [path]
    if pool.is_outside():
        files.append(path.with_name(path.name + _external.SUFFIX))
        pool.write(files[-1])
    graph = onnx.helper.make_graph([node], "merged", [*inputs.values(), flag], outputs, initializer=pool.weights)
    model = onnx.helper.make_model(graph, opset_imports=models[first].opset_import, ir_version=models[first].ir_version)
    onnx.save(model, path)
    return files


class Pool:
    """The weights of both branches. Equal ones are one.

    Attributes:
        weights: The tensors under their names in the merged model.
    """

    def __init__(self, folder: Path) -> None:
        self.weights: list[Any] = []
        self._folder = folder
        self._contents: list[_external.Content] = []
        self._known: dict[Any, str] = {}

    def add(self, tensor: Any, prefix: str) -> str:
        """Adds a tensor of a branch, and returns its name in the merged model."""
        content = _external.content(tensor, self._folder)
        key = content.key()
        if key not in self._known:
            self._known[key] = tensor.name = prefix + tensor.name
            self.weights.append(tensor)
            self._contents.append(content)
        return self._known[key]

    def is_outside(self) -> bool:
        """Whether the weights belong into a file of their own."""
        sizes = [content.length for content in self._contents]
        return sum(sizes) > LIMIT or any(content.path is not None for content in self._contents)

    def write(self, path: Path) -> None:
        """Writes the weights to a file, to which they refer from then on."""
        with path.open("wb") as file:
            for content in self._contents:
                if content.path is not None or content.length >= SMALL:
                    start = _external.append(file, content)
                    _external.point(content.tensor, path.name, start, content.length)


def _rename(graph: Any, prefix: str, weights: dict[str, str], pool: Pool) -> None:
    """Gives the values of a branch names that the other branch does not have. Inputs keep theirs."""
    kept = {value.name: value.name for value in graph.input} | weights | {"": ""}
    for node in graph.node:
        _rename_node(node, prefix, kept, pool)


def _rename_node(node: Any, prefix: str, kept: dict[str, str], pool: Pool) -> None:
    node.name = prefix + node.name if node.name else ""
    node.input[:] = [kept.get(name, prefix + name) for name in node.input]
    node.output[:] = [kept.get(name, prefix + name) for name in node.output]
    for attribute in node.attribute:
        if attribute.HasField("g"):
            _rename_inner(attribute.g, prefix, kept, pool)


def _rename_inner(inner: Any, prefix: str, kept: dict[str, str], pool: Pool) -> None:
    """The same for a graph in a branch. Its large weights are those of the whole model."""
    own = {tensor.name: pool.add(tensor, prefix) for tensor in inner.initializer if tensor.external_data}
    left = [tensor for tensor in inner.initializer if not tensor.external_data]
    own |= {value.name: prefix + value.name for value in [*left, *inner.input]}
    for value in [*left, *inner.input]:
        value.name = prefix + value.name
    del inner.initializer[:]
    inner.initializer.extend(left)
    for child in inner.node:
        _rename_node(child, prefix, kept | own, pool)
    for value in inner.output:
        value.name = (kept | own).get(value.name, prefix + value.name)


def _later(onnx: Any, graph: Any, outputs: list[Any]) -> Any:
    """The branch of later steps, which passes the keys and values of the encoder through."""
    nodes, own = list(graph.node), {value.name for value in graph.output}
    results = []
    for value in outputs:
        name = f"later.{value.name}"
        if value.name not in own:
            nodes.append(onnx.helper.make_node("Identity", [value.name.replace("present", "past_key_values", 1)], [name]))
        results.append(_named(onnx, value, name))
    return onnx.helper.make_graph(nodes, "later_steps", [], results)


def _named(onnx: Any, value: Any, name: str) -> Any:
    """A value of a branch: the branches have different sizes, so none are stated."""
    return onnx.helper.make_tensor_value_info(name, value.type.tensor_type.elem_type, None)
