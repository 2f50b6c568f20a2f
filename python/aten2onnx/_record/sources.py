"""What the text of a file says about the code in it. Each file is read once: a model may take functions from hundreds of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=4)
def text_of(file: str) -> str:
    """The text of a file of Python; empty for a compiled one, and where it cannot be read."""
    if not file.endswith((".py", ".pyw")):
        return ""
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


@lru_cache(maxsize=8192)
def has_line(file: str, pattern: re.Pattern[str]) -> bool:
    """Whether a line of a file has the pattern in it."""
    text = text_of(file)
    return pattern.search(text) is not None and any(map(pattern.search, text.splitlines()))


@lru_cache(maxsize=4096)
def _without(file: str, names: tuple[str, ...]) -> frozenset[str]:
    text = text_of(file)
    if not text or any(call in text for call in ("exec(", "eval(")):
        return frozenset()
    return frozenset(name for name in names if name not in text)


def names_without_use(file: str | None, names: Iterable[str]) -> frozenset[str]:
    """Those of some names that the code of a file cannot use, because its text does not have them and it runs no other text."""
    return frozenset() if file is None else _without(file, tuple(names))
