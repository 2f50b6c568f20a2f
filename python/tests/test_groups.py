"""`itertools.groupby` over elements, and whole numbers that `bisect`, `operator.index` and `bit_count` make of sizes and elements."""

from __future__ import annotations

import bisect
import itertools
import operator
from bisect import bisect_right
from itertools import groupby
from operator import index
from typing import Any

import aten2onnx
import pytest
import torch

from called import Calls


def collapsed(x: Any) -> Any:
    """CTC's greedy decoding."""
    return torch.tensor([k for k, _ in itertools.groupby(x.argmax(-1).tolist()) if k != 0], dtype=torch.long)


def lengths(x: Any) -> Any:
    found = []
    for k, group in groupby(x.argmax(-1).tolist()):
        found.append(k * 10 + len(list(group)))
    return torch.tensor(found)


def longest(x: Any) -> Any:
    best, found = 0, 0
    for k, group in groupby(x.argmax(-1).tolist()):
        count = sum(1 for _ in group)
        if k > 0 and count > best:
            best, found = count, k
    return torch.tensor([best, found])


def by_key(x: Any) -> Any:
    return torch.tensor([sum(group) for _, group in itertools.groupby(x.argmax(-1).tolist(), key=lambda k: k % 2)])


def placed(x: Any) -> Any:
    n = x.shape[0]
    return x[:3] + bisect.bisect([2, 5, 9, 30, 100], n) + bisect_right((3, 3, 8.5), n) * 10 + bisect.bisect_left([0.5, 5, 9.5, 30, 100], n / 2, 1, 4) * 100


def placed_by_data(x: Any) -> Any:
    return x + bisect.bisect([-1.0, 0.0, 0.0, 0.5], x.sum().item()) + bisect.bisect_left([-1, 0, 1, 2], int(x[0, 0] * 2))


def indexed(x: Any) -> Any:
    return x[: operator.index(x.shape[0]) // 2], x[: index(x.shape[0]) - 1]


def bits(x: Any) -> Any:
    n = x.shape[0]
    return torch.tensor([n.bit_count(), (n * n * n).bit_count(), (-n).bit_count(), (n << 40).bit_count()])


@pytest.mark.parametrize("function", [collapsed, lengths, longest, by_key, placed, placed_by_data, indexed, bits], ids=lambda function: function.__name__)
def test_the_same_as_in_python(function: Any) -> None:
    model = Calls(function).eval()
    program = aten2onnx.export(model, (torch.randn(6, 4),), dynamic_shapes=({0: "n"},))
    assert program.report.conditions == []
    for n in (1, 2, 3, 5, 8, 9, 16, 30, 31, 130):
        for x in (torch.randn(n, 4), torch.zeros(n, 4), torch.randn(n, 4).sort(0).values, torch.eye(4).repeat(n, 1)[:n]):
            wanted, got = model(x), program(x)
            for want, found in zip(wanted if isinstance(wanted, tuple) else (wanted,), got):
                torch.testing.assert_close(torch.as_tensor(found), want)
