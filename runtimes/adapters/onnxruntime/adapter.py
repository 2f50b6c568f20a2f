"""ONNX Runtime with the CPU provider."""
import ctypes

import numpy as np
import onnxruntime
import tensors

BFLOAT16 = 16

onnxruntime.disable_telemetry_events()
onnxruntime.set_default_logger_severity(4)


def version():
    return onnxruntime.__version__


def load(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def run(model, inputs):
    if all(value.type != "tensor(bfloat16)" for value in [*model.get_inputs(), *model.get_outputs()]):
        return model.run(None, inputs)
    return [to_array(value) for value in model.run_with_ort_values(None, {name: to_value(array) for name, array in inputs.items()})]


def to_value(array):
    """NumPy has no bfloat16: ONNX Runtime takes the bits."""
    if tensors.name_of(array.dtype) != "bfloat16":
        return onnxruntime.OrtValue.ortvalue_from_numpy(array)
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(array.view("uint16"), BFLOAT16)


def to_array(value):
    if value.data_type() != "tensor(bfloat16)":
        return value.numpy()
    count = int(np.prod(value.shape()))
    bits = (ctypes.c_uint16 * count).from_address(value.data_ptr())
    return np.array(bits, "uint16").reshape(value.shape()).view(tensors.BFLOAT16_BITS)
