"""Adopts those of torch.export's "Suggested fixes" that only say more about dynamic dimensions: a narrower range, or a relation of two."""

from __future__ import annotations

import re
from typing import Any

from . import _shapes

#: A fix may lead to another one.
ROUNDS = 4


def adopted(error: Exception, dynamic_shapes: Any) -> tuple[Any, list[str]] | None:
    """Returns other `dynamic_shapes` and a note for each fix, or None if the error suggests nothing or makes a dimension constant."""
    fixes = suggested(str(error))
    if not fixes or dynamic_shapes is None or any(is_constant(value) for value in fixes.values()):
        return None
    sizes = [size for axes in _shapes.axes_of(dynamic_shapes) for size in _shapes.sizes(axes)]
    dims = {size.__name__: size for size in sizes if hasattr(size, "__name__") and size.__name__ not in fixes}
    refined = _shapes.replaced(dynamic_shapes, lambda size: _fixed(size, fixes, dims))
    return refined, [_note(name, value) for name, value in fixes.items() if not name.startswith("_")]


def _fixed(size: Any, fixes: dict[str, str], dims: dict[str, Any]) -> Any:
    """The dimension after the fixes."""
    from ._shapes import dimension_type

    name, root = getattr(size, "__name__", None), getattr(size, "root", None)
    if not isinstance(size, dimension_type()):
        return size
    if name in fixes:
        return _dim(name, fixes, dims)
    if root is not None and root.__name__ in fixes:  # such as 2*h, if h has a narrower range
        return size.fn(_dim(root.__name__, fixes, dims))  # type: ignore[attr-defined]
    return size


def _dim(name: str, fixes: dict[str, str], dims: dict[str, Any]) -> Any:
    """The dimension with a name. Equal names are the same object, because torch.export demands it."""
    from torch.export import Dim

    if name in dims:
        return dims[name]
    relation = re.fullmatch(r"(?:(\d+)\*)?(\w+)(?: ([+-]) (\d+))?", fixes.get(name, name))
    limits = {side: int(limit) for side, limit in re.findall(r"\b(min|max)=(\d+)", fixes.get(name, ""))}
    if relation is None or relation[2] == name:
        dims[name] = Dim(name, **limits)
        return dims[name]
    made = _dim(relation[2], fixes, dims)
    made = int(relation[1]) * made if relation[1] else made
    if relation[4]:
        made = made + int(relation[3] + relation[4])
    dims[name] = made
    return made


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
