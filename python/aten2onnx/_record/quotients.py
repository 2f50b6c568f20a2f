"""Quotients and remainders of whole numbers by a known one. The native library writes `-a % m` as `(m - 1) * a % m`, which is exact as long as the product has no more than 64 bits.

An element of a tensor may have as many: a hash, a time in nanoseconds. If it is subtracted, it is first taken apart into its quotient and its remainder by `m`, so
that no product has more than twice the bits of `m`.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from .expressions import inner_first
from .numbers import Number, operand_number
from .wide import BITS, TOO_WIDE, Overflowed, product_held, width_of

#: So many bits the number of a turn has at most.
_BITS_OF_TURN = 31

#: A number, and how often it is in a sum.
Part = tuple[Number, int]


def of_parts(function: str, number: Number, by: Number) -> Number | None:
    """`number // by` or `number % by` in which no product is too large; None if that is so as it stands."""
    size = 0 if by.function else abs(by.value)
    if not number.function or size < 2 or (function == "mod" and size & (size - 1) == 0):  # what is lost of a product is a multiple of a power of two
        return None
    sign = -1 if by.value < 0 and function == "floordiv" else 1
    parts, rest = _parts(number, sign)
    large = [part for part in parts if part[1] < 0 and _bits(part[0]) + size.bit_length() > BITS]
    if not large:
        _hold_sums(parts, number, by)
        return None
    if 2 * size.bit_length() > BITS:
        raise Overflowed(TOO_WIDE)
    kept = [part for part in parts if part not in large]
    rests = [(_apply("mod", one, size), count) for one, count in large]
    found = _apply(function, _sum([*kept, *rests], rest, number), size if function == "floordiv" else by.value)
    if function == "mod":
        return found
    return _apply("add", _sum([(_apply("floordiv", one, size), count) for one, count in large], 0, number), found)


def _hold_sums(parts: list[Part], number: Number, by: Number) -> None:
    """Asks that the product fits if a factor may be below zero at some sizes: the native library multiplies factors out."""
    if any(one.function == "mul" and not one.is_natural() for one, _ in parts) and width_of(number) is not None:
        product_held(_added_up(number), by)


def _added_up(number: Number) -> Number:
    """A number with sums in place of differences: no term of it is larger when its factors are multiplied out."""
    known: dict[int, Any] = {}
    for one in inner_first(number):
        operands = [known[id(x)] if isinstance(x, Number) else abs(x) for x in one.operands] if one.function in ("neg", "add", "sub", "mul") else []
        if one.function == "neg":
            known[id(one)] = operands[0]
        elif operands:
            first = operand_number(operands[0], one.ask)
            known[id(one)] = _apply("mul" if one.function == "mul" else "add", first, operands[1])
        else:
            known[id(one)] = one
    return known[id(number)]  # type: ignore[no-any-return]


def _parts(number: Number, sign: int) -> tuple[list[Part], int]:
    """The numbers whose sum a number is, or `sign` times that, and a plain number beside them."""
    counts: dict[int, int] = {id(number): sign}
    parts: list[Part] = []
    rest = 0
    for one in reversed(list(inner_first(number))):
        count = counts.get(id(one), 0)
        terms = _terms(one) if count else ()
        if terms is None:
            positive, turn = _signed(one)
            parts.append((positive, count * turn))
            continue
        for operand, factor in terms:
            if isinstance(operand, Number):
                counts[id(operand)] = counts.get(id(operand), 0) + count * factor
            else:
                rest += count * factor * operand
    return parts, rest


def _terms(number: Number) -> Iterable[tuple[Any, int]] | None:
    """The operands that a number is a sum of, with how often they are in it; None if it is no sum."""
    if number.function == "neg":
        return [(number.operands[0], -1)]
    if number.function in ("add", "sub"):
        a, b = number.operands
        return [(a, 1), (b, 1 if number.function == "add" else -1)]
    if number.function == "mul":
        a, b = number.operands
        if not isinstance(b, Number):
            return [(a, b)]
        return None if isinstance(a, Number) else [(b, a)]
    return None


def _signed(number: Number) -> Part:
    """A product without the signs of its factors, and 1 or -1. The native library has one sign for the whole."""
    if number.function == "neg" and isinstance(number.operands[0], Number):
        found, sign = _signed(number.operands[0])
        return found, -sign
    if number.function != "mul":
        return number, 1
    factors = [_signed(one) if isinstance(one, Number) else (abs(one), -1 if one < 0 else 1) for one in number.operands]
    signs = [sign for _, sign in factors]
    if signs == [1, 1]:
        return number, 1
    (a, one), (b, other) = factors
    return _apply("mul", operand_number(a, number.ask), b), one * other


def _bits(number: Number) -> int:
    """So many bits a number may need."""
    if number.function == "item" and number.operands[0].is_turn:
        return _BITS_OF_TURN
    width = width_of(number)
    return BITS if width is None else width.most


def _sum(parts: list[Part], rest: int, like: Number) -> Number:
    found = operand_number(rest, like.ask)
    for one, count in parts:
        term = one if count == 1 else _apply("mul", one, count)
        found = term if found.value == 0 and not found.function else _apply("add", found, term)
    return found


def _apply(function: str, one: Number, other: Any) -> Number:
    value = {"add": operator.add, "mul": operator.mul, "mod": operator.mod, "floordiv": operator.floordiv}[function]
    second = other.operand() if isinstance(other, Number) else other
    return Number(value(one.value, other.value if isinstance(other, Number) else other), function, (one.operand(), second), one.ask)


__all__ = ["of_parts"]
