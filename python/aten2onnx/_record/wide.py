"""Whole numbers that are products or powers: a file computes with 64 bits, and Python with as many as it takes. That one fits is a condition of the file.

ONNX Runtime 1.31 computes `Pow` of integers as float64: 15 ** 15 is another number there. Powers of two are exact, and others up to two to the 53; products are
exact as long as they fit.

In a turn of a loop there is no such condition: its line is noted, and the program is tried out at sizes that are much larger.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from .intervals import Interval, interval
from .numbers import Number, numbers_in, symbolic
from .places import line_of_model
from .turns import key_of

#: Numbers below two to this fit, and are exact as powers.
BITS, _EXACT = 63, 53
#: No size whose power is taken is expected to be larger, and none at all larger than that: nothing is asked of these.
_LARGE, _LARGEST = 1 << 20, 1 << 40
#: So many bits the largest size has that is expected, and so many another one beside it: a tensor has as many elements as the product of its sizes.
_BITS_OF_SIZE, _BITS_BESIDE = 20, 11
#: The largest number whose power by itself is exact.
_SQUARE = 13

TOO_WIDE = "a whole number needs more than the 64 bits that a file has for it"


class Overflowed(OverflowError):
    """A whole number that a file cannot compute. Where sizes make it so large, the file is not right, as where the model raises an error."""

    #: No other way of capture has more bits.
    is_final = True


def is_held(number: int, is_power: bool) -> bool:
    """Whether a file computes a whole number as it is."""
    size = abs(number)
    return size < 1 << (_EXACT if is_power and size & (size - 1) else BITS)


def power_held(base: Number, exponent: Number) -> Number | None:
    """Asks that `base ** exponent`, which is not known in advance, is exact in a file. Returns the product, if the exponent is known."""
    if exponent.value < 0:
        return None
    if not base.function:
        if abs(base.value) > 1:
            asked_at_most(exponent, _largest_exponent(abs(base.value)))
        return None
    if not exponent.function:
        _asked_within(base, _largest_base(max(exponent.value, 1), BITS))
        return _product(base, exponent.value) if exponent.value > 1 else None
    most = _SQUARE if max(exponent.value, abs(base.value)) <= _SQUARE else max(exponent.value, 1)
    asked_at_most(exponent, most)
    _asked_within(base, _largest_base(most, _EXACT))
    return None


def _product(base: Number, count: int) -> Number:
    found = base
    for bit in f"{count:b}"[1:]:
        found = found._binary("mul", found, operator.mul)
        found = found._binary("mul", base, operator.mul) if bit == "1" else found
    return found


def product_held(number: Number, other: Number) -> None:
    """Asks that a product of sizes fits into 64 bits, if sizes that are expected may make it larger."""
    width = _added(width_of(number), width_of(other))
    if width is None:
        if 1 not in (abs(one.value) for one in (number, other) if not one.function):
            _note_turn()
        return
    if width.most <= BITS:
        return
    product = Number(number.value * other.value, "mul", (number.operand(), other.operand()), number.ask)
    if len(width.sizes) == 1:
        size = next(_sizes_in(product))
        asked_at_most(size, _largest_size(product, Number.range_of(*size.operands)[0] or 0))
        return
    room = Number((1 << BITS) - 1, "", (), number.ask)._binary("floordiv", other.sym_max(1), operator.floordiv)
    if not symbolic(number._binary("le", room, operator.le)):
        raise Overflowed(TOO_WIDE)


class Width(NamedTuple):
    """So many bits a number needs, beside those of the sizes that are multiplied in it, each so many times."""

    bits: int
    sizes: dict[Any, int]

    @property
    def most(self) -> int:
        """The bits that it needs at the largest sizes that are expected."""
        times = sorted(self.sizes.values(), reverse=True)
        return self.bits + _BITS_OF_SIZE * sum(times[:1]) + _BITS_BESIDE * sum(times[1:2])


def width_of(number: Any) -> Width | None:
    """The width of a number of sizes; None where nothing tells it."""
    if not isinstance(number, Number):
        return Width(abs(number).bit_length(), {}) if type(number) in (int, bool) else None
    if not number.function:
        return width_of(number.value)
    if number.width is None:
        number.width = (_of_function(number),)
    return number.width[0]


def _of_function(number: Number) -> Width | None:
    if number.function == "size":
        high = Number.range_of(*number.operands)[1]
        return Width(0, {key_of(number): 1}) if high is None else Width(high.bit_length(), {})
    if not number.is_int():
        return None
    widths = [width_of(operand) for operand in number.operands]
    if number.function == "mul":
        return _added(*widths)
    if number.function == "floordiv":
        by = number.operands[1]
        return widths[0] if widths[0] is None or isinstance(by, Number) else Width(widths[0].bits + 1 - max(abs(by).bit_length(), 1), widths[0].sizes)
    if number.function == "mod":
        return widths[1]
    if number.function in ("neg", "abs", "pos"):
        return widths[0]
    if number.function in ("add", "sub"):
        return _widest(widths, 1)
    if number.function in ("sym_max", "sym_min", "sym_ite"):
        return _widest(widths[-2:], 0)
    return None


def _added(one: Width | None, other: Width | None) -> Width | None:
    if one is None or other is None:
        return None
    return Width(one.bits + other.bits, {key: one.sizes.get(key, 0) + other.sizes.get(key, 0) for key in (*one.sizes, *other.sizes)})


def _widest(widths: list[Width | None], more: int) -> Width | None:
    known = [width for width in widths if width is not None]
    if len(known) < len(widths):
        return None
    sizes: dict[Any, int] = {}
    for width in known:
        sizes.update({key: max(times, sizes.get(key, 0)) for key, times in width.sizes.items()})
    return Width(max(width.bits for width in known) + more, sizes)


def _sizes_in(number: Any) -> Iterator[Number]:
    """The sizes without a largest value in a number."""
    return (one for one in numbers_in(number) if one.function == "size" and Number.range_of(*one.operands)[1] is None)


def _largest_size(product: Number, low: int) -> int:
    """The largest size with which a product of it fits."""

    def fits(size: int) -> bool:
        ends = interval(product, partial(_range_to, size), {})
        return None not in ends and max(map(abs, ends)) < 1 << BITS

    return _largest(max(low, 1), _LARGE, fits)


def _largest(low: int, high: int, fits: Callable[[int], bool]) -> int:
    """The largest number below `high` that fits, as all do from `low` up to it."""
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _range_to(most: int, value: Any, axis: int) -> Interval:
    """The range of a size, which has `most` as its end if it has none."""
    low, high = Number.range_of(value, axis)
    return low, most if high is None else high


def shift_held(number: Number, by: Number) -> None:
    """Asks that `number << by` fits into 64 bits."""
    if not number.function:
        asked_at_most(by, BITS - abs(number.value).bit_length())
        return
    most = by.value
    if by.function:
        most = max(most, BITS - _LARGE.bit_length())
        asked_at_most(by, most)
    _asked_within(number, (1 << max(BITS - most, 0)) - 1)


def _asked_within(number: Number, most: int) -> None:
    asked_at_most(number, most)
    if not number.is_natural():
        asked_at_most(number._unary("neg", operator.neg), most)


def asked_at_most(number: Number, most: int) -> None:
    """Asks that a number is no larger, unless its range says so: what is computed of a larger one needs more bits than a file has."""
    if most >= _LARGE:
        return
    end = interval(number, partial(_range_to, _LARGEST), {})[1]
    if end is not None and end <= most:
        return
    if width_of(number) is None and _note_turn():
        return
    if not symbolic(number._binary("le", most, operator.le)):
        raise Overflowed(TOO_WIDE)


def _note_turn() -> bool:
    """Notes the line that is running, if it is in a turn of a loop; whether it is."""
    from .recorder import Recorder

    recorder = Recorder.current
    if recorder is None or not recorder.is_in_turn():
        return False
    line = line_of_model()
    if line is not None:
        recorder.wide.append(line)
    return True


def _largest_exponent(base: int) -> int:
    """The largest `n` for which `base ** n` is exact."""
    count, power = 0, base
    end = 1 << (_EXACT if base & (base - 1) else BITS)
    while power < end:
        count, power = count + 1, power * base
    return count


def _largest_base(exponent: int, bits: int) -> int:
    """The largest number whose power has no more bits."""
    return _largest(1, 1 << bits, lambda base: base**exponent < 1 << bits)
