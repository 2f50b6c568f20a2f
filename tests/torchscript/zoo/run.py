"""Traces and scripts real models, exports the archives, and compares with PyTorch in ONNX Runtime.

    run.py PATH-OF-aten2onnx [--modes traced,scripted] [--jobs N] [--registry FILE.py] [--json OUT] [--keep FOLDER] GLOB ...

A GLOB chooses from `models.py`: `classification:*`, `timm:vit*`. Each model runs in a process of its own. Sizes that differ between its
two inputs are symbolic; the archive in PyTorch is the reference at both. If a trace does not take the second inputs or has sizes of the
first in its results, only the first inputs count. A quantized model that differs is judged by its layers (`layers.py`).

Prints `right`, `wrong`, `invalid` (ONNX Runtime does not load it), `refused` (exit code 5), `failed` (other exit codes), or `skipped`
(PyTorch itself cannot make the archive) for each. Exits with 1 if one is wrong, invalid or failed; with `--all-right` if one is not right.
"""
import argparse
import collections
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
warnings.simplefilter("ignore")

import numpy as np
import onnx
import onnxruntime as ort
import torch

import layers
import models
from compare import array, copies, detections, differs, leaves

FAULTS = ("wrong", "invalid", "failed", "crashed")
DTYPES = {torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16", torch.int64: "i64",
          torch.int32: "i32", torch.bool: "bool", torch.uint8: "u8"}


class Outcome(Exception):
    """How a model ended, and why."""


def first_line(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:300]


# ------------------------------------------------------------------------------------------------------------ values
def spec(value, other, place):
    """The description of an input, with a name for each size that differs in `other`."""
    if isinstance(value, torch.Tensor):
        sizes = [str(a) if a == b else f"d{place}_{axis}" for axis, (a, b) in enumerate(zip(value.shape, other.shape))]
        return f"{DTYPES[value.dtype]}[{','.join(sizes)}]"
    items = ",".join(spec(a, b, f"{place}_{index}") for index, (a, b) in enumerate(zip(value, other)))
    return f"[{items}]" if isinstance(value, list) else f"({items})"


def symbols(value, other, path):
    """The same for recorded inputs: `name.axis=symbol`."""
    if isinstance(value, torch.Tensor):
        named = path.replace(".", "_")
        return [f"{path}.{axis}=d_{named}_{axis}" for axis, (a, b) in enumerate(zip(value.shape, other.shape)) if a != b]
    return [text for index, (a, b) in enumerate(zip(value, other)) for text in symbols(a, b, f"{path}.{index}")]


def same_shapes(found, wanted):
    return [tuple(a.shape) for a in found] == [tuple(b.shape) for b in wanted]


# ------------------------------------------------------------------------------------------------------------ one model
class Called(torch.nn.Module):
    """A module with constant arguments and a flat result, to trace it."""

    def __init__(self, inner, kwargs):
        super().__init__()
        self.inner, self.kwargs = inner, kwargs

    def forward(self, *inputs):
        return tuple(leaves(self.inner(*inputs, **self.kwargs)))


def archive(case, mode):
    """The archive of a model in PyTorch, and its constant arguments."""
    if mode == "scripted":
        return torch.jit.script(case.module), case.kwargs or {}
    module = case.module
    if case.kwargs or case.detects:
        module = Called(module, case.kwargs or {})
    return torch.jit.trace(module, case.inputs, strict=False, check_trace=False), {}


def parameters(scripted):
    head = str(scripted.forward.code if hasattr(scripted.forward, "code") else scripted.code).split(" ->")[0]
    return re.findall(r"^    (\w+):", head.split("(self", 1)[1].replace(",\n", "\n"), re.M) or re.findall(r"(\w+): ", head)


def export(binary, source, target, arguments):
    command = [binary, "export", str(source), "-o", str(target), "--opset", "18", "--quiet", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    text = " ".join(line.strip() for line in done.stderr.splitlines() if line.strip())
    return ("refused" if done.returncode == 5 else "failed"), f"{text[:700]} (exit code {done.returncode})"


def evaluated(session, inputs):
    names = [port.name for port in session.get_inputs()]
    return session.run(None, {name: tensor.detach().numpy() for name, tensor in zip(names, leaves(inputs), strict=True)})


def compared(session, inputs, wanted, case):
    found = evaluated(session, inputs)
    image = None
    if case.detects:
        images = detections(wanted)
        image = len(leaves(images[0])) if isinstance(images, list) and images else len(leaves(wanted))
    return differs(found, [array(leaf) for leaf in leaves(wanted)], case.tolerance, image)


def eager(case, inputs):
    return case.module(*copies(inputs), **(case.kwargs or {}))


def readable(target):
    """Casts results that are bfloat16: numpy has no arrays of it."""
    model = onnx.load(target)
    halves = [port for port in model.graph.output if port.type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16]
    for port in halves:
        model.graph.node.append(onnx.helper.make_node("Cast", [port.name], [f"{port.name} as float"], to=onnx.TensorProto.FLOAT))
        port.name += " as float"
        port.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    if halves:
        onnx.save(model, target)


def load(target, is_quantized):
    options = ort.SessionOptions()
    if is_quantized:  # its fusions round in other places
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        return ort.InferenceSession(target, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise Outcome("invalid", first_line(error)) from None


def judge(binary, name, mode, folder):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    with torch.no_grad():
        try:
            case = models.MODELS[name]()
            case.module.eval()
            eager(case, case.inputs)
        except Exception as error:
            return "skipped", f"PyTorch cannot run the model: {first_line(error)}"
        try:
            scripted, constants = archive(case, mode)
            names = parameters(scripted)
            source = folder / "model.pt"
            scripted.save(str(source))
            # A model that counts its calls starts anew for each.
            scripted = lambda *inputs, **constants: torch.jit.load(str(source))(*inputs, **constants)
            wanted = scripted(*copies(case.inputs), **constants)
        except Exception as error:
            return "skipped", f"PyTorch cannot make the archive: {first_line(error)}"
        others, frozen = case.others, None
        if others is not None:
            try:
                wanted_others = scripted(*copies(others), **constants)
                if mode == "traced" and not same_shapes(leaves(wanted_others), leaves(eager(case, others))):
                    frozen = "its results have the sizes of the example"
            except Exception as error:
                frozen = f"PyTorch does not run it at other sizes: {first_line(error)[:100]}"
        literal = [text for key, value in constants.items() for text in ("--input", f"{key}={value}")]

        def arguments(second):
            if mode == "traced":
                paths = [text for a, b, n in zip(case.inputs, second, names) for text in symbols(a, b, n)]
                return [text for path in paths for text in ("--dynamic", path)]
            specs = [f"{n}:{spec(a, b, n)}" for a, b, n in zip(case.inputs, second, names)]
            return literal + [text for one in specs for text in ("--input", one)]

        target = folder / "model.onnx"
        is_bfloat = any(leaf.dtype == torch.bfloat16 for leaf in leaves(wanted))
        if is_bfloat:
            # PyTorch itself is a hundredth from its results with float32.
            case.tolerance = max(case.tolerance, 0.1)
        fixed = others is None or frozen is not None
        used = arguments(case.inputs if fixed else others) + (["--target", "onnxruntime"] if is_bfloat else [])
        started = time.perf_counter()
        refusal = export(binary, source, target, used)
        took = time.perf_counter() - started
        if refusal:
            return refusal[0], f"{refusal[1]} [{' '.join(used)}]"
        notes = [frozen] if frozen else []
        readable(str(target))
        try:
            session = load(str(target), case.is_quantized)
            for place, inputs, expected in (("", case.inputs, wanted), ("at other sizes: ", others, None if fixed else wanted_others)):
                reason = None if expected is None else compared(session, inputs, expected, case)
                if reason and case.is_quantized:
                    reason, note = layers.differs(str(target), lambda model: load(model, True), case.module, inputs)
                    notes.append(f"{place}{note}")
                if reason:
                    return "wrong", f"{place}{reason}"
        except Outcome as outcome:
            return outcome.args
        except Exception as error:
            return "wrong", f"ONNX Runtime: {first_line(error)}"
        sizes = "1 size" if fixed else "2 sizes"
        counted = sum(leaf.numel() for leaf in leaves(wanted))
        return "right", f"{sizes}, {counted} numbers, {took:.1f} s{''.join(': ' + note for note in notes)}"


# ------------------------------------------------------------------------------------------------------------ all models
def child(binary, name, mode, folder, report):
    """Runs in a fork: what goes wrong there costs one model only."""
    try:
        result = judge(binary, name, mode, folder)
    except BaseException:
        result = ("crashed", traceback.format_exc()[-600:])
    report.write_text(json.dumps(result), encoding="utf-8")
    os._exit(0)


def warm_up():
    """Imports what the models need, once for all processes."""
    torch.set_num_threads(1)
    for package in ("torchvision", "timm", "transformers"):
        try:
            __import__(package)
        except ImportError:
            print(f"{package} is not installed", flush=True)
    try:
        import transformers
        transformers.BertModel, transformers.LlamaModel, transformers.ViTModel
    except ImportError:
        pass
    torch.jit.trace(torch.nn.Linear(2, 2), (torch.zeros(1, 2),), check_trace=False)
    torch.jit.script(torch.nn.Sequential(torch.nn.Conv2d(1, 1, 1), torch.nn.BatchNorm2d(1), torch.nn.ReLU()))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("binary")
    options.add_argument("globs", nargs="+")
    options.add_argument("--modes", default="traced,scripted")
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--registry", help="a Python file with further models")
    options.add_argument("--json", type=Path, help="where to write the results; models that are in it are not run again")
    options.add_argument("--keep", type=Path, help="a folder for archives and models")
    options.add_argument("--all-right", action="store_true")
    options = options.parse_args()
    if any(glob.split(":")[0] not in ("timm", "transformers", "registry") for glob in options.globs):
        models.add_torchvision()
    if options.registry:
        models.add_registry(options.registry)
    warm_up()
    names = [name for name in models.MODELS if any(fnmatch.fnmatch(name, glob) for glob in options.globs)]
    if not names:
        sys.exit("no model has such a name")
    results = json.loads(options.json.read_text(encoding="utf-8")) if options.json and options.json.exists() else {}
    tasks = [(name, mode) for name in names for mode in options.modes.split(",") if f"{name} {mode}" not in results]
    running = {}
    with tempfile.TemporaryDirectory() as root:
        while tasks or running:
            while tasks and len(running) < options.jobs:
                name, mode = tasks.pop(0)
                folder = (options.keep or Path(root)) / f"{name.replace(':', '_')}_{mode}"
                folder.mkdir(parents=True, exist_ok=True)
                sys.stdout.flush()
                pid = os.fork()
                if pid == 0:
                    child(options.binary, name, mode, folder, folder / "outcome.json")
                running[pid] = (name, mode, folder)
            pid, status = os.wait()
            if pid not in running:
                continue
            name, mode, folder = running.pop(pid)
            report = folder / "outcome.json"
            outcome, detail = json.loads(report.read_text()) if report.exists() else ("crashed", f"status {status}")
            if not options.keep:
                shutil.rmtree(folder)
            print(f"{outcome:8} {name} {mode}: {detail}", flush=True)
            results[f"{name} {mode}"] = (outcome, detail)
            if options.json:
                options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    counts = collections.defaultdict(collections.Counter)
    for key, (outcome, _) in results.items():
        name, mode = key.split(" ")
        counts[f"{name.split(':')[0]} {mode}"][outcome] += 1
    for family, count in counts.items():
        print(f"{family}: " + ", ".join(f"{number} {outcome}" for outcome, number in count.most_common()))
    faulty = [key for key, (outcome, _) in results.items() if outcome in FAULTS or (options.all_right and outcome != "right")]
    sys.exit(1 if faulty else 0)


if __name__ == "__main__":
    main()
