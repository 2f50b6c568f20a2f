"""Attributes of modules that a side of a branch or a turn of a loop changes in a function that it calls: `self.step(row)`, or a layer that keeps what it has seen.

The code of a branch or loop tells only which attributes it changes itself. Others are noted while it runs. If the program is not that of the model, it is recorded again,
with these attributes among what each branch and loop reads and writes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from .containers import DICTIONARIES, is_object
from .deques import Deque
from .states import UNDEFINED, Values

#: Under these keys, what all runs share has the attributes that were seen to change, and those that are tracked.
_SEEN, _TRACKED = ("attributes", "seen"), ("attributes", "tracked")
#: What stands between a module and its attribute in a name. No name of Python has it.
_OF = ":"

Get = Callable[[], Values]
Set = Callable[[Values], None]


class Attributes:
    """The attributes of the modules of a model."""

    def __init__(self, model: torch.nn.Module, shared: dict[Any, Any]) -> None:
        self.modules = dict(model.named_modules())
        self.shared = shared
        self.tracked = {name: self._place(name) for name in shared.get(_TRACKED, ())}

    def _place(self, name: str) -> tuple[Any, str]:
        path, _, attribute = name.partition(_OF)
        return self.modules[path], attribute

    def give_deques(self) -> None:
        """Puts deques of this package in the place of those in attributes."""
        for module in self.modules.values():
            for name, value in list(vars(module).items()):
                if type(value) is deque:
                    setattr(module, name, Deque(list(value), value.maxlen))

    def now(self) -> dict[tuple[int, str], Any]:
        """What all attributes are, by their module and name."""
        return {(id(module), name): (value, _inside(value)) for module in self.modules.values() for name, value in vars(module).items() if name not in _OWN}

    def note(self, before: dict[tuple[int, str], Any], known: Values) -> None:
        """Notes the attributes that are others than before, and that no name in `known` stands for."""
        stated = _stated(known)
        paths = {id(module): path for path, module in self.modules.items()}
        for key, (value, inside) in self.now().items():
            old = before.get(key)
            if (old is None or old[0] is not value or old[1] != inside) and key not in stated:
                self.shared.setdefault(_SEEN, {}).setdefault(f"{paths[key[0]]}{_OF}{key[1]}")

    def with_tracked(self, get: Get, set_: Set) -> tuple[Get, Set]:
        """What reads and writes names, and the attributes that are tracked besides."""
        if not self.tracked:
            return get, set_
        return partial(self._get, get), partial(self._set, set_)

    def _get(self, get: Get) -> Values:
        values = get()
        stated = _stated(values)
        found = {name: vars(module).get(attribute, UNDEFINED) for name, (module, attribute) in self.tracked.items() if (id(module), attribute) not in stated}
        return {**values, **found}

    def _set(self, set_: Set, values: Values) -> None:
        set_({name: value for name, value in values.items() if name not in self.tracked})
        for name, (module, attribute) in self.tracked.items():
            if name in values and values[name] is not UNDEFINED:
                vars(module)[attribute] = values[name]


#: What PyTorch keeps in each module.
_OWN = frozenset(vars(torch.nn.Module())) - {"_buffers", "training"}


def _stated(values: Values) -> set[tuple[int, str]]:
    """The attributes that names stand for, by their owner and name."""
    return {(id(values.get(name.rpartition(".")[0])), name.rpartition(".")[2]) for name in values}


def _inside(value: Any) -> Any:
    """The elements of lists, dictionaries and objects, by their identities."""
    if isinstance(value, Deque):
        value = value.items
    if type(value) is list:
        return [id(item) for item in value]
    if type(value) in DICTIONARIES:
        return [id(item) for item in value.values()]
    return [id(item) for item in vars(value).values()] if is_object(value) else None


def track_seen(shared: dict[Any, Any]) -> None:
    """Tracks the attributes that were seen to change."""
    new = [name for name in shared.get(_SEEN, ()) if name not in shared.get(_TRACKED, ())]
    if new:
        shared[_TRACKED] = [*shared.get(_TRACKED, ()), *new]


__all__ = ["Attributes", "track_seen"]
