"""Lists that are as long as the turns of a loop or the sides of branches say: their elements are the rows of one tensor."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from .arrays import Array
from .long import Compound, Long
from .loops import Walkable
from .numbers import number_of, plain
from .tensors import Tracked, sizes_of
from .turns import NoBothSides

aten = torch.ops.aten
#: The types of tensors of numbers.
DTYPES = {int: torch.int64, float: torch.float64, bool: torch.bool}


class Grown(Long):
    """A list whose elements are rows of a tensor, or numbers in one.

    Attributes:
        rows: The tensor.
        kind: `torch.Tensor`, the class of arrays, or the type of the numbers.
    """

    def __init__(self, rows: Any, kind: type, line: Any) -> None:
        super().__init__()
        self.rows, self.kind, self.line = rows, kind, line
        self.wishes: dict[Any, Any] = {}
        self.key: Any = None

    def like(self, rows: Any) -> Grown:
        made = Grown(rows, self.kind, self.line)
        made.wishes, made.key = self.wishes, self.key
        return made

    def row_of(self, element: Any) -> Any:
        """An element as a tensor that the others are joined with."""
        tensor = self.tensor_of(element)
        if tensor is None or tensor.dtype != self.rows.dtype:
            raise self.other()
        return tensor.unsqueeze(0)

    def tensor_of(self, element: Any) -> Any:
        """An element as a tensor; None for one of another kind."""
        if self.kind is Array:
            return element.tensor if isinstance(element, Array) else None
        if self.kind is torch.Tensor:
            return element if isinstance(element, torch.Tensor) else None
        return torch.scalar_tensor(element, dtype=DTYPES[self.kind]) if is_of(element, self.kind) else None

    @property
    def count(self) -> Any:  # type: ignore[override]
        return sizes_of(self.rows)[0] if isinstance(self.rows, Tracked) else self.rows.shape[0]

    def of(self, elements: list[Any]) -> Grown:
        rows = [self.row_of(element) for element in elements]
        self._check_sizes(rows, [actual(row).shape[1:] for row in rows])
        return self.like(torch.cat(rows))

    def joined(self, others: list[Any]) -> Grown:
        parts = [self.rows, *(other.rows for other in others)]
        if any(part.dtype != self.rows.dtype for part in parts):
            raise self.other()
        self._check_sizes(parts, [actual(part).shape[1:] for part in parts])
        return self.like(torch.cat(parts))

    def _check_sizes(self, rows: list[Any], sizes: list[Any]) -> None:
        """Raises OtherSizes if elements have several sizes."""
        if sizes and any(one != sizes[0] for one in sizes):
            raise OtherSizes(self, sizes)

    def example(self) -> Any:
        if self.kind not in (torch.Tensor, Array):
            return self.kind(0)
        rows = actual(self.rows)
        with _disable_current_modes():
            row = rows.new_zeros(rows.shape[1:])
        return row if self.kind is torch.Tensor else Array(row)

    def element(self, index: Any) -> Any:
        row = aten.select.int(self.rows, 0, index)
        if self.kind is Array:
            return Array(row)
        return row if self.kind is torch.Tensor else row.item()

    def index(self, value: Any, *limits: Any) -> Any:
        """The place of the first number that is equal to one."""
        if self.kind in (torch.Tensor, Array) or limits:
            raise NoBothSides("`index` of a list of a loop", self.line)
        is_equal = self.rows == value
        # Python raises an error where none is: a check, as the model's own ones are.
        aten._assert_async.msg(is_equal.any(), "the number is not in the list")
        return is_equal.to(torch.int64).argmax().item()

    def sliced(self, start: Any, stop: Any) -> Grown:
        return self.like(aten.slice.Tensor(self.rows, 0, start, stop))

    def stepped(self, index: slice) -> Grown:
        return self.like(self.rows[index])

    def taken(self, order: Any) -> Grown:
        return self.like(self.rows[order])

    def flipped(self) -> Grown:
        return self.like(self.rows.flip(0))

    def copy(self) -> Grown:
        return self.like(self.rows)

    def become(self, other: Any) -> None:
        self.rows = other.rows

    def blank(self, count: Any) -> Grown:
        sizes = sizes_of(self.rows) if isinstance(self.rows, Tracked) else list(self.rows.shape)
        return self.like(torch.full([count, *sizes[1:]], 0, dtype=self.rows.dtype, device=self.rows.device))

    def set(self, index: Any, value: Any) -> None:
        if self.kind in (torch.Tensor, Array):
            row = self.row_of(value)
            self._check_sizes([self.rows, row], [actual(one).shape[1:] for one in (self.rows, row)])
        rows = self.rows.clone()
        rows[index] = value.tensor if isinstance(value, Array) else value
        self.rows = rows

    # What PyTorch's functions make of it.
    def stacked(self, dim: int) -> Any:
        dim = normal(dim, self.rows.dim())
        return self.rows.movedim(0, dim).clone() if dim else self.rows.clone()

    def concatenated(self, dim: int) -> Any:
        dim = normal(dim, self.rows.dim() - 1)
        self.wish_ragged(dim)
        return (self.rows.movedim(0, dim) if dim else self.rows).flatten(dim, dim + 1).clone()

    def wish_ragged(self, dim: int) -> None:
        """Elements that are joined along a dimension may have other sizes at other inputs."""
        if self.key is not None and self.key not in self.wishes:
            self.wishes[self.key] = dim
            raise NoBothSides("a list is joined by `torch.cat`", self.line)

    def padded(self, batch_first: bool, value: float, side: str) -> Any:
        self.wish_ragged(0)
        return self.rows.clone() if batch_first else self.rows.transpose(0, 1).contiguous()


def actual(tensor: Any) -> Any:
    """A tensor with its elements."""
    return getattr(tensor, "actual", tensor)


def normal(dim: int, rank: int) -> int:
    return dim + rank if dim < 0 else dim


class OtherSizes(NoBothSides):
    """An element has other sizes than those before it.

    Attributes:
        is_new: Whether the list is another one in the next run, for that reason.
    """

    def __init__(self, values: Any, sizes: list[Any]) -> None:
        super().__init__("a list of a loop or branch has elements of other sizes, in more than one dimension", values.line)
        self.key = values.key
        differing = [axis for axis in range(len(sizes[0])) if len({size[axis] for size in sizes}) > 1] if len(set(map(len, sizes))) == 1 else []
        self.is_new = values.key is not None and len(differing) == 1 and values.wishes.get(values.key, -1) == -1
        if self.is_new:
            values.wishes[values.key] = differing[0]


def is_of(element: Any, kind: type) -> bool:
    number = number_of(element)
    return type(plain(element)) is kind if number is not None or type(element) in DTYPES else False


# Functions of PyTorch.
def _is_of_tensors(tensors: Any) -> bool:
    return isinstance(tensors, Long) and hasattr(tensors, "stacked") and getattr(tensors, "kind", None) is torch.Tensor


def stack(tensors: Any, dim: int = 0, **rest: Any) -> Any:
    if isinstance(tensors, Walkable) and not rest:
        from .walks import joined

        return joined(tensors, dim, True)
    return NotImplemented if rest or not _is_of_tensors(tensors) else tensors.stacked(dim)


def cat(tensors: Any, dim: int = 0, **rest: Any) -> Any:
    dim = rest.pop("axis", dim)
    if isinstance(tensors, Walkable) and not rest:
        from .walks import joined

        return joined(tensors, dim, False)
    return NotImplemented if rest or not _is_of_tensors(tensors) else tensors.concatenated(dim)


_PAD = torch.nn.utils.rnn.pad_sequence


def pad_sequence(sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right") -> Any:
    """PyTorch's own makes a tuple of the list first."""
    if _is_of_tensors(sequences):
        return sequences.padded(batch_first, padding_value, padding_side)
    return _PAD(sequences, batch_first, padding_value, padding_side)


def tensor(data: Any, dtype: Any = None, **rest: Any) -> Any:
    if isinstance(data, Compound):
        return data.as_tensor(dtype) if hasattr(data, "as_tensor") else NotImplemented
    if not isinstance(data, Grown):
        return NotImplemented
    if dtype is None and data.kind is float:
        dtype = torch.get_default_dtype()
    return data.rows.clone() if dtype is None else data.rows.to(dtype)


def _by_rank(function: Any) -> Any:
    def call(tensors: Any, **rest: Any) -> Any:
        return NotImplemented if rest or not _is_of_tensors(tensors) else function(tensors, tensors.example().dim())

    return call


FUNCTIONS: dict[Any, Any] = {
    torch.stack: stack,
    **{function: cat for function in (torch.cat, torch.concat, torch.concatenate)},
    torch.vstack: _by_rank(lambda tensors, rank: stack(tensors) if rank == 1 else cat(tensors)),
    torch.hstack: _by_rank(lambda tensors, rank: cat(tensors, 0 if rank == 1 else 1)),
}

__all__ = ["DTYPES", "FUNCTIONS", "Grown", "OtherSizes", "actual", "is_of", "normal", "pad_sequence", "tensor"]
