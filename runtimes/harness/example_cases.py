"""The examples of the rules: models that `aten2onnx try --models` writes, with inputs and what PyTorch or the operator itself gives.

`examples` are models for a target. `all_cases` are the operators of all lowerings, for the facts of a runtime. Inputs and right results
are those of `src/examples/src/judge.py`, which the tests of the rules use. Results are kept beside the environments.
"""
import concurrent.futures
import dataclasses
import hashlib
import json
import multiprocessing
import pickle
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import onnx

from . import environments
from .cases import OLDEST, Case, schemas

FORM = "example"
REPOSITORY = environments.ROOT.parent
JUDGE = REPOSITORY / "src/examples/src"
EXPECTED_FAILURES = REPOSITORY / "tests/examples/expected_failures.txt"
sys.path.insert(0, str(JUDGE))
# The harness passes numbers, and the judge has one input for a complex tensor where a model has pairs of numbers.
LEFT_OUT = {"str", "c64", "c128"}


@dataclasses.dataclass
class Example:
    """An example with its model for a runtime."""

    text: str
    op: str
    model: bytes | None
    refused: str | None
    notes: list
    inputs: dict
    expected: list
    record: dict


def examples(exporter, rules, target):
    """The examples of rules (all if there are none) as they are written for a target.

    Those whose results are random are left out, and those whose results ONNX Runtime does not give.
    """
    general = general_notes(target)
    failing = {line.partition(" => ")[0].split(maxsplit=2)[2] for line in EXPECTED_FAILURES.read_text().splitlines() if line and line[0] != "#"}
    records = [record for record in written(exporter, rules, target) if is_plain(record) and record["text"] not in failing]
    for record, (inputs, expected) in zip(records, right_results(records)):
        if expected is None:
            continue
        model = bytes.fromhex(record["models"][0]["hex"]) if record["models"] else None
        named = fed(model, inputs) if model else {}
        notes = [note for note in record["notes"] if note not in general]
        yield Example(record["text"], record["op"], model, record["refused"], notes, named, expected, record)


def general_notes(target):
    """What each export for a target tells: it says nothing of an example."""
    paths = [environments.TARGETS / f"{name}.toml" for name in (target, target.rpartition("-")[0])]
    path = next(path for path in paths if path.exists())
    releases = tomllib.loads(path.read_text())["release"]
    return {f"{path.stem}-{release['name']}: {release['note']}" for release in releases if "note" in release}


def is_plain(record):
    return not any(spec["dtype"] in LEFT_OUT for spec in record["inputs"])


def written(exporter, rules, target):
    """What the exporter writes of the examples."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "examples.jsonl")
        command = [exporter, "try", "--rules", str(REPOSITORY / "mappings"), *rules, "--models", str(path)]
        subprocess.run([*command, *(["--target", target] if target else [])], check=True, stdout=subprocess.DEVNULL)
        return [json.loads(line) for line in path.read_text().splitlines()]


def all_cases(written, only=None):
    """The cases of what the exporter writes of lowerings: each operator as it is, at all its versions that have the same form."""
    import judge

    for record in written:
        if only is not None and record["op"] not in only or not is_plain(record):
            continue
        model = bytes.fromhex(record["models"][0]["hex"])
        inputs = fed(model, judge.make_inputs(record))
        dtype = next(iter(inputs.values())).dtype.name if inputs else ""
        for schema in schemas(record["op"]):
            if there := at_version(model, schema.since_version):
                yield Case(record["op"], schema.since_version, dtype, FORM, record["text"].removeprefix("example "), there, inputs, None, 1e-3, 1e-7)


def at_version(serialized, since):
    """The model in the first opset of a version of its operator, or nothing if the operator has no such form there."""
    model = onnx.ModelProto.FromString(serialized)
    opset = max(since, OLDEST)
    if model.opset_import[0].version < opset:
        return None
    model.opset_import[0].version = opset
    try:
        onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
        onnx.checker.check_model(model)
    except Exception:
        return None
    return model.SerializeToString()


def fed(model, inputs):
    """The inputs that a model has: it has none that its operator does not use."""
    names = [value.name for value in onnx.ModelProto.FromString(model).graph.input]
    return {f"x{index}": array for index, array in enumerate(inputs) if f"x{index}" in names}


def right_results(records):
    """The inputs and right results of records, or no results where they are random or nothing gives them."""
    kept = environments.folder() / f"examples-{digest_of_judge()}.pickle"
    known = pickle.loads(kept.read_bytes()) if kept.exists() else {}
    missing = {key(record): json.dumps(record) for record in records if key(record) not in known}
    if missing:
        spawn = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(2, spawn, warm_up) as pool:
            known |= zip(missing, pool.map(answer, missing.values(), chunksize=16))
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(pickle.dumps(known))
    return [known[key(record)] for record in records]


def digest_of_judge():
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(JUDGE.glob("*.py")))).hexdigest()[:12]


def key(record):
    """What the inputs and results depend on."""
    return hashlib.sha256(json.dumps([record[name] for name in ("text", "op", "args", "inputs", "native")]).encode()).hexdigest()


def warm_up():
    import judge

    judge.warm_up([])


def answer(line):
    import warnings

    import judge

    warnings.simplefilter("ignore")
    record = json.loads(line)
    inputs = judge.make_inputs(record)
    try:
        if record["native"]:
            expected, _ = judge.run_model(bytes.fromhex(record["native"]["hex"]), record["native"]["opset"], inputs)
            return inputs, expected
        expected, is_random = judge.run_torch(record, inputs)
        return inputs, None if is_random else expected
    except Exception:
        return inputs, None


def is_accepted(example, got):
    """Whether other results than the expected ones are correct too: of operators with several, and by the table of differences."""
    import judge

    record = {**example.record, "excused": True}
    inputs = judge.make_inputs(record)
    return judge.fault(record, inputs, example.expected, got, False)[0] is None
