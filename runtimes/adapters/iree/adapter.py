"""IREE: the ONNX model is imported as MLIR, and compiled for the CPU."""
import os
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

import iree.runtime
import numpy as np
import onnx

BIN = Path(sys.executable).parent
OPTIONS = ["--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=host"]


def version():
    return metadata.version("iree-base-compiler")


def load(path):
    folder = Path(tempfile.mkdtemp(prefix="iree-", dir=os.getcwd()))
    imported, compiled = folder / "model.mlir", folder / "model.vmfb"
    tool([BIN / "iree-import-onnx", path, "-o", imported])
    tool([BIN / "iree-compile", "--iree-input-type=onnx", *OPTIONS, imported, "-o", compiled])
    graph = onnx.load(path, load_external_data=False).graph
    given = {tensor.name for tensor in graph.initializer}
    names = [value.name for value in graph.input if value.name not in given]
    module = iree.runtime.load_vm_flatbuffer_file(str(compiled), driver="local-sync")
    dtypes = [onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type) for value in graph.output]
    return names, dtypes, module[graph.name if graph.name in module.vm_module.function_names else "main_graph"]


def tool(command):
    """Runs a tool. The reason of a failure is its first error."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        lines = done.stderr.splitlines()
        errors = [line for line in lines if "error:" in line] or lines[-1:]
        raise ValueError(" | ".join(errors[:2]) or f"{command[0].name} ended with {done.returncode}")


def run(model, inputs):
    names, dtypes, function = model
    found = function(*[np.asarray(inputs[name], order="C") for name in names])
    found = found if isinstance(found, (list, tuple)) else [found]
    return [as_unsigned(array.to_host(), dtype) for array, dtype in zip(found, dtypes, strict=True)]


def as_unsigned(array, dtype):
    """IREE's integers have no sign: the bytes of an unsigned output are given as a signed one."""
    return array.view(dtype) if dtype.kind == "u" and array.dtype.itemsize == dtype.itemsize else array
