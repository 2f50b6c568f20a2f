"""Loads directories that `ecosystem.py` wrote with optimum-onnx, and compares with what PyTorch made. It has its own Python.

    PYTHON ecosystem_optimum.py DIRECTORY..
"""

from __future__ import annotations

import json
import logging
import os
import sys
import warnings
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"


def check(folder: Path) -> str:
    """What differs; "" if nothing does."""
    import optimum.onnxruntime
    import torch

    note = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    inputs = {name: tensor(value) for name, value in note["inputs"].items()}
    model = getattr(optimum.onnxruntime, note["class"]).from_pretrained(folder)
    if "tokens" in note:
        count = note["new_tokens"]
        found = model.generate(**inputs, max_new_tokens=count, min_new_tokens=count, do_sample=False, num_beams=1)
        found, wanted = found[:, -count:].tolist(), [row[-count:] for row in note["tokens"]]
        return "" if found == wanted else f"other tokens: {found} instead of {wanted}"
    with torch.no_grad():
        results = model(**inputs)
    wrong = [name for name in results if name not in note["results"]]
    for name, value in results.items():
        wanted = tensor(note["results"][name]) if name in note["results"] else None
        if wanted is not None and not torch.allclose(value, wanted, rtol=1e-3, atol=1e-4):
            wrong.append(f"{name} differs by {(value - wanted).abs().max():.2g}")
    return ", ".join(wrong) if len(results) else "no result"


def tensor(described: dict[str, Any]) -> Any:
    """A tensor from its JSON."""
    import torch

    return torch.tensor(described["data"], dtype=getattr(torch, described["dtype"])).reshape(described["shape"])


def main() -> int:
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    failed = 0
    for folder in map(Path, sys.argv[1:]):
        try:
            problem = check(folder)
        except Exception as error:  # noqa: BLE001  # the others are checked too
            problem = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        failed += bool(problem)
        print(f"{folder.name:24} {problem or 'equal'}", flush=True)
    print(f"{len(sys.argv) - 1 - failed} of {len(sys.argv) - 1} give the results of PyTorch")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
