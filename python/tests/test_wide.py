"""Powers of sizes, which Python computes with as many bits as they take and a file with 64: the file says where it is right."""

from __future__ import annotations

import warnings
from typing import Any

import aten2onnx
import pytest
import torch

from called import Calls

SIZES = [1, 2, 3, 5, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 27, 28, 38, 39, 41, 42, 43, 61, 62, 63, 64, 65, 125, 126, 255]

#: What a model computes of a size, and the largest one at which it fits.
HELD: dict[str, tuple[Any, int]] = {
    "power of a constant": (lambda n: 10**n % 7, 15),
    "power of a negative constant": (lambda n: (-2) ** n % 5, 62),
    "power of half a size": (lambda n: 2 ** (n // 2) % 5, 125),
    "high power": (lambda n: n**12 % 7, 38),
    "power by itself": (lambda n: n**n % 11, 13),
    "shifted constant": (lambda n: (1 << n) % 5, 62),
    "larger constant": (lambda n: (5 << n) % 9, 60),
    "shifted size": (lambda n: (n << n) % 9, 42),
    "inside of a condition": (lambda n: 3 if 10**n % 7 > 3 else 4, 15),
}
#: These fit at all sizes.
FREE: dict[str, Any] = {
    "next power of two": lambda n: 1 << (n - 1).bit_length(),
    "remainder": lambda n: 3 ** (n % 9) % 100,
    "square and cube": lambda n: n**2 % 7 + n**3 % 7,
    "power of one": lambda n: 1**n + (-1) ** n,
    "negative exponent": lambda n: 2**-n * 4,
    "real power": lambda n: 2.0**n / 2.0 ** (n - 1),
    "remainder of what is subtracted": lambda n: (5 - n * 10**12) % 100003 + -(n * 10**12) // 100003 % 1009,
}


def right_sizes(function: Any, sizes: list[int]) -> tuple[list[int], list[str]]:
    """The sizes at which the file gives what the model gives, and its conditions."""
    model = Calls(lambda x: x + function(x.shape[0])).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = aten2onnx.export(model, (torch.ones(4),), dynamic_shapes={"x": {0: "n"}})
    examples = [torch.linspace(0, 1, size) for size in sizes]
    return [size for size, x in zip(sizes, examples) if torch.equal(torch.as_tensor(program(x)[0]), model(x))], program.report.conditions


@pytest.mark.parametrize("name", HELD)
def test_a_power_that_does_not_fit_is_a_condition(name: str) -> None:
    function, largest = HELD[name]
    right, conditions = right_sizes(function, SIZES)
    assert any(str(number) in condition for condition in conditions for number in (largest, largest // 2)), conditions
    assert set(right) >= {size for size in SIZES if size <= largest}


@pytest.mark.parametrize("name", FREE)
def test_a_power_that_fits_is_none(name: str) -> None:
    right, conditions = right_sizes(FREE[name], SIZES)
    assert conditions == [] and right == SIZES


#: Functions of two elements, which may have up to 62 bits.
OF_ELEMENTS: dict[str, Any] = {
    "remainder": lambda a, b: -a % 1000003 + -a % 7,
    "remainder of a difference": lambda a, b: (5 + 3 * a - b) % 1000000007,
    "remainder of a sum that is subtracted": lambda a, b: (1 - (a + 2 * b - 3) * 4) % 97,
    "remainder by a negative number": lambda a, b: (a - b) % -1000003,
    "remainder by a power of two": lambda a, b: (a - b) % 2**40,
    "quotient": lambda a, b: -a // 1000000007,
    "quotient of a difference": lambda a, b: (7 - a - b) // 1000003,
    "quotient by a negative number": lambda a, b: a // -1000003 + (b - a) // -7,
    "quotient rounded up": lambda a, b: -(-a // 1000003),
    "product": lambda a, b: -(a % 10**6) * -(b % 10**6) * -5 // 1009 + (b % 10**9) * (-a % 10**9) % 1000003,
    "both": lambda a, b: sum(divmod(b - a, 86400)),
}


@pytest.mark.parametrize("name", OF_ELEMENTS)
def test_no_product_of_a_quotient_or_remainder_is_too_large(name: str) -> None:
    function = OF_ELEMENTS[name]
    model = Calls(lambda x: x[:1] * 0 + function(int(x[0]), int(x[1]))).eval()
    program = aten2onnx.export(model, (torch.tensor([5, 3]),), capture="record")
    for a in (0, 1, 8, 10**9 + 7, 10**12 + 1, 10**15 + 3, 5 * 10**17 + 11):
        for b in (-a, 3, 10**10 + 9, -(10**17)):
            x = torch.tensor([a, b])
            assert program(x)[0].tolist() == model(x).tolist(), (a, b)


def test_a_remainder_that_no_file_computes_is_refused() -> None:
    with pytest.raises(aten2onnx.CaptureError, match="64 bits"):
        aten2onnx.export(Calls(lambda x: x + -int(x[0]) % (10**12 + 39)).eval(), (torch.tensor([5, 3]),), capture="record")


def test_a_range_of_the_dimension_leaves_nothing_to_state() -> None:
    model = Calls(lambda x: x + 10 ** x.shape[0] % 7).eval()
    program = aten2onnx.export(model, (torch.ones(4),), dynamic_shapes={"x": {0: torch.export.Dim("n", max=15)}})
    assert program.report.conditions == []


def test_an_example_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(Exception, match="64 bits"):
        aten2onnx.export(Calls(lambda x: x + 10 ** x.shape[0] % 7).eval(), (torch.ones(25),), dynamic_shapes={"x": {0: "n"}})
