"""Walks over what calls are given and what they return."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from .numbers import Number, number_of
from .tensors import Value


def sizes_by_name(mine: Any, theirs: Any, into: dict[str, list[int]]) -> None:
    if isinstance(mine, Value):
        if mine.node is not None and isinstance(theirs, Value) and mine.device is not None:
            into[mine.node.name] = list(theirs.shape)
    elif isinstance(mine, (list, tuple)) and isinstance(theirs, (list, tuple)):
        for a, b in zip(mine, theirs):
            sizes_by_name(a, b, into)


def values_in(results: Any) -> Iterator[Value]:
    if isinstance(results, Value):
        yield results
    elif isinstance(results, (list, tuple)):
        for item in results:
            yield from values_in(item)


def is_kept(function: Any) -> bool:
    """Whether a call counts although nobody reads its results: it writes, or only checks."""
    return not isinstance(function, torch._ops.HigherOrderOperator) and (function._schema.is_mutable or not function._schema.returns)


def note_reads(reference: Any, read: set[int]) -> None:
    """Notes the values that an argument reads."""
    if isinstance(reference, Value):
        read.add(reference.key)
    elif isinstance(reference, Number):
        for operand in reference.operands:
            note_reads(operand, read)
    elif isinstance(reference, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        note_reads(number_of(reference), read)
    elif isinstance(reference, (list, tuple)):
        for item in reference:
            note_reads(item, read)
    elif isinstance(reference, dict):
        for item in reference.values():
            note_reads(item, read)


def is_read(results: Any, read: set[int]) -> bool:
    if isinstance(results, Value):
        return results.key in read
    return isinstance(results, (list, tuple)) and any(is_read(item, read) for item in results)


def note_sources(reference: Any, seen: dict[int, Value]) -> None:
    """Finds the values that no call makes."""
    if isinstance(reference, Value):
        if reference.source is not None and reference.source[0] != "input":
            seen.setdefault(reference.key, reference)
    elif isinstance(reference, Number):
        for operand in reference.operands:
            note_sources(operand, seen)
    elif isinstance(reference, (list, tuple)):
        for item in reference:
            note_sources(item, seen)
    elif isinstance(reference, dict):
        for item in reference.values():
            note_sources(item, seen)
