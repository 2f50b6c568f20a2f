"""Runs the examples of the rules in a runtime, as an export for it writes them: `python runtimes/examples.py openvino`.

Each example is exported with the target of the runtime, run there, and compared with PyTorch, or for a lowering with the operator in ONNX
Runtime. Prints each that is not right, and the counts. `unexported` are examples that the exporter refuses, and `warned` those with
other numbers of which the export tells. The exit code is 1 if a result is wrong without a warning. `--out` keeps the results.
"""
import argparse
import collections
import itertools
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from harness import environments, example_cases, facts_file, verdict
from harness.worker import Stopped, Worker

import zoo

# What an export tells of outputs without dimensions.
SCALARS = "can have the shape [1]"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runtime", help="such as `openvino` or `openvino-2026.4.1`")
    parser.add_argument("rules", nargs="*", help="only examples of these overloads, operators and files: `aten::gelu Resize pool.opmap`")
    parser.add_argument("--exporter", default="aten2onnx", help="the command `aten2onnx`")
    parser.add_argument("--without-target", action="store_true", help="exports for ONNX Runtime, as to run the same file elsewhere")
    parser.add_argument("--out", type=Path, help="a file for the results, a JSON object for each example")
    parser.add_argument("--seconds", type=float, default=30, help="the time limit of a model (default: 30)")
    args = parser.parse_args()
    try:
        runtime = environments.find(args.runtime)
        target = "onnxruntime" if args.without_target else zoo.target_of(args.exporter, runtime)
        if target is None:
            raise Stopped(f"the exporter has no target for {runtime.name}")
        results = run(runtime, example_cases.examples(args.exporter, args.rules, target), args.seconds)
    except (environments.UnknownRuntime, Stopped, subprocess.CalledProcessError) as error:
        sys.exit(f"error: {error}")
    if args.out:
        args.out.write_text("".join(json.dumps(result) + "\n" for result in results))
    counts = collections.Counter(result["verdict"] for result in results)
    print(f"{runtime.name} {runtime.version}: " + ", ".join(f"{count} {kind}" for kind, count in counts.most_common()))
    sys.exit(1 if counts["wrong"] else 0)


def run(runtime, examples, seconds):
    """The results of examples. Prints those that are not right."""
    results = []
    examples = iter(examples)
    with Worker(runtime, seconds) as worker, tempfile.TemporaryDirectory() as folder:
        while batch := list(itertools.islice(examples, worker.models_at_once)):
            paths = [written(example, Path(folder, f"{index}.onnx")) for index, example in enumerate(batch)]
            worker.prepare([path for path in paths if path])
            for path, example in zip(paths, batch):
                found, reason = one(worker, path, example)
                results.append({"example": example.text, "op": example.op, "verdict": found, "reason": facts_file.short(reason)})
                if found != "right":
                    print(f"{found:10} {example.text}: {facts_file.short(reason)}", flush=True)
    return results


def written(example, path):
    """The file of an example, or nothing if it is not exported."""
    if example.model is None:
        return None
    path.write_bytes(example.model)
    return path


def one(worker, path, example):
    """The verdict on an example, and the reason."""
    if path is None:
        return "unexported", example.refused
    result = worker.run(path, example.inputs)
    if result.verdict != "ran":
        return result.verdict, result.reason
    return compare(result.outputs, example, worker.runtime.computes)


def compare(got, example, computes):
    """Like `verdict.compare`. Where several results are correct, and where the table of differences accepts others, these are right.

    What an export tells is `warned`. A note about outputs without dimensions says nothing of their numbers.
    """
    if len(got) != len(example.expected):
        return verdict.compare(got, example.expected)
    got = [in_complex(mine, want) for mine, want in zip(got, example.expected)]
    found, reason = verdict.compare(got, example.expected, computes=computes)
    if found in ("right", "nonfinite"):
        return found, reason
    like = [np.asarray(mine).astype(want.dtype) if mine.shape == want.shape else mine for mine, want in zip(got, example.expected)]
    if example_cases.is_accepted(example, like):
        return "right", ""
    notes = [note for note in example.notes if SCALARS not in note]
    shaped = [mine.reshape(want.shape) if (mine.shape, want.shape) == ((1,), ()) else mine for mine, want in zip(got, example.expected)]
    is_shape = len(notes) < len(example.notes) and verdict.compare(shaped, example.expected, computes=computes)[0] == "right"
    told = example.notes if is_shape else notes
    return ("warned", f"{reason}; {told[0]}") if told else (found, reason)


def in_complex(got, want):
    """Complex numbers are pairs of real ones in a model."""
    if want.dtype.kind != "c" or got.shape != (*want.shape, 2):
        return got
    return got[..., 0] + want.dtype.type(1j) * got[..., 1]


if __name__ == "__main__":
    main()
