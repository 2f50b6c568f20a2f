"""Python's functions that loops walk with: `range`, `enumerate`, `zip` and `reversed`, over as many elements as a size says, and the rows of tensors."""

from __future__ import annotations

import builtins
import re
from functools import partial
from typing import Any

import torch

from .arrays import Array, number_in
from .chunks import count_of_chunks, is_only_at_one, length_of_chunk
from .deques import items_of
from .long import Long
from .kinds import Kind
from .keys import check_keys
from .loops import Walkable
from .numbers import number_of, plain
from .places import line_of_model
from .ranges import Numbers, Range, is_listed
from .recorder import Recorder, Unrecorded
from .tensors import Tracked, sizes_of
from .turns import is_unpacked

aten = torch.ops.aten

#: Functions that take one element after the other.
_WALKING = re.compile(r"\b(map|filter|reduce|accumulate|pairwise|islice|takewhile|product|combinations|sorted|enumerate|zip)\(")


def _is_rolled() -> bool:
    """Whether the loop on the line that is running is noted turn by turn."""
    recorder = Recorder.current
    if recorder is not None and recorder.structure is not None:
        return True
    if recorder is None or recorder.loops is None or not recorder.loops.lines:
        return False
    line = line_of_model()
    return line is not None and line.place in recorder.loops.lines


class _Range(Kind):
    """The class `range` as a model sees it."""

    def __call__(cls, *args: Any) -> Any:
        args = tuple(map(number_in, args))
        if not any(isinstance(arg, torch.SymInt) for arg in args):
            return builtins.range(*args)
        start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1) if len(args) == 2 else args
        if isinstance(step, torch.SymInt) and not _is_natural(step):
            return builtins.range(*args)
        if is_listed():
            return Numbers(start, step, count_of_range(start, stop, step))
        if not _is_rolled():
            return Range(start, stop, step, count_of_range(start, stop, step))
        found = Walkable(_recorder(), count_of_range(start, stop, step), partial(_number_at, start, step))
        found.ends = (start, step)
        return found


def _number_at(start: Any, step: Any, turn: Any) -> Any:
    """The number of a range at a place."""
    moved = turn if type(step) is int and step == 1 else turn * step
    return moved if isinstance(start, int) and start == 0 else start + moved


def total_of(values: Any) -> Any:
    """The sum of the numbers of a range; None of anything else."""
    if isinstance(values, Range):
        start, step, count = values.start, values.step, values.length
    elif isinstance(values, Walkable) and values.ends is not None:
        (start, step), count = values.ends, values.count
    else:
        return None
    return count * (2 * start + step * (count - 1)) // 2


class range_(metaclass=_Range):
    real = builtins.range
    others = (Range,)


def _recorder() -> Recorder:
    assert Recorder.current is not None  # noqa: S101
    return Recorder.current


def _is_natural(step: Any) -> bool:
    number = number_of(step)
    return number is not None and number.is_natural()


def count_of_range(start: Any, stop: Any, step: Any) -> Any:
    is_up = isinstance(step, torch.SymInt) or step > 0
    whole = stop - start if is_up else start - stop
    step = step if is_up else -step
    count = whole if type(step) is int and step == 1 else (whole + step - 1) // step
    number = number_of(count)
    return count if number is not None and number.function == "size" else torch.sym_max(count, 0)


def rows_of(value: Any) -> Any:
    """Something that a loop walks over turn by turn; None if it is walked over as always."""
    value = items_of(value)
    check_keys(value)
    if isinstance(value, Started):
        return value.rest()
    if isinstance(value, Walkable):
        return value
    if isinstance(value, Long):
        return Walkable(_recorder(), value.count, value.element)
    if isinstance(value, Array) and isinstance(value.tensor, Tracked):
        walked = rows_of(value.tensor)
        return None if walked is None else Walkable(walked.recorder, walked.count, lambda turn: _element_of(walked.make(turn)))
    if isinstance(value, Tracked) and value.actual.dim() > 0 and _is_walkable(sizes_of(value)[0]) and _is_rolled():
        return rows(value, 0)
    if type(value) is builtins.range and _is_walkable(len(value)):
        start, step = value.start, value.step
        return Walkable(_recorder(), len(value), lambda turn: turn if (start, step) == (0, 1) else start + turn * step)
    return None


def _element_of(row: Any) -> Any:
    """An element of an array: a number, or an array of one dimension less."""
    return row.item() if row.dim() == 0 else Array(row)


def iterated_array(array: Any) -> Any:
    """`iter(array)`."""
    walked = rows_of(array)
    if walked is not None:
        return iter(walked)
    tensor = array.tensor
    if isinstance(tensor, Tracked):
        note_line(tensor, 0)
    return map(_element_of, torch.unbind(tensor))


def _is_walkable(size: Any) -> bool:
    """Whether a loop over so many elements may become a Loop: their number is another one at other inputs, or large enough for `roll`."""
    if isinstance(size, torch.SymInt):
        return True
    recorder = Recorder.current
    roll = None if recorder is None or recorder.structure is None else recorder.structure.turns.roll
    return roll is not None and size >= roll


def rows(tensor: Tracked, axis: int) -> Walkable:
    """The slices of a tensor along an axis."""
    found = Walkable(_recorder(), sizes_of(tensor)[axis], lambda turn: tensor.select(axis, turn))
    found.whole = (tensor, axis, True)
    return found


def _enumerate(values: Any, start: Any = 0) -> Any:
    walked = rows_of(values)
    if walked is None:
        return builtins.enumerate(values, start)
    return Walkable(walked.recorder, walked.count, lambda turn: (turn + start if isinstance(start, torch.SymInt) or start != 0 else turn, walked.make(turn)))


def _zip(*values: Any, strict: bool = False) -> Any:
    walked = [rows_of(value) for value in values]
    if all(one is None for one in walked) or not all(one is not None or isinstance(value, (list, tuple)) for one, value in builtins.zip(walked, values)):
        return builtins.zip(*values, strict=strict)
    counts = [len(value) if one is None else one.count for one, value in builtins.zip(walked, values)]
    count: Any = next((count for count in counts if isinstance(count, torch.SymInt)), None)
    if count is None:
        if None in walked or (strict and len(set(counts)) > 1):  # elements of a list may be anything
            return builtins.zip(*values, strict=strict)
        count = min(counts)
    for other in counts:
        if other is not count and not _is_same(other, count):
            count = torch.sym_min(count, other)
    makes = [(lambda turn, value=value: value[plain(turn)]) if one is None else one.make for one, value in builtins.zip(walked, values)]
    return Walkable(_recorder(), count, lambda turn: tuple(make(turn) for make in makes))


def _is_same(one: Any, other: Any) -> bool:
    a, b = number_of(one), number_of(other)
    return a is not None and b is not None and a.function == b.function == "size" and a.operands == b.operands


def _reversed(values: Any) -> Any:
    walked = rows_of(values) if isinstance(items_of(values), (Walkable, Long)) else None
    if walked is None:
        return builtins.reversed(values)
    return Walkable(walked.recorder, walked.count, lambda turn: walked.make(walked.count - 1 - turn))


class Started(Walkable):
    """An iterator: what is left of something that a loop can walk over, after its first elements were taken."""

    def __init__(self, walked: Any) -> None:
        super().__init__(walked.recorder, walked.count, walked.make)
        self.is_over = False

    def taken(self) -> Any:
        """The next element."""
        self._check()
        found, make = self.make(0), self.make
        self.count, self.make = self.count - 1, lambda turn: make(turn + 1)  # type: ignore[method-assign]
        return found

    def rest(self) -> Walkable:
        """All other elements. There is none after them."""
        self._check()
        self.is_over = True
        return Walkable(self.recorder, self.count, self.make)

    def _check(self) -> None:
        if self.is_over:
            raise Unrecorded("an iterator is read again after a loop has walked over it", line_of_model())

    def __iter__(self) -> Any:
        return builtins.iter(self.rest())


def _started(values: Any, *rest: Any) -> Any:
    walked = None if rest else rows_of(values)
    return builtins.iter(values, *rest) if walked is None else Started(walked)


def _next(values: Any, *default: Any) -> Any:
    if not isinstance(values, Started):
        return builtins.next(values, *default)
    if default:
        raise Unrecorded("`next` of an iterator has a value for where there is no element", line_of_model())
    return values.taken()


#: What a model sees under these names while it is recorded.
WALKS = {"range": range_, "enumerate": _enumerate, "zip": _zip, "reversed": _reversed, "iter": _started, "next": _next}


# Functions of PyTorch.
def _iter(tensor: Any) -> Any:
    if not isinstance(tensor, Tracked) or tensor.actual.dim() == 0:
        return NotImplemented
    walked = rows_of(tensor)
    if walked is None:
        note_line(tensor, 0)
        return NotImplemented
    return iter(walked)


def note_line(tensor: Tracked, axis: int) -> None:
    """Notes the line of a loop over as many slices as there are in this run."""
    line = line_of_model()
    size = sizes_of(tensor)[axis]
    if not isinstance(size, torch.SymInt):
        return
    if line is not None:
        tensor.recorder.walked.append(line)
        tensor.recorder.turns_made.append((line, tensor.actual.shape[axis]))
    number = number_of(size)
    if tensor.actual.shape[axis] == 0 and number is not None:  # no call and no branch tells of slices that are not there
        tensor.recorder.require(number, "int", line, line is not None)


def _is_walked() -> bool:
    """Whether the line that is running goes on with a list in a way that a loop may: `torch.cat(x.split(2))` needs a list itself."""
    line = line_of_model()
    if line is None or is_unpacked(*line.place):
        return False
    return _is_rolled() and (" for " in line.text or line.text.startswith("for ") or " = " in line.text or _WALKING.search(line.text) is not None)


def _unbind(tensor: Any, dim: int = 0) -> Any:
    if not isinstance(tensor, Tracked) or tensor.actual.dim() == 0 or not _is_walkable(sizes_of(tensor)[dim]):
        return NotImplemented
    if not _is_walked():
        note_line(tensor, dim)
        return NotImplemented
    return rows(tensor, dim)


def _split(tensor: Any, size: Any, dim: int = 0) -> Any:
    if isinstance(size, (list, tuple)) or not _is_cut(tensor):
        return NotImplemented
    whole = sizes_of(tensor)[dim]
    return _pieces(tensor, dim, (whole + size - 1) // size, _ends_of(size, whole))


def _chunk(tensor: Any, chunks: Any, dim: int = 0) -> Any:
    if not _is_cut(tensor) or is_only_at_one(chunks):
        return NotImplemented
    whole = sizes_of(tensor)[dim]
    size = length_of_chunk(whole, chunks)
    return _pieces(tensor, dim, count_of_chunks(whole, chunks), _ends_of(size, whole))


def _tensor_split(tensor: Any, sections: Any, dim: int = 0) -> Any:
    if not isinstance(sections, torch.SymInt) or not _is_cut(tensor):
        return NotImplemented
    whole = sizes_of(tensor)[dim]
    begin = lambda turn: turn * (whole // sections) + torch.sym_min(turn, whole % sections)  # noqa: E731
    return _pieces(tensor, dim, sections, lambda turn: (begin(turn), begin(turn + 1)))


def _is_cut(tensor: Any) -> bool:
    """Whether a loop may go over the pieces of a tensor."""
    return isinstance(tensor, Tracked) and tensor.actual.dim() > 0 and _is_walked()


def _ends_of(size: Any, whole: Any) -> Any:
    """Where each piece of this size begins and ends; the last one may be shorter."""
    return lambda turn: (turn * size, torch.sym_min((turn + 1) * size, whole))


def _pieces(tensor: Tracked, dim: int, count: Any, ends: Any) -> Any:
    """The pieces of a tensor along a dimension. `ends` says where each begins and ends."""
    if not isinstance(count, torch.SymInt):
        return NotImplemented
    found = Walkable(_recorder(), count, lambda turn: aten.slice.Tensor(tensor, dim, *ends(turn)))
    found.whole = (tensor, dim, False)
    return found


def joined(tensors: Any, dim: int, is_stack: bool) -> Any:
    """All parts of a tensor as one again; NotImplemented of others."""
    if not isinstance(tensors, Walkable) or tensors.whole is None:
        return NotImplemented
    tensor, axis, is_rows = tensors.whole
    rank = tensor.actual.dim()
    if is_stack is not is_rows or (dim + rank) % rank != (axis + rank) % rank:
        return NotImplemented
    return tensor.clone()


def numbers_of(tensor: Tracked) -> Any:
    """The elements of a tensor of one dimension, as `tolist` gives them; None if it is to make a list."""
    if tensor.actual.dim() != 1 or not isinstance(sizes_of(tensor)[0], torch.SymInt) or not _is_rolled():
        return None
    return Walkable(_recorder(), sizes_of(tensor)[0], lambda turn: tensor.select(0, turn).item())


FUNCTIONS: dict[Any, Any] = {
    torch.Tensor.__iter__: _iter,
    torch.Tensor.unbind: _unbind,
    torch.unbind: _unbind,
    torch.Tensor.split: _split,
    torch.split: _split,
    torch.Tensor.chunk: _chunk,
    torch.chunk: _chunk,
    torch.Tensor.tensor_split: _tensor_split,
    torch.tensor_split: _tensor_split,
}

__all__ = ["FUNCTIONS", "WALKS", "count_of_range", "iterated_array", "note_line", "numbers_of", "rows_of", "total_of"]
