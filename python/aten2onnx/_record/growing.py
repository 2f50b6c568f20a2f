"""Whole numbers that the turns of a loop make larger and larger: Python's have as many bits as they take, and those of a file have 64."""

from __future__ import annotations

from typing import Any

from .branches import If, Item, Rolled
from .expressions import inner_first
from .numbers import Number, plain
from .tensors import Value

#: How a number follows from what a loop carries: not at all, as a sum of one of them and others, or as a product or a sum of several.
_NOT, _LINEAR, _GROWS = range(3)

_PRODUCTS = frozenset(("mul", "lshift", "pow"))
_SUMS = frozenset(("add", "sub"))
_CHOICES = frozenset(("sym_max", "sym_min", "neg", "abs", "pos", "floordiv", "sym_ite", "or_", "xor"))


def grows(loop: Rolled) -> bool:
    """Whether turns multiply a whole number that the loop carries, or add several to one another. What a turn takes the remainder of has an end."""
    whole = [one for one in loop.carried if one.param.device is None and one.param.dtype is int]
    known = {one.param.key: _LINEAR for one in whole}
    if not whole:
        return False
    _note(loop.items, known)
    return any(_of(one.next, known) == _GROWS for one in whole)


def _note(items: list[Item], known: dict[int, int]) -> None:
    """Notes how the results of branches and loops follow."""
    for item in items:
        if isinstance(item, If):
            _note(item.yes, known)
            _note(item.no, known)
            known.update({value.key: max(_of(yes, known), _of(no, known)) for value, yes, no in item.results})
        if isinstance(item, Rolled):
            known.update({one.param.key: _of(one.init, known) for one in item.carried})
            _note(item.items, known)
            known.update({one.result.key: max(_of(one.init, known), _of(one.next, known)) for one in item.carried})


def _of(reference: Any, known: dict[int, int]) -> int:
    if not isinstance(reference, Number):
        return known.get(reference.key, _NOT) if isinstance(reference, Value) else _NOT
    found: dict[int, int] = {}
    for number in inner_first(reference):
        found[id(number)] = _of_function(number, [found.get(id(operand), _NOT) for operand in number.operands], known)
    return found[id(reference)]


def _of_function(number: Number, found: list[int], known: dict[int, int]) -> int:
    """How a number follows, by how its operands do."""
    if number.function in ("item", "size"):
        return known.get(number.operands[0].key, _NOT) if number.function == "item" else _NOT
    most = max(found, default=_NOT)
    if number.function in _PRODUCTS:
        is_same = number.function == "mul" and any(plain(operand) in (1, -1, 0) and not isinstance(operand, Number) for operand in number.operands)
        return most if is_same or most == _NOT else _GROWS
    if number.function in _SUMS:
        return _GROWS if found.count(_NOT) == 0 else most
    return most if number.function in _CHOICES else _NOT


__all__ = ["grows"]
