"""What precision.py counts in a file, and how it compares results with those of PyTorch in float64."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch

FLOATS = {onnx.TensorProto.FLOAT: False, onnx.TensorProto.FLOAT16: True, onnx.TensorProto.BFLOAT16: True}


@dataclass(frozen=True)
class Facts:
    """What a file has.

    Attributes:
        casts: Its Casts.
        half: The share of nodes that compute in half precision, of those that make floats.
        size: Its bytes.
        fault: Why onnx's checker refuses it, if it does.
    """

    casts: int
    half: float
    size: int
    fault: str | None


@dataclass(frozen=True)
class Comparison:
    """How far results are from those of PyTorch.

    Attributes:
        difference: The largest difference, relative to the largest number of the result.
        decibels: The least signal to noise of a result.
        overflows: How many numbers are not finite where those of PyTorch are, or the other way around.
    """

    difference: float
    decibels: float
    overflows: int


def graphs_of(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """A graph, and those in it."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from graphs_of(attribute.g)


def facts_of(path: Path) -> Facts:
    """The facts of a file."""
    model = onnx.load(path)
    types = types_of(model)
    for graph in graphs_of(model.graph):
        del graph.value_info[:]
    # Types are inferred anew, because converters leave some of the file that they read. Where nodes are in no order, nothing is inferred.
    types |= types_of(onnx.shape_inference.infer_shapes(model))
    graphs = list(graphs_of(model.graph))
    nodes = [node for graph in graphs for node in graph.node]
    computing = [node for node in nodes if node.op_type not in ("Cast", "Constant")]
    made = [[FLOATS[types[name]] for name in node.output if types.get(name) in FLOATS] for node in computing]
    made = [kinds for kinds in made if kinds]
    share = sum(map(any, made)) / max(len(made), 1)
    return Facts(sum(node.op_type == "Cast" for node in nodes), share, path.stat().st_size, fault_of(path))


def types_of(model: onnx.ModelProto) -> dict[str, int]:
    """The dtypes of values, as far as the model says them."""
    graphs = list(graphs_of(model.graph))
    types = {tensor.name: tensor.data_type for graph in graphs for tensor in graph.initializer}
    for graph in graphs:
        types |= {value.name: value.type.tensor_type.elem_type for value in (*graph.value_info, *graph.input, *graph.output)}
    return types


def fault_of(path: Path) -> str | None:
    """What onnx's checker says of a file that is no ONNX."""
    try:
        onnx.checker.check_model(path, full_check=True)
    except Exception as error:  # noqa: BLE001: it raises errors of several kinds.
        return " ".join(str(error).split())[:200] or type(error).__name__
    return None


def results_of(module: torch.nn.Module, given: tuple[torch.Tensor, ...], dtype: torch.dtype) -> list[np.ndarray] | None:
    """What PyTorch computes in a dtype, or nothing if the model cannot be of it. In float32 the model is as it is: parts of it may have another dtype."""
    inputs = [x.to(dtype) if x.dtype == torch.float32 else x for x in given]
    try:
        with torch.no_grad():
            found = (module if dtype == torch.float32 else copy.deepcopy(module).to(dtype))(*inputs)
    except Exception:  # noqa: BLE001: what a model raises may be anything.
        return None
    leaves = torch.utils._pytree.tree_leaves(found)
    return [x.double().numpy() if x.dtype.is_floating_point else x.numpy() for x in leaves]


def compared(found: list[Any], wanted: list[np.ndarray]) -> Comparison:
    """All results beside those of PyTorch.

    Raises:
        ValueError: There are others, or they have other sizes.
    """
    if len(found) != len(wanted):
        raise ValueError(f"there are {len(found)} results, not {len(wanted)}")
    return worst([_compared(np.asarray(one, dtype=np.float64), other.astype(np.float64)) for one, other in zip(found, wanted)])


def worst(ones: list[Comparison]) -> Comparison:
    """The worst of several comparisons."""
    return Comparison(max(one.difference for one in ones), min(one.decibels for one in ones), sum(one.overflows for one in ones))


def _compared(found: np.ndarray, wanted: np.ndarray) -> Comparison:
    if found.shape != wanted.shape:
        raise ValueError(f"a result has the sizes {list(found.shape)}, not {list(wanted.shape)}")
    finite = np.isfinite(wanted)
    overflows = int((np.isfinite(found) != finite).sum())
    both = finite & np.isfinite(found)
    noise, signal = (found - wanted)[both], wanted[both]
    if not noise.size or not noise.any():
        return Comparison(0.0, math.inf, overflows)
    largest, power = max(float(np.abs(signal).max()), 1e-9), max(float((signal**2).sum()), 1e-18)
    return Comparison(float(np.abs(noise).max()) / largest, 10 * math.log10(power / float((noise**2).sum())), overflows)
