"""Creates 20 archives of each PyTorch: 2.6, 2.8, 2.10 and 2.13 in the repository. Old versions are not there when tests run, so the results are kept too.

    python make.py [FOLDER]      # in an environment with the torch to make them with; writes FOLDER/v26/NAME.pt2 and NAME.npz

A `.npz` has cases: `0.in.0`, the first input of the first case, and `0.out.0`, what the module gave for it. bfloat16 is kept as float32. The models are about
what versions write in another way: states of recurrent layers, attention, sizes, buffers, branches and loops, names, constants, autocast,
arguments of other kinds, half precision, views and writes.
"""

import io
import re
import sys
import typing
import warnings
import zipfile
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim
from torch.utils import _pytree as pytree

VERSION = "v" + "".join(torch.__version__.split(".")[:2])
HERE = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent) / VERSION
BATCH = Dim("batch", min=1, max=64)
MODELS = {}


def model(*cases, shapes=None, kwargs=False):
    """Registers a model with its cases, each a tuple of inputs, or a dict of arguments by keyword."""
    return lambda kind: MODELS.setdefault(re.sub(r"(?<!^)([A-Z])", r"_\1", kind.__name__).lower(), (kind, cases, shapes, kwargs))


def x(*sizes, seed=0, dtype=torch.float32):
    return torch.randn(sizes, generator=torch.Generator().manual_seed(seed)).to(dtype)


class Recurrent(nn.Module):
    """A recurrent layer, and what reads its states."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        out, states = self.layer(x)
        first = states[0] if isinstance(states, tuple) else states
        return out, first * 2 + 1, states


@model((x(2, 5, 3),), (x(1, 5, 3, seed=1),), (x(4, 5, 3, seed=2),), shapes={"x": {0: BATCH}})
class Lstm(Recurrent):
    def __init__(self):
        super().__init__(nn.LSTM(3, 4, batch_first=True))


@model((x(2, 5, 3),), (x(3, 5, 3, seed=1),), shapes={"x": {0: BATCH}})
class Gru(Recurrent):
    def __init__(self):
        super().__init__(nn.GRU(3, 4, num_layers=2, bidirectional=True, batch_first=True))


@model((x(5, 2, 3),), (x(5, 2, 3, seed=1),))
class Rnn(Recurrent):
    def __init__(self):
        super().__init__(nn.RNN(3, 4, nonlinearity="relu"))


@model((x(2, 4, 8), x(2, 6, 8, seed=1)), (x(3, 4, 8, seed=2), x(3, 6, 8, seed=3)), shapes={"query": {0: BATCH}, "memory": {0: BATCH}})
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.own, self.other = nn.Linear(8, 24), nn.Linear(8, 16)

    def forward(self, query, memory):
        parts = [part.unflatten(-1, (2, 4)).transpose(1, 2) for part in self.own(query).chunk(3, -1)]
        own = F.scaled_dot_product_attention(*parts, is_causal=True)
        key, value = (part.unflatten(-1, (2, 4)).transpose(1, 2) for part in self.other(memory).chunk(2, -1))
        return F.scaled_dot_product_attention(own, key, value, scale=0.3).transpose(1, 2).flatten(2)


@model((x(2, 4, 8), torch.tensor([[False] * 4, [False, False, True, True]])))
class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, activation="gelu")

    def forward(self, x, mask):
        return self.layer(x, src_key_padding_mask=mask)


@model((x(2, 3, 8, 8),), (x(1, 3, 9, 12, seed=1),), (x(5, 3, 16, 7, seed=2),), shapes={"x": {0: BATCH, 2: Dim.AUTO, 3: Dim.AUTO}})
class DynamicImage(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, stride=2, padding=1)

    def forward(self, x):
        y = F.interpolate(F.relu(self.conv(x)), scale_factor=2.0, mode="bilinear")
        return y, y.flatten(1).mean(1), F.adaptive_avg_pool2d(y, 1).squeeze(-1).squeeze(-1)


@model((x(2, 3, 6),), (x(4, 3, 6, seed=1),), shapes={"x": {0: BATCH}})
class Buffers(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3)
        self.norm.running_mean.copy_(torch.tensor([0.5, -0.5, 1.0]))
        self.register_buffer("kept", torch.arange(6.0))
        self.register_buffer("passing", torch.arange(3.0)[:, None], persistent=False)

    def forward(self, x):
        return self.norm(x) * self.kept + self.passing


@model((x(2, 3),))
class BufferWrites(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.register_buffer("mean", torch.ones(3))

    def forward(self, x):
        self.count.add_(1)
        self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
        return x - self.mean, self.count + 1


@model((x(3, 4),), (-x(3, 4).abs(),), (x(3, 4).abs(),))
class Cond(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: self.a(x).relu(), lambda x: self.b(x).sin(), (x,))


@model((torch.tensor(3), x(2, 3)), (torch.tensor(0), x(2, 3, seed=1)), (torch.tensor(7), x(2, 3, seed=2)))
class WhileLoop(nn.Module):
    def forward(self, count, x):
        from torch._higher_order_ops.while_loop import while_loop
        return while_loop(lambda count, x: count > 0, lambda count, x: (count - 1, x * 1.5 - 0.25), (count, x))


@model((x(2, 3), x(2, 3, seed=1)))
class NamedResults(nn.Module):
    class Pair(typing.NamedTuple):
        sum: torch.Tensor
        product: torch.Tensor

    def forward(self, left, right):
        return {"scores": left.softmax(-1), "best": left.argmax(-1), "both": [left + right, left * right]}


@model({"ids": torch.tensor([[1, 2, 0]]), "extra": {"mask": torch.tensor([[1, 1, 0]]), "scale": x(1)}}, {"ids": torch.tensor([[3, 3, 1]]), "extra": {"mask": torch.tensor([[0, 1, 1]]), "scale": x(1, seed=4)}}, kwargs=True)
class DictInputs(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(4, 5, padding_idx=0)

    def forward(self, ids, extra):
        return (self.words(ids) * extra["mask"][..., None] * extra["scale"]).sum(1)


@model((x(2, 4),), (x(2, 4, seed=1),))
class Autocast(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 3)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            hidden = self.a(x).relu()
            with torch.autocast("cpu", enabled=False):
                hidden = hidden.float() + 1
            return self.b(hidden).float(), hidden


@model((x(2, 4, dtype=torch.float16),), (x(3, 4, seed=1, dtype=torch.float16),), shapes={"x": {0: BATCH}})
class Half(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(4, 4), nn.LayerNorm(4)
        self.half()

    def forward(self, x):
        return self.norm(self.linear(x)).tanh(), x.to(torch.bfloat16).float().sum(-1)


@model((x(2, 6),), (x(2, 6, seed=1),))
class ViewsAndWrites(nn.Module):
    def forward(self, x):
        y = x.clone()
        y.view(2, 3, 2)[:, 1].mul_(2)
        y[:, ::2] = 0.5
        y[y > 1] = -1.0
        row = y[0]
        row.add_(1)
        return y, row.unflatten(0, (2, 3)).t(), y.index_put((torch.tensor([1]),), torch.zeros(6))


@model((torch.tensor([[1, 2, 3]]),), (torch.tensor([[0, 4, 4]]),))
class TiedWeights(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(5, 4), nn.Linear(4, 5, bias=False)
        self.head.weight = self.words.weight
        self.part = nn.Parameter(self.words.weight.detach()[1:3].t())

    def forward(self, ids):
        hidden = self.words(ids)
        return self.head(hidden), hidden @ self.part


@model((x(2, 3),), (x(2, 3, seed=1),))
class Constants(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.tensor([[1, 2, 3], [4, 5, 6]])
        self.none, self.factor, self.flag = None, 2.5, True

    def forward(self, x):
        limits = torch.tensor([0.1, 0.2, 0.3])
        y = torch.where(x > 0, x * self.factor, torch.full_like(x, -3.5)) + self.table
        return y.clamp(min=limits) if self.flag else y, torch.arange(4), torch.tensor(7), 5


@model((x(2, 4, 3),), (x(3, 7, 3, seed=1),), shapes={"x": {0: BATCH, 1: Dim("length", min=2, max=32)}})
class Sizes(nn.Module):
    def forward(self, x):
        batch, length, width = x.shape
        steps = torch.arange(length) / length
        joined = torch.cat([x, x.flip(1)], 1).reshape(batch * 2, length * width)
        return joined, x + steps[None, :, None], x[:, : length - 1].mean(), x.new_ones(batch, length + 1)


@model((x(1, 3, 8, 8),), (x(1, 3, 8, 8, seed=1),))
class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.down = nn.Conv2d(3, 3, 3, padding=1, groups=3), nn.GroupNorm(3, 3), nn.Conv2d(3, 4, 1, stride=2)
        self.to(memory_format=torch.channels_last)

    def forward(self, x):
        y = F.silu(self.norm(self.conv(x))) + x
        return F.max_pool2d(self.down(y), 2).flatten(1).log_softmax(1)


@model((x(3, 4), torch.tensor([2, 0])), (x(3, 4, seed=1), torch.tensor([1, 1])))
class Integers(nn.Module):
    def forward(self, x, index):
        top, places = x.topk(2, dim=1)
        rows = x.index_select(0, index)
        packed = (x * 10).to(torch.int32) // 3 % 5
        return top, places, rows.cumsum(1), packed, F.one_hot(index, 3), x.scatter(1, places, 0.0), torch.einsum("ab,cb->ac", rows, x)


def shortened(graph_module):
    """Keeps the last line of each stack, without folders: archives have no paths of a machine."""
    for part in graph_module.modules():
        for node in getattr(part, "graph", torch.fx.Graph()).nodes:
            lines = re.findall(r'File "[^"]*?([^/"]+)", (line \d+, in \S+\n.*)', node.meta.get("stack_trace") or "")
            node.meta["stack_trace"] = f'File "{lines[-1][0]}", {lines[-1][1]}\n' if lines else ""
            node.meta.pop("custom", None)


def plain(path):
    """Writes the archives of `zipfile`, which have the time, with that of the others."""
    data = path.read_bytes()
    archive = zipfile.ZipFile(io.BytesIO(data))
    if all(info.date_time[0] < 1981 for info in archive.infolist()):
        return
    with zipfile.ZipFile(path, "w") as out:
        for info in archive.infolist():
            out.writestr(zipfile.ZipInfo(info.filename, (1980, 1, 1, 0, 0, 0)), archive.read(info))


def array(value):
    value = torch.as_tensor(value).detach()
    return (value.float() if value.dtype == torch.bfloat16 else value).numpy()


def make(name, kind, cases, shapes, by_keyword):
    torch.manual_seed(0)
    module = kind().eval()
    state = {key: value.clone() for key, value in module.state_dict().items()}
    args, kwargs = ((), cases[0]) if by_keyword else (cases[0], {})
    with torch.no_grad():
        exported = torch.export.export(module, args, kwargs, dynamic_shapes=shapes, strict=name not in ("dict_inputs", "dynamic_image"))
    shortened(exported.graph_module)
    path = HERE / f"{name}.pt2"
    torch.export.save(exported, path)
    plain(path)
    arrays = {}
    for at, case in enumerate(cases):
        module.load_state_dict(state)
        with torch.no_grad():
            results = module(**case) if by_keyword else module(*(one.clone() for one in case))
        for role, values in (("in", case), ("out", results)):
            for place, value in enumerate(pytree.tree_leaves(values)):
                arrays[f"{at}.{role}.{place}"] = array(value)
    np.savez_compressed(path.with_suffix(".npz"), **arrays)


def main():
    HERE.mkdir(parents=True, exist_ok=True)
    warnings.filterwarnings("ignore")
    assert len(MODELS) == 20, len(MODELS)
    for name, (kind, cases, shapes, by_keyword) in MODELS.items():
        make(name, kind, cases, shapes, by_keyword)
    print(f"{HERE}: {len(MODELS)} archives of PyTorch {torch.__version__}")


if __name__ == "__main__":
    main()
