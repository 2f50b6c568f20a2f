"""Functions of `bisect` and `operator` with numbers that remember: where a number belongs in a list that is in order, and the whole number that one is."""

from __future__ import annotations

import bisect
import operator
from collections.abc import Callable
from typing import Any

import torch

from .numbers import number_of, symbolic

#: Longer lists are asked by Python's own function, which is a branch for each answer.
_MOST = 256


def _place(compare: Callable[[Any, Any], Any], real: Callable[..., int]) -> Callable[..., Any]:
    """A function that counts the elements before a number."""

    def found(values: Any, number: Any, lo: int = 0, hi: int | None = None, *, key: Any = None) -> Any:
        is_known = type(values) in (list, tuple) and all(type(value) in (int, float) for value in values)
        if number_of(number) is None or not is_known or key is not None or type(lo) is not int or not (hi is None or type(hi) is int) or len(values) > _MOST:
            return real(values, number, lo, hi, key=key)
        count: Any = lo
        for value in values[lo:hi]:
            is_before = number_of(compare(value, number))
            count = count + (symbolic(is_before.sym_ite(1, 0)) if is_before is not None else int(compare(value, number)))
        return count

    return found


def _index(value: Any) -> Any:
    return value if isinstance(value, torch.SymInt) else operator.index(value)


_right = _place(operator.le, bisect.bisect_right)

#: What a model sees in place of functions of these modules.
OF_MODULES: dict[str, dict[str, Any]] = {
    "bisect": {"bisect": _right, "bisect_right": _right, "bisect_left": _place(operator.lt, bisect.bisect_left)},
    "operator": {"index": _index},
}

__all__ = ["OF_MODULES"]
