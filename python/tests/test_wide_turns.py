"""Whole numbers that grow: products of sizes that do not fit into 64 bits are conditions, and loops that make such numbers are refused with their line."""

from __future__ import annotations

import re
import warnings
from typing import Any

import aten2onnx
import pytest
import torch

from called import Calls

SIZES = [1, 2, 3, 5, 12, 13, 20, 21, 22, 38, 39, 40, 62, 63, 64, 65, 91, 92, 93, 130, 200]


def exported(function: Any, high: int | None = None) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        size: Any = "n" if high is None else torch.export.Dim("n", max=high)
        return aten2onnx.export(Calls(function).eval(), (torch.ones(6),), dynamic_shapes=({0: size},))


def right_sizes(program: Any, function: Any, sizes: list[int], data: Any = torch.ones) -> list[int]:
    return [n for n in sizes if torch.equal(torch.as_tensor(program(data(n))[0]), torch.as_tensor(function(data(n))))]


#: Products of a size, and the largest one at which they fit.
PRODUCTS: dict[str, tuple[Any, int]] = {
    "twelve times itself": (lambda x: x + (len(x) * len(x) * len(x) * len(x) * len(x) * len(x) * len(x) * len(x) * len(x) * len(x) * len(x) * len(x) % 7), 38),
    "of sums": (lambda x: x + ((len(x) + 1) ** 2 * (len(x) + 2) ** 2 * (2 * len(x)) ** 2 * len(x) ** 2 * len(x) ** 2 % 7), 67),
    "below zero": (lambda x: x * 0 + (-len(x)) ** 3 * len(x) ** 9 // 1000, 38),
    "of factors below zero": (lambda x: x * 0 + (3 - len(x)) ** 3 * len(x) ** 9 // 1000, 20),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_product_that_does_not_fit_is_a_condition(name: str) -> None:
    function, largest = PRODUCTS[name]
    program = exported(function)
    found = [int(number) for condition in program.report.conditions for number in re.findall(r"n <= (\d+)", condition)]
    assert found and min(found) == largest, program.report.conditions
    sizes = [size for size in SIZES if size <= largest]
    assert right_sizes(program, function, sizes) == sizes


def test_products_that_fit_have_no_condition() -> None:
    program = exported(lambda x: x + len(x) * len(x) * len(x) % 7 + x.numel() * 64)
    assert program.report.conditions == []


def test_a_product_of_several_sizes_is_a_condition_of_both() -> None:
    model = Calls(lambda x: x + x.shape[0] ** 3 * x.shape[1] ** 4 % 7).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = aten2onnx.export(model, (torch.ones(4, 6),), dynamic_shapes={"x": {0: "n", 1: "m"}})
    assert any("n" in condition and "m" in condition for condition in program.report.conditions), program.report.conditions
    assert torch.equal(program(torch.ones(40, 3))[0], model(torch.ones(40, 3)))


def factorial(x: Any) -> Any:
    p = 1
    for i in range(1, x.shape[0] + 1):
        p = p * i
    return x + p % 10007


def fibonacci(x: Any) -> Any:
    a, b = 0, 1
    for _ in range(x.shape[0]):
        a, b = b, a + b
    return x + a % 1009


def hashed(x: Any) -> Any:
    h = 7
    for i in range(x.shape[0]):
        h = h * 31 + i
    return x + h % 97


def doubled_on_data(x: Any) -> Any:
    h = 1
    for row in x:
        if row > 0:
            h *= 3
    return x + h % 11


def shifted(x: Any) -> Any:
    h = 1
    for _ in range(x.shape[0]):
        h <<= 1
    return x + h % 97


def powers(x: Any) -> Any:
    s = 0
    for i in range(x.shape[0]):
        s += 3**i % 7
    return x + s


#: Loops, and the largest size at which their numbers fit.
LOOPS: dict[Any, int] = {factorial: 20, fibonacci: 91, hashed: 12, doubled_on_data: 39, shifted: 62, powers: 34}


@pytest.mark.parametrize("function", LOOPS, ids=lambda function: function.__name__)
def test_a_loop_whose_number_does_not_fit_is_refused_with_its_line(function: Any) -> None:
    with pytest.raises(aten2onnx.Error, match="64 bits") as refused:
        exported(function)
    assert f'max={LOOPS[function]}' in str(refused.value) and function.__name__ in str(refused.value)


@pytest.mark.parametrize("function", LOOPS, ids=lambda function: function.__name__)
def test_it_is_exported_where_its_number_fits(function: Any) -> None:
    program = exported(function, LOOPS[function])
    sizes = [size for size in SIZES if size <= LOOPS[function]]
    assert program.report.conditions == [] and right_sizes(program, function, sizes) == sizes


def bounded(x: Any) -> Any:
    h, p, k, sign = 7, 1, 1, 1
    for i in range(x.shape[0]):
        h = (h * 31 + i) & 0xFFFFFFFF
        p = p * (i + 1) % 10007
        k, sign = k + i * sign, -sign
    k = abs(k) + 1
    while k < x.shape[0]:
        k *= 2
    return x + h % 97 + p + k


def scaled(x: Any) -> Any:
    y = x
    for i in range(x.shape[0]):
        y = y + x / 2 ** (i % 9)
    return y


@pytest.mark.parametrize("function", [bounded, scaled], ids=lambda function: function.__name__)
def test_a_loop_whose_numbers_have_an_end_is_exported(function: Any) -> None:
    assert right_sizes(exported(function), function, SIZES, lambda n: torch.arange(n) / 4) == SIZES


def test_an_example_at_which_a_product_does_not_fit_is_an_error() -> None:
    with pytest.raises(aten2onnx.Error, match="64 bits"):
        exported(lambda x: x * 0 + (-len(x) ** 12) // 10**15)
