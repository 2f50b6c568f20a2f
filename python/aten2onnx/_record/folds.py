"""Python's functions that walk over many elements with a function: `map`, `filter`, `max(key=)`, `sorted(key=)`, `reduce` and those of itertools, in lowered code.

Each is a loop, or branches where its elements are known one by one. In code that is not lowered they stay Python's own.
"""

from __future__ import annotations

import bisect
import builtins
import collections
import functools
import itertools
import operator
from collections.abc import Callable, ItemsView, KeysView, ValuesView
from functools import partial
from typing import Any

import torch

from . import found
from .deques import deque_, items_of
from .grown import Grown, pad_sequence
from .long import Long
from .loops import Walkable
from .numbers import number_of
from .recorder import Recorder
from .states import UNDEFINED
from .tensors import Tracked
from .walks import count_of_range, rows_of

#: Lists of so many elements at most are ordered by exchanging each two of them.
_MOST = 8


def _structure() -> Any:
    return Recorder.current.structure if Recorder.current is not None else None


def _walk(values: Any) -> Walkable | None:
    """What a loop of lowered code walks over; None if it is walked over as always."""
    return rows_of(values) if _structure() is not None else None


def _is_open(value: Any) -> bool:
    """Whether something may be another number at other inputs."""
    if isinstance(value, (list, tuple)):
        return any(map(_is_open, value))
    return isinstance(value, Tracked) or number_of(value) is not None


def _loop(values: Any, box: dict[str, Any], turn: Callable[[Any], None]) -> None:
    """Runs a turn for each element. What turns change is in a box."""
    _structure().walked(values, None, turn, lambda: dict(box), box.update)


def _either(test: Any, box: dict[str, Any], yes: Callable[[], None]) -> None:
    _structure().branch(test, yes, lambda: None, lambda: dict(box), box.update)


def listed(values: Any) -> Any:
    """`list(values)`."""
    walk, values = _walk(values), items_of(values)
    if isinstance(values, Long):
        return values.copy()
    if walk is None:
        return builtins.list(values)
    box: dict[str, Any] = {"out": []}
    _loop(walk, box, lambda element: box["out"].append(element))
    return box["out"]


def map_(function: Any, *values: Any) -> Any:
    walks = [_walk(one) for one in values]
    if not walks or any(walk is None for walk in walks):
        return builtins.map(function, *values)
    if len(walks) == 1:
        return _mapped(function, walks[0])
    count: Any = walks[0].count  # type: ignore[union-attr]
    for walk in walks[1:]:
        count = torch.sym_min(count, walk.count)  # type: ignore[union-attr]
    return Walkable(Recorder.current, count, lambda turn: function(*(walk.make(turn) for walk in walks)))  # type: ignore[arg-type,union-attr]


def _mapped(function: Any, walk: Any) -> Walkable:
    return Walkable(walk.recorder, walk.count, lambda turn: function(walk.make(turn)))


def filter_(function: Any, values: Any) -> Any:
    walk = _walk(values)
    if walk is None and not (_structure() is not None and isinstance(values, (list, tuple)) and _is_open(values)):
        return builtins.filter(function, values)
    box: dict[str, Any] = {"out": []}

    def turn(element: Any) -> None:
        _either(element if function is None else function(element), box, lambda: box["out"].append(element))

    _loop(values if walk is None else walk, box, turn)
    return box["out"]


# The largest, and the order.
def extreme(is_max: bool, values: Any, key: Any, default: Any) -> Any:
    """The first of the elements with the largest or smallest key; NotImplemented if Python's own function finds it."""
    walk = _walk(values)
    if walk is None:
        values = _elements(values)
        if _structure() is None or not isinstance(values, (list, tuple)) or not values:
            return NotImplemented
        keys = [element if key is None else key(element) for element in values]
        if not any(map(_is_open, keys)):
            return NotImplemented
        return _first(is_max, zip(values[1:], keys[1:]), values[0], keys[0])
    of = (lambda element: element) if key is None else key
    if default is not UNDEFINED:
        return _structure().chosen(walk.count >= 1, lambda: extreme(is_max, walk, key, UNDEFINED), lambda: default)
    first = walk.make(0)
    rest = Walkable(walk.recorder, walk.count - 1, lambda turn: walk.make(turn + 1))
    return _first(is_max, _mapped(lambda element: (element, of(element)), rest), first, of(first))


def _elements(values: Any) -> Any:
    """The keys, values or items of a dictionary as a list."""
    return builtins.list(values) if isinstance(values, (dict, KeysView, ValuesView, ItemsView)) else values


def _first(is_max: bool, pairs: Any, first: Any, key: Any) -> Any:
    box = {"best": first, "key": key}

    def turn(pair: Any) -> None:
        test = is_greater(pair[1], box["key"]) if is_max else is_greater(box["key"], pair[1])
        _either(test, box, lambda: box.update(best=pair[0], key=pair[1]))

    _loop(pairs, box, turn)
    return box["best"]


def is_greater(one: Any, other: Any) -> Any:
    """Whether a key comes after another one."""
    if not (isinstance(one, tuple) and isinstance(other, tuple) and one and other):
        return one > other
    rest = partial(is_greater, one[1:], other[1:])
    if len(one) == len(other) == 1:
        return is_greater(one[0], other[0])
    structure = _structure()
    return structure.some(lambda: is_greater(one[0], other[0]), lambda: structure.every(lambda: one[0] == other[0], rest))


def sorted_(values: Any, key: Any, reverse: bool) -> Any:
    """The elements in the order of their keys; NotImplemented if Python's own function finds it."""
    walk = _walk(values)
    if walk is not None:
        return _in_order(walk, key, reverse)
    values = _elements(values)
    if _structure() is None or not isinstance(values, (list, tuple)) or not 1 < len(values) <= _MOST:
        return NotImplemented
    keys = [element if key is None else key(element) for element in values]
    return _exchanged(builtins.list(values), keys, reverse) if any(map(_is_open, keys)) else NotImplemented


def _in_order(walk: Walkable, key: Any, reverse: bool) -> Any:
    elements = listed(walk)
    keys = elements if key is None else listed(_mapped(key, walk))
    if not isinstance(elements, Long) or not isinstance(keys, Grown):
        return NotImplemented
    order = torch.sort(keys.rows.reshape(-1), stable=True, descending=bool(reverse)).indices
    return elements.taken(order)


def _exchanged(items: list[Any], keys: list[Any], reverse: bool) -> list[Any]:
    """Elements that are exchanged, each two neighbours, until they are in order."""
    box: dict[str, Any] = {"items": items, "keys": keys}

    def exchange(place: int) -> None:
        for values in (box["items"], box["keys"]):
            values[place], values[place + 1] = values[place + 1], values[place]

    for end in builtins.range(len(items) - 1, 0, -1):
        for place in builtins.range(end):
            pair = box["keys"][place : place + 2]
            _either(is_greater(*(reversed(pair) if reverse else pair)), box, partial(exchange, place))
    return box["items"]  # type: ignore[no-any-return]


def sort_in(values: Any, *args: Any, **kwargs: Any) -> Any:
    """`values.sort(..)`."""
    if isinstance(values, Long) and not args:
        found = sorted_(values, kwargs.get("key"), kwargs.get("reverse", False))
        values.become(found)
        return None
    if type(values) is list and not args:
        found = sorted_(values, kwargs.get("key"), kwargs.get("reverse", False))
        if found is not NotImplemented:
            values[:] = found
            return None
    return values.sort(*args, **kwargs)


# Functions of functools and itertools.
def _reduce(function: Any, values: Any, *first: Any) -> Any:
    walk = _walk(values)
    if walk is None:
        return functools.reduce(function, values, *first)
    box = {"found": first[0] if first else walk.make(0)}

    def turn(element: Any) -> None:
        box["found"] = function(box["found"], element)

    _loop(walk if first else _from(walk, 1), box, turn)
    return box["found"]


def _accumulate(values: Any, function: Any = None, *, initial: Any = None) -> Any:
    walk, add = _walk(values), function or operator.add
    if walk is None:
        return itertools.accumulate(values, function, initial=initial)
    first = walk.make(0) if initial is None else initial
    box: dict[str, Any] = {"found": first, "out": [first]}

    def turn(element: Any) -> None:
        box["found"] = add(box["found"], element)
        box["out"].append(box["found"])

    _loop(_from(walk, 1) if initial is None else walk, box, turn)
    return box["out"]


def _from(walk: Walkable, start: Any) -> Walkable:
    """The elements from one on."""
    return Walkable(walk.recorder, torch.sym_max(walk.count - start, 0), lambda turn: walk.make(turn + start))


def _takewhile(function: Any, values: Any) -> Any:
    walk = _walk(values)
    if walk is None:
        return itertools.takewhile(function, values)
    box: dict[str, Any] = {"out": [], "left": False}

    def turn(element: Any) -> None:
        _structure().branch(function(element), lambda: box["out"].append(element), lambda: box.update(left=True), lambda: dict(box), box.update)

    _structure().walked(walk, lambda: box["left"], turn, lambda: dict(box), box.update)
    return box["out"]


def _pairwise(values: Any) -> Any:
    walk = _walk(values)
    if walk is None:
        return itertools.pairwise(values)
    return Walkable(walk.recorder, torch.sym_max(walk.count - 1, 0), lambda turn: (walk.make(turn), walk.make(turn + 1)))


def _islice(values: Any, *bounds: Any) -> Any:
    walk = _walk(values)
    start, stop, step = (0, *bounds, None)[:3] if len(bounds) == 1 else (*bounds, None)[:3]
    if walk is None or not (start is None or type(start) is int) or not (step is None or type(step) is int):
        return itertools.islice(values, *bounds)
    start, step = start or 0, step or 1
    end = walk.count if stop is None else torch.sym_min(stop, walk.count)
    return Walkable(walk.recorder, count_of_range(start, end, step), lambda turn: walk.make(turn * step + start))


def _element_of(values: Any) -> Callable[[Any], Any]:
    """The element of a range at a place."""
    return lambda place: place if (values.start, values.step) == (0, 1) else values.start + place * values.step


def _product(*values: Any, repeat: int = 1) -> Any:
    """Pairs, and so on: the last one changes first."""
    values = values * repeat
    walks = [_walk(one) for one in values]
    if all(walk is None for walk in walks) or not all(walk is not None or isinstance(one, builtins.range) for walk, one in zip(walks, values)):
        return itertools.product(*values)
    counts = [len(one) if walk is None else walk.count for walk, one in zip(walks, values)]
    makes = [_element_of(one) if walk is None else walk.make for walk, one in zip(walks, values)]

    def make(turn: Any) -> tuple[Any, ...]:
        found = []
        for count, inner in zip(reversed(counts), reversed(makes)):
            found.append(inner(turn % count))
            turn = turn // count
        return tuple(reversed(found))

    return Walkable(Recorder.current, functools.reduce(operator.mul, counts), make)  # type: ignore[arg-type]


def _groupby(values: Any, key: Any = None) -> Any:
    """Elements that stand beside one another and have the same key. A group begins where the key is another one than that before."""
    walk = _walk(values)
    if walk is None:
        return itertools.groupby(values, key)
    structure, of = _structure(), (lambda element: element) if key is None else key
    box: dict[str, Any] = {"keys": [], "starts": []}

    def begin(turn: Any) -> None:
        box["keys"].append(of(walk.make(turn)))
        box["starts"].append(turn)

    def turn(place: Any) -> None:
        before = lambda: of(walk.make(torch.sym_max(place - 1, 0)))  # noqa: E731
        _either(structure.some(lambda: place == 0, lambda: of(walk.make(place)) != before()), box, lambda: begin(place))

    _loop(Walkable(walk.recorder, walk.count, lambda place: place), box, turn)
    keys, starts = (rows_of(box[name]) for name in ("keys", "starts"))
    if keys is None or starts is None:
        return itertools.groupby(values, key)
    count = starts.count

    def group(number: Any) -> tuple[Any, Walkable]:
        start, after = starts.make(number), torch.sym_min(number + 1, count - 1)
        end = structure.chosen(number + 1 < count, lambda: starts.make(after), lambda: walk.count)
        return keys.make(number), Walkable(walk.recorder, end - start, lambda place: walk.make(start + place))

    return Walkable(walk.recorder, count, group)


def _combinations(values: Any, size: int) -> Any:
    walk = _walk(values)
    if walk is None or size != 2:
        return itertools.combinations(values, size)
    places = torch.triu_indices(walk.count, walk.count, 1)
    count = walk.count * (walk.count - 1) // 2
    return Walkable(walk.recorder, count, lambda turn: tuple(walk.make(places[row, turn].item()) for row in (0, 1)))


class Chain:
    """Several things to walk over, one after the other."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    def __iter__(self) -> Any:
        return itertools.chain(*self.parts)


def _chain(*parts: Any) -> Any:
    return Chain(*parts) if any(_walk(part) is not None for part in parts) else itertools.chain(*parts)


_chain.from_iterable = itertools.chain.from_iterable  # type: ignore[attr-defined]


def total(values: Any, start: Any) -> Any:
    """`sum(values)`."""
    return _reduce(operator.add, values, start)


def _zip_longest(*values: Any, fillvalue: Any = None) -> Any:
    """Elements side by side. Whether one is left of the shorter ones is a branch."""
    walked = [_walk(value) for value in values]
    if None in walked:
        return itertools.zip_longest(*values, fillvalue=fillvalue)
    count: Any = functools.reduce(torch.sym_max, [one.count for one in walked if one is not None])

    def at(one: Any, turn: Any) -> Any:
        box = {"found": fillvalue}
        _either(turn < one.count, box, lambda: box.update(found=one.make(turn)))
        return box["found"]

    return Walkable(Recorder.current, count, lambda turn: tuple(at(one, turn) for one in walked))  # type: ignore[arg-type]


#: What a model sees in place of functions of these modules.
OF_MODULES: dict[str, dict[str, Any]] = {
    "collections": {"deque": deque_},
    "functools": {"reduce": _reduce},
    "itertools": {
        "accumulate": _accumulate,
        "chain": _chain,
        "combinations": _combinations,
        "groupby": _groupby,
        "islice": _islice,
        "pairwise": _pairwise,
        "product": _product,
        "takewhile": _takewhile,
        "zip_longest": _zip_longest,
    },
    **found.OF_MODULES,
}
#: The same by the function itself.
OF_FUNCTIONS: dict[int, Any] = {
    id(getattr(module, name)): made
    for module in (bisect, collections, functools, itertools, operator)
    for name, made in OF_MODULES[module.__name__].items()
    if hasattr(module, name)
}
OF_FUNCTIONS[id(torch.nn.utils.rnn.pad_sequence)] = pad_sequence

__all__ = ["Chain", "OF_FUNCTIONS", "OF_MODULES", "extreme", "filter_", "is_greater", "listed", "map_", "sort_in", "sorted_", "total"]
