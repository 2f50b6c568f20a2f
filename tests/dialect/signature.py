"""Inputs, outputs and weights: nested structures, shared and strided weights, constants."""
import collections
from typing import NamedTuple

import torch
import torch.nn as nn
from torch.export import Dim

from cases import Case


def x(rows=4, columns=3, seed=1):
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed))


class Module(nn.Module):
    """A module with shared and strided weights that calls a function."""

    def __init__(self, function):
        super().__init__()
        torch.manual_seed(0)
        base = torch.randn(40)
        self.plain = nn.Parameter(torch.randn(3, 3))
        self.tied = self.plain
        self.turned = nn.Parameter(torch.randn(3, 4).t())
        self.offset = nn.Parameter(base[5:11].view(2, 3))
        self.overlapping = nn.Parameter(base[8:14].view(2, 3))
        self.stepped = nn.Parameter(base[::4][:9].view(3, 3))
        self.spread = nn.Parameter(torch.randn(1, 1).expand(4, 3))
        self.last = nn.Parameter(torch.randn(1, 3, 2, 2).contiguous(memory_format=torch.channels_last))
        self.empty = nn.Parameter(torch.randn(0, 3))
        self.scalar = nn.Parameter(torch.tensor(2.5))
        self.unused = nn.Parameter(torch.randn(7))
        self.register_buffer("passing", torch.randn(3), persistent=False)
        self.attribute = torch.arange(3.0)
        self.function = function

    def forward(self, *args, **kwargs):
        return self.function(self, *args, **kwargs)


class Pair(NamedTuple):
    """A named tuple."""

    left: torch.Tensor
    right: torch.Tensor


torch.utils._pytree._register_namedtuple(Pair, serialized_type_name="aten2onnx.tests.Pair")


class Named(nn.Module):
    """All kinds of parameters."""

    def forward(self, a, pair, d, *rest, flag=None, **more):
        b = pair[0] + pair[1][0] * pair[1][1]
        out = a + b + d["x"] * d["y"] + rest[0] - rest[1]
        return {"sum": out, "parts": [a * 2, (b, None)], "more": more["z"] + 1, "flag": flag}


class Unused(nn.Module):
    """A module that uses one of its three inputs."""

    def forward(self, first, second, third):
        return second + 1


class Strange(nn.Module):
    """Parameters whose names have other meanings elsewhere."""

    def forward(self, input, self_, output, add):
        return input + self_, output * add, add


class Twice(nn.Module):
    def forward(self, a):
        b = a.sin()
        return b, b, [b], a, a


class Values(nn.Module):
    def forward(self, a, n: int, f: float, b: bool, s: str, none):
        c = a * n + f if b else a
        return c, None, n, f, b, c.shape[0], none


class Sizes(nn.Module):
    def forward(self, a, n):
        return a[:n], n + 1, a.shape[0]


class Tuples(nn.Module):
    def forward(self, p):
        return Pair(p.right, p.left + 1), collections.OrderedDict(u=p.left * 2, v=(p.right,))


class Embedding(nn.Module):
    """A head that shares its weight with the embedding."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed, self.head = nn.Embedding(11, 4), nn.Linear(4, 11, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        return self.head(self.embed(ids))


WEIGHTS = {
    "tied": lambda m, a: a @ m.plain + a @ m.tied.T,
    "transposed": lambda m, a: a @ m.turned.T,
    "offset": lambda m, a: (m.offset + m.overlapping) @ a.T,
    "stepped": lambda m, a: a @ m.stepped,
    "spread": lambda m, a: a * m.spread,
    "channels_last": lambda m, a: m.last * a.sum(),
    "empty": lambda m, a: torch.cat([a, m.empty]),
    "scalar": lambda m, a: a * m.scalar,
    "not_persistent": lambda m, a: a + m.passing,
    "attribute": lambda m, a: a + m.attribute,
    "lifted": lambda m, a: a + torch.tensor([1.0, 2.0, 3.0]) * torch.tensor(2),
    "weight_is_an_output": lambda m, a: (m.plain, m.tied, m.passing, a + m.plain[0]),
    "weight_is_all": lambda m, a: m.turned,
    "constant_is_an_output": lambda m, a: (torch.tensor([1, 2]), torch.ones(2), a),
    "nothing_is_computed": lambda m, a: a,
    "without_inputs": lambda m: m.plain @ m.stepped,
    "views_are_outputs": lambda m, a: (a.T, a[0], a.view(-1)),
    "lists": lambda m, a: (a.split(2), list(a.unbind()), [t * 2 for t in a.chunk(2, 1)]),
}


def cases():
    for name, function in WEIGHTS.items():
        inputs = () if name == "without_inputs" else (x(),)
        for decomposed in [False, True]:
            yield f"{name}{'_decomposed' * decomposed}", lambda f=function, i=inputs, d=decomposed: Case(Module(f), *i, decomposed=d)
    nested = (x(seed=1), (x(seed=2), [x(seed=3), x(seed=4)]), {"x": x(seed=5), "y": x(seed=6)}, x(seed=7), x(seed=8))
    yield "nested", lambda: Case(Named(), *nested, kwargs={"z": x(seed=9)},
                                 inputs_are=["a", "pair_0", "pair_1_0", "pair_1_1", "d_x", "d_y", "rest_0", "rest_1", "z"])
    yield "nested_with_flag", lambda: Case(Named(), *nested, kwargs={"flag": 3, "z": x(seed=9)})
    yield "unused", lambda: Case(Unused(), x(), x(seed=2), x(seed=3), inputs_are=["first", "second", "third"])
    yield "strange_names", lambda: Case(Strange(), x(), x(seed=2), x(seed=3), x(seed=4))
    yield "twice", lambda: Case(Twice(), x())
    yield "one_tensor_twice", lambda: (lambda a: Case(Unused(), a, a, a))(x())
    yield "values", lambda: Case(Values(), x(), 3, 0.5, True, "word", None)
    yield "values_dynamic", lambda: Case(Values(), x(), 3, 0.5, True, "word", None, shapes=({0: Dim.DYNAMIC}, None, None, None, None, None),
                                         others=[(x(7), 3, 0.5, True, "word", None)])
    yield "sizes", lambda: Case(Sizes(), x(), 2, shapes=({0: Dim.DYNAMIC}, Dim.DYNAMIC), others=[(x(9), 5)])
    yield "tuples", lambda: Case(Tuples(), Pair(x(), x(seed=2)))
    yield "tied_embedding", lambda: Case(Embedding(), torch.tensor([[1, 2, 10]]))
    yield "renamed", lambda: Case(Unused(), x(), x(seed=2), x(seed=3), flags=["--input-name", "image", "--input-name", "third=mask", "--output-name", "scores"],
                                  inputs_are=["image", "second", "mask"], outputs_are=["scores"])
    rows = ({0: Dim.DYNAMIC},)
    yield "dim_by_input", lambda: Case(Twice(), x(), shapes=rows, others=[(x(9),)], flags=["--dim", "a:0=batch"],
                                       inputs_are=[("a", ["batch", 3])])
