"""Apache TVM: Relax's ONNX front end, compiled for the CPU."""
import numpy as np
import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx


def version():
    return tvm.__version__


def load(path):
    model = onnx.load(path)
    given = {tensor.name for tensor in model.graph.initializer}
    names = [value.name for value in model.graph.input if value.name not in given]
    module = from_onnx(model, keep_params_in_input=False, sanitize_input_names=False)
    built = tvm.compile(module, tvm.target.Target("llvm"))
    return names, relax.VirtualMachine(built, tvm.cpu())


def run(model, inputs):
    names, machine = model
    found = machine["main"](*[tvm.runtime.tensor(np.asarray(inputs[name], order="C")) for name in names])
    return [tensor.numpy() for tensor in ([found] if isinstance(found, tvm.runtime.Tensor) else found)]
