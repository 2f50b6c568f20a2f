"""`aten2onnx.export`: from a module, a program or a file to a model."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import _capture, _others, _progress, _shapes
from ._decompose import decomposed
from ._errors import CaptureError, Error, InputError, UnsupportedError, in_python, require
from ._live import LiveProgram
from ._native import Program, Rules, chosen_opset
from ._program import ONNXProgram, external_data_choice
from ._report import Report
from ._support import Paths
from ._support import rules as own_rules


def export(
    model: Any,
    args: Any = (),
    f: Any = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    opset_version: int | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    dynamic_shapes: Any = None,
    dynamic_axes: Mapping[str, Any] | None = None,
    external_data: bool | str = "auto",
    provenance: str = "compact",
    target: str | None = None,
    mappings: Paths = (),
    fallback: str | bool | None = None,
    keep_mutations: bool = False,
    keep_assertions: bool = False,
    optimize: bool = True,
    verify: bool = False,
    report: bool | str | os.PathLike[str] | None = None,
    ir_version: int | str = "lowest",
    strict: bool | None = None,
    progress: bool | None = None,
    dump_exported_program: bool = False,
    artifacts_dir: str | os.PathLike[str] = ".",
    **others: Any,
) -> ONNXProgram:
    """Exports a PyTorch model to ONNX. The arguments are those of `torch.onnx.export`, and mean the same.

    Args:
        model: a module, an ExportedProgram of torch.export, or the path of a `.pt2` file, which needs no PyTorch.
        args: example inputs of the module.
        f: where the model goes, a path or something with `write`; without it, `save` the result.
        kwargs: example inputs by name.
        opset_version: the opset of the model, 9 to 28; 18 by itself. What is asked for is what comes out.
        input_names: names for the inputs, in order.
        output_names: names for the outputs, in order.
        dynamic_shapes: which dimensions of the inputs are dynamic, as for torch.export.export; a string makes one dynamic and names it.
        dynamic_axes: the same as the older exporter takes it: `{"x": {0: "batch"}}` or `{"x": [0]}`, by the names of inputs.
        external_data: where the weights go: "auto" (into the model as long as protobuf's limit of 2 GiB allows), "always" or True (beside
            it, in `f` + ".data"), "never" or False, or, for a `.pt2` file, "link": nowhere, the model points into that file.
        provenance: how much nodes tell of their origin: "none", "compact" (module and operator, in their names) or "full" (also rule, PyTorch
            node and source line).
        target: the runtime that the model is for, such as "tensorrt-8.6": it chooses the opset, and what the runtime does not take is
            refused. `aten2onnx targets` lists them.
        mappings: mapping files, or folders of them, with rules for custom operators; they may also take the place of built-in rules.
        fallback: "aten" keeps operators that have neither a rule nor a decomposition as nodes of the domain `org.pytorch.aten`, for those who
            have kernels for them; by itself they are an error.
        keep_mutations: buffers that the model writes to become inputs, and their new values and those of inputs that it writes to become
            outputs; by itself what is written is dropped, with a note.
        keep_assertions: tell in the report's notes which assertions of the model are left out.
        optimize: False leaves the graph as the rules write it.
        verify: compare the result with PyTorch's in ONNX Runtime.
        report: where a report goes: a path (JSON if it ends in `.json`, else Markdown), or True for `f` + ".report.md".
        ir_version: the IR version: "lowest" that holds the model, that of the opset's "release" of ONNX, or a number.
        strict: the mode of torch.export; by itself the non-strict one first.
        progress: show what is going on; by itself in a terminal and in a notebook, when it takes long.
        dump_exported_program: also save the program that was translated, in `artifacts_dir`.
        artifacts_dir: where a report and a program go if there is no `f`.
        others: further arguments of torch.onnx.export, which have no meaning here: a warning tells why.

    Returns:
        The model: `.save()` writes it, calling it runs it, `.model_proto` and `.model_bytes` are it, `.report` tells what was done.

    Raises:
        CaptureError: torch.export cannot make a graph of the model.
        UnsupportedError: the model needs what the opset, or this exporter, does not have; all of it at once.
        VerificationError: with `verify`, the results differ from PyTorch's.
        Error: the base of these and all others.
    """
    _others.check(others)
    choices = {
        "opset": chosen_opset(target, _opset(opset_version)),
        "ir": str(ir_version),
        "external_data": external_data_choice(external_data),
        "provenance": provenance,
        "dims": [],
        "input_names": list(input_names or ()),
        "output_names": list(output_names or ()),
        "optimize": optimize,
        "target": target,
        "keep_mutations": keep_mutations,
        "keep_assertions": keep_assertions,
        "fallback": _others.fallback(fallback),
    }
    made = Report(_name(model))
    rules = own_rules(mappings)
    try:
        with _progress.shown(progress) as shown:
            if isinstance(model, (str, os.PathLike)):
                program = _from_file(model, rules, choices, made, shown)
            else:
                arguments = (args, kwargs, dynamic_shapes, dynamic_axes, input_names, output_names, strict)
                program = _from_torch(model, arguments, rules, choices, made, shown)
        program._progress = progress
        if dump_exported_program and program.exported_program is not None:
            import torch

            torch.export.save(program.exported_program, Path(artifacts_dir) / f"{made.model}.pt2")
        if verify:
            with made.timed("verify"):
                program.verify()
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


def exported_program(
    model: Any,
    args: Any = (),
    kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    dynamic_axes: Mapping[str, Any] | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    strict: bool | None = None,
) -> tuple[str, Any, dict[str, str]]:
    """The name, the program and the names of its symbols, of a module or a program."""
    import torch

    name = _name(model)
    if isinstance(model, torch.export.ExportedProgram):
        return name, model, _shapes.names(model, dynamic_shapes)
    if isinstance(model, (torch.jit.ScriptModule, torch.jit.ScriptFunction)):
        raise UnsupportedError("TorchScript modules are not read", help="give the nn.Module that it was made from")
    if not isinstance(model, torch.nn.Module):
        raise InputError(f"cannot export a {type(model).__name__}", help="give a torch.nn.Module, an ExportedProgram or the path of a `.pt2` file")
    model = getattr(model, "_orig_mod", model)  # what torch.compile wraps
    if isinstance(model, torch.nn.DataParallel):
        model = model.module
    args = (args,) if isinstance(args, torch.Tensor) else tuple(args)
    if not kwargs and args and _shapes.are_keywords(model, args[:-1], args[-1]):
        args, kwargs = args[:-1], args[-1]
    kwargs = dict(kwargs or {})
    if dynamic_shapes is None and dynamic_axes:
        arguments = _shapes.named_arguments(model, args, kwargs)
        dynamic_shapes = _shapes.from_dynamic_axes(arguments, dynamic_axes, list(input_names or ()), list(output_names or ()))
    if model.training:
        warnings.warn("the module is in training mode, and is exported so: `model.eval()` before is what inference wants", stacklevel=4)
    exported = _capture.capture(model, args, kwargs, dynamic_shapes, strict)
    return name, exported, _shapes.names(exported, dynamic_shapes)


def _from_file(path: Any, rules: Rules, choices: dict[str, Any], report: Report, shown: _progress.Progress) -> ONNXProgram:
    shown.step("reading")
    with report.timed("read"):
        program = Program.read(os.fspath(path))
    report.torch_version = program.torch_version
    shown.step("translating")
    with report.timed("translate"):
        model = program.export(rules, choices)
    report.of_model(model)
    return ONNXProgram(model, report)


def _from_torch(model: Any, arguments: tuple[Any, ...], rules: Rules, choices: dict[str, Any], report: Report, shown: _progress.Progress) -> ONNXProgram:
    report.torch_version = require("torch", "exporting what is not a `.pt2` file").__version__
    args, kwargs, dynamic_shapes, dynamic_axes, input_names, output_names, strict = arguments
    shown.step("torch.export")
    with report.timed("torch.export"):
        name, exported, dims = exported_program(model, args, kwargs, dynamic_shapes, dynamic_axes, input_names, output_names, strict)
    choices["dims"] = [f"{symbol}={dim}" for symbol, dim in dims.items()]
    shown.step("decomposing")
    with report.timed("decompose"):
        live = LiveProgram(exported, name)
        live, report.decomposed = decomposed(live, name, lambda native: native.blockers(rules, choices["opset"]))
    shown.step("translating")
    with report.timed("translate"):
        try:
            native = live.native.export(rules, choices)
        except Error as error:
            explained = _explained(error, live, rules, choices["opset"])
            raise explained from explained.__cause__
    report.of_model(native)
    return ONNXProgram(native, report, live)


def _explained(error: Error, live: LiveProgram, rules: Rules, opset: int) -> Error:
    """The error with what only Python can tell: all operators that are missing, or PyTorch's own refusal of the inputs."""
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
    return f"PyTorch cannot decompose {names}: write a rule for each in a mapping file and give `mappings=`, as docs/custom-operators.md shows"


def _refused_by_torch(exported: Any) -> CaptureError | None:
    """torch.export lets pass what PyTorch does not run, such as a Linear of another dtype than its input: its error says most."""
    from ._verify import expected_outputs

    if exported.example_inputs is None:
        return None
    from ._runtime import user_inputs

    try:
        expected_outputs(exported, user_inputs(exported, *exported.example_inputs))
    except Exception as error:
        failure = _capture.failure(error)
        failure.message = f"PyTorch itself cannot run this model on these inputs: {str(error).splitlines()[0]}"
        failure.source_line = getattr(error, "source_line", None)
        failure.place = [failure.source_line] if failure.source_line else []
        failure.__cause__ = error
        return failure
    return None


def _opset(version: Any) -> int | None:
    if version is None:
        return None
    if isinstance(version, bool) or not isinstance(version, int) or not 0 <= version < 2**32:
        raise TypeError(f"opset_version: an int, not {version!r}")
    return version


def _name(model: Any) -> str:
    """What the model is called in messages and reports."""
    if isinstance(model, (str, os.PathLike)):
        return Path(model).stem
    return type(model).__name__


def _report_path(report: Any, f: Any, folder: Any, model: str) -> Path:
    if not isinstance(report, bool):
        return Path(report)
    if isinstance(f, (str, os.PathLike)):
        return Path(os.fspath(f) + ".report.md")
    return Path(folder) / f"{model}.report.md"
