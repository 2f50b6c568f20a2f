"""Lists that grow in loops, whose elements have other sizes in each turn or are tuples, held against PyTorch at other sizes and data."""

from __future__ import annotations

from typing import NamedTuple

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import aten2onnx


class Joined(nn.Module):
    """A list that is joined, walked over and padded."""

    def forward(self, x):
        out = []
        for i in range(x.shape[0]):
            out.append(x[i, : i % 3 + 1])
        h = torch.zeros(())
        for piece in out:
            h = h * 0.5 + piece.max()
        return torch.cat(out), h, nn.utils.rnn.pad_sequence(out, batch_first=True)


class JoinedSome(nn.Module):
    def forward(self, x):
        out = []
        for i in range(x.shape[0]):
            if x[i].sum() > 0:
                out.append(x[i, : i % 3 + 1])
        if len(out) > 0:
            return torch.cat(out) * len(out)
        return x[0]


class Chosen(nn.Module):
    def forward(self, x):
        out = []
        for i in range(x.shape[0]):
            out.append(x[i, : i % 3 + 1] * 2)
        return out[-1], out[0], out[1]


class StackedPadded(nn.Module):
    def forward(self, x):
        out = []
        for i in range(x.shape[0]):
            out.append(x[i, : i % 3 + 1])
        longest = max(len(p) for p in out)
        return torch.stack([F.pad(p, (0, longest - len(p))) for p in out])


class WrittenPadded(nn.Module):
    def forward(self, x):
        out = []
        for i in range(x.shape[0]):
            out.append(x[i, : i % 3 + 1])
        longest = max(p.shape[0] for p in out)
        res = x.new_zeros(len(out), longest)
        for i, p in enumerate(out):
            res[i, : p.shape[0]] = p
        return res


class Masked(nn.Module):
    """Rows of which data choose elements: padded, joined, and reduced."""

    def forward(self, x):
        out = [row[row > 0] for row in x]
        lens = torch.tensor([len(p) for p in out])
        return nn.utils.rnn.pad_sequence(out, padding_value=-1.0), torch.cat(out), lens, torch.stack([p.sum() for p in out])


class Columns(nn.Module):
    def forward(self, x):
        out = []
        for i in range(x.shape[0]):
            keep = x[i] > 0
            out.append(x[:, keep])
        return torch.cat(out, dim=1), len(out)


class Cut(nn.Module):
    def forward(self, x):
        out = [row[row > 0] for row in x]
        return torch.cat(out[1:]), torch.cat(out[::-1])


class Mapped(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(1, 3)

    def forward(self, x):
        out = [row[row > 0] for row in x]
        out = [self.layer(p[:, None]) for p in out]
        return torch.cat([p.sum(0, keepdim=True) for p in out])


class Segments(nn.Module):
    def forward(self, x):
        pieces, s = [], 0
        for i in range(1, x.shape[0]):
            if x[i, 0] > x[i - 1, 0]:
                pieces.append(x[s:i])
                s = i
        pieces.append(x[s:])
        return torch.stack([p.mean(0) for p in pieces])


class Pairs(nn.Module):
    def forward(self, x):
        found = []
        for i in range(x.shape[0]):
            if x[i].sum() > 0:
                found.append((x[i], i))
        h = torch.zeros(4)
        for row, k in found:
            h = h * 0.5 + row * k
        return h


class Unzipped(nn.Module):
    def forward(self, x):
        found = []
        for i in range(x.shape[0]):
            found.append((x[i] * 2, x[i, 0] + 1))
        rows, heads = zip(*found)
        return torch.stack(rows), torch.stack(heads)


class Inner(nn.Module):
    def forward(self, x):
        out = []
        for i in range(x.shape[0]):
            inner = []
            for j in range(i + 1):
                inner.append(x[j] * i)
            out.append(torch.stack(inner).sum(0))
        return torch.stack(out)


class PaddedLeft(nn.Module):
    def forward(self, x):
        return nn.utils.rnn.pad_sequence([row[row > 0][:, None].expand(-1, 2) for row in x], padding_side="left")


class Changed(nn.Module):
    """Elements are taken out, put in and exchanged."""

    def forward(self, x):
        out = []
        for row in x:
            out.append(row[row > 0])
        out.insert(0, x[0, :3])
        out[1] = x[0] * 2
        last = out.pop()
        return torch.cat([*out, last]), torch.cat(out[::2]), len(out)


class Found(NamedTuple):
    row: torch.Tensor
    place: int


class Named(nn.Module):
    def forward(self, x):
        found = [Found(row[row > 0], i) for i, row in enumerate(x) if row.sum() > 0]
        found.sort(key=lambda one: one.row.shape[0])
        out = torch.zeros(())
        for one in found:
            out = out * 0.5 + one.row.sum() * one.place
        return out, len(found)


class Places(nn.Module):
    def forward(self, x):
        pairs = [(0, 0)]
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                if x[i, j] > 0.5:
                    pairs.append((i, j))
        return torch.tensor(pairs)


RAGGED = [
    Joined, JoinedSome, Chosen, Masked, StackedPadded, WrittenPadded, Columns, Cut, Mapped, Segments,
    Pairs, Unzipped, Inner, PaddedLeft, Changed, Named, Places,
]


@pytest.mark.parametrize("kind", RAGGED)
def test_lists_of_elements_of_other_sizes(kind) -> None:
    torch.manual_seed(0)
    model = kind().eval()
    program = aten2onnx.export(model, (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")
    assert not program.report.conditions
    compared = 0
    for n in (6, 1, 2, 3, 4, 5, 7, 9, 13, 20):
        for x in (torch.randn(n, 4), torch.rand(n, 4), -torch.rand(n, 4)):
            try:
                wanted = model(x)
            except (RuntimeError, IndexError, ValueError):  # there is no element
                continue
            wanted = (wanted,) if isinstance(wanted, torch.Tensor) else wanted
            for got, want in zip(program(x), wanted, strict=True):
                torch.testing.assert_close(got, torch.as_tensor(want))
            compared += 1
    assert compared >= 20


class OtherRank(nn.Module):
    """Tensors of several ranks in one list."""

    def forward(self, x):
        out = []
        for i in range(x.shape[0]):
            out.append(x[i] if i % 2 else x[:1])
        return sum(one.sum() for one in out)


class TwoSizes(nn.Module):
    """Elements that differ in two dimensions."""

    def forward(self, x):
        out = [x[: i + 1, : i % 3 + 1] for i in range(x.shape[0])]
        return torch.stack([one.sum() for one in out])


class OfLists(nn.Module):
    def forward(self, x):
        out = []
        for row in x:
            out.append([row, row * 2])
        total = torch.zeros(4)
        for one, other in out:
            total = total * 0.3 + one * other
        return total


class Alike(nn.Module):
    """An empty list of whole numbers becomes a tensor of floats in PyTorch."""

    def forward(self, x):
        return torch.tensor([i for i in range(x.shape[0]) if x[i, 0] > 0])


@pytest.mark.parametrize("kind", [OtherRank, TwoSizes, OfLists, Alike])
def test_other_lists_are_refused_with_their_line(kind) -> None:
    torch.manual_seed(0)
    with pytest.raises(aten2onnx.CaptureError, match=r"test_ragged\.py"):
        aten2onnx.export(kind().eval(), (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")


def test_the_type_of_an_empty_list_is_said() -> None:
    torch.manual_seed(0)
    with pytest.raises(aten2onnx.CaptureError) as error:
        aten2onnx.export(Alike().eval(), (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")
    assert "dtype=torch.int64" in (error.value.help or "")
