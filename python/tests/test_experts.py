"""Mixtures of experts as people write them, each held against PyTorch at sizes and data where an expert gets one token, or none."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import aten2onnx


class Experts(nn.Module):
    """A gate, experts as modules, and their weights as two tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(4, 3)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)) for _ in range(3))
        self.up, self.down = nn.Parameter(torch.randn(3, 8, 4)), nn.Parameter(torch.randn(3, 4, 8))

    def chosen(self, x):
        weights, experts = torch.topk(self.gate(x).softmax(-1), 2)
        return weights / weights.sum(-1, keepdim=True), experts


class Written(Experts):
    """The tokens of an expert are written where they came from."""

    def forward(self, x):
        which, out = self.gate(x).argmax(-1), torch.zeros_like(x)
        for number, layer in enumerate(self.experts):
            rows = (which == number).nonzero().squeeze(-1)
            if rows.numel() == 0:
                continue
            out[rows] = layer(x[rows])
        return out


class Sorted(Experts):
    """The tokens in the order of their experts, as DeepSeek has it: `numpy()` tells how many each expert gets."""

    def forward(self, x):
        weights, experts = self.chosen(x)
        counts = experts.new_zeros((experts.shape[0], len(self.experts)))
        counts.scatter_(1, experts, 1)
        order = experts.view(-1).argsort()
        tokens = x[order // experts.shape[1]]
        outputs, start = [], 0
        for number, count in enumerate(counts.sum(dim=0).cpu().numpy()):
            end = start + count
            if count == 0:
                continue
            outputs.append(self.experts[number](tokens[start:end]))
            start = end
        outs = torch.cat(outputs, dim=0) if len(outputs) else tokens.new_empty(0)
        found = torch.empty_like(outs)
        found[order] = outs
        return (found.view(*experts.shape, -1) * weights.unsqueeze(-1)).sum(dim=1)


class Masked(Experts):
    def forward(self, x):
        which, out = self.gate(x).argmax(-1), torch.zeros_like(x)
        for number, layer in enumerate(self.experts):
            mask = which == number
            if mask.any():
                out[mask] = layer(x[mask])
        return out


class Changed(Experts):
    def forward(self, x):
        which, out = self.gate(x).argmax(-1), x.clone()
        for number in range(3):
            rows = torch.where(which == number)[0]
            if len(rows) > 0:
                out[rows, :] += self.experts[number](x[rows])
        return out


class Added(Experts):
    def forward(self, x):
        (weights, chosen), out = self.chosen(x), torch.zeros_like(x)
        for number, layer in enumerate(self.experts):
            rows, places = torch.where(chosen == number)
            if rows.numel() == 0:
                continue
            out.index_add_(0, rows, layer(x[rows]) * weights[rows, places, None])
        return out


class Hit(Experts):
    """A loop over the experts that have a token: each is a module, chosen by a tensor of one element."""

    def forward(self, x):
        (weights, chosen), out = self.chosen(x), torch.zeros_like(x)
        mask = F.one_hot(chosen, num_classes=3).permute(2, 1, 0)
        for number in torch.greater(mask.sum(dim=(-1, -2)), 0).nonzero():
            places, rows = torch.where(mask[number].squeeze(0))
            out.index_add_(0, rows, self.experts[number](x[None, rows].reshape(-1, 4)) * weights[rows, places, None])
        return out


class Stacked(Experts):
    """The weights of all experts are one tensor: data choose a part of it."""

    def forward(self, x):
        (weights, chosen), out = self.chosen(x), torch.zeros_like(x)
        mask = F.one_hot(chosen, num_classes=3).permute(2, 1, 0)
        for number in torch.greater(mask.sum(dim=(-1, -2)), 0).nonzero():
            number = number[0]
            if number == 3:
                continue
            places, rows = torch.where(mask[number])
            made = F.linear(F.relu(F.linear(x[rows], self.up[number])), self.down[number])
            out.index_add_(0, rows, made * weights[rows, places, None])
        return out


@pytest.mark.parametrize("kind", [Written, Sorted, Masked, Changed, Added, Hit, Stacked])
def test_experts_are_right_for_all_numbers_of_tokens(kind) -> None:
    torch.manual_seed(0)
    model = kind().eval()
    program = aten2onnx.export(model, (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n"}})
    tokens = set()
    for n in (1, 2, 3, 4, 5, 9, 17):
        for scale in (1, -3):
            x = torch.randn(n, 4) * scale
            tokens |= set(model.gate(x).argmax(-1).bincount(minlength=3).tolist())
            torch.testing.assert_close(program(x)[0], model(x), atol=1e-5, rtol=1e-5)
    assert {0, 1, 2} <= tokens


class Row(nn.Module):
    """Values of one row, or more dimensions than what they are written to."""

    def forward(self, x, mask):
        out = torch.zeros(2, x.shape[0], 4)
        out[:, mask] = x[mask] * 2
        out[1, ...] = out[1] + x
        one = torch.zeros(4)
        one[:] = x[mask][:1] if x.shape[0] > 3 else x[:1]
        return out, one


def test_a_value_of_one_row_is_written_as_others_are() -> None:
    model = Row().eval()
    one = torch.zeros(6, dtype=torch.bool)
    one[2] = True
    program = aten2onnx.export(model, (torch.randn(6, 4), one), dynamic_shapes={"x": {0: "n"}, "mask": {0: "n"}})
    for n in (2, 3, 5, 8):
        for count in range(1, n + 1):
            x, mask = torch.randn(n, 4), torch.arange(n) < count
            for got, want in zip(program(x, mask), model(x, mask)):
                torch.testing.assert_close(got, want)
