"""What the tests of `aten2onnx convert` share: they convert models, and compare the results in ONNX Runtime."""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.reference
import onnxruntime as ort
from onnx import TensorProto as T
from onnx import helper as h

BINARY = None
SCRATCH = None


def convert(model, opset, *options, fails=False):
    source, result = SCRATCH / "in.onnx", SCRATCH / "out.onnx"
    if isinstance(model, onnx.ModelProto):
        source.write_bytes(model.SerializeToString())
    else:
        source = model
    result.unlink(missing_ok=True)
    arguments = [BINARY, "convert", source, "-o", result, "--opset", opset, *options]
    run = subprocess.run([str(a) for a in arguments], capture_output=True, text=True)
    if fails:
        assert run.returncode == fails, f"exit code {run.returncode}: {run.stderr}"
        assert not result.exists(), "a failure left a file behind"
        return run.stderr
    assert run.returncode == 0, run.stderr
    onnx.checker.check_model(str(result), full_check=True)
    converted = onnx.load(result)
    assert next(o.version for o in converted.opset_import if o.domain == "") == opset
    return converted


def run(model, feeds, reference=False):
    if reference:
        return onnx.reference.ReferenceEvaluator(model).run(None, feeds)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, feeds)


def same(model, converted, feeds, reference=False):
    for a, b in zip(run(model, feeds, reference), run(converted, feeds, reference), strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape, (a.dtype, a.shape, b.dtype, b.shape)
        np.testing.assert_allclose(a, b, 1e-5, 1e-6)


def model(nodes, inputs, outputs, weights=(), opset=18, domains=(), ir=8, **more):
    graph = h.make_graph(nodes, "g", inputs, outputs, list(weights), **{k: more.pop(k) for k in ("value_info", "doc_string", "sparse_initializer") if k in more})
    imports = [h.make_opsetid("", opset), *[h.make_opsetid(d, v) for d, v in domains]]
    return h.make_model(graph, opset_imports=imports, ir_version=ir, **more)


def value(name, dtype=T.FLOAT, shape=("n", 3)):
    return h.make_tensor_value_info(name, dtype, shape)


def x(n=2, m=3):
    return np.random.default_rng(0).standard_normal((n, m)).astype(np.float32)


def names(model):
    return [n.name for n in model.graph.node]


def sequence(name, shape, dtype=T.FLOAT):
    return h.make_value_info(name, h.make_sequence_type_proto(h.make_tensor_type_proto(dtype, shape)))


def main(checks):
    """Runs the functions of a module whose names begin with `check_`."""
    global BINARY, SCRATCH
    BINARY = sys.argv[1]
    failed = False
    for name, check in sorted(checks.items()):
        if not name.startswith("check_"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            SCRATCH = pathlib.Path(folder)
            try:
                check()
                print(f"ok   {name[6:]}")
            except Exception as error:  # noqa: BLE001
                failed = True
                print(f"FAIL {name[6:]}: {type(error).__name__}: {error}")
    sys.exit(failed)
