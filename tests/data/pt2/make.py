"""Creates the `.pt2` samples of this folder, except for those of other versions of torch.

    python make.py [name ..]

Needs torch 2.9 or later. `make_recurrent.py` makes the samples of recurrent layers. The samples `v27_*`, `v28_*` and `v215_*` were written by torch 2.7.1, 2.8.0 and 2.15.0 from the same models:
`torch.export.save(torch.export.export(model, args, strict=True), path)`.
"""

import re
import sys
from pathlib import Path

import torch
from torch import nn
from torch.export import Dim, export, save

HERE = Path(__file__).parent
SAMPLES = {}


def sample(make):
    SAMPLES[make.__name__] = make
    return make


@sample
def static_conv():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(1, 2, 3, padding=1)
            self.bn = nn.BatchNorm2d(2)
            self.fc = nn.Linear(8, 3)
            self.register_buffer("np_buf", torch.arange(3.0), persistent=False)

        def forward(self, x):
            x = torch.relu(self.bn(self.conv(x))).flatten(1)
            return self.fc(x) + self.np_buf + torch.tensor([1.0, float("inf"), 3.0])

    return export(M().eval(), (torch.randn(1, 1, 2, 2),))


@sample
def dynamic_shapes():
    class M(nn.Module):
        def forward(self, x, y):
            batch = x.shape[0]
            half = x.reshape(batch * x.shape[1] // 2, 2)
            both = torch.cat([x, y])
            padded = torch.nn.functional.pad(x, (0, max(0, 8 - batch)))
            return half, both, padded, x.reshape(-1), both[: both.shape[0] % 7 + 1], batch * 2

    batch, other = Dim("batch", min=3, max=9), Dim("other")
    shapes = {"x": {0: batch}, "y": {0: other}}
    return export(M(), (torch.randn(4, 6), torch.randn(5, 6)), dynamic_shapes=shapes)


@sample
def cond_symclosure():
    class M(nn.Module):
        def forward(self, x, p):
            rows = x.shape[0]
            return torch.cond(p, lambda x: x + rows, lambda x: x * rows, (x,))

    return export(M(), (torch.randn(4, 3), torch.tensor(True)), dynamic_shapes={"x": {0: Dim("rows", min=2, max=9)}, "p": None})


@sample
def derived_dim():
    class M(nn.Module):
        def forward(self, x, y):
            return x + y[1:]

    dim = Dim("dim", min=3, max=9)
    return export(M(), (torch.randn(4), torch.randn(5)), dynamic_shapes={"x": {0: dim}, "y": {0: dim + 1}})


@sample
def tied_weights():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(5, 3)
            self.head = nn.Linear(3, 5, bias=False)
            self.head.weight = self.embedding.weight

        def forward(self, x):
            return self.head(self.embedding(x))

    return export(M(), (torch.tensor([1, 2]),))


@sample
def strided_weights():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            base = torch.arange(24.0)
            self.first = nn.Parameter(base[2:8].view(2, 3))
            self.second = nn.Parameter(base[14:18])
            self.transposed = nn.Parameter(torch.arange(6.0).view(2, 3).t())
            self.register_buffer("expanded", torch.tensor([7.0]).expand(2, 2))
            self.register_buffer("stepped", torch.arange(6)[::2])
            self.register_buffer("empty", torch.zeros(0, 3))
            self.register_buffer("scalar", torch.tensor(True))

        def forward(self, x):
            x = x + self.first.sum() + self.second.sum() + self.transposed.sum() + self.expanded.sum()
            return torch.where(self.scalar, x + self.stepped.sum(), x + self.empty.sum())

    return export(M(), (torch.randn(2),))


@sample
def complex_net():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.tensor([1 + 2j, 3 - 4j]))

        def forward(self, x):
            return torch.view_as_real(torch.fft.fft(x * self.weight) + 1.5j)

    return export(M(), (torch.randn(2, dtype=torch.complex64),))


@sample
def bf16_net():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(2, 2)

        def forward(self, x):
            return nn.functional.gelu(self.fc(x), approximate="tanh").to(torch.float16)

    return export(M().bfloat16(), (torch.randn(1, 2, dtype=torch.bfloat16),))


@sample
def cond():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(2, 2)

        def forward(self, x):
            size = x.shape[0]
            return torch.cond(x.sum() > 0, lambda x: self.fc(x) * size, lambda x: -x, (x,))

    return export(M(), (torch.randn(3, 2),), dynamic_shapes={"x": {0: Dim("n", min=2)}})


@sample
def while_loop():
    class M(nn.Module):
        def forward(self, count, x):
            from torch._higher_order_ops.while_loop import while_loop

            return while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (count, x))

    return export(M(), (torch.tensor(0), torch.randn(2)))


@sample
def scans():
    class M(nn.Module):
        def forward(self, x):
            from torch._higher_order_ops.map import map as map_over
            from torch._higher_order_ops.scan import scan

            last, sums = scan(lambda c, row: (c + row, c * row), torch.zeros(3), x)
            return last, sums, map_over(lambda row: row.exp(), x)

    return export(M(), (torch.randn(4, 3),))


@sample
def associative_scan():
    """PyTorch spells it out on the CPU; a fake tensor needs no GPU."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    class M(nn.Module):
        def forward(self, x):
            from torch._higher_order_ops.associative_scan import associative_scan

            return associative_scan(lambda a, b: a * b, x, dim=0)

    with FakeTensorMode():
        program = export(M(), (torch.empty(4, 3, device="cuda"),))
    program.example_inputs = ((torch.randn(4, 3),), {})
    return program


@sample
def buffer_mutation():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.bn = nn.BatchNorm1d(2)
            self.register_buffer("count", torch.zeros(2, 2))

        def forward(self, x, y):
            self.count.add_(1)
            y.mul_(2)
            self.count[0].copy_(x[0])
            return self.bn(x) + y + self.count

    return export(M().train(), (torch.randn(2, 2), torch.randn(2, 2)))


@sample
def buffer_mutation_decomposed():
    return buffer_mutation().run_decompositions()


@sample
def effects():
    """After decomposition, tokens order the checks of a factorization."""

    class M(nn.Module):
        def forward(self, a, b):
            return torch.linalg.solve(a, b)

    return export(M(), (torch.eye(2) + 1, torch.randn(2, 1))).run_decompositions()


@sample
def inplace():
    class M(nn.Module):
        def forward(self, x):
            x = x.clone()
            x.add_(1).relu_()
            x[:, 0] = 5
            x.view(-1)[1:3].mul_(2)
            left, right = x.chunk(2, 1)
            left.sub_(right.to(torch.float64))
            x[x > 4] = 0
            y = torch.zeros(2, 4)
            y.copy_(x)
            x.t().unsqueeze_(0).fill_(0.5)
            return x + y, left, y

    return export(M(), (torch.randn(2, 4),))


@sample
def no_grad_autocast():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(3, 3)

        def forward(self, x):
            with torch.no_grad():
                x = self.fc(x)
                x.add_(1)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                y = self.fc(x) + x
            with torch.autocast("cpu", enabled=False):
                return y.float() + x

    return export(M(), (torch.randn(2, 3),))


@sample
def constant_outputs():
    class M(nn.Module):
        def forward(self, x, flag, none, number, text):
            y = x * number if flag else x
            return y, None, 3, x, 2.5, y, True

    return export(M(), (torch.randn(2), True, None, 4, "text"))


@sample
def lists():
    class M(nn.Module):
        def forward(self, x):
            a, b = x.split([1, 3], dim=1)
            values, indices = x.topk(2)
            unused, index = x.max(dim=0)
            picked = x[None, torch.tensor([0, 1]), :, None]
            return [a, b], x.unbind(1), values, indices, index, picked, torch.meshgrid(a[0], b[0], indexing="ij")

    return export(M(), (torch.randn(2, 4),))


@sample
def nested_inputs():
    class M(nn.Module):
        def forward(self, first, pair, *rest, last):
            return {"sum": first["a"] + pair[0] + pair[1][0] + rest[0], "last": last * 2}

    args = ({"a": torch.randn(2)}, (torch.randn(2), [torch.randn(2)]), torch.randn(2))
    return export(M(), args, {"last": torch.randn(2)})


@sample
def symint_input():
    class M(nn.Module):
        def forward(self, x, n):
            return x * n, torch.zeros(n)

    return export(M(), (torch.randn(2), 5), dynamic_shapes={"x": None, "n": Dim.DYNAMIC})


@sample
def unbacked():
    class M(nn.Module):
        def forward(self, x):
            n = x.max().item()
            torch._check(n >= 0)
            torch._check(n < 9)
            return torch.zeros(n), x.nonzero(), x.sum().float().item() * 2.0

    return export(M(), (torch.tensor([3, 0, 4]),))


@sample
def lstm():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(2, 3, bidirectional=True)

        def forward(self, x):
            return self.lstm(x)

    return export(M(), (torch.randn(4, 1, 2),))


def multi_model(path):
    from torch.export.pt2_archive._package import package_pt2

    class M(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.fc = nn.Linear(size, 2)

        def forward(self, x):
            return self.fc(x)

    programs = {name: without_folders(export(M(size), (torch.randn(1, size),))) for name, size in [("enc", 2), ("dec/er", 3)]}
    package_pt2(path, exported_programs=programs)


def pickled_weight(path):
    from torch.testing._internal.two_tensor import TwoTensor

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(TwoTensor(torch.ones(2), torch.ones(2)))

        def forward(self, x):
            return x + self.weight

    save(without_folders(export(M(), (torch.randn(2),))), path)


def without_folders(program):
    """Removes local paths from stack traces."""
    for module in program.graph_module.modules():
        for node in getattr(getattr(module, "graph", None), "nodes", []):
            trace = node.meta.get("stack_trace")
            if trace:
                node.meta["stack_trace"] = re.sub(r'File "[^"]*/(torch/|make.py)', r'File "\1', trace)
    return program


def main():
    wanted = sys.argv[1:] or [*SAMPLES, "multi_model", "pickled_weight"]
    for name in wanted:
        torch.manual_seed(0)
        path = HERE / f"{name}.pt2"
        if name in SAMPLES:
            save(without_folders(SAMPLES[name]()), path)
        else:
            globals()[name](path)
        print(path.name, path.stat().st_size)


if __name__ == "__main__":
    main()
