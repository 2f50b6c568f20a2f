"""Ranges of sizes that are more than what a loop walks over: their length, what is in them, their slices, and rows that they choose."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

import aten2onnx
import pytest
import torch


from called import Calls

SIZES = [(6, 4), (1, 1), (1, 4), (2, 1), (3, 5), (4, 4), (5, 3), (7, 7), (8, 16), (12, 8), (13, 5), (16, 4), (31, 2), (2, 33)]


def _looped(cut: slice) -> Any:
    def function(x, n, m):
        total = x[0] * 0
        for i in range(n)[cut]:
            total = total * 0.5 + x[i] * i
        return total

    return function


def _looped_with_branch(x, n, m):
    total = x[0] * 0
    for i in range(n)[1:m]:
        if x[i].sum() > 0:
            total = total + x[i]
        if total.sum() > 3:
            break
    return total


def _side_by_side(x, n, m):
    total = x[0].sum() * 0
    for i, j in zip_longest(range(n), range(m), fillvalue=-1):
        total = total * 0.5 + i * 2 - j
    return total


def _rows_side_by_side(x, n, m):
    total = x[0, 0] * 0
    for a, b in zip_longest(x[:, 0], x[0], fillvalue=torch.tensor(2.0)):
        if a > b:
            total = total * 0.5 + a
        else:
            total = total - b
    return total


FUNCTIONS: dict[str, Any] = {
    # No run that is made anyway has a length above one.
    "largest length": lambda x, n, m: x * max(1, len(range(n, m, 3))),
    "length of a slice": lambda x, n, m: x * len(range(n)[1:-2:3]),
    "in": lambda x, n, m: x * 2 if m in range(n) else x,
    "in with a step": lambda x, n, m: x * 2 if m in range(1, n, 2) else x,
    "in downwards": lambda x, n, m: x * 2 if m in range(n, 0, -2) else x,
    "in a slice": lambda x, n, m: x * 2 if m in range(n)[2:-1] else x,
    "last": lambda x, n, m: x * range(n)[-1] + range(n, -9, -2)[2],
    "empty": lambda x, n, m: x * 2 if range(m, n) else x,
    "rows": lambda x, n, m: x[range(n // 2)],
    "columns": lambda x, n, m: x[:, range(1, m, 2)] * isinstance(range(n), range),
    "rows of a list": lambda x, n, m: x[list(range(n))[1:]],
    "rows of a list with a step": lambda x, n, m: x[list(range(n))[1::2]],
    "a tensor": lambda x, n, m: torch.tensor(list(range(m))[-2:]) + torch.zeros(1),
    "sum": lambda x, n, m: x * sum(range(n)),
    "sum downwards": lambda x, n, m: x * sum(range(n, -3, -2), 5),
    "numbers side by side": _side_by_side,
    "elements side by side": _rows_side_by_side,
    "loop from one": _looped(slice(1, None)),
    "loop with a step": _looped(slice(None, None, 2)),
    "loop over the last": _looped(slice(-3, None)),
    "loop backwards": _looped(slice(None, None, -1)),
    "loop with a branch": _looped_with_branch,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_range_of_sizes_is_that_of_python(name: str) -> None:
    model = Calls(lambda x: FUNCTIONS[name](x, *x.shape)).eval()
    program = aten2onnx.export(model, (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n", 1: "m"}}, capture="record")
    assert program.report.conditions == []
    for n, m in SIZES:
        x = torch.randn(n, m)
        torch.testing.assert_close(program(x)[0], torch.as_tensor(model(x)), atol=1e-4, rtol=1e-4)
