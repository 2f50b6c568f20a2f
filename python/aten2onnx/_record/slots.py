"""Lists of one element as many times as a size says (`[None] * n`), to whose places turns write, in runs that note loops turn by turn.

The list has its elements. A number that chooses a place is none of the file: so it must be that of the turn, counted from the first place or from the last, and
the loop makes as many turns as the list has places. All else is for lowered code.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from .numbers import Number, number_of, plain
from .places import line_of_model
from .recorder import Recorder
from .sums import Sum, difference, plain_sum, sum_of
from .turns import NoBothSides, key_of

class Slots(list):  # type: ignore[type-arg]
    """A list of one element as many times as a number of the file says.

    Attributes:
        count: This number.
        is_by_turn: Elements have no names of their own: turns write each to its place.
    """

    is_by_turn = True
    count: Any  # type: ignore[assignment]

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
            raise NoBothSides("the place in a list that a number chooses is not recorded (append to a list, or write to a tensor)", line_of_model())
        return number.value

    def _is_known(self, number: Number) -> bool:
        """Whether a place is that of the turn of a loop over the list: counted from its begin or its end, or a neighbour of it."""
        recorder = Recorder.current
        if recorder is None or recorder.loops is None or recorder.structure is not None or recorder.turns is None or recorder.turns.lines:
            return False
        length = _length(self.count)
        known = frozenset(key_of(number_of(loop.count)) for loop in recorder.loops.running if number_of(loop.count) is not None)
        place = sum_of(number, known)
        for loop in recorder.loops.running:
            turn, rest = ("value", loop.counters[-1].key), dict(place)
            sign = rest.pop(turn, 0)
            if loop.count is None or sign not in (1, -1):
                continue
            missing = plain_sum(difference(length, _length(loop.count)))
            if missing is None or not (missing == 0 or (self._is_empty and missing in (-1, 1))):
                return False
            if sign == 1:
                return plain_sum(rest) in (-1, 0, 1)
            return plain_sum(rest) in (-2, -1) or plain_sum(difference(rest, length)) in (-2, -1, 0)
        return False

    def _refused(self, *_: Any, **__: Any) -> Any:
        raise NoBothSides("a list that is as long as a size says is made longer or shorter", line_of_model())

    append = extend = insert = pop = remove = clear = __delitem__ = __iadd__ = __imul__ = _refused  # type: ignore[assignment,method-assign]


def _length(count: Any) -> Sum:
    """A length, or a number of turns, as a sum. Neither is less than 0."""
    number = number_of(count)
    if number is not None and number.function == "sym_max" and number.operands[1] == 0:
        number = number.operands[0]
    return sum_of(plain(count) if number is None else number)


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
