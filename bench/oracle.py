#!/usr/bin/env python3
"""Measures what the judge of examples spends its time on, and what a call costs that libtorch runs without Python.

    ATEN2ONNX_PYTHON=bench/oracle.py aten2onnx try aten::gelu aten::sort ...

`aten2onnx` starts this program as its Python interpreter, with the judge, its cases and the file for verdicts as arguments. The
verdicts are those of the judge. Needs the packages of tests/requirements.txt in the `python3` of the PATH. Times go to stderr:

- importing torch, onnx and onnxruntime, once for all cases;
- running the models that were exported, with the checks of onnx;
- running PyTorch, by `torch.ops`;
- the same calls as TorchScript archives, loaded and run by libtorch. `tch` can reach an operator by its name only so.
"""
import importlib
import io
import json
import os
import sys
import time
from collections import Counter

spent = Counter()


def timed(name, function):
    def run(*args, **kwargs):
        start = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            spent[name] += time.perf_counter() - start
    return run


def archive(op, args):
    """A TorchScript archive of one call, and its tensors; None if an argument has no literal."""
    import torch
    given = [argument for argument in op._schema.arguments if argument.name in args]
    tensors = {a.name: args[a.name] for a in given if isinstance(args[a.name], torch.Tensor)}
    words = []
    for place, argument in enumerate(given):
        value = args[argument.name]
        if argument.name not in tensors and not isinstance(value, (bool, int, float, str, type(None))) and \
                not (isinstance(value, list) and all(isinstance(v, (bool, int, float)) for v in value)):
            return None
        word = f"a_{argument.name}" if argument.name in tensors else repr(value)
        # Arguments before it may be left out.
        in_place = op._schema.arguments[place].name == argument.name and not argument.kwarg_only
        words.append(word if in_place else f"{argument.name}={word}")
    names = "".join(f", a_{name}: Tensor" for name in tensors)
    call = f"torch.ops.{op._schema.name.replace('::', '.')}({', '.join(words)})"
    module = type("Call", (torch.jit.ScriptModule,), {})()
    try:
        module.define(f"def forward(self{names}):\n    return {call}\n")
    except RuntimeError:
        # The schema has several overloads that take these arguments, or infinite numbers.
        return None
    file = io.BytesIO()
    torch.jit.save(module, file)
    return file.getvalue(), list(tensors.values())


def both_ways(judge, line):
    """Runs a call by `torch.ops` and by an archive. Returns whether it could."""
    import torch
    record = json.loads(line)
    if record.get("native") or record["op"].partition("::")[0] in judge.PYTHON:
        return False
    op = judge.find_operator(record["op"])
    args = judge.operator_arguments(op, record, judge.make_inputs(record))
    made = archive(op, args)
    if made is None:
        return False
    timed("torch.ops", op)(**args)
    data, tensors = made
    timed("archive", lambda: torch.jit.load(io.BytesIO(data))(*tensors))()
    return True


def main(program, cases, verdicts, *modules):
    sys.path.insert(0, os.path.dirname(program))
    judge = importlib.import_module("judge")
    timed("import", judge.warm_up)(modules)
    judge.run_torch = timed("torch", judge.run_torch)
    judge.run_model = timed("models", judge.run_model)
    with open(cases) as file:
        lines = file.read().splitlines()
    with open(verdicts, "w") as out:
        for line in lines:
            print(timed("judge", judge.judge)(line), file=out)
    calls = sum(both_ways(judge, line) for line in lines)
    each = {name: 1e6 * spent[name] / max(calls, 1) for name in ("torch.ops", "archive")}
    print(
        f"imports {spent['import']:.2f} s; {len(lines)} examples {spent['judge']:.2f} s: models {spent['models'] / spent['judge']:.0%}, "
        f"PyTorch {spent['torch'] / spent['judge']:.1%}; {calls} calls: torch.ops {each['torch.ops']:.0f} us, "
        f"an archive {each['archive']:.0f} us each ({each['archive'] / each['torch.ops']:.0f} times)", file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
