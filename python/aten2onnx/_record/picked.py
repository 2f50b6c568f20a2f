"""A module of a list that a number chooses: `self.experts[gate.argmax()](x)`. Each of them is a side of a branch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .recorder import Recorder

_GETITEM = torch.nn.ModuleList.__getitem__


class Picked:
    """One of several modules, or of their methods. A call is a branch for each of them."""

    def __init__(self, structure: Any, items: list[Any], index: Any) -> None:
        self._structure, self._items, self._index = structure, items, index

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._each(lambda item: item(*args, **kwargs))

    def __getattr__(self, name: str) -> Any:
        found = [getattr(item, name) for item in self._items]
        if all(map(callable, found)):
            return Picked(self._structure, found, self._index)
        return self._each(lambda item: getattr(item, name))

    def _each(self, function: Callable[[Any], Any], place: int = 0) -> Any:
        item, count = self._items[place], len(self._items)
        if place == count - 1:
            return function(item)
        is_chosen = self._structure.some(lambda: self._index == place, lambda: self._index == place - count)
        return self._structure.chosen(is_chosen, lambda: function(item), lambda: self._each(function, place + 1))


def module_at(modules: Any, index: Any) -> Any:
    """What `nn.ModuleList` gives for an index while code is lowered."""
    structure = Recorder.current.structure if Recorder.current is not None else None
    if isinstance(index, torch.Tensor) and structure is not None and index.numel() == 1:
        index = index.item()
    if not isinstance(index, torch.SymInt) or structure is None or len(modules) == 0 or structure.turns.roll is not None:  # turns with weights of their own stay unrolled
        return _GETITEM(modules, index)
    return Picked(structure, list(modules), index)


__all__ = ["Picked", "module_at"]
