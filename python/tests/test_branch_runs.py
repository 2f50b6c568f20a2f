"""How many times a model runs so that both sides of its branches are recorded."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import aten2onnx

from tiers import IS_ALL

#: The runs of a model without branches, at the example and at two other sizes, and one that finds out whether a branch on a size matters.
FIRST = 4


class Branches(nn.Module):
    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(count))


class OnData(Branches):
    def forward(self, x):
        for i in range(self.count):
            x = torch.tanh(self.layers[i](x)) if x.sum() * (1 if i % 2 else -1) > 0 else x * 0.5 + i
        return x


class OnSizes(Branches):
    def forward(self, x):
        for i in range(self.count):
            x = torch.tanh(self.layers[i](x)) if x.shape[0] > i + 5 else x * 0.5 + i
        return x


class Nested(Branches):
    def inner(self, x, i):
        if i == self.count:
            return x
        if x.sum() > i:
            return self.inner(torch.tanh(self.layers[i](x)), i + 1)
        return x * (i + 2)

    def forward(self, x):
        return self.inner(x, 0)


class InLoop(Branches):
    def forward(self, x):
        h = torch.zeros(4)
        for row in x:
            for i in range(self.count):
                h = torch.tanh(self.layers[i](h) + row) if h.sum() > row[i % 4] else h * 0.5 + row
        return h


def counted_runs(monkeypatch) -> list[int]:
    """A list that grows by an element in each run."""
    from aten2onnx._record import runs

    recorded, number = runs._recorded, []
    monkeypatch.setattr(runs, "_recorded", lambda *args: [recorded(*args), number.append(1)][0])
    return number


#: Of four branches and more in a turn, the model is lowered: ten of them are no other case.
CASES = [(kind, most, count) for kind, most in ((OnData, 3), (OnSizes, 3), (Nested, 3), (InLoop, 5)) for count in (1, 3, 4, 10) if IS_ALL or kind is not InLoop or count < 10]


@pytest.mark.parametrize(("kind", "most", "count"), CASES)
def test_a_side_of_a_branch_takes_few_runs(kind, most, count, monkeypatch) -> None:
    number = counted_runs(monkeypatch)
    program = aten2onnx.export(kind(count).eval(), (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")
    assert program.report.operators["If"] == count
    assert len(number) - FIRST <= most * 2 * count


class Kept(nn.Module):
    """A loop over what is kept, which makes no turn on one side of a branch before it."""

    def forward(self, x):
        rows = x[x[:, 0] > 0]
        if rows.numel() == 0:
            places = torch.empty((0,), dtype=torch.int64)
        else:
            places = torch.where(rows[:, 0] >= rows.mean())[0]
        rows = rows[places]
        out = torch.zeros(len(rows), 4)
        for i in range(len(rows)):
            out[i, :] = rows[i].cumsum(0) * 2
        return out, rows.sum(0)


class KeptByOther(nn.Module):
    """The loop makes no turn on the other side at the example, and does at other data."""

    def forward(self, x, y):
        rows = x[x[:, 0] > (-5 if y.sum() > 0 else 1.5)]
        out = torch.zeros(len(rows), 4)
        for i in range(len(rows)):
            out[i, :] = rows[i].cumsum(0) * 2
        return out


def test_a_loop_without_turns_on_one_side() -> None:
    torch.manual_seed(0)
    program = aten2onnx.export(Kept().eval(), (torch.rand(8, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")
    for x in (torch.randn(1, 4), -torch.rand(5, 4), torch.rand(9, 4), torch.randn(20, 4)):
        for got, want in zip(program(x), Kept()(x), strict=True):
            torch.testing.assert_close(got, want)


def test_a_loop_without_turns_at_the_example_only() -> None:
    torch.manual_seed(0)
    example = (torch.rand(8, 4), torch.rand(9))
    program = aten2onnx.export(KeptByOther().eval(), example, dynamic_shapes={"x": {0: "n"}, "y": {0: "m"}}, capture="record")
    for x in (torch.randn(1, 4) * 3, torch.rand(5, 4), torch.randn(20, 4) * 3):
        for y in (torch.rand(3), -torch.rand(12)):
            torch.testing.assert_close(program(x, y)[0], KeptByOther()(x, y))


class Table(nn.Module):
    """A loop with branches in its turns, in a loop whose number of turns is a size."""

    def forward(self, x):
        n = x.shape[0]
        table = torch.zeros(n, n)
        for i in range(n):
            for j in range(n):
                if i == 0 and j == 0:
                    table[i, j] = x[i, j % 4]
                elif j == 0:
                    table[i, j] = table[i - 1, j] + x[i, 1]
                else:
                    table[i, j] = table[i, j - 1] * 0.5 + x[j, 2]
        return table


class Settling(nn.Module):
    """A `while` that data end."""

    def forward(self, x):
        while True:
            new = x * 0.5 if x.sum() > 0 else x * 0.25
            if torch.allclose(new, x, atol=0.1):
                return new
            x = new


class Steps(nn.Module):
    """A `while` that makes at most 12 turns."""

    def forward(self, x):
        i = 0
        while i < 12:
            if x.sum() > i:
                break
            x = x + 0.25
            i += 1
        return x * 2


@pytest.mark.parametrize("kind", [Table, Settling])
def test_what_has_to_be_lowered_takes_few_runs(kind, monkeypatch) -> None:
    number = counted_runs(monkeypatch)
    program = aten2onnx.export(kind().eval(), (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")
    assert program.report.operators["Loop"] >= 1
    assert len(number) <= 32
    for n in (1, 3, 9):
        x = torch.randn(n, 4)
        torch.testing.assert_close(program(x)[0], kind()(x))


def test_what_cannot_be_lowered_takes_more_runs(monkeypatch) -> None:
    from aten2onnx import _recorded

    monkeypatch.setattr(_recorded, "_capture_lowered", lambda *args: None)
    program = aten2onnx.export(Steps().eval(), (torch.randn(6, 4) + 9,), dynamic_shapes={"x": {0: "n"}}, capture="record")
    assert program.report.operators["If"] == 12
    for shift in (9, 0, -1, -9):
        x = torch.randn(5, 4) + shift
        torch.testing.assert_close(program(x)[0], Steps()(x))


class Padded(nn.Module):
    """Many branches whose sides take too many runs, but which are few enough when they are lowered."""

    def forward(self, x):
        for width in range(2, 7):
            need = torch.ceil(torch.tensor(x.shape[0]) / width).to(torch.int64) * width - x.shape[0]
            most = max(torch.tensor(2), need)
            extra = 0
            if x.shape[0] <= most:
                extra = most - x.shape[0] + 1
                x = nn.functional.pad(x, (0, 0, 0, extra))
            x = x[: x.shape[0] - extra] * 0.9
        return x


def test_a_limit_that_ends_an_export_is_the_one_to_raise() -> None:
    given = dict(dynamic_shapes={"x": {0: "n"}}, capture="record", max_runs=8)
    with pytest.raises(aten2onnx.CaptureError, match=r"(?s)more than 4 branches.*allow them with `max_branches=5`"):
        aten2onnx.export(Padded().eval(), (torch.randn(6, 4),), max_branches=4, **given)
    program = aten2onnx.export(Padded().eval(), (torch.randn(6, 4),), max_branches=5, **given)
    for n in (1, 3, 9):
        x = torch.randn(n, 4)
        torch.testing.assert_close(program(x)[0], Padded()(x))


def test_plain_numbers_leave_branches_their_tries() -> None:
    from aten2onnx._decided import TURNS, _at_other_sizes

    known: dict[tuple, bool | None] = {}
    for size in range(2 * TURNS):
        _at_other_sizes([{"n": size}], lambda *_: True, known, True)
    assert _at_other_sizes([{"m": 3}], lambda *_: True, known, False) == (True, True)
