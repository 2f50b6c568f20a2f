"""Finds lists whose elements the turns of a loop move: a window of zeros that `append` and `pop(0)` fill.

A run with fewer turns than the window is long reads the zeros of its begin in all turns, as if they stayed.
"""

from __future__ import annotations

from typing import Any

from .alike import Unalike
from .loops import Loop


def check_windows(loop: Loop) -> None:
    """Compares the lists of two turns after the first.

    Raises:
        Unalike: A turn has changed elements of a list in which equal ones stand beside one another.
    """
    for before, now in zip(loop.states[1:-1], loop.states[2:]):
        lists, after = _lists_of(before), _lists_of(now)
        for name, elements in lists.items():
            others = after.get(name, [])
            is_changed = len(elements) == len(others) and not all(map(_is_same, elements, others))
            if is_changed and any(map(_is_same, elements, elements[1:])):
                raise Unalike("they move the elements of a list", loop.line)


def _lists_of(state: dict[Any, Any]) -> dict[Any, list[Any]]:
    """The elements of lists, by their names."""
    found: dict[Any, list[Any]] = {}
    for name, value in state.items():
        if type(name[-1]) is int and name[-1] >= 0 and len(name) > 2:
            found.setdefault(name[:-1], []).append(value)
    return found


def _is_same(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and type(one) in (bool, int, float) and one == other)


__all__ = ["check_windows"]
