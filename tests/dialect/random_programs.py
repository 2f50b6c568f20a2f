"""Compares random programs of views and in-place writes with PyTorch.

    random_programs.py PATH-OF-aten2onnx [--count 100] [--seed 0] [--opset 18] [--only SEED]

Each program takes views of inputs, buffers, parameters, new tensors and other views, writes through them (in place, with copy_ with
broadcasting and conversion, with out=, by index), and returns some of its values. It is exported with torch.export, possibly decomposed, with
fixed or symbolic sizes, with its mutations dropped or kept, and run in ONNX Runtime. Programs with symbolic sizes also run on larger inputs.
A program only depends on its seed, so `--only` reproduces a failure.
An export may fail if the error says why, but only in a limited share of the programs.
"""
import argparse
import collections
import contextlib
import copy
import io
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import judge
import random_views
import random_writes
import torch

MAX_REFUSED = 0.02
# torch.export cannot export some programs, or changes what they mean.
MIN_RIGHT = 0.5
DTYPES = [torch.float32, torch.float64, torch.int64, torch.int32, torch.bool, torch.float16, torch.uint8]


class Program(torch.nn.Module):
    """The program of a seed. Its steps are chosen while they run on the example inputs, so that each of them is valid."""

    def __init__(self, seed):
        super().__init__()
        r = random.Random(seed)
        torch.manual_seed(seed)
        self.register_buffer("buffer", torch.randn(3, 4))
        self.register_buffer("count", torch.tensor(3), persistent=False)
        self.weight = torch.nn.Parameter(torch.randn(4, 2), requires_grad=False)
        self.first = r.choice([torch.float32, torch.float32, torch.int64, torch.float64, torch.int32])
        self.shape = r.choice([(4, 6), (2, 3, 4), (6,), (2, 2, 3, 2), (5, 4)])
        self.inputs = (self.example(self.shape), torch.randn(r.choice([(4,), (1, 4), (3, 1), (1,)])))
        self.dynamic = [axis for axis in range(len(self.shape)) if r.random() < 0.5] if r.random() < 0.4 else []
        self.shapes = (({axis: torch.export.Dim.AUTO for axis in self.dynamic}, None),) if self.dynamic else None
        self.keeps, self.decomposed, self.has_complex = r.random() < 0.25, r.random() < 0.15, r.random() < 0.15
        self.steps, self.names = [], []
        self.draw(r)

    def example(self, shape):
        return torch.randn(shape, dtype=self.first) if self.first.is_floating_point else torch.randint(-5, 6, shape).to(self.first)

    def larger(self):
        """Returns inputs with larger symbolic sizes."""
        return (self.example([n + 2 * (axis in self.dynamic) for axis, n in enumerate(self.shape)]), self.inputs[1])

    def start(self, args):
        x, y = args
        fresh = torch.zeros(3, 4) + y.sum()
        return [x, y, self.buffer, self.weight, x * 2, fresh, self.count] + ([torch.complex(fresh, fresh * 2)] if self.has_complex else [])

    def draw(self, r):
        blank = copy.deepcopy(self)
        with torch.no_grad():
            values = blank.start([i.clone() for i in self.inputs])
            roots = len(values)
            for _ in range(r.randint(4, 16)):
                step = a_step(r, values)
                if step is None:
                    continue
                name, function = step
                try:
                    value = function(values)
                except (RuntimeError, IndexError, NotImplementedError, ValueError, TypeError):
                    # PyTorch rejects overlapping elements and unsupported dtypes before it writes.
                    continue
                self.steps.append(function)
                self.names.append(name)
                values.extend(found(value))
            count = r.randint(1, 3)
            self.outputs = sorted(r.sample(range(len(values)), min(count, len(values)))) + [r.randrange(roots)]

    def forward(self, *args):
        values = self.start(args)
        for step in self.steps:
            values.extend(found(step(values)))
        return tuple(values[i] for i in self.outputs)

    def eager(self, inputs):
        """Returns the outputs, and the state and the inputs after the call."""
        module, inputs = copy.deepcopy(self), [i.clone() for i in inputs]
        with torch.no_grad():
            result = [t.clone() for t in judge.flat(module(*inputs))]
        state = {"buffer": module.buffer, "count": module.count, "weight": module.weight, "args_0": inputs[0], "args_1": inputs[1]}
        return result, {name: t.detach() for name, t in state.items()}

    def __str__(self):
        flags = [f"dynamic {self.dynamic}"] * bool(self.dynamic) + ["keeps"] * self.keeps + ["decomposed"] * self.decomposed
        shape = " ".join([f"{list(self.shape)} {self.first}", *flags]) + f", {list(self.inputs[1].shape)}"
        known = f"v0, v1 = inputs ({shape}); v2 = buffer; v3 = weight; v4 = v0 * 2; v5 = zeros + v1.sum(); v6 = count"
        return "\n    ".join([known + ("; v7 = complex(v5, v5 * 2)" if self.has_complex else ""), *self.names, f"return {self.outputs}"])


def found(value):
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def a_step(r, values):
    at = r.choice(range(len(values))) if r.random() < 0.5 else len(values) - 1 - r.randrange(min(3, len(values)))
    x = values[at]
    kind = r.random()
    if kind < 0.5:
        name, view = random_views.draw(r, x)
        return view and (f"v{len(values)} = {name}(v{at})", lambda vs: view(vs[at]))
    if kind < 0.9:
        name, write, other = random_writes.draw(r, x, values)
        if random_writes.is_undefined(name, x, None if other is None else values[other]):
            return None
        shown = f"{name}(v{at}{'' if other is None else f', v{other}'})"
        return shown, lambda vs: write_to(vs, at, write, other)
    if kind < 0.95 and not x.is_complex():
        dtype = r.choice(DTYPES)
        return f"v{len(values)} = v{at}.to({dtype})", lambda vs: vs[at].to(dtype)
    return f"v{len(values)} = v{at} + 1", lambda vs: vs[at] + 1


def write_to(values, at, write, other):
    write(values[at], None if other is None else values[other])


def equal(ours, theirs):
    return all(a.shape == b.shape and a.dtype == b.dtype and torch.equal(filled(a), filled(b)) for a, b in zip(ours, theirs))


def filled(t):
    return torch.view_as_real(t.resolve_conj()).nan_to_num(7) if t.is_complex() else t.nan_to_num(7)


def saved(program, pt2):
    """Returns the exported program, or torch's error."""
    try:
        # torch prints graphs if it fails.
        with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            exported = torch.export.export(program, program.inputs, dynamic_shapes=program.shapes, strict=False)
            if program.decomposed:
                exported = exported.run_decompositions({})
            torch.export.save(exported, pt2)
    except Exception as error:
        return None, f"{type(error).__name__}: {str(error).strip().splitlines()[0][:200]}"
    return exported, ""


def again(exported, inputs):
    """Returns the results of the exported program in PyTorch."""
    with torch.no_grad():
        return judge.flat(copy.deepcopy(exported).module()(*[i.clone() for i in inputs]))


def check(binary, folder, seed, opset):
    """Runs the program of a seed. Returns the outcome and a message."""
    program = Program(seed)
    pt2, path = str(folder / "model.pt2"), str(folder / "model.onnx")
    wanted, state = program.eager(program.inputs)
    exported, says = saved(program, pt2)
    if exported is None:
        return "torch", says
    try:
        # torch.export changes the meaning of some programs. These are skipped.
        if not equal(again(exported, program.inputs), wanted):
            return "torch", "the program of torch.export gives other results than the module"
    except Exception as error:
        return "torch", f"{type(error).__name__}: {str(error).strip().splitlines()[0][:200]}"
    command = [binary, "export", pt2, "-o", path, "--opset", str(opset), "--quiet"] + ["--keep-mutations"] * program.keeps
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return "refused" if done.returncode == 5 else "failed", f"{done.stderr.strip()[:600]}\n    {program}"
    try:
        model = judge.session(path)
        compare(model, program, program.inputs, wanted, state)
        if program.dynamic:
            compare_larger(model, program, exported)
    except Exception as error:
        return "wrong", f"{type(error).__name__}: {str(error)[:500]}\n    {program}"
    return "right", ""


def compare_larger(model, program, exported):
    """Compares the results for larger inputs, if PyTorch accepts them."""
    inputs = program.larger()
    try:
        wanted, state = program.eager(inputs)
        if not equal(again(exported, inputs), wanted):
            return
    except Exception:
        return
    compare(model, program, inputs, wanted, state)


def compare(model, program, inputs, wanted, state):
    """Compares outputs and kept mutations. The mutations follow the other outputs, and the old state is an input."""
    before = {"buffer": program.buffer, "count": program.count, "weight": program.weight}
    names = [i.name for i in model.get_inputs()]
    feeds = [before[name] if name in before else inputs[int(name.removeprefix("args_"))] for name in names]
    kept = [o.name.removesuffix("_out") for o in model.get_outputs()[len(wanted):]]
    # ONNX Runtime computes float16 in float32.
    tolerance = 5e-3 if any("float16" in name for name in program.names) else judge.RTOL
    judge.compare(model, feeds, wanted + [state[name] for name in kept], tolerance)
    if not program.keeps:
        return
    for name, now in state.items():
        was = before.get(name, inputs[int(name[-1])] if name.startswith("args_") else None)
        if name not in kept and not equal([now], [was]):
            raise AssertionError(f"the program writes to `{name}`, which is not an output")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--opset", type=int, default=18)
    parser.add_argument("--only", type=int)
    args = parser.parse_args()
    torch.set_num_threads(1)
    seeds = [args.only] if args.only is not None else range(args.seed, args.seed + args.count)
    ends = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            end, says = check(args.binary, Path(folder), seed, args.opset)
            ends[end] += 1
            if end != "right":
                print(f"seed {seed}: {end}: {says}", flush=True)
    print(", ".join(f"{count} {end}" for end, count in sorted(ends.items())))
    refused = ends["refused"] > MAX_REFUSED * len(seeds) + 1
    few = ends["right"] < MIN_RIGHT * len(seeds)
    sys.exit(1 if ends["wrong"] or ends["failed"] or refused or few else 0)


if __name__ == "__main__":
    main()
