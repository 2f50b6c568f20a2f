"""Writes aten.txt, prims.txt, quantized_decomposed.txt, torch.onnx.txt and torchvision.txt: the schema of each overload on a line.

    pip install torch==2.13.0 torchvision==0.28.0
    python tools/schemas/dump_aten.py            # write the files
    python tools/schemas/dump_aten.py --check    # fail if a file differs from the installed torch

To upgrade torch, change TORCH and COUNTS below, run the script, then print the upgrade report with
`cargo run -p aten2onnx-codegen -- import-aten`.

Schemas are copied from native_functions.yaml if they are there. For others, the numbers in torch's rendering are converted to the same
notation (torch prints `1.` for `1.0`, and up to 17 digits even if fewer digits give the same float).
"""

import re
from pathlib import Path

import torch
import torch.ao.quantization.fx._decomposed  # registers quantized_decomposed
import torch.onnx.ops  # registers onnx
import torchgen
import torchvision  # registers torchvision
import yaml

from snapshot import finish

TORCH = "2.13.0"
TORCHVISION = "0.28.0"
COUNTS = {"aten": 3754, "prims": 126, "quantized_decomposed": 19, "onnx": 2, "torchvision": 15}
FILES = {"onnx": "torch.onnx.txt"}  # onnx.txt contains the schemas of ONNX


def release(version):
    return version.split("+")[0]


def native_functions():
    """Returns schemas by full name, from the native_functions.yaml of the torch package."""
    path = Path(torchgen.__file__).parent / "packaged/ATen/native/native_functions.yaml"
    texts = ["aten::" + entry["func"] for entry in yaml.safe_load(path.read_text(encoding="utf-8"))]
    return {text[: text.index("(")]: text for text in texts}


def rendered(schema):
    """Returns the schema as torch prints it, with numbers as in native_functions.yaml."""
    text = str(schema)
    text = re.sub(r"(?<==)(-?\d+)\.(?=[,)])", r"\1.0", text)
    return re.sub(r"(?<==)-?\d*\.\d{15,}(e-?\d+)?|(?<==)-?\d\.\d+e-?\d+", lambda m: repr(float(m[0])), text)


def main():
    assert release(torch.__version__) == TORCH, f"expected torch {TORCH}, found {torch.__version__}"
    assert release(torchvision.__version__) == TORCHVISION, f"expected torchvision {TORCHVISION}, found {torchvision.__version__}"
    native = native_functions()
    lines = {namespace: {} for namespace in COUNTS}
    for schema in torch._C._jit_get_all_schemas():
        namespace = schema.name.split("::")[0]
        if namespace not in lines or (namespace == "onnx" and not schema.overload_name.startswith("opset")):
            continue  # the namespace `onnx` also has two operators that only TorchScript uses
        name = schema.name + ("." + schema.overload_name if schema.overload_name else "")
        text = native.get(name) or rendered(schema)
        assert torch._C.parse_schema(text) == schema or "..." in text, text
        assert name not in lines[namespace], name
        lines[namespace][name] = text
    files = {}
    for namespace, count in COUNTS.items():
        assert len(lines[namespace]) == count, (namespace, len(lines[namespace]))
        source = f"torchvision {TORCHVISION}" if namespace == "torchvision" else f"torch {TORCH}"
        head = f"# The schemas of `{namespace}`: {source}. Refresh: python tools/schemas/dump_aten.py\n"
        files[FILES.get(namespace, namespace + ".txt")] = head + "".join(text + "\n" for _, text in sorted(lines[namespace].items()))
    finish(__doc__, files)


if __name__ == "__main__":
    main()
