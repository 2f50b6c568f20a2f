"""The right outputs of cases: what ONNX Runtime and onnx's reference evaluator agree on.

Where one of them cannot run a case, the other decides. A case on which they disagree, or that neither runs, is left out. The
judged cases are kept beside the environments, because every runtime is measured with the same ones: those of the onnx package, those
of `forms/` and the examples of lowerings apart.
"""
import dataclasses
import hashlib
import json
import pickle
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from . import cases, environments, example_cases, form_cases, verdict
from .worker import Worker

JUDGE = "onnxruntime-1.31.1"


def judged(only=None, exporter=None):
    """Returns the cases (of some operators) whose outputs are known. The exporter writes the examples of lowerings; without it there are none."""
    forms = sorted(form_cases.FOLDER.glob("*.toml"))
    found = judged_set("cases", cases.all_cases, contents([cases.__file__]), only)
    found += judged_set("forms", form_cases.all_cases, contents([form_cases.__file__, cases.__file__, *forms]), only)
    if exporter:
        written = example_cases.written(exporter, [], None)
        found += judged_set("lowerings", lambda only: example_cases.all_cases(written, only), contents([example_cases.__file__]) + json.dumps(written).encode(), only)
    return found


def judged_set(name, all_cases, source, only):
    """The judged cases of a set. They are judged again if their source has changed."""
    digest = hashlib.sha256(source + contents([__file__])).hexdigest()[:12]
    kept = environments.folder() / f"{name}-{onnx.__version__}-{digest}.pickle"
    if kept.exists():
        found = pickle.loads(kept.read_bytes())
    else:
        found = list(judge(all_cases(only)))
        if only is None:
            kept.write_bytes(pickle.dumps(found))
    return [case for case in found if only is None or case.op in only]


def contents(files):
    return b"".join(Path(file).read_bytes() for file in files)


def judge(unjudged):
    with Worker(environments.find(JUDGE), seconds=30) as worker, tempfile.TemporaryDirectory() as folder:
        model = Path(folder, "model.onnx")
        for case in unjudged:
            model.write_bytes(case.model)
            ran = worker.run(model, case.inputs)
            outputs = agreed(case, ran.outputs if ran.verdict == "ran" else None, evaluate(case))
            if outputs is not None:
                yield dataclasses.replace(case, expected=outputs, model=without_false_shapes(case.model, outputs))


def without_false_shapes(serialized, outputs):
    """The model without declared shapes of outputs that are not theirs: onnx infers some wrongly (STFT)."""
    model = onnx.ModelProto.FromString(serialized)
    false = [value for value, output in zip(model.graph.output, outputs) if not agrees(value.type.tensor_type, output.shape)]
    for value in false:
        value.type.tensor_type.ClearField("shape")
    return model.SerializeToString() if false else serialized


def agrees(tensor_type, shape):
    if not tensor_type.HasField("shape"):
        return True
    dims = tensor_type.shape.dim
    return len(dims) == len(shape) and all(dim.dim_value == size for dim, size in zip(dims, shape) if dim.HasField("dim_value"))


def evaluate(case):
    """The outputs of onnx's reference evaluator, if it runs the case."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return [np.asarray(output) for output in ReferenceEvaluator(onnx.ModelProto.FromString(case.model)).run(None, case.inputs)]
    except Exception:
        return None


def agreed(case, runtime, reference):
    """The outputs that two of the test, ONNX Runtime and the evaluator agree on, or that the only one has."""
    opinions = [opinion for opinion in (case.expected, runtime, reference) if opinion is not None]
    if len(opinions) == 1:
        return opinions[0]
    for index, opinion in enumerate(opinions):
        if any(verdict.compare(other, opinion, case.rtol, 1e-4) == ("right", "") for other in opinions[index + 1 :]):
            return opinion
    return None
