"""Lists of one element as many times as a size says (`[None] * n`), to whose places the turns of a loop write, as a run has them that notes loops turn by turn.

The list has its elements. A number that chooses a place stays no number of the file: so it must be that of the turn, counted from the first place or from the last,
and the loop makes as many turns as the list has places. All else is for lowered code.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from .numbers import Number, number_of, plain
from .places import line_of_model
from .recorder import Recorder
from .turns import NoBothSides, key_of

#: A sum of numbers: how many times each is in it. A plain number is so many times 1.
_Sum = dict[Any, int]
_ONE = "one"


class Slots(list):  # type: ignore[type-arg]
    """A list of one element as many times as a number of the file says.

    Attributes:
        count: This number.
    """

    def __init__(self, element: Any, count: Any) -> None:
        super().__init__([element] * max(plain(count), 0))
        self.count = torch.sym_max(count, 0)
        self._is_empty = element is None

    def __getitem__(self, index: Any) -> Any:
        return super().__getitem__(self._place(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(self._place(index), value)

    def _place(self, index: Any) -> Any:
        """A place as a plain number.

        Raises:
            NoBothSides: It may be another one in another turn, or at other inputs.
        """
        number = number_of(index)
        if number is None:
            return index
        if not self._is_known(number):
            raise NoBothSides("a number chooses an element of a list, and is not that of the turn of a loop over all of its elements", line_of_model())
        return number.value

    def _is_known(self, number: Number) -> bool:
        """Whether a place is that of the turn of a loop over the list: counted from its begin or its end, or a neighbour of it."""
        recorder = Recorder.current
        if recorder is None or recorder.loops is None or recorder.structure is not None or recorder.turns is None or recorder.turns.lines:
            return False
        length = _length(self.count)
        known = frozenset(key_of(number_of(loop.count)) for loop in recorder.loops.running if number_of(loop.count) is not None)
        place = _sum_of(number, known)
        for loop in recorder.loops.running:
            turn, rest = ("value", loop.counters[-1].key), dict(place)
            sign = rest.pop(turn, 0)
            if loop.count is None or sign not in (1, -1):
                continue
            missing = _plain(_difference(length, _length(loop.count)))
            if missing is None or not (missing == 0 or (self._is_empty and missing in (-1, 1))):
                return False
            if sign == 1:
                return _plain(rest) in (-1, 0, 1)
            return _plain(rest) in (-2, -1) or _plain(_difference(rest, length)) in (-2, -1, 0)
        return False

    def _refused(self, *_: Any, **__: Any) -> Any:
        raise NoBothSides("a list that is as long as a size says is made longer or shorter", line_of_model())

    append = extend = insert = pop = remove = clear = __delitem__ = __iadd__ = __imul__ = _refused  # type: ignore[assignment,method-assign]


def _sum_of(number: Any, known: frozenset[Any] = frozenset()) -> _Sum:
    """What a number is the sum of. `known` are numbers `max(a, 0)` that are `a`."""
    if not isinstance(number, Number):
        return {_ONE: int(number)} if number else {}
    a, b = (*number.operands, None, None)[:2]
    if number.function in ("add", "sub"):
        return _difference(_sum_of(a, known), _times(_sum_of(b, known), -1 if number.function == "add" else 1))
    if number.function == "neg":
        return _times(_sum_of(a, known), -1)
    if number.function == "sym_max" and b == 0 and (key_of(number) in known or _is_size(_sum_of(a, known))):
        return _sum_of(a, known)
    if number.function == "mul" and type(plain(b)) is int and not isinstance(b, Number):
        return _times(_sum_of(a, known), b)
    if number.function == "mul" and type(plain(a)) is int and not isinstance(a, Number):
        return _times(_sum_of(b, known), a)
    return {key_of(number.operands[0]) if number.function == "item" else key_of(number): 1}


def _is_size(summed: _Sum) -> bool:
    """Whether a sum is a size, and so not less than 0."""
    (key, count), *more = (*summed.items(), (None, 0))
    return count == 1 and len(more) == 1 and type(key) is tuple and key[0] == "size"


def _times(summed: _Sum, factor: int) -> _Sum:
    return {key: factor * count for key, count in summed.items() if factor}


def _difference(one: _Sum, other: _Sum) -> _Sum:
    found = {key: one.get(key, 0) - other.get(key, 0) for key in (*one, *other)}
    return {key: count for key, count in found.items() if count}


def _plain(summed: _Sum) -> int | None:
    """The plain number that a sum is; None if it is none."""
    return summed.get(_ONE, 0) if summed.keys() <= {_ONE} else None


def _length(count: Any) -> _Sum:
    """A length, or a number of turns, as a sum. Neither is less than 0."""
    number = number_of(count)
    if number is not None and number.function == "sym_max" and number.operands[1] == 0:
        number = number.operands[0]
    return _sum_of(plain(count) if number is None else number)


def _repeated(elements: Any, count: Any) -> Any:
    """`[element] * count`; None if it is something else."""
    recorder, number = Recorder.current, number_of(count)
    if type(elements) is not list or len(elements) != 1 or number is None or recorder is None or recorder.loops is None:
        return None
    if recorder.structure is not None or recorder.turns is None or recorder.turns._is_static(number):
        return None
    return Slots(elements[0], count)


@contextmanager
def repeated() -> Iterator[None]:
    """While the block runs, a list times a number of the file is one of these."""
    product, product_from_right = torch.SymInt.__mul__, torch.SymInt.__rmul__

    def multiplied(number: Any, other: Any) -> Any:
        found = _repeated(other, number)
        return product(number, other) if found is None else found

    def multiplied_from_right(number: Any, other: Any) -> Any:
        found = _repeated(other, number)
        return product_from_right(number, other) if found is None else found

    torch.SymInt.__mul__, torch.SymInt.__rmul__ = multiplied, multiplied_from_right  # type: ignore[method-assign]
    try:
        yield
    finally:
        torch.SymInt.__mul__, torch.SymInt.__rmul__ = product, product_from_right  # type: ignore[method-assign]


__all__ = ["Slots", "repeated"]
