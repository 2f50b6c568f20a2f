"""Writes codegen/tests/new_torch/VERSION.txt: what the schemas of older PyTorch have in another way than those of the next newer one.

    python codegen/src/new_torch/ask_torch.py schemas > 2.6.0.json   # in an environment with each old torch and torchvision
    python tools/schemas/history.py 2.10.0.json 2.8.0.json 2.6.0.json

The newest is the snapshot in mappings/schemas. A line `+SCHEMA` is in the older one only, a line `-SCHEMA` in the newer one only. Tests go back with them, and
forward again with `import-aten`.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILES = {"aten": "aten", "prims": "prims", "quantized_decomposed": "quantized_decomposed", "onnx": "torch.onnx", "torchvision": "torchvision"}


def main():
    newer = {line for name in FILES.values() for line in (ROOT / f"mappings/schemas/{name}.txt").read_text().splitlines() if line[0] != "#"}
    for path in sys.argv[1:]:
        said = json.loads(Path(path).read_text())
        older = {line for lines in said["schemas"].values() for line in lines}
        release = ".".join(said["torch"].split(".")[:2])
        lines = [f"# torch {said['torch']}, torchvision {said['torchvision']}. Refresh: python tools/schemas/history.py"]
        lines += sorted([f"+{line}" for line in older - newer] + [f"-{line}" for line in newer - older], key=lambda line: (line[1:], line[0]))
        out = ROOT / f"codegen/tests/new_torch/{release}.txt"
        out.write_text("\n".join(lines) + "\n")
        print(f"{out}: {len(lines) - 1} lines")
        newer = older


if __name__ == "__main__":
    main()
