"""Chooses the dimensions that are dynamic where that is left to the model (`dynamic_shapes="auto"`, `Dim.AUTO`): those at which it runs with other sizes."""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils import _pytree as pytree

from .. import _capture, _dimensions, _shapes
from .fakes import IsFake, run_plainly, without_elements
from .places import Line, kind_of_file
from .runs import Axis, _resized, exporting

_log = logging.getLogger(__name__)

#: An axis of a leaf.
Place = tuple[int, int]


@dataclass
class Choice:
    """The dimensions that may be dynamic.

    Attributes:
        shapes: The dynamic dimensions as they were given, one for each leaf.
        tree: How they are put together.
        names: The name of each dimension that is left to the model.
        sizes: The sizes of the names in the example.
        sums: Names that are the sum of two others.
        notes: What is constant, and why.
    """

    shapes: list[Any]
    tree: Any
    names: dict[Place, str]
    sizes: dict[str, int]
    sums: dict[str, tuple[str, str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def with_names(self, chosen: list[str]) -> tuple[Any, dict[str, tuple[str, str]]]:
        """The dynamic dimensions with these names only, and the sums among them."""
        shapes = []
        for leaf, axes in enumerate(self.shapes):
            found = {axis: size for axis, size in _shapes.items(axes) if not _is_auto(size)}
            found |= {axis: name for (index, axis), name in self.names.items() if index == leaf and name in chosen}
            shapes.append(found or None)
        return pytree.tree_unflatten(shapes, self.tree), {name: parts for name, parts in self.sums.items() if {name, *parts} <= set(chosen)}


def _is_auto(size: Any) -> bool:
    return "AUTO" in str(size) and not isinstance(size, str)


def is_open(dynamic_shapes: Any) -> bool:
    """Whether a dimension is left to the model."""
    return any(_is_auto(size) for axes in _shapes.axes_of(dynamic_shapes) for _, size in _shapes.items(axes))


def choice(model: torch.nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any], dynamic_shapes: Any, is_fake: IsFake | None = None) -> Choice:
    """Runs a model at other sizes of each dimension that is left to it."""
    leaves, tree = pytree.tree_flatten((tuple(args), dict(kwargs)))
    named = _shapes.named_arguments(model, args, kwargs)
    names, values = _named_leaves(named, is_call="forward" in vars(model))
    shapes, shape_tree = pytree.tree_flatten(dynamic_shapes, is_leaf=_shapes._is_axes)
    if isinstance(dynamic_shapes, Mapping) and list(dynamic_shapes) != list(named):
        ordered = {name: dynamic_shapes.get(name) for name in named}
        shapes, shape_tree = pytree.tree_flatten(ordered, is_leaf=_shapes._is_axes)
    if len(shapes) != len(values):
        raise ValueError("the dynamic dimensions are not in the form of the arguments")
    # The leaves of a call are in the order of the call, and these in the order of the parameters.
    order = [next(index for index, leaf in enumerate(leaves) if leaf is value) for value in values]
    probe = _Probe(model, list(map(without_elements, leaves)), tree, order, is_fake)
    groups = _groups(names, values, shapes)
    found = Choice(shapes, shape_tree, {}, {})
    accepted = _accepted(probe, values, groups, found.notes, names)
    _name(found, accepted, names, values)
    return found


def _named_leaves(named: Mapping[str, Any], is_call: bool) -> tuple[list[str], list[Any]]:
    """The leaves with their names. A `Call`, which replaces `forward`, has named the tensors of objects already."""
    names: list[str] = []
    values: list[Any] = []
    for name, value in named.items():
        for path, leaf in pytree.tree_flatten_with_path(value)[0]:
            keys = [str(getattr(step, "key", getattr(step, "idx", step))) for step in path]
            own = is_call and len(keys) == 1 and isinstance(value, dict)
            names.append(keys[0] if own else ".".join([name, *keys]))
            values.append(leaf)
    return names, values


def _groups(names: list[str], values: list[Any], shapes: list[Any]) -> list[list[Place]]:
    """The dimensions that are left to the model. Those that are equal by their meaning are one."""
    places = [(leaf, axis) for leaf, axes in enumerate(shapes) for axis, size in _shapes.items(axes) if _is_auto(size) and isinstance(values[leaf], torch.Tensor)]
    group = {place: [place] for place in places}
    tensors = {name: value for name, value in zip(names, values) if isinstance(value, torch.Tensor)}
    for first, second, one, other in _dimensions.equal(tensors):
        a, b = (names.index(first), one), (names.index(second), other)
        if a in group and b in group and group[a] is not group[b]:
            group[a] += group[b]
            for place in group[a]:
                group[place] = group[a]
    found: list[list[Place]] = []
    for place in places:
        if not any(known is group[place] for known in found):
            found.append(group[place])
    return found


class _Probe:
    """Runs a model at other sizes, without recording it."""

    def __init__(self, model: torch.nn.Module, leaves: list[Any], tree: Any, order: list[int], is_fake: IsFake | None) -> None:
        self.is_fake = is_fake
        self.model, self.leaves, self.tree, self.order = model, leaves, tree, order
        self.error: Exception | None = None

    def runs(self, sizes: Mapping[Place, int]) -> bool:
        """Whether the model runs with these sizes in place of those of the example."""
        leaves = list(self.leaves)
        for (leaf, axis), size in sizes.items():
            place = self.order[leaf]
            leaves[place] = _resized(leaves[place], {axis: Axis("n")}, {"n": size})
        try:
            with exporting(), _capture.onnx_export_flag(), _capture.quiet():
                run_plainly(self.model, leaves, self.tree, self.is_fake)
        except Exception as error:  # whatever the model raises at sizes that it does not take
            self.error = error
            return False
        return True


def _accepted(probe: _Probe, values: list[Any], groups: list[list[Place]], notes: list[str], names: list[str]) -> list[list[Place]]:
    """The groups of dimensions with which the model runs at other sizes, some of them together."""
    size_of = lambda group: values[group[0][0]].shape[group[0][1]]  # noqa: E731
    sums = _sum_of(names, groups, values)
    total = sums[0] if sums else None
    accepted: list[list[Place]] = []
    left: list[tuple[list[Place], Exception | None]] = []
    for group in groups:
        if group is total:
            continue
        more = total if sums and group in sums[1:] and total is not None else []
        if _grows(probe, group, size_of(group), more, size_of(more) if more else 0):
            accepted.append(group)
        else:
            left.append((group, probe.error))
    if total is not None and all(part in accepted for part in sums[1:]):
        accepted.append(total)
    elif total is not None:
        left.append((total, probe.error))
    while left:
        group, error = left.pop(0)
        size = size_of(group)
        equal = lambda others: [other for other in others if size_of(other) == size and other is not total]  # noqa: E731
        partners = next((chosen for chosen in _partners(equal(accepted), equal([other for other, _ in left])) if _grows(probe, sum(chosen, group), size)), None)
        if partners is not None:
            left = [(other, why) for other, why in left if other not in partners]
            accepted = [other for other in accepted if other not in partners] + [sum(partners, []) + group]
        else:
            leaf, axis = group[0]
            notes.append(constant(f"The dimension {axis} of `{names[leaf]}`", size, f"the model does not run at another size: {_reason(error)}", line_of(error)))
    return accepted


def _partners(accepted: list[list[Place]], left: list[list[Place]]) -> Iterator[list[list[Place]]]:
    """What may grow together with a dimension, of those with its size: one, or all that do not grow alone, perhaps with one that does."""
    yield from ([other] for other in (*accepted, *left))
    if len(left) > 1:
        yield left
    if left:
        yield from ([other, *left] for other in accepted)


def _grows(probe: _Probe, group: list[Place], size: int, more: list[Place] = [], more_size: int = 0) -> bool:  # noqa: B006
    """Whether the model runs with larger sizes of a group, and with those of a sum that it is part of."""
    return any(
        probe.runs({place: wanted for place in group} | {place: more_size + wanted - size for place in more})
        for wanted in (size * 2, size + 1)
        if wanted > size
    )


def _sum_of(names: list[str], groups: list[list[Place]], values: list[Any]) -> list[list[Place]]:
    """The dimension of a mask over past and new tokens, that of the past, and that of the new ones; nothing if there is none."""
    found: dict[str, list[Place]] = {}
    for group in groups:
        leaf, axis = group[0]
        label = _label(names, values, leaf, axis)
        if label in ("total_sequence", "past_sequence", "sequence"):
            found.setdefault(label, group)
    if len(found) < 3:
        return []
    wanted = [found[label] for label in ("total_sequence", "past_sequence", "sequence")]
    sizes = [values[group[0][0]].shape[group[0][1]] for group in wanted]
    return wanted if sizes[0] == sizes[1] + sizes[2] else []


def _label(names: list[str], values: list[Any], leaf: int, axis: int) -> str:
    shapes = {name: value.shape for name, value in zip(names, values) if isinstance(value, torch.Tensor)}
    return _dimensions.axes(names[leaf], shapes)[axis]


def _name(found: Choice, accepted: list[list[Place]], names: list[str], values: list[Any]) -> None:
    """Gives the dimensions names by their meaning. Masks come last: their names are those of what they mask."""
    for group in sorted(accepted, key=lambda group: min((names[leaf].endswith("mask"), leaf, axis) for leaf, axis in group)):
        leaf, axis = min(group, key=lambda place: (names[place[0]].endswith("mask"), place))
        label = _label(names, values, leaf, axis)
        plain = re.sub(r"\W", "_", names[leaf])
        name = next(made for made in (label, f"{plain}_{label}", f"{plain}_{axis}_{label}", f"{plain}_{axis}_{len(found.sizes)}") if made not in found.sizes)
        found.sizes[name] = values[leaf].shape[axis]
        found.names |= {place: name for place in group}
    sums = _sum_of(names, accepted, values)
    if sums:
        total, past, new = (found.names[group[0]] for group in sums)
        found.sums[total] = (past, new)


def widest(
    choice: Choice, whole: Callable[[Any, Any], Any], record: Callable[[Any, Any], Any], failures: tuple[type[Exception], ...], in_range: Callable[[Any, Any], Any] | None
) -> tuple[Any, list[str]]:
    """The recording with the most dynamic dimensions, and notes on the others.

    `whole` records the model with all of them, `record` with some. `in_range` records the model with branches that limit a dimension to a range, which is better than a constant.

    Raises:
        Exception: The model cannot be recorded at the sizes of the example either.
    """
    try:
        return whole(*choice.with_names(list(choice.sizes))), choice.notes
    except failures as error:
        _log.debug("not all dimensions are dynamic: %s", error)
        if not choice.sizes:
            raise
    best = record(*choice.with_names([]))
    kept: list[str] = []
    notes = list(choice.notes)
    for name in choice.sizes:
        if name in choice.sums:
            continue
        more = [total for total, parts in choice.sums.items() if name in parts and set(parts) <= {*kept, name}]
        wanted = choice.with_names([*kept, name, *more])
        try:
            best = record(*wanted)
            kept += [name, *more]
        except failures as error:
            limited = _limited(in_range, wanted, failures)
            if limited is not None:
                best, record = limited, in_range or record
                kept += [name, *more]
                continue
            notes.append(constant(f"The dimension `{name}`", choice.sizes[name], _reason(error), getattr(error, "source_line", None)))
    return best, notes


def _limited(in_range: Callable[[Any, Any], Any] | None, wanted: tuple[Any, Any], failures: tuple[type[Exception], ...]) -> Any:
    """A recording that is right in a range of the dimensions; None if there is none."""
    try:
        return None if in_range is None else in_range(*wanted)
    except failures as error:
        _log.debug("not in a range either: %s", error)
        return None


def constant(what: str, size: int, why: str, line: Any) -> str:
    """The note on a dimension that is constant."""
    return f"{what} is always {size}: {why}" + (f" ({line})" if line and str(line) not in why else "") + "."


def _reason(error: Exception | None) -> str:
    text = str(getattr(error, "message", error)).strip().splitlines()
    return text[0].rstrip(".") if text else type(error).__name__


def line_of(error: BaseException | None) -> Line | None:
    """The innermost line of the model in a traceback."""
    frames = traceback.extract_tb(error.__traceback__) if error is not None else []
    found = [frame for frame in frames if kind_of_file(frame.filename) == "model"]
    return Line(found[-1].filename, found[-1].lineno or 0, found[-1].name) if found else None
