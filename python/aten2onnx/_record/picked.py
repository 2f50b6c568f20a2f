"""What a number chooses of a list: a module (`self.experts[gate.argmax()](x)`), a function, a tensor or a number. Each of them is a side of a branch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from .numbers import number_of
from .recorder import Recorder

#: Of more elements than this none is chosen.
_MOST = 64
_GETITEM = torch.nn.ModuleList.__getitem__


class Picked:
    """One of several modules, functions, or methods of them. A call is a branch for each of them."""

    def __init__(self, structure: Any, items: list[Any], tests: list[Callable[[], Any]]) -> None:
        self._structure, self._items, self._tests = structure, items, tests

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._each(lambda item: item(*args, **kwargs))

    def __getattr__(self, name: str) -> Any:
        found = [getattr(item, name) for item in self._items]
        if all(map(callable, found)):
            return Picked(self._structure, found, self._tests)
        return self._each(lambda item: getattr(item, name))

    def _each(self, function: Callable[[Any], Any]) -> Any:
        return self._among(function, 0, len(self._items))

    def _among(self, function: Callable[[Any], Any], begin: int, end: int) -> Any:
        """What a function gives for the chosen one of these places. Half of them are on each side of a branch: no reader takes branches that are nested in one another
        as often as a list is long."""
        if end - begin == 1:
            return function(self._items[begin])
        middle = (begin + end) // 2
        test = self._structure.some(*self._tests[begin:middle])
        return self._structure.chosen(test, lambda: self._among(function, begin, middle), lambda: self._among(function, middle, end))


def _tests_of(structure: Any, index: Any, count: int) -> list[Callable[[], Any]]:
    """Whether an index is that of a place, for each of them."""
    return [partial(structure.some, lambda place=place: index == place, lambda place=place: index == place - count) for place in range(count)]  # type: ignore[misc]


def item_of(structure: Any, container: Any, index: Any) -> Any:
    """`container[index]` in lowered code."""
    if type(container) not in (list, tuple, dict) or not 0 < len(container) <= _MOST:
        return container[index]
    if isinstance(index, torch.Tensor) and index.numel() == 1 and not structure.recorder.is_fixed(index):
        index = index.item()
    number = number_of(index)
    if number is None or structure.dry or structure.turns._is_static(number):
        return container[index]
    tests: list[Callable[[], Any]]
    if type(container) is dict:
        if not all(type(key) in (int, bool) for key in container):
            return container[index]
        items, tests = list(container.values()), [partial(lambda key: index == key, key) for key in container]
    else:
        items, tests = list(container), _tests_of(structure, index, len(container))
    return picked_of(structure, items, tests)


def picked_of(structure: Any, items: list[Any], tests: list[Callable[[], Any]]) -> Any:
    """The one of several things whose test holds."""
    found = Picked(structure, items, tests)
    return found if all(map(callable, items)) else found._each(lambda item: item)


def module_at(modules: Any, index: Any) -> Any:
    """What `nn.ModuleList` gives for an index while code is lowered."""
    structure = Recorder.current.structure if Recorder.current is not None else None
    if isinstance(index, torch.Tensor) and structure is not None and index.numel() == 1:
        index = index.item()
    if not isinstance(index, torch.SymInt) or structure is None or len(modules) == 0 or structure.turns.roll is not None:  # turns with weights of their own stay unrolled
        return _GETITEM(modules, index)
    return Picked(structure, list(modules), _tests_of(structure, index, len(modules)))


__all__ = ["Picked", "item_of", "module_at", "picked_of"]
