"""What names stand for before and after a side of a branch or a turn of a loop: tensors, numbers and lists in them, by their places."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import FunctionType
from typing import Any

import torch

from .containers import copy_of, is_kept, is_object, is_tuple, item_at, items_of, remade, set_item
from .grown import Grown
from .long import Compound
from .numbers import number_of, plain
from .turns import NoBothSides, key_of

#: A name and the keys that lead from it to a tensor or number.
Place = tuple[Any, ...]
#: The values of names.
Values = dict[str, Any]


class _Undefined:
    """What a name stands for that no statement has assigned yet."""

    def __repr__(self) -> str:
        return "undefined"


UNDEFINED = _Undefined()


class Poison:
    """What a name stands for that is something else on both sides of a branch, which no value of a file is. Whatever reads it ends the export with the line."""

    def __init__(self, line: Any, what: str, help: str | None = None) -> None:
        object.__setattr__(self, "_why", (line, what, help))

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        from torch.utils import _pytree as pytree

        raise next(refuse(leaf) for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, cls))


def refuse(poison: Poison) -> NoBothSides:
    line, what, help = object.__getattribute__(poison, "_why")
    return NoBothSides(f"{what}, and is read after it", line, help)


def _reads(self: Poison, *_: Any, **__: Any) -> Any:
    raise refuse(self)


for _name in ("getattr", "setattr", "getitem", "setitem", "call", "bool", "iter", "len", "contains", "index", "int", "float", "neg", "eq", "ne", "lt", "le", "gt", "ge", "enter"):
    setattr(Poison, f"__{_name}__", _reads)
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or"):
    setattr(Poison, f"__{_name}__", _reads)
    setattr(Poison, f"__r{_name}__", _reads)
Poison.__hash__ = object.__hash__  # type: ignore[method-assign]


def is_number(value: Any) -> bool:
    return type(value) in (bool, int, float) or number_of(value) is not None


def is_number_of(value: Any, tensor: Any) -> bool:
    """Whether a number of Python's promotes others as a tensor without dimensions does, which stands for it elsewhere."""
    if not isinstance(tensor, torch.Tensor) or tensor.dim() != 0 or not is_number(value):
        return False
    return type(plain(value)) in {torch.get_default_dtype(): (int, float), torch.int64: (int,), torch.bool: (bool,)}.get(tensor.dtype, ())


def is_same(one: Any, other: Any) -> bool:
    """Whether two things that a name stood for are the same."""
    if one is other:
        return True
    if isinstance(one, Poison) or isinstance(other, Poison):
        return False
    if isinstance(one, Grown) and isinstance(other, Grown):
        return is_same(one.rows, other.rows)
    if isinstance(one, torch.Tensor) or isinstance(other, torch.Tensor):
        return getattr(one, "value", one) is getattr(other, "value", other)
    if is_number(one) and is_number(other):
        a, b = number_of(one), number_of(other)
        if (a is None) != (b is None) or type(plain(one)) is not type(plain(other)):
            return False
        return key_of(a) == key_of(b) if a is not None else one == other or one != one and other != other
    if type(one) is not type(other):
        return False
    return isinstance(one, FunctionType) or (isinstance(one, (str, bytes, torch.dtype, torch.device, torch.Size, range, slice)) and bool(one == other))


def is_attribute(values: Values, name: str) -> bool:
    """Whether a name is that of an attribute of an object whose attributes have places already."""
    first, *rest = name.split(".")
    found = values.get(first, UNDEFINED)
    for key in rest:
        if is_tuple(found):
            return True
        if not is_object(found):
            return False
        found = vars(found).get(key, UNDEFINED)
    return bool(rest)


class Snapshot:
    """What names stand for at one time.

    Attributes:
        leaves: What is in lists, tuples and dictionaries, or stands for itself, by its place.
        lengths: The lengths of lists, by their places.
        containers: Lists, dictionaries and objects, by their places.
    """

    def __init__(self, values: Values) -> None:
        self.values = dict(values)
        self.leaves: dict[Place, Any] = {}
        self.lengths: dict[Place, int] = {}
        self.containers: dict[Place, Any] = {}
        self._copies: list[tuple[Any, Any]] = []
        seen: set[int] = set()
        for name, value in values.items():
            if not is_attribute(values, name):
                self._walk((name,), value, seen)

    def _walk(self, place: Place, value: Any, seen: set[int]) -> None:
        if isinstance(value, Grown):
            self.leaves[place] = value.copy()
            self._copies.append((value, value.rows))
            return
        if not is_kept(value) and not is_tuple(value) and not is_object(value):
            self.leaves[place] = value
            return
        if not is_tuple(value):
            self.containers[place] = value
            if id(value) in seen:
                return
            seen.add(id(value))
            self._copies.append((value, _contents(value)))
        if type(value) is list:
            self.lengths[place] = len(value)
        for key, item in items_of(value):
            self._walk((*place, key), item, seen)

    def restore(self, get: Callable[[], Values], set_: Callable[[Values], None]) -> None:
        """Gives names and what they lead to their values back."""
        for container, copy in self._copies:
            if isinstance(container, Grown):
                container.rows = copy
            elif isinstance(container, Compound):
                container.parts = dict(copy)
            elif type(container) is list:
                container[:] = copy
            else:
                inside = vars(container) if is_object(container) else container
                inside.clear()
                inside.update(copy)
        now = get()
        set_({name: value for name, value in self.values.items() if now.get(name, UNDEFINED) is not value and not ("." in name and value is UNDEFINED)})

    def is_container(self, place: Place) -> bool:
        """Whether there was a list, tuple or dictionary at a place."""
        return place in self.lengths or any(known[: len(place)] == place and len(known) > len(place) for known in self.leaves)

    def is_in_leaf(self, place: Place) -> bool:
        """Whether something stood here that had no parts."""
        return any(self.leaves.get(place[:length], UNDEFINED) is not UNDEFINED for length in range(1, len(place)))

    def at(self, place: Place) -> Any:
        """The value at a place, also one in what was not assigned then."""
        return self.leaves.get(place, UNDEFINED)


class Copies(dict[str, Any]):
    """Values of names with lists, tuples, dictionaries and objects of their own.

    Attributes:
        origins: What a list, dictionary or object is a copy of, by the number of the copy.
    """

    def __init__(self, values: Values) -> None:
        super().__init__()
        self.origins: dict[int, Any] = {}
        self._made: dict[int, Any] = {}
        self.update({name: self._copied(value) for name, value in values.items()})

    def _copied(self, value: Any) -> Any:
        if isinstance(value, Grown):
            return value.copy()
        if is_tuple(value):
            return remade(value, [self._copied(item) for item in value])
        if not is_kept(value) and not is_object(value):
            return value
        if id(value) not in self._made:
            made = self._made[id(value)] = copy_of(value)
            self.origins[id(made)] = value
            for key, item in items_of(value):
                set_item(made, key, self._copied(item))
        return self._made[id(value)]


def _contents(value: Any) -> Any:
    """What is in a list, dictionary or object now."""
    if isinstance(value, Compound):
        return dict(value.parts)
    return dict(vars(value)) if is_object(value) else value.copy()


def value_at(values: Values, place: Place) -> Any:
    found: Any = values[place[0]]
    for key in place[1:]:
        found = item_at(found, key)
    return found


def put_copies(values: Values, places: Iterable[Place]) -> None:
    """Puts copies of lists, dictionaries and objects in their places: other names may stand for them."""
    for place in sorted(places, key=len):
        try:
            found = value_at(values, place)
        except (KeyError, IndexError, TypeError):
            continue
        if is_kept(found) or is_object(found):
            put(values, place, copy_of(found))


def put(values: Values, place: Place, leaf: Any) -> None:
    """Puts something in a place. Lists, dictionaries and objects stay the same ones."""
    if len(place) == 1:
        values[place[0]] = leaf
        return
    inside = value_at(values, place[:-1])
    if is_tuple(inside):
        put(values, place[:-1], remade(inside, [*inside[: place[-1]], leaf, *inside[place[-1] + 1 :]]))
    else:
        set_item(inside, place[-1], leaf)


def names_of_places(places: Iterator[Place]) -> list[str]:
    return [".".join(map(str, place)) for place in places]


__all__ = ["Copies", "UNDEFINED", "Place", "Poison", "Snapshot", "Values", "is_attribute", "is_number", "is_number_of", "is_same", "put", "put_copies", "refuse", "value_at"]
