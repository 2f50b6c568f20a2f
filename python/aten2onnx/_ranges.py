"""Measures the ranges of a model's values: ONNX Runtime runs the model with outputs that tell them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import _runtime
from ._errors import InputError, UnsupportedError, require

if TYPE_CHECKING:
    from ._calibrate import Runs

#: So many parts a histogram has, and so many steps integers of 8 bits have.
_BINS, _STEPS = 2048, 255
#: So many bytes of values are kept in a run for their histograms.
_KEPT = 1 << 29
#: From so many parts on, a histogram may be cut by its entropy, in steps of so many.
_STEP = 16


@dataclass
class Spread:
    """What the runs gave of a value.

    Attributes:
        least: The least number.
        largest: The largest number.
        size: The most elements of a run.
        counts: How many elements lie in each part between both, if they were counted.
    """

    least: float = math.inf
    largest: float = -math.inf
    size: int = 0
    counts: Any = field(default=None, repr=False)

    @property
    def is_finite(self) -> bool:
        return math.isfinite(self.least) and math.isfinite(self.largest)


class Measuring:
    """A float model whose values are measured. Weights stay in their files."""

    def __init__(self, model: Any, folder: str | None) -> None:
        self.onnx, self.runtime = require("onnx", "measuring values"), require("onnxruntime", "measuring values")
        self.model, self.folder = model, folder
        stored = {tensor.name for tensor in model.graph.initializer}
        self.inputs = [value for value in model.graph.input if value.name not in stored]
        names = [value.name for value in self.inputs] + [output for node in model.graph.node for output in node.output if output]
        types = {value.name: value.type for value in self._session(names).get_outputs()}
        types |= {value.name: "tensor(float)" for value in self.inputs if value.type.tensor_type.elem_type == self.onnx.TensorProto.FLOAT}
        self.names = [name for name in dict.fromkeys(names) if types.get(name) == "tensor(float)"]

    def ends(self, runs: Runs) -> dict[str, Spread]:
        """The ends of the range of each value. They are computed in the model, so that no value is kept."""
        found = {name: Spread() for name in self.names}
        session = self._with_ends()
        for feeds in runs:
            results = iter(_runtime.run(session, _chosen(session, feeds), as_torch=False))
            for name, least, largest, size in zip(self.names, results, results, results):
                spread = found[name]
                spread.least, spread.largest = _wider(min, spread.least, float(least)), _wider(max, spread.largest, float(largest))
                spread.size = max(spread.size, int(size))
        return found

    def count(self, spreads: Mapping[str, Spread], runs: Runs) -> None:
        """Counts the elements of each value between its ends."""
        numpy = require("numpy", "measuring values")
        for names in _groups(spreads):
            session = self._session(names)
            for feeds in runs:
                for name, value in zip(names, _runtime.run(session, _chosen(session, feeds), as_torch=False)):
                    spread = spreads[name]
                    counts, _ = numpy.histogram(value, bins=_BINS, range=(spread.least, spread.largest))
                    spread.counts = counts if spread.counts is None else spread.counts + counts

    def _with_ends(self) -> Any:
        """The model whose outputs are, for each value, its least and largest number and its number of elements; infinite ones without elements."""
        helper, numpy_helper, numpy = self.onnx.helper, self.onnx.numpy_helper, require("numpy", "measuring values")
        taken = {name for node in self.model.graph.node for name in (*node.input, *node.output)}
        prefix = next(text for text in ("range", *(f"range{i}" for i in range(len(taken) + 1))) if not any(name.startswith(f"{text}/") for name in taken))
        nodes, outputs = [], []
        constants = {"flat": numpy.array([-1], "int64"), "inf": numpy.array([numpy.inf], "float32"), "-inf": numpy.array([-numpy.inf], "float32")}
        for i, name in enumerate(self.names):
            own = f"{prefix}/{i}"
            nodes.append(helper.make_node("Reshape", [name, f"{prefix}/flat"], [f"{own}/flat"]))
            for end, operator in (("inf", "ReduceMin"), ("-inf", "ReduceMax")):
                nodes.append(helper.make_node("Concat", [f"{own}/flat", f"{prefix}/{end}"], [f"{own}/{end}/all"], axis=0))
                nodes.append(helper.make_node(operator, [f"{own}/{end}/all"], [f"{own}/{end}"], keepdims=0))
            nodes.append(helper.make_node("Size", [name], [f"{own}/size"]))
            outputs += [f"{own}/inf", f"{own}/-inf", f"{own}/size"]
        model = self._copy(outputs)
        model.graph.node.extend(nodes)
        model.graph.initializer.extend(numpy_helper.from_array(array, f"{prefix}/{name}") for name, array in constants.items())
        return self._opened(model)

    def _copy(self, outputs: Sequence[str]) -> Any:
        model = self.onnx.ModelProto()
        model.CopyFrom(self.model)
        del model.graph.output[:]
        model.graph.output.extend(self.onnx.ValueInfoProto(name=name) for name in outputs)
        return model

    def _session(self, outputs: Sequence[str]) -> Any:
        """The model with other outputs."""
        return self._opened(self._copy(outputs))

    def _opened(self, model: Any) -> Any:
        options = self.runtime.SessionOptions()
        options.log_severity_level = 3
        # What is measured are the values of the file, not those of fused kernels.
        options.graph_optimization_level = self.runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
        if self.folder is not None:
            options.add_session_config_entry("session.model_external_initializers_file_folder_path", self.folder)
        try:
            return self.runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the errors of ONNX Runtime have no common base class
            raise UnsupportedError(
                f"ONNX Runtime {self.runtime.__version__} cannot run the float model, whose values are to be measured: {str(error).splitlines()[0]}",
                help="measure a model that it runs, such as one without `target`, and convert it with these ranges",
            ) from error


def percentile_range(spread: Spread, percentile: float) -> tuple[float, float]:
    """The range without so many of the elements at each end that `percentile` percent are left."""
    numpy = require("numpy", "measuring values")
    edges = numpy.linspace(spread.least, spread.largest, _BINS + 1)
    shares = numpy.cumsum(spread.counts) / max(1, spread.counts.sum())
    cut = (100 - percentile) / 200
    first = int(numpy.searchsorted(shares, cut, side="right"))
    last = int(numpy.searchsorted(shares, 1 - cut, side="left"))
    return float(edges[min(first, _BINS - 1)]), float(edges[min(last, _BINS - 1) + 1])


def entropy_range(spread: Spread) -> tuple[float, float]:
    """The range whose integers lose the least information: the one with the smallest divergence (Kullback and Leibler) between the elements and the
    levels that they become. Elements beyond it count as its ends."""
    numpy = require("numpy", "measuring values")
    edges = numpy.linspace(spread.least, spread.largest, _BINS + 1)
    middles = numpy.abs((edges[:-1] + edges[1:]) / 2)
    furthest = max(abs(spread.least), abs(spread.largest))
    counts, _ = numpy.histogram(middles, bins=_BINS, range=(0, furthest), weights=spread.counts)
    counts[0] = 0  # zeros are exact in every range
    if counts.sum() == 0:
        return spread.least, spread.largest
    best, end = math.inf, _BINS
    for bins in range(_STEPS, _BINS + 1, _STEP):
        most = furthest * bins / _BINS
        # The side with the further end has its share of the steps.
        share = most / (max(0.0, min(spread.largest, most)) - min(0.0, max(spread.least, -most)))
        divergence = _divergence(numpy, counts, bins, round(_STEPS * min(share, 1.0)))
        if divergence < best:
            best, end = divergence, bins
    most = furthest * end / _BINS
    return max(spread.least, -most), min(spread.largest, most)


def _divergence(numpy: Any, counts: Any, bins: int, steps: int) -> float:
    """What is lost where the elements of so many parts become levels, and those beyond become the last one. Of few elements the counts alone differ from
    their means, by one half of a degree of freedom for each element (Miller and Madow): that is no loss."""
    held = counts[:bins].astype(float)
    wanted = held.copy()
    wanted[-1] += counts[bins:].sum()
    places = numpy.arange(bins) * steps // bins
    sums = numpy.bincount(places, weights=held, minlength=steps)
    filled = numpy.bincount(places, weights=held > 0, minlength=steps)
    levels = numpy.where(held > 0, (sums / numpy.maximum(filled, 1))[places], 0.0)
    if levels.sum() == 0:
        return math.inf
    wanted, levels = wanted / wanted.sum(), levels / levels.sum()
    is_lost = (wanted > 0) & (levels == 0)
    levels = numpy.where(is_lost, 1e-9, levels)
    there = wanted > 0
    by_chance = ((held > 0).sum() - (filled > 0).sum()) / (2 * counts.sum())
    return float((wanted[there] * numpy.log(wanted[there] / levels[there])).sum() - by_chance)


def _wider(choose: Any, known: float, found: float) -> float:
    """The end of a range; NaN once there is one."""
    return math.nan if math.isnan(known) or math.isnan(found) else float(choose(known, found))


def _groups(spreads: Mapping[str, Spread]) -> Iterator[list[str]]:
    """Values whose elements are kept together in a run."""
    group: list[str] = []
    size = 0
    for name, spread in spreads.items():
        if not spread.is_finite or spread.least == spread.largest:
            continue
        if group and size + spread.size * 4 > _KEPT:
            yield group
            group, size = [], 0
        group.append(name)
        size += spread.size * 4
    if group:
        yield group


def _chosen(session: Any, feeds: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the inputs of a session."""
    names = [value.name for value in session.get_inputs()]
    missing = [name for name in names if name not in feeds]
    unknown = [name for name in feeds if name not in names]
    if missing or unknown:
        told = f"lacks {', '.join(missing)}" if missing else f"has {', '.join(unknown)}, which the model has not"
        raise InputError(f"the model has the inputs {', '.join(names)}; a run {told}", help="give each run an array for each input, by its name")
    return {name: feeds[name] for name in names}
