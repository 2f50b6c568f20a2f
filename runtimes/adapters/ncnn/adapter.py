"""ncnn on the CPU in float32. pnnx converts the model, for the sizes of the inputs.

The converter is called as a program: its Python package needs PyTorch. It writes a script that tells the axis which ncnn takes as the
batch, of each input and output. ncnn has one dimension for none.
"""
import re
import subprocess
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

import ncnn
import numpy as np
import onnx

CONVERTER = Path(sysconfig.get_path("purelib"), "pnnx/pnnx")
NAMES = {"float32": "f32", "float64": "f64", "float16": "f16", "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8", "uint8": "u8"}
# What ncnn takes in place of a dtype.
NARROWED = {"int64": "int32", "float64": "float32", "float16": "float32", "bool": "int32"}
SCRIPT = re.compile(r'ex\.input\("(in\d+)".*batch_index=(\d+)|(out\d+)\.numpy\(batch_index=(\d+)')


def version():
    return metadata.version("ncnn")


def load(path, inputs):
    graph = onnx.load(path, load_external_data=False).graph
    given = {tensor.name for tensor in graph.initializer}
    names = [value.name for value in graph.input if value.name not in given]
    types = [onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type) for value in graph.output]
    scalars = [is_scalar(value.type.tensor_type) for value in graph.output]
    convert(path, [inputs[name] for name in names])
    found = SCRIPT.findall(Path("model_ncnn.py").read_text())
    batches = {a or b: int(i or j) for a, i, b, j in found}
    missing = unsupported()
    if missing:
        raise ValueError(f"pnnx left operators that ncnn does not have: {', '.join(missing)}")
    net = ncnn.Net()
    net.opt.num_threads = 1
    net.opt.use_vulkan_compute = False
    for option in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_storage", "use_bf16_packed"):
        setattr(net.opt, option, False)
    if net.load_param("model.ncnn.param") or net.load_model("model.ncnn.bin"):
        raise ValueError("ncnn does not load what pnnx wrote")
    return net, names, list(zip(types, scalars)), batches


def is_scalar(tensor_type):
    return tensor_type.HasField("shape") and not tensor_type.shape.dim


def convert(path, arrays):
    """Converts a model to files in the working directory. The reason of a refusal is what the converter prints."""
    for file in Path().glob("model*"):
        file.unlink()
    Path("model.onnx").symlink_to(path)
    for array in arrays:
        if array.dtype.name not in NAMES:
            raise ValueError(f"pnnx takes no input of {array.dtype.name}")
    shapes = ",".join(f"[{','.join(map(str, array.shape))}]{NAMES[array.dtype.name]}" for array in arrays)
    done = subprocess.run([CONVERTER, "model.onnx", f"inputshape={shapes}", "fp16=0"], capture_output=True, text=True, errors="replace")
    if done.returncode or not Path("model.ncnn.param").exists() or not Path("model_ncnn.py").exists():
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip() and line[0] not in "│┌├└#"]
        raise ValueError(f"pnnx ended with {done.returncode}: " + " | ".join(lines[-3:]))


def unsupported():
    """Operators that pnnx could not translate: their names have a namespace."""
    layers = Path("model.ncnn.param").read_text().splitlines()[2:]
    return sorted({line.split()[0] for line in layers if line.strip() and ("." in line.split()[0] or "::" in line.split()[0])})


def run(model, inputs):
    net, names, outputs, batches = model
    with net.create_extractor() as extractor:
        for index, name in enumerate(names):
            array = np.ascontiguousarray(inputs[name])
            array = array.astype(NARROWED.get(array.dtype.name, array.dtype.name))
            if f"in{index}" in net.input_names() and extractor.input(f"in{index}", ncnn.Mat(array, batch_index=batches[f"in{index}"]).clone()):
                raise ValueError(f"ncnn does not take the input `{name}`")
        return [output(extractor, f"out{index}", dtype, is_scalar, batches) for index, (dtype, is_scalar) in enumerate(outputs)]


def output(extractor, name, dtype, is_scalar, batches):
    code, found = extractor.extract(name)
    if code or found.empty():
        raise ValueError(f"ncnn gives no output `{name}` ({code})")
    array = np.array(found.numpy(batch_index=batches[name]), copy=True)
    array = array.reshape(()) if is_scalar and array.shape == (1,) else array
    return array.astype(dtype) if NARROWED.get(dtype.name) == array.dtype.name and dtype.name != "int64" else array
