"""Samples from PyTorch's operator database (op_db): calls with sample inputs as modules for torch.export."""
import random
import warnings
import zlib
from typing import NamedTuple

warnings.simplefilter("ignore")

import numpy as np
import sympy
import torch
import torch.utils._pytree as pytree
from torch.testing._internal import common_methods_invocations as database

DTYPES = ["float32", "float16", "bfloat16", "int64", "bool"]
# Operators whose results differ in each run, by the start of their names.
UNSTABLE = ("empty", "new_empty")

torch.set_num_threads(1)
# Some random entries use a fixed seed. Remove it, so that they are recognized as random.
database.wrapper_set_seed = lambda op, *args, **kwargs: op(*args, **kwargs)


class Skip(Exception):
    """A sample that cannot be used, with the reason."""


def name_of(info):
    return info.name + (f"/{info.variant_test_name}" if info.variant_test_name else "")


INFOS = {name_of(info): info for info in database.op_db if not info.name.startswith("jiterator")}


def number_of(text):
    """Returns a number for a text that is the same in every run."""
    return zlib.crc32(text.encode())


class Input(NamedTuple):
    """An input in place of a tensor."""

    index: int


# The place of `dim` among the positional arguments after the first.
AXES = {"sort": 0, "argsort": 0, "mode": 0, "median": 0, "nanmedian": 0, "topk": 1, "kthvalue": 1}


class Sample:
    """A call of an operator. Tensors are inputs, other arguments are fixed."""

    def __init__(self, info, sample):
        self.op = info.op
        call = (sample.input, tuple(sample.args), dict(sample.kwargs))
        self.leaves, self.spec = pytree.tree_flatten(call)
        self.places = [i for i, leaf in enumerate(self.leaves) if isinstance(leaf, torch.Tensor)]
        self.inputs = [self.leaves[i].detach() for i in self.places]
        if any(x.layout != torch.strided for x in self.inputs):
            raise Skip("sparse")
        self.inputs = [x.contiguous().clone() for x in self.inputs]

    def __call__(self, tensors):
        leaves = list(self.leaves)
        for place, tensor in zip(self.places, tensors):
            leaves[place] = tensor
        first, args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        return self.op(first, *args, **kwargs)

    def named_arguments(self):
        """What is known of the arguments by name, as records of examples have it: [["dim", {"int": 1}], ["offsets", {"tensor": 2}], ..]."""
        leaves = list(self.leaves)
        for index, place in enumerate(self.places):
            leaves[place] = Input(index)
        _, args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        if self.op.__name__ in AXES and len(args) > AXES[self.op.__name__]:
            kwargs = {**kwargs, "dim": args[AXES[self.op.__name__]]}
        found = []
        for name, value in kwargs.items():
            if isinstance(value, Input):
                found.append([name, {"tensor": value.index}])
            elif isinstance(value, (bool, int, float)):
                found.append([name, {type(value).__name__: value}])
        return found

    def text(self):
        def short(leaf):
            if isinstance(leaf, torch.Tensor):
                return f"{str(leaf.dtype).removeprefix('torch.')}{list(leaf.shape)}"
            return repr(leaf)[:60]
        return ", ".join(map(short, self.leaves))[:300]

    def answer(self, tensors):
        """Returns the results of eager PyTorch. They must be plain tensors, and the inputs must not change."""
        given = [x.clone() for x in tensors]
        torch.manual_seed(0)
        try:
            out = [x for x in pytree.tree_leaves(self(given)) if x is not None]
        except Exception as error:
            raise Skip(f"eager mode fails: {error}") from error
        if not out or not all(isinstance(x, torch.Tensor) and x.layout == torch.strided for x in out):
            raise Skip("the results are not dense tensors")
        if any(x.dtype == torch.complex32 for x in out):
            raise Skip("NumPy has no complex32")
        if any(a.shape != b.shape or not torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in zip(given, tensors)):
            raise Skip("an input changes")
        return [x.detach().clone() for x in out]


class Module(torch.nn.Module):
    """A module that calls the sample, with one positional parameter for each tensor."""

    def __init__(self, sample):
        super().__init__()
        object.__setattr__(self, "sample", sample)

    def forward(self, *tensors):
        out = [x for x in pytree.tree_leaves(self.sample(list(tensors))) if x is not None]
        return tuple(out)


def exported(sample, dynamic):
    """Exports the sample with torch.export. If `dynamic`, all dimensions are symbolic where possible."""
    free = {i: torch.export.Dim.AUTO for i in range(64)}
    shapes = [{d: free[d] for d in range(x.dim())} for x in sample.inputs] if dynamic else None
    inputs = tuple(x.clone() for x in sample.inputs)
    try:
        program = torch.export.export(Module(sample), inputs, dynamic_shapes=(tuple(shapes),) if dynamic else None, strict=False)
    except Exception as error:
        raise Skip(f"torch.export: {error}") from error
    for node in program.graph.nodes:
        target = node.target
        if not isinstance(target, torch._ops.OpOverload):
            continue
        may_draw = torch.Tag.nondeterministic_seeded in target.tags and draws(sample, inputs)
        if may_draw or target._schema.name.split("::")[1].startswith(UNSTABLE):
            raise Skip(f"the result of {target} differs in each run")
    if dynamic and not symbols(program):
        raise Skip("no dimension is symbolic")
    return program


def draws(sample, inputs):
    """Whether a run of the sample draws random numbers, or would with elements. Attention without dropout does not."""
    before = torch.get_rng_state()
    Module(sample)(*(x.clone() for x in inputs))
    return not torch.equal(before, torch.get_rng_state()) or not any(x.numel() for x in inputs)


def sizes(program):
    """Returns the sizes of the inputs as symbolic expressions."""
    inputs = [n.meta["val"] for n in program.graph.nodes if n.op == "placeholder"]
    user = len(program.graph_signature.user_inputs)
    return [[s.node.expr if isinstance(s, torch.SymInt) else sympy.Integer(s) for s in x.shape] for x in inputs[len(inputs) - user:]]


def symbols(program):
    return sorted({s for shape in sizes(program) for size in shape for s in size.free_symbols}, key=str)


def at_other_sizes(sample, program):
    """Returns inputs of other sizes that the program and the operator accept, with the results, or None."""
    shapes = sizes(program)
    known = {size: n for shape, x in zip(shapes, sample.inputs) for size, n in zip(shape, x.shape) if size.is_Symbol}
    for grow in (lambda n: n + 1, lambda n: 2 * n, lambda n: n + 3):
        grown = {s: sympy.Integer(grow(n)) for s, n in known.items()}
        try:
            inputs = [resized(x, [int(size.subs(grown)) for size in shape]) for x, shape in zip(sample.inputs, shapes)]
            answer = sample.answer(inputs)
            again = program.module()(*[x.clone() for x in inputs])
        except Exception:
            continue
        again = [x for x in pytree.tree_leaves(again) if x is not None]
        same = len(answer) == len(again) and all(agree(a, b) for a, b in zip(answer, again))
        if same and any(a.shape != b.shape for a, b in zip(inputs, sample.inputs)):
            return inputs, answer
    return None


def resized(x, shape):
    """Cuts or repeats a tensor to a shape."""
    for d, size in enumerate(shape):
        if size != x.shape[d]:
            x = x.index_select(d, torch.arange(size) % x.shape[d])
    return x.contiguous()


def agree(a, b):
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    rough = a.dtype in (torch.float16, torch.bfloat16)
    return torch.allclose(a, b, *((2e-2, 2e-2) if rough else (1e-4, 1e-4)), equal_nan=True) if a.is_floating_point() or a.is_complex() else torch.equal(a, b)


def samples(info, dtype):
    """Returns all samples of an operator in a dtype."""
    kind = getattr(torch, dtype)
    if kind not in info.supported_dtypes("cpu"):
        return []
    seed = number_of(f"{name_of(info)} {dtype}") % 2**31
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)
    try:
        return list(info.sample_inputs("cpu", kind, requires_grad=False))
    except Exception:
        return []


def spread(count, wanted):
    """Returns `wanted` evenly spaced indices below `count`."""
    if count <= wanted:
        return list(range(count))
    return sorted({round(i * (count - 1) / max(wanted - 1, 1)) for i in range(wanted)})


def plan(name, wanted):
    """Chooses samples of an operator as (dtype, index, dynamic): `wanted` of each dtype, or one or two in total if it is None."""
    info = INFOS[name]
    if wanted is None:
        choice = number_of(name)
        there = [d for d in DTYPES if getattr(torch, d) in info.supported_dtypes("cpu")]
        return [(there[choice % len(there)], choice // 8, choice % 3 == 0)] if there else []
    return [(d, i, dynamic) for d in DTYPES for i in spread(len(samples(info, d)), wanted) for dynamic in (False, True)]
