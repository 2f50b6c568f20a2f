"""The types of the arguments of public functions.

At run time those of PyTorch are `object`: PyTorch may not be installed, and the functions tell themselves what they were given.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypedDict, runtime_checkable

if TYPE_CHECKING:
    import numpy
    import onnx
    import torch

    from ._calls import Auto

    #: What `export` and `inspect` take.
    Model: TypeAlias = (
        "torch.nn.Module | torch.export.ExportedProgram | torch.jit.ScriptFunction[Any, Any] | str | os.PathLike[str]"
    )
    #: What `convert` takes.
    OnnxModel: TypeAlias = "onnx.ModelProto | str | os.PathLike[str] | bytes | bytearray | memoryview"
    #: The arguments of a call, or the only one.
    Args: TypeAlias = "torch.Tensor | Sequence[object] | None"
    DType: TypeAlias = "torch.dtype | str"
    Tensor: TypeAlias = "torch.Tensor"
    #: The sizes of a tensor: names, dimensions of torch.export or None, by axis or in order; nested as the arguments are.
    DynamicShapes: TypeAlias = "Mapping[str, object] | Sequence[object] | torch.export.ShapesCollection | Auto | Literal['auto']"
    #: What a model in ONNX Runtime gives: arrays for a model of a file, else tensors.
    Results: TypeAlias = "list[torch.Tensor] | list[numpy.ndarray]"
    Exported: TypeAlias = "torch.export.ExportedProgram | None"
    Proto: TypeAlias = "onnx.ModelProto"
    Converted: TypeAlias = "onnx.ModelProto | bytes | None"
    Operator: TypeAlias = "str | torch._ops.OpOverload[..., Any] | torch._ops.OpOverloadPacket[..., Any]"
else:
    Model = OnnxModel = Args = DType = Tensor = DynamicShapes = Results = Exported = Proto = Converted = Operator = object

#: One path or several.
Path: TypeAlias = str | os.PathLike[str]
Paths: TypeAlias = Path | Sequence[Path]
#: A safetensors file, the index of its shards, a folder, tensors by their names in the state dict, or several of these.
Weights: TypeAlias = Path | Mapping[str, Tensor] | Sequence[Path | Mapping[str, Tensor]]
DynamicAxes: TypeAlias = Mapping[str, Mapping[int, str] | Sequence[int]]
ExternalData: TypeAlias = bool | Literal["auto", "always", "never", "link"]
Provenance: TypeAlias = Literal["none", "compact", "full"]
Precision: TypeAlias = Literal["float16", "bfloat16", "mixed"]
QuantizeWeights: TypeAlias = Literal["int8", "uint8", "int4", "uint4", "fp8"]
Scales: TypeAlias = Literal["nearest", "mse", "hqq"]
Quantize: TypeAlias = Literal["dynamic", "static"]
CalibrationMethod: TypeAlias = Literal["minmax", "percentile", "entropy"]
#: Inputs of runs, or files with them.
Calibration: TypeAlias = Path | Mapping[str, object] | Iterable[Path | Mapping[str, object] | Sequence[object]]
Functions: TypeAlias = Literal["none", "modules", "repeated"]
Capture: TypeAlias = Literal["auto", "record", "fake", "export", "strict", "script", "trace"]
Branches: TypeAlias = Literal["refuse", "example", "both"]


class Ranges(TypedDict):
    """The ranges of a model's values.

    Attributes:
        method: How they were measured.
        runs: How often the model ran.
        values: The least and the largest number by the name of the value; infinities and NaN are text.
    """

    method: str
    runs: int
    values: dict[str, list[float | str]]


@runtime_checkable
class Writable(Protocol):
    """An open binary file, or another object with `write`."""

    def write(self, data: bytes, /) -> object: ...
