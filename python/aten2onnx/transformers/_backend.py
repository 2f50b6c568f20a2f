"""The backend of `transformers.exporters`: a configuration and an exporter under the format "aten2onnx"."""

from __future__ import annotations

import copy
import shutil
from collections.abc import MutableMapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch.utils import _pytree as pytree
from transformers.exporters.configs import DynamoConfig
from transformers.exporters.exporter_dynamo import DynamoExporter, patch_forward_signature, patch_model_config, register_cache_pytrees_for_model, reset_model_state
from transformers.exporters.metadata import ExportMetadata, build_export_metadata, record_output_structure
from transformers.exporters.utils import disambiguate_io_names, patch_model_outputs, prepare_for_export

from .. import _arguments
from .._errors import ArgumentError, CaptureError, InputError
from .._export import export
from .._program import ONNXProgram
from .._types import Capture, Paths

FORMAT = "aten2onnx"

#: The types of the options that are those of `aten2onnx.export`.
_KINDS: dict[str, Any] = {"opset_version": int | None, "target": str | None, "mappings": Paths, "optimize": bool, "verify": bool, "capture": Capture}


@dataclass
class Aten2OnnxConfig(DynamoConfig):
    """How a model is exported: the options of transformers' capture, and some of `aten2onnx.export`.

    Attributes:
        opset_version: The opset, 9 to 28 (default: 18; for a target its fastest, if that was measured, or the nearest that it supports).
        target: The runtime, such as "tensorrt-8.6".
        mappings: Mapping files or folders with rules for custom operators.
        optimize: Whether to run the optimization passes.
        verify: Whether to compare the results with PyTorch's in ONNX Runtime.
        capture: How the model is captured, as in `aten2onnx.export`: "record" runs it and records its calls, "export" asks transformers, which
            asks torch.export, and "auto" records, and asks transformers if that is impossible. `strict=True` and a quantizer of the FX graph
            take "export".
    """

    export_format: str = FORMAT  # type: ignore[assignment]  # an enum of the formats that transformers brings

    opset_version: int | None = None
    target: str | None = None
    mappings: list[str] = field(default_factory=list)
    optimize: bool = True
    verify: bool = False
    capture: str = "auto"

    def __post_init__(self) -> None:
        for name, kind in _KINDS.items():
            _arguments.check_value(name, getattr(self, name), kind)
        if self.quantizer is not None and not hasattr(self.quantizer, "quantizes_fx_graph"):
            raise ArgumentError(f"quantizer: expected a quantizer of transformers, found an object of the class `{type(self.quantizer).__name__}`")
        if self.quantizer is not None and not self.quantizer.quantizes_fx_graph:
            raise InputError(
                f"{type(self.quantizer).__name__} quantizes a model of onnx_ir, which this backend does not make",
                help="use a quantizer of the FX graph, such as PT2EQuantizer, or quantize the saved file",
            )


class Aten2OnnxExporter(DynamoExporter):
    """Exports models of transformers to ONNX with aten2onnx.

    The model is captured as [`Aten2OnnxConfig`] says. None of the patches, graph fixes and translations of transformers' own ONNX exporter are used.
    """

    export_format = FORMAT  # type: ignore[assignment]
    config_class = Aten2OnnxConfig
    program_suffix = ".onnx"

    required_packages = ["torch", "onnxruntime"]
    tested_versions: dict[str, str] = {}

    def export_program(  # type: ignore[override]  # the program is not the ExportedProgram
        self, model: Any, sample_inputs: MutableMapping[str, Any], config: Aten2OnnxConfig
    ) -> tuple[ONNXProgram, ExportMetadata]:
        """Exports one graph; see `HfExporter.export_program`."""
        is_asked = config.strict or config.quantizer is not None
        if is_asked and config.capture not in ("auto", "export"):
            raise InputError(
                f"capture={config.capture!r} cannot be used with {'strict=True' if config.strict else 'a quantizer of the FX graph'}, which takes a program of torch.export",
                help='leave capture out, or set it to "export"',
            )
        if is_asked or config.capture == "export":
            return self._exported(model, sample_inputs, config)
        try:
            return self._recorded(model, dict(sample_inputs), config)
        except CaptureError as refused:
            if config.capture != "auto":
                raise
            try:
                return self._exported(model, sample_inputs, config)
            except Exception as error:  # whatever torch.export raises: the reason of the recorder has the line of the model
                raise refused from error

    def _recorded(self, model: Any, sample_inputs: MutableMapping[str, Any], config: Aten2OnnxConfig) -> tuple[ONNXProgram, ExportMetadata]:
        """Captures a model as `aten2onnx.export` does."""
        model, inputs, flags = prepare_for_export(model, sample_inputs)
        register_cache_pytrees_for_model(model)
        with ExitStack() as stack:
            stack.enter_context(reset_model_state(model))
            stack.enter_context(patch_model_config(model, flags))
            names, outputs, results = stack.enter_context(patch_model_outputs(model))
            with torch.no_grad():
                model(**copy.deepcopy(dict(inputs)))
            names, outputs = disambiguate_io_names(list(names), list(outputs))
            stack.enter_context(patch_forward_signature(model, dict(inputs)))
            shapes = config.dynamic_shapes if config.dynamic_shapes is not None else "auto" if config.dynamic else None
            capture = "record" if config.capture == "auto" else config.capture
            program = _program(model, config, names, outputs, kwargs=copy.deepcopy(dict(inputs)), dynamic_shapes=shapes, capture=capture)
        spec = pytree.tree_structure(((), dict(inputs)))
        described = SimpleNamespace(call_spec=SimpleNamespace(in_spec=spec, out_spec=spec))  # those of the outputs follow
        metadata = build_export_metadata(model, inputs, described, self.required_packages)
        record_output_structure(metadata, results[0])  # those of the runs that were recorded follow
        return program, metadata

    def _exported(self, model: Any, sample_inputs: MutableMapping[str, Any], config: Aten2OnnxConfig) -> tuple[ONNXProgram, ExportMetadata]:
        """Captures a model as transformers does."""
        with patch_model_outputs(model) as (inputs, outputs, results):
            exported, metadata = super().export_program(model, sample_inputs, config)
        program = _program(exported, config, *disambiguate_io_names(list(inputs), list(outputs)), dynamic_shapes="auto")
        record_output_structure(metadata, results[-1])
        return program, metadata

    @classmethod
    def save_program(cls, program: ONNXProgram | SavedProgram, path: str | Path) -> None:  # type: ignore[override]
        """Writes a program, with its weights beside it in `<name>.data`."""
        if isinstance(program, SavedProgram):
            program.copy(Path(path))
            return
        program.save(path, external_data="always")
        data(path).touch()  # a model without large weights has none

    @classmethod
    def program_files(cls, filename: str) -> list[str]:
        """The files of a program."""
        return [filename, f"{filename}.data"]

    @classmethod
    def load_program(cls, path: str | Path) -> SavedProgram:  # type: ignore[override]
        """The program in a file."""
        return SavedProgram(Path(path))


def _program(model: Any, config: Aten2OnnxConfig, inputs: list[str], outputs: list[str], **capture: Any) -> ONNXProgram:
    return export(
        model,
        input_names=inputs,
        output_names=outputs,
        opset_version=config.opset_version,
        target=config.target,
        mappings=config.mappings,
        optimize=config.optimize,
        verify=config.verify,
        **capture,
    )


@dataclass(frozen=True)
class SavedProgram:
    """A program that was saved."""

    path: Path

    def copy(self, path: Path) -> None:
        """Writes the program to another folder, under the same name because the model refers to its weights by name."""
        if path.name != self.path.name:
            raise InputError(f"{self.path} cannot be saved as {path.name}: it refers to its weights by name", help=f"save it as {self.path.name}")
        for source, target in ((self.path, path), (data(self.path), data(path))):
            shutil.copyfile(source, target)


def data(path: str | Path) -> Path:
    """The file of the weights of a model."""
    return Path(f"{path}.data")
