"""Exports small modules with every PyTorch that the package declares, by recording them and by torch.export, and runs them in ONNX Runtime at two sizes.

    python tests/pytorch_versions/run.py --package FOLDER                  # 2.6, 2.8, 2.10, 2.13 and the newest
    python tests/pytorch_versions/run.py --package FOLDER --versions 2.8.0
    python tests/pytorch_versions/run.py --package FOLDER --page docs/pytorch.md

FOLDER has the package `aten2onnx`, as `tests/run` unpacks it. Each PyTorch is installed in an environment of its own, which is deleted afterwards: they
take 5 GB each. `--cache` names their folder, `--keep` keeps them.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
#: The versions. None is the newest that the registry has.
VERSIONS = ("2.6.0", "2.8.0", "2.10.0", "2.13.0", None)
WAYS = ("record", "export")
BEGIN, END = "<!-- versions -->", "<!-- end of versions -->"


def work() -> None:
    """Prints a row for each module and way. Runs in the environment of a version."""
    import aten2onnx
    import torch

    sys.path.insert(0, str(HERE))
    from models import models

    warnings.filterwarnings("ignore")
    for name, (model, inputs, shapes) in models().items():
        for way in WAYS:
            print("ROW " + json.dumps({"torch": torch.__version__, "model": name, "way": way, "problem": _problem(aten2onnx, model.eval(), inputs, shapes, way)}), flush=True)


def _problem(aten2onnx: Any, model: Any, inputs: Any, shapes: Any, way: str) -> str | None:
    """What is wrong with the export of a module; None if it is right at both sizes."""
    import torch
    from torch.utils import _pytree as pytree

    try:
        program = aten2onnx.export(model, inputs(4), dynamic_shapes=shapes, capture=way)
    except Exception as error:  # the table says what it is
        return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    for size in (4, 7):
        args = inputs(size)
        try:
            with torch.no_grad():
                want = pytree.tree_leaves(model(*args))
            found = program(*args)
        except Exception as error:
            return f"at {size}: {type(error).__name__}: {str(error).splitlines()[0]}"
        tolerance = 1e-2 if want[0].dtype == torch.float16 else 1e-4
        if len(want) != len(found) or any(a.shape != b.shape or not torch.allclose(a.float(), b.float(), tolerance, tolerance) for a, b in zip(want, found)):
            said = f", which the file says: right only where {'; '.join(program.report.conditions)}" if program.report.conditions else ""
            return f"other results at {size}{said}"
    return None


def measured(version: str | None, package: Path, cache: Path, keep: bool) -> list[dict[str, Any]]:
    """The rows of a version."""
    folder = cache / (version or "newest")
    python = folder / "bin" / "python"
    if not python.exists():
        _install(folder, python, "torch" if version is None else f"torch=={version}")
    environment = {**os.environ, "PYTHONPATH": str(package.resolve())}
    done = subprocess.run([python, __file__, "--work"], env=environment, capture_output=True, text=True, check=False)
    if not keep:
        shutil.rmtree(folder)
    rows = [json.loads(line.removeprefix("ROW ")) for line in done.stdout.splitlines() if line.startswith("ROW ")]
    if done.returncode or not rows:
        raise SystemExit(f"PyTorch {version or 'newest'}: the exports ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return rows


def _install(folder: Path, python: Path, torch: str) -> None:
    packages = [torch, "numpy", "onnx", "onnxruntime"]
    if shutil.which("uv"):
        subprocess.run(["uv", "venv", "--quiet", "--clear", "--python", sys.executable, folder], check=True)
        subprocess.run(["uv", "pip", "install", "--quiet", "--python", python, *packages], check=True)
    else:
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages], check=True)


def table(rows: list[dict[str, Any]]) -> str:
    """How many modules are right with each version, and what is not."""
    versions = list(dict.fromkeys(row["torch"].split("+")[0] for row in rows))
    lines = [f"| PyTorch | {' | '.join(f'capture={way!r}' for way in WAYS)} |".replace("'", '"'), "|---" * (len(WAYS) + 1) + "|"]
    bad = []
    for version in versions:
        cells = []
        for way in WAYS:
            mine = [row for row in rows if row["torch"].split("+")[0] == version and row["way"] == way]
            cells.append(f"{sum(row['problem'] is None for row in mine)} of {len(mine)}")
            bad += [f"- {version}, {way}, {row['model']}: {row['problem'][:160]}" for row in mine if row["problem"] is not None]
        lines.append(f"| {version} | {' | '.join(cells)} |")
    return "\n".join(lines + ([""] + bad if bad else []))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", type=Path, help="the folder with the package")
    parser.add_argument("--versions", nargs="*", help="the versions of PyTorch")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache/aten2onnx/pytorch")
    parser.add_argument("--keep", action="store_true", help="keep the environments")
    parser.add_argument("--json", type=Path, help="a file that gets the rows, or has those of other versions")
    parser.add_argument("--page", type=Path, help="write the table into this page")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.work:
        work()
        return
    if chosen.package is None:
        parser.error("--package is missing")
    rows = json.loads(chosen.json.read_text()) if chosen.json and chosen.json.exists() else []
    for version in chosen.versions if chosen.versions is not None else VERSIONS:
        new = measured(version, chosen.package, chosen.cache, chosen.keep)
        rows = [row for row in rows if row["torch"] != new[0]["torch"]] + new
        if chosen.json:
            chosen.json.write_text(json.dumps(rows, indent=1))
        print(table(new), flush=True)
    if chosen.page:
        text = chosen.page.read_text()
        before, _, rest = text.partition(BEGIN)
        chosen.page.write_text(f"{before}{BEGIN}\n\n{table(rows)}\n\n{END}{rest.partition(END)[2]}")
    if any(row["problem"] is not None and row["way"] == "record" for row in rows):
        raise SystemExit("modules are not right that were recorded")


if __name__ == "__main__":
    main()
