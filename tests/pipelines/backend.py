"""Tests the commands on ONNX's own test models: an edit without options changes nothing, parts that are joined again are the whole, and nothing panics.

    backend.py PATH-OF-aten2onnx [check_NAME ..]
"""
import functools
import json
import os
import pathlib
import subprocess
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import numpy as np
import onnx
from onnx.backend.test.case.node import collect_testcases

from harness import BINARY, SCRATCH, main, same, saved, session
from parts import everything

DATA = pathlib.Path(onnx.__file__).parent / "backend/test/data"
#: Each so many of the models of one node; all with BACKEND=all.
STEP = 1 if os.environ.get("BACKEND") == "all" else 20


def attempt(*arguments):
    """The exit code and what the command says; a failure is an error that says something, never a panic."""
    run = subprocess.run([str(BINARY), *map(str, arguments)], capture_output=True, text=True)
    assert run.returncode in (0, 1, 4, 5), f"{arguments}: exit code {run.returncode}: {run.stderr}"
    assert run.returncode < 2 or run.stderr.startswith("error: "), run.stderr
    return run.returncode, run.stdout + run.stderr


@functools.cache
def models():
    """The paths of models."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = [case for number, case in enumerate(collect_testcases(None)) if number % STEP == 0 and case.model is not None]
    made = [saved(case.model, f"{case.name}/model.onnx") for case in cases]
    return made + sorted(DATA.glob("simple/*/model.onnx")) + sorted(DATA.glob("pytorch-converted/*/model.onnx"))[::4]


def check_an_edit_of_nothing_changes_nothing():
    out = SCRATCH / "same.onnx"
    for path in models():
        code, said = attempt("edit", path, "-o", out)
        if code:
            assert "training" in said or "not an ONNX model" in said, (path, said)
            continue
        a, b = onnx.load(path), onnx.load(out)
        for loaded in (a, b):
            weights = sorted(loaded.graph.initializer, key=lambda tensor: tensor.name)
            del loaded.graph.initializer[:]
            loaded.graph.initializer.extend(weights)
        assert a == b, path
        code, said = attempt("diff", path, out)
        assert code == 0, (path, said)


def check_parts_joined_again():
    whole = 0
    for path in models():
        if len(onnx.load(path).graph.node) < 2:
            continue
        for stale in SCRATCH.glob("model-*"):
            stale.unlink()
        code, said = attempt("split", path, "--nodes", 1, "-o", SCRATCH)
        if code:
            continue
        wiring = json.loads((SCRATCH / "model.json").read_text())
        files = [SCRATCH / part["file"] for part in wiring["parts"]]
        for file in files:
            onnx.checker.check_model(str(file))
        if len(files) < 2 or any(name in part["inputs"] for name in wiring["inputs"] for part in wiring["parts"][1:]):
            continue
        wires = [f"--wire={wire['from'][:-5]}:{wire['value']}={to[:-5]}:{wire['value']}" for wire in wiring["wires"] for to in wire["to"]]
        wired = {wire["value"] for wire in wiring["wires"]}
        code, said = attempt("join", *files, *wires, *[f"--keep={name}" for name in wiring["outputs"] if name in wired], "-o", SCRATCH / "joined.onnx")
        assert code == 0, (path, said)
        joined, source = onnx.load(SCRATCH / "joined.onnx"), onnx.load(path)
        assert len(joined.graph.node) >= len([n for n in source.graph.node if n.op_type != "Constant"]) - 2, path
        whole += 1
    assert whole > 5, whole


def check_light_models():
    """Whole models of IR 3, whose weights are inputs, too."""
    for name in ("squeezenet", "resnet50", "shufflenet", "inception_v1"):
        path = DATA / f"light/light_{name}.onnx"
        code, said = attempt("split", path, "--parts", 3, "-o", SCRATCH)
        assert code == 0, said
        wiring = json.loads((SCRATCH / f"light_{name}.json").read_text())
        opened = session(path)
        feeds = {node.name: np.random.default_rng(0).standard_normal(node.shape).astype(np.float32) for node in opened.get_inputs()}
        assert list(feeds) == wiring["inputs"]
        values = dict(feeds)
        for part in wiring["parts"]:
            loaded = onnx.load(SCRATCH / part["file"])
            assert loaded.ir_version == onnx.load(path, load_external_data=False).ir_version
            run = session(SCRATCH / part["file"]).run(part["outputs"], {name: values[name] for name in part["inputs"]})
            values.update(zip(part["outputs"], run))
        names = [node.name for node in opened.get_outputs()]
        same({name: values[name] for name in names}, dict(zip(names, opened.run(names, feeds))))
        code, said = attempt("edit", path, "-o", SCRATCH / "edited.onnx", "--dim", f"{wiring['inputs'][0]}:0=batch")
        assert code in (0, 5), said


def check_damaged_models_are_refused():
    """Bytes of a model are changed at random: no command panics, and none leaves a file behind when it fails."""
    whole = everything().SerializeToString()
    random = np.random.default_rng(7)
    for turn in range(1200 if STEP == 1 else 120):
        bytes_ = bytearray(whole)
        for _ in range(random.integers(1, 6)):
            bytes_[random.integers(len(bytes_))] = random.integers(256)
        path, out = SCRATCH / "damaged.onnx", SCRATCH / "out.onnx"
        path.write_bytes(bytes_)
        out.unlink(missing_ok=True)
        commands = [
            ("extract", path, "--from", "a", "-o", out),
            ("edit", path, "-o", out, "--dim", "x:1=k", "--drop-output", "sums", "--deduplicate", "--sort", "--strip", "names,docs", "--output-type", "z=f16", "--to-input", "w"),
            ("join", path, saved(everything(), "good.onnx"), "--wire", "damaged:z=good:x", "-o", out),
            ("diff", path, SCRATCH / "good.onnx"),
            ("split", path, "--nodes", 2, "-o", SCRATCH / "damaged"),
        ]
        code, said = attempt(*commands[turn % len(commands)])
        assert code in (0, 1) or not out.exists(), said


if __name__ == "__main__":
    main(globals())
