"""Powers of whole numbers: a file computes with 64 bits, and Python with as many as it takes. That a power fits is a condition of the file.

ONNX Runtime 1.31 computes `Pow` of integers as float64: 15 ** 15 is another number there. Powers of two are exact, and others up to two to the 53; products are
exact as long as they fit.
"""

from __future__ import annotations

import operator
from typing import Any

from .intervals import Interval, interval
from .numbers import Number, symbolic

#: Numbers below two to this fit, and are exact as powers.
_BITS, _EXACT = 63, 53
#: No size whose power is taken is expected to be larger, and none at all larger than that: nothing is asked of these.
_LARGE, _LARGEST = 1 << 20, 1 << 40
#: The largest number whose power by itself is exact.
_SQUARE = 13


class Overflowed(OverflowError):
    """A whole number that a file cannot compute. Where sizes make it so large, the file is not right, as where the model raises an error."""


def power_held(base: Number, exponent: Number) -> Number | None:
    """Asks that `base ** exponent`, which is not known in advance, is exact in a file. Returns the product, if the exponent is known."""
    if exponent.value < 0:
        return None
    if not base.function:
        if abs(base.value) > 1:
            _asked(exponent, _largest_exponent(abs(base.value)))
        return None
    if not exponent.function:
        _asked_within(base, _largest_base(max(exponent.value, 1), _BITS))
        return _product(base, exponent.value) if exponent.value > 1 else None
    most = _SQUARE if max(exponent.value, abs(base.value)) <= _SQUARE else max(exponent.value, 1)
    _asked(exponent, most)
    _asked_within(base, _largest_base(most, _EXACT))
    return None


def _product(base: Number, count: int) -> Number:
    found = base
    for bit in f"{count:b}"[1:]:
        found = found._binary("mul", found, operator.mul)
        found = found._binary("mul", base, operator.mul) if bit == "1" else found
    return found


def shift_held(number: Number, by: Number) -> None:
    """Asks that `number << by` fits into 64 bits."""
    if not number.function:
        _asked(by, _BITS - abs(number.value).bit_length())
        return
    most = by.value
    if by.function:
        most = max(most, _BITS - _LARGE.bit_length())
        _asked(by, most)
    _asked_within(number, (1 << max(_BITS - most, 0)) - 1)


def _asked_within(number: Number, most: int) -> None:
    if most >= _LARGE:
        return
    _asked(number, most)
    if not number.is_natural():
        _asked(number._unary("neg", operator.neg), most)


def _asked(number: Number, most: int) -> None:
    end = interval(number, _size_range, {})[1]
    if end is not None and end <= most:
        return
    if not symbolic(number._binary("le", most, operator.le)):
        raise Overflowed("a whole number needs more than the 64 bits that a file has for it")


def _size_range(value: Any, axis: int) -> Interval:
    low, high = Number.range_of(value, axis)
    return low, _LARGEST if high is None else high


def _largest_exponent(base: int) -> int:
    """The largest `n` for which `base ** n` is exact."""
    count, power = 0, base
    end = 1 << (_EXACT if base & (base - 1) else _BITS)
    while power < end:
        count, power = count + 1, power * base
    return count


def _largest_base(exponent: int, bits: int) -> int:
    """The largest number whose power has no more bits."""
    low, high = 1, 1 << bits
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**exponent < 1 << bits else (low, middle)
    return low
