"""The backend of `transformers.exporters`: a configuration and an exporter under the format "aten2onnx"."""

from __future__ import annotations

import shutil
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from transformers.exporters.configs import DynamoConfig
from transformers.exporters.exporter_dynamo import DynamoExporter
from transformers.exporters.metadata import ExportMetadata, record_output_structure
from transformers.exporters.utils import disambiguate_io_names, patch_model_outputs

from .. import _arguments
from .._errors import ArgumentError, InputError
from .._export import export
from .._program import ONNXProgram
from .._types import Paths

FORMAT = "aten2onnx"

#: The types of the options that are those of `aten2onnx.export`.
_KINDS: dict[str, Any] = {"opset_version": int | None, "target": str | None, "mappings": Paths, "optimize": bool, "verify": bool}


@dataclass
class Aten2OnnxConfig(DynamoConfig):
    """How a model is exported: the options of transformers' capture, and some of `aten2onnx.export`.

    Attributes:
        opset_version: The opset, 9 to 28 (default: 18, or the nearest that the target supports).
        target: The runtime, such as "tensorrt-8.6".
        mappings: Mapping files or folders with rules for custom operators.
        optimize: Whether to run the optimization passes.
        verify: Whether to compare the results with PyTorch's in ONNX Runtime.
    """

    export_format: str = FORMAT  # type: ignore[assignment]  # an enum of the formats that transformers brings

    opset_version: int | None = None
    target: str | None = None
    mappings: list[str] = field(default_factory=list)
    optimize: bool = True
    verify: bool = False

    def __post_init__(self) -> None:
        for name in ("opset_version", "target", "mappings", "optimize", "verify"):
            _arguments.check_value(name, getattr(self, name), _KINDS[name])
        if self.quantizer is not None and not hasattr(self.quantizer, "quantizes_fx_graph"):
            raise ArgumentError(f"quantizer: expected a quantizer of transformers, found an object of the class `{type(self.quantizer).__name__}`")
        if self.quantizer is not None and not self.quantizer.quantizes_fx_graph:
            raise InputError(
                f"{type(self.quantizer).__name__} quantizes a model of onnx_ir, which this backend does not make",
                help="use a quantizer of the FX graph, such as PT2EQuantizer, or quantize the saved file",
            )


class Aten2OnnxExporter(DynamoExporter):
    """Exports models of transformers to ONNX with aten2onnx.

    The model is captured as transformers captures it. None of the patches, graph fixes and translations of its own ONNX exporter are used.
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
        with patch_model_outputs(model) as (inputs, outputs, results):
            exported, metadata = super().export_program(model, sample_inputs, config)
        inputs, outputs = disambiguate_io_names(list(inputs), list(outputs))
        program = export(
            exported,
            dynamic_shapes="auto",
            input_names=inputs,
            output_names=outputs,
            opset_version=config.opset_version,
            target=config.target,
            mappings=config.mappings,
            optimize=config.optimize,
            verify=config.verify,
        )
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
