"""Text of a number that finds something by its name, in lowered code: `self.heads[str(k)]`, `self.heads[f"head{k}"]`, `getattr(self, f"layer{k}")`. What it may find is
chosen by the number, as an element of a list is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch

from .numbers import number_of, plain
from .picked import picked_of
from .recorder import Recorder
from .tensors import Tracked

#: What stands in a text in place of its number.
_HOLE = "\0"
#: Of more names than this none is chosen.
_MOST = 64


class _Hole:
    """Something whose text, in any format, is known."""

    def __str__(self) -> str:
        return _HOLE

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return _HOLE


def at_text(structure: Any, container: Any, text: Callable[..., str], *parts: Any) -> Any:
    """`container[text]`, where the text has these parts."""
    find = container.__getitem__
    names = list(container) if isinstance(container, (Mapping, torch.nn.ModuleDict, torch.nn.ParameterDict)) else []
    return _found(structure, find, names, text, parts)


def attribute_at_text(structure: Any, owner: Any, text: Callable[..., str], *parts: Any) -> Any:
    """`getattr(owner, text)`."""
    return _found(structure, partial(getattr, owner), dir(owner), text, parts)


def _found(structure: Any, find: Callable[[str], Any], names: list[Any], text: Callable[..., str], parts: tuple[Any, ...]) -> Any:
    """What a text finds among names."""
    parts = tuple(part.item() if _is_element(part) else part for part in parts)
    numbers = [place for place, part in enumerate(parts) if number_of(part) is not None and not structure.turns._is_static(number_of(part))]
    if not numbers:
        return find(text(*parts))
    place = numbers[0]
    now = text(*map(plain, parts))
    if structure.dry:
        return find(now)
    choices = _choices(names, text, parts, place) if len(numbers) == 1 else {}
    if now not in choices or len(choices) > _MOST:
        return find(text(*parts))
    tests: list[Callable[[], Any]] = [partial(lambda value: parts[place] == value, value) for value in choices.values()]
    return picked_of(structure, [find(name) for name in choices], tests)


def _is_element(part: Any) -> bool:
    recorder = Recorder.current
    return isinstance(part, Tracked) and part.numel() == 1 and recorder is not None and not recorder.is_fixed(part)


def _choices(names: list[Any], text: Callable[..., str], parts: tuple[Any, ...], place: int) -> dict[str, int]:
    """Names that are the text for a whole number, and these numbers."""
    if type(plain(parts[place])) is not int:
        return {}
    with_ = lambda value: text(*map(plain, parts[:place]), value, *map(plain, parts[place + 1 :]))  # noqa: E731
    ends = with_(_Hole()).split(_HOLE)
    if len(ends) != 2:
        return {}
    found: dict[str, int] = {}
    for name in names:
        inner = name[len(ends[0]) : len(name) - len(ends[1])] if isinstance(name, str) and name.startswith(ends[0]) and name.endswith(ends[1]) else ""
        if inner.lstrip("-").isdecimal() and with_(int(inner)) == name:
            found[name] = int(inner)
    return found


__all__ = ["at_text", "attribute_at_text"]
