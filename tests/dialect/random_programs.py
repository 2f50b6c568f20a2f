"""Random programs of views and in-place writes, against PyTorch.

    random_programs.py PATH-OF-aten2onnx [--count 100] [--seed 0] [--opset 18] [--only SEED]

Each program takes views of inputs, buffers, parameters and fresh tensors, views of views, writes through them (in place, by copy_
with broadcasting and conversion, by out=, by index), and gives some of its values back. It is exported with torch.export, with sizes
that are fixed or symbolic, and run by ONNX Runtime. A program is made of its seed alone, so `--only` shows a wrong one again.
A refusal is no fault if it says why; the number of refusals is limited, so that not all can hide behind one.
"""
import argparse
import collections
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import judge
import torch

MAX_REFUSED = 0.02
DTYPES = [torch.float32, torch.float64, torch.int64, torch.int32, torch.bool]


def views(r, x):
    """A way to look at a tensor, as a function of it; None if there is none of the kind that was drawn."""
    rank, sizes = x.dim(), list(x.shape)
    axis = r.randrange(rank) if rank else None
    last = r.randrange(rank) if rank else None
    kinds = {
        "alias": lambda: lambda t: t.detach(),
        "unsqueeze": lambda: (lambda d: lambda t: t.unsqueeze(d))(r.randint(-rank - 1, rank)) if rank < 4 else None,
        "view_as": lambda: lambda t: t.view_as(t),
        "contiguous": lambda: lambda t: t.contiguous(),
        "to": lambda: (lambda d: lambda t: t.to(d))(x.dtype),
        "squeeze": lambda: lambda t: t.squeeze(),
    }
    if rank:
        n = sizes[axis]
        start = r.randint(0, max(n - 1, 0))
        kinds |= {
            "select": lambda: (lambda i: lambda t: t.select(axis, i))(r.randint(-n, n - 1)) if n else None,
            "slice": lambda: (lambda s: lambda t: t[(slice(None),) * axis + (slice(start, None, s),)])(r.randint(1, 3)),
            "slice_end": lambda: (lambda e: lambda t: t[(slice(None),) * axis + (slice(None, e),)])(r.randint(-1, 3)),
            "narrow": lambda: (lambda c: lambda t: t.narrow(axis, start, c))(r.randint(0, n - start)),
            "transpose": lambda: lambda t: t.transpose(axis, last),
            "swapaxes": lambda: lambda t: t.swapaxes(axis, last),
            "permute": lambda: (lambda p: lambda t: t.permute(p))(r.sample(range(rank), rank)),
            "movedim": lambda: lambda t: t.movedim(axis, last),
            "flatten": lambda: lambda t: t.flatten(),
            "reshape": lambda: lambda t: t.reshape(-1),
            "view": lambda: (lambda t: t.view(-1)) if x.is_contiguous() else None,
            "unflatten": lambda: (lambda t: t.unflatten(axis, (2, -1))) if n % 2 == 0 and n and rank < 4 else None,
            "split": lambda: (lambda k, i: lambda t: t.split(k, axis)[i % len(t.split(k, axis))])(r.randint(1, 3), r.randrange(4)) if n else None,
            "chunk": lambda: (lambda i: lambda t: t.chunk(2, axis)[i % len(t.chunk(2, axis))])(r.randrange(2)) if n else None,
            "tensor_split": lambda: (lambda i: lambda t: t.tensor_split(2, axis)[i])(r.randrange(2)),
            "unbind": lambda: (lambda i: lambda t: t.unbind(axis)[i])(r.randrange(n)) if n else None,
            "expand": lambda: (lambda t: t.unsqueeze(0).expand(2, *t.shape)) if rank < 4 else None,
            "squeeze_dim": lambda: lambda t: t.squeeze(axis),
            "unfold": lambda: (lambda k: lambda t: t.unfold(axis, k, r_step(k)))(r.randint(1, 2)) if n >= 2 and rank < 4 else None,
            "as_strided": lambda: strided(r, x),
        }
    if rank >= 2:
        kinds["diagonal"] = lambda: (lambda o: lambda t: t.diagonal(o, 0, 1))(r.randint(-1, 1))
        kinds["mT"] = lambda: lambda t: t.mT
        kinds["flatten_two"] = lambda: lambda t: t.flatten(0, 1)
    if rank == 2:
        kinds["t"] = lambda: lambda t: t.t()
    name = r.choice(sorted(kinds))
    return name, kinds[name]()


def r_step(size):
    """Windows that touch but do not overlap."""
    return size


def strided(r, x):
    """A part of the tensor's memory, without elements that overlap."""
    if not x.is_contiguous() or x.numel() < 4:
        return None
    rows = r.randint(1, 2)
    columns = r.randint(1, x.numel() // rows // 2)
    step = r.randint(1, 2) if rows * columns * 2 <= x.numel() else 1
    offset = x.storage_offset() + r.randint(0, x.numel() - rows * columns * step)
    return lambda t: t.as_strided((rows, columns), (columns * step, step), offset)


def writes(r, x, others):
    """A way to write to a tensor, as a function of it and of another one."""
    number = {torch.bool: lambda: r.random() < 0.5}.get(x.dtype, lambda: r.randint(-3, 3))()
    fits = [i for i, o in enumerate(others) if broadcasts(o.shape, x.shape)]
    kinds = {
        "fill": lambda t, o: t.fill_(number),
        "zero": lambda t, o: t.zero_(),
        "masked_fill": lambda t, o: t.masked_fill_(t > 0 if t.dtype != torch.bool else t, number),
        "setitem": lambda t, o: t.__setitem__(Ellipsis, number),
    }
    if x.dtype != torch.bool:
        kinds |= {
            "add": lambda t, o: t.add_(number),
            "mul": lambda t, o: t.mul_(2),
            "sub_self": lambda t, o: t.sub_(t * 2),
            "clamp": lambda t, o: t.clamp_(-4, 4),
            "neg": lambda t, o: t.neg_(),
            "compare": lambda t, o: t.gt_(1),
        }
    if x.dtype.is_floating_point:
        kinds["relu"] = lambda t, o: t.relu_()
        kinds["tanh"] = lambda t, o: t.tanh_()
    if x.dim() and x.shape[0]:
        row = r.randrange(x.shape[0])
        kinds["index_fill"] = lambda t, o: t.index_fill_(0, torch.tensor([row]), number)
        kinds["index_put"] = lambda t, o: t.index_put_((torch.tensor([row]),), torch.tensor(number, dtype=t.dtype))
        kinds["setitem_row"] = lambda t, o: t.__setitem__(row, number)
    if fits:
        kinds["copy"] = kinds["copy_again"] = lambda t, o: t.copy_(o)
        kinds["setitem_other"] = lambda t, o: t.__setitem__(Ellipsis, o)
        same = [i for i in fits if others[i].dtype == x.dtype and x.dtype != torch.bool]
        safe = [i for i in fits if torch.can_cast(others[i].dtype, x.dtype) and torch.bool not in (x.dtype, others[i].dtype)]
        if safe:
            kinds["add_other"] = lambda t, o: t.add_(o)
            kinds["mul_other"] = lambda t, o: t.mul_(o)
        if same and [i for i in same if others[i].shape == x.shape]:
            kinds["add_out"] = lambda t, o: torch.add(o, 1, out=t)
    name = r.choice(sorted(kinds))
    pool = {"copy": fits, "copy_again": fits, "setitem_other": fits}.get(name)
    if name in ("add_other", "mul_other"):
        pool = safe
    if name == "add_out":
        pool = [i for i in same if others[i].shape == x.shape]
    return name, kinds[name], r.choice(pool) if pool else None


def is_undefined(name, x, other):
    """Is it a write whose outcome PyTorch leaves open (and mostly refuses): to elements that are one in memory, or from such?"""
    repeats = any(stride == 0 and size > 1 for size, stride in zip(x.shape, x.stride()))
    if repeats and name not in ("fill", "zero", "setitem"):
        return True
    if other is None or other.untyped_storage().data_ptr() != x.untyped_storage().data_ptr():
        return False
    same = other.data_ptr() == x.data_ptr() and other.shape == x.shape and other.stride() == x.stride()
    return not same and spans_meet(x, other)


def spans_meet(a, b):
    """Do the parts of memory from the first to the last element of each have one in common?"""
    def span(t):
        start = t.storage_offset()
        return start, start + sum((n - 1) * s for n, s in zip(t.shape, t.stride())) if t.numel() else start - 1
    (a, b), (c, d) = span(a), span(b)
    return a <= d and c <= b


def broadcasts(small, large):
    if len(small) > len(large):
        return False
    return all(s in (1, n) for s, n in zip(reversed(small), reversed(large)))


class Program(torch.nn.Module):
    """What a seed makes. The steps are drawn while they run on the example inputs, so that each is possible; then they are fixed."""

    def __init__(self, seed):
        super().__init__()
        r = random.Random(seed)
        torch.manual_seed(seed)
        self.register_buffer("buffer", torch.randn(3, 4))
        self.weight = torch.nn.Parameter(torch.randn(4, 2), requires_grad=False)
        self.first = r.choice([torch.float32, torch.float32, torch.int64, torch.float64])
        shape = r.choice([(4, 6), (2, 3, 4), (6,), (2, 2, 3, 2), (5, 4)])
        self.inputs = (self.example(shape), torch.randn(r.choice([(4,), (1, 4), (3, 1), (1,)])))
        self.dynamic = r.random() < 0.3
        self.shapes = (({0: torch.export.Dim.AUTO}, None),) if self.dynamic else None
        self.steps, self.names = [], []
        self.draw(r)

    def example(self, shape):
        return torch.randint(-5, 6, shape).to(self.first) if self.first == torch.int64 else torch.randn(shape, dtype=self.first)

    def start(self, args):
        x, y = args
        fresh = torch.zeros(3, 4) + y.sum()
        return [x, y, self.buffer, self.weight, x * 2, fresh]

    def draw(self, r):
        buffer, weight = self.buffer.clone(), self.weight.clone()
        with torch.no_grad():
            values = self.start([i.clone() for i in self.inputs])
            for _ in range(r.randint(4, 14)):
                step = self.a_step(r, values)
                if step is None:
                    continue
                name, function = step
                try:
                    value = function(values)
                except RuntimeError:
                    # Where elements overlap PyTorch itself refuses: nothing was written.
                    continue
                self.steps.append(function)
                self.names.append(name)
                if value is not None:
                    values.append(value)
            count = r.randint(1, 3)
            self.outputs = sorted(r.sample(range(len(values)), min(count, len(values)))) + [r.randrange(5)]
            self.buffer.copy_(buffer)
            self.weight.copy_(weight)

    def a_step(self, r, values):
        at = r.choice(range(len(values))) if r.random() < 0.5 else len(values) - 1 - r.randrange(min(3, len(values)))
        x = values[at]
        kind = r.random()
        if kind < 0.5:
            name, view = views(r, x)
            return view and (f"v{len(values)} = {name}(v{at})", lambda vs: view(vs[at]))
        if kind < 0.9:
            name, write, other = writes(r, x, values)
            if is_undefined(name, x, None if other is None else values[other]):
                return None
            shown = f"{name}(v{at}{'' if other is None else f', v{other}'})"

            def step(vs):
                write(vs[at], None if other is None else vs[other])
            return shown, step
        if kind < 0.95:
            dtype = r.choice(DTYPES)
            return f"v{len(values)} = v{at}.to({dtype})", lambda vs: vs[at].to(dtype)
        return f"v{len(values)} = v{at} + 1", lambda vs: vs[at] + 1

    def forward(self, *args):
        values = self.start(args)
        for step in self.steps:
            value = step(values)
            if value is not None:
                values.append(value)
        return tuple(values[i] for i in self.outputs)

    def eager(self):
        """The outputs; the buffers are as before."""
        buffer, weight = self.buffer.clone(), self.weight.clone()
        result = judge.run(self, self.inputs)
        result = [t.clone() for t in result]
        with torch.no_grad():
            self.buffer.copy_(buffer)
            self.weight.copy_(weight)
        return result

    def __str__(self):
        shape = f"{list(self.inputs[0].shape)} {self.inputs[0].dtype}{' dynamic' if self.dynamic else ''}, {list(self.inputs[1].shape)}"
        return "\n    ".join([f"v0, v1 = inputs ({shape}); v2 = buffer; v3 = weight; v4 = v0 * 2; v5 = zeros + v1.sum()", *self.names, f"return {self.outputs}"])


def check(binary, folder, seed, opset):
    """How it ended, and what is to be said of it."""
    program = Program(seed)
    wanted = program.eager()
    pt2, path = str(folder / "model.pt2"), str(folder / "model.onnx")
    try:
        with torch.no_grad():
            exported = torch.export.export(program, program.inputs, dynamic_shapes=program.shapes, strict=False)
            torch.export.save(exported, pt2)
            # Some programs are other ones once torch has exported them: those are not ours to judge.
            again = judge.flat(exported.module()(*[i.clone() for i in program.inputs]))
    except Exception as error:
        return "torch", f"{type(error).__name__}: {str(error)[:200]}"
    if not all(a.dtype == w.dtype and torch.equal(a.nan_to_num(7), w.nan_to_num(7)) for a, w in zip(again, wanted)):
        return "torch", "torch.export itself gives other numbers"
    command = [binary, "export", pt2, "-o", path, "--opset", str(opset), "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return "refused" if done.returncode == 5 else "failed", f"{done.stderr.strip()[:600]}\n    {program}"
    try:
        judge.compare(judge.session(path), program.inputs, wanted)
    except Exception as error:
        return "wrong", f"{type(error).__name__}: {str(error)[:500]}\n    {program}"
    return "right", ""


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
    sys.exit(1 if ends["wrong"] or ends["failed"] or refused or not ends["right"] else 0)


if __name__ == "__main__":
    main()
