"""`aten2onnx.convert`: converts ONNX models to another opset."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping, Sequence
from tempfile import TemporaryDirectory
from typing import Any, Literal

from . import _arguments, _calibrate, _progress
from ._errors import ArgumentError, require
from ._native import ConvertedModel, chosen_opset
from ._program import external_data_choice
from ._support import rules as own_rules
from ._types import (
    Calibration,
    CalibrationMethod,
    Converted,
    ExternalData,
    OnnxModel,
    Path,
    Paths,
    Precision,
    Quantize,
    QuantizeWeights,
    Scales,
)

_log = logging.getLogger(__name__)


@_arguments.checked
def convert(
    model: OnnxModel,
    f: str | os.PathLike[str] | None = None,
    *,
    opset_version: int | None = None,
    target: str | None = None,
    ir_version: int | str = "lowest",
    no_fuse: Sequence[str] = (),
    external_data: ExternalData = "auto",
    precision: Precision | None = None,
    io: str | None = None,
    keep_float32: Sequence[str] = (),
    quantize_weights: QuantizeWeights | None = None,
    quantize: Quantize | None = None,
    calibrate: Calibration | None = None,
    calibration: CalibrationMethod = "minmax",
    percentile: float = 99.99,
    ranges: Path | None = None,
    block_size: int | Literal["channel"] | None = None,
    scales: Scales | None = None,
    skip: Sequence[str] = (),
    metadata: Mapping[str, str] | None = None,
    doc_string: str | None = None,
    value_docs: Mapping[str, str] | None = None,
    producer_name: str | None = None,
    producer_version: str | None = None,
    dims: Mapping[str, int] | None = None,
    inline_functions: bool = False,
    follow_links: bool = False,
    mappings: Paths = (),
    optimize: bool = False,
    progress: bool | None = None,
) -> Converted:
    """Converts an ONNX model to another opset. Weights are not changed, but for `precision` and `quantize_weights`.

    What is worth knowing of the result is logged at the level INFO, by loggers below `logging.getLogger("aten2onnx")`.

    Args:
        model: The path of an `.onnx` file, an `onnx.ModelProto`, or a model as bytes.
        f: The output file.
        opset_version: The opset of the result, `MIN_OPSET` to `MAX_OPSET` (default: 18; for a target its fastest, if that was measured, or the nearest that it supports;
            with `precision` or quantization that of the source).
        target: The runtime, such as "tensorrt-8.6". Operators that it lacks are lowered. `aten2onnx targets` lists the runtimes.
        ir_version: The IR version: "lowest" that can hold the model, "release" for that of the opset's ONNX release, or a number.
        no_fuse: Patterns of `fuse` rules that are not applied, such as "gelu", and of "attention", "heads" and "rotary_embedding"; `*` is any text.
        external_data: Where the weights go: "auto" (as in the source), "always" or True, "never" or False.
        precision: "float16" or "bfloat16": the model computes in it and has weights of it, but for what must stay float32 (sums, exponentials,
            positions, numbers that it does not hold). "mixed": products alone, in float16. The log says what stays float32 and why.
        io: The dtype of float32 inputs and outputs, if it is not to be float32: that of `precision`.
        keep_float32: Patterns of what stays float32: operators, modules with all below them, nodes or values; `*` is any text.
        quantize_weights: What the weights of products, convolutions and lookups are quantized to, while they are written: "int8", "uint8", "int4", "uint4" or
            "fp8". Signed formats have the same scale on both sides of 0, unsigned ones a zero point. The log says what is quantized and what is not.
        quantize: "dynamic": products and convolutions multiply integers of 8 bits, to which the other operand is rounded with the range that it has when the
            model runs. Weights are int8, or uint8 by `quantize_weights`. "static": values between operators are rounded, too, with ranges that were
            measured (`calibrate` or `ranges`).
        calibrate: Inputs of some runs, for `quantize="static"`, or so that `precision` keeps float32 what is larger than the dtype holds: as in `aten2onnx.calibrate`.
            The float32 model runs with them in ONNX Runtime.
        calibration: How ranges follow from the runs: "minmax" (the least and the largest number), "percentile" (without rare numbers at both ends) or
            "entropy" (the range whose integers lose the least information).
        percentile: With "percentile", how many percent of the numbers lie in the range.
        ranges: A file with ranges that `aten2onnx.calibrate` wrote, in place of `calibrate`.
        block_size: How many numbers of a weight have a common scale, or "channel" for all of a channel (default: 32 for 4 bits, else "channel").
        scales: How scales are chosen: "nearest" (the default), "mse" (the least squared error) or "hqq" (few large errors in place of many small ones).
        skip: Patterns of what is not quantized: weights, operators, nodes, or modules with all below them; `*` is any text.
        metadata: Entries of the model's metadata, which applications read: `{"names": json.dumps(names)}`.
        doc_string: The documentation of the model.
        value_docs: The documentation of inputs and outputs, by name.
        producer_name: The name of the program that made the model (default: that of the source).
        producer_version: The version of that program.
        dims: Sizes that become constant, by the name of a symbolic dimension, or by an input and its axis: `{"batch": 1, "x:1": 128}`.
        inline_functions: Whether to inline local functions.
        follow_links: Whether external data is also read through symbolic links that lead out of the model's folder, as in a cache of
            Hugging Face.
        mappings: Mapping files or folders whose `lower` rules replace the built-in ones.
        optimize: Whether to run the optimization passes of exports, which also drop unused values.
        progress: Whether to show the progress (default: in terminals and notebooks, if the conversion takes long).

    Returns:
        None if `f` is given. Otherwise the result: an `onnx.ModelProto` if `model` is one, else bytes.

    Raises:
        UnsupportedError: The opset cannot express the model. The error lists all nodes that cannot be converted.
    """
    is_proto = hasattr(model, "SerializeToString")
    if ranges is None:
        _calibrate.check_options(calibrate, quantize, precision)
    elif calibrate is not None:
        raise ArgumentError("both `calibrate` and `ranges` are given", help="pass one of them")
    path, content = source(model)
    # In a narrower precision the opset stays that of the source, if none is asked for: an older one may lack it.
    keeps_opset = opset_version is None and target is None and (precision, quantize_weights, quantize) != (None, None, None)
    options = {
        "output": {
            "opset": None if keeps_opset else chosen_opset(target, _arguments.opset(opset_version)),
            "target": target,
            "ir": str(ir_version),
            "no_fuse": list(no_fuse),
            "external_data": external_data_choice(external_data),
            "precision": _arguments.precision(precision, io, keep_float32),
            "quantize": _arguments.quantize(quantize_weights, quantize, block_size, scales, skip),
            "description": _arguments.description(metadata, doc_string, value_docs, producer_name, producer_version),
        },
        "dims": [f"{name}={size}" for name, size in (dims or {}).items()],
        "inline_functions": inline_functions,
        "follow_links": follow_links,
        "opt_level": int(optimize),
    }
    with TemporaryDirectory(prefix="aten2onnx-") as folder:
        if calibrate is not None:
            ranges = _calibrate.measured_ranges(model, calibrate, calibration, percentile, folder)
        options["ranges"] = None if ranges is None else os.fspath(ranges)
        converted = ConvertedModel(path, content, own_rules(mappings), json.dumps(options))
    for note in converted.notes:
        _log.info("%s", note)
    if f is not None:
        with _progress.shown(progress) as shown:
            shown.step("writing")
            converted.save(os.fspath(f), shown)
        return None
    found = converted.serialized()
    return require("onnx", "a ModelProto").load_from_string(found) if is_proto else found


def source(model: Any) -> tuple[str, bytes | None]:
    """The path of a model, or a name for it and its bytes."""
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model), None
    if isinstance(model, (bytes, bytearray, memoryview)):
        return "model", bytes(model)
    if hasattr(model, "SerializeToString"):
        return "model", model.SerializeToString()
    raise ArgumentError(
        f"model: expected a path, bytes or an `onnx.ModelProto`, found an object of the class `{type(model).__name__}`",
        help="`aten2onnx.export` takes models of PyTorch",
    )
