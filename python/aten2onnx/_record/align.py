"""Aligns two paths that part at a branch: what they have in common after it is found backwards from their results."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from .branches import Ask, Carried, If, Item, Rolled, Step, Turn, made_by, written_by
from .expressions import zipped_number
from .numbers import Number
from .references import values_in
from .tensors import Value

#: The distance of what no common item makes.
FAR = 1 << 60


class Unlike(Exception):
    """Two references or items that are not the same, and cannot become one value."""


class Pair(NamedTuple):
    """What two corresponding items read, with the distance from the end where each is made."""

    yes: Any
    no: Any
    far_yes: int
    far_no: int
    is_same_place: bool


Leaf = Callable[[Any, Any, bool], Any]
#: The value that stands for all that are the same.
Canon = Callable[[Value], Value]


def zipped(a: Any, b: Any, leaf: Leaf, in_results: bool = False) -> Any:
    """Walks over two references, and puts `leaf(a, b)` in place of what may differ."""
    if isinstance(a, Value) and isinstance(b, Value):
        return leaf(a, b, in_results)
    if isinstance(a, Number) and isinstance(b, Number) and a.function == b.function and len(a.operands) == len(b.operands):
        try:
            return zipped_number(a, b, lambda x, y: zipped(x, y, _only_values(leaf)))
        except Unlike:
            return leaf(a, b, in_results)
    if isinstance(a, (list, tuple)) and type(a) is type(b) and len(a) == len(b):
        return type(a)(zipped(x, y, leaf, in_results) for x, y in zip(a, b))
    if isinstance(a, dict) and isinstance(b, dict) and list(a) == list(b):
        return {name: zipped(a[name], b[name], leaf, in_results) for name in a}
    if type(a) is type(b) and not isinstance(a, (Value, Number, list, tuple, dict)) and _is_equal(a, b):
        return a
    return leaf(a, b, in_results)


def _only_values(leaf: Leaf) -> Leaf:
    def inner(a: Any, b: Any, in_results: bool) -> Any:
        if isinstance(a, Value) and isinstance(b, Value):
            return leaf(a, b, in_results)
        raise Unlike

    return inner


def _is_equal(a: Any, b: Any) -> bool:
    if isinstance(a, float):
        return a == b and math.copysign(1, a) == math.copysign(1, b) or (a != a and b != b)
    return bool(a == b)


def kind_of(reference: Any) -> Any:
    """The type that both sides of a result must have."""
    if isinstance(reference, Value):
        return reference.dtype if reference.device is None else ("tensor", reference.dtype, len(reference.shape), reference.device)
    if isinstance(reference, Number):
        return type(reference.value)
    return type(reference) if type(reference) in (int, float, bool) else None


def can_differ(a: Any, b: Any, in_results: bool) -> bool:
    """Whether two references can be the sides of one result. A plain number may only be a result of the model, or stand where the other path has a number
    that is computed."""
    kind = kind_of(a)
    if kind is None or kind != kind_of(b):
        return False
    is_plain = lambda x: not isinstance(x, (Value, Number))  # noqa: E731
    return in_results or not (is_plain(a) and is_plain(b))


class Alignment:
    """The common end of two lists of items.

    Attributes:
        length: The number of common items. Questions do not count.
    """

    def __init__(self, yes: list[Item], no: list[Item], results: tuple[list[Any], list[Any]], merger: Any) -> None:
        self.merger = merger
        self.yes = _entries(yes)
        self.no = _entries(no)
        self.far = _distances(self.yes, merger.canon), _distances(self.no, merger.canon)
        #: For each distance from the end what is read there; at 0 the results.
        self.pairs: list[list[Pair]] = [[]]
        zipped(*results, self._noted, True)
        self.length = self._common()

    def _noted(self, a: Any, b: Any, in_results: bool) -> Any:
        canon = self.merger.canon
        if isinstance(a, Value) and isinstance(b, Value):
            a, b = canon(a), canon(b)
            (far_yes, place), (far_no, other) = self.far[0].get(id(a), (FAR, 0)), self.far[1].get(id(b), (FAR, 0))
            self.pairs[-1].append(Pair(a, b, far_yes, far_no, place == other))
            return a
        if not can_differ(a, b, in_results):
            raise Unlike
        # A number that differs is computed on both sides, so nothing that it reads is in common.
        far = [min((self.far[side].get(id(canon(value)), (FAR, 0))[0] for value in values_in(one)), default=FAR) for side, one in enumerate((a, b))]
        self.pairs[-1].append(Pair(a, b, far[0], far[1], False))
        return a

    def _common(self) -> int:
        for one, other in zip(reversed(self.yes), reversed(self.no)):
            self.pairs.append([])
            try:
                self.both(one, other, self._noted)
            except Unlike:
                self.pairs.pop()
                break
        length = len(self.pairs) - 1
        while (shorter := self._fault(length)) < length:
            length = shorter
        return length

    def common(self) -> list[tuple[Entry, Entry]]:
        """The items of the common end, in order."""
        return list(zip(self.yes[len(self.yes) - self.length :], self.no[len(self.no) - self.length :]))

    def corresponding(self) -> list[tuple[Value, Value]]:
        """Values of both lists that stand in the same places of the common end: what it computes, and what it reads."""
        made = [pair for one, other in self.common() for pair in zip(made_by(one.item), made_by(other.item))]
        read = [(pair.yes, pair.no) for pairs in self.pairs[: self.length + 1] for pair in pairs if isinstance(pair.yes, Value) and isinstance(pair.no, Value)]
        return made + read

    def both(self, one: Entry, other: Entry, leaf: Leaf) -> Entry:
        """Two items with their questions as one."""
        return Entry(_both_items(one.item, other.item, leaf, self.merger.canon), _both_asks(one.before, other.before, leaf), _both_asks(one.after, other.after, leaf))

    def _fault(self, length: int) -> int:
        """The length of a common end without the first fault of one of this length."""
        for distance in range(length + 1):
            for pair in self.pairs[distance]:
                inside = pair.far_yes <= length, pair.far_no <= length
                if inside[0] != inside[1] or (inside[0] and (pair.far_yes != pair.far_no or not pair.is_same_place)):
                    return max(min(pair.far_yes, pair.far_no) - 1, 0)
                if not inside[0] and not self.merger.is_same(pair.yes, pair.no) and not can_differ(pair.yes, pair.no, True):
                    if distance == 0:
                        raise Unlike
                    return distance - 1
        return self._fault_of_writes(length)

    def _fault_of_writes(self, length: int) -> int:
        """The same for writes to memory that a result of the branch shares with another value: results share none."""
        merger = self.merger
        roots = lambda values: [merger.root(value) for value in values]  # noqa: E731
        results = {(merger.name(pair.yes), merger.name(pair.no)): pair for pairs in self.pairs[: length + 1] for pair in pairs if pair.far_yes > length and not merger.is_same(pair.yes, pair.no)}
        shared = [(merger.root(pair.yes), merger.root(pair.no)) for pair in results.values() if isinstance(pair.yes, Value) and isinstance(pair.no, Value)]
        for distance in range(1, length + 1):
            item, other = self.yes[-distance].item, self.no[-distance].item
            if not isinstance(item, Step) or not isinstance(other, Step):
                continue
            for a, b in zip(roots(written_by(item.call)), roots(written_by(other.call))):
                if self.far[0].get(id(a), (FAR, 0))[0] <= length:
                    continue
                touched = [(one, two) for one, two in shared if one is a or two is b]
                is_outer = id(a) not in self.far[0] and id(b) not in self.far[1]
                fine = not touched and a is b if is_outer else len(touched) == 1 and touched[0][0] is a and touched[0][1] is b and id(a) in self.far[0] and id(b) in self.far[1]
                if not fine:
                    return distance - 1
        return length


class Entry(NamedTuple):
    """An item with the questions that PyTorch asks for it, and those that are asked after it."""

    item: Item
    before: list[Ask]
    after: list[Ask]


def _entries(items: list[Item]) -> list[Entry]:
    """Items with their questions. Those of the model before the first item stay with none."""
    found: list[Entry] = []
    pending: list[Ask] = []
    for item in items:
        if not isinstance(item, Ask):
            found.append(Entry(item, pending, []))
            pending = []
        elif not item.question.by_model:
            pending.append(item)
        else:
            if found:
                found[-1].after.extend([*pending, item])
            pending = []
    if found:
        found[-1].after.extend(pending)
    return found


def _distances(items: list[Entry], canon: Canon) -> dict[int, tuple[int, int]]:
    """For each value the distance of the item that makes it from the end, and which of its results it is."""
    found = {}
    for distance, entry in enumerate(reversed(items), 1):
        for place, value in enumerate(made_by(entry.item)):
            found[id(canon(value))] = (distance, place)
    return found


def _both_asks(mine: list[Ask], theirs: list[Ask], leaf: Leaf) -> list[Ask]:
    """Questions that both paths ask, with what only PyTorch asked of one of them left out.

    Raises:
        Unlike: The model's own code asks something else.
    """
    found = []
    rest = list(theirs)
    for ask in mine:
        question = ask.question
        other = next((one for one in rest if (one.question.what, one.question.line, one.question.by_model) == (question.what, question.line, question.by_model)), None)
        try:
            if other is None or (question.what == "bool" and question.answer != other.question.answer):
                raise Unlike
            number = zipped(question.number, other.question.number, _only_values(leaf))
        except Unlike:
            if question.by_model:
                raise
            continue
        rest.remove(other)
        found.append(Ask(question._replace(number=number), ask.failure or other.failure))
    if any(ask.question.by_model for ask in rest):
        raise Unlike
    return found


def _both_items(one: Item, other: Item, leaf: Leaf, canon: Canon) -> Item:
    if isinstance(one, Step) and isinstance(other, Step):
        a, b = one.call, other.call
        if a.function is not b.function or one.is_split != other.is_split or len(made_by(one)) != len(made_by(other)):
            raise Unlike
        return Step(a._replace(args=zipped(a.args, b.args, leaf), kwargs=zipped(a.kwargs, b.kwargs, leaf)), one.is_split, one.stands_for)
    if isinstance(one, Turn) and isinstance(other, Turn) and (one.question.line, one.question.answer) == (other.question.line, other.question.answer):
        return Turn(one.index, one.question._replace(number=zipped(one.question.number, other.question.number, _only_values(leaf))))
    if isinstance(one, If) and isinstance(other, If) and one.question.line == other.question.line:
        return _both_branches(one, other, leaf, canon)
    if isinstance(one, Rolled) and isinstance(other, Rolled) and one.line == other.line:
        return _both_loops(one, other, leaf, canon)
    raise Unlike


def _both_branches(one: If, other: If, leaf: Leaf, canon: Canon) -> If:
    """Two branches of the same calls on both sides."""
    if len(one.results) != len(other.results):
        raise Unlike
    number = zipped(one.question.number, other.question.number, _only_values(leaf))
    sides, leaves = [], []
    for mine, theirs in ((one.yes, other.yes), (one.no, other.no)):
        made, inner = _both_sides(mine, theirs, leaf, canon)
        sides.append(made)
        leaves.append(inner)
    results = [(a[0], zipped(a[1], b[1], leaves[0]), zipped(a[2], b[2], leaves[1])) for a, b in zip(one.results, other.results)]
    return If(one.question._replace(number=number), sides[0], sides[1], results)


def _both_loops(one: Rolled, other: Rolled, leaf: Leaf, canon: Canon) -> Rolled:
    """Two loops with the same calls in a turn."""
    if len(one.carried) != len(other.carried) or len(one.slices) != len(other.slices):
        raise Unlike
    count, first = zipped(one.count, other.count, _only_values(leaf)), zipped(one.first, other.first, _only_values(leaf))
    inits = [zipped(a.init, b.init, leaf) for a, b in zip(one.carried, other.carried)]
    given = [(one.index, other.index), *((a.param, b.param) for a, b in zip(one.carried, other.carried))]
    items, inner = _both_sides(one.items, other.items, leaf, canon, given)
    again = zipped(one.again, other.again, _only_values(inner))
    carried = [Carried(a.param, init, zipped(a.next, b.next, inner), a.result) for a, b, init in zip(one.carried, other.carried, inits)]
    slices = [(zipped(a, b, inner), value) for (a, value), (b, _) in zip(one.slices, other.slices)]
    return Rolled(one.line, one.index, count, first, again, carried, slices, items)


def _both_sides(mine: list[Item], theirs: list[Item], leaf: Leaf, canon: Canon, given: list[tuple[Value, Value]] | None = None) -> tuple[list[Item], Leaf]:
    """The items of two sides as one, and what stands for the values in them. `given` are those that a turn of a loop is given."""
    if len(mine) != len(theirs):
        raise Unlike
    known: dict[int, Any] = {id(canon(a)): canon(b) for a, b in given or ()}
    others: set[int] = {id(canon(b)) for _, b in given or ()}

    def inner(a: Any, b: Any, in_results: bool) -> Any:
        inside = [value for value in map(canon, values_in((a, b))) if id(value) in known or id(value) in others]
        if not inside:
            return leaf(a, b, in_results)
        if isinstance(a, Value) and isinstance(b, Value) and known.get(id(canon(a))) is canon(b):
            return a
        raise Unlike

    made: list[Item] = []
    for a, b in zip(mine, theirs):
        if isinstance(a, Ask) and isinstance(b, Ask):
            made += _both_asks([a], [b], inner)
            continue
        made.append(_both_items(a, b, inner, canon))
        for x, y in zip(map(canon, made_by(a)), map(canon, made_by(b))):
            known[id(x)] = y
            others.add(id(y))
    return made, inner


__all__ = ["Alignment", "Unlike", "can_differ", "kind_of", "zipped"]
