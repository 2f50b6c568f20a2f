"""`aten2onnx.calibrate`: measures the ranges of a model's values, for static quantization and half precision."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from . import _arguments, _ranges
from ._errors import ArgumentError, FileError, InputError, require
from ._native import Rules, converted_model
from ._types import Calibration, CalibrationMethod, OnnxModel, Ranges

if TYPE_CHECKING:
    from ._program import ONNXProgram


@_arguments.checked
def calibrate(
    model: OnnxModel,
    data: Calibration,
    f: str | os.PathLike[str] | None = None,
    *,
    method: CalibrationMethod = "minmax",
    percentile: float = 99.99,
) -> Ranges:
    """Runs a float32 model in ONNX Runtime, and measures the range of each float32 value outside of bodies (If, Loop, Scan).

    `convert` takes the ranges: `quantize="static"` rounds values with them, and `precision="float16"` keeps float32 what is too large for float16.

    Args:
        model: The path of an `.onnx` file, an `onnx.ModelProto`, or a model as bytes.
        data: Inputs that are like those of later use: the path of an `.npz` file with an array for each input, of a folder of such files, several paths, or
            runs: mappings from names to arrays or tensors, or sequences in the order of the inputs. Arrays of a file that have one dimension more than the
            input are runs one after the other.
        f: A JSON file for the ranges.
        method: "minmax": the least and the largest number. "percentile": without the numbers at both ends that are rare. "entropy": the range whose integers
            lose the least information. The last two run the model at least twice.
        percentile: With "percentile", how many percent of the numbers lie in the range.

    Returns:
        The ranges, `{"method": .., "runs": .., "values": {name: [least, largest]}}`. Infinities are text (`"inf"`), because JSON has none.

    Raises:
        InputError: Data that the model does not take.
        UnsupportedError: ONNX Runtime does not run the model.
    """
    if not 50 < percentile <= 100:
        raise ArgumentError(f"percentile: found {percentile}", help="pass a number above 50, up to 100")
    proto, folder = _proto(model)
    measuring = _ranges.Measuring(proto, folder)
    runs = Runs(data, {value.name: len(value.type.tensor_type.shape.dim) for value in measuring.inputs})
    spreads = measuring.ends(runs)
    if runs.count == 0:
        raise InputError("there are no data to measure values with", help="pass at least one run")
    if method != "minmax":
        measuring.count(spreads, runs)
    values = {name: _range(spread, method, percentile) for name, spread in spreads.items()}
    found: Ranges = {"method": method, "runs": runs.count, "values": {name: [_written(end) for end in ends] for name, ends in values.items()}}
    if f is not None:
        _write(found, f)
    return found


def _range(spread: _ranges.Spread, method: str, percentile: float) -> tuple[float, float]:
    if spread.counts is None:
        return spread.least, spread.largest
    return _ranges.percentile_range(spread, percentile) if method == "percentile" else _ranges.entropy_range(spread)


def _written(end: float) -> float | str:
    if math.isfinite(end):
        return end
    return "nan" if math.isnan(end) else "inf" if end > 0 else "-inf"


def _write(ranges: Ranges, f: str | os.PathLike[str]) -> None:
    try:
        Path(f).write_text(json.dumps(ranges, indent=1) + "\n")
    except OSError as error:
        raise FileError(f"cannot write {os.fspath(f)}: {error.strerror}", help="`f` is a file for the ranges") from error


def _proto(model: Any) -> tuple[Any, str | None]:
    """The model without its external data, and the folder in which these lie."""
    onnx = require("onnx", "measuring values")
    if hasattr(model, "SerializeToString"):
        return model, None
    try:
        if isinstance(model, (bytes, bytearray, memoryview)):
            return onnx.load_from_string(bytes(model)), None
        return onnx.load(os.fspath(model), load_external_data=False), os.path.dirname(os.path.abspath(model))
    except OSError as error:
        raise FileError(f"cannot read {os.fspath(model)}: {error.strerror}", help="`model` is an ONNX file") from error
    except Exception as error:  # protobuf's error, whose class depends on its implementation
        raise InputError(f"no ONNX model: {str(error).splitlines()[0]}", help="`model` is an ONNX file, a model or its bytes") from error


class Runs:
    """The inputs of runs by name, which can be gone through several times.

    Attributes:
        count: How many runs there were the last time.
    """

    def __init__(self, data: Calibration, ranks: Mapping[str, int]) -> None:
        self.ranks, self.count = ranks, 0
        self.parts = _listed(data)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        self.count = 0
        for part in self.parts:
            for feeds in self._runs(part):
                self.count += 1
                yield feeds

    def _runs(self, part: Any) -> Iterator[dict[str, Any]]:
        if isinstance(part, (str, os.PathLike)):
            for path in _files(Path(part)):
                yield from self._of_file(path)
        elif isinstance(part, Mapping):
            yield {name: _array(value) for name, value in part.items()}
        elif isinstance(part, Sequence):
            if len(part) != len(self.ranks):
                raise InputError(f"the model has the inputs {', '.join(self.ranks)}; a run has {len(part)} values", help="give each run a value for each input")
            yield {name: _array(value) for name, value in zip(self.ranks, part)}
        else:
            raise ArgumentError(
                f"calibration data: found an object of the class `{type(part).__name__}`",
                help="a run is a mapping from names to arrays, a sequence of arrays in the order of the inputs, or the path of an `.npz` file",
            )

    def _of_file(self, path: Path) -> Iterator[dict[str, Any]]:
        numpy = require("numpy", "measuring values")
        try:
            with numpy.load(path) as file:
                arrays = {name: file[name] for name in file.files}
        except Exception as error:  # what NumPy raises of a damaged file
            raise FileError(f"cannot read {path}: {str(error).splitlines()[0] if str(error) else type(error).__name__}", help="`numpy.savez` writes such files") from error
        deeper = {name for name, array in arrays.items() if array.ndim == self.ranks.get(name, array.ndim) + 1}
        if not deeper:
            yield arrays
            return
        if len(deeper) != len(arrays) or len({len(array) for array in arrays.values()}) != 1:
            raise InputError(f"{path}: not all arrays hold the same number of runs", help="give each array one dimension more than its input, or none")
        for run in zip(*arrays.values()):
            yield dict(zip(arrays, run))


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(path.glob("*.npz"))
    if not found:
        raise InputError(f"{path} has no `.npz` file", help="`numpy.savez` writes them")
    return found


def _array(value: Any) -> Any:
    """An array of what a user gives; tensors are lent."""
    if hasattr(value, "detach"):
        return value.detach().cpu()
    return require("numpy", "measuring values").asarray(value)


def check_options(calibrate: object, quantize: str | None, precision: str | None) -> None:
    """Checks that measured ranges have a use, and that those are there that are needed.

    Raises:
        ArgumentError: They have none, or are not there.
    """
    if quantize == "static" and calibrate is None:
        raise ArgumentError("quantize=\"static\" takes the ranges of values", help="pass `calibrate`: inputs of some runs, or the path of an `.npz` file with them")
    if calibrate is not None and quantize != "static" and precision is None:
        raise ArgumentError("calibrate: nothing takes the ranges of values", help="pass `quantize=\"static\"` or `precision=\"float16\"`")


def measured_ranges(model: Any, data: Calibration, method: CalibrationMethod, percentile: float, folder: str) -> str:
    """Measures a model, and returns the path of the file with its ranges, in the folder."""
    path = os.path.join(folder, "ranges.json")
    calibrate(model, data, path, method=method, percentile=percentile)
    return path


def quantize_program(program: ONNXProgram, rules: Rules, output: Mapping[str, Any], data: Calibration, method: CalibrationMethod, percentile: float) -> None:
    """Writes the float model of a program aside, measures it, and gives the program the model that is made of it with the ranges."""
    folder = TemporaryDirectory(prefix="aten2onnx-")
    path = os.path.join(folder.name, "float.onnx")
    program._model.save(path, "auto", None)
    runs = [run if isinstance(run, (str, os.PathLike)) else program._feeds_of(run) for run in _listed(data)]
    ranges = measured_ranges(path, runs, method, percentile, folder.name)
    options = {"output": output, "ranges": ranges}
    conditions = program.report.conditions
    program._model = converted_model(path, rules, json.dumps(options))
    program.report.of_model(program._model)
    program.report.conditions = conditions
    # The weights that are not rounded still lie there.
    program._source = folder


def _listed(data: Any) -> list[Any]:
    """The runs and files of what a user gives, which may be one of them."""
    return [data] if isinstance(data, (str, os.PathLike, Mapping)) else list(data)
