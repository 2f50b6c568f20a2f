"""ONNX Runtime with the CPU provider."""
import onnxruntime

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
    return model.run(None, inputs)
