"""Makes results of what names stand for after both sides of a branch of lowered code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from .containers import DICTIONARIES, copy_of, is_object, is_tuple, remade
from .grown import Grown, OtherSizes
from .listed import Lists
from .long import Compound, Long
from .numbers import Number
from .ragged import Table
from .recorder import Question
from .slotted import Slotted
from .states import UNDEFINED, Poison, is_number_of, is_same
from .tensors import Tracked, Value
from .turns import key_of
from .written import Block

if TYPE_CHECKING:
    from .structured import Structure

aten = torch.ops.aten


class JoinedSides:
    """Makes results of what names stand for after both sides of a branch. The first side is the one that the inputs take."""

    def __init__(self, structure: Structure, question: Question, blocks: tuple[Block, Block], origins: dict[int, Any]) -> None:
        #: What objects of the second side are copies of.
        self.origins = origins
        self._objects: dict[int, Any] = {}
        self.structure = structure
        self.question = question
        self.blocks = blocks
        self.results: list[tuple[Value, Any, Any]] = []
        self.found: dict[Any, Any] = {}

    def merged(self, mine: Any, theirs: Any, name: str) -> Any:
        if is_same(mine, theirs):
            return mine
        if isinstance(mine, Poison) or isinstance(theirs, Poison):
            return mine if isinstance(mine, Poison) else theirs
        if mine is UNDEFINED or theirs is UNDEFINED:
            return self._defined(mine, theirs, name)
        if isinstance(mine, list) and isinstance(theirs, list) and (isinstance(mine, Long) or isinstance(theirs, Long) or len(mine) != len(theirs)):
            return self._lists(mine, theirs, name)
        if (type(mine) is list or is_tuple(mine)) and type(mine) is type(theirs) and len(mine) == len(theirs):
            made = [self.merged(a, b, name) for a, b in zip(mine, theirs)]
            if is_tuple(mine):
                return remade(mine, made)
            found = self._same_or_new(mine, theirs)
            found[:] = made
            return found
        if is_object(mine) and type(mine) is type(theirs) and list(vars(mine)) == list(vars(theirs)):
            return self._merged_objects(mine, theirs, name)
        if type(mine) in DICTIONARIES and type(mine) is type(theirs) and list(mine) == list(theirs):
            items = {key: self.merged(item, theirs[key], name) for key, item in mine.items()}
            found = self._same_or_new(mine, theirs)
            found.update(items)
            return found
        if type(mine) in DICTIONARIES and type(mine) is type(theirs):
            return Poison(self.question.line, f"`{name}` has other keys on the other side of a branch", _KEYS)
        mine, theirs = self._as_tensors(mine, theirs)
        mine, theirs = self._as_ranked(mine, theirs, name)
        kinds = self.structure.kind(mine), self.structure.kind(theirs)
        if kinds[0] is None or kinds[0] != kinds[1]:
            return self._poison(name)
        return self._result(mine, theirs)

    def _same_or_new(self, mine: Any, theirs: Any) -> Any:
        """The same list, dictionary or object on both sides stays the same; of two of them there is a third."""
        return mine if self.origins.get(id(theirs)) is mine else copy_of(mine)

    def _merged_objects(self, mine: Any, theirs: Any, name: str) -> Any:
        if id(mine) not in self._objects:
            made = self._objects[id(mine)] = self._same_or_new(mine, theirs)
            for key, item in list(vars(mine).items()):
                vars(made)[key] = self.merged(item, vars(theirs)[key], name)
        return self._objects[id(mine)]

    def _as_tensors(self, mine: Any, theirs: Any) -> tuple[Any, Any]:
        """A number of Python's as a tensor without dimensions, if it is one on the other side: `y = x[i] if i < n else 0.0`. With the default type both promote others alike."""
        sides = [mine, theirs]
        for place, (value, other) in enumerate(((mine, theirs), (theirs, mine))):
            if is_number_of(value, other):
                with self.structure._written_to(self.blocks[place]):
                    sides[place] = torch.scalar_tensor(value, dtype=other.dtype, device=other.device)
        return sides[0], sides[1]

    def _as_ranked(self, mine: Any, theirs: Any, name: str) -> tuple[Any, Any]:
        """A tensor of size [0] as one of the rank of the other side: `torch.cat(parts) if parts else x.new_empty(0)`. A note tells of it."""
        sides = [mine, theirs]
        for place, (value, other) in enumerate(((mine, theirs), (theirs, mine))):
            if not (isinstance(value, Tracked) and isinstance(other, Tracked) and value.dtype == other.dtype and other.actual.dim() > 1):
                continue
            if self._is_empty(value, self.blocks[place]):
                sizes = [self.structure.size_of(axis, size, ("ranked", name), 0) for axis, size in enumerate(other.actual.shape)]
                with self.structure._written_to(self.blocks[place]):
                    sides[place] = torch.full([0, *sizes[1:]], 0, dtype=other.dtype, device=other.device)
                self.structure.recorder.ranked.append(self.question.line)
        return sides[0], sides[1]

    @staticmethod
    def _is_empty(value: Tracked, block: Block) -> bool:
        """Whether a side has made a tensor of size [0], as `x.new_empty(0)` is."""
        makers = [call for call in block.calls if call.results is value.value]
        return any(call.function in _EMPTY and any(type(arg) is list and arg == [0] for arg in call.args) for call in makers)

    def _poison(self, name: str) -> Poison:
        return Poison(self.question.line, f"`{name}` is a result of another type or rank on the other side of a branch")

    def _result(self, mine: Any, theirs: Any) -> Any:
        structure = self.structure
        references = structure.reference(mine), structure.reference(theirs)
        key = structure.kind(mine), *((type(one), key_of(one)) if isinstance(one, Number) else id(one) if isinstance(one, Value) else (type(one), repr(one)) for one in references)
        if key not in self.found:
            made, value = structure.with_value(mine)
            if isinstance(mine, Grown):  # it stays the same list
                mine.rows, made = made.rows, mine
            self.results.append((value, *references))
            self.found[key] = made
        return self.found[key]

    def _defined(self, mine: Any, theirs: Any, name: str) -> Any:
        """What only one side has assigned: nobody reads it after the other."""
        place = 0 if mine is UNDEFINED else 1
        known = theirs if mine is UNDEFINED else mine
        if type(known) is list or is_tuple(known):
            made = [self._defined(UNDEFINED, item, name) if place == 0 else self._defined(item, UNDEFINED, name) for item in known]
            return made if type(known) is list else remade(known, made)
        if isinstance(known, Compound):
            parts = known.parts.items()
            if place == 0:
                return known.like({key: self._defined(UNDEFINED, part, name) for key, part in parts})
            return known.like({key: self._defined(part, UNDEFINED, name) for key, part in parts})
        if self.structure.kind(known) is None:
            return known
        with self.structure._written_to(self.blocks[place]):
            dummy = self.structure.dummy(known)
        return self._result(*((dummy, known) if place == 0 else (known, dummy)))

    def _lists(self, mine: Any, theirs: Any, name: str) -> Any:
        """Lists of other lengths, as rows. They are made again if their elements have several sizes, which is known then."""
        sides = [mine, theirs]
        for _ in range(_TRIES):
            try:
                made = self._as_lists(sides, name)
                return self._merged_lists(made[0], made[1], name) if _is_alike(made[0], made[1]) else self._poison(name)
            except OtherSizes as error:
                if not error.is_new or any(isinstance(side, Long) for side in sides):
                    raise
        return self._poison(name)

    def _as_lists(self, sides: list[Any], name: str) -> list[Any]:
        known = next((values for values in sides if isinstance(values, Long)), None)
        example = next((element for values in sides if not isinstance(values, Long) for element in values), None)
        made = []
        for values, block in zip(sides, self.blocks):
            with self.structure._written_to(block):
                if isinstance(values, Long):
                    made.append(values)
                elif known is not None:
                    made.append(known.of(values) if values else known.sliced(0, 0))
                else:
                    made.append(self.structure.as_list(values, example, self.question.line, name))
        self._begin(made, name)
        return made

    def _begin(self, sides: list[Any], name: str) -> None:
        """Gives a list of None that nothing was written to on one side places for elements."""
        for (values, block), other in zip(zip(sides, self.blocks), reversed(sides)):
            if isinstance(values, Slotted) and isinstance(other, Slotted) and values.values is None and other.values is not None:
                with self.structure._written_to(block):
                    self.structure.as_list(values, other.example(), self.question.line, name)

    def _merged_lists(self, mine: Any, theirs: Any, name: str) -> Any:
        if isinstance(mine, Grown):
            return self._result(mine, theirs)
        parts = {}
        for key, part in mine.parts.items():
            other = theirs.parts[key]
            parts[key] = self._merged_lists(part, other, name) if isinstance(part, Long) else self.merged(part, other, name)
        found = mine if self.origins.get(id(theirs), mine) is mine else copy_of(mine)
        found.parts = parts
        return found


_EMPTY = frozenset(
    [aten.new_empty.default, aten.new_zeros.default, aten.empty.memory_format, aten.zeros.default, aten.new_full.default, aten.full.default]
)
_KEYS = 'give the dictionary all of its keys before, as in `{"p": [], "q": []}` or `{"p": 0, "q": 0}`: their order would follow from data'
#: So many times two lists are made rows of: each time one more of them is known to have elements of several sizes.
_TRIES = 4


def _is_alike(one: Any, other: Any) -> bool:
    """Whether two lists hold their elements in the same form."""
    if type(one) is not type(other) or one.kind is not other.kind or getattr(one, "dim", None) != getattr(other, "dim", None):
        return False
    if isinstance(one, Lists):
        return bool(one.inner.kind is other.inner.kind)
    if isinstance(one, Slotted):
        return one.values is None or _is_alike(one.values, other.values)
    return not isinstance(one, Table) or (len(one.row) == len(other.row) and all(map(_is_alike, one.columns, other.columns)))


__all__ = ["JoinedSides"]
