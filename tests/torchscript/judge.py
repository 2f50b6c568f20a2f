"""Runs exported TorchScript samples in ONNX Runtime and compares with what PyTorch computed.

    python tests/torchscript/judge.py SAMPLES EXPORTED

SAMPLES has `NAME.npz` with inputs and results, and `index.json`; EXPORTED has models and `jobs.json`, as `samples.rs` writes them. Each sample
is `right`, `specialised` (right, with a file for each case), `refused` with the reason, `wrong` or `failed`. Samples that are not as
`expected.json` says fail the test.
"""

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import onnx.reference
import onnxruntime as ort

ORDER = ["right", "specialised", "refused", "failed", "wrong"]
DTYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64, "tensor(bool)": np.bool_}


def is_tensor(value):
    return isinstance(value, dict) and "t" in value


def leaves(value, data, constants):
    """The arrays in a value; numbers only if they are inputs."""
    if is_tensor(value):
        array = data[value["t"]]
        if value["dtype"] == "bfloat16":
            array = (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
        return [array]
    if value is None:
        return []
    kind, inner = next(iter(value.items()))
    if kind in ("list", "tuple"):
        return [leaf for item in inner for leaf in leaves(item, data, constants)]
    if kind == "dict":
        return [leaf for _, item in inner for leaf in leaves(item, data, constants)]
    if kind == "str" or not constants:
        return []
    return [np.array(inner)]


def run(model, case, data, literal, quantized):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    if quantized:  # its fusions round in other places
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except ort.capi.onnxruntime_pybind11_state.NotImplemented:
        session = Reference(model)  # ONNX Runtime has no convolution of float64
    given = [leaf for value in case["inputs"] for leaf in leaves(value, data, not literal)]
    ports = session.get_inputs()
    if len(given) != len(ports):
        raise ValueError(f"the model has the inputs {[port.name for port in ports]}, {len(given)} are given")
    feed = {}
    for port, array in zip(ports, given):
        feed[port.name] = array.astype(DTYPES[port.type]) if array.shape == () and port.type in DTYPES else array
        if port.type == "tensor(bfloat16)":
            feed[port.name] = array.astype(ml_dtypes.bfloat16)
    return session.run(None, feed)


class Reference:
    """onnx's own evaluator with the interface of a session."""

    def __init__(self, model):
        self.evaluator = onnx.reference.ReferenceEvaluator(model)

    def get_inputs(self):
        names = {value: f"tensor({key})" for key, value in {"float": 1, "double": 11, "int64": 7, "bool": 9, "bfloat16": 16}.items()}
        ports = self.evaluator.proto_.graph.input
        return [SimpleNamespace(name=port.name, type=names.get(port.type.tensor_type.elem_type, "")) for port in ports]

    def run(self, _, feed):
        return self.evaluator.run(None, feed)


def difference(found, expected):
    if found.shape != expected.shape:
        return f"shape {found.shape} instead of {expected.shape}"
    if expected.dtype.kind in "biu":
        return None if np.array_equal(found.astype(np.int64), expected.astype(np.int64)) else f"{found} instead of {expected}"
    tolerance = {np.float16: 2e-2, ml_dtypes.bfloat16: 5e-2}.get(found.dtype.type, 2e-4)
    found, expected = found.astype(np.complex128), expected.astype(np.complex128)
    if np.allclose(found, expected, rtol=tolerance, atol=tolerance, equal_nan=True):
        return None
    return f"differs by {np.nanmax(np.abs(found - expected))}"


def judged(job, data):
    if job.get("error"):
        kind = job["error"].split(":")[0]
        return ("refused" if kind in ("Input", "Unsupported") else "failed"), job["error"]
    for case in job["cases"]:
        try:
            found = run(job["model"], case, data, job["literal"], job["name"].startswith("quantized"))
        except Exception as error:
            return "failed", str(error).splitlines()[0]
        expected = leaves(case["output"], data, True)
        if len(found) != len(expected):
            return "wrong", f"{len(found)} results instead of {len(expected)}"
        for index, (a, b) in enumerate(zip(found, expected)):
            reason = difference(np.asarray(a), b)
            if reason:
                return "wrong", f"result {index}: {reason}"
    return ("specialised" if job["literal"] and job.get("shared_error") else "right"), job.get("shared_error") or ""


def main(samples, exported):
    samples, exported = Path(samples), Path(exported)
    outcomes = {}
    for job in json.loads((exported / "jobs.json").read_text(encoding="utf-8")):
        path = samples / f"{job['name']}.npz"
        data = np.load(path) if path.exists() else {}
        outcome, detail = judged(job, data)
        key = (job["opset"], job["name"])
        before = outcomes.get(key, ("right", []))
        worst = max(before[0], outcome, key=ORDER.index)
        outcomes[key] = (worst, before[1] + ([detail] if detail and detail not in before[1] else []))
    expected = json.loads((samples / "expected.json").read_text(encoding="utf-8")) if (samples / "expected.json").exists() else None
    faults = 0
    for (opset, name), (outcome, details) in sorted(outcomes.items()):
        wanted = expected.get(name, "right") if expected is not None else None
        wanted = wanted.get(str(opset), "right") if isinstance(wanted, dict) else wanted
        differs = expected is not None and outcome != wanted
        faults += differs
        if differs or os.environ.get("VERBOSE"):
            print(f"{opset} {name}: {outcome}{f', expected {wanted}' if differs else ''}{': ' + '; '.join(details) if details else ''}")
    for opset in sorted({opset for opset, _ in outcomes}):
        counts = {kind: sum(1 for key, (outcome, _) in outcomes.items() if key[0] == opset and outcome == kind) for kind in ORDER}
        print(f"opset {opset}: " + ", ".join(f"{count} {kind}" for kind, count in counts.items() if count))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
