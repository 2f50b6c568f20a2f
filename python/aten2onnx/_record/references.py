"""Walks over what calls are given and what they return."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from .numbers import Number, number_of, numbers_in
from .tensors import Value


def sizes_by_name(mine: Any, theirs: Any, into: dict[str, list[int]]) -> None:
    if isinstance(mine, Value):
        if mine.node is not None and isinstance(theirs, Value) and mine.device is not None and mine.is_seen and theirs.is_seen:
            into[mine.node.name] = list(theirs.shape)
    elif isinstance(mine, (list, tuple)) and isinstance(theirs, (list, tuple)):
        for a, b in zip(mine, theirs):
            sizes_by_name(a, b, into)


def values_in(reference: Any) -> Iterator[Value]:
    """The values in what a call is given or returns, those that its numbers are computed from included."""
    if isinstance(reference, Value):
        yield reference
    elif isinstance(reference, Number):
        yield from (operand for one in numbers_in(reference) for operand in one.operands if isinstance(operand, Value))
    elif isinstance(reference, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        yield from values_in(number_of(reference))
    elif isinstance(reference, (list, tuple)):
        for item in reference:
            yield from values_in(item)
    elif isinstance(reference, dict):
        yield from values_in(list(reference.values()))


def is_kept(function: Any) -> bool:
    """Whether a call counts although nobody reads its results: it writes, or only checks."""
    return not isinstance(function, torch._ops.HigherOrderOperator) and (function._schema.is_mutable or not function._schema.returns)


def note_reads(reference: Any, read: set[int]) -> None:
    """Notes the values that an argument reads."""
    read.update(value.key for value in values_in(reference))


def is_read(results: Any, read: set[int]) -> bool:
    return any(value.key in read for value in values_in(results))


def note_sources(reference: Any, seen: dict[int, Value]) -> None:
    """Finds the values that no call makes."""
    for value in values_in(reference):
        if value.source is not None and value.source[0] != "input":
            seen.setdefault(value.key, value)
