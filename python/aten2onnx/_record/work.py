"""Estimates what a run costs, from the recording of another one: runs at other sizes that would take long are without elements.

The estimate is of sizes alone, so that an export is the same on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from .references import values_in
from .runs import Run
from .tensors import Value

#: So many multiplications take about 0.1 s on one core.
_MULTIPLICATIONS = 2_000_000_000
#: So many elements of results take about 0.1 s to write.
_ELEMENTS = 50_000_000
#: The bytes of a result from which on another run may need more memory than the first.
_BYTES = 16 << 20
#: Operators whose results are sums over the last dimension of their first argument.
_PRODUCTS = ("mm", "bmm", "addmm", "baddbmm", "matmul", "einsum", "scaled_dot_product_attention", "multi_head_attention_forward")


#: The time of a call without elements, as so many multiplications and so many elements.
_CALL = (4_000_000, 100_000)


def is_long(first: Run, sizes: Mapping[str, int]) -> bool:
    """Whether a run at other sizes is likely to take long, or more memory."""
    work = _work(first, sizes)
    return work.multiplications > _MULTIPLICATIONS or work.elements > _ELEMENTS or work.largest > _BYTES


def is_heavy(first: Run, sizes: Mapping[str, int]) -> bool:
    """Whether a run at other sizes is likely to take longer than one without elements, or more memory than the first."""
    work, calls = _work(first, sizes), len(first.recorder.calls)
    return work.multiplications > calls * _CALL[0] or work.elements > calls * _CALL[1] or work.largest > _BYTES


class _Work(NamedTuple):
    """What a run costs: multiplications, elements of results, and the bytes of the largest result."""

    multiplications: float
    elements: float
    largest: float


def _work(first: Run, sizes: Mapping[str, int]) -> _Work:
    growth = max(1.0, math.prod(sizes[symbol] / max(1, size) for symbol, size in first.sizes.items() if symbol in sizes))
    multiplications = elements = largest = 0
    for call in first.recorder.calls:
        made = [value for value in values_in(call.results) if value.device is not None]
        count = sum(math.prod(value.shape) for value in made)
        elements += count
        multiplications += count * _depth(call)
        largest = max([largest, *(math.prod(value.shape) * value.dtype.itemsize for value in made)])
    return _Work(multiplications * growth, elements * growth, largest * growth)


def _depth(call: Any) -> int:
    """How many products an element of the result is the sum of."""
    arguments = [arg for arg in call.args if isinstance(arg, Value)]
    name = getattr(call.function, "_schema", call.function).name
    if (name if isinstance(name, str) else name()).rpartition("::")[2] in _PRODUCTS:
        return int(arguments[0].shape[-1]) if arguments and arguments[0].shape else 1
    weights = [arg for arg in arguments[1:] if arg.source is not None and arg.source[0] == "weight" and len(arg.shape) > 1]
    return math.prod(weights[0].shape[1:]) if weights else 1


__all__ = ["is_heavy", "is_long"]
