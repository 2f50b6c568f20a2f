"""`aten2onnx.export`: exports a module, a program or a file."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from . import _arguments, _axes, _calibrate, _calls, _capture, _dimensions, _ones, _others, _progress, _script, _shapes, _ways, _weights
from ._calls import Call
from ._errors import CaptureError, Error, FileError, InputError, UnsupportedError, in_python, require
from ._live import LiveProgram
from ._native import Program, Rules, chosen_opset
from ._program import ONNXProgram, external_data_choice
from ._report import Report
from ._support import rules as own_rules
from ._types import (
    Args,
    Branches,
    Calibration,
    CalibrationMethod,
    Capture,
    DType,
    DynamicAxes,
    DynamicShapes,
    ExternalData,
    Functions,
    Model,
    Paths,
    Precision,
    Provenance,
    Quantize,
    QuantizeWeights,
    Scales,
    Weights,
    Writable,
)
from ._verify import verify_runs
from ._weights import OutsideWeights


#: Of more conditions, a warning shows the first.
_LISTED = 10


@_arguments.checked
def export(
    model: Model,
    args: Args = (),
    f: str | os.PathLike[str] | Writable | None = None,
    *,
    kwargs: Mapping[str, object] | None = None,
    before: object = None,
    after: object = None,
    opset_version: int | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    dynamic_shapes: DynamicShapes | None = None,
    dynamic_axes: DynamicAxes | None = None,
    precision: Precision | None = None,
    io: str | None = None,
    keep_float32: Sequence[str] = (),
    quantize_weights: QuantizeWeights | None = None,
    quantize: Quantize | None = None,
    calibrate: Calibration | None = None,
    calibration: CalibrationMethod = "minmax",
    percentile: float = 99.99,
    block_size: int | Literal["channel"] | None = None,
    scales: Scales | None = None,
    skip: Sequence[str] = (),
    metadata: Mapping[str, str] | None = None,
    doc_string: str | None = None,
    value_docs: Mapping[str, str] | None = None,
    producer_name: str | None = None,
    producer_version: str | None = None,
    model_name: str | None = None,
    weights: Weights | None = None,
    weight_names: Mapping[str, str] | None = None,
    external_data: ExternalData = "auto",
    provenance: Provenance = "compact",
    functions: Functions = "none",
    adapters: str | None = None,
    target: str | None = None,
    static: bool | Mapping[str, int] = False,
    strict_shapes: bool = False,
    mappings: Paths = (),
    fallback: Literal["none", "aten"] | bool | None = None,
    keep_mutations: bool = False,
    keep_assertions: bool = False,
    exact_nan: bool = False,
    optimize: bool = True,
    verify: bool = False,
    report: bool | str | os.PathLike[str] | None = None,
    ir_version: int | str = "lowest",
    no_fuse: Sequence[str] = (),
    method: str | None = None,
    default_dtype: DType | None = None,
    capture: Capture = "auto",
    branches: Branches = "both",
    max_branches: int = 32,
    max_runs: int = 64,
    roll: int | None = None,
    examples: Sequence[object] = (),
    branch_inputs: Mapping[str, object] | None = None,
    strict: bool | None = None,
    adopt_fixes: bool = True,
    progress: bool | None = None,
    dump_exported_program: bool = False,
    artifacts_dir: str | os.PathLike[str] = ".",
    **others: object,
) -> ONNXProgram:
    """Exports a PyTorch model to ONNX. The arguments are those of `torch.onnx.export`.

    Args:
        model: A module, an ExportedProgram of torch.export, a ScriptModule or ScriptFunction, or the path of a `.pt2` file or of a
            TorchScript file (which do not need PyTorch).
        args: Example inputs of the module. A TorchScript file may have recorded them.
        f: The output: a path or an object with `write`. If omitted, call `save` of the result.
        kwargs: Example inputs by name.
        before: A module of PyTorch that runs before the model and becomes a part of the file. `args`, `dynamic_shapes` and input names are its own; what it
            returns is given to the model: a tuple as its arguments, a dictionary as arguments by name, anything else as the only argument.
        after: A module that runs after the model, on what that returns. `aten2onnx.ready` has modules for both.
        opset_version: The opset of the model, `MIN_OPSET` to `MAX_OPSET` (default: 18; for a target its fastest, if that was measured, or the nearest that it supports).
        input_names: Names for the inputs, in order.
        output_names: Names for the outputs, in order.
        dynamic_shapes: The dynamic dimensions of the inputs, as for torch.export.export. A string makes a dimension dynamic and names it.
            For a cache of transformers, the dimensions of all its tensors at once: `{0: "batch", 2: "past_sequence"}`. "auto" makes each
            dimension dynamic that the model allows, and names it by its meaning.
        dynamic_axes: The same in the form of the older exporter, by input name: `{"x": {0: "batch"}}` or `{"x": [0]}`.
        precision: "float16" or "bfloat16": the model computes in it and has weights of it, but for what must stay float32 (sums, exponentials,
            positions, numbers that it does not hold). "mixed": products alone, in float16. The report says what stays float32 and why.
        io: The dtype of float32 inputs and outputs, if it is not to be float32: that of `precision`.
        keep_float32: Patterns of what stays float32: operators, modules with all below them, nodes or values; `*` is any text.
        quantize_weights: What the weights of products, convolutions and lookups are quantized to, while they are written: "int8", "uint8", "int4", "uint4" or
            "fp8". Signed formats have the same scale on both sides of 0, unsigned ones a zero point. The report says what is quantized and what is not.
        quantize: "dynamic": products and convolutions multiply integers of 8 bits, to which the other operand is rounded with the range that it has when the
            model runs. Weights are int8, or uint8 by `quantize_weights`. "static": values between operators are rounded, too, with ranges that were
            measured (`calibrate`).
        calibrate: Inputs of some runs, for `quantize="static"`, or so that `precision` keeps float32 what is larger than the dtype holds: `[(x,), ..]` or `[{"x": x}, ..]` as for
            `examples`, or paths of `.npz` files with an array for each input of the file.
            The float32 model runs with them in ONNX Runtime.
        calibration: How ranges follow from the runs: "minmax" (the least and the largest number), "percentile" (without rare numbers at both ends) or
            "entropy" (the range whose integers lose the least information).
        percentile: With "percentile", how many percent of the numbers lie in the range.
        block_size: How many numbers of a weight have a common scale, or "channel" for all of a channel (default: 32 for 4 bits, else "channel").
        scales: How scales are chosen: "nearest" (the default), "mse" (the least squared error) or "hqq" (few large errors in place of many small ones).
        skip: Patterns of what is not quantized: weights, operators, nodes, or modules with all below them; `*` is any text.
        metadata: Entries of the model's metadata, which applications read: `{"names": json.dumps(names)}`.
        doc_string: The documentation of the model.
        value_docs: The documentation of inputs and outputs, by name.
        producer_name: The name of the program that made the model (default: "aten2onnx").
        producer_version: The version of that program.
        model_name: The program to export, of a `.pt2` package that has several.
        weights: Where the weights are, if not in the program: a safetensors file, the index of its shards, a folder of them, a mapping of
            tensors by their names in the state dict, or a list of these. The module may be on the meta device, or of fake tensors.
        weight_names: Weights with another name in these files: `{"lm_head.weight": "embed.weight"}`, or prefixes: `{"model.": ""}`.
        external_data: Where the weights go: "auto" (into the model up to protobuf's limit of 2 GiB, else beside it), "always" or True (beside
            it, in `f` + ".data"), "never" or False (into the model), or "link" (for weights in `.pt2` or safetensors files: the model refers to these).
        provenance: What nodes record about their origin: "none", "compact" (the module and the operator, in their names) or "full" (also
            the rule, the PyTorch node and the source line).
        functions: Which modules become ONNX functions: "none", "modules" (all, nested) or "repeated" (the outermost of those that occur more
            than once). Modules that compute the same share one function. Inference engines inline them.
        adapters: Keep weights with this in their names, such as "lora_", as inputs with default values, which an adapter can replace; see
            `ONNXProgram.save_adapter`.
        target: The runtime, such as "tensorrt-8.6". It chooses the opset, and what it does not support is an error. `aten2onnx targets`
            lists the runtimes.
        static: Whether all symbolic sizes become those of the example that the program was exported with; or the sizes of some, by symbol
            or by the name that `dynamic_shapes` gives them: `{"batch": 1}`.
        strict_shapes: Whether to refuse a model that is right for some sizes only, because PyTorch captured decisions that depend on
            them. By default a warning, the report and the file state the conditions.
        mappings: Mapping files or folders with rules for custom operators, or that replace built-in rules.
        fallback: "aten" keeps operators that have neither a rule nor a decomposition as nodes of the domain `org.pytorch.aten`, for
            which you provide kernels. By default such operators are an error.
        keep_mutations: Whether buffers that the model writes to become inputs, and the new values of buffers and inputs become
            outputs. By default writes are dropped with a note.
        exact_nan: Whether maxima, minima, max pools and top k keep NaN as PyTorch does, which takes a second pass over their inputs.
        keep_assertions: Whether to list the assertions that are left out in the notes of the report.
        optimize: Whether to run the optimization passes.
        verify: Whether to compare the results with PyTorch's in ONNX Runtime: at the example, and at the other sizes that a module was recorded at.
        report: A path for the report (JSON if it ends in `.json`, a page if it ends in `.html`, else Markdown), or True for `f` + ".report.md".
        ir_version: The IR version: "lowest" that can hold the model, "release" for that of the opset's ONNX release, or a number.
        no_fuse: Patterns of `fuse` rules that are not applied, such as "gelu", and of "attention", "heads" and "rotary_embedding"; `*` is any text.
        method: The method of a TorchScript model (default: forward).
        default_dtype: What `torch.get_default_dtype()` was when a TorchScript model was written, if it was not float32: its file does not
            say it. For live models it is that of now.
        capture: How a module is captured: "record" runs it and records its calls, "fake" does so with sizes alone, "export" is torch.export in its non-strict mode, then in its
            strict one, "strict" only in that one, "script" is torch.jit.script, "trace" is torch.jit.trace at several sizes, and "auto" (the
            default) records, and asks torch.export if that is impossible.
        branches: What becomes of a branch in Python (`if`, `and`) that depends on a size or on data: "both" (the default) records the model on both sides
            and makes an If of them, and a Loop of a loop whose number of turns depends on a size or on data; "refuse" ends the export with its line, "example"
            keeps the side, and the turns, that the example takes; the report and the file say so.
        max_branches: With "both", so many branches may become an If.
        max_runs: With "both", so many times the module may run at one choice of sizes.
        roll: With "both", a `for` loop of a fixed number of turns becomes a Loop if it makes at least so many, and if each turn does the same. By default
            such loops stay unrolled: a runtime fuses what follows one another, and some have no Loop.
        examples: Other inputs of the module, `[(x,), ..]` or `[{"x": x}, ..]`, with other sizes of the dynamic dimensions: the recorder holds these runs
            against that of `args`, in place of inputs that it makes by repeating and cutting `args`.
        branch_inputs: With branches="both", inputs with which both sides of a branch can be run where the example cannot, by its line: `{"model.py:12": (x,)}`.
            They have the form of `examples`. They are also tried to verify both sides.
        strict: The mode of torch.export (default: non-strict, then strict if that fails). If it is given, "auto" does not record.
        adopt_fixes: Whether to follow torch.export where it suggests a narrower range for a dimension, or a relation of two dimensions. A
            note in the report says so. If False, the export fails instead.
        progress: Whether to show the progress (default: in terminals and notebooks, if the export takes long).
        dump_exported_program: Whether to save the translated program in `artifacts_dir`.
        artifacts_dir: The folder for a report without `f`, and for the program.
        others: Other arguments of torch.onnx.export. They are ignored with a warning.

    Returns:
        The model. `.save()` writes it, calling it runs it, `.model_proto` and `.model_bytes` return it, and `.report` describes the export.

    Raises:
        CaptureError: torch.export cannot capture the model.
        UnsupportedError: The opset, or aten2onnx, does not support something in the model. The error lists all of it.
        VerificationError: With `verify`, the results differ from PyTorch's.
        Error: The base class of these and all other errors.
    """
    _others.check(others, export)
    metadata = _metadata([before, model, after], metadata)
    _calibrate.check_options(calibrate, quantize, precision)
    _arguments.shapes(dynamic_shapes)
    args = _arguments.arguments("args", args)
    way = "export" if dump_exported_program and capture == "auto" else _ways.way_of(capture, strict)
    options: dict[str, Any] = {
        "output": {
            "opset": chosen_opset(target, _arguments.opset(opset_version)),
            "target": target,
            "ir": str(ir_version),
            "no_fuse": list(no_fuse),
            "external_data": external_data_choice(external_data),
            "precision": _arguments.precision(precision, io, keep_float32),
            "quantize": _arguments.quantize(quantize_weights, quantize, block_size, scales, skip),
            "description": _arguments.description(metadata, doc_string, value_docs, producer_name, producer_version),
        },
        "opt_level": int(optimize),
        "provenance": provenance,
        "functions": functions,
        "adapters": adapters,
        "static": static is True,
        "strict_shapes": strict_shapes,
        "dims": [f"{name}={size}" for name, size in (static.items() if isinstance(static, Mapping) else ())],
        "input_names": list(input_names or ()),
        "output_names": list(output_names or ()),
        "keep_mutations": keep_mutations,
        "keep_assertions": keep_assertions,
        "exact_nan": exact_nan,
        "fallback": _others.fallback(fallback) or "none",
    }
    output, measured = options["output"], None
    if calibrate is not None:
        # The float model is measured first.
        own = ("precision", "quantize", "external_data")
        measured = {name: value for name, value in output.items() if name != "description"}
        options["output"] = {name: value for name, value in output.items() if name not in own}
    made = Report(name_of_model(model))
    if before is not None or after is not None:
        model = _around(model, before, after)
    rules = own_rules(mappings)
    outside = _weights.outside_weights(weights, weight_names)
    try:
        with _progress.shown(progress) as shown:
            if way in ("script", "trace") and not isinstance(model, (str, os.PathLike)) and not _script.is_script(model):
                from . import _jit

                shown.step(f"torch.jit.{way}")
                with made.timed(f"torch.jit.{way}"):
                    model, args, kwargs, dynamic_shapes = _jit.converted(model, way, args, kwargs, dynamic_shapes, dynamic_axes, input_names, output_names, examples)
                    dynamic_axes = None
            if isinstance(model, (str, os.PathLike)) or _script.is_script(model):
                described = _script.source(model, args, kwargs, dynamic_shapes, dynamic_axes, input_names)
                if outside.tensors:
                    raise InputError("tensors cannot replace the weights of a file", help="pass the program, or the paths of safetensors files")
                chosen = {"method": method, "model": model_name, "default_dtype": _script.default_dtype(model, default_dtype)}
                options["source"] = {**described, **chosen, **outside.options()}
                program = _from_file(model, rules, options, made, shown)
            else:
                fixes = adopt_fixes and not strict_shapes  # a narrower range is a condition, too
                arguments = (args, kwargs, dynamic_shapes, dynamic_axes, input_names, output_names, strict, fixes)
                request = _ways.Request(arguments, way, branches, examples, _arguments.branch_inputs(branch_inputs, branches), verify, max_branches, max_runs, _arguments.roll(roll, branches))
                program = _from_torch(model, request, rules, options, made, shown, outside)
        if calibrate is not None and measured is not None:
            with made.timed("calibrate"):
                _calibrate.quantize_program(program, rules, measured, calibrate, calibration, percentile)
        program._progress, program._precision, program._quantized = progress, precision, quantize or quantize_weights
        if dump_exported_program and program.exported_program is not None:
            _save_captured(program.exported_program, Path(artifacts_dir) / f"{made.model}.pt2")
        _warn_of_conditions(program)
        if verify:
            with made.timed("verify"):
                program.verify()
                verify_runs(program)
        if f is not None:
            program.save(f)
    except Error as error:
        made.error = str(error)
        error.report = made
        raise
    finally:
        if report:
            made.save(_report_path(report, f, artifacts_dir, made.model))
    return program


def _around(model: Any, before: Any, after: Any) -> Any:
    """A model with modules before and after it, as one module."""
    require("torch", "exporting modules before and after a model")
    from ._around import around

    return around(model, before, after)


def _metadata(modules: Sequence[object], given: Mapping[str, str] | None) -> Mapping[str, str]:
    """The entries of the metadata that modules bring along, such as the names of classes, and those that the user gives."""
    found: dict[str, str] = {}
    for module in modules:
        for part in module.modules() if hasattr(module, "modules") and not _script.is_script(module) else ():
            own = getattr(part, "onnx_metadata", None)
            found.update(own if isinstance(own, dict) else {})
    return {**found, **(given or {})}


def _save_captured(exported: Any, path: Path) -> None:
    """Saves a translated program for `dump_exported_program`."""
    import torch

    try:
        torch.export.save(exported, path)
    except (OSError, RuntimeError) as error:
        raise FileError(f"cannot write {path}: {str(error).splitlines()[0]}", help="`artifacts_dir` is the folder") from error


@dataclass
class Captured:
    """What torch.export made of a module, or a program that the user captured.

    Attributes:
        name: The name of the model.
        exported: The ExportedProgram.
        dims: The names of its symbols.
        notes: Notes for the user.
        call: How the arguments of the module become those of the program, if they are not the same.
    """

    name: str
    exported: Any
    dims: dict[str, str]
    notes: list[str] = field(default_factory=list)
    call: Call | None = None


def captured(
    model: Any,
    args: Any = (),
    kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    dynamic_axes: Mapping[str, Any] | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    strict: bool | None = None,
    adopt_fixes: bool = True,
) -> Captured:
    """Captures a module, unless it is a program already."""
    import torch

    name = name_of_model(model)
    model = model.plain() if hasattr(model, "plain") and type(model).__name__ == "Around" else model
    if isinstance(model, torch.export.ExportedProgram):
        if _calls.is_auto(dynamic_shapes):
            return Captured(name, model, _dimensions.symbols(model, list(input_names or _inputs(model))))
        dynamic_shapes = _axes.checked(_shapes.program_arguments(model), dynamic_shapes)
        return Captured(name, model, _shapes.names(model, dynamic_shapes))
    if isinstance(model, (torch.jit.ScriptModule, torch.jit.ScriptFunction)):
        raise UnsupportedError("a TorchScript module is no program of torch.export", help="pass it to `aten2onnx.export`")
    if not isinstance(model, torch.nn.Module):
        raise InputError(
            f"cannot export an object of type `{type(model).__name__}`",
            help="pass a torch.nn.Module, an ExportedProgram or the path of a `.pt2` file",
        )
    model, args, kwargs, dynamic_shapes, what = _call_of(model, args, kwargs, dynamic_shapes, dynamic_axes, input_names, output_names)
    if _calls.is_needed(model, args, kwargs):
        return _called(model, name, Call(model, args, kwargs, dynamic_shapes), dynamic_shapes, strict, adopt_fixes)
    wanted = dynamic_shapes
    if _calls.is_auto(dynamic_shapes):
        dynamic_shapes = _calls.automatic(_shapes.named_arguments(model, args, kwargs))
    else:
        dynamic_shapes = _axes.checked(_shapes.named_arguments(model, args, kwargs), dynamic_shapes, what)
    try:
        exported, notes = _ones.capture(model, args, kwargs, dynamic_shapes, strict, adopt_fixes)
    except CaptureError as error:
        if not _calls.has_unknown_result(model, error):
            raise
        return _called(model, name, Call(model, args, kwargs, wanted), wanted, strict, adopt_fixes)
    if not _calls.is_auto(wanted):
        return Captured(name, exported, _shapes.names(exported, dynamic_shapes), notes)
    inputs = _inputs(exported)
    return Captured(name, exported, _dimensions.symbols(exported, inputs), notes + _dimensions.constants(exported, inputs))


def _call_of(
    model: Any, args: Any, kwargs: Any, dynamic_shapes: Any, dynamic_axes: Any, input_names: Any, output_names: Any
) -> tuple[Any, tuple[Any, ...], dict[str, Any], Any, str]:
    """The module and the arguments of a call in one form, with the name of the parameter that gives the dynamic dimensions."""
    import torch

    model = getattr(model, "_orig_mod", model)  # the module inside torch.compile
    if isinstance(model, torch.nn.DataParallel):
        model = model.module
    args = (args,) if isinstance(args, torch.Tensor) else tuple(args)
    if not kwargs and args and _shapes.are_keywords(model, args[:-1], args[-1]):
        args, kwargs = args[:-1], args[-1]
    kwargs = dict(kwargs or {})
    what = "dynamic_shapes"
    if dynamic_shapes is None and dynamic_axes:
        what = "dynamic_axes"
        arguments = _shapes.named_arguments(model, args, kwargs)
        dynamic_shapes = _shapes.from_dynamic_axes(arguments, dynamic_axes, list(input_names or ()), list(output_names or ()))
    if model.training:
        warnings.warn("the module is exported in training mode: call `model.eval()` first to export it for inference", stacklevel=7)
    return model, args, kwargs, dynamic_shapes, what


def prepare_call(
    model: Any, args: Any, kwargs: Any, dynamic_shapes: Any, dynamic_axes: Any, input_names: Any, output_names: Any
) -> tuple[Any, Call | None, tuple[Any, ...], dict[str, Any], Any] | None:
    """The module, how its arguments are taken apart, and the arguments of a call for the recorder; None if it does not take them."""
    import torch

    if not isinstance(model, torch.nn.Module) or isinstance(model, (torch.jit.ScriptModule, torch.export.ExportedProgram)):
        return None
    model, args, kwargs, dynamic_shapes, what = _call_of(model, args, kwargs, dynamic_shapes, dynamic_axes, input_names, output_names)
    is_auto = _calls.is_auto(dynamic_shapes)
    if not _calls.is_needed(model, args, kwargs):
        named = _shapes.named_arguments(model, args, kwargs)
        return model, None, args, kwargs, _calls.automatic(named) if is_auto else _axes.checked(named, dynamic_shapes, what)
    call = Call(model, args, kwargs, dynamic_shapes)
    if not is_auto:
        _axes.checked(call.kwargs, call.dynamic_shapes)
    return model, call, (), call.kwargs, call.dynamic_shapes


def _called(model: Any, name: str, call: Call, wanted: Any, strict: bool | None, adopt_fixes: bool) -> Captured:
    """Captures a model whose call torch.export sees as named tensors."""
    if not _calls.is_auto(wanted):
        _axes.checked(call.kwargs, call.dynamic_shapes)
    with call.traced():
        # The strict mode would trace how objects are put together, too.
        exported, notes = _ones.capture(model, (), call.kwargs, call.dynamic_shapes, bool(strict), adopt_fixes)
    if not _calls.is_auto(wanted):
        return Captured(name, exported, _shapes.names(exported, call.dynamic_shapes), notes, call)
    # Who chooses dimensions to keep compares other sizes, too.
    frozen = _dimensions.constants(exported, call.input_names) if wanted == "auto" else []
    return Captured(name, exported, _dimensions.symbols(exported, call.input_names), notes + frozen, call)


def _warn_of_conditions(program: ONNXProgram) -> None:
    """Warns if the model is right for some sizes only."""
    conditions = program.report.conditions
    if conditions:
        shown = "; ".join(f"`{condition}`" for condition in conditions[:_LISTED])
        more = f"; {len(conditions) - _LISTED} more are in the report" if len(conditions) > _LISTED else ""
        warnings.warn(
            f"the model is right only where {shown}{more}: it was captured with decisions that depend on its sizes; "
            "the file states this, and `strict_shapes=True` refuses such models",
            stacklevel=4,
        )


def _inputs(exported: Any) -> list[str]:
    specs = [spec for spec in exported.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
    return [getattr(spec.arg, "name", "") for spec in specs]


def _from_file(path: Any, rules: Rules, options: dict[str, Any], report: Report, shown: _progress.Progress) -> ONNXProgram:
    shown.step("reading")
    with report.timed("read"):
        program = _read(path, rules, options.get("source", {}))
    report.torch_version = program.torch_version
    report._page = lambda extras: program.page(rules, json.dumps(options), extras)
    shown.step("translating")
    with report.timed("translate"):
        model = program.export(rules, json.dumps(options))
    report.of_model(model)
    return ONNXProgram(model, report)


def _read(model: Any, rules: Rules, source: dict[str, Any]) -> Program:
    """Reads a file, or a TorchScript module that is saved to memory."""
    if _script.is_script(model):
        return Program.read_bytes(name_of_model(model), _script.saved(model), rules, json.dumps(source))
    return Program.read(os.fspath(model), rules, json.dumps(source))


def _from_torch(
    model: Any, request: _ways.Request, rules: Rules, options: dict[str, Any], report: Report, shown: _progress.Progress, outside: OutsideWeights | None = None
) -> ONNXProgram:
    report.torch_version = require("torch", "exporting a model that is not a `.pt2` file").__version__
    opset = options["output"]["opset"]
    found = _ways.capture(model, request, rules, opset, report, shown, outside)
    report.notes += found.notes
    options["dims"] += [f"{symbol}={dim}" for symbol, dim in found.dims.items()]
    if found.call is not None:
        options["input_names"] = options["input_names"] or found.call.input_names
        options["output_names"] = options["output_names"] or found.call.output_names
    if not found.live.is_recorded:
        shown.step("decomposing")
        with report.timed("decompose"):
            _ways.decompose(found, name_of_model(model), lambda native: native.blockers(rules, opset))
    report.decomposed, live = found.decomposed, found.live
    report._page = lambda extras: live.native.page(rules, json.dumps(options), extras)
    shown.step("translating")
    with report.timed("translate"):
        try:
            native = live.native.export(rules, json.dumps(options))
        except Error as error:
            if live.is_recorded:
                raise
            explained = _explained(error, live, rules, opset)
            raise explained from None
    report.of_model(native)
    return ONNXProgram(native, report, live, found.call)


def _explained(error: Error, live: LiveProgram, rules: Rules, opset: int) -> Error:
    """Adds all unsupported operators to an error, or returns PyTorch's error if it cannot run the model either."""
    blockers = live.native.blockers(rules, opset)
    if blockers:
        error.operators = blockers  # type: ignore[attr-defined]
        if error.needs_opset is None:
            error.help = in_python(_for_custom(blockers))
        return error
    refused = _refused_by_torch(live.exported)
    return error if refused is None else refused


def _for_custom(blockers: list[dict[str, Any]]) -> str:
    names = ", ".join(f"`{blocker['operator']}`" for blocker in blockers if blocker["needs_opset"] is None)
    return f"PyTorch cannot decompose {names}: write rules in a mapping file and pass it as `mappings=` (see docs/custom-operators.md)"


def _refused_by_torch(exported: Any) -> CaptureError | None:
    """Returns PyTorch's error if it cannot run the program. torch.export accepts some invalid programs, such as a Linear whose
    dtype differs from that of its input, and PyTorch's error is the most helpful one."""
    from ._verify import expected_outputs

    if exported.example_inputs is None:
        return None
    from ._runtime import user_inputs

    try:
        expected_outputs(exported, user_inputs(exported, *exported.example_inputs))
    except Exception as error:
        failure = _capture.failure(error)
        failure.message = f"PyTorch cannot run this model on these inputs: {str(error).splitlines()[0]}"
        failure.source_line = getattr(error, "source_line", None)
        failure.place = [failure.source_line] if failure.source_line else []
        failure.cause = error
        return failure
    return None


def name_of_model(model: Any) -> str:
    """Returns the name of the model in messages and reports."""
    if isinstance(model, (str, os.PathLike)):
        return Path(model).stem
    model = getattr(model, "model", model) if type(model).__name__ == "Around" else model
    return type(model).__name__


def _report_path(report: Any, f: Any, folder: Any, model: str) -> Path:
    if not isinstance(report, bool):
        return Path(report)
    if isinstance(f, (str, os.PathLike)):
        return Path(os.fspath(f) + ".report.md")
    return Path(folder) / f"{model}.report.md"
