"""What ranges of sizes say of conditions, held against all sizes in the ranges; and models whose branches have one side only because of that."""

from __future__ import annotations

import itertools
import math
import operator
import random

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from aten2onnx._record.intervals import decided
from aten2onnx._record.numbers import FUNCTIONS, Number
from torch import nn

import aten2onnx

#: The sizes that two dimensions have.
RANGES = ((0, 6), (1, 5))


class Size:
    """A value of two dimensions, as far as its key goes."""

    key = 1


def number(draw: random.Random, depth: int):
    """A random number of two sizes."""
    if depth == 0 or draw.random() < 0.2:
        return draw.randint(-2, 6) if draw.random() < 0.4 else Number(1, "size", (Size, draw.randint(0, 1)), lambda number, what: number.value)
    function = draw.choice(["add", "sub", "neg", "mul", "floordiv", "mod", "sym_max", "sym_min", "abs", "truediv"])
    operands = (number(draw, depth - 1), number(draw, depth - 1))[: 1 if function in ("neg", "abs") else 2]
    return Number(1.0 if function == "truediv" else 1, function, operands, lambda number, what: number.value)


def condition(draw: random.Random, depth: int):
    if depth and draw.random() < 0.3:
        function = draw.choice(["and_", "or_", "sym_not"])
        return Number(True, function, tuple(condition(draw, depth - 1) for _ in range(1 if function == "sym_not" else 2)), lambda number, what: number.value)
    return Number(True, draw.choice(["eq", "ne", "lt", "le", "gt", "ge"]), (number(draw, 2), number(draw, 2)), lambda number, what: number.value)


def value(found, sizes):
    if not isinstance(found, Number):
        return found
    if found.function == "size":
        return sizes[found.operands[1]]
    return FUNCTIONS[found.function](*(value(operand, sizes) for operand in found.operands))


def test_no_size_has_another_answer() -> None:
    draw = random.Random(0)
    counts = {True: 0, False: 0, None: 0}
    for _ in range(3000):
        found = condition(draw, 2)
        answer = decided(found, lambda value, axis: RANGES[axis])
        counts[answer] += 1
        for sizes in itertools.product(*(range(low, high + 1) for low, high in RANGES)) if answer is not None else ():
            try:
                seen = bool(value(found, sizes))
            except ZeroDivisionError:
                continue
            assert seen is answer, (found.function, sizes)
    assert min(counts.values()) > 100


def test_ranges_without_an_end() -> None:
    n = Number(6, "size", (Size, 0), lambda number, what: number.value)
    open_end = lambda value, axis: (0, None)  # noqa: E731
    larger = n.sym_max(5)
    assert decided(larger._binary("gt", 4, operator.gt), open_end) is True
    assert decided(larger._binary("gt", 5, operator.gt), open_end) is None
    assert decided(larger._binary("eq", larger, operator.eq), open_end) is True
    assert decided(n._binary("truediv", 3, operator.truediv)._binary("ge", 0, operator.ge), open_end) is None


class Same(nn.Module):
    """A branch on the side of another one that has no other side."""

    def forward(self, x):
        n, m = x.shape
        k = max(m, 5)
        x = x[-min(m, x.shape[0]) :]
        if n and m > 3:
            x = x.unfold(0, 3, 1).sum(-1) if x.shape[0] >= 3 else x
        elif m > 4:
            if k > 4:
                return x
        x = F.softmax(x / math.sqrt(x.shape[1]), -1)
        return x.transpose(0, 1).contiguous().view(x.shape[1], x.shape[0])


class AtLeastOne(nn.Module):
    """The second part of the condition always holds."""

    def forward(self, x):
        n, m = x.shape
        x = F.interpolate(x[None, None], size=(m, 1))[0, 0]
        if n > 7 or n >= 1:
            x = torch.cat([x[:1] * 2, x.new_full((1, 2), float(m))], 1)
        return x.transpose(0, 1).contiguous().view(x.shape[1], x.shape[0])


class Rounded(nn.Module):
    """An integer that was a float on the way."""

    def forward(self, x):
        n, m = x.shape
        k = int(np.ceil(n / 4))
        if m > 5 or m >= 1:
            return x * 2
        if k > 1:
            if int(n / 2) > 2:
                return x
            x = x[: max(1, min(k, x.shape[0]))]
        return x + n


class Quotient(nn.Module):
    """That a rounded quotient is at least 1 is known here, and not to the shape inference."""

    def forward(self, x):
        m = x.shape[1]
        k = math.ceil(m / 5)
        if m < k or k and k > 3:
            return x * 2
        return x * torch.ones(1, 1) + k


@pytest.mark.parametrize("kind", [Same, AtLeastOne, Rounded, Quotient])
def test_branches_that_ranges_decide_have_one_side(kind) -> None:
    model = kind().eval()
    program = aten2onnx.export(model, (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n", 1: "m"}}, capture="record")
    for sizes in ((1, 1), (2, 5), (3, 3), (4, 4), (5, 9), (9, 2), (12, 8), (3, 17)):
        x = torch.randn(sizes)
        torch.testing.assert_close(program(x)[0], model(x), atol=1e-5, rtol=1e-5)
