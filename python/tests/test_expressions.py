"""Walks over expressions of sizes: one of 200 turns of `a, b = b, a + b` has 400 numbers, and more ways to them than any walk could take."""

from __future__ import annotations

import operator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from aten2onnx._record import growing, mixed
from aten2onnx._record.alike import Held, Unalike
from aten2onnx._record.align import zipped
from aten2onnx._record.branches import replaced
from aten2onnx._record.expressions import inner_first, is_same_number
from aten2onnx._record.graph import _Builder
from aten2onnx._record.numbers import Number, is_from_data, is_of_turn, numbers_in
from aten2onnx._record.recorder import Unrecorded
from aten2onnx._record.references import values_in
from aten2onnx._record.rolling import Rolling
from aten2onnx._record.tensors import Value
from aten2onnx._record.turns import key_of
from aten2onnx._record.without import Without


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


VALUE, OTHER = Value(1, torch.zeros(3, 3), False), Value(2, torch.zeros(3, 3), False)


def test_each_number_comes_after_its_operands() -> None:
    one = _expression(VALUE)
    seen: set[int] = set()
    for number in inner_first(one):
        assert all(id(operand) in seen for operand in number.operands if isinstance(operand, Number))
        seen.add(id(number))
    assert len(seen) == 203 and number is one


def test_two_expressions_are_joined_in_one_walk() -> None:
    pairs: list[Any] = []

    def leaf(a: Any, b: Any, in_results: bool) -> Any:
        pairs.append((a, b))
        return a

    one = _expression(VALUE)
    assert zipped(one, _expression(OTHER), leaf) is one
    assert pairs == [(VALUE, OTHER)]
    changed = zipped(one, _expression(OTHER), lambda a, b, in_results: b)
    assert key_of(changed) == key_of(_expression(OTHER)) and len(list(numbers_in(changed))) == 203
    apart = _expression(OTHER, last="sub")
    assert zipped(one, apart, lambda a, b, in_results: b) is apart


def _rolling() -> Any:
    merger = SimpleNamespace(canon=lambda value: value, name=id, is_same=lambda a, b: a is b or key_of(a) == key_of(b))
    counter = Value(3, torch.zeros(()), False)
    rolling: Any = SimpleNamespace(merger=merger, states={}, own=set(), chosen=SimpleNamespace(counter=counter), carried={}, chosen_ask=None, counter=None)
    rolling.is_same = lambda a, b: merger.is_same(a, b)
    rolling.is_equal = lambda a, b: a == b
    return rolling


@pytest.mark.parametrize("kind", [Held, Without])
def test_the_numbers_of_two_turns_are_compared_in_one_walk(kind: Any) -> None:
    held = object.__new__(kind)
    Held.__init__(held, _rolling(), SimpleNamespace(counter=None))
    held.inits, held.held_numbers = {}, {}
    held.own = set()
    held.reference(_expression(VALUE), _expression(VALUE), ("args",))
    assert len(held.numbers) <= 203
    for other in (_expression(VALUE, last="sub"), _expression(VALUE, turns=201)):
        with pytest.raises(Unalike):
            held.reference(_expression(VALUE), other, ("args",))


def test_a_number_of_a_turn_is_made_in_one_walk() -> None:
    rolling = _rolling()
    param = Value(4, torch.zeros(3, 3), False)
    rolling.carried = {("value", id(VALUE)): SimpleNamespace(param=param)}
    for name in ("_reference", "_number", "_new_number"):
        setattr(rolling, name, getattr(Rolling, name).__get__(rolling))
    rolling._constant = lambda known, path: known
    assert key_of(rolling._number(_expression(VALUE), ("args",))) == key_of(_expression(param))


def test_values_and_kinds_of_numbers_are_found_in_one_walk() -> None:
    one = _expression(VALUE)
    held = Held(_rolling(), SimpleNamespace(counter=None))
    held.made[id(VALUE)] = VALUE
    assert held.value_of(_expression(VALUE, turns=30)) == 3 * _fibonacci(32)
    known = {VALUE.key: 1}
    assert growing._of(one, known) == 0 and growing._of(Number(1, "item", (VALUE,), one.ask), known) == 1
    real = Number(2.5, "add", (one.sym_float(), 0.5), one.ask)
    for _ in range(200):
        real = Number(2.5, "add", (real, real), one.ask)
    assert not mixed.is_mixed(real)


def _fibonacci(turns: int) -> int:
    a, b = 1, 1
    for _ in range(turns - 1):
        a, b = b, a + b
    return b


def test_the_text_of_an_expression_has_an_end() -> None:
    builder: Any = SimpleNamespace(_number=lambda number: SimpleNamespace(name=f"size_{number.operands[1]}"))
    assert _Builder._text(builder, _expression(VALUE, turns=2)) == "((size_0 + size_1) + (size_1 + (size_0 + size_1)))"
    with pytest.raises(Unrecorded, match="too long"):
        _Builder._text(builder, _expression(VALUE))
    deep = Number(3, "size", (VALUE, 0), lambda number, what: number.value)
    for _ in range(5000):
        deep = deep._binary("add", 1, operator.add)
    assert len(_Builder._text(builder, deep)) > 5000
    assert key_of(deep) is key_of(deep)
