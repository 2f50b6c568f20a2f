"""The right outputs of cases: what ONNX Runtime and onnx's reference evaluator agree on.

Where one of them cannot run a case, the other decides. A case on which they disagree, or that neither runs, is left out. The
judged cases are kept beside the environments, because every runtime is measured with the same ones: those of the onnx package and
those of `forms/` apart.
"""
import dataclasses
import hashlib
import pickle
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from . import cases, environments, form_cases, verdict
from .worker import Worker

JUDGE = "onnxruntime-1.31.1"


def judged(only=None):
    """Returns the cases (of some operators) whose outputs are known."""
    forms = sorted(form_cases.FOLDER.glob("*.toml"))
    sets = [("cases", cases, []), ("forms", form_cases, [cases.__file__, *forms])]
    return [case for name, module, others in sets for case in judged_set(name, module, others, only)]


def judged_set(name, module, others, only):
    kept = environments.folder() / f"{name}-{onnx.__version__}-{digest([module.__file__, __file__, *others])}.pickle"
    if kept.exists():
        found = pickle.loads(kept.read_bytes())
    else:
        found = list(judge(module.all_cases(only)))
        if only is None:
            kept.write_bytes(pickle.dumps(found))
    return [case for case in found if only is None or case.op in only]


def digest(files):
    """Changes with the files that make and judge cases."""
    return hashlib.sha256(b"".join(Path(file).read_bytes() for file in files)).hexdigest()[:12]


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
