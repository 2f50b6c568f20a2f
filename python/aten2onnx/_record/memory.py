"""Collections of unused objects while a model is captured: each would go through all objects of the process, which takes longer than a run of many models."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def few_collections() -> Iterator[None]:
    """While the block runs, only new objects are looked through, and only where `collect_new` is called."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def collect_new() -> None:
    """Frees what a run has left behind in cycles, if collections wait for that."""
    if not gc.isenabled():
        gc.collect(1)


__all__ = ["collect_new", "few_collections"]
