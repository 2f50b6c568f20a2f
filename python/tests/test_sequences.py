"""Models of sequences with dynamic programming and packed batches, held against PyTorch at other lengths."""

from __future__ import annotations

import pytest
import torch
from tiers import slow
from torch import nn

import aten2onnx


class Viterbi(nn.Module):
    """The best path, which is read backwards."""

    def __init__(self):
        super().__init__()
        self.transitions = nn.Parameter(torch.randn(5, 5))

    def forward(self, x):
        score, pointers = x[0], []
        for t in range(1, x.shape[0]):
            best, index = (score.unsqueeze(1) + self.transitions).max(0)
            score = best + x[t]
            pointers.append(index)
        place = score.argmax()
        path = [place]
        for pointer in reversed(pointers):
            place = pointer[place]
            path.append(place)
        path.reverse()
        return torch.stack(path), score.max()


class Numbered(nn.Module):
    """`enumerate` and `zip` over what a loop has made, from its end."""

    def forward(self, x):
        rows = []
        for row in x:
            rows.append(row * 2)
        found = []
        for i, (one, other) in enumerate(zip(reversed(rows), rows)):
            found.append(one * i - other)
        return torch.stack(found)


class Warping(nn.Module):
    """Dynamic time warping: a table whose cells need three others."""

    def forward(self, x):
        costs = torch.cdist(x, x.flip(0) * 0.5)
        n, m = costs.shape
        table = torch.zeros(n, m)
        for i in range(n):
            for j in range(m):
                if i == 0 and j == 0:
                    table[i, j] = costs[i, j]
                elif i == 0:
                    table[i, j] = costs[i, j] + table[i, j - 1]
                elif j == 0:
                    table[i, j] = costs[i, j] + table[i - 1, j]
                else:
                    table[i, j] = costs[i, j] + min(table[i - 1, j], table[i, j - 1], table[i - 1, j - 1])
        return table[-1, -1], table


class Largest(nn.Module):
    """`max` with a key, and of tensors, in turns of two loops."""

    def forward(self, x):
        n = x.shape[0]
        table = torch.zeros(n, n)
        for i in range(n):
            for j in range(n):
                if i == 0 or j == 0:
                    table[i, j] = x[i, 0] * x[j, 1]
                else:
                    table[i, j] = max(table[i - 1, j], table[i, j - 1] + x[i, 2]) + max(x[i, 3], x[j, 4], key=lambda value: -value)
        return table


class Components(nn.Module):
    """The parts of a graph, found by turns until nothing changes."""

    def forward(self, x):
        near, labels = torch.cdist(x, x) < 2.0, torch.arange(x.shape[0])
        while True:
            new = torch.where(near, labels[None], x.shape[0]).min(1).values
            if torch.equal(new, labels):
                return labels
            labels = new


class Clusters(nn.Module):
    def forward(self, x):
        centers = torch.stack([x[0], x[-1] + 1])
        while True:
            chosen = torch.cdist(x, centers).argmin(1)
            new = torch.stack([x[chosen == k].mean(0) if (chosen == k).any() else centers[k] for k in range(2)])
            if torch.allclose(new, centers):
                break
            centers = new
        return centers, chosen


class Ordered(nn.Module):
    """Rows in the order of numbers that Python compares, and the place of the largest."""

    def forward(self, x):
        norms = x.norm(dim=1).tolist()
        sums = [row.sum().item() for row in x]
        best = max(sums)
        return x[sorted(range(len(norms)), key=lambda i: -norms[i])], x[sums.index(best)], torch.tensor(best)


@pytest.mark.parametrize("model", (Ordered, Viterbi, Numbered, Warping, pytest.param(Largest, marks=slow), Components, Clusters))
def test_sequences(model, tmp_path):
    torch.manual_seed(0)
    module = model().eval()
    program = aten2onnx.export(module, (torch.randn(6, 5),), tmp_path / "model.onnx", dynamic_shapes={"x": {0: "n"}}, capture="record")
    for n, scale in ((6, 1), (2, 1), (1, 2), (3, -1), (9, 3)):
        x = torch.randn(n, 5) * scale
        with torch.no_grad():
            want = module(x)
        for got, one in zip(program(x), want if isinstance(want, tuple) else (want,), strict=True):
            torch.testing.assert_close(torch.as_tensor(got), one, atol=1e-4, rtol=1e-5)


class Packed(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.layer = kind(5, 4, batch_first=True, bidirectional=True)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        found, state = self.layer(packed)
        padded, counts = nn.utils.rnn.pad_packed_sequence(found, batch_first=True, padding_value=-1.0)
        return padded, counts, *(state if isinstance(state, tuple) else (state,))


@pytest.mark.parametrize("kind", (nn.LSTM, nn.GRU, nn.RNN))
def test_packed_batches_of_any_lengths(kind, tmp_path):
    torch.manual_seed(0)
    module = Packed(kind).eval()
    args = torch.randn(3, 7, 5), torch.tensor([7, 3, 5])
    program = aten2onnx.export(module, args, tmp_path / "model.onnx", dynamic_shapes={"x": {0: "b", 1: "t"}, "lengths": {0: "b"}}, capture="record")
    for lengths in ([7, 3, 5], [4], [1, 9, 2, 2], [2, 2]):
        given = torch.randn(len(lengths), max(lengths) + 1, 5), torch.tensor(lengths)
        with torch.no_grad():
            want = module(*given)
        for got, one in zip(program(*given), want, strict=True):
            torch.testing.assert_close(torch.as_tensor(got), one, atol=1e-5, rtol=1e-5)


class Empty(nn.Module):
    """A list that may be empty: PyTorch gives it another dtype then."""

    def forward(self, x):
        kept = [v for v in (x[:, 0] * 10).long().tolist() if v > 0]
        return torch.tensor(kept)


@pytest.mark.parametrize(("model", "message"), ((Empty, "float32"),))
def test_refusals_have_their_line(model, message, tmp_path):
    with pytest.raises(aten2onnx.CaptureError, match=message) as caught:
        aten2onnx.export(model(), (torch.randn(6, 5),), tmp_path / "model.onnx", dynamic_shapes={"x": {0: "n"}}, capture="record")
    assert "test_sequences.py" in str(caught.value)


class Found(nn.Module):
    """The place of a number, which Python refuses to give where no number is equal."""

    def forward(self, x):
        ids = [int(v) for v in x]
        return x + ids.index(3)


def test_a_number_that_a_list_lacks_is_a_check(tmp_path):
    program = aten2onnx.export(Found().eval(), (torch.tensor([1.0, 3.0]),), tmp_path / "model.onnx", dynamic_shapes={"x": {0: "n"}}, keep_assertions=True)
    assert program(torch.tensor([0.0, 1.0, 3.0]))[0].tolist() == [2.0, 3.0, 5.0]
    assert any("the number is not in the list" in note for note in program.report.notes), program.report.notes
