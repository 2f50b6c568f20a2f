"""What ranges of sizes say of numbers: a branch that they decide has one side."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .numbers import Number
from .turns import key_of

#: The least and the largest value of a number; None where there is none.
Interval = tuple[Any, Any]

_ANY: Interval = (None, None)
_COMPARED = frozenset("eq ne lt le gt ge".split())


def decided(number: Any, size: Callable[[Any, int], Interval]) -> bool | None:
    """The answer of a condition, if the ranges of the sizes in it give one at all inputs; `size` has the range of a dimension of a value."""
    if not isinstance(number, Number):
        return number if type(number) is bool else None
    if number.function == "sym_not":
        found = decided(number.operands[0], size)
        return None if found is None else not found
    if number.function in ("and_", "or_"):
        sides = [decided(operand, size) for operand in number.operands]
        ends = number.function == "or_"
        return ends if ends in sides else None if None in sides else not ends
    if number.function not in _COMPARED:
        return None
    seen: dict[int, Interval] = {}
    one, other = number.operands
    return _compared(number.function, interval(one, size, seen), interval(other, size, seen), _is_whole(one) and key_of(one) == key_of(other))


def _is_whole(number: Any) -> bool:
    return type(number.value if isinstance(number, Number) else number) is int


def _compared(function: str, one: Interval, other: Interval, is_same: bool) -> bool | None:
    """The answer of a comparison of two numbers in these ranges."""
    is_less = one[1] is not None and other[0] is not None and one[1] < other[0]
    is_more = one[0] is not None and other[1] is not None and one[0] > other[1]
    is_at_most = is_same or (one[1] is not None and other[0] is not None and one[1] <= other[0])
    is_at_least = is_same or (one[0] is not None and other[1] is not None and one[0] >= other[1])
    answers = {
        "lt": (is_less, is_at_least),
        "ge": (is_at_least, is_less),
        "gt": (is_more, is_at_most),
        "le": (is_at_most, is_more),
        "eq": (is_at_most and is_at_least, is_less or is_more),
        "ne": (is_less or is_more, is_at_most and is_at_least),
    }
    holds, fails = answers[function]
    return True if holds else False if fails else None


def interval(number: Any, size: Callable[[Any, int], Interval], seen: dict[int, Interval]) -> Interval:
    """The range of a number: of whole numbers, and of real ones that are made of them."""
    if not isinstance(number, Number):
        return (number, number) if type(number) in (int, float) else _ANY
    found = seen.get(id(number))
    if found is None:
        found = seen[id(number)] = _of_function(number, size, seen)
    return found


def _of_function(number: Number, size: Callable[[Any, int], Interval], seen: dict[int, Interval]) -> Interval:
    if number.function == "size":
        return size(*number.operands)
    if number.function == "item" and number.operands[0].is_turn:
        return (0, None)
    if number.function == "sym_ite":
        return _either(*(interval(side, size, seen) for side in number.operands[1:]))
    if number.function in _RISING:
        return _risen(_RISING[number.function], interval(number.operands[0], size, seen))
    rule = _RULES.get(number.function)
    if rule is None or not all(map(_is_whole, number.operands)):
        return _ANY
    return rule(*(interval(operand, size, seen) for operand in number.operands))


def _sum(a: Interval, b: Interval) -> Interval:
    return (None if a[0] is None or b[0] is None else a[0] + b[0], None if a[1] is None or b[1] is None else a[1] + b[1])


def _negative(a: Interval) -> Interval:
    return (None if a[1] is None else -a[1], None if a[0] is None else -a[0])


def _product(a: Interval, b: Interval) -> Interval:
    if None not in (*a, *b):
        ends = [one * other for one in a for other in b]
        return (min(ends), max(ends))
    if a[0] is None or b[0] is None or a[0] < 0 or b[0] < 0:
        return _ANY
    return (a[0] * b[0], None if a[1] is None or b[1] is None else a[1] * b[1])


def _quotient(a: Interval, b: Interval) -> Interval:
    """Rounded down, by a number that is known and positive."""
    if b[0] is None or b[0] != b[1] or b[0] <= 0:
        return _ANY
    return (None if a[0] is None else a[0] // b[0], None if a[1] is None else a[1] // b[0])


def _rest(a: Interval, b: Interval) -> Interval:
    """The remainder by a positive number."""
    if b[0] is None or b[0] <= 0:
        return _ANY
    return (0, None if b[1] is None else b[1] - 1)


def _largest(a: Interval, b: Interval) -> Interval:
    lows = [low for low in (a[0], b[0]) if low is not None]
    return (max(lows) if lows else None, None if a[1] is None or b[1] is None else max(a[1], b[1]))


def _smallest(a: Interval, b: Interval) -> Interval:
    return _negative(_largest(_negative(a), _negative(b)))


def _either(a: Interval, b: Interval) -> Interval:
    return (None if a[0] is None or b[0] is None else min(a[0], b[0]), None if a[1] is None or b[1] is None else max(a[1], b[1]))


def _risen(function: Callable[[Any], Any], a: Interval) -> Interval:
    """Of a function for which a larger number gives no smaller one."""

    def at(end: Any) -> Any:
        try:
            return None if end is None else function(end)
        except ValueError:  # the logarithm of 0, the root of a number below
            return None

    return at(a[0]), at(a[1])


#: Real numbers have ranges where these make them of whole numbers, and whole numbers of them.
_RISING: dict[str, Callable[[Any], Any]] = {"sym_float": float, "log2": math.log2, "sqrt": math.sqrt, "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc}
_RULES: dict[str, Callable[..., Interval]] = {
    "add": _sum,
    "sub": lambda a, b: _sum(a, _negative(b)),
    "neg": _negative,
    "abs": lambda a: _largest(a, _negative(a)) if a != _ANY else (0, None),
    "pos": lambda a: a,
    "mul": _product,
    "floordiv": _quotient,
    "mod": _rest,
    "sym_max": _largest,
    "sym_min": _smallest,
}

__all__ = ["Interval", "decided", "interval"]
