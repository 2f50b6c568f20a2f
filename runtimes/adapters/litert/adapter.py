"""LiteRT (TensorFlow Lite) on the CPU: onnx2tf converts the model to a .tflite, with inputs in the layout of the ONNX model.

Outputs of convolutions keep their channels last. They are known by their sizes: one that is as
high and wide as it has channels is not.
"""
import contextlib
import io
import tempfile
from importlib import metadata
from pathlib import Path

import numpy as np
import onnx
import onnx2tf
import signature
from ai_edge_litert.interpreter import Interpreter, OpResolverType

# What the converter computes with in place of a dtype.
REPLACED = {"float16": "float32", "float64": "float32"}


def version():
    return f"{metadata.version('ai-edge-litert')}, onnx2tf {metadata.version('onnx2tf')}"


def load(path, inputs):
    """Converts a model for the sizes of the inputs: few models with symbolic sizes can be converted as they are."""
    model = signature.for_shapes(onnx.load(path), {name: array.shape for name, array in inputs.items()})
    declared = signature.of_graph(model.graph)
    with tempfile.TemporaryDirectory(dir=".") as folder:
        converted = convert(model, list(declared.inputs), folder).read_bytes()
    return Model(declared, converted)


class Model:
    """A converted model. XNNPACK computes what it can. A model that it refuses is computed by LiteRT's own kernels alone: it takes no
    sizes that follow from elements.
    """

    def __init__(self, declared, converted):
        self.declared, self.converted = declared, converted
        try:
            self.start(OpResolverType.AUTO)
        except RuntimeError as error:
            self.start_without_xnnpack(error)

    def start(self, resolver):
        self.interpreter = Interpreter(model_content=self.converted, num_threads=1, experimental_op_resolver_type=resolver)
        self.interpreter.allocate_tensors()
        self.runner = self.interpreter.get_signature_runner()

    def start_without_xnnpack(self, error):
        if "delegate" not in str(error):
            raise error
        self.start(OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)

    def outputs(self, inputs):
        details = self.runner.get_input_details()
        return self.runner(**{name: signature.converted(inputs[name], np.dtype(detail["dtype"]), REPLACED) for name, detail in details.items()})


def convert(model, inputs, folder):
    """Converts a model. What LiteRT lacks is not written as an operator of the user's own, but refused."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            onnx2tf.convert(
                onnx_graph=model, output_folder_path=folder, output_signaturedefs=True, copy_onnx_input_output_names_to_tflite=True,
                keep_shape_absolutely_input_names=inputs, not_use_onnxsim=True, not_use_opname_auto_generate=True,
                flatbuffer_direct_allow_custom_ops=True, flatbuffer_direct_custom_op_allowlist=["none"], verbosity="error",
            )  # fmt: skip
    except SystemExit:
        lines = [line.strip() for line in printed.getvalue().splitlines() if line.strip()]
        raise ValueError("onnx2tf ended: " + " | ".join(lines[-2:])) from None
    return next(Path(folder).glob("*_float32.tflite"))


def run(model, inputs):
    try:
        found = model.outputs(inputs)
    except RuntimeError as error:
        model.start_without_xnnpack(error)
        found = model.outputs(inputs)
    return [as_declared(found[name], tensor) for name, tensor in model.declared.outputs.items()]


def as_declared(array, tensor):
    """An output as the model has it. The converter leaves the channels last, and has one dimension for none."""
    array = signature.converted(array, tensor.dtype, REPLACED)
    if tensor.fits(array.shape):
        return array
    if array.size == 1 and tensor.fits(()):
        return array.reshape(())
    with_channels = np.moveaxis(array, -1, 1) if array.ndim > 2 else array
    return with_channels if tensor.fits(with_channels.shape) else array
