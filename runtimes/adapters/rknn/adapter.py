"""Rockchip's toolkit: the model is compiled for the NPU of the RK3588 without quantization, and runs in the toolkit's simulator."""
import re
from importlib import metadata
from pathlib import Path

import printed
import signature
from rknn.api import RKNN

# What the toolkit says of an operator that only code of the user can run on the device.
CUSTOM = "use CustomOperatorLower"

# What it gives in place of a dtype.
REPLACED = {"float16": "float32", "float64": "float32"}


def version():
    return metadata.version("rknn-toolkit2")


def load(path, inputs):
    """Compiles a model. One with symbolic sizes is compiled for those of the inputs."""
    declared = signature.of(path)
    is_symbolic = any(tensor.is_symbolic for tensor in declared.inputs.values())
    sizes = {"inputs": list(declared.inputs), "input_size_list": [list(inputs[name].shape) for name in declared.inputs]} if is_symbolic else {}
    model, _ = call(RKNN, verbose=False)
    step(model.config, target_platform="rk3588")
    step(model.load_onnx, model=path, **sizes)
    lines = step(model.build, do_quantization=False)
    if custom := [line for line in lines if CUSTOM in line]:
        raise ValueError(custom[0])
    step(model.init_runtime)
    return declared, model


def step(function, **options):
    """Returns what is printed. The reason of a failure is in it."""
    code, lines = call(function, **options)
    if code != 0:
        raise ValueError(f"{function.__name__} returned {code}: {reason(lines)}")
    return lines


def call(function, **options):
    """Returns the result and what is printed. The toolkit raises errors whose text is a traceback."""
    log = Path("toolkit.txt")
    try:
        with printed.output_in(log):
            found = function(**options)
    except Exception as error:
        raise ValueError(f"{function.__name__}: {reason_in(str(error)) or repr(error)}") from None
    return found, printed.lines(log)


def reason_in(traceback):
    """The first line behind the places of a traceback: further lines advise."""
    *_, last = re.split(r"^  File .*\n(?:    .*\n)*", traceback, flags=re.MULTILINE)
    return last.strip().partition("\n")[0]


def reason(lines):
    """The errors among what was printed."""
    return " | ".join([line for line in lines if line.startswith("E ")][:3] or lines[-2:])


def run(model, inputs):
    declared, compiled = model
    given = [inputs[name] for name in declared.inputs]
    found, lines = call(compiled.inference, inputs=given, data_format=["nchw"] * len(given))
    if found is None:
        raise ValueError(f"inference: {reason(lines)}")
    if len(found) != len(declared.outputs):
        raise ValueError(f"it gave {len(found)} outputs of {len(declared.outputs)}")
    return [signature.converted(output, tensor.dtype, REPLACED) for output, tensor in zip(found, declared.outputs.values())]
