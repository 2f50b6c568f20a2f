"""Adopts those of torch.export's "Suggested fixes" that only say more about dynamic dimensions: a narrower range, or a relation of two."""

from __future__ import annotations

import re
from typing import Any

#: A fix may lead to another one.
ROUNDS = 4


def adopted(error: Exception, dynamic_shapes: Any) -> tuple[Any, list[str]] | None:
    """Returns other `dynamic_shapes` and a note for each fix, or None if the error suggests nothing or makes a dimension constant."""
    from torch.export.dynamic_shapes import refine_dynamic_shapes_from_suggested_fixes

    message = str(error)
    fixes = suggested(message)
    if not fixes or dynamic_shapes is None or any(is_constant(value) for value in fixes.values()):
        return None
    try:
        refined = refine_dynamic_shapes_from_suggested_fixes(message, dynamic_shapes)
    except Exception:  # noqa: BLE001  # PyTorch cannot apply its own suggestion, such as one for a dimension without a name.
        return None
    return refined, [_note(name, value) for name, value in fixes.items() if not name.startswith("_")]


def suggested(message: str) -> dict[str, str]:
    """Returns the fixes in a message of torch.export by the name of the dimension: {"h": "Dim('h', min=3)", "g": "h + 1"}."""
    _, _, rest = message.partition("Suggested fixes:\n")
    fixes = {}
    for line in rest.splitlines():
        match = re.match(r"\s+(\w+) = (.+)", line)
        if match is None:
            break
        fixes[match[1]] = match[2].strip()
    return fixes


def is_constant(value: str) -> bool:
    """Whether a fix makes a dimension constant, which would not be what the user asked for."""
    return re.fullmatch(r"-?\d+", value) is not None or "None" in value


def _note(name: str, value: str) -> str:
    limits = re.findall(r"\b(min|max)=(\w+)", value) if value.startswith("Dim(") else []
    if not limits:
        return f"The dimension `{name}` is always `{value}`: the model allows no other sizes."
    words = {"min": "at least", "max": "at most"}
    text = " and ".join(f"{words[side]} {limit}" for side, limit in limits if limit != "oo")
    return f"The dimension `{name}` is {text}: the model allows no other sizes."
