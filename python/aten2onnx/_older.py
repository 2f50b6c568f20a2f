"""Mends what older versions of PyTorch do wrong while torch.export captures."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def mended() -> Iterator[None]:
    """Up to PyTorch 2.10, the shape function of an LSTM gives its states a dimension too many: it squeezes that of the batch."""
    from torch._decomp import decompositions

    original = getattr(decompositions, "one_layer_lstm", None)
    if original is None or "squeeze(1)" not in inspect.getsource(original):
        yield
        return

    def one_layer_lstm(inputs: Any, hidden: Any, *others: Any, **named: Any) -> Any:
        found, states = original(inputs, hidden, *others, **named)
        return found, tuple(state.squeeze(0) if state.dim() > known.dim() else state for state, known in zip(states, hidden))

    decompositions.one_layer_lstm = one_layer_lstm  # type: ignore[assignment]
    try:
        yield
    finally:
        decompositions.one_layer_lstm = original
