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
    return names, module[graph.name if graph.name in module.vm_module.function_names else "main_graph"]


def tool(command):
    """Runs a tool. The reason of a failure is its first error."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        lines = done.stderr.splitlines()
        errors = [line for line in lines if "error:" in line] or lines[-1:]
        raise ValueError(" | ".join(errors[:2]) or f"{command[0].name} ended with {done.returncode}")


def run(model, inputs):
    names, function = model
    found = function(*[np.asarray(inputs[name], order="C") for name in names])
    return [array.to_host() for array in (found if isinstance(found, (list, tuple)) else [found])]
