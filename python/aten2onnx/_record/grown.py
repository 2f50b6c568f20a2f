"""Lists that are as long as the turns of a loop or the sides of branches say: their elements are the rows of one tensor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch

from .loops import Walkable
from .numbers import number_of, plain
from .tensors import Tracked, sizes_of
from .turns import NoBothSides

aten = torch.ops.aten
#: The types of tensors of numbers.
DTYPES = {int: torch.int64, float: torch.float64, bool: torch.bool}


class Grown(list):  # type: ignore[type-arg]
    """A list whose elements are rows of a tensor, or numbers in one. PyTorch sees an empty list: its functions are told of it before.

    Attributes:
        rows: The tensor.
        kind: `torch.Tensor`, or the type of the numbers.
        dim: None; or, of tensors with other sizes, the dimension that they are joined along.
        line: The line of the branch or loop.
    """

    def __init__(self, rows: Any, kind: type, dim: int | None, line: Any) -> None:
        super().__init__()
        self.rows, self.kind, self.dim, self.line = rows, kind, dim, line
        #: How lists are read in other runs, and the key of this one.
        self.wishes: dict[Any, Any] = {}
        self.key: Any = None

    def like(self, rows: Any) -> Grown:
        made = Grown(rows, self.kind, self.dim, self.line)
        made.wishes, made.key = self.wishes, self.key
        return made

    def row_of(self, element: Any) -> Any:
        """An element as a tensor that the others are joined with."""
        if self.kind is torch.Tensor:
            if not isinstance(element, torch.Tensor) or element.dtype != self.rows.dtype:
                raise self._other()
            if self.dim is not None:
                return element
            return element.unsqueeze(0)
        if not _is_of(element, self.kind):
            raise self._other()
        return torch.scalar_tensor(element, dtype=DTYPES[self.kind]).unsqueeze(0)

    def _other(self) -> NoBothSides:
        return NoBothSides("a list of a loop or branch has elements of other types", self.line)

    def _check(self) -> None:
        if self.dim is not None:
            self.wishes[self.key] = None
            raise NoBothSides("a list of tensors of other sizes is read in another way than by `torch.cat`", self.line)

    @property
    def count(self) -> Any:
        self._check()
        return sizes_of(self.rows)[0] if isinstance(self.rows, Tracked) else self.rows.shape[0]

    def added(self, rows: list[Any]) -> Any:
        parts = [self.rows, *rows]
        dim = self.dim or 0
        rest = [[size for axis, size in enumerate(part.shape) if axis != dim] for part in (getattr(one, "actual", one) for one in parts)]
        if any(sizes != rest[0] for sizes in rest) and not any(0 in getattr(part, "actual", part).shape for part in parts):
            raise OtherSizes(self, rows[0])
        return torch.cat(parts, dim)

    def example(self) -> Any:
        """Something of the type of its elements."""
        if self.kind is not torch.Tensor:
            return self.kind(0)
        rows = getattr(self.rows, "actual", self.rows)
        return rows.new_zeros(rows.shape if self.dim is not None else rows.shape[1:])

    # What a list does.
    def append(self, element: Any) -> None:
        self.rows = self.added([self.row_of(element)])

    def extend(self, elements: Iterable[Any]) -> None:
        if isinstance(elements, Grown):
            self.rows = self.added([elements.rows])
            return
        rows = [self.row_of(element) for element in elements]
        if rows:
            self.rows = self.added(rows)

    def insert(self, index: Any, element: Any) -> None:
        if type(index) is not int or index != 0:
            raise NoBothSides("an element is put into the middle of a list of a loop", self.line)
        rows = self.rows
        self.rows = torch.cat([self.row_of(element), rows], self.dim or 0)

    def pop(self, index: Any = -1) -> Any:
        found = self[index]
        if type(index) is not int or index not in (0, -1):
            raise NoBothSides("an element is taken out of the middle of a list of a loop", self.line)
        self.rows = aten.slice.Tensor(self.rows, 0, 1) if index == 0 else aten.slice.Tensor(self.rows, 0, 0, self.count - 1)
        return found

    def clear(self) -> None:
        self.rows = aten.slice.Tensor(self.rows, 0, 0, 0)

    def reverse(self) -> None:
        self._check()
        self.rows = self.rows.flip(0)

    def copy(self) -> Grown:
        return self.like(self.rows)

    def __iadd__(self, elements: Any) -> Any:
        self.extend(elements)
        return self

    def __add__(self, elements: Any) -> Any:
        made = self.copy()
        made.extend(elements)
        return made

    def __radd__(self, elements: Any) -> Any:
        self._check()
        rows = [self.row_of(element) for element in elements]
        return self.like(torch.cat([*rows, self.rows])) if rows else self.copy()

    def element(self, index: Any) -> Any:
        self._check()
        row = aten.select.int(self.rows, 0, index)
        return row if self.kind is torch.Tensor else row.item()

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            self._check()
            if index.step is not None and index.step < 0:
                if index.step != -1 or index.start is not None or index.stop is not None:
                    raise NoBothSides("a list of a loop is read backwards in part", self.line)
                return self.like(self.rows.flip(0))
            return self.like(self.rows[index])
        return self.element(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._check()
        rows = self.rows.clone()
        rows[index] = value
        self.rows = rows

    def __len__(self) -> int:
        return int(self.count)

    def __bool__(self) -> bool:
        return bool(self.count != 0)

    def __iter__(self) -> Iterator[Any]:
        return (self.element(index) for index in range(int(self.count)))

    def __reversed__(self) -> Iterator[Any]:
        return iter(self.like(self.rows.flip(0)))

    def __contains__(self, value: Any) -> bool:
        raise NoBothSides("`in` of a list of a loop", self.line)

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__  # type: ignore[assignment]


class OtherSizes(Exception):
    """An element has other sizes than those before it."""

    def __init__(self, values: Grown, row: Any) -> None:
        super().__init__("a list has elements of other sizes")
        self.values = values
        shapes = [tuple(getattr(one, "actual", one).shape) for one in (values.rows, row)]
        first = 0 if values.dim is not None else 1
        differing = [axis - first for axis in range(first, min(map(len, shapes))) if shapes[0][axis] != shapes[1][axis]] if len(shapes[0]) == len(shapes[1]) else []
        #: The dimension that differs, if it is one.
        self.dim = differing[0] if len(differing) == 1 and values.dim is None else None


def _is_of(element: Any, kind: type) -> bool:
    number = number_of(element)
    return type(plain(element)) is kind if number is not None or type(element) in DTYPES else False


def grown(elements: list[Any], example: Any, dim: int | None, size_of: Any, line: Any) -> Grown:
    """A list as rows. `example` is an element of it, and `size_of` gives the size of an axis of the example as it is before the list has any.

    Raises:
        NoBothSides: The elements are of several types.
    """
    kind = torch.Tensor if isinstance(example, torch.Tensor) else type(plain(example))
    if kind is not torch.Tensor and kind not in DTYPES:
        raise NoBothSides(f"a list of a loop or branch has elements that are no tensors and no numbers ({kind.__name__})", line)
    if kind is torch.Tensor:
        shape = tuple(getattr(example, "actual", example).shape)
        sizes = [0 if axis == dim else size_of(axis, size) for axis, size in enumerate(shape)]
        rows = torch.full(sizes if dim is not None else [0, *sizes], 0, dtype=example.dtype, device=example.device)
    else:
        rows = torch.full([0], 0, dtype=DTYPES[kind])
    found = Grown(rows, kind, dim, line)
    if not elements:
        return found
    made = [found.row_of(element) for element in elements]
    shapes = [getattr(row, "actual", row).shape for row in made]
    if dim is None and any(shape != shapes[0] for shape in shapes):
        other = next(row for row, shape in zip(made, shapes) if shape != shapes[0])
        raise OtherSizes(found.like(made[0]), other)
    return found.like(torch.cat(made, dim or 0))


# Functions of PyTorch.
def _normal(dim: int, rank: int) -> int:
    return dim + rank if dim < 0 else dim


def stack(tensors: Any, dim: int = 0, **rest: Any) -> Any:
    if isinstance(tensors, Walkable) and not rest:
        from .walks import joined

        return joined(tensors, dim, True)
    if not isinstance(tensors, Grown) or tensors.kind is not torch.Tensor or rest:
        return NotImplemented
    tensors._check()
    rank = tensors.rows.dim()
    dim = _normal(dim, rank)
    return tensors.rows.movedim(0, dim).clone() if dim else tensors.rows.clone()


def cat(tensors: Any, dim: int = 0, **rest: Any) -> Any:
    dim = rest.pop("axis", dim)
    if isinstance(tensors, Walkable) and not rest:
        from .walks import joined

        return joined(tensors, dim, False)
    if not isinstance(tensors, Grown) or tensors.kind is not torch.Tensor or rest:
        return NotImplemented
    if tensors.dim is not None:
        if _normal(dim, tensors.rows.dim()) != tensors.dim:
            tensors._check()
        return tensors.rows.clone()
    dim = _normal(dim, tensors.rows.dim() - 1)
    if tensors.key is not None and tensors.key not in tensors.wishes:
        tensors.wishes[tensors.key] = dim  # its elements may have other sizes at other inputs
        raise NoBothSides("a list is joined by `torch.cat`", tensors.line)
    return (tensors.rows.movedim(0, dim) if dim else tensors.rows).flatten(dim, dim + 1).clone()


def tensor(data: Any, dtype: Any = None, **_: Any) -> Any:
    if not isinstance(data, Grown):
        return NotImplemented
    data._check()
    if dtype is None and data.kind is float:
        dtype = torch.get_default_dtype()
    return data.rows.clone() if dtype is None else data.rows.to(dtype)


def _stacked_rows(function: Any) -> Any:
    def call(tensors: Any, **rest: Any) -> Any:
        return NotImplemented if not isinstance(tensors, Grown) or rest else function(tensors)

    return call


FUNCTIONS: dict[Any, Any] = {
    torch.stack: stack,
    **{function: cat for function in (torch.cat, torch.concat, torch.concatenate)},
    torch.vstack: _stacked_rows(lambda tensors: stack(tensors) if tensors.rows.dim() == 2 else cat(tensors)),
    torch.hstack: _stacked_rows(lambda tensors: cat(tensors, 0 if tensors.rows.dim() == 2 else 1)),
}

__all__ = ["DTYPES", "FUNCTIONS", "Grown", "OtherSizes", "grown", "tensor"]
