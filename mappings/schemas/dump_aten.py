"""Writes aten.txt, prims.txt, quantized_decomposed.txt, torch.onnx.txt, torchvision.txt: every overload's schema, one a line.

    pip install torch==2.13.0 torchvision==0.28.0
    python mappings/schemas/dump_aten.py            # refresh
    python mappings/schemas/dump_aten.py --check    # fail if a file is not what this torch says

To move to a newer torch: change TORCH and COUNTS below, refresh, then print the upgrade report with
`cargo run -p aten2onnx-codegen -- import-aten`.

Operators that native_functions.yaml lists have its very text; for the others torch's own rendering is brought to the same
notation of numbers (it prints `1.` for `1.0`, and 17 digits where fewer say the same float).
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
FILES = {"onnx": "torch.onnx.txt"}  # onnx.txt holds the schemas of ONNX itself


def release(version):
    return version.split("+")[0]


def native_functions():
    """Full name -> text, from the copy of native_functions.yaml that torch installs."""
    path = Path(torchgen.__file__).parent / "packaged/ATen/native/native_functions.yaml"
    texts = ["aten::" + entry["func"] for entry in yaml.safe_load(path.read_text(encoding="utf-8"))]
    return {text[: text.index("(")]: text for text in texts}


def rendered(schema):
    """The schema as torch prints it, numbers as in native_functions.yaml."""
    text = str(schema)
    text = re.sub(r"(?<==)(-?\d+)\.(?=[,)])", r"\1.0", text)
    return re.sub(r"(?<==)-?\d*\.\d{15,}(e-?\d+)?|(?<==)-?\d\.\d+e-?\d+", lambda m: repr(float(m[0])), text)


def main():
    assert release(torch.__version__) == TORCH, f"this is torch {torch.__version__}"
    assert release(torchvision.__version__) == TORCHVISION, f"this is torchvision {torchvision.__version__}"
    native = native_functions()
    lines = {namespace: {} for namespace in COUNTS}
    for schema in torch._C._jit_get_all_schemas():
        namespace = schema.name.split("::")[0]
        if namespace not in lines or (namespace == "onnx" and not schema.overload_name.startswith("opset")):
            continue  # TorchScript has two of the namespace `onnx` for itself
        name = schema.name + ("." + schema.overload_name if schema.overload_name else "")
        text = native.get(name) or rendered(schema)
        assert torch._C.parse_schema(text) == schema or "..." in text, text
        assert name not in lines[namespace], name
        lines[namespace][name] = text
    files = {}
    for namespace, count in COUNTS.items():
        assert len(lines[namespace]) == count, (namespace, len(lines[namespace]))
        source = f"torchvision {TORCHVISION}" if namespace == "torchvision" else f"torch {TORCH}"
        head = f"# The schemas of `{namespace}`: {source}. Refresh: python mappings/schemas/dump_aten.py\n"
        files[FILES.get(namespace, namespace + ".txt")] = head + "".join(text + "\n" for _, text in sorted(lines[namespace].items()))
    finish(__doc__, files)


if __name__ == "__main__":
    main()
