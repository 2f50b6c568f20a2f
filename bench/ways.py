#!/usr/bin/env python3
"""Holds the ways to a file against one another: a module that is recorded, the same captured by torch.export, and as a `.pt2` file.

    python bench/ways.py --zoo zoo_models.py [NAME..] [--json FILE] [--into docs/capture.md]

Each file is compared with the model in ONNX Runtime, at the example and at a second size, and the nodes are counted. `--zoo` is a Python file with a `REGISTRY` of entries by
name; `build()` of an entry gives an object with `module`, `args`, `kwargs`, `dynamic_shapes` and `alt_args`. Each model has a process of its own, unless `--here` is
given. What is in the file of
`--json` is not run again.
"""
import argparse
import contextlib
import copy
import importlib.util
import json
import logging
import statistics
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import aten2onnx
import torch

from pages import write_table

MARK, END = "<!-- bench/ways.py -->", "<!-- bench/ways.py ends -->"
WAYS = ("record", "export", "pt2")
#: Seconds for one model.
LIMIT = 300


def registry(path):
    """The entries of a file with models."""
    if "zoo_models" in sys.modules:
        return sys.modules["zoo_models"].REGISTRY
    spec = importlib.util.spec_from_file_location("zoo_models", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["zoo_models"] = module
    spec.loader.exec_module(module)
    return module.REGISTRY


def exported(case, way, folder):
    """The program of a model by one of the ways."""
    args, kwargs = copy.deepcopy((case.args, case.kwargs))
    if way != "pt2":
        return aten2onnx.export(case.module, args, kwargs=kwargs, dynamic_shapes=case.dynamic_shapes, capture=way)
    path = Path(folder) / "model.pt2"
    torch.export.save(torch.export.export(case.module, args, kwargs, dynamic_shapes=case.dynamic_shapes), path)
    return aten2onnx.export(path)


def difference(program, case, args):
    """What a file gives that the model does not, as a text; None if there is nothing. A run may write to buffers, so it is one of a copy."""
    with torch.no_grad():
        returned = copy.deepcopy(case.module)(*copy.deepcopy(args), **copy.deepcopy(case.kwargs))
    wanted = [leaf for leaf in torch.utils._pytree.tree_leaves(returned) if isinstance(leaf, (torch.Tensor, int, float))]
    leaves = [leaf for leaf in torch.utils._pytree.tree_leaves((args, case.kwargs)) if isinstance(leaf, torch.Tensor)]
    found = program(*leaves)
    if len(found) != len(wanted):
        return f"{len(found)} results for {len(wanted)}"
    for number, (want, got) in enumerate(zip(map(torch.as_tensor, wanted), map(torch.as_tensor, found))):
        if want.shape != got.shape:
            return f"result {number} has the shape {list(got.shape)} for {list(want.shape)}"
        want, got = want.to(torch.complex128 if want.is_complex() else torch.float64), got.to(torch.complex128 if got.is_complex() else torch.float64)
        if want.numel() and not torch.allclose(want, got, 5e-3, 1e-3 * max(1e-2, float(want.abs().nan_to_num(0, 0).max())), equal_nan=True):
            return f"result {number} has other numbers"
    return None


def one(path, name):
    """The row of one model: for each way the nodes, or why there is no file."""
    torch.manual_seed(0)
    case = registry(path)[name].build()
    with contextlib.suppress(NotImplementedError):
        case.module.eval()
    row = {"name": name}
    for way in WAYS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                program = exported(case, way, folder)
            except Exception as error:  # whatever a way refuses
                row[way] = {"error": (str(error).splitlines() or [type(error).__name__])[0][:150]}
                continue
            row[way] = {"nodes": program.report.nodes}
            for what, args in (("example", case.args), ("second size", case.alt_args)):
                if args is None:
                    continue
                try:
                    wrong = difference(program, case, args)
                except Exception as error:  # whatever ONNX Runtime refuses
                    wrong = (str(error).splitlines() or [type(error).__name__])[0][:150]
                if wrong is not None:
                    row[way]["wrong"] = f"{what}: {wrong}"
                    break
    return row


def run(path, name):
    """The row of one model, from a process of its own."""
    command = [sys.executable, __file__, "--zoo", str(path), "--one", name]
    try:
        found = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return {"name": name, "error": f"more than {LIMIT} s"}
    lines = [line for line in found.stdout.splitlines() if line.startswith("ROW ")]
    return json.loads(lines[0].removeprefix("ROW ")) if lines else {"name": name, "error": f"the process ended with {found.returncode}"}


def page(rows):
    """What the rows say, as Markdown."""
    lines = []
    for way, title in zip(WAYS, ("recorded", "by torch.export", "as a `.pt2` file")):
        count = Counter("no file" if "nodes" not in row.get(way, {}) else "wrong" if "wrong" in row[way] else "right" for row in rows)
        lines.append(f"- {title}: {count['right']} of {len(rows)} right, {count['wrong']} wrong, {count['no file']} without a file")
    both = [row for row in rows if all("nodes" in row.get(way, {}) for way in ("record", "export"))]
    more = [row["record"]["nodes"] - row["export"]["nodes"] for row in both]
    if more:
        ratio = statistics.median(row["record"]["nodes"] / max(1, row["export"]["nodes"]) for row in both)
        lines.append(f"- nodes of the recorded file beside that of torch.export: median {ratio:.2f} times; fewer in {sum(n < 0 for n in more)}, as many in {more.count(0)}, more in {sum(n > 0 for n in more)}")
    lines += ["", "| model | recorded | torch.export | `.pt2` |", "|---|---|---|---|"]
    for row in rows:
        cells = [_cell(row, way) for way in WAYS]
        if len(set(cells)) > 1 or "nodes" not in row.get("record", {}) or any("wrong" in row.get(way, {}) for way in WAYS):
            lines.append(f"| {row['name']} | {' | '.join(cells)} |")
    return "\n".join(lines) + f"\n\n- the number of nodes; models with the same in all three are left out; PyTorch {torch.__version__}\n"


def _cell(row, way):
    found = row.get(way, {"error": row.get("error", "")})
    text = str(found["nodes"]) if "nodes" in found else found["error"].split(" (File")[0].split(" (inputs")[0]
    text += f", {found['wrong']}" if "wrong" in found else ""
    return text.replace("|", "\\|").replace("<", "&lt;")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("names", nargs="*", help="models (default: all)")
    arguments.add_argument("--zoo", type=Path, required=True, help="a file with models")
    arguments.add_argument("--here", action="store_true", help="run all models in this process: faster, and one that crashes ends all")
    arguments.add_argument("--json", type=Path, help="a file of results, which is continued")
    arguments.add_argument("--into", type=Path, help="the page that gets the table, between its marks")
    arguments.add_argument("--one", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    if given.one:
        print("ROW " + json.dumps(one(given.zoo, given.one)))
        return
    rows = [json.loads(line) for line in given.json.read_text().splitlines()] if given.json and given.json.exists() else []
    known = {row["name"] for row in rows}
    for name in [name for name in given.names or registry(given.zoo) if name not in known]:
        rows.append(one(given.zoo, name) if given.here else run(given.zoo, name))
        print(rows[-1], flush=True)
        if given.json:
            with given.json.open("a") as file:
                file.write(json.dumps(rows[-1]) + "\n")
    print(page(rows))
    if given.into:
        write_table(given.into, MARK, END, page(rows))


if __name__ == "__main__":
    main()
