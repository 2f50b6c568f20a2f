"""Compares random programs of PyTorch's operators with eager PyTorch.

    programs.py PATH-OF-aten2onnx [--count 100] [--seed 0] [--only SEED] [--opsets 9,18] [--jobs N]

Each program applies operators of PyTorch's database (op_db) to inputs, a buffer and earlier results: to a result as it is where its shape
fits, or to one that is cut or repeated to the shape of a sample. Some steps work in place, also on the buffer; some programs have symbolic
sizes and run at a second size too. Every program is exported with torch.export and compared at two opsets. A program depends on its seed
alone, so `--only` reproduces a failure. Results that a tiny change of the inputs changes much are not compared, and what
src/examples/src/differences.toml lists is avoided. An export may be refused if the error says why.
"""
import argparse
import collections
import contextlib
import copy
import functools
import io
import json
import logging
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "../../src/examples/src"), str(HERE / "../../src/verify/src")]
OPSETS = [9, 13, 18, 23]
# The exit code of `aten2onnx` for programs that it does not support.
REFUSED = 5
# Tensors with more elements are dropped.
MOST_ELEMENTS = 4000
LARGEST = 1e5
# The share of programs that may be refused, and that must be right; torch.export cannot export the others. A few programs say nothing of shares.
MAX_REFUSED = 0.05
MIN_RIGHT = 0.5
FEW = 100


@functools.cache
def samples_of(name, dtype):
    """Small samples of an operator, as (leaves, spec)."""
    import samples
    import torch
    found = []
    for sample in samples.samples(samples.INFOS[name], dtype)[:40]:
        try:
            one = samples.Sample(samples.INFOS[name], sample)
        except samples.Skip:
            continue
        if sum(x.numel() for x in one.inputs) <= MOST_ELEMENTS and all(x.layout == torch.strided for x in one.inputs):
            found.append(one)
    return found


def overload_of(name):
    return "aten::" + name.replace(".", "_").replace("nn_functional_", "")


@functools.cache
def conditions(name):
    """How a result may differ from PyTorch's, and under which conditions."""
    import differences
    overload = overload_of(name)
    return [(entry["accept"], set(entry.get("when", []))) for entry in differences.table() if differences.is_about(entry, overload)]


@functools.cache
def refused():
    """The operators that have no samples without an error, by the list of expected failures."""
    lines = [line.split() for line in (HERE / "expected_failures.txt").read_text().splitlines() if line and not line.startswith("#")]
    return {op for ops, dtypes, _, _, extent, status, *_ in lines if (dtypes, extent, status) == ("*", "all", "refused:") for op in ops.split(",")}


def fits(name, tensors):
    """Whether the results are not among those that may differ."""
    import differences
    import torch
    import unique
    if unique.has(overload_of(name)):
        return False
    floats = [x for x in tensors if x.is_floating_point() or x.is_complex()]
    for accept, when in conditions(name):
        if accept == "equals" and any(torch.unique(x.flatten()).numel() < x.numel() for x in tensors if not x.is_complex()):
            return False
        if when & {"nan", "infinite", "infinite matrix"} and not all(torch.isfinite(x).all() for x in floats):
            return False
        if when & {"falling", "unsorted", "bytes", "indefinite"}:
            return False
        arrays = [x.detach().resolve_conj().resolve_neg().numpy() for x in floats if x.dtype != torch.bfloat16]
        if any(is_so in when and differences.WHEN[is_so](None, arrays, None) for is_so in ("singular", "near")):
            return False
        if "large" in when and any((x.abs() > 2 ** 31).any() for x in tensors if not x.is_floating_point() and not x.is_complex() and x.dtype != torch.bool):
            return False
    return True


def to_shape(x, shape):
    """Cuts or repeats a tensor to a shape."""
    import torch
    count = 1
    for size in shape:
        count *= size
    flat = x.reshape(-1)
    times = -(-count // x.numel()) if x.numel() else 0
    if count and not times:
        return torch.ones(shape, dtype=x.dtype)
    return (flat.repeat(times) if times > 1 else flat)[:count].reshape(shape)


class Step:
    """A call of an operator: where its tensors come from."""

    def __init__(self, name, sample, places, in_place):
        self.name, self.sample, self.places, self.in_place = name, sample, places, in_place

    def run(self, values):
        import samples
        import torch.utils._pytree as pytree
        tensors = []
        for own, place in zip(self.sample.inputs, self.places):
            if place is None:
                tensors.append(own)
            else:
                at, shape = place
                tensors.append(values[at] if shape is None else to_shape(values[at], shape))
        leaves = list(self.sample.leaves)
        for place, tensor in zip(self.sample.places, tensors):
            leaves[place] = tensor
        first, args, kwargs = pytree.tree_unflatten(leaves, self.sample.spec)
        info = samples.INFOS[self.name]
        out = (info.inplace_variant if self.in_place else info.op)(first, *args, **kwargs)
        import torch
        return [x for x in pytree.tree_leaves(out) if isinstance(x, torch.Tensor)]

    def __str__(self):
        def shown(own, place):
            if place is None:
                return f"{str(own.dtype).removeprefix('torch.')}{list(own.shape)}"
            at, shape = place
            return f"v{at}" if shape is None else f"v{at} as {list(shape)}"
        others = [repr(leaf)[:40] for i, leaf in enumerate(self.sample.leaves) if i not in self.sample.places]
        return f"{self.name}{'_' * self.in_place}({', '.join([*map(shown, self.sample.inputs, self.places), *others])})"


def make_module():
    import torch

    class Program(torch.nn.Module):
        """The program of a seed. Its steps are chosen while they run on the example inputs, so that each of them is valid."""

        def __init__(self, seed):
            super().__init__()
            r = random.Random(seed)
            torch.manual_seed(seed)
            dtypes = [torch.float32] * 6 + [torch.int64, torch.int64, torch.float64, torch.bool, torch.float16, torch.int32]
            self.kinds = [r.choice(dtypes) for _ in range(r.randint(1, 3))]
            self.is_dynamic = r.random() < 0.4
            sizes = [r.randint(2 if self.is_dynamic else 1, 5) for _ in range(3)]
            self.shapes = [sizes[-r.randint(1, 3):] for _ in self.kinds]
            self.register_buffer("state", torch.randn(sizes[-2:]))
            self.inputs = tuple(self.example(kind, shape, seed) for kind, shape in zip(self.kinds, self.shapes))
            self.steps, self.noise = [], None
            self.draw(r)

        @staticmethod
        def example(kind, shape, seed):
            g = torch.Generator().manual_seed(seed)
            if kind.is_floating_point:
                return torch.randn(shape, generator=g).to(kind)
            return torch.randint(0, 2, shape, generator=g).bool() if kind == torch.bool else torch.randint(-5, 9, shape, generator=g).to(kind)

        def larger(self):
            return tuple(self.example(kind, [n + 1 if self.is_dynamic else n for n in shape], 7) for kind, shape in zip(self.kinds, self.shapes))

        def start(self, inputs):
            return [*(x.clone() for x in inputs), self.state]

        def forward(self, *inputs):
            values = self.start(inputs)
            for step in self.steps:
                found = step.run(values)
                values.extend(found if self.noise is None else [near(x, self.noise, step.name.startswith("fft.")) for x in found])
            return tuple(values[i].clone() for i in self.outputs)

        def draw(self, r):
            import samples
            blank = copy.deepcopy(self)
            names = sorted(set(samples.INFOS) - refused())
            with torch.no_grad():
                values = blank.start(self.inputs)
                roots = len(values)
                tries = 0
                wanted = r.randint(3, 9)
                while len(self.steps) < wanted and tries < 60:
                    tries += 1
                    step = a_step(r, names, values)
                    if step is None:
                        continue
                    before = [v.clone() for v in values]
                    try:
                        out = step.run(values)
                    except Exception:
                        out = []
                    good = bool(out) and len(out) <= 8 and all(is_tame(x) for x in out) and all(is_tame(v) for v in values)
                    if good and not step.in_place:
                        try:
                            good = all(torch.equal(v.nan_to_num(), b.nan_to_num()) for v, b in zip(values, before)) and repeats(step, before, out)
                        except Exception:
                            good = False
                    if not good:
                        # A step that failed may have written; the values start again as they were.
                        blank = copy.deepcopy(self)
                        values = blank.start(self.inputs)
                        for done in self.steps:
                            values.extend(done.run(values))
                        continue
                    self.steps.append(step)
                    values.extend(out)
                later = list(range(roots, len(values)))
                self.outputs = sorted(set(r.sample(later, min(3, len(later))) + later[-1:]))

        def eager(self, inputs, noise=None):
            """The outputs. With a generator of random numbers every step rounds its results in another way."""
            module = copy.deepcopy(self)
            module.noise = noise
            with torch.no_grad():
                return [x.detach().clone() for x in module(*[x.clone() for x in inputs])]

        def __str__(self):
            lines, count = [], len(self.inputs) + 1
            heads = ", ".join(f"{str(x.dtype).removeprefix('torch.')}{list(x.shape)}" for x in self.inputs)
            lines.append(f"inputs {heads}, then the buffer{' (symbolic sizes)' * self.is_dynamic}")
            for step in self.steps:
                lines.append(f"v{count}.. = {step}")
                count += 1
            return "\n    ".join([*lines, f"return {self.outputs}"])

    return Program


def is_tame(x):
    """Whether later steps can use it."""
    import torch
    if x.layout != torch.strided or x.numel() > MOST_ELEMENTS or x.dtype in (torch.bfloat16, torch.complex32) or x.is_quantized:
        return False
    if x.is_floating_point() or x.is_complex():
        return bool((torch.isfinite(x).all() if x.numel() else torch.tensor(True)) and (x.numel() == 0 or x.abs().max() < LARGEST))
    return x.dtype == torch.bool or x.numel() == 0 or int(x.to(torch.int64).abs().max()) < LARGEST


def repeats(step, values, out):
    """Whether a second run gives the same."""
    import torch
    torch.manual_seed(1234567)
    again = step.run([v.clone() for v in values])
    return len(again) == len(out) and all(a.shape == b.shape and torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in zip(again, out))


def a_step(r, names, values):
    import samples
    at = r.randrange(len(values)) if r.random() < 0.4 else len(values) - 1 - r.randrange(min(3, len(values)))
    x = values[at]
    name = r.choice(names)
    dtype = str(x.dtype).removeprefix("torch.")
    there = samples_of(name, dtype)
    if not there:
        return None
    sample = r.choice(there)
    if not sample.inputs:
        return None
    whole = r.random() < 0.6
    places = []
    for i, own in enumerate(sample.inputs):
        if i == 0:
            places.append((at, None if whole else tuple(own.shape)))
            continue
        alike = [j for j, v in enumerate(values) if v.dtype == own.dtype]
        if not alike or r.random() < 0.3 or own.dtype not in (x.dtype,):
            places.append(None)
            continue
        j = r.choice(alike)
        places.append((j, None if whole and values[j].dim() == own.dim() else tuple(own.shape)))
    given = [to_shape(values[at], shape) if shape is not None else values[at] for at, shape in filter(None, places)]
    if not fits(name, given + [own for own, place in zip(sample.inputs, places) if place is None]):
        return None
    in_place = samples.INFOS[name].inplace_variant is not None and whole and places[0][1] is None and r.random() < 0.25
    return Step(name, sample, places, in_place)


def difference(want, have, factor):
    """How an array differs from the wanted one, or None."""
    if want.shape != have.shape or want.dtype != have.dtype:
        return f"{have.dtype}{list(have.shape)}, wanted {want.dtype}{list(want.shape)}"
    if not is_close(as_tensor(want), as_tensor(have), factor):
        return f"{have.ravel()[:6]}, wanted {want.ravel()[:6]}"
    return None


def near(x, generator, is_transform=False):
    """A tensor of floats that is rounded in another way."""
    import torch
    if not (x.is_floating_point() or x.is_complex()):
        return x
    noise = (1e-3 if x.dtype == torch.float16 else 3e-6) * (2 * torch.rand(x.shape, dtype=torch.float64, generator=generator) - 1)
    if x.is_complex() or is_transform:
        # The largest element determines the rounding of a transform.
        return (x + noise * (x.abs().max() if x.numel() else 1)).to(x.dtype)
    return (x.double() * (1 + noise)).to(x.dtype)


def is_certain(program, inputs, wanted, i):
    """Whether PyTorch gives an output again, and tiny changes of the inputs and of the results of steps change it little."""
    import torch
    generator = torch.Generator().manual_seed(0)

    def is_steady(others, factor, noise=None):
        try:
            other = program.eager(others, noise)[i]
        except Exception:
            return False
        return other.shape == wanted[i].shape and is_close(wanted[i], other, factor)
    return all(is_steady(inputs, 1) and is_steady([near(x, generator) for x in inputs], 100, generator) for _ in range(8))


def is_close(want, have, factor=1):
    import torch
    if want.dtype != have.dtype or want.shape != have.shape:
        return False
    if not (want.is_floating_point() or want.is_complex()):
        return torch.equal(want, have)
    if want.is_complex():
        want, have = torch.view_as_real(want.resolve_conj()), torch.view_as_real(have.resolve_conj())
    want, have = want.double(), have.double()
    scale = max(float(want.abs().max()), 1e-3) if want.numel() else 1.0
    return bool(torch.all((want - have).abs() <= 1e-5 * factor * scale))


def as_tensor(array):
    """A copy as a tensor. NumPy has two names for some types, of which torch knows one."""
    import numpy as np
    import torch
    # A conversion to the other name would change nothing.
    copy = np.array(array)
    return torch.from_numpy(copy.view(f"{copy.dtype.kind}{copy.dtype.itemsize}") if copy.dtype.kind in "iu" else copy)


def module_of(exported):
    """The program as a module with buffers of its own: a run may write to them."""
    return copy.deepcopy(exported.module())


def broken_relation(exported, inputs):
    """What a call of the program breaks: a relation of its arguments, of relations.toml, or the rank that torch.export recorded; None if nothing."""
    import relations
    import torch

    class Checker(torch.fx.Interpreter):
        found = None

        def call_function(self, target, args, kwargs):
            if isinstance(target, torch._ops.OpOverload):
                places = [argument.name for argument in target._schema.arguments]
                overload = target._schema.overload_name
                name = target._schema.name + (f".{overload}" if overload else "")
                named = {**dict(zip(places, args)), **kwargs}
                self.found = self.found or relations.broken(name, relations.with_defaults(target, named))
            return super().call_function(target, args, kwargs)

        def run_node(self, node):
            result, recorded = super().run_node(node), node.meta.get("val")
            if isinstance(result, torch.Tensor) and isinstance(recorded, torch.Tensor) and result.dim() != recorded.dim():
                self.found = self.found or f"that torch.export records the rank of {node}"
            return result
    checker = Checker(module_of(exported))
    checker.run(*[x.clone() for x in inputs])
    return checker.found


def check(task):
    """Runs the program of a seed. Returns the seed, the outcome and a message."""
    binary, seed, opsets = task
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    import judge
    import onnx
    import samples  # noqa: F401
    import torch
    import torch.utils._pytree as pytree
    program = make_module()(seed)
    if not program.steps:
        return seed, "torch", "no step fits"
    runs = [(program.inputs, program.eager(program.inputs))]
    free = {i: torch.export.Dim.AUTO for i in range(8)}
    shapes = (tuple(dict(list(free.items())[:x.dim()]) for x in program.inputs),) if program.is_dynamic else None
    with tempfile.TemporaryDirectory() as folder:
        pt2, path = Path(folder) / "model.pt2", Path(folder) / "model.onnx"
        try:
            # torch prints graphs if it fails.
            with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()):
                exported = torch.export.export(program, tuple(x.clone() for x in program.inputs), dynamic_shapes=shapes, strict=False)
                torch.export.save(exported, str(pt2))
            again = pytree.tree_leaves(module_of(exported)(*[x.clone() for x in program.inputs]))
            if not all(is_close(a, b) for a, b in zip(runs[0][1], again)):
                return seed, "torch", "torch.export changes the results"
            if need := broken_relation(exported, program.inputs):
                return seed, "torch", f"a call breaks the relation {need}"
        except Exception as error:
            return seed, "torch", f"{type(error).__name__}: {str(error).strip().splitlines()[:1]}"
        if program.is_dynamic:
            try:
                larger = program.larger()
                answer = program.eager(larger)
                again = pytree.tree_leaves(module_of(exported)(*[x.clone() for x in larger]))
                if all(is_close(a, b) for a, b in zip(answer, again)) and not broken_relation(exported, larger):
                    runs.append((larger, answer))
            except Exception:
                pass
        recorded = [node.meta.get("val") for node in exported.graph.nodes]
        has_halves = any(isinstance(x, torch.Tensor) and x.dtype in (torch.float16, torch.bfloat16) for x in recorded)
        chosen = opsets or random.Random(seed).sample(OPSETS, 2)
        refused = None
        for opset in chosen:
            done = subprocess.run([binary, "export", str(pt2), "-o", str(path), "--opset", str(opset), "--quiet"], capture_output=True, text=True)
            if done.returncode == REFUSED:
                refused = f"at opset {opset}: {done.stderr.strip()[:300]}"
                continue
            if done.returncode:
                return seed, "failed", f"at opset {opset}: {done.stderr.strip()[:500]}\n    {program}"
            for i, (inputs, wanted) in enumerate(runs):
                where = f"at opset {opset}" + " at a second size" * i
                try:
                    model = onnx.load(path)
                    names = [i.name for i in model.graph.input]
                    feeds = {name: judge.to_numpy(inputs[int(name.removeprefix("args_").removeprefix("inputs_"))]) if name[-1].isdigit()
                             else judge.to_numpy(inputs[0]) for name in names}
                    have, _ = judge.run_fed(model, path.read_bytes(), opset, feeds, optimise=True)
                except Exception as error:
                    return seed, "wrong", f"{where}: {judge.first_line(error)}\n    {program}"
                if len(have) != len(wanted):
                    return seed, "wrong", f"{where}: {len(have)} outputs, wanted {len(wanted)}\n    {program}"
                for i, (want, got) in enumerate(zip(wanted, have)):
                    want = judge.plain_parts(judge.to_numpy(want))
                    factor = 2000 if has_halves else 30
                    what = difference(want, got, factor)
                    if what and is_certain(program, inputs, wanted, i):
                        return seed, "wrong", f"{where}: output {i}: {what}\n    {program}"
        return (seed, "refused", refused) if refused else (seed, "right", "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int)
    parser.add_argument("--opsets", help="in place of two that depend on the seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    args = parser.parse_args()
    os.environ.setdefault("PYTHONHASHSEED", "0")
    opsets = [int(o) for o in args.opsets.split(",")] if args.opsets else None
    seeds = [args.only] if args.only is not None else range(args.seed, args.seed + args.count)
    counts, problems = collections.Counter(), []
    with multiprocessing.get_context("spawn").Pool(min(args.jobs, len(seeds)), maxtasksperchild=2000) as pool:
        for seed, outcome, message in pool.imap_unordered(check, [(args.binary, seed, opsets) for seed in seeds]):
            counts[outcome] += 1
            if outcome in ("wrong", "failed") or (args.only is not None and message):
                problems.append(seed)
                print(f"seed {seed}: {outcome} {message}", flush=True)
            elif outcome == "refused":
                print(f"seed {seed}: refused {message.splitlines()[0]}", flush=True)
    print(json.dumps(counts))
    few = counts["right"] < MIN_RIGHT * len(seeds) or (len(seeds) >= FEW and counts["refused"] > MAX_REFUSED * len(seeds))
    if few and args.only is None:
        print(f"too few programs are right, or more than {MAX_REFUSED:.0%} are refused")
    return 1 if problems or (few and args.only is None) else 0


if __name__ == "__main__":
    sys.exit(main())
