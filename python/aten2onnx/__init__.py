"""Exports PyTorch models to ONNX at the opset that your runtime supports.

    import aten2onnx

    program = aten2onnx.export(model, (x,), "model.onnx", opset_version=13, dynamic_shapes={"x": {0: "batch"}})

`export` takes the arguments of `torch.onnx.export`. Files written by `torch.export.save` do not need PyTorch:
`aten2onnx.export("model.pt2", f="model.onnx")`.
"""

from ._calibrate import calibrate
from ._convert import convert
from ._diff import ComparedValue, Difference, diff
from ._errors import (
    ArgumentError,
    CaptureError,
    Error,
    FileError,
    InputError,
    InternalError,
    MissingPackageError,
    UnsupportedError,
    VerificationError,
)
from ._export import export
from ._inspect import Inspection, inspect
from ._many import export_many
from ._native import DEFAULT_OPSET, MAX_OPSET, MIN_OPSET, __version__
from ._parts import edit, extract, join, split
from ._pipeline import Pipeline
from ._program import ONNXProgram
from ._report import Report
from ._support import Support, supported

__all__ = [
    "DEFAULT_OPSET",
    "MAX_OPSET",
    "MIN_OPSET",
    "ArgumentError",
    "CaptureError",
    "ComparedValue",
    "Difference",
    "Error",
    "FileError",
    "InputError",
    "Inspection",
    "InternalError",
    "MissingPackageError",
    "ONNXProgram",
    "Pipeline",
    "Report",
    "Support",
    "UnsupportedError",
    "VerificationError",
    "__version__",
    "calibrate",
    "convert",
    "diff",
    "edit",
    "export",
    "export_many",
    "extract",
    "inspect",
    "join",
    "split",
    "supported",
]
