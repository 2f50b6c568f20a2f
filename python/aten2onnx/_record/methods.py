"""Methods that classes have while a run is recorded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def methods_given(methods: Iterable[tuple[Any, str, Any]]) -> Iterator[None]:
    """While the block runs, classes have these methods by name; afterwards those that they had before."""
    before = []
    try:
        for kind, name, method in methods:
            before.append((kind, name, vars(kind).get(name)))
            setattr(kind, name, method)
        yield
    finally:
        for kind, name, method in reversed(before):
            if method is None:
                delattr(kind, name)
            else:
                setattr(kind, name, method)


__all__ = ["methods_given"]
