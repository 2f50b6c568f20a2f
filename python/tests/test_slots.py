"""Lists of one element as many times as a size says, deques, windows and `defaultdict(list)` that loops write to, held against PyTorch."""

from __future__ import annotations

import collections
from collections import defaultdict, deque

import pytest
import torch
from tiers import slow
from torch import nn

import aten2onnx


class Forward(nn.Module):
    def forward(self, x):
        n = x.shape[0]
        out, h = [None] * n, torch.zeros(4)
        for t in range(n):
            h = torch.tanh(h * 0.5 + x[t])
            out[t] = h
        return torch.stack(out), out[-1], out[0], len(out)


class Both(nn.Module):
    """Both directions of a recurrence, in three ways to count down."""

    def forward(self, x):
        n = x.shape[0]
        ahead, back, down, last = [None] * n, n * [None], [torch.zeros(4)] * n, [None] * n
        for t in range(n):
            ahead[t] = x[t] * 2
            last[-1 - t] = x[t]
        h = torch.zeros(4)
        for t in reversed(range(n)):
            h = torch.tanh(h * 0.5 + x[t])
            back[t] = h
        for t in range(n - 1, -1, -1):
            down[t] = x[t] - t
        return torch.stack(ahead), torch.cat(back), torch.stack(down, 1), torch.stack(last)


class Before(nn.Module):
    """What the turn before has written, and places that are written to twice."""

    def forward(self, x):
        n = x.shape[0]
        out = [None] * n
        out[0] = x[0]
        for t in range(1, n):
            out[t] = out[t - 1] * 0.5 + x[t]
        for t in range(n):
            out[t] = out[t] + x[t].sum()
        return torch.stack(out), out[-1]


class Sides(nn.Module):
    def forward(self, x):
        n = x.shape[0]
        out = [None for _ in range(n)]
        for t in range(n):
            if x[t].sum() > 0:
                out[t] = x[t]
            else:
                out[t] = -x[t, :4] * 0.5
        return torch.stack(out).cumsum(0)


class Asked(nn.Module):
    """Places that nothing was written to."""

    def forward(self, x):
        n = x.shape[0]
        out, h = [None] * n, torch.zeros(4)
        for t in range(n):
            if x[t].sum() > 0:
                out[t] = x[t]
        for t in range(n):
            if out[t] is not None:
                h = h * 0.5 + out[t]
        for one in out:
            h = h + 1 if one is None else h
        return h, sum([one for one in out if one is not None], torch.zeros(4))


class Left(nn.Module):
    def forward(self, x):
        n, k = x.shape[0], 0
        out = [None] * n
        while k < n:
            out[k] = x[k] * 2
            k += 1
            if x[k - 1].sum() > 2:
                break
        return torch.stack(out[:k]), k


class Chosen(nn.Module):
    """Places that data choose, or that come again later than in any run."""

    def forward(self, x):
        n = x.shape[0]
        out, seen, order = [None] * n, [torch.zeros(4)] * n, x[:, 0].argsort()
        for t in range(n):
            out[int(order[t])] = x[t] * 2
            seen[t % 20] = x[t]
        return torch.stack(out), torch.stack(seen)


class Tuples(nn.Module):
    def forward(self, x):
        n = x.shape[0]
        out, pieces = [None] * n, [None] * n
        for t in range(n):
            h, c = out[t - 1] if t > 0 else (x[0], x[0] * 0)
            out[t] = (torch.tanh(h + x[t]), c + 1)
            pieces[t] = x[t, : t % 3 + 1]
        rows, counts = zip(*out)
        return torch.stack(rows), torch.stack(counts), torch.cat(pieces)


class Queue(nn.Module):
    """Both ends of a deque."""

    def forward(self, x):
        out, waiting, h = deque(), collections.deque(), torch.zeros(4)
        for row in x:
            if row.sum() > 0:
                out.append(row)
            else:
                out.appendleft(row * 2)
            waiting.extend([row, row + 1])
            h = h * 0.5 + waiting.popleft()
        return torch.stack(list(out)), torch.stack(tuple(waiting)), h, len(out), out[0], out[-1]


class Window(nn.Module):
    def forward(self, x):
        last, out = deque(maxlen=3), []
        for row in x:
            last.append(row)
            out.append(sum(last) / len(last))
        return torch.stack(out), torch.stack(list(last)).mean(0)


class Search(nn.Module):
    """A tree is walked through in breadth."""

    def forward(self, x):
        places, seen = deque([0]), torch.zeros(x.shape[0])
        while places:
            i = places.popleft()
            seen[i] += x[i, 0]
            for child in (2 * i + 1, 2 * i + 2):
                if child < x.shape[0]:
                    places.append(child)
        return seen


class Keys(nn.Module):
    def forward(self, x):
        out, known, h = defaultdict(list), {"some": [], "all": []}, torch.zeros(4)
        for t in range(x.shape[0]):
            out["z"].append(x[t])
            h = torch.tanh(h + x[t])
            out["a"].append(h)
            known["all"].append(h * 2)
            if x[t].sum() > 0:
                known["some"].append(h)
            if x[t].sum() > 4:
                break
        return torch.cat([torch.stack(values) for values in out.values()]), sum(known["some"], torch.zeros(4)), torch.stack(known["all"])


class AtBegin(nn.Module):
    def forward(self, x):
        out, some = [], [x[0]]
        for row in x:
            out.insert(0, row * 2)
            if row.sum() > 0:
                some.insert(0, row)
        return torch.stack(out), torch.stack(some)


def check(model, sizes, seed: int = 0) -> int:
    """How often a file was compared with PyTorch."""
    torch.manual_seed(seed)
    program = aten2onnx.export(model, (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")
    assert not program.report.conditions
    compared = 0
    for n in sizes:
        for x in (torch.randn(n, 4), torch.rand(n, 4), -torch.rand(n, 4)):
            try:
                wanted = model(x)
            except (RuntimeError, IndexError, ValueError):  # there is no element
                continue
            wanted = (wanted,) if isinstance(wanted, torch.Tensor) else wanted
            for got, want in zip(program(x), wanted, strict=True):
                torch.testing.assert_close(got, torch.as_tensor(want))
            compared += 1
    return compared


@pytest.mark.parametrize("kind", [Forward, Both, Before, Sides, Asked, Left, Chosen, Tuples, Queue, Window, pytest.param(Search, marks=slow), Keys, AtBegin])
def test_lists_whose_places_turns_write_to(kind) -> None:
    assert check(kind().eval(), (6, 0, 1, 2, 3, 7, 13, 41)) >= 20


def test_places_in_order_are_a_scan_output_and_not_copied_in_each_turn() -> None:
    program = aten2onnx.export(Forward().eval(), (torch.rand(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")
    assert any("it carries 1 tensor." in note for note in program.report.notes)


class Moved(nn.Module):
    """A window that is longer than any run."""

    def __init__(self, kind) -> None:
        super().__init__()
        self.kind = kind

    def forward(self, x):
        last, out = [torch.zeros(4)] * 90, []
        if self.kind == "deque":
            last = deque(last, maxlen=90)
        for row in x:
            out.append(last[0] + row)
            if self.kind == "sliced":
                last = last[1:] + [row]
            else:
                last.append(row)
            if self.kind == "popped":
                last.pop(0)
        return torch.stack(out)


@pytest.mark.parametrize("kind", ["popped", "sliced", "deque"])
def test_windows_that_are_longer_than_any_run(kind) -> None:
    assert check(Moved(kind).eval(), (6, 90, 92)) == 9


class FromEnd(nn.Module):
    """Places of tensors that are counted from the end."""

    def forward(self, x):
        n = x.shape[0]
        out, moved, half = torch.zeros(n, 4), x * 1, (n + 1) // 2
        for t in range(n):
            out[-1 - t] = x[t]
        for t in range(n):
            moved[t - 1] = x[t] + t
        moved[-half] = 0
        out[:, -(half % 2 + 1)] = 1
        return out, moved


def test_places_of_tensors_that_are_counted_from_the_end() -> None:
    assert check(FromEnd().eval(), (6, 1, 2, 5, 8)) == 15


class Shared(nn.Module):
    """One tensor in all places, written to in place."""

    def forward(self, x):
        out = [torch.zeros(4)] * x.shape[0]
        for t in range(x.shape[0]):
            out[t] += x[t]
        return torch.stack(out)


class NoKey(nn.Module):
    """Data decide which keys there are, and in which order."""

    def forward(self, x):
        out = defaultdict(list)
        for row in x:
            if row.sum() > 0:
                out["p"].append(row)
            else:
                out["n"].append(row)
        return sum(out["p"], torch.zeros(4)) - sum(out["n"], torch.zeros(4))


class Unasked(nn.Module):
    """A module that takes None."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(4, 4)

    def forward(self, x):
        out = [None] * x.shape[0]
        for t in range(x.shape[0]):
            out[t] = self.cell(x[t : t + 1], out[t - 1])
        return torch.cat(out)


@pytest.mark.parametrize("kind", [Shared, NoKey, Unasked])
def test_other_lists_are_refused_with_their_line(kind) -> None:
    torch.manual_seed(0)
    with pytest.raises(aten2onnx.CaptureError, match=r"test_slots\.py"):
        aten2onnx.export(kind().eval(), (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")
