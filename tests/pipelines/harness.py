"""What the tests of parts, joined and edited models share: they run the command, and models in ONNX Runtime."""
import pathlib
import subprocess
import sys
import tempfile
import traceback

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T
from onnx import helper as h

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(sys.argv[1])
#: Removed at the end of the process.
_FOLDER = tempfile.TemporaryDirectory(prefix="pipelines-")
SCRATCH = pathlib.Path(_FOLDER.name)


def command(*arguments, fails=0, cwd=None):
    """Runs the command and returns what it says."""
    run = subprocess.run([str(BINARY), *map(str, arguments)], capture_output=True, text=True, cwd=cwd)
    assert run.returncode == fails, f"{' '.join(map(str, arguments))}: exit code {run.returncode}: {run.stderr}"
    if fails > 2:
        assert run.stderr.startswith("error: ") and "help:" in run.stderr, f"an error says what to do: {run.stderr}"
    return run.stderr + run.stdout


def saved(model, name="in.onnx"):
    path = SCRATCH / name
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_bytes(model.SerializeToString())
    return path


def checked(path):
    """A model that the command wrote, without its external data."""
    onnx.checker.check_model(str(path), full_check=True)
    return onnx.load(path, load_external_data=False)


def session(path, optimized=False):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    if not optimized:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def run(path, feeds, optimized=False):
    """The outputs by name."""
    opened = session(path, optimized)
    wanted = [node.name for node in opened.get_inputs()]
    names = [node.name for node in opened.get_outputs()]
    return dict(zip(names, opened.run(names, {name: feeds[name] for name in wanted if name in feeds})))


def same(a, b):
    assert a.keys() == b.keys(), (a.keys(), b.keys())
    for name in a:
        identical(name, a[name], b[name])


def identical(name, a, b):
    if isinstance(a, list):
        assert len(a) == len(b), name
        for one, other in zip(a, b):
            identical(name, one, other)
        return
    if a is None or b is None:
        assert a is b, name
        return
    a, b = np.asarray(a), np.asarray(b)
    assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes(), f"{name} differs: {a} {b}"


def model(nodes, inputs, outputs, weights=(), opset=18, domains=(), ir=8, **more):
    graph = h.make_graph(nodes, "g", inputs, outputs, list(weights), **{k: more.pop(k) for k in ("value_info", "doc_string", "sparse_initializer") if k in more})
    imports = [h.make_opsetid("", opset), *[h.make_opsetid(d, v) for d, v in domains]]
    return h.make_model(graph, opset_imports=imports, ir_version=ir, **more)


def value(name, dtype=T.FLOAT, shape=("n", 3)):
    return h.make_tensor_value_info(name, dtype, shape)


def names(values):
    return [value.name for value in values]


def main(checks):
    """Runs all functions of a module whose names begin with `check_`, or those that are named."""
    wrong = 0
    for name, check in list(checks.items()):
        if not name.startswith("check_") or len(sys.argv) > 2 and name not in sys.argv[2:]:
            continue
        try:
            check()
            print("ok", name)
        except Exception:
            wrong += 1
            print("WRONG", name)
            traceback.print_exc(file=sys.stdout)
    sys.exit(bool(wrong))
