"""`aten2onnx.diff`: what differs between two ONNX models, and the first value that differs when both are run."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from . import _arguments, _native
from ._convert import source
from ._errors import ArgumentError, Error, FileError, InputError, require
from ._types import OnnxModel
from ._verify import tolerance

#: So many values that differ are in the text.
_LISTED = 10


@dataclass(frozen=True)
class ComparedValue:
    """A value that both models compute.

    Attributes:
        first: Its name in the first model.
        second: Its name in the second model.
        node: The node of the first model that computes it.
        matched: How the values were matched: "structure" (nodes that compute the same of the same), "name", "form" (the same operators from
            the inputs on, with other weights) or "output" (the same output in order).
        equal: Whether they are equal within the tolerance.
        largest_difference: The largest difference of two elements; None if types or shapes differ, or for values that are no numbers.
        text: What differs: `float32[2, 3], by up to 0.5 at [0, 1]: 1.0 and 1.5`.
    """

    first: str
    second: str
    node: str
    matched: str
    equal: bool
    largest_difference: float | None
    text: str


@dataclass(frozen=True)
class Difference:
    """What differs between two models. `str()` gives it as text.

    Attributes:
        names: The names of the models.
        sections: Lines by what they are about, such as "Inputs": they begin with `-` for what only the first model has, and with `+` for the second.
        values: The values that were compared, in the order in which the first model computes them; empty if the models were not run.
        notes: What could not be compared.
    """

    names: tuple[str, str]
    sections: dict[str, list[str]]
    values: list[ComparedValue] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        return not self.sections and all(value.equal for value in self.values)

    @property
    def first_difference(self) -> ComparedValue | None:
        """The first value that differs, in the order in which the first model computes them."""
        return next((value for value in self.values if not value.equal), None)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a page, in one file without scripts."""
        values = [
            {"first": value.first, "second": value.second, "node": value.node, "matched": value.matched, "equal": value.equal, "text": value.text} for value in self.values
        ]
        page = {"first": self.names[0], "second": self.names[1], "sections": list(self.sections.items()), "values": values}
        _native.difference_page(json.dumps(page), os.fspath(path))

    def __str__(self) -> str:
        parts = [f"{title}\n" + "".join(f"  {line}\n" for line in lines) for title, lines in self.sections.items()]
        if self.values:
            parts.append(self._of_values())
        elif not parts:
            return "the models are equal\n"
        parts += [f"note: {note}\n" for note in self.notes]
        return "\n".join(parts)

    def _of_values(self) -> str:
        wrong = [value for value in self.values if not value.equal]
        if not wrong:
            return f"Values\n  all {len(self.values)} are equal within the tolerance\n"
        first = wrong[0]
        lines = [f"the first that differs is {_named(first)}", f"  {first.node}, matched by {first.matched}", f"  {first.text}"]
        lines += [f"{_named(value)}: {value.text}" for value in wrong[1:_LISTED]]
        lines.append(f"{len(wrong)} of {len(self.values)} differ")
        return "Values\n" + "".join(f"  {line}\n" for line in lines)


@_arguments.checked
def diff(
    a: OnnxModel,
    b: OnnxModel,
    *,
    inputs: Mapping[str, object] | str | os.PathLike[str] | None = None,
    seed: int | None = None,
    sizes: Mapping[str, int] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    html: str | os.PathLike[str] | None = None,
    follow_links: bool = False,
) -> Difference:
    """Compares two ONNX models: interfaces, weights, functions and nodes, by what they compute and whatever their names are. With inputs, both are
    run in ONNX Runtime without its optimizations, and all values are compared that are the same one in both by what computes them, or by name.

    Args:
        a: The first model: the path of an `.onnx` file, an `onnx.ModelProto`, or a model as bytes.
        b: The second one.
        inputs: The inputs of the first model: arrays by name, or the path of an `.npz` file of them. Those of the second model are found by
            name, else by their order.
        seed: Random inputs, which follow from this number, in place of `inputs`: floats of the normal distribution, integers 0 or 1.
        sizes: The sizes of symbolic dimensions of random inputs, by name (default: 2).
        rtol: The allowed difference relative to a value (default: by dtype; 1e-3 for float32, as `ONNXProgram.verify`).
        atol: The allowed absolute difference (default: by dtype and the largest value of the tensor).
        html: A file for a page.
        follow_links: Whether external data is also read through symbolic links that lead out of the model's folder.

    Returns:
        What differs.

    Raises:
        InputError: A model cannot be run on the inputs.
    """
    if inputs is not None and seed is not None:
        raise ArgumentError("inputs and seed: both are given", help="leave one of them out")
    if sizes is not None and seed is None:
        raise ArgumentError("sizes: they are those of random inputs", help="pass `seed`")
    is_run = inputs is not None or seed is not None
    if not is_run and (rtol is not None or atol is not None):
        raise ArgumentError("rtol and atol are of values, and no value is compared", help="pass `inputs` or `seed`")
    given = (source(a), source(b))
    sections, pairs = _native.diff(*given, follow_links)
    names = tuple(Path(path).name for path, _ in given)
    found = Difference((names[0], names[1]), dict(sections))
    if is_run:
        feeds = _loaded(inputs) if isinstance(inputs, (str, os.PathLike)) else inputs
        run = _Run(given, follow_links, pairs)
        run.compare(found, feeds, seed, dict(sizes or {}), (rtol, atol))
    if html is not None:
        found.save(html)
    return found


class _Run:
    """Two models that are run with all values that both have."""

    def __init__(self, given: Sequence[tuple[str, bytes | None]], follow_links: bool, pairs: Sequence[tuple[str, str, str, str]]) -> None:
        self.given, self.follow_links, self.pairs = given, follow_links, pairs

    def compare(self, found: Difference, feeds: Mapping[str, Any] | None, seed: int | None, sizes: dict[str, int], limits: tuple[float | None, float | None]) -> None:
        with TemporaryDirectory(prefix="aten2onnx-") as folder:
            first = self._session(0, [pair[0] for pair in self.pairs], folder)
            feeds = _random(first, seed, sizes) if feeds is None else _checked(feeds, first)
            wanted = [pair[0] for pair in self.pairs]
            one = _values(first, feeds, wanted, found.names[0], found.notes)
            del first
            second = self._session(1, [pair[1] for pair in self.pairs], folder)
            two = _values(second, _of_second(feeds, second), [pair[1] for pair in self.pairs], found.names[1], found.notes)
        for name, other, node, matched in self.pairs:
            if name in one and other in two:
                equal, largest, text = _compared(one[name], two[other], *limits)
                found.values.append(ComparedValue(name, other, node, matched, equal, largest, text))

    def _session(self, number: int, names: list[str], folder: str) -> Any:
        runtime = require("onnxruntime", "running the models")
        path = os.path.join(folder, f"{number}.onnx")
        _native.watched(self.given[number], names, self.follow_links).save(path)
        options = runtime.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
        try:
            return runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the errors of ONNX Runtime have no common base class
            raise _not_run(self.given[number][0], error) from error


def _not_run(name: str, error: Exception) -> InputError:
    return InputError(f"ONNX Runtime cannot run `{name}`: {str(error).splitlines()[0]}", help="check the inputs, or compare the files without them")


def _loaded(path: Any) -> dict[str, Any]:
    """The arrays of a file."""
    import numpy

    try:
        arrays = numpy.load(os.fspath(path), allow_pickle=False)
        if not hasattr(arrays, "files"):
            raise InputError(f"{path}: it is one array, which has no name", help="save arrays by name: `numpy.savez(path, x=x)`")
        with arrays:
            return {name: arrays[name] for name in arrays.files}
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}", help="pass a file that `numpy.savez` wrote") from error
    except (ValueError, EOFError) as error:
        raise InputError(f"{path}: not a file of arrays: {error}", help="pass a file that `numpy.savez` wrote") from error


def _checked(feeds: Mapping[str, Any], session: Any) -> dict[str, Any]:
    """The inputs that a model has, as arrays."""
    names = [node.name for node in session.get_inputs()]
    for name in feeds:
        if name not in names:
            raise ArgumentError(f"inputs: the first model has no input `{name}`", help=f"its inputs are {_listed(names)}")
    for name in names:
        if name not in feeds:
            raise ArgumentError(f"inputs: the input `{name}` is missing", help=f"the inputs of the first model are {_listed(names)}")
    return {name: _array(value) for name, value in feeds.items()}


def _array(value: Any) -> Any:
    if hasattr(value, "detach") or isinstance(value, list) and value and hasattr(value[0], "shape"):
        return value  # a tensor of torch, or a sequence
    import numpy

    return numpy.asarray(value)


def _of_second(feeds: Mapping[str, Any], session: Any) -> dict[str, Any]:
    """The inputs of the second model: by name, else by their order."""
    names = [node.name for node in session.get_inputs()]
    if set(names) <= set(feeds):
        return {name: feeds[name] for name in names}
    if len(names) == len(feeds):
        return dict(zip(names, feeds.values()))
    raise InputError(f"the inputs of the second model are {_listed(names)}, those of the first {_listed(list(feeds))}", help="rename or drop them first: `aten2onnx.edit`")


def _random(session: Any, seed: int | None, sizes: dict[str, int]) -> dict[str, Any]:
    """Inputs that follow from a number. Symbolic dimensions of one name have one size."""
    import numpy

    known = {size for node in session.get_inputs() for size in node.shape or () if isinstance(size, str)}
    for name in sizes:
        if name not in known:
            raise ArgumentError(f"sizes: no input has a dimension `{name}`", help=f"they have {_listed(sorted(known))}" if known else "all sizes are numbers")
    generator = numpy.random.default_rng(seed)
    found = {}
    for node in session.get_inputs():
        kind = node.type.removeprefix("tensor(").removesuffix(")")
        if not node.type.startswith("tensor(") or kind == "bfloat16" or kind.startswith("float8"):
            raise InputError(f"the input `{node.name}` is a {node.type}, of which there are no random ones", help="pass `inputs`")
        shape = [size if isinstance(size, int) else sizes.get(size or "", 2) for size in node.shape]
        found[node.name] = _elements(generator, kind, shape)
    return found


def _elements(generator: Any, kind: str, shape: Sequence[int]) -> Any:
    import numpy

    kind = {"float": "float32", "double": "float64"}.get(kind, kind)
    if kind.startswith("float"):
        return numpy.asarray(generator.standard_normal(shape)).astype(kind)
    if kind == "string":
        return numpy.asarray(generator.choice(["a", "b"], shape), dtype=object)
    return numpy.asarray(generator.integers(0, 2, shape)).astype(kind)


def _values(session: Any, feeds: Mapping[str, Any], wanted: Sequence[str], name: str, notes: list[str]) -> dict[str, Any]:
    """The values of a model."""
    from ._runtime import _to_ort

    have = {node.name: node.type for node in session.get_outputs()}
    names = [value for value in dict.fromkeys(wanted) if value in have]
    # What is no tensor has no OrtValue that Python reads, and NumPy lacks some dtypes of tensors.
    are_tensors = all(kind.startswith("tensor") for kind in [*have.values(), *(node.type for node in session.get_inputs())])
    if not are_tensors:
        left = [value for value in names if _is_special(have[value])]
        notes += [f"`{value}` of {name}, a {have[value]}, is not compared" for value in left]
        names = [value for value in names if value not in left]
    try:
        if are_tensors:
            results = session.run_with_ort_values(names, {key: _to_ort(value) for key, value in feeds.items()})
            read = {value: _read(result) for value, result in zip(names, results)}
            notes += [f"`{value}` of {name}, a {have[value]}, is not compared" for value, result in read.items() if result is None]
            return {value: result for value, result in read.items() if result is not None}
        return dict(zip(names, session.run(names, {key: value.numpy() if hasattr(value, "detach") else value for key, value in feeds.items()})))
    except Error:
        raise
    except Exception as error:  # the errors of ONNX Runtime have no common base class
        raise _not_run(name, error) from error


def _is_special(kind: str) -> bool:
    """Whether it is a type that NumPy lacks."""
    return "bfloat16" in kind or "float8" in kind or "int4" in kind


def _read(value: Any) -> Any:
    """A tensor as an array; None for one that nothing here can read."""
    if not _is_special(value.data_type()):
        return value.numpy()
    from ._runtime import _to_torch

    try:
        return _to_torch(value).float().numpy()
    except (ImportError, RuntimeError, TypeError, ValueError, BufferError):
        return None


def _compared(one: Any, two: Any, rtol: float | None, atol: float | None) -> tuple[bool, float | None, str]:
    """Whether two values are equal, the largest difference, and both as text."""
    import numpy

    if isinstance(one, list) or isinstance(two, list):
        return _compared_lists(one, two, rtol, atol)
    if one is None or two is None:
        return one is two, None, "absent in both" if one is two else f"{_typed(one)} and {_typed(two)}"
    one, two = numpy.asarray(one), numpy.asarray(two)
    if one.dtype != two.dtype or one.shape != two.shape:
        return False, None, f"{_typed(one)} and {_typed(two)}"
    if one.dtype.kind not in "fiub":
        wrong = numpy.argwhere(one != two)
        return not len(wrong), None, _typed(one) if not len(wrong) else f"{_typed(one)}, at {wrong[0].tolist()}: {one[tuple(wrong[0])]!r} and {two[tuple(wrong[0])]!r}"
    return _compared_numbers(one, two, rtol, atol)


def _compared_numbers(one: Any, two: Any, rtol: float | None, atol: float | None) -> tuple[bool, float | None, str]:
    import numpy

    allowed = tolerance(str(one.dtype))
    # 64-bit integers differ by more than a float64 has digits.
    wide = numpy.float64 if one.dtype.kind == "f" else object if one.dtype.itemsize == 8 else numpy.int64
    a, b = one.astype(wide), two.astype(wide)
    if one.dtype.kind == "f":
        finite = numpy.isfinite(a) & numpy.isfinite(b)
        with numpy.errstate(invalid="ignore"):
            distance = numpy.where(finite, numpy.abs(a - b), numpy.where((a == b) | (numpy.isnan(a) & numpy.isnan(b)), 0.0, numpy.inf))
        largest = float(numpy.abs(b[finite]).max()) if finite.any() else 0.0
        limit = (allowed.rtol if rtol is None else rtol) * numpy.where(finite, numpy.abs(b), 0.0)
        limit = limit + (allowed.of_largest * largest + allowed.atol if atol is None else atol)
    else:
        distance, limit = abs(a - b), (rtol or 0.0) * abs(b) + (atol or 0.0)
    if not distance.size or bool((distance <= limit).all()):
        found = float(distance.max()) if distance.size else 0.0
        return True, found, f"{_typed(one)}, {'equal' if found == 0 else f'by up to {found:.3g}'}"
    at = numpy.unravel_index(int(numpy.argmax(distance)), distance.shape)
    place = f" at {[int(number) for number in at]}" if at else ""
    found = float(distance[at])
    by = "" if found == numpy.inf else f" by up to {found:.3g}"
    return False, found, f"{_typed(one)}, differs{by}{place}: {one[at]} and {two[at]}"


def _compared_lists(one: Any, two: Any, rtol: float | None, atol: float | None) -> tuple[bool, float | None, str]:
    """Compares sequences element by element."""
    if not isinstance(one, list) or not isinstance(two, list) or len(one) != len(two):
        return False, None, f"{_typed(one)} and {_typed(two)}"
    rows = [_compared(a, b, rtol, atol) for a, b in zip(one, two)]
    for number, (equal, largest, text) in enumerate(rows):
        if not equal:
            return False, largest, f"element {number}: {text}"
    largest = max((largest for _, largest, _ in rows if largest is not None), default=0.0)
    return True, largest, f"{_typed(one)}, {'equal' if largest == 0 else f'by up to {largest:.3g}'}"


def _typed(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, list):
        return f"a sequence of {len(value)}"
    return f"{value.dtype}{list(value.shape)}"


def _named(value: ComparedValue) -> str:
    return f"`{value.first}`" if value.first == value.second else f"`{value.first}` and `{value.second}`"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
