"""Walks over expressions of sizes: one of 200 turns of `a, b = b, a + b` has 400 numbers, and more ways to them than any walk could take."""

from __future__ import annotations

import operator

import torch
from aten2onnx._record.branches import replaced
from aten2onnx._record.expressions import is_same_number
from aten2onnx._record.numbers import Number, is_from_data, is_of_turn, numbers_in
from aten2onnx._record.references import values_in
from aten2onnx._record.tensors import Value
from aten2onnx._record.turns import key_of


def _expression(value: Value, turns: int = 200, last: str = "add") -> Number:
    ask = lambda number, what: number.value  # noqa: E731
    a, b = (Number(3, "size", (value, axis), ask) for axis in (0, 1))
    for _ in range(turns):
        a, b = b, Number(3, "add", (a, b), ask)
    return Number(3, last, (a, b), ask)


def test_each_number_of_an_expression_is_visited_once():
    value, other = Value(1, torch.zeros(3, 3), False), Value(2, torch.zeros(3, 3), False)
    one, same, apart = _expression(value), _expression(value), _expression(value, last="sub")
    assert len(list(numbers_in(one))) == 203
    assert [id(found) for found in values_in([one, value])] == [id(value)] * 3
    assert not is_from_data(one) and not is_of_turn(one)
    assert is_from_data(_expression(value)._binary("mul", Number(3, "item", (value,), one.ask), operator.mul))
    assert key_of(one) == key_of(same) != key_of(apart)
    assert key_of(one) != key_of(_expression(other))
    is_equal = lambda a, b: a is b if isinstance(a, Value) else a == b  # noqa: E731
    assert is_same_number(one, same, is_equal)
    assert not is_same_number(one, apart, is_equal) and not is_same_number(one, _expression(other), is_equal)
    changed = replaced(one, lambda found: other)
    assert key_of(changed) == key_of(_expression(other)) and len(list(numbers_in(changed))) == 203
    assert replaced(one, lambda found: found) is one
