"""Lists that are as long as the turns of a loop or the sides of branches say, whose elements have several sizes, or are tuples."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from .arrays import Array
from .containers import is_tuple, remade
from .grown import DTYPES, Grown, OtherSizes, actual, normal
from .long import Compound, Long
from .numbers import plain
from .tensors import Tracked, sizes_of
from .turns import NoBothSides

aten = torch.ops.aten
_PLAIN = "plain"


class Ragged(Compound):
    """A list of tensors that differ in one dimension: all of them joined along it, and how long each is.

    Attributes:
        dim: The dimension.
    """

    kind = torch.Tensor
    dim: int

    def __init__(self, rows: Any, lengths: Any, dim: int, line: Any) -> None:
        super().__init__({"rows": rows, "lengths": lengths}, line)
        self.dim = dim

    @property
    def rows(self) -> Any:
        return self.parts["rows"]

    @property
    def lengths(self) -> Any:
        return self.parts["lengths"]

    @property
    def count(self) -> Any:  # type: ignore[override]
        return sizes_of(self.lengths)[0] if isinstance(self.lengths, Tracked) else self.lengths.shape[0]

    def with_rows(self, rows: Any, lengths: Any) -> Ragged:
        return self.like({"rows": rows, "lengths": lengths})  # type: ignore[no-any-return]

    def example(self) -> Any:
        rows = actual(self.rows)
        with _disable_current_modes():
            return rows.new_zeros(rows.shape)

    def _rest(self, tensor: Any) -> Any:
        shape = list(actual(tensor).shape)
        del shape[self.dim]
        return shape

    def of(self, elements: list[Any]) -> Ragged:
        for element in elements:
            if not isinstance(element, torch.Tensor) or element.dtype != self.rows.dtype or element.dim() != self.rows.dim():
                raise self.other()
            if self._rest(element) != self._rest(elements[0]):
                raise OtherSizes(self, [actual(one).shape for one in elements])
        sizes = [sizes_of(one)[self.dim] if isinstance(one, Tracked) else one.shape[self.dim] for one in elements]
        lengths = [torch.scalar_tensor(size, dtype=torch.int64).unsqueeze(0) for size in sizes]
        return self.with_rows(torch.cat(elements, self.dim), torch.cat(lengths))

    def joined(self, others: list[Any]) -> Ragged:
        if any(not isinstance(other, Ragged) or other.dim != self.dim or other.rows.dtype != self.rows.dtype for other in others):
            raise self.other()
        all_rows = [self.rows, *(other.rows for other in others)]
        if any(self._rest(rows) != self._rest(self.rows) for rows in all_rows):
            raise OtherSizes(self, [actual(rows).shape for rows in all_rows])
        return self.with_rows(torch.cat(all_rows, self.dim), torch.cat([self.lengths, *(other.lengths for other in others)]))

    def _part(self, start: Any, end: Any) -> Any:
        return aten.slice.Tensor(self.rows, self.dim, start, end)

    def element(self, index: Any) -> Any:
        ends = self.lengths.cumsum(0)
        start = aten.select.int(ends - self.lengths, 0, index).item()
        return self._part(start, aten.select.int(ends, 0, index).item())

    def sliced(self, start: Any, stop: Any) -> Ragged:
        before = 0 if start is None else aten.slice.Tensor(self.lengths, 0, 0, start).sum().item()
        end = None if stop is None else aten.slice.Tensor(self.lengths, 0, 0, stop).sum().item()
        return self.with_rows(self._part(before, end), aten.slice.Tensor(self.lengths, 0, start, stop))

    def taken(self, order: Any) -> Ragged:
        lengths = self.lengths[order]
        ends, starts = lengths.cumsum(0), (self.lengths.cumsum(0) - self.lengths)[order]
        places = torch.arange(lengths.sum().item())
        which = (places.unsqueeze(1) >= ends.unsqueeze(0)).sum(1)
        return self.with_rows(self.rows.index_select(self.dim, places - (ends - lengths)[which] + starts[which]), lengths)

    def blank(self, count: Any) -> Ragged:
        return self.with_rows(aten.slice.Tensor(self.rows, self.dim, 0, 0), torch.full([count], 0, dtype=torch.int64))

    def flipped(self) -> Ragged:
        return self.taken(torch.arange(self.count).flip(0))

    def set(self, index: Any, value: Any) -> None:
        index = index % self.count
        self.become(self.sliced(None, index).joined([self.of([value]), self.sliced(index + 1, None)]))

    # What PyTorch's functions make of it.
    def stacked(self, dim: int) -> Any:
        """All elements are equally long, or PyTorch raises an error, and so does the file."""
        rows = self.rows.movedim(self.dim, 0)
        sizes = sizes_of(rows) if isinstance(rows, Tracked) else list(rows.shape)
        rank = len(sizes)
        parts = rows.reshape([self.count, aten.select.int(self.lengths, 0, 0).item(), *sizes[1:]]).movedim(1, self.dim + 1)
        return parts.movedim(0, normal(dim, rank + 1)).clone()

    def concatenated(self, dim: int) -> Any:
        if normal(dim, self.rows.dim()) == self.dim:
            return self.rows.clone()
        if self.wishes.get(self.key) is not None:
            raise NoBothSides("a list of tensors of other sizes is joined along another dimension than that in which they differ", self.line)
        raise self.other()

    def padded(self, batch_first: bool, value: float, side: str) -> Any:
        if self.dim != 0:
            raise NoBothSides("a list of tensors that differ in another dimension than the first is padded", self.line)
        longest = self.lengths.max()
        places = torch.arange(longest.item()).unsqueeze(0)
        lengths, total = self.lengths.unsqueeze(1), sizes_of(self.rows)[0] if isinstance(self.rows, Tracked) else self.rows.shape[0]
        places = places - (longest - lengths) if side == "left" else places + torch.zeros_like(lengths)
        is_in = (places >= 0) & (places < lengths)
        at = torch.where(is_in, places + (self.lengths.cumsum(0) - self.lengths).unsqueeze(1), total)
        shape = [1, *(sizes_of(self.rows) if isinstance(self.rows, Tracked) else self.rows.shape)[1:]]
        found = torch.cat([self.rows, torch.full(shape, value, dtype=self.rows.dtype, device=self.rows.device)])[at]
        return found if batch_first else found.transpose(0, 1).contiguous()


class Table(Compound):
    """A list of tuples: a list for each of their places.

    Attributes:
        row: A tuple of their class.
    """

    kind = tuple
    row: Any

    def __init__(self, columns: list[Long], row: Any, line: Any) -> None:
        super().__init__(dict(enumerate(columns)), line)
        self.row = row

    @property
    def columns(self) -> list[Any]:
        return [self.parts[place] for place in range(len(self.row))]

    @property
    def count(self) -> Any:  # type: ignore[override]
        return self.parts[0].count

    def _each(self, function: Any) -> Table:
        return self.like({place: function(column) for place, column in self.parts.items()})  # type: ignore[no-any-return]

    def example(self) -> Any:
        return remade(self.row, [column.example() for column in self.columns])

    def of(self, elements: list[Any]) -> Table:
        if any(type(element) is not type(self.row) or len(element) != len(self.row) for element in elements):
            raise self.other()
        made = {place: column.of([element[place] for element in elements]) for place, column in self.parts.items()}
        return self.like(made)  # type: ignore[no-any-return]

    def joined(self, others: list[Any]) -> Table:
        if any(not isinstance(other, Table) or len(other.row) != len(self.row) for other in others):
            raise self.other()
        made = {place: column.joined([other.parts[place] for other in others]) for place, column in self.parts.items()}
        return self.like(made)  # type: ignore[no-any-return]

    def element(self, index: Any) -> Any:
        return remade(self.row, [column.element(index) for column in self.columns])

    def sliced(self, start: Any, stop: Any) -> Table:
        return self._each(lambda column: column.sliced(start, stop))

    def taken(self, order: Any) -> Table:
        return self._each(lambda column: column.taken(order))

    def blank(self, count: Any) -> Table:
        return self._each(lambda column: column.blank(count))

    def flipped(self) -> Table:
        return self._each(lambda column: column.flipped())

    def copy(self) -> Table:
        return self._each(lambda column: column.copy())

    def become(self, other: Any) -> None:
        for place, column in self.parts.items():
            column.become(other.parts[place])

    def set(self, index: Any, value: Any) -> None:
        self.of([value])
        for place, column in self.parts.items():
            column.set(index, value[place])

    def unzipped(self) -> tuple[Any, ...]:
        """`zip(*self)`."""
        return tuple(column.copy() for column in self.columns)

    def as_tensor(self, dtype: Any) -> Any:
        from .grown import tensor

        if not all(isinstance(column, (Grown, Table)) and column.kind is not torch.Tensor for column in self.columns):
            raise NoBothSides("a list of tuples with tensors is made a tensor", self.line)
        made = [tensor(column, dtype) for column in self.columns]
        kind = made[0].dtype
        for one in made:
            kind = torch.promote_types(kind, one.dtype)
        return torch.stack([one.to(kind) for one in made], 1)


def is_element(value: Any, is_leaf: Any) -> bool:
    """Whether lists of loops may have a value as their element."""
    if isinstance(value, Grown) or type(value) is list:
        return isinstance(value, Grown) or all(map(is_leaf, value))
    return is_leaf(value) or isinstance(value, Array) or (is_tuple(value) and len(value) > 0 and all(is_element(item, is_leaf) for item in value))


def long_list(elements: list[Any], example: Any, key: Any, wishes: dict[Any, Any], size_of: Any, line: Any) -> Long:
    """A list that turns or sides make longer.

    `example` is an element of it, and `size_of` gives the size of an axis of the example as it is before the list has any.

    Raises:
        NoBothSides: The elements are of several types.
    """
    found = _empty(example, key, wishes, size_of, line)
    return found.of(elements) if elements else found


def _empty(example: Any, key: Any, wishes: dict[Any, Any], size_of: Any, line: Any) -> Long:
    found: Any
    if is_tuple(example) and len(example):
        found = Table([_empty(item, (*key, place), wishes, size_of, line) for place, item in enumerate(example)], example, line)
    elif isinstance(example, Grown) or (type(example) is list and example):
        from .listed import of_lists

        item = example.example() if isinstance(example, Grown) else example[0]
        found = of_lists(_empty(item, (*key, "in"), wishes, size_of, line), line)
    elif isinstance(example, Array):
        found = _empty(example.tensor, key, {}, size_of, line)
        found.kind, found.key = Array, None  # they have one size
        return found
    elif isinstance(example, torch.Tensor):
        shape, dim = tuple(actual(example).shape), wishes.get(key)
        sizes = [0 if axis == dim else size_of(axis, size, key) for axis, size in enumerate(shape)]
        rows = torch.full(sizes if dim is not None else [0, *sizes], 0, dtype=example.dtype, device=example.device)
        plain_axes = [axis for axis, size in enumerate(sizes) if type(size) is int]
        if dim is None and len(plain_axes) == 1:
            wishes[_PLAIN, key] = plain_axes[0]
        found = Grown(rows, torch.Tensor, line) if dim is None else Ragged(rows, torch.full([0], 0, dtype=torch.int64), dim, line)
    else:
        kind = type(plain(example))
        if kind not in DTYPES:
            raise NoBothSides(f"a list of a loop or branch has elements that are no tensors and no numbers ({kind.__name__})", line)
        found = Grown(torch.full([0], 0, dtype=DTYPES[kind]), kind, line)
    found.wishes, found.key = wishes, key
    return found  # type: ignore[no-any-return]


def wish_ragged(wishes: dict[Any, Any]) -> None:
    """Lets lists be ragged whose elements had one size in all runs: it may be another one at other inputs."""
    for key, axis in list(wishes.items()):
        if key[0] == _PLAIN:
            wishes.setdefault(key[1], axis)


def note_kind(values: Any, key: Any, wishes: dict[Any, Any]) -> None:
    """Lets the list with a key be of the same kind as this one."""
    if isinstance(values, Ragged):
        wishes.setdefault(key, values.dim)
    elif isinstance(values, Table):
        for place, column in values.parts.items():
            note_kind(column, (*key, place), wishes)
    elif isinstance(values, Compound):
        note_kind(values.parts.get("values"), key, wishes)


__all__ = ["Ragged", "Table", "is_element", "long_list", "note_kind", "wish_ragged"]
