"""Runs an ONNX model in a runtime: `python runtimes/run.py openvino model.onnx --inputs x.npz --outputs y.npz`.

The inputs are named as in the model, or i0, i1, ... in its order. With `--expected` (o0, o1, ... in the order of the outputs)
the result is compared. Prints one line: right, wrong, ran, refused (does not load) or failed (does not run), and the reason.
The exit code is 0 for right and ran, else 1.
"""
import argparse
import sys

import numpy as np
import onnx
from harness import environments, verdict
from harness.worker import Stopped, Worker


def input_names(path):
    """The names of the inputs that a user gives: not those with an initializer."""
    graph = onnx.load(path, load_external_data=False).graph
    given = {tensor.name for tensor in graph.initializer}
    return [value.name for value in graph.input if value.name not in given]


def numbered(path):
    """The arrays of a file with names such as i0, i1, ..., in order. The ending `.bf16` says that 16 bits are a bfloat16."""
    arrays = {name: array.view("bfloat16") if name.endswith(".bf16") else array for name, array in np.load(path).items()}
    return [arrays[name] for name in sorted(arrays, key=lambda name: int("".join(filter(str.isdigit, name.split(".")[0])) or 0))]


def inputs_of(model, path):
    names = input_names(model)
    if path is None:
        return {}
    arrays = dict(np.load(path))
    if set(names) <= set(arrays):
        return {name: arrays[name] for name in names}
    values = numbered(path)
    if len(values) != len(names):
        sys.exit(f"error: {path} has {len(values)} arrays, but the model has the inputs {', '.join(names)}")
    return dict(zip(names, values))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runtime")
    parser.add_argument("model")
    parser.add_argument("--inputs")
    parser.add_argument("--outputs", help="writes the outputs here, as o0, o1, ...")
    parser.add_argument("--expected", help="compares the outputs with these")
    parser.add_argument("--seconds", type=float, default=120, help="the time limit for loading, and for running (default: 120)")
    parser.add_argument("--memory", type=float, default=8, help="the limit of memory in GB (default: 8)")
    parser.add_argument("--times", type=int, default=1, help="runs the model so often, and prints the median time")
    args = parser.parse_args()
    try:
        worker = Worker(environments.find(args.runtime), args.seconds, args.memory)
    except (environments.UnknownRuntime, Stopped) as error:
        sys.exit(f"error: {error}")
    with worker:
        result = worker.run(args.model, inputs_of(args.model, args.inputs), args.times)
    found, reason = result.verdict, result.reason
    if found == "ran" and args.outputs:
        np.savez(args.outputs, **{f"o{index}": output for index, output in enumerate(result.outputs)})
    if found == "ran" and args.expected:
        found, reason = verdict.compare(result.outputs, numbered(args.expected), computes=worker.runtime.computes)
    time = f" in {np.median(result.seconds) * 1000:.3g} ms" if result.seconds else ""
    print(f"{found}{time}{': ' + reason if reason else ''}")
    sys.exit(0 if found in ("right", "ran") else 1)


if __name__ == "__main__":
    main()
