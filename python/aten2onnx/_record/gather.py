"""Lists of what each turn of a loop has made, which `torch.stack` and `torch.cat` read: they are the stacked results of the loop."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from .branches import Item, Step
from .recorder import Call
from .alike import Unalike
from .roll import Roller
from .rolling import Rolling
from .tensors import Value

aten = torch.ops.aten


class Part(NamedTuple):
    """Elements of a list: one value, or what the turns of a loop from one to another have made at some places."""

    value: Value | None
    rolling: Rolling | None = None
    places: tuple[Any, ...] = ()
    turns: tuple[int, int] = (0, 0)
    rows: Any = None
    is_backwards: bool = False


def gathered(roller: Roller, call: Call) -> Item:
    """The call of `stack` or `cat` with the results of loops in place of what their turns have made."""
    is_stack = call.function is aten.stack.default
    values = _with_scalars(roller, list(call.args[0])) if is_stack else list(call.args[0])
    if isinstance(values, Value):
        return Step(call._replace(function=aten.clone.default, args=(values,), kwargs={}))
    values = [_outermost(roller, value) for value in values]
    given = call.args[1] if len(call.args) > 1 else call.kwargs.get("dim", 0)
    rank = len(call.results.shape)
    dim = given + rank if given < 0 else given
    parts = [_tensor(roller, part, dim, is_stack, call) for part in _parts(roller, values)]
    if len(parts) == 1:
        return Step(call._replace(function=aten.clone.default, args=(parts[0],), kwargs={}))
    return Step(call._replace(function=aten.cat.default, args=(parts, dim), kwargs={}))


def _parts(roller: Roller, values: list[Any]) -> list[Part]:
    found: list[Part] = []
    position = 0
    while position < len(values):
        owner = roller.owner.get(id(roller.merger.canon(values[position])))
        part, length = (None, 1) if owner is None else _of_turns(roller, values[position:], owner[0])
        found.append(Part(values[position]) if part is None else part)
        position += length
    return found


def _with_scalars(roller: Roller, values: list[Any]) -> Any:
    """A list of values, or the result of a loop if it has a number of each turn of one."""
    steps = [roller.scalars.get(id(value)) for value in values]
    turns = [None if step is None else roller.turn_of(step.call.args[0]) for step in steps]
    first = turns[0]
    if first is None or len(values) < 2 or first[0].is_branched:
        return values
    rolling = first[0]
    if turns != [(rolling, number) for number in range(rolling.first, len(rolling.turns))]:
        return values
    for value in values:
        del roller.scalars[id(value)]
    return rolling.scalars([step.call for step in steps if step is not None])


def _outermost(roller: Roller, value: Any) -> Any:
    """A value of a loop in a turn as that turn has it."""
    while isinstance(value, Value):
        value = roller.merger.canon(value)
        owner = roller.owner.get(id(value))
        if owner is None or owner[0].depth == roller.depth:
            break
        value = roller.reference(value)
    return value


def _of_turns(roller: Roller, values: list[Any], rolling: Rolling) -> tuple[Part | None, int]:
    """The elements at the begin of a list that turns of a loop have made one after the other."""
    owners = []
    for value in values:
        owner = roller.owner.get(id(roller.merger.canon(value)))
        if owner is None or owner[0] is not rolling:
            break
        owners.append(owner)
    if rolling.is_branched:
        return _of_branched_turns(roller, values[: len(owners)], owners, rolling)
    first = owners[0][1]
    width = next((index for index, owner in enumerate(owners) if owner[1] != first), len(owners))
    groups = [owners[start : start + width] for start in range(0, len(owners) - width + 1, width)]
    places = tuple(owner[2] for owner in groups[0])
    step = groups[1][0][1] - first if len(groups) > 1 else 0
    count = 0
    for number, group in enumerate(groups):
        if any(owner[1] != first + step * number for owner in group) or tuple(owner[2] for owner in group) != places:
            break
        count += 1
    if count < 2 or step not in (1, -1):
        return None, 1
    return Part(None, rolling, places, (first, first + step * (count - 1))), count * width


def _of_branched_turns(roller: Roller, values: list[Any], owners: list[Any], rolling: Any) -> tuple[Part | None, int]:
    """The same where turns have branches: a name stands for what each turn has made. All turns must have made as many."""
    turns = [owner[1] for owner in owners]
    if len(values) == 1:
        return None, 1
    first, step = turns[0], 1 if turns[-1] >= turns[0] else -1
    width = turns.count(first)
    expected = [first + step * (index // width) for index in range(len(turns))]
    if turns != expected:
        raise Unalike("a list has what only some turns have made", rolling.loop.line)
    places = tuple(rolling.name_of([(turns[index], values[index]) for index in range(column, len(turns), width)], width - column) for column in range(width))
    low, high = min(first, turns[-1]), max(first, turns[-1])
    rows = rolling.rows_of(places[0], width)
    if rows is not None and low > rolling.first:
        raise Unalike("a list has what only some turns have made", rolling.loop.line)
    if rows is not None:
        return Part(None, rolling, places, (low, high), rows, step < 0), len(values)
    return Part(None, rolling, places, (first, turns[-1])), len(values)


def _tensor(roller: Roller, part: Part, dim: int, is_stack: bool, call: Call) -> Value:
    """A part as a tensor that the others are joined with along a dimension."""
    if part.rolling is None:
        value = roller.reference(part.value)
        return roller.add(aten.unsqueeze.default, value, dim, line=call.line) if is_stack else value
    stack = _stack(roller, part, dim, is_stack)
    first, last = part.turns
    rolling = part.rolling
    low, high = min(first, last) - rolling.first, len(rolling.turns) - 1 - max(first, last)
    if part.rows is not None:
        missing = part.rows.value - 1 - (max(first, last) - rolling.first)
        end = part.rows._binary("sub", missing, lambda a, b: a - b) if missing else part.rows
        stack = roller.add(aten.slice.Tensor, stack, 0, 0, end, line=call.line)
    elif low or high:
        stack = roller.add(aten.slice.Tensor, stack, 0, low, -high if high else (1 << 63) - 1, line=call.line)
    if last < first or part.is_backwards:
        stack = roller.add(aten.flip.default, stack, [0], line=call.line)
    rank = len(stack.shape)
    if is_stack and len(part.places) > 1:
        stack = roller.add(aten.flatten.using_ints, stack, 0, 1, line=call.line)
        rank -= 1
    order = [*range(1, dim + 1), 0, *range(dim + 1, rank)]
    if dim:
        stack = roller.add(aten.permute.default, stack, order, line=call.line)
    return stack if is_stack else roller.add(aten.flatten.using_ints, stack, dim, dim + 1, line=call.line)


def _stack(roller: Roller, part: Part, dim: int, is_stack: bool) -> Value:
    rolling = part.rolling
    assert rolling is not None  # noqa: S101
    if len(part.places) == 1:
        return rolling.stack(part.places[0])
    key = ("together", part.places, dim, is_stack)
    if key in rolling.stacks:
        return rolling.stacks[key]
    values = [rolling.made_at(place)[0] for place in part.places]
    for place, value in zip(part.places, values):
        if any(other.shape != value.shape for other in rolling.made_at(place)[1]):
            raise Unalike("what the turns make has other sizes in each of them", rolling.loop.line)
    function, args = (aten.stack.default, (values, 0)) if is_stack else (aten.cat.default, (values, dim))
    made = roller.value_of(function, args)
    rolling.item.items.append(Step(Call(function, args, {}, made, rolling.loop.line, {})))
    return rolling.stack(key, made)
