"""Iterators, and what lists and dictionaries that a loop has changed are asked for: how often, the largest, without their first."""

from __future__ import annotations

import aten2onnx
import pytest
import torch
from torch import nn


class First(nn.Module):
    def forward(self, x):
        rows = iter(x)
        h = next(rows)
        for row in rows:
            h = torch.tanh(h + row)
        return h


class Numbered(nn.Module):
    def forward(self, x):
        rows = iter(enumerate(x))
        place, h = next(rows)
        for place, row in rows:
            if row.sum() > 0:
                h = h * 0.5 + row * place
        return h, place


class OfList(nn.Module):
    def forward(self, x):
        rows = iter([row * 2 for row in x])
        h = next(rows)
        for row in rows:
            h = torch.maximum(h, row)
        return h


class Counted(nn.Module):
    def forward(self, x):
        found = [int(row.argmax()) for row in x]
        return torch.tensor([found.count(k) for k in range(4)]), "abca".count("a") + (1, 2, 1).count(1)


class Votes(nn.Module):
    def forward(self, x):
        votes = {0: 0, 1: 0, 2: 0, 3: 0}
        for row in x:
            votes[int(row.argmax())] += 1
        return max(votes, key=votes.get), max(votes.values()), min(votes.items(), key=lambda item: item[1])[0], sorted(votes, key=votes.get)[-1]


class Window(nn.Module):
    def forward(self, x):
        window = []
        for row in x:
            window = window + [row]
            if len(window) > 3:
                del window[0]
        window[1:] = [row * 3 for row in x]
        window[0:1] = [x[0], x[-1] * 2]
        return torch.stack(window), len(window)


class Tiles(nn.Module):
    """Windows that cover all rows, the last of which ends with them."""

    def forward(self, x):
        n = x.shape[0]
        size = min(4, n)
        step = max(size // 2, 1)
        total, weight = torch.zeros_like(x), torch.zeros(n, 1)
        places = list(range(0, n - size + 1, step))
        if places[-1] != n - size:
            places.append(n - size)
        for place in places:
            total[place : place + size] += torch.relu(x[place : place + size])
            weight[place : place + size] += 1
        return total / weight, len(places)


class Steps(nn.Module):
    def forward(self, x):
        n = x.shape[0]
        step = max(n // 3, 1)
        h, k = torch.zeros(4), 0
        for i in range(0, n, step):
            h, k = h * 0.5 + x[i], k + i
        return h, k, torch.tensor(list(range(0, n, step))), len(range(1, n, step))


class Popped(nn.Module):
    def forward(self, x):
        places, out = list(range(len(x))), []
        while len(places) > 1:
            out.append(places.pop(0) * 2 + int(x[places[0], 0] > 0))
        return torch.tensor(out + places)


class Flags(nn.Module):
    """`a or b` and `a and b` as values, and booleans that are counted."""

    def forward(self, x):
        flag, count, last, h = False, 0, 0, torch.zeros(4)
        for place, row in enumerate(x):
            flag = flag or bool(row.sum() > 1)
            count += bool(row[0] > 0)
            count += int(bool(row[1] > 0) and flag)
            last = int(row[2] > 0) * place or last
            ready = count < 5 and row.mean() > 0
            if ready:
                h = h + row
        kept = [row for row in x if row.sum() > 0] or [x[-1] * 0]
        return x * (2 if flag else 1), count, last, h, torch.stack(kept).sum(0)


class Chunks(nn.Module):
    """All have three rows at the example and at its multiples."""

    def forward(self, x):
        chunks = [x[i : i + 3] for i in range(0, len(x), 3)]
        return torch.stack([chunk.mean(0) for chunk in chunks]), chunks[-1], len(chunks)


@pytest.mark.parametrize("kind", [First, Numbered, OfList, Counted, Votes, Window, Tiles, Steps, Popped, Flags, Chunks])
def test_the_same_as_in_python(kind):
    model = kind().eval()
    program = aten2onnx.export(model, (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")
    assert program.report.operators["Loop"] >= 1 and not program.report.conditions
    for n in (1, 2, 3, 5, 8, 13):
        for sign in (1, -1, None):
            x = torch.randn(n, 4)
            x = x if sign is None else x.abs() * sign
            for result, want in zip(program(x), torch.utils._pytree.tree_leaves(model(x)), strict=True):
                torch.testing.assert_close(result, torch.as_tensor(want))


class Resumed(nn.Module):
    """What the first loop leaves is read by the second."""

    def forward(self, x):
        rows, h = iter(x), torch.zeros(4)
        for row in rows:
            if row.sum() > 0:
                break
            h = h + row
        for row in rows:
            h = h * 0.5 + row
        return h


def test_an_iterator_that_two_loops_read_is_refused_with_its_line():
    with pytest.raises(aten2onnx.CaptureError, match="test_walked.py"):
        aten2onnx.export(Resumed().eval(), (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")
