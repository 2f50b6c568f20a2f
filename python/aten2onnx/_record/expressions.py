"""Names of expressions, and walks over them that visit each number once. `a, b = b, a + b` doubles with each turn the ways to a number: a walk along all of them has no end."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from typing import Any
from weakref import WeakValueDictionary

from .numbers import Number


class Name:
    """What equal expressions have in common: a function and the names of its operands. There is one object for each, so that to compare two takes no walk."""

    __slots__ = ("__weakref__", "parts")

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.parts = parts

    @property
    def function(self) -> str:
        return str(self.parts[0])


#: The names that are in use, by their parts.
_NAMES: WeakValueDictionary[tuple[Any, ...], Name] = WeakValueDictionary()


def name_of(number: Any, leaf: Callable[[Any], Any], known: dict[int, tuple[Number, Name]] | None = None) -> Any:
    """The name of a number, where `leaf(operand)` names what is none. `known` has what was found."""
    seen = {} if known is None else known
    for one in inner_first(number, seen):
        parts = (one.function, *(seen[id(operand)][1] if isinstance(operand, Number) else leaf(operand) for operand in one.operands))
        found = _NAMES.get(parts)
        if found is None:
            found = _NAMES[parts] = Name(parts)
        seen[id(one)] = (one, found)
    return seen[id(number)][1] if isinstance(number, Number) else leaf(number)


def inner_first(number: Any, known: Container[int] = ()) -> Iterator[Number]:
    """The different numbers that a number is computed from, itself included: each after its operands. Those whose identities are `known` are left out, with what only they are computed from."""
    seen: set[int] = set()
    waiting = [(number, False)]
    while waiting:
        one, is_done = waiting.pop()
        if is_done:
            yield one
        elif isinstance(one, Number) and id(one) not in seen and id(one) not in known:
            seen.add(id(one))
            waiting.append((one, True))
            waiting += [(operand, False) for operand in reversed(one.operands)]


def is_same_number(mine: Any, other: Any, is_same_operand: Callable[[Any, Any], bool]) -> bool:
    """Whether two numbers are the same functions of operands that are the same."""
    seen: set[tuple[int, int]] = set()
    waiting = [(mine, other)]
    while waiting:
        a, b = waiting.pop()
        if not isinstance(a, Number):
            if not is_same_operand(a, b):
                return False
        elif (id(a), id(b)) not in seen:
            if not isinstance(b, Number) or a.function != b.function or len(a.operands) != len(b.operands):
                return False
            seen.add((id(a), id(b)))
            waiting += zip(a.operands, b.operands)
    return True


def zipped_number(a: Number, b: Number, joined: Callable[[Any, Any], Any]) -> Any:
    """A number with `joined(x, y)` in place of the operands that are none, in two numbers of the same functions: the first one where nothing is another. `joined` is given
    two numbers of other functions, too."""
    known: dict[tuple[int, int], Any] = {}
    waiting: list[tuple[Any, Any, bool]] = [(a, b, False)]
    while waiting:
        x, y, is_done = waiting.pop()
        key = (id(x), id(y))
        if is_done:
            known[key] = _with_operands(x, tuple(known[id(one), id(other)] for one, other in zip(x.operands, y.operands)))
        elif key not in known:
            is_like = isinstance(x, Number) and isinstance(y, Number) and x.function == y.function and len(x.operands) == len(y.operands)
            if not is_like:
                known[key] = joined(x, y)
                continue
            waiting.append((x, y, True))
            waiting += [(one, other, False) for one, other in reversed(list(zip(x.operands, y.operands)))]
    return known[id(a), id(b)]


def _with_operands(number: Number, operands: tuple[Any, ...]) -> Number:
    return number if all(a is b for a, b in zip(operands, number.operands)) else Number(number.value, number.function, operands, number.ask)


def changed_number(number: Number, change: Callable[[Any], Any], known: dict[int, tuple[Number, Any]]) -> Any:
    """A number with `change(operand)` in place of each operand: the same one where nothing is another. `known` has what was found, for one walk."""
    found = known.get(id(number))
    if found is None:
        found = known[id(number)] = (number, _with_operands(number, tuple(map(change, number.operands))))
    return found[1]


__all__ = ["Name", "changed_number", "inner_first", "is_same_number", "name_of", "zipped_number"]
