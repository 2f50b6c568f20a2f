"""Joins the decoders of the first and of later steps into one graph with a branch, as optimum-onnx does and transformers.js expects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .._errors import require


def merge(folder: Path, first: str, later: str, merged: str) -> Path:
    """Writes the merged model and returns its path. The input `use_cache_branch` chooses the decoder of later steps."""
    onnx = require("onnx", "merging decoders")
    models = {name: onnx.load(folder / f"{name}.onnx") for name in (first, later)}
    without, with_past = models[first].graph, models[later].graph
    shared: dict[Any, str] = {}
    weights: list[Any] = []
    for prefix, graph in (("first.", without), ("later.", with_past)):
        _rename(graph, prefix, _hoist(graph, prefix, shared, weights))
    outputs = list(without.output)
    branches = {
        "else_branch": onnx.helper.make_graph(list(without.node), "first_step", [], [_named(onnx, value, f"first.{value.name}") for value in outputs]),
        "then_branch": _later(onnx, with_past, outputs),
    }
    inputs = {value.name: value for value in [*without.input, *with_past.input]}
    flag = onnx.helper.make_tensor_value_info("use_cache_branch", onnx.TensorProto.BOOL, [1])
    node = onnx.helper.make_node("If", ["use_cache_branch"], [value.name for value in outputs], name="decoder", **branches)
    graph = onnx.helper.make_graph([node], "merged", [*inputs.values(), flag], outputs, initializer=weights)
    model = onnx.helper.make_model(graph, opset_imports=models[first].opset_import, ir_version=models[first].ir_version)
    path = folder / f"{merged}.onnx"
    large = model.ByteSize() > 2**31 - 2**20
    onnx.save(model, path, save_as_external_data=large, location=f"{merged}.onnx.data" if large else None)
    return path


def _hoist(graph: Any, prefix: str, shared: dict[Any, str], weights: list[Any]) -> dict[str, str]:
    """Moves the weights of a branch out of it. Equal weights become one."""
    names = {}
    for tensor in graph.initializer:
        name = tensor.name
        tensor.name = ""
        content = tensor.SerializeToString(deterministic=True)
        tensor.name = prefix + name
        if content not in shared:
            shared[content] = tensor.name
            weights.append(tensor)
        names[name] = shared[content]
    return names


def _rename(graph: Any, prefix: str, weights: dict[str, str]) -> None:
    """Gives the values of a branch names that the other branch does not have. Inputs keep theirs."""
    kept = {value.name: value.name for value in graph.input} | weights | {"": ""}
    for node in graph.node:
        _rename_node(node, prefix, kept)


def _rename_node(node: Any, prefix: str, kept: dict[str, str]) -> None:
    node.name = prefix + node.name
    node.input[:] = [kept.get(name, prefix + name) for name in node.input]
    node.output[:] = [kept.get(name, prefix + name) for name in node.output]
    for attribute in node.attribute:
        if attribute.HasField("g"):
            inner = attribute.g
            own = {tensor.name: prefix + tensor.name for tensor in inner.initializer} | {value.name: prefix + value.name for value in inner.input}
            for tensor in [*inner.initializer, *inner.input]:
                tensor.name = prefix + tensor.name
            for child in inner.node:
                _rename_node(child, prefix, kept | own)
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
