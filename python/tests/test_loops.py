"""Loops in Python over sizes and data: they are a Loop in the file, which is right at sizes and data that it was not recorded at."""

from __future__ import annotations

import copy
import os
import sys

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils import _pytree as pytree

import aten2onnx

sys.path.insert(0, os.path.dirname(__file__))
import programs  # noqa: E402
from tiers import IS_ALL, by_turns  # noqa: E402


class Recurrence(nn.Module):
    def forward(self, x):
        h = x.new_zeros(4)
        for i in range(x.shape[0]):
            h = torch.tanh(h * 0.5 + x[i])
        return h


class Stacked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.RNNCell(4, 3)

    def forward(self, x):
        h = torch.zeros(1, 3)
        out = []
        for i in range(x.shape[0]):
            h = self.cell(x[i : i + 1], h)
            out.append(h)
        return torch.stack(out), torch.cat(out, 1), h, out[-1] * 2, out[0]


class Written(nn.Module):
    """Rows are written to a tensor."""

    def forward(self, x):
        out = torch.zeros(x.shape[0], 4)
        for i in range(x.shape[0]):
            out[i] = x[i].sin() * i
        return out + 1


class Rows(nn.Module):
    def forward(self, x):
        return torch.stack([row.cos() for row in x])


class Unbound(nn.Module):
    def forward(self, x):
        total = 0
        for row in x.unbind(0):
            total = total + row
        return total


class Comprehension(nn.Module):
    def forward(self, x):
        return torch.cat([x[i : i + 1] * (i + 1) for i in range(len(x))])


class Zipped(nn.Module):
    def forward(self, x):
        y = x * 2
        out = []
        for a, b in zip(x, y):
            out.append(a * b)
        return torch.stack(out, 1)


class Enumerated(nn.Module):
    def forward(self, x):
        s = torch.zeros(4)
        for i, row in enumerate(x):
            s = s * 0.5 + row * i
        return s


class Offset(nn.Module):
    """There is a turn less than there are rows."""

    def forward(self, x):
        x = x.clone()
        for i in range(x.shape[0] - 1):
            x[i + 1] = x[i + 1] + x[i] * 0.5
        return x


class Steps(nn.Module):
    def forward(self, x):
        s = x[0]
        for i in range(1, x.shape[0], 2):
            s = torch.maximum(s, x[i])
        return s


class Backwards(nn.Module):
    def forward(self, x):
        h = torch.zeros(4)
        out = []
        for i in reversed(range(x.shape[0])):
            h = (h + x[i]).sin()
            out.append(h)
        return torch.stack(out[::-1])


class Fibonacci(nn.Module):
    def forward(self, x):
        a, b = x[0], x[0] * 2
        for i in range(x.shape[0]):
            a, b = b, a * 0.3 + x[i]
        return a, b


class Counted(nn.Module):
    """Python counts by itself."""

    def forward(self, x):
        k = 0
        s = torch.zeros(4)
        for row in x:
            s = s + row * k
            k += 2
        return s


class FirstDiffers(nn.Module):
    def forward(self, x):
        state = None
        out = []
        for row in x:
            state = row if state is None else (state + row) * 0.5
            out.append(state)
        return torch.stack(out)


class Halved(nn.Module):
    def forward(self, x):
        while x.abs().sum() > 1:
            x = x / 2
        return x


class HalvedAndCounted(nn.Module):
    def forward(self, x):
        i = 0
        while x.abs().max() > 0.1 :
            x = x * 0.5 - 0.01
            i += 1
        return x, x * i


class OnSize(nn.Module):
    """A `while` on a size that Python halves."""

    def forward(self, x):
        n = x.shape[0]
        while n > 1:
            n = n // 2
            x = x * 1.5 + n
        return x


class Scan(nn.Module):
    """The sequential scan of Mamba."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Parameter(-torch.rand(4, 3))

    def forward(self, x):
        u = x[None]
        delta = F.softplus(u)
        b = u[..., :3]
        da = torch.exp(delta[..., None] * self.a)
        dbu = delta[..., None] * b[:, :, None] * u[..., None]
        state = torch.zeros(1, 4, 3)
        ys = []
        for i in range(u.shape[1]):
            state = da[:, i] * state + dbu[:, i]
            ys.append((state * b[:, i, None]).sum(-1))
        return torch.stack(ys, dim=1)


class Farthest(nn.Module):
    """Farthest-point sampling of half of the points."""

    def forward(self, x):
        n = x.shape[0]
        k = n // 2 + 1
        chosen = torch.zeros(k, dtype=torch.long)
        distance = torch.full((n,), 1e10)
        farthest = torch.zeros((), dtype=torch.long)
        for i in range(k):
            chosen[i] = farthest
            d = ((x - x[farthest]) ** 2).sum(-1)
            distance = torch.minimum(distance, d)
            farthest = distance.argmax()
        return chosen, x[chosen]


class Nested(nn.Module):
    def forward(self, x):
        out = []
        for i in range(x.shape[0]):
            s = torch.zeros(())
            for j in range(x.shape[0]):
                s = s + (x[i] * x[j]).sum() * j
            out.append(s)
        return torch.stack(out)


class Cache(nn.Module):
    """What is carried grows."""

    def forward(self, x):
        keys = x[:1]
        out = []
        for i in range(x.shape[0]):
            keys = torch.cat([keys, x[i : i + 1]])
            out.append((keys @ x[i]).softmax(0) @ keys)
        return torch.stack(out), keys


class Numbers(nn.Module):
    def forward(self, x):
        return x * torch.tensor([float(i) for i in range(x.shape[0])])[:, None]


class Breaks(nn.Module):
    def forward(self, x):
        s = torch.zeros(4)
        for i, row in enumerate(x):
            s = s + row
            if s.sum() > 2:
                break
        return s, i


class Best(nn.Module):
    """The best row so far."""

    def forward(self, x):
        best, where = x[0], 0
        for i in range(1, x.shape[0]):
            if x[i].sum() > best.sum():
                best, where = x[i], i
        return best, where


class Skips(nn.Module):
    def forward(self, x):
        s, k = torch.zeros(4), 0
        for row in x:
            if row.sum() < 0:
                continue
            k += 1
            s = s * 0.5 + row * k
        return s, k


class Found(nn.Module):
    """A flag of Python's says whether the loop was left."""

    def forward(self, x):
        found = False
        for row in x:
            if row.max() > 2:
                found = True
                break
        return x * 2 if found else x


class UntilBreak(nn.Module):
    """The row with which the loop is left is not in the list."""

    def forward(self, x):
        out = [x[0]]
        for row in x:
            y = out[-1] * 0.5 + row
            if y.abs().sum() > 6:
                break
            out.append(y)
        return torch.stack(out), len(out)


class Decode(nn.Module):
    """Greedy decoding: a token more in each turn, until one of them ends it."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(7, 8)
        self.head = nn.Linear(8, 7)

    def forward(self, x):
        tokens = (x[:, 0].abs() * 3).long() % 7
        while tokens.shape[0] < 25:
            logits = self.head(self.table(tokens).cumsum(0)[-1].sin())
            token = logits.argmax(-1, keepdim=True)
            tokens = torch.cat([tokens, token])
            if token[0] == 3:
                break
        return tokens


class Alternates(nn.Module):
    def forward(self, x):
        h = torch.zeros(4)
        for i in range(x.shape[0]):
            if i % 2 == 0:
                h = h + x[i]
            elif i > 4:
                h = h * 0.5
            else:
                h = h - x[i]
        return h


class Buffers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("state", torch.zeros(4))

    def forward(self, x):
        out = []
        for row in x:
            self.state.mul_(0.5).add_(row)
            out.append(self.state * 2)
        return torch.stack(out)


class SameName(nn.Module):
    """What a name stands for without a turn is not what another one stands for that is equal after turns."""

    def forward(self, x):
        y, h = x[0] * 5, x[0]
        for i in range(x.shape[0] - 1):
            y = h * 2 + x[i]
            h = y
        return y, h


class Padded(nn.Module):
    """Each row is cut to another length."""

    def forward(self, x):
        lengths = (x[:, 0].abs() * 2).long() % 4 + 1
        return torch.stack([F.pad(row[: int(n)], (0, 4 - int(n))) for row, n in zip(x, lengths)])


class Fades(nn.Module):
    """A float of Python's is another one in each turn."""

    def forward(self, x):
        s, t = torch.zeros(4), 1.0
        for row in x:
            s = s + row * t
            t = t * 0.5
        return s * t


class Returns(nn.Module):
    def forward(self, x):
        for row in x:
            if row.sum() > 1:
                return row
        return x[0]


class Kept(nn.Module):
    """A list of Python has what only some turns have made."""

    def forward(self, x):
        out = [x[0]]
        for row in x:
            if row.sum() > 0:
                out.append(row)
        return torch.stack(out)


class Attribute(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def forward(self, x):
        self.count = 0
        for row in x:
            self.count += 1
            x = x + row.sum() * 0.01
        return x * self.count


MODELS = [
    *(Fades, Returns, Kept, Attribute),
    *(Breaks, Best, Skips, Found, UntilBreak, Decode, Alternates, Buffers, Padded),
    *(Recurrence, Stacked, Written, Rows, Unbound, Comprehension, Zipped, Enumerated, Offset, Steps, Backwards, Fibonacci, Counted, FirstDiffers),
    *(Halved, HalvedAndCounted, OnSize, Scan, Farthest, Nested, Cache, Numbers),
]


def inputs():
    torch.manual_seed(0)
    for n in (1, 2, 3, 4, 5, 6, 7, 9, 13, 20):
        for scale in (0.02, 1.0, 4.0):
            yield torch.randn(n, 4) * scale


def check(program, model) -> None:
    for x in inputs():
        try:
            wanted = [torch.as_tensor(value) for value in pytree.tree_leaves(copy.deepcopy(model)(x.clone()))]
        except Exception:
            continue
        for got, want in zip(program(x), wanted, strict=True):
            assert got.dtype == want.dtype and got.shape == want.shape, (x.shape, got.shape, want.shape)
            torch.testing.assert_close(got, want, atol=1e-4, rtol=1e-4, equal_nan=True)


N = {"x": {0: "n"}}
X = torch.linspace(-1, 2, 24).reshape(6, 4)


def export(kind, **options):
    torch.manual_seed(3)
    model = kind().eval()
    return aten2onnx.export(model, (X,), dynamic_shapes=N, capture="record", **options), model


@pytest.mark.parametrize(("kind", "opset"), by_turns(MODELS, (18, 11)), ids=lambda one: getattr(one, "__name__", None))
def test_loops_are_right(kind, opset) -> None:
    program, model = export(kind, verify=opset == 18, opset_version=opset)
    assert program.report.operators["Loop"] >= 1
    check(program, model)


def test_what_holds_without_a_turn_is_right() -> None:
    program, model = export(SameName)
    assert not program.report.conditions
    check(program, model)


def test_the_report_has_the_line_the_calls_and_what_is_carried() -> None:
    (note,) = [note for note in export(Breaks)[0].report.notes if "as a Loop" in note]
    assert "`for i, row in enumerate(x):`" in note and "test_loops.py" in note and "it carries 1 tensor and 1 number." in note


def test_loops_of_a_fixed_number_of_turns_stay_unrolled() -> None:
    class Fixed(nn.Module):
        def forward(self, x):
            for i in range(x.shape[1]):
                x = x + i
            return x

    program, model = export(Fixed)
    assert "Loop" not in program.report.operators
    check(program, model)


@pytest.mark.parametrize("kind", [Recurrence, Rows, Halved])
def test_loops_can_be_refused(kind) -> None:
    with pytest.raises(aten2onnx.CaptureError):
        export(kind, branches="refuse")


class Layers(nn.Module):
    """Each turn has weights of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(30))

    def forward(self, x):
        h = x
        for row, layer in zip(x, self.layers):
            h = layer(h) + row
        return h


@pytest.mark.parametrize(
    ("kind", "message"),
    [(Layers, "turns of a loop are not the same")],
)
def test_what_no_loop_can_do_is_refused_with_its_line(kind, message) -> None:
    with pytest.raises(aten2onnx.CaptureError, match=message) as caught:
        export(kind)
    assert "test_loops.py" in str(caught.value)


def test_a_model_without_dynamic_dimensions_has_loops_on_data() -> None:
    model = HalvedAndCounted().eval()
    program = aten2onnx.export(model, (X,), capture="record")
    assert program.report.operators["Loop"] == 1
    for x in (X, X * 0, X * 100, X * 7):
        for got, want in zip(program(x), model(x), strict=True):
            torch.testing.assert_close(got, torch.as_tensor(want))


def test_a_fault_in_what_a_loop_carries_is_found(monkeypatch) -> None:
    """The turns are held against each other: what one turn does not hand on is no loop."""
    from aten2onnx import _recorded
    from aten2onnx._record import roll

    monkeypatch.setattr(_recorded, "_capture_lowered", lambda *args: None)
    monkeypatch.setattr(roll.Rolling, "_at_place", lambda self, mine, sequence: next(iter(self.chosen.at.values())))
    with pytest.raises(aten2onnx.Error):
        export(Recurrence, verify=True)


@pytest.mark.parametrize("seed", range(10 if IS_ALL else 5))
def test_random_programs_with_loops_are_right_or_refused(seed) -> None:
    found, text = programs.verdict(seed, loops=True, capture="record")
    assert found != "wrong", f"{text}\n{programs.source(seed, loops=True)}"
