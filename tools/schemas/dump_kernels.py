"""Writes kernels.txt: the dtypes that PyTorch's CPU kernels take.

    pip install torch==2.13.0 torchvision==0.28.0 torchao==0.18.0
    cargo run -p aten2onnx-codegen -- examples > examples.json
    python tools/schemas/dump_kernels.py < examples.json            # write the file
    python tools/schemas/dump_kernels.py --check < examples.json    # fail if the file differs

Each example of each rule runs with each dtype in place of that of its first tensor.
"""

import itertools
import json
import multiprocessing
import sys
import warnings
from pathlib import Path

import numpy as np
import torch

from dump_promotion import DTYPES, TORCH
from snapshot import finish

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src/examples/src"))
import judge  # noqa: E402

HEADER = f"""\
# The dtypes that PyTorch's CPU kernels take: torch {TORCH}. Refresh: see tools/schemas/dump_kernels.py
#
#   OVERLOAD DTYPE ..    some example of the overload runs with the dtype in place of that of its first tensor. An overload that runs
#                        with none (a kernel for another device), or has no tensors, has no line.
"""


def with_indices(value, example, specs):
    """A value as `judge` wants it: tensors by their index among the inputs."""
    ((kind, content),) = value.items()
    if kind in ("tensor", "literal"):
        sizes = [example["with"].get(size, size) for size in content["sizes"]]
        specs.append({"range": None, **content, "sizes": sizes})
        return {"tensor": len(specs) - 1}
    if kind == "list":
        return {"list": [with_indices(item, example, specs) for item in content]}
    if kind == "name" and content in example["with"]:
        return {"int": example["with"][content]}
    return value


def numbers(elements):
    return [float(x) for x in elements]


def tensors(specs, changed, dtype):
    """The inputs, some with another dtype."""
    rng = np.random.default_rng(0)
    made = []
    for i, spec in enumerate(specs):
        if spec.get("elements") is not None:
            spec = {**spec, "elements": numbers(spec["elements"])}
        own = judge.to_torch(judge.make_input(spec, rng))
        made.append(own.to(dtype) if i in changed else own)
    return made


def runs(example, dtype):
    """Whether an example runs with a dtype: that of its first tensor alone, or of all tensors like it."""
    specs = []
    args = [(arg["name"], with_indices(arg["value"], example, specs)) for arg in example["args"]]
    if not specs:
        return False
    like = {i for i, spec in enumerate(specs) if spec["dtype"] == specs[0]["dtype"]}
    for changed in ({0}, like):
        try:
            record = {"op": example["op"], "args": args}
            op = judge.find_operator(example["op"])
            op(**judge.operator_arguments(op, record, tensors(specs, changed, dtype)))
            return True
        except Exception:
            continue
    return False


def taken(examples, dtypes, sink):
    """Sends each dtype, and whether some example runs with it."""
    torch.set_num_threads(1)
    for name in dtypes:
        sink.send((name, any(runs(example, getattr(torch, name)) for example in examples)))
    sink.close()


def dtypes_of(examples):
    """The dtypes of an overload. A kernel that ends the process does not take the dtype."""
    left, found = list(DTYPES), []
    while left:
        source, sink = multiprocessing.get_context("fork").Pipe(duplex=False)
        child = multiprocessing.get_context("fork").Process(target=taken, args=(examples, left, sink))
        child.start()
        sink.close()
        try:
            while True:
                name, works = source.recv()
                left.remove(name)
                found += [name] * works
        except EOFError:
            child.join()
            left = left[1:] if left else left
    return found


def main():
    assert torch.__version__.split("+")[0] == TORCH, f"expected torch {TORCH}, found {torch.__version__}"
    warnings.simplefilter("ignore")
    examples = [json.loads(line) for line in sys.stdin]
    rules = [e for e in examples if e["kind"] == "map" and e["op"].partition("::")[0] not in judge.PYTHON]
    rules.sort(key=lambda e: e["op"])
    lines = []
    for overload, group in itertools.groupby(rules, key=lambda e: e["op"]):
        group = list(group)
        try:
            judge.find_operator(overload)
        except (AttributeError, ImportError):
            print(f"there is no `{overload}` here", file=sys.stderr)
            continue
        found = dtypes_of(group)
        if found:
            lines.append(" ".join([overload, *found]))
    finish(__doc__, {"kernels.txt": HEADER + "\n" + "\n".join(lines) + "\n"})


if __name__ == "__main__":
    main()
