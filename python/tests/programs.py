"""Random modules with arithmetic in Python on sizes: slices, loops, branches, writes, views, lists and casts, as people write them.

`source(seed)` is the code of a module `Model` whose `forward` takes `x` [n, m] and `y` [n]. `verdict(seed)` exports it and holds the file against PyTorch at other
sizes.
"""

from __future__ import annotations

import importlib.util
import random
import tempfile
import warnings
from pathlib import Path
from typing import Any

#: The sizes n and m of the example, and those that the file is tried at.
EXAMPLE = (6, 4)
OTHERS = [(2, 2), (3, 5), (4, 4), (5, 3), (7, 7), (8, 16), (9, 6), (10, 3), (12, 8), (13, 5), (16, 4), (25, 9)]
#: Where PyTorch makes more calls than this, a program is not compared: the turns of a loop may double with each row.
_CALLS = 20_000

_HEAD = """import math
from types import SimpleNamespace

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.linspace(-1, 1, 3))
        self.register_buffer("table", torch.arange(50.0))

    def forward(self, x, y):
        n, m = x.shape
"""


class _Writer:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.numbers = ["n", "m"]
        self.count = 0
        #: What every `return` returns.
        self.returned: str | None = None

    def add(self, line: str, depth: int = 2) -> None:
        self.lines.append("    " * depth + line)

    def new(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def positive(self) -> str:
        """An integer of at least 1, from sizes."""
        a = self.random.choice(self.numbers)
        b = self.random.choice(self.numbers)
        k = self.random.randint(2, 5)
        return self.random.choice([
            a,
            f"{a} + {k}",
            f"{a} // {k} + 1",
            f"int({a} / {k}) + 1",
            f"math.ceil({a} / {k})",
            f"int(np.ceil({a} / {k}))",
            f"math.floor(math.sqrt({a}))",
            f"int({a} ** 0.5)",
            f"min({a}, {b})",
            f"max({a}, {k})",
            f"{a} % {k} + 1",
            f"(-{a}) % {k} + 1",
            f"abs({a} - {b}) + 1",
            f"len(y) + {k}",
            f"x.size(0) + x.shape[-1]",
            f"y.numel()",
            f"{a} * {k} - {a}",
            f"int({a} * 0.5) + 1",
            f"round({a} / 2) + 1",
            f"({a} + {k} - 1) // {k}",
            f"int(math.log2({a})) + 1",
            f"({a} - 1).bit_length() + 1",
            f"divmod({a}, {k})[0] + 1",
            f"divmod({a}, {k})[1] + 1",
            f"abs(int(({a} - 7) / {k})) + 1",
            f"int(round({a} / {k}, 1)) + 1",
            f"math.isqrt({a}) + 1",
            f"int(math.log({a}, {k})) + 1",
            f"len(range(0, {a}, {k}))",
            f"max(1, len(range({a}, {b}, {k})))",
            f"sum(range({a} % 9)) + 1",
            f"[{a}, {b}][{a} > {b}]",
            f"({a} if {b} > {k} else {b})",
            f"sorted([{a}, {b}, {k}])[1]",
            f"-(-{a} // {k})",
            f"math.gcd({a}, {k * 6})",
            f"int({a} in range({k}, {b} * 2, 2)) + 1",
            f"max(1, range({a})[-1])",
        ])

    def condition(self) -> str:
        a = self.random.choice(self.numbers)
        b = self.random.choice(self.numbers)
        k = self.random.randint(1, 9)
        return self.random.choice([f"isinstance({a}, int)", f"type({a}) is int and {b} > 3", f"bool({a} > {k})", f"{a} > {k}", f"{a} % 2 == 0", f"{a} < {b}", f"{a} >= 1", f"{a} == {b}", f"x.dim() == 2", f"{a} * 2 > {a}", f"y.sum() > 0", f"{a} and {b} > 3", f"int({a} / 2) > 2", f"{a} < {b} <= {k + 9}", f"{a} in range({k}, {b} + {k}, 2)", f"not {a} > {k}"])

    def tensor(self) -> str:
        """A new value of `x`, of two dimensions with at least one element each."""
        k = self.random.choice(self.numbers)
        c = self.random.randint(1, 3)
        return self.random.choice([
            f"x * {k}",
            f"x + {k} / {c}",
            f"x[:max(1, min({k}, x.shape[0]))]",
            f"x[:, :max(1, min({k}, x.shape[1]))]",
            f"x[-min({k}, x.shape[0]):]",
            f"torch.cat([x, x.new_zeros({k}, x.shape[1])])",
            f"torch.cat([x, x.new_full((x.shape[0], {c}), float({k}))], 1)",
            f"F.pad(x, (0, {k}, {c}, 0))",
            f"x + torch.arange(x.shape[1])",
            f"x + torch.arange(x.shape[0], dtype=torch.float32)[:, None] / {k}",
            f"x.reshape(-1, 1) * torch.ones(1, {k})",
            f"x.repeat({c}, 1)",
            f"x.t()",
            f"x.transpose(0, 1).contiguous().view(x.shape[1], x.shape[0])",
            f"x.sum(0, keepdim=True).expand({k}, -1)",
            f"torch.linspace(0, 1, steps={k})[:, None] + x[:1]",
            f"x - x.mean(dim={self.random.randint(0, 1)}, keepdim=True)",
            f"torch.stack([x[i % x.shape[0]] * i for i in range({c + 1})])",
            f"x.flip({self.random.randint(0, 1)})",
            f"torch.tril(x) if {c} > 1 else x",
            f"x.double().mul(0.5).float() + {k}",
            f"x.long().float() / {k}",
            f"x.roll({k}, 0)",
            f"(x > 0).float() * {k}",
            f"x * self.table[:x.shape[1]] if x.shape[1] < 50 else x",
            f"x.unfold(0, {c}, 1).sum(-1) if x.shape[0] >= {c} else x",
            f"torch.cumsum(x, 0) / x.shape[0] ** 0.5",
            f"F.softmax(x / math.sqrt(x.shape[1]), -1)",
            f"x @ torch.ones(x.shape[1], {k})",
            f"torch.full((x.shape[0], {k}), 0.5) + x[:, :1]",
            f"x[torch.arange({k}) % x.shape[0]]",
            f"torch.nn.functional.interpolate(x[None, None], size=({k}, {c}))[0, 0]",
            f"torch.cat(torch.split(x, max(1, x.shape[0] // 2)), 0)",
            f"torch.tensor([float({k}), 1.0])[None] * x[:, :1]",
            f"x.new_tensor([{k}])[None] + x",
            f"x * round({k} / 3, {c})",
            f"x - math.log({k} + 1) + math.fmod(-{k}, {c} + 1)",
            f"F.avg_pool1d(x[None], max(1, min({k}, x.shape[1])), {c})[0]",
            f"F.max_pool1d(x[None], max(1, min({k}, x.shape[1])), 1)[0]",
            f"F.adaptive_avg_pool1d(x[None], {k})[0]",
            f"x.unfold(0, max(1, min({k}, x.shape[0])), {c}).sum(-1)",
            f"torch.diag_embed(x[0], {k})[: x.shape[1]]",
            f"x[list(range(0, x.shape[0], {k}))]",
            f"x[range(min({k}, x.shape[0]))]",
            f"x[list(range(x.shape[0]))[::{c}]]",
            f"x[-min({k}, x.shape[0]) :: {c}]",
            f"x.narrow(0, 0, max(1, min({k}, x.shape[0])))",
        ])

    def branch(self, depth: int) -> None:
        """An `if` with sides that may have branches, writes, and returns in them."""
        joint = self.random.choice(["", "", f" and {self.condition()}", f" or {self.condition()}"])
        self.add(f"if {self.condition()}{joint}:", depth)
        self.side(depth + 1)
        if self.random.random() < 0.3:
            self.add(f"elif {self.condition()}:", depth)
            self.side(depth + 1)
        if self.random.random() < 0.5:
            self.add("else:", depth)
            self.side(depth + 1)

    def side(self, depth: int) -> None:
        kind = self.random.random()
        if kind < 0.15 and depth < 5:
            self.branch(depth)
        if 0.15 < kind < 0.3:
            k = self.random.choice(self.numbers)
            self.add("x = x.clone()" if kind < 0.25 else "keep = x", depth)
            self.add(self.random.choice([f"x[:{k}] = 0.5", f"x[0] = x[-1] + {k}", "x *= 2", "x.view(-1)[:2].add_(1)"]), depth)
        elif kind > 0.93 and self.returned is not None:
            self.add(self.returned, depth)
            return
        self.add(f"x = {self.tensor()}", depth)

    def statement(self) -> None:
        kind = self.random.random()
        if kind < 0.35:
            name = self.new("k")
            self.add(f"{name} = {self.positive()}")
            self.numbers.append(name)
        elif kind < 0.75:
            self.add(f"x = {self.tensor()}")
        elif kind < 0.83:
            self.add("x = x.clone()")
            k = self.random.choice(self.numbers)
            self.add(self.random.choice([f"x[:{k}] = 0.5", f"x[{k}:] += 1", f"x[:, ::2] *= 2", f"x[0] = x[-1] + {k}", f"x[x > {self.random.randint(0, 2)}] = 0.25", f"x.view(-1)[:{k}].add_(1)", f"x.t()[0].mul_({k})"]))
        elif kind < 0.9:
            self.branch(2)
        elif kind < 0.95:
            k = self.random.choice(self.numbers)
            self.add("parts = []")
            self.add(f"for i in range({self.random.choice(['3', f'min({k}, 3)', k])}):")
            self.add("parts.append(x * (i + 1))", 3)
            self.add("x = torch.cat(parts) if parts else x")
        else:
            self.add(f"assert x.shape[0] >= 1, 'empty'")


class _LoopWriter:
    """Writes loops over sizes and data: recurrences, lists, writes, counters, branches, breaks and loops in loops."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.count = 0
        #: Vectors of m elements, of which the loops make others.
        self.vectors = ["x[0]", "x.sum(0)", "torch.zeros(m)"]

    def add(self, line: str, depth: int = 2) -> None:
        self.lines.append("    " * depth + line)

    def new(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def body(self, row: str, number: str, names: list[str], depth: int, level: int) -> None:
        """Statements of a turn, which change the names."""
        draw = self.random
        for _ in range(draw.randint(1, 3)):
            name, other = draw.choice(names), draw.choice(names)
            kind = draw.random()
            c = draw.choice(["0.5", "0.25", "-0.5"])
            if kind < 0.45:
                self.add(draw.choice([
                    f"{name} = torch.tanh({name} * {c} + {row})",
                    f"{name} = {name} * {c} + {row} * {number}",
                    f"{name} = torch.maximum({name}, {row} + {other})",
                    f"{name} = ({row} - {other}).abs() / ({number} + 1)",
                    f"{name}, {other} = {other}, {name} * {c} + {row}",
                    f"{name} = {name} + F.softmax({row}, 0) * {other}.sum()",
                    f"{name} = torch.where({row} > 0, {name}, {other}) * {c}",
                    f"{name} = {name} * 0.5 + torch.arange(m) * {c}",
                ]), depth)
            elif kind < 0.55:
                self.add("x = x.clone()" if draw.random() < 0.3 else "k += 1", depth)
                self.add(f"{name} = {name} * {c} + k", depth)
            elif kind < 0.75:
                self.add(f"if {draw.choice([f'{row}.sum() > 0', f'{number} % 2 == 0', f'{number} > 2', f'{other}.mean() > 0.1', 'n > 4', f'{number} == 0'])}:", depth)
                self.add(draw.choice([f"{name} = {row} * {c}", f"{name} = {name} + 1", "k += 2", f"{name} = {other} * 0.25 + {row}"]), depth + 1)
                if draw.random() < 0.3:
                    self.add("else:", depth)
                    self.add(f"{name} = {other} - {row} * {c}", depth + 1)
            elif kind < 0.85:
                self.add(f"if {draw.choice([f'{name}.sum() > 4', f'{row}.max() > 2', f'{number} > 5'])}:", depth)
                self.add(draw.choice(["break", "break", "continue"]), depth + 1)
            elif level > 0:
                self.add(f"{name} = {name} * {c} + {row}", depth)
            else:
                inner = self.new("j")
                self.add(f"for {inner} in range({draw.choice(['n', 'm', 'n', f'{number} + 1'])}):", depth)
                self.body(f"x[{inner} % n]", inner, names, depth + 1, 1)

    def loop(self) -> None:
        draw = self.random
        names = [self.new("h") for _ in range(draw.randint(1, 2))]
        for name in names:
            self.add(f"{name} = {draw.choice(self.vectors)} * 1.0")
        if "k = 0" not in [line.strip() for line in self.lines]:
            self.add("k = 0")
        output = draw.choice(["none", "list", "list", "write", "comprehension"])
        i = self.new("i")
        if output == "comprehension":
            result = self.new("c")
            self.add(f"{result} = torch.stack([{draw.choice(['row.sin()', 'row * 2 + ' + names[0], 'F.softmax(row, 0)'])} for row in {draw.choice(['x', 'x.unbind(0)', 'x * 2'])}])")
            self.add(f"x = x + {result}")
            return
        if output == "list":
            self.add("out = []")
        if output == "write":
            self.add("out = torch.zeros(n, m)")
        head, row, number = draw.choice([
            (f"for {i} in range(n):", f"x[{i}]", i),
            (f"for {i} in range(x.shape[0]):", f"x[{i}]", i),
            (f"for {i} in range(n - 1):", f"x[{i} + 1]", i),
            (f"for {i} in range(1, n):", f"x[{i} - 1]", i),
            (f"for {i} in range(0, n, 2):", f"x[{i}]", i),
            (f"for {i} in reversed(range(n)):", f"x[{i}]", i),
            (f"for {i}, row in enumerate(x):", "row", i),
            (f"for {i}, (row, s) in enumerate(zip(x, y)):", "(row + s)", i),
            ("for row in x:", "row", "k"),
            ("for row in x.unbind():", "row", "k"),
            (f"while {names[0]}.abs().sum() > 0.5:", f"(x[0] * 0.1 - {names[0]} * 0.4)", "k"),
        ])
        if head.startswith("while"):
            self.add(head)
            self.add(f"{names[0]} = {names[0]} * 0.5", 3)
            self.add("k += 1", 3)
            if draw.random() < 0.5:
                self.add("if k > 12:", 3)
                self.add("break", 4)
        else:
            self.add(head)
            self.body(row, number, names, 3, 0)
        chosen = draw.choice(names)
        if output != "none" and not head.startswith("while"):
            self.add(f"{chosen} = {chosen} * 0.5 + {row}", 3)
        if output == "list":
            self.add(f"out.append({draw.choice([chosen, f'{chosen} * 2', row])})", 3)
            self.add(draw.choice(["r = torch.stack(out)", "r = torch.stack(out, 1).t()", "r = torch.cat(out).reshape(-1, m)", "r = torch.stack(out[::-1])", "r = torch.stack(out[1:] + out[:1])"]))
            self.add(draw.choice(["x = x + r.mean(0)", "x = r.sum(0) + x", f"x = x + r.sum(0) * {chosen}", "x = r[:n] + x[:1]", "x = x * 0.5 + len(out)"]))
        elif output == "write" and number != "k":
            self.add(f"out[{number}] = {chosen}", 3)
            self.add("x = x * 0.5 + out")
        else:
            self.add(draw.choice([f"x = x + {chosen}", f"x = x * 0.5 + {chosen} * k", f"x = x + {chosen} + {number if number != 'k' and head.startswith('for') else 'k'}"]))
        self.add("n = x.shape[0]")
        self.vectors = [*self.vectors[:3], *names]


#: Pieces of models with branches and loops as people write them. `h` is a vector of m elements, `x` has n rows of m, `y` has n elements. {c}, {k}, {w} and {o} are drawn.
_PIECES = {
    "early return in a loop": """
for i, row in enumerate(x):
    if row.sum() > {c} + 2:
        return (row * {k} + h, h.sum() * {k})
    h = h * 0.5 + row
""",
    "return in a loop in a loop": """
for i in range(n):
    for j in range(m):
        if x[i, j] > {c} + 1:
            return (x[i] * {k}, h.sum() + j)
    h = h + x[i] * 0.25
""",
    "nested loops with a branch": """
for i in range(n):
    for j in range({inner}):
        if {inner_test}:
            h = h * 0.5 + x[j % n]
        else:
            h = torch.tanh(h - x[i]{maybe_j})
""",
    "branch beside a loop in a loop": """
s = torch.zeros(m)
for i, row in enumerate(x):
    if {row_test}:
        s = s + row
    for j in range(i + 1):
        s = s * 0.9 + x[j] * 0.1
        k += 1
h = h + s
""",
    "while with and": """
t = 0
while t < {k} + 2 and h.abs().sum() > {c} + 0.5:
    h = h * 0.6 + 0.01
    t += 1
h = h + t
""",
    "while with or": """
t = 0
while h.abs().max() > 1 or t < {k}:
    h = h * 0.5
    t += 1
x = x * t
""",
    "while on a norm": """
while h.norm() > {c} + 0.5:
    h = h * 0.7 - 0.01
""",
    "while true": """
t = 0
while True:
    h = h * 0.5 + x[t % n] * 0.1
    t += 1
    if h.abs().sum() < {k} or t >= n:
        break
h = h * t
""",
    "end token": """
tokens = (y[:1].abs() * 3).long()
while len(tokens) < {k} + 5 and tokens[-1] != {w}:
    following = (tokens[-1] * 3 + tokens.sum() + n) % 7
    tokens = torch.cat([tokens, following.reshape(1)])
h = h + tokens.float().sum()
""",
    "continue": """
for i in range(n):
    if {row_test_i}:
        continue
    h = h * 0.5 + x[i]
    k += 1
""",
    "buckets": """
buckets = [[] for _ in range({w})]
for i, row in enumerate(x):
    buckets[int(row.argmax()) % {w}].append(row * {k})
h = h + torch.stack([torch.stack(rows).{reduced} if rows else h * 0 for rows in buckets]).sum(0)
k += len(buckets[0])
""",
    "sides by name": """
sides = {{"up": [h], "down": []}}
for row in x:
    side = "up" if {row_test} else "down"
    sides[side].append(row)
h = torch.stack(sides["up"]).{reduced} + len(sides["down"])
""",
    "object with a list": """
found = SimpleNamespace(rows=[h], best=-1e9)
for row in x:
    score = row.sum().item()
    if score > found.best:
        found.best = score
        found.rows.append(row * {k})
h = torch.stack(found.rows).{reduced} + found.best
""",
    "rest of rows": """
kept, i = [], 0
while i < n and x[i].sum() < {c} + 1:
    kept.append(x[i] * {k})
    i += 1
kept.extend(x[i:])
x = torch.stack(kept)
k += i
""",
    "first and others": """
rows = iter(x)
h = next(rows) * 0.5
for row in rows:
    if {row_test}:
        h = torch.tanh(h + row)
""",
    "votes": """
votes = {{place: 0 for place in range(3)}}
for row in x:
    votes[int(row.argmax()) % 3] += 1
best = max(votes, key=votes.get)
h = h * (best + 1) + max(votes.values())
""",
    "tiles": """
size = min({w}, n)
places = list(range(0, n - size + 1, max(size // 2, 1)))
if places[-1] != n - size:
    places.append(n - size)
total = torch.zeros_like(x)
for place in places:
    total[place : place + size] += torch.relu(x[place : place + size])
x = total * {k}
""",
    "until it converges": """
for turn in range(40):
    following = torch.tanh(h * 0.8 + 0.1)
    if (following - h).abs().max() < 0.01 * {k}:
        break
    h = following
k += turn
""",
    "count of a list": """
places = [int(row.argmax()) % {w} for row in x]
h = h + places.count(0) - places.count({w} - 1)
""",
    "list under a condition": """
kept = [h]
for row in x:
    if {row_test}:
        kept.append(row * {k})
h = torch.stack(kept).{reduced}
k += len(kept)
""",
    "comprehension with if": """
kept = [row * {k} for row in x if {row_test}]
if kept:
    h = h + torch.stack(kept).{reduced}
""",
    "break with a flag": """
found = False
for i, row in enumerate(x):
    if row.max() > {c} + 1.5:
        found = True
        h = row
        break
if found:
    x = x * 0.5
else:
    h = h - 1
""",
    "for else": """
for i in range(n):
    if x[i].min() < -{c} - 1:
        h = x[i] * {k}
        break
else:
    h = h + {k}
""",
    "pieces of slices": """
parts = []
for i in range(n):
    parts.append(x[i, : i % {w} + 1])
r = torch.cat(parts)
h = h + r.sum() + r.shape[0]
""",
    "chunks with a remainder": """
parts = []
for i in range(0, n, {w}):
    part = x[i : i + {w}]
    parts.append(part.softmax(0) * {k})
x = torch.cat(parts)
""",
    "chunks of split": """
parts = []
for part in x.split({w}):
    parts.append(part - part.mean(0))
x = torch.cat(parts, 0)
""",
    "padding to a multiple": """
rest = (-n) % {w}
if rest:
    padded = torch.cat([x, x.new_zeros(rest, m)])
else:
    padded = x
h = h + padded.reshape(-1, {w}, m).mean(1).sum(0)
""",
    "dictionary of lists": """
found = {{"a": [], "b": []}}
for i, row in enumerate(x):
    found["a"].append(row + i)
    found["b"].append(row.sum())
h = h + torch.stack(found["a"]).{reduced} * torch.stack(found["b"]).max()
""",
    "dictionary of lists by a condition": """
found = {{"a": [h], "b": [h * 2]}}
for row in x:
    if {row_test}:
        found["a"].append(row)
    else:
        found["b"].append(row * 0.5)
h = torch.stack(found["a"]).{reduced} - torch.stack(found["b"]).{reduced}
""",
    "any": """
if any(row.sum() > {c} + 1 for row in x):
    h = h * 2
""",
    "all": """
if all(v > -{c} - 1 for v in y):
    x = x + 1
else:
    x = x - h
""",
    "any of sizes": """
if any(size > {k} + 3 for size in x.shape):
    h = h + max(n, m) - min(n, m)
""",
    "sorted sizes": """
low, high = sorted((n, m))
h = h * low + high
""",
    "minimum of data": """
best = min(y[i] for i in range(n)) if {static} else min(float(y.min()), {c} + 0.0)
h = h + best
""",
    "sum of a generator": """
h = h + sum(row * i for i, row in enumerate(x))
""",
    "adaptive depth": """
depth = 0
for _ in range({k} + 2):
    h = torch.tanh(h * 1.5 + x.mean(0))
    depth += 1
    if h.abs().mean() > 0.{k}:
        break
h = h * depth
""",
    "best so far": """
best, where = None, 0
for i, row in enumerate(x):
    score = row.sum()
    if best is None or score > best:
        best, where = score, i
h = x[where] + h
""",
    "two states that swap": """
a, b = h, x[0]
for i in range(n):
    a, b = b, torch.tanh(a * 0.5 + x[i])
    if {row_test_i}:
        a, b = b, a
h = a - b
""",
    "written rows": """
out = torch.zeros(n, m)
for i in range(n):
    if {row_test_i}:
        out[i] = x[i] * {k}
    else:
        out[i, 0] = h[0]
x = out + x
""",
    "growing cache": """
cache = x[:1]
for i in range(1, n):
    if {row_test_i}:
        cache = torch.cat([cache, x[i : i + 1]])
    h = h * 0.5 + cache.mean(0)
x = torch.cat([cache, x[:1]])
""",
    "recursion": """
x = self.halved(x, 0)
""",
    "branch on sizes": """
if n > {k} and m <= {w} + 2 or n == m:
    x = x.cumsum(0) if n % 2 else x.flip(0)
elif n * m > 20:
    x = x[: n // 2 + 1]
""",
    "branch on data with a write": """
x = x.clone()
if y.sum() > 0:
    x[0] += 1
    if x.sum() > {c}:
        x[-1] = h
elif y.max() > -1:
    x *= 0.5
""",
    "returns": """
if y.mean() > {c}:
    return (h * 2, h.sum())
if n > {k} + 6:
    if h.sum() > 0:
        return (h - 1, h.mean())
    h = h + 1
""",
    "queue": """
queue = [h]
t = 0
while queue and t < {k} + 2:
    item = queue.pop()
    t += 1
    if item.sum() > 0:
        queue.append(item * 0.5 - 0.1)
    h = h * 0.9 + item * 0.1
""",
    "last two": """
out = [h, h * 0.5]
for i in range(n):
    out.append(torch.sin(out[-1] + out[-2] * 0.5 + x[i]))
h = out[-1]
x = torch.stack(out)[2:]
""",
    "number from data": """
count = int((y > 0).sum())
for i in range(count):
    h = h * 0.5 + x[i]
""",
    "helper": """
h = self.gate(h, x)
for row in x:
    h = self.gate(h, row[None])
""",
}

_HELPERS = """
    def halved(self, x, depth):
        if x.shape[0] <= 4 or depth > 3:
            return x * 2
        return self.halved(x[: x.shape[0] // 2], depth + 1) + 1

    def gate(self, h, rows):
        if rows.sum() > h.sum():
            return torch.sigmoid(h) * rows.mean(0)
        return h * 0.5

    def forward(self, x, y):
        n, m = x.shape
        h, k = x.sum(0) * 0.3, 1
"""


def _mixed(seed: int) -> str:
    """The code of a module of pieces with branches and loops."""
    draw = random.Random(seed)
    lines = []
    names = draw.sample(sorted(_PIECES), draw.randint(1, 3))
    for name in names:
        text = _PIECES[name].format(
            c=draw.choice(["0", "0.5", "1"]),
            k=draw.randint(1, 4),
            w=draw.randint(2, 4),
            inner=draw.choice(["n", "m", "i + 1", "3", "n - i"]),
            inner_test=draw.choice(["x[i, j % m] > 0", "i > j", "j % 2 == 0", "h.sum() > 0", "i == j and n > 3"]),
            maybe_j=draw.choice(["", " * j"]),
            row_test=draw.choice(["row.sum() > 0", "row.max() > 0.5 and row.min() < 0", "row.mean() > h.mean()", "row.norm() < 2"]),
            row_test_i=draw.choice(["x[i].sum() > 0", "i % 2 == 0", "i > 2 or x[i, 0] > 0", "x[i].max() > h.max()"]),
            reduced=draw.choice(["sum(0)", "mean(0)", "max(0).values"]),
            static=draw.choice(["True", "False"]),
        )
        lines += [f"        {line}" for line in text.strip("\n").split("\n")]
        lines.append("        n, m = x.shape")
    lines.append("        " + draw.choice(["return (h, h.sum())", "return (x.sum(0) + h, y.sum())", "return (h * k, x.mean())"]))
    return _HEAD.rsplit("    def forward", 1)[0].rstrip() + "\n" + _HELPERS + "\n".join(lines) + "\n"


def source(seed: int, branches: bool = False, loops: bool = False, mixed: bool = False) -> str:
    """The code of a module; with `branches`, one with several that matter; with `loops`, one with loops; with `mixed`, one of pieces that people write."""
    if mixed:
        return _mixed(seed)
    if loops:
        loop_writer = _LoopWriter(seed)
        for _ in range(loop_writer.random.randint(1, 2)):
            loop_writer.loop()
        loop_writer.add(loop_writer.random.choice(["return x", "return x, y * n", "return x.sum(0), k * y", f"return x, {loop_writer.vectors[-1]}"]))
        return _HEAD + "\n".join(loop_writer.lines) + "\n"
    writer = _Writer(seed)
    ends = ["return x", "return x, y * n", "return x.sum(0), x.shape[0] * y", "return {'x': x, 'y': y[:x.shape[0]]}"]
    if branches:
        writer.returned = writer.random.choice(ends)
        for _ in range(writer.random.randint(1, 3)):
            writer.statement()
            writer.branch(2)
        writer.add(writer.returned)
        return _HEAD + "\n".join(writer.lines) + "\n"
    for _ in range(writer.random.randint(2, 7)):
        writer.statement()
    writer.add(writer.random.choice([*ends, f"return x, y * {writer.random.choice(writer.numbers)}"]))
    return _HEAD + "\n".join(writer.lines) + "\n"


def module(code: str, folder: Path, name: str) -> Any:
    """The module that some code defines, in a file, so that its lines are known."""
    path = folder / f"{name}.py"
    path.write_text(code)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded.Model().eval()


def verdict(seed: int, branches: bool = False, loops: bool = False, mixed: bool = False, **options: Any) -> tuple[str, str]:
    """Exports a random module: "right", "refused" with the message, "wrong" with what differs, or "invalid" if PyTorch does not run it at the example."""
    import aten2onnx
    import torch

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = module(source(seed, branches, loops, mixed), Path(folder), f"program_{seed}")
        torch.manual_seed(seed)
        try:
            model(*_inputs(*EXAMPLE))
        except Exception as error:
            return "invalid", str(error)
        try:
            program = aten2onnx.export(model, _inputs(*EXAMPLE), dynamic_shapes={"x": {0: "n", 1: "m"}, "y": {0: "n"}}, **options)
        except aten2onnx.Error as error:
            lowered = getattr(error, "lowered", None) or getattr(error.__context__, "lowered", None)
            return "refused", f"{error}\n  lowered: {lowered}" if lowered is not None else str(error)
        bad = _difference(program, model)
        if bad and program.report.conditions:
            return "conditional", f"{bad}; {program.report.conditions}"
        return ("wrong", bad) if bad else ("right", "")


def _inputs(n: int, m: int) -> tuple[Any, Any]:
    import torch

    return torch.randn(n, m), torch.randn(n)


def _difference(program: Any, model: Any) -> str | None:
    """What the file gives that PyTorch does not; None if both agree wherever PyTorch runs."""
    import torch
    from aten2onnx._record.bounded import Bounded
    from torch.utils import _pytree as pytree

    for sizes in (EXAMPLE, *OTHERS):
        inputs = _inputs(*sizes)
        for sign in (0, 1, -1):
            given = tuple(value.abs() * sign if sign else value for value in inputs)
            try:
                with Bounded(_CALLS):
                    wanted = pytree.tree_leaves(model(*(value.clone() for value in given)))
            except Exception:
                continue
            try:
                found = program(*given)
            except Exception as error:
                return f"at {sizes}: {str(error).splitlines()[0]}"
            for index, (got, want) in enumerate(zip(found, wanted)):
                want = torch.as_tensor(want)
                if got.shape == want.shape and got.dtype == want.dtype and _is_noise(model, given, index, got, want):
                    continue
                if got.shape != want.shape or got.dtype != want.dtype or not torch.allclose(got.double(), want.double(), 1e-4, 1e-4, True):
                    return f"at {sizes}: found {got.dtype}{list(got.shape)}, expected {want.dtype}{list(want.shape)}"
    return None


def _is_noise(model: Any, given: tuple[Any, ...], index: int, got: Any, want: Any) -> bool:
    """Whether PyTorch's own result differs as much if its inputs change by a rounding, or from that in float64: what is left of `x - x.mean()` where all elements are equal."""
    import copy

    import torch
    from torch.utils import _pytree as pytree

    if not want.is_floating_point() or torch.allclose(got, want, 1e-4, 1e-4, True):
        return False
    changed = [torch.as_tensor(pytree.tree_leaves(model(*(value * factor for value in given)))[index]) for factor in (1 + 2e-7, 1 - 2e-7, 1 + 5e-7)]
    if any(other.shape != want.shape or bool(((got - want).abs().max() <= 4 * (other - want).abs().max())) for other in changed):
        return True
    wide = (value.double() if value.is_floating_point() else value for value in given)
    exact = torch.as_tensor(pytree.tree_leaves(copy.deepcopy(model).double()(*wide))[index])
    return exact.shape == want.shape and bool((got - exact).abs().max() <= 16 * (want - exact).abs().max())


if __name__ == "__main__":
    import collections
    import sys

    first, last = int(sys.argv[1]), int(sys.argv[2])
    counts: collections.Counter[str] = collections.Counter()
    for number in range(first, last):
        found, text = verdict(number, *(f"--{kind}" in sys.argv for kind in ("branches", "loops", "mixed")))
        counts[found] += 1
        if found in ("wrong", "conditional") or "-v" in sys.argv:
            print(number, found, text, flush=True)
    print(dict(counts))
    sys.exit(counts["wrong"] > 0 or counts["right"] < (last - first) // 2)
