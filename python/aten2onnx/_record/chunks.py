"""Into how many pieces `chunk` takes a tensor apart: not always as many as it is asked for, as 5 rows in 4 chunks of at most 2 are only 3."""

from __future__ import annotations

from typing import Any

import torch

aten = torch.ops.aten
#: The operators.
CHUNKS = (aten.chunk.default, aten.unsafe_chunk.default)


def length_of_chunk(whole: Any, chunks: Any) -> Any:
    """The size of all chunks but the last."""
    return torch.sym_max((whole + chunks - 1) // chunks, 1)


def count_of_chunks(whole: Any, chunks: Any) -> Any:
    """The number of chunks, in a form whose bounds are seen from those of the sizes: it is what is asked for from `chunks * (chunks - 1)` on, at its multiples, and at 0."""
    length = length_of_chunk(whole, chunks)
    found = torch.sym_max((whole + length - 1) // length, chunks * (1 - whole % chunks))
    if type(chunks) is int and chunks > 1:
        found = torch.sym_max(found, whole // (chunks - 1))
    return torch.sym_min(found, chunks)


def is_only_at_one(chunks: Any) -> bool:
    """Whether it is known that there are less chunks than asked for where the size is 1, and nowhere else."""
    return type(chunks) is int and chunks == 2


__all__ = ["CHUNKS", "count_of_chunks", "is_only_at_one", "length_of_chunk"]
