"""Exports programs of torch.export and compares the results in ONNX Runtime with those of PyTorch.

    judge.py PATH-OF-aten2onnx [--opsets 9,18] [--theme control_flow] [--every 3] [PATTERN ...]

--every takes about one program of so many, by a sum of its name: torch.export takes most of the time. With DIALECT=all it takes all. Prints a line for each program that fails, and exits with 1 if there is one.
"""
import argparse
import collections
import contextlib
import copy
import fnmatch
import importlib
import io
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import types
import warnings
import zlib
from pathlib import Path

os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = "0"
warnings.simplefilter("ignore")

import numpy as np
import onnx
import onnx.reference
import onnxruntime as ort
import torch


logging.getLogger("torch").setLevel(logging.CRITICAL)

RTOL = 1e-4
THEMES = ["control_flow", "symbolic", "mutations", "signature", "samples", "dtypes", "vectors"]


def flat(result):
    leaves = torch.utils._pytree.tree_leaves(result)
    return [leaf if torch.is_tensor(leaf) else torch.tensor(leaf) for leaf in leaves if leaf is not None and not isinstance(leaf, str)]


def array(tensor):
    """Converts a tensor to NumPy, with complex numbers as pairs."""
    tensor = tensor.detach().resolve_neg()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    return tensor.float().numpy() if tensor.dtype == torch.bfloat16 else tensor.numpy()


def session(path):
    onnx.checker.check_model(onnx.load(path), full_check=True)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    try:
        return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except ort.capi.onnxruntime_pybind11_state.NotImplemented:
        return Reference(path)


class Reference:
    """ONNX's reference evaluator with the interface of a session, for types that ONNX Runtime lacks on the CPU (bfloat16)."""

    def __init__(self, path):
        self.evaluator = onnx.reference.ReferenceEvaluator(path)
        self.inputs = {i.name: i.type.tensor_type.elem_type for i in self.evaluator.proto_.graph.input}

    def get_inputs(self):
        return [types.SimpleNamespace(name=name) for name in self.inputs]

    def run(self, _, feeds):
        dtypes = {name: onnx.helper.tensor_dtype_to_np_dtype(kind) for name, kind in self.inputs.items()}
        outputs = self.evaluator.run(None, {name: value.astype(dtypes[name]) for name, value in feeds.items()})
        return [o.astype(np.float32) if o.dtype.name == "bfloat16" else o for o in outputs]


def compare(model, inputs, wanted, tolerance=RTOL):
    given = flat(inputs)
    names = [i.name for i in model.get_inputs()]
    if len(given) > len(names):
        # Symbolic numbers are inputs, others are constants.
        given = [t for t in torch.utils._pytree.tree_leaves(inputs) if torch.is_tensor(t)]
    feeds = {name: array(t) for name, t in zip(names, given)}
    equal(model.run(None, feeds), wanted, tolerance)


def equal(got, wanted, tolerance=RTOL):
    if len(got) != len(wanted):
        raise AssertionError(f"expected {len(wanted)} outputs, found {len(got)}")
    for index, (g, w) in enumerate(zip(got, wanted)):
        w = array(w)
        if g.dtype != w.dtype or g.shape != w.shape or not np.allclose(g, w, tolerance, tolerance / 10, equal_nan=True):
            raise AssertionError(f"output {index}: expected {w.dtype}{list(w.shape)} {w.ravel()[:8]}, found {g.dtype}{list(g.shape)} {g.ravel()[:8]}")


def save(case, path):
    if case.path:
        shutil.copy(case.path, path)
        return None if case.refused else load(case)
    with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        program = torch.export.export(case.module, case.inputs, case.kwargs, dynamic_shapes=case.shapes, strict=case.strict)
        if case.decomposed:
            program = program.run_decompositions({})
        torch.export.save(program, path)
    return program


def load(case):
    """Loads an archive, with the example inputs that torch stored in it."""
    program = torch.export.load(case.path)
    case.module = program.module()
    case.inputs, case.kwargs = program.example_inputs
    return program


def allowed(case, program, inputs):
    """Returns PyTorch's results for other inputs, or None if the program of torch.export fails or gives other results."""
    wanted = run(copy.deepcopy(case.module), inputs, case.kwargs)
    try:
        theirs = run(copy.deepcopy(program.module()), inputs, case.kwargs)
        equal([array(t) for t in theirs], wanted, case.tolerance)
    except Exception:
        return None
    return wanted


def run(module, inputs, kwargs):
    """Returns PyTorch's results. The inputs are copied, because the module may write to them."""
    with torch.no_grad():
        return flat(module(*copy.deepcopy(inputs), **copy.deepcopy(kwargs)))


def check(binary, folder, case, program, opset):
    pt2, path = str(folder / "model.pt2"), str(folder / "model.onnx")
    command = [binary, "export", pt2, "-o", path, "--opset", str(opset), *case.flags]
    done = subprocess.run(command, capture_output=True, text=True)
    said = done.stdout + done.stderr
    if case.refused:
        if not done.returncode or case.refused not in said:
            raise AssertionError(f"expected an error with {case.refused!r}, found: {said.strip()[:1500]}")
        return
    if done.returncode:
        raise AssertionError(said.strip()[:1500])
    for wanted in case.says:
        if wanted not in said:
            raise AssertionError(f"expected a note with {wanted!r}, found: {said.strip()[:1500]}")
    model = session(path)
    if case.inputs_are:
        check_names("inputs", model.get_inputs(), case.inputs_are)
    if case.outputs_are:
        check_names("outputs", model.get_outputs(), case.outputs_are)
    if case.steps:
        return check_steps(model, case)
    # The buffers of the module have the values of the file in each call.
    compare(model, (case.inputs, case.kwargs), run(copy.deepcopy(case.module), case.inputs, case.kwargs), case.tolerance)
    tried = [(inputs, allowed(case, program, inputs)) for inputs in case.others]
    for inputs, wanted in tried:
        if wanted is not None:
            compare(model, (inputs, case.kwargs), wanted, case.tolerance)
    if case.others and all(wanted is None for _, wanted in tried):
        raise AssertionError("the program of torch.export accepts none of the other inputs")


def check_names(what, found, wanted):
    """Compares inputs or outputs with the expected ones: names, or pairs of name and shape."""
    found = [(value.name, value.shape) for value in found]
    matches = len(found) == len(wanted) and all(f[0] == w if isinstance(w, str) else f == (w[0], list(w[1])) for f, w in zip(found, wanted))
    if not matches:
        raise AssertionError(f"{what}: expected {wanted}, found {found}")


def check_steps(model, case):
    """Calls the model several times, and passes the state that it returns to the next call."""
    module = copy.deepcopy(case.module)
    state = {name: array(tensor).copy() for name, tensor in tensors_of(module).items()}
    names = [value.name for value in model.get_inputs()]
    for step in range(case.steps):
        inputs = copy.deepcopy([case.inputs, *case.others][step % (len(case.others) + 1)])
        given = flat(inputs)
        feeds = {name: state[name] if name in state else array(given[at]).copy() for at, name in enumerate(names)}
        with torch.no_grad():
            wanted = flat(module(*inputs))
        got = dict(zip((value.name for value in model.get_outputs()), model.run(None, feeds)))
        kept = {name.removesuffix("_out"): value for name, value in got.items() if name.removesuffix("_out") in names and name not in names}
        # Compare now, because the outputs may be memory that the next call writes to.
        now = tensors_of(module) | dict(zip(names, given))
        equal(list(got.values())[: len(wanted)], wanted, case.tolerance)
        equal(list(kept.values()), [now[name] for name in kept], case.tolerance)
        changed = {name for name, before in (state | feeds).items() if not np.array_equal(array(now[name]), before, equal_nan=True)}
        if not changed <= kept.keys():
            raise AssertionError(f"{changed - kept.keys()} changed, but only {list(kept)} are outputs")
        state |= {name: value for name, value in kept.items() if name in state}


def tensors_of(module):
    return dict([*module.named_buffers(), *module.named_parameters()])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--opsets", default="9,18,23")
    parser.add_argument("--theme", default="*")
    parser.add_argument("--every", type=int, default=1)
    args = parser.parse_args()
    opsets = [int(n) for n in args.opsets.split(",")]
    every = 1 if os.environ.get("DIALECT") == "all" or args.patterns else args.every
    ends = collections.Counter()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        for theme in fnmatch.filter(THEMES, args.theme):
            for name, build in importlib.import_module(theme).cases():
                if any(fnmatch.fnmatch(name, p) for p in args.patterns or ["*"]) and zlib.crc32(name.encode()) % every == 0:
                    ends += judged(args.binary, Path(folder), f"{theme}.{name}", build(), opsets)
                    torch.set_default_dtype(torch.float32)
    print(f"{ends['right']} of {ends.total()} exports are right")
    sys.exit(1 if ends["right"] < ends.total() or not ends else 0)


def judged(binary, folder, name, case, opsets):
    """Returns the number of right and wrong exports."""
    ends = collections.Counter()
    torch.set_default_dtype(case.default)
    try:
        program = save(case, str(folder / "model.pt2"))
    except Exception as error:
        print(f"{name}: PyTorch cannot export it: {type(error).__name__}: {str(error)[:300]}", flush=True)
        return collections.Counter(wrong=1)
    for opset in opsets:
        # Use the nearest opset that the program supports.
        opset = min(max(opset, case.opset), case.newest)
        try:
            check(binary, folder, case, program, opset)
            ends["right"] += 1
        except Exception as error:
            ends["wrong"] += 1
            print(f"{name} at opset {opset}: {type(error).__name__}: {error}", flush=True)
    return ends


if __name__ == "__main__":
    main()
