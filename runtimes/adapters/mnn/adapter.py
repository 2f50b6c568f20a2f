"""MNN on the CPU: the model is converted, then run as a module.

`MNN.tools` is not imported: it installs a package and reports what it converts. The converter itself is the extension module
`_tools`. Convolutions are computed as precisely as MNN can: WINOGRAD_MEMORY_LEVEL is 0.
"""
import contextlib
from pathlib import Path

import _tools
import MNN
import numpy as np
import onnx
import printed

# What MNN computes with in place of a dtype.
NARROWED = {"int64": "int32", "float64": "float32", "uint64": "int32", "uint32": "int32", "bool": "int32", "float16": "float32"}


# The number of the hint WINOGRAD_MEMORY_LEVEL. Without it MNN chooses large tiles, which leave three to four digits.
WINOGRAD_MEMORY_LEVEL = 3

# The bytes from which a model has its weights in a file of their own: a file of MNN holds less than 2 GB.
LARGE = 2**30


def version():
    return MNN.version()


def load(path):
    graph = onnx.load(path, load_external_data=False).graph
    given = {tensor.name for tensor in graph.initializer}
    inputs = [value.name for value in graph.input if value.name not in given]
    outputs = [value.name for value in graph.output]
    types = [onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type) for value in graph.output]
    converted = convert(path)
    manager = MNN.nn.create_runtime_manager(({"backend": "CPU", "precision": "high", "numThread": 1},))
    manager.set_hint(WINOGRAD_MEMORY_LEVEL, 0)
    return inputs, types, MNN.nn.load_module_from_file(str(converted), inputs, outputs, runtime_manager=manager)


def convert(path):
    """Converts a model. The reason of a refusal is what the converter prints."""
    target, log = Path("model.mnn"), Path("converter.txt")
    large = ["--saveExternalData"] if Path(path).stat().st_size > LARGE else []
    target.unlink(missing_ok=True)
    with printed.output_in(log), contextlib.suppress(SystemExit):
        _tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", path, "--MNNModel", str(target), "--keepInputFormat=1", *large])
    if not target.exists():
        lines = printed.lines(log)
        told = [line for line in lines if any(word in line.lower() for word in ("error", "support", "can't", "failed", "unknown"))]
        raise ValueError("the converter wrote no model: " + " | ".join(told[:3] or lines[-2:]))
    return target


def run(model, inputs):
    names, types, module = model
    found = module.onForward([variable(inputs[name]) for name in names])
    if len(found) != len(types):
        raise ValueError(f"it gave {len(found)} outputs of {len(types)}")
    outputs = [MNN.expr.convert(output, MNN.expr.NCHW) if output.data_format == MNN.expr.NC4HW4 else output for output in found]
    return [widen(np.array(output.read(), copy=True), dtype) for output, dtype in zip(outputs, types)]


def variable(array):
    """A variable of MNN, in the dtype with which it computes."""
    array = np.ascontiguousarray(array)
    wide = array.astype(NARROWED.get(array.dtype.name, array.dtype.name))
    types = {"float32": MNN.expr.float, "int32": MNN.expr.int, "int8": MNN.expr.int8, "uint8": MNN.expr.uint8}
    if wide.dtype.name not in types:
        raise TypeError(f"no input of {array.dtype.name}")
    return MNN.expr.const(wide, list(wide.shape), MNN.expr.NCHW, types[wide.dtype.name])


def widen(array, dtype):
    """The dtype of the model, if MNN computed in the one that it has instead."""
    return array.astype(dtype) if NARROWED.get(dtype.name) == array.dtype.name else array
