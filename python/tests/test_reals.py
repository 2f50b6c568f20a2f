"""Functions of `math`, and methods of numbers, of sizes and of elements of tensors: each held against Python's own."""

from __future__ import annotations

import math
from typing import Any

import aten2onnx
import numpy as np
import pytest
import torch
from torch import nn

#: Where powers of two and ten, and halves of decimals, are near.
NUMBERS = [*range(1, 18), 30, 31, 32, 33, 63, 64, 65, 99, 100, 101, 127, 128, 129, 499, 500, 501, 999, 1000, 1001, 1023, 1024, 1025]

FUNCTIONS: dict[str, Any] = {
    "round to two decimals": lambda n: round(n / 200, 2),  # 1 / 200 is more than a half, 3 / 200 is less
    "round to one decimal": lambda n: round(n / 3, 1),
    "round below zero": lambda n: round(-n / 200, ndigits=2),
    "round exact halves": lambda n: round(n / 8, 2),
    "round to no decimals": lambda n: round(n / 2, 0),
    "round to tens": lambda n: round(n, -1),
    "round a float to tens": lambda n: round(n * 0.5, -1),
    "round of numpy": lambda n: int(np.round(n / 4)) + np.rint(n / 2),
    "astype": lambda n: np.ceil(n / 4).astype(np.int64) + np.floor(n / 4).astype(np.float32),
    "bit length": lambda n: n.bit_length() * 100 + (n - 1).bit_length(),
    "next power of two": lambda n: 1 << (n - 1).bit_length(),
    "divmod": lambda n: sum(divmod(n, 7)) + divmod(-n, 4)[1] + divmod(70, n)[0] + divmod(n, 2.5)[1],
    "complement": lambda n: ~n & 3,
    "log": lambda n: math.log(n) + math.log(n + 1, 2) + np.log(n),
    "whole log": lambda n: math.floor(math.log(n, 2)) * 100 + int(math.log10(n)) * 10 + math.ceil(math.log2(n)),
    "log1p": lambda n: math.log1p(n) + math.log1p(n * 1e-18) * 1e18,
    "root": lambda n: math.isqrt(n) + math.hypot(n, 3) + math.pow(n, 0.25),
    "quotient of one": lambda n: int(1 / n * 49 * n),
    "quotient of one as a factor": lambda n: int(49 * (1.0 / n) * n),
    "real quotient rounded down": lambda n: n // 0.1 + -n // 0.3 + (n * 0.1) // 0.1 + 7 // (n / 10) + divmod(n, 0.1)[0] + n // -0.7,
    "power of a remainder": lambda n: pow(n, 2, 7) + pow(n, 3, 5) * 10 + pow(2, n % 5, 3),
    "fabs": lambda n: math.fabs(7 - n) + math.fabs(n / 3),
    "fmod": lambda n: math.fmod(-n, 7) * 10 + math.fmod(n, -4),
    "copysign": lambda n: math.copysign(n, -0.0) + math.copysign(3, n - 8),
    "comb": lambda n: math.comb(n, 2) + math.comb(n, 3) / 7,
    "few values": lambda n: math.factorial(n % 7) + math.perm(n, 2) / 7 + math.perm(n % 9, n % 4) + math.comb(n % 11, n % 5) + math.comb(n, 3),
    "divisors": lambda n: math.gcd(n, n // 2 + 3) + math.lcm(n, n + 2, 4) / 7 + math.gcd(n, 2 * n, 36) + math.gcd(0, n),
    "angles": lambda n: math.degrees(n) + math.radians(n),
}


class OfSize(nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, x):
        return x.sum() * 0 + self.function(x.shape[0])


class OfElement(OfSize):
    def forward(self, x):
        return x.sum() * 0 + self.function(int(x[0]))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_a_size_is_that_of_python(name):
    function = FUNCTIONS[name]
    program = aten2onnx.export(OfSize(function).eval(), (torch.zeros(6),), dynamic_shapes={"x": {0: "n"}}, capture="record")
    for number in NUMBERS:
        assert program(torch.zeros(number))[0].item() == pytest.approx(function(number), rel=1e-6), number


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "copysign"])
def test_a_function_of_an_element_is_that_of_python(name):
    function = FUNCTIONS[name]
    program = aten2onnx.export(OfElement(function).eval(), (torch.tensor([6.0]),), capture="record")
    for number in NUMBERS:
        assert program(torch.tensor([float(number)]))[0].item() == pytest.approx(function(number), rel=1e-6), number


#: Where the last digit of a product decides.
ROUNDED: dict[str, Any] = {
    "two factors": lambda n: int(n * 0.29 * 100) * 1000 + int(n * 0.57 * 100),
    "factors of a sum": lambda n: int((n * 0.1 + 0.2) * 3 * 10),
    "factors that cancel": lambda n: int(n * (1 / 3) * 3) + int(n * 0.1 / 0.1) * 1000,
    "compared products": lambda n: int(n * 0.1 * 3 == n * 0.3) + 2 * int(n * 0.1 + n * 0.2 == n * 0.3),
    "quotients": lambda n: int(n / (n + 1) * 1000) + 1000 * int(n / 7 * 3 / 0.3) + int(1 / n * 49 * n),
    "sums": lambda n: int((n + 0.1) + 0.2 == n + 0.3) + 2 * int(0.1 + n - 0.1 == n),
}


@pytest.mark.parametrize("name", ROUNDED)
def test_products_are_rounded_as_in_python(name):
    function = ROUNDED[name]
    program = aten2onnx.export(OfSize(function).eval(), (torch.zeros(6),), dynamic_shapes={"x": {0: "n"}}, capture="record")
    assert [n for n in range(1, 200) if program(torch.zeros(n))[0].item() != function(n)] == []


class Reciprocal(nn.Module):
    def forward(self, x):
        return x + 1 / x.shape[0] * 49 * x.shape[0]


@pytest.mark.parametrize("capture", ["record", "export"])
def test_onnx_runtime_keeps_the_quotient_of_one_and_a_size(capture):
    # Of `1 / n * 49` it would make `49 / n`, which is rounded otherwise.
    program = aten2onnx.export(Reciprocal().eval(), (torch.zeros(6, dtype=torch.float64),), dynamic_shapes={"x": {0: "n"}}, capture=capture)
    assert [n for n in range(2, 200) if program(torch.zeros(n, dtype=torch.float64))[0][0].item() != 1 / n * 49 * n] == []


TRUNCATED: dict[str, Any] = {
    "int": lambda n: int((n - 10) / 4) * 1000 + int(-(n - 5) / 3),
    "trunc": lambda n: math.trunc((n - 9) / 2),
    "by a negative number": lambda n: int((n - 20) / -3),
    "by a size": lambda n: int((5 - n) / (abs(n) + 1) * 7),
    "rounded": lambda n: round((n - 10) / 4) + round((n - 10) / 8, 1),
    "rounded to tens": lambda n: round(n - 20, -1) + round((n - 20) * 0.5, -1),
    "other functions": lambda n: divmod(n - 20, 7)[1] + math.fmod(n - 20, 7) + (n - 20).bit_length() + ~(n - 20),
}


@pytest.mark.parametrize("name", TRUNCATED)
def test_a_number_that_may_be_below_zero(name):
    # Where the example is above zero, below it a fraction goes the other way.
    function = TRUNCATED[name]
    program = aten2onnx.export(OfSize(function).eval(), (torch.zeros(24),), dynamic_shapes={"x": {0: "n"}}, capture="record")
    for number in range(1, 40):
        assert program(torch.zeros(number))[0].item() == pytest.approx(function(number), rel=1e-6), number
    program = aten2onnx.export(OfElement(function).eval(), (torch.tensor([24.0]),), capture="record")
    for number in range(-40, 40):
        assert program(torch.tensor([float(number)]))[0].item() == pytest.approx(function(number), rel=1e-6), number


def test_a_size_that_is_not_below_zero_is_divided_as_such():
    program = aten2onnx.export(Halves().eval(), (torch.zeros(12),), dynamic_shapes={"x": {0: "n"}}, capture="record")
    assert "Max" not in {node.op_type for node in program.model_proto.graph.node}


class Halves(nn.Module):
    def forward(self, x):
        return x.new_zeros(int((x.shape[0] - 1) / 2) + 1)


class Sides(nn.Module):
    """A whole number out of a tensor of floats, on both sides of a branch; a float as a condition."""

    def forward(self, x):
        k = int(x.sum())
        k = k if k > 0 else -2 * k
        share = x.sum().item() * 0.5
        return x * k + (3 if share else 5) + (not share)


def test_numbers_of_floats_on_the_sides_of_branches():
    program = aten2onnx.export(Sides().eval(), (torch.tensor([6.0]),), capture="record")
    for number in (-3.5, -1.0, 0.0, 0.5, 2.7):
        torch.testing.assert_close(program(torch.tensor([number]))[0], Sides()(torch.tensor([number])))


def test_a_number_whose_value_alone_is_known_is_tried_out():
    # The greatest common divisor of 720 and 6, 12 or 18 is that number.
    class Divisor(nn.Module):
        def forward(self, x):
            return x * int(np.gcd(x.shape[0], 720))

    with pytest.raises(aten2onnx.CaptureError, match="how a number is computed was not recorded: `return x \\* int\\(np.gcd") as caught:
        aten2onnx.export(Divisor().eval(), (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")
    assert "test_reals.py" in str(caught.value)
