"""Python's functions that walk with a function (`map`, `max(key=)`, those of itertools), and objects that turns and sides change, held against PyTorch at other sizes and data."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import NamedTuple

import pytest
import torch
from torch import nn
from torch.utils import _pytree as pytree

import aten2onnx
from aten2onnx._record.recorder import Recorder


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)


class Mapped(Net):
    def forward(self, x):
        rows = list(map(lambda row: row if row.sum() > 0 else -row, x))
        return torch.stack([*map(self.first, x)]) + torch.stack(rows), sum(map(lambda row: row.abs().sum(), x))


class MappedPairs(Net):
    def forward(self, x):
        return torch.cat(list(map(lambda a, b: (a * b)[None], x.unbind(0), self.first(x))))


class Filtered(Net):
    def forward(self, x):
        kept = list(filter(lambda row: row.sum() > 0, x))
        return torch.stack(kept) if kept else torch.zeros(1, 4)


class Largest(Net):
    def forward(self, x):
        best = max(range(x.shape[0]), key=lambda i: x[i].sum().item())
        number, row = min(enumerate(x), key=lambda pair: pair[1].norm())
        return x[best], number, row, max([self.first(x), self.second(x)], key=lambda y: y.sum())


class LargestOfFew(Net):
    def forward(self, x):
        return min(x[x[:, 0] > 0.5], key=lambda row: row.sum(), default=torch.zeros(4))


class Ordered(Net):
    def forward(self, x):
        order = sorted(range(x.shape[0]), key=lambda i: float(x[i, 0]), reverse=True)
        parts = sorted([x.sum(0), self.first(x).sum(0), self.second(x).sum(0)], key=lambda part: part[0].item())
        rows = [row for row in x]
        rows.sort(key=lambda row: row[1].item())
        return x[order], torch.stack(parts), torch.stack(rows), torch.stack(sorted(x, key=lambda row: row[2].item()))


class Reduced(Net):
    def forward(self, x):
        last = functools.reduce(lambda state, row: torch.tanh(self.first(state) + row), x, torch.zeros(4))
        return last, functools.reduce(torch.maximum, x), torch.stack(list(itertools.accumulate(x, lambda a, b: a * 0.5 + b)))


class Iterated(Net):
    def forward(self, x):
        n, total = x.shape[0], torch.zeros(4)
        for i, j in itertools.product(range(n), range(2)):
            total = total * 0.9 + x[i] * (j + 1)
        for i, j in itertools.combinations(range(n), 2):
            total = total + x[i] * x[j]
        for row in itertools.chain(x, self.first(x)):
            if row.sum() > 0:
                total = total * 0.5 + row
        return total, torch.stack(list(itertools.islice(x, 0, None, 2)))


class Steps(Net):
    def forward(self, x):
        first = next((i for i in range(x.shape[0]) if x[i].sum() > 0), 0)
        kept = list(itertools.takewhile(lambda row: row.sum() > -1, x))
        total = torch.stack(kept).sum(0) if kept else torch.zeros(4)
        for one, other in itertools.pairwise(x):
            total = total * 0.5 + one - other
        return x[first], total, x * 2 if any(map(lambda row: row.sum() > 3, x)) else x


@dataclass
class State:
    h: torch.Tensor
    c: torch.Tensor
    t: int = 0


@dataclass(frozen=True)
class Frozen:
    h: torch.Tensor
    n: int


class Pair(NamedTuple):
    h: torch.Tensor
    n: int


class Replaced(Net):
    """Objects that turns replace: the first one stays as it is."""

    def forward(self, x):
        state, frozen, pair = State(torch.zeros(4), torch.ones(4)), Frozen(x.sum(0), 0), Pair(torch.zeros(4), 0)
        old, first = state, frozen
        for row in x:
            state = replace(state, h=torch.tanh(row + state.h), t=state.t + 1)
            pair = Pair(torch.tanh(pair.h + row), pair.n + 1)
            if row.sum() > 0:
                frozen = replace(frozen, h=frozen.h * 0.5 + row, n=frozen.n + 1)
        return state.h * state.t + state.c, old.h, old.t, frozen.h, frozen.n, first.h, pair.h / max(pair.n, 1)


class ReplacedOnSides(Net):
    def forward(self, x):
        state = State(x.sum(0), x.mean(0))
        old = state
        if x.min() > 0:
            state = replace(state, h=state.h * 3)
        state = replace(state, h=state.h + 1) if x.sum() > 0 else replace(state, c=state.c + 1)
        rows = [x.sum(0), x.mean(0)]
        same = rows
        if x.max() > 1:
            rows = [rows[1], rows[0]]
        if not x.max() > 1.5:  # what the example does not take
            rows, state = [rows[0] * 2, rows[1]], replace(state, c=state.c * 2)
        return state.h, state.c, old.h, old.c, rows[0], same[0]


class Tracker:
    def __init__(self) -> None:
        self.mean, self.count, self.rows = torch.zeros(4), 0, []

    def update(self, row) -> None:
        self.count += 1
        self.mean = self.mean + (row - self.mean) / self.count
        self.rows.append(row * self.count)


class Tracked(Net):
    """Objects whose methods change them."""

    def forward(self, x):
        tracker, few, space = Tracker(), Tracker(), SimpleNamespace(h=torch.zeros(4), n=0)
        for row in x:
            tracker.update(row)
            if row.sum() > 0:
                few.update(row)
            if row.max() > 1:
                space.h = space.h + row
                space.n += 1
        return tracker.mean, torch.stack(tracker.rows), few.mean, few.count, space.h, space.n


class Store:
    def __init__(self) -> None:
        self.keys = None

    def add(self, key):
        self.keys = key if self.keys is None else torch.cat([self.keys, key])
        return self.keys


class Cached(Net):
    def forward(self, x):
        store, h, n, out = Store(), x[:1], 0, []
        for t in range(x.shape[0]):
            keys = store.add(self.first(x[t : t + 1]))
            out.append((x[t : t + 1] @ keys.T).softmax(-1) @ keys)
        while h.abs().sum() > 0.5 and n < 9:
            keys = store.add(self.second(h))
            h, n = (h @ keys.T).softmax(-1) @ keys * 0.7, n + 1
        return torch.cat(out), h, n


class States(Net):
    def forward(self, x):
        states = [State(torch.zeros(4), torch.zeros(4)) for _ in range(2)]
        both = None
        for row in x:
            for number, state in enumerate(states):
                state.h = torch.tanh(state.h + row * (number + 1))
                state.t += 1
            both = (row, row * 2) if both is None else (torch.tanh(both[0] + row), both[1] * 0.5 + both[0])
        return torch.stack([state.h * state.t for state in states]), both


class Yielded(Net):
    """Generators."""

    def positive(self, x):
        for row in x:
            if row.sum() > 0:
                yield row * 2

    def smaller(self, h):
        while h.norm() > 0.5:
            h = h * 0.7
            yield h

    def both(self, x):
        yield from self.positive(x)
        yield from self.positive(-x)

    def forward(self, x):
        total, count = torch.zeros(4), 0
        for row in self.positive(x):
            total = total * 0.5 + row
        for h in self.smaller(x):
            total, count = total + h.sum(0), count + 1
        return total, count, torch.stack([x[0], *self.both(x)]), x.sum() + sum(row.norm() for row in self.positive(x))


class Chosen(Net):
    """What numbers choose of lists, tuples and dictionaries, and lists that are as long as a size says."""

    def forward(self, x):
        number, n = int(x.sum() > 0), x.shape[0]
        functions = [torch.relu, torch.tanh, torch.sigmoid]
        squares, rows = [0] * n, []
        for i in range(n):
            rows.append(functions[i % 3](x[i]))
            squares[i] = i * i
        made = {0: self.first, 1: self.second}[number](x) * (1, 4, 9)[n % 3]
        return made, [x, x * 2][number - 2] + [0.5, 1.5][number], torch.stack(rows), torch.tensor(squares)


KINDS = [Yielded, Chosen, Mapped, MappedPairs, Filtered, Largest, LargestOfFew, Ordered, Reduced, Iterated, Steps, Replaced, ReplacedOnSides, Tracked, Cached, States]


def check(program, model) -> None:
    for n in (1, 2, 3, 5, 8, 13):
        for change in (lambda v: v, torch.abs, lambda v: -v.abs()):
            x = change(torch.randn(n, 4))
            wanted = pytree.tree_leaves(model(x.clone()))
            for got, want in zip(program(x), wanted, strict=True):
                torch.testing.assert_close(got, torch.as_tensor(want), atol=1e-4, rtol=1e-4, check_dtype=isinstance(want, torch.Tensor))


@pytest.mark.parametrize("kind", KINDS)
def test_functions_and_objects_are_right(kind) -> None:
    torch.manual_seed(0)
    model = kind().eval()
    program = aten2onnx.export(model, (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n"}})
    assert not [note for note in program.report.notes if "is right only" in note]
    check(program, model)


def test_what_stood_there_before_a_side_stays_as_it_is() -> None:
    torch.manual_seed(0)
    model = ReplacedOnSides().eval()
    program = aten2onnx.export(model, (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n"}}, max_runs=2)
    assert program.report.operators["If"] >= 1
    check(program, model)


class Told(Net):
    """A generator that reads what its reader changes between its elements."""

    def scaled(self, x):
        for row in x:
            yield row * self.scale

    def forward(self, x):
        self.scale, out = 1.0, torch.zeros(4)
        for row in self.scaled(x):
            out = out + row
            self.scale = self.scale * 0.5
        return out


def test_a_generator_that_its_reader_tells_something_is_refused() -> None:
    with pytest.raises(aten2onnx.CaptureError, match=r"test_folds\.py"):
        aten2onnx.export(Told().eval(), (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")


class NoRows(Net):
    """A loop that makes no turn at the example."""

    def forward(self, x):
        out = torch.zeros(4)
        for row in x[x[:, 0] > 2.5]:
            out = out + row
        return out, sum(row.sum() for row in x[x[:, 1] > 2.5]) + x


def test_a_loop_without_a_turn_at_the_example_makes_turns_at_other_data() -> None:
    torch.manual_seed(0)
    model = NoRows().eval()
    program = aten2onnx.export(model, (torch.rand(6, 4),), dynamic_shapes={"x": {0: "n"}})
    for n in (1, 3, 6, 9):
        for scale in (1, 4):
            x = torch.randn(n, 4) * scale
            for got, want in zip(program(x), model(x)):
                torch.testing.assert_close(got, want)


class Halves(Net):
    """A function that calls itself as often as a size says."""

    def half(self, x):
        if x.shape[0] <= 1:
            return self.first(x)
        middle = x.shape[0] // 2
        one, other = self.half(x[:middle]), self.half(x[middle:])
        return torch.cat([one + other.mean(0), other])

    def forward(self, x):
        return self.half(x)


class Depth(Net):
    def deep(self, x):
        if x.abs().max() < 0.5:
            return x
        return self.deep(x * 0.6)

    def forward(self, x):
        return self.deep(x)


@pytest.mark.parametrize("kind", [Halves, Depth])
def test_a_function_that_calls_itself_without_end_is_refused_soon(kind, monkeypatch) -> None:
    calls = []
    call = Recorder.call
    monkeypatch.setattr(Recorder, "call", lambda self, function, *args: (calls.append(function), call(self, function, *args))[1])
    with pytest.raises(aten2onnx.CaptureError, match=r"test_folds\.py") as error:
        aten2onnx.export(kind().eval(), (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")
    if kind is Halves:
        assert "`half` calls itself" in (error.value.help or "")
    assert len(calls) < 50_000


class Limits(nn.Module):
    """The largest and smallest of tensors without dimensions and numbers: values, and no branches."""

    def forward(self, x):
        count = max((x > 0).sum(), 1)
        low = max((x[:, 0] > 0).sum() - 2, 0)
        high = min(low + 3, x.shape[0])
        near = min(x.max(), x.min() + 1, 2.5)
        return x / count, x[low:high], x * near + max([x[0, 0], x[0, 1]]), x * max(0, x.sum() * float("nan"))


def test_extremes_of_tensors_without_dimensions_are_no_branches() -> None:
    torch.manual_seed(0)
    program = aten2onnx.export(Limits().eval(), (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")
    assert "If" not in program.report.operators
    for size in (1, 2, 3, 5, 9):
        for sign in (1, -1, 3, 0):
            x = torch.randn(size, 4) * sign
            for got, want in zip(program(x), Limits()(x), strict=True):
                torch.testing.assert_close(got, want, equal_nan=True)
