"""Runs judged cases in a runtime. What was measured is kept in a file, so that a measurement that was stopped goes on.

A record is of a case as it was: a case that has changed is measured again.
"""
import hashlib
import json
import pickle
import tempfile
from pathlib import Path

import numpy as np
import onnx

from . import environments, facts_file, verdict
from .worker import Worker


def measure(runtime, cases, seconds=30.0, say=print):
    """Runs the cases that were not measured before. Returns the results of all, by key."""
    results = {}
    if kept(runtime).exists():
        for line in kept(runtime).read_text().splitlines():
            record = json.loads(line)
            results[tuple(record.pop("key"))] = record
    missing = [case for case in cases if results.get(key(case), {}).get("digest") != digest(case)]
    with Worker(runtime, seconds) as worker, tempfile.TemporaryDirectory() as folder, open(kept(runtime), "a") as file:
        at_once = worker.models_at_once
        for start in range(0, len(missing), at_once):
            if start % 1000 < at_once:
                say(f"{runtime.name}: {start} of {len(missing)} cases")
            cases_now = missing[start : start + at_once]
            paths = [written(case, Path(folder, f"{start + index}.onnx")) for index, case in enumerate(cases_now)]
            worker.prepare(paths)
            for path, case in zip(paths, cases_now):
                record = {**run(worker, path, case), "digest": digest(case)}
                results[key(case)] = record
                file.write(json.dumps({"key": key(case), **record}) + "\n")
                file.flush()
                path.unlink()
    return {key(case): results[key(case)] for case in cases}


def kept(runtime):
    """The file of what was measured in a runtime."""
    return environments.folder() / f"measured-{runtime.name}-{runtime.version}.jsonl"


def digest(case):
    """Changes with the model, its inputs and the right outputs."""
    return hashlib.sha256(case.model + pickle.dumps((case.inputs, case.expected))).hexdigest()[:12]


def key(case):
    return case.op, case.since, case.dtype, case.form, case.name


def written(case, path):
    """The file of a case, which is written."""
    path.write_bytes(case.model)
    return path


def run(worker, path, case):
    """The verdict on a case, whose model is in a file: right, wrong, refused or failed, and the reason."""
    result = worker.run(path, case.inputs)
    found, reason = result.verdict, result.reason
    if found == "ran":
        found, reason = verdict.compare(result.outputs, case.expected, case.rtol, computes=worker.runtime.computes)
    return {"verdict": found, "reason": reason}


def sample(cases, count, forms, opset, dtypes=None):
    """At most `count` cases of each operator, version, dtype and form; with an opset, only the versions in force in it. An opset and dtypes
    choose among the cases made of onnx's node tests. Those that people write are few."""
    seen = {}
    for case in cases:
        is_written = case.form in facts_file.WRITTEN
        if forms and case.form not in forms:
            continue
        if not is_written and (opset and case.since != in_force(case.op, opset) or dtypes and case.dtype not in dtypes):
            continue
        group = key(case)[:4]
        seen[group] = seen.get(group, 0) + 1
        if count is None or seen[group] <= count:
            yield case


def has_outside(case, dtypes):
    """Whether an input of the model or an output that is right has one of these dtypes."""
    return any(array.dtype.name in dtypes for array in [*case.inputs.values(), *(case.expected or [])])


def in_force(op, opset):
    try:
        return onnx.defs.get_schema(op, opset, "").since_version
    except onnx.defs.SchemaError:
        return None
