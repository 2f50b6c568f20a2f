"""Results that rounding alone keeps apart from those of the model are the same; others are not."""

from __future__ import annotations

import warnings

import pytest
import torch
from torch import nn

import aten2onnx
from aten2onnx._record.noise import is_noise


class Mutual(nn.Module):
    """Rows of two tensors that are nearest to each other. Distances are differences of large products: near 0 they are noise."""

    def forward(self, one, other):
        apart = torch.cdist(one, other)
        count = min(apart.size(0), apart.size(1))
        to_other, to_one = torch.min(apart, dim=1), torch.min(apart, dim=0)
        rows = torch.arange(count)
        if apart.size(0) <= apart.size(1):
            is_mutual = rows == to_one[1][to_other[1]][:count]
            return to_other[0][is_mutual], torch.cat([rows.view(-1, 1), to_other[1].view(-1, 1)], 1)[is_mutual]
        is_mutual = rows == to_other[1][to_one[1]][:count]
        return to_one[0][is_mutual], torch.cat([to_one[1].view(-1, 1), rows.view(-1, 1)], 1)[is_mutual]


@pytest.mark.parametrize("shapes", [({0: "n", 1: "d"}, {0: "k", 1: "d"}), "auto"])
def test_both_sides_of_a_comparison_of_two_sizes(shapes, tmp_path) -> None:
    torch.manual_seed(0)
    model = Mutual().eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = aten2onnx.export(model, (torch.rand(32, 16), torch.rand(40, 16)), tmp_path / "model.onnx", dynamic_shapes=shapes)
    assert not program.report.conditions
    for n, k, d in ((32, 40, 16), (48, 36, 16), (30, 30, 16), (9, 7, 4), (7, 9, 24)):
        args = torch.rand(n, d), torch.rand(k, d)
        for got, want in zip(program(*args), model(*args), strict=True):
            torch.testing.assert_close(got, want, rtol=1e-3, atol=1e-3)


def test_what_is_no_rounding_is_no_noise() -> None:
    want = torch.tensor([100.0, 1.0])
    near = lambda: iter([want + 0.001])  # noqa: E731
    assert is_noise(want, want + 0.002, near)
    assert not is_noise(want, want + 0.1, near)
    # A model that jumps says nothing of a result that is far away.
    assert not is_noise(want, want + 5.0, lambda: iter([want + 50.0]))
    assert not is_noise(want, want[:1], near)
    # Neither does one that does not run at inputs that are nearly the same.
    assert not is_noise(want, want + 0.002, lambda: iter(()))
