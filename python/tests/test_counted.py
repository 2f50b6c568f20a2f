"""Booleans that remember: as numbers in arithmetic, and as flags that only some turns or sides make tensors of."""

from __future__ import annotations

from typing import Any

import aten2onnx
import pytest
import torch

from called import Calls


def of_sizes(x: Any) -> Any:
    n = x.shape[0]
    return x * ((n > 3) + (n > 7) * 2 + True) + (-(n > 5)) * 3 + ((n > 3) - (n > 9)) + (n > 5) * (n < 9)


def compared(x: Any) -> Any:
    n = x.shape[0]
    return x + ((n > 3) ^ (n > 7)) * 1 + ((n > 3) & (n < 9)) * 2 + ((n < 3) | (n > 20)) * 4 + ((n > 3) == (n > 7)) * 8 + ((n > 3) < (n > 7)) * 16


def beside_numbers(x: Any) -> Any:
    n = x.shape[0]
    return x + n * (n > 7) + (n > 7) * n + (n - (n > 3)) + (n > 3) * 0.5 + [5, 6, 7][(n > 3) + (n > 7)] + n // (1 + (n > 4)) + 2 ** (n > 4)


def summed(x: Any) -> Any:
    n = x.shape[0]
    return x + sum([n > 3, n > 7, n % 2 == 0]) + sum(k > n for k in (1, 4, 9, 20))


def as_results(x: Any) -> Any:
    n = x.shape[0]
    return x[: (n > 3) + 1], x * (n > 3), x + (n > 3), torch.tensor([n > 3, n > 7]), torch.tensor((n > 3) + 1), torch.tensor(n > 3)


def of_elements(x: Any) -> Any:
    total = x.sum().item()
    return x + (total > 0) + (total > 1) + (total < -1) * 5


def in_turns(x: Any) -> Any:
    marks, run, longest = [], 0, 0
    for k in x.argmax(-1).tolist():
        marks.append(k + (k != 3))
        run = run * (k > 0) + (k > 0)
        longest = max(longest, run)
    return torch.tensor(marks), longest


def flag_of_turns(x: Any) -> Any:
    flag, count = False, 0
    for row in x[:, 0]:
        if row > 0.5:
            flag = row > 1
        if flag:
            count += 1
    return x * 2 if flag else x, count


def flag_of_sides(x: Any) -> Any:
    flag = x.shape[0] > 7
    if x[0, 0] > 0:
        flag = x.sum() > 0
    if x[0, 1] > 0:
        flag = not flag
    return x * 2 if flag else x


def distance(x: Any) -> Any:
    """How far two series are apart, with a list for each row of the table."""
    a, b = x.argmax(-1).tolist(), x.argmin(-1).tolist()
    before = list(range(len(b) + 1))
    for i, p in enumerate(a, 1):
        row = [i]
        for j, q in enumerate(b, 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (p != q)))
        before = row
    return torch.tensor(before[-1])


def palindrome(x: Any) -> Any:
    """A flag and a number that are 1 and 0 at the same time."""
    ids = x.argmax(-1)
    i, is_same = 0, True
    while i < ids.shape[0] // 2:
        if ids[i] != ids[-1 - i]:
            is_same = False
            break
        i += 1
    return torch.tensor(is_same), torch.tensor(i)


def flag_and_number(x: Any) -> Any:
    if x.sum() > 0:
        flag, k = True, 1
    else:
        flag, k = False, 0
    for row in x[:, 0]:
        if row > 2:
            break
    return torch.tensor(k), torch.tensor(flag), x * k


FUNCTIONS = [palindrome, flag_and_number, of_sizes, compared, beside_numbers, summed, as_results, of_elements, in_turns, flag_of_turns, flag_of_sides, distance]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_the_same_as_in_python(function: Any) -> None:
    model = Calls(function).eval()
    program = aten2onnx.export(model, (torch.randn(6, 4),), dynamic_shapes=({0: "n"},))
    assert program.report.conditions == []
    for n in (1, 2, 3, 4, 5, 7, 8, 9, 10, 21, 40):
        for x in (torch.randn(n, 4), torch.zeros(n, 4), torch.randn(n, 4).abs(), -torch.rand(n, 4), torch.randn(n, 4).sort(0).values):
            wanted = model(x)
            for want, found in zip(wanted if isinstance(wanted, tuple) else (wanted,), program(x)):
                torch.testing.assert_close(torch.as_tensor(found), torch.as_tensor(want))
