"""What the code of a model asks that Python or PyTorch answers otherwise at other sizes: the memory of tensors, text of sizes, errors that it catches, and other classes of
numbers. A file is right there, says where it is, or is refused with the line."""

from __future__ import annotations

import enum
import math
import os
import string
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import aten2onnx

sys.path.insert(0, os.path.dirname(__file__))
from called import Calls  # noqa: E402

pytest.importorskip("onnxruntime")

SIZES = (1, 2, 3, 4, 5, 6, 9, 10, 12, 101)


def exported(function: Callable[..., Any], **options: Any) -> aten2onnx.ONNXProgram:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return aten2onnx.export(Calls(function).eval(), (torch.randn(3, 4),), dynamic_shapes={"x": {0: "n"}}, **options)


def held(program: aten2onnx.ONNXProgram, function: Callable[..., Any], sizes: tuple[int, ...] = SIZES) -> None:
    for size in sizes:
        for x in (torch.randn(size, 4), torch.zeros(size, 4), torch.randn(size, 4).round()):
            np.testing.assert_allclose(program(x)[0], function(x), rtol=1e-4, atol=1e-4)


def twice_or(answer: bool, x: torch.Tensor) -> torch.Tensor:
    return x * 2 if answer else x * 3


AT_ONE: dict[str, Callable[..., Any]] = {
    "a slice": lambda x: twice_or(x[:, :2].is_contiguous(), x),
    "a transposed tensor": lambda x: twice_or(x.t().is_contiguous(), x),
    "an expanded tensor": lambda x: twice_or(x[:1].expand(x.shape[0], 4).is_contiguous(), x),
    "channels last": lambda x: twice_or(x[None, :, :, None].is_contiguous(memory_format=torch.channels_last), x),
    "strides": lambda x: twice_or(0 in x[:1].expand_as(x).stride(), x),
    "addresses": lambda x: twice_or(x[x.shape[0] - 1 :].data_ptr() == x.data_ptr(), x),
    "a set of addresses": lambda x: x * len({x.data_ptr(), x[x.shape[0] - 1 :].data_ptr()}),
    "copies": lambda x: twice_or((y := x.t()).contiguous() is y, x),
}


@pytest.mark.parametrize("function", AT_ONE.values(), ids=AT_ONE)
def test_what_lies_otherwise_in_memory_where_a_size_is_one_is_a_condition(function: Callable[..., Any]) -> None:
    program = exported(function)
    assert program.report.conditions == ["n >= 2"]
    held(program, function, SIZES[1:])


def contiguous(x: torch.Tensor) -> torch.Tensor:
    y = x.t()
    if not y.is_contiguous():
        y = y.contiguous()
    return y * 2


SAME = {
    "a copy": contiguous,
    "a contiguous tensor": lambda x: twice_or(x.is_contiguous(), x),
    "strides of sizes": lambda x: x * x.stride(0) + x.t().contiguous().stride(0),
    "where it begins": lambda x: x * x[-1:].storage_offset(),
    "the same address": lambda x: twice_or(x.contiguous().data_ptr() == x.data_ptr(), x),
    "other addresses": lambda x: twice_or((x + 1).data_ptr() == x.data_ptr(), x),
}


@pytest.mark.parametrize("function", SAME.values(), ids=SAME)
def test_what_is_the_same_at_all_sizes_has_no_condition(function: Callable[..., Any]) -> None:
    program = exported(function)
    assert not program.report.conditions
    held(program, function)


def view_or_copy(x: torch.Tensor) -> torch.Tensor:
    try:
        return x.t().view(-1)
    except RuntimeError:
        return x.t().reshape(-1) * 2


def by_number(x: torch.Tensor, size: int) -> torch.Tensor:
    return x[:, :size] * (2 if x[:, :size].is_contiguous() else 3)


def is_long(x: torch.Tensor) -> torch.Tensor:
    text = str(x.shape[0])
    return twice_or(len(text) > 2, x)


def length(text: str) -> float:
    return float(len(text))


REFUSED: dict[str, tuple[Callable[..., Any], str]] = {
    "an error of an operator": (view_or_copy, "whether an operator raises an error"),
    "a view": (lambda x: twice_or(x.t().reshape(-1)._is_view(), x), "how a tensor lies in memory"),
    "the tensor of a view": (lambda x: twice_or(x.reshape(-1)._base is None, x), "`_base`"),
    "the length of text": (lambda x: x * len(f"{x.shape[0]}"), "text of a size"),
    "text in an expression": (lambda x: x * len(str(x.shape)), "text of a size"),
    "text in a key": (lambda x: x * {"3x4": 2.0, "5x4": 7.0}.get("x".join(str(size) for size in x.shape), 1.0), "how it is computed was not recorded"),
    "text by map": (lambda x: twice_or(",".join(map(str, x.shape)) == "5,4", x), "a plain number is made of a size"),
    "text for another function": (lambda x: x * (1 + sorted([str(x.shape[0]), "4"]).index("4")), "how it is computed was not recorded"),
    "text for a function of the model": (lambda x: x * length(str(x.shape[0])), "a plain number is made of a size"),
    "text by the standard library": (lambda x: twice_or(string.Template("$n").substitute(n=x.shape[0]) == "5", x), "a plain number is made of a size"),
    "text with more digits": (is_long, "a plain number is made of a size"),
    "the object True": (lambda x: twice_or((x.shape[0] > 4) is True, x), "compares it by `is`"),
}


@pytest.mark.parametrize(("function", "message"), REFUSED.values(), ids=REFUSED)
def test_what_no_file_knows_is_refused_with_its_line(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(aten2onnx.Error, match=message) as caught:
        exported(function)
    assert "test_memory.py" in str(caught.value)


def test_memory_that_follows_another_size_is_refused() -> None:
    # Contiguous where the second dimension has no more than four places.
    function = lambda x: by_number(x, 4)  # noqa: E731
    with pytest.raises(aten2onnx.Error, match="how a tensor lies in memory"):
        aten2onnx.export(Calls(function).eval(), (torch.randn(3, 6),), dynamic_shapes={"x": {1: "m"}})


def test_a_range_without_one_has_no_condition() -> None:
    n = torch.export.Dim("n", min=2)
    program = aten2onnx.export(Calls(AT_ONE["a slice"]).eval(), (torch.randn(3, 4),), dynamic_shapes={"x": {0: n}})
    assert not program.report.conditions
    held(program, AT_ONE["a slice"], SIZES[1:])


def test_messages_may_have_text_of_sizes() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        print(x.shape[0], f"{x.shape}", file=nothing)
        if x.shape[1] > 100:
            raise ValueError(f"too many: {x.shape}")
        return x * 2

    nothing = open("/dev/null", "w")  # noqa: SIM115
    with nothing:
        held(exported(function), function)


def quotient(x: torch.Tensor) -> torch.Tensor:
    try:
        return x * (10 / (x.shape[0] - 3))
    except ZeroDivisionError:
        return x * 99


def rest(x: torch.Tensor) -> torch.Tensor:
    try:
        number = 10 % (x.shape[0] - 6)
    except Exception:  # noqa: BLE001
        number = 7
    return x * number


def inverse(x: torch.Tensor) -> torch.Tensor:
    try:
        return x * (1 / x.sum().item())
    except ZeroDivisionError:
        return x + 1


@pytest.mark.parametrize("function", [quotient, rest, inverse])
def test_a_division_by_zero_that_the_model_catches_is_a_branch(function: Callable[..., Any]) -> None:
    held(exported(function), function)


class Count(enum.IntEnum):
    THREE = 3
    FIVE = 5


def in_table(x: torch.Tensor) -> torch.Tensor:
    return x * list(range(0, 180, 3))[min(x.shape[0], 50)]


NUMBERS: dict[str, Callable[..., Any]] = {
    "equal": lambda x: twice_or(x.shape[0] == Count.FIVE, x),
    "not equal": lambda x: twice_or(Count.FIVE != x.shape[0], x),
    "less": lambda x: twice_or(x.shape[0] < Count.FIVE, x),
    "a sum": lambda x: x * (x.shape[0] + Count.FIVE - Count.THREE),
    "in a list": lambda x: twice_or(x.shape[0] in list(Count), x),
    "a key": lambda x: x * {Count.THREE: 2.0, Count.FIVE: 4.0}.get(x.shape[0], 9.0),
    "a key of floats": lambda x: x * {3.0: 2.0, 5.0: 4.0}.get(x.shape[0], 9.0),
    "of NumPy": lambda x: twice_or(x.shape[0] == np.int64(5), x),
    "a float of NumPy": lambda x: twice_or(np.float32(5) == x.shape[0], x),
    "a common divisor": lambda x: x * math.gcd(x.shape[0], 12, 18) + math.lcm(x.shape[0], 6),
    "a remainder": lambda x: x * math.remainder(x.shape[0], 4) + math.modf(-x.shape[0] / 3)[0],
    "not a number": lambda x: x * 2 if math.isnan((x / x).sum().item()) or math.isinf(x.sum().item()) else x,
}


@pytest.mark.parametrize("function", NUMBERS.values(), ids=NUMBERS)
def test_numbers_of_other_classes_and_functions(function: Callable[..., Any]) -> None:
    program = exported(function)
    assert not program.report.conditions
    for size in SIZES:
        x = torch.randn(size, 4) + 3
        np.testing.assert_allclose(program(x)[0], function(x), rtol=1e-4, atol=1e-4)


def test_branches_of_a_long_list_are_not_nested_as_deep_as_it_is_long() -> None:
    # Readers of protobuf take no more than 100 levels, of which an If in an If is three.
    program = exported(in_table, max_branches=64)
    for size in (1, 3, 20, 50, 70):
        x = torch.randn(size, 4)
        np.testing.assert_allclose(program(x)[0], in_table(x), rtol=1e-4)


def test_torch_export_is_held_against_a_model_that_was_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    # torch.export has the name of the size in the text, `s77`, and no guard.
    from aten2onnx._record import recorder, texts

    class Nothing(list[Any]):
        def append(self, line: Any) -> None:
            pass

    known = recorder.Unrecorded.__init__
    monkeypatch.setattr(texts, "TEXTS", Nothing())
    monkeypatch.setattr(recorder.Unrecorded, "__init__", lambda self, message, line=None, is_final=False: known(self, message, line))
    with pytest.raises(aten2onnx.Error, match=r"torch.export follows it, but its program gives something else at n=\d+") as caught:
        exported(REFUSED["the length of text"][0])
    assert "test_memory.py" in str(caught.value)
