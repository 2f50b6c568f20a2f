"""Sums that numbers are: `n - 1 - t` is once n, -1 times t, and -1."""

from __future__ import annotations

from typing import Any

from .expressions import Name
from .numbers import Number, plain
from .turns import key_of

#: How many times each number is in a sum. A plain number is so many times 1.
Sum = dict[Any, int]
ONE = "one"


def sum_of(number: Any, known: frozenset[Any] = frozenset()) -> Sum:
    """What a number is the sum of. `known` are numbers `max(a, 0)` that are `a`."""
    if not isinstance(number, Number):
        return {ONE: int(number)} if number else {}
    a, b = (*number.operands, None, None)[:2]
    if number.function in ("add", "sub"):
        return difference(sum_of(a, known), times(sum_of(b, known), -1 if number.function == "add" else 1))
    if number.function == "neg":
        return times(sum_of(a, known), -1)
    if number.function == "sym_max" and b == 0 and (key_of(number) in known or is_size(sum_of(a, known))):
        return sum_of(a, known)
    if number.function == "mul" and type(plain(b)) is int and not isinstance(b, Number):
        return times(sum_of(a, known), b)
    if number.function == "mul" and type(plain(a)) is int and not isinstance(a, Number):
        return times(sum_of(b, known), a)
    return {key_of(number.operands[0]) if number.function == "item" else key_of(number): 1}


def is_size(summed: Sum) -> bool:
    """Whether a sum is a size, and so not less than 0."""
    (key, count), *more = (*summed.items(), (None, 0))
    return count == 1 and len(more) == 1 and isinstance(key, Name) and key.function == "size"


def times(summed: Sum, factor: int) -> Sum:
    return {key: factor * count for key, count in summed.items() if factor}


def difference(one: Sum, other: Sum) -> Sum:
    found = {key: one.get(key, 0) - other.get(key, 0) for key in (*one, *other)}
    return {key: count for key, count in found.items() if count}


def plain_sum(summed: Sum) -> int | None:
    """The plain number that a sum is; None if it is none."""
    return summed.get(ONE, 0) if summed.keys() <= {ONE} else None


__all__ = ["ONE", "Sum", "difference", "plain_sum", "sum_of"]
