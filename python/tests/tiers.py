"""Which cases run: some of them, or with `MODELS=all`, as in the slow tier, all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import pytest

IS_ALL = os.environ.get("MODELS") == "all"
#: Marks a test whose patterns smaller ones have, too.
slow = pytest.mark.skipif(not IS_ALL, reason="takes long: `MODELS=all` runs it")


def one_in(count: int, cases: Sequence[Any], first: int = 0) -> Sequence[Any]:
    """One of so many cases of a long series, from the first one on; or all of them."""
    return cases if IS_ALL else cases[first::count]


def by_turns(ones: Sequence[Any], others: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Each of the ones beside one of the others, by turns, so that each of these is beside some; or beside all."""
    return [(one, other) for number, one in enumerate(ones) for other in (others if IS_ALL else (others[number % len(others)],))]
