"""Runs a model and records it: at the example, and at other sizes of its dynamic dimensions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch._dispatch.python import enable_python_dispatcher

from .. import _capture
from .arrays import outputs_of
from .bounded import Reach
from .counts import counted
from .fakes import Fakes, IsFake, is_computed_with, lent, without_floats
from .functions import Functions, taken_as_plain
from .gradients import needs_gradients
from .jacobians import computed_at_once
from .keep import kept_whole
from .lights import lightened
from .loops import Loops
from .memory import collect_new
from .memos import Memo, forgotten
from .mixed import check_class
from .nested import intercepted
from .numbers import Number, plain
from .recorder import Recorder
from .reals import methods_of_numbers
from .shadows import Changes, shadowed
from .slots import repeated
from .state import restored, seed_generators
from .structured import Structure
from .swapped import Swaps
from .tensors import Tracked, Value, named_tensors, note_device, place_of
from .texts import noted_texts
from .turns import Turns


@dataclass(frozen=True)
class Axis:
    """A dynamic dimension: `factor * symbol + offset`."""

    symbol: str
    factor: int = 1
    offset: int = 0

    def size(self, sizes: Mapping[str, int]) -> int:
        return self.factor * sizes[self.symbol] + self.offset


@dataclass
class Arguments:
    """The arguments of a call, flattened, with the dynamic dimensions of each leaf.

    Attributes:
        leaves: Tensors, numbers and other objects.
        tree: How they are put together.
        names: A name for each leaf.
        axes: The dynamic dimensions of each leaf; of a number, its symbol under -1.
        sizes: The values of symbols at the example.
        bounds: The least and largest value of each symbol.
        unstated: Symbols whose least value the user has not given: it is 1, as long as no branch of the model asks for an empty dimension.
        shadows: What the code of the model sees in place of Python's functions.
        asked_classes: Where that code may ask for the class of a value in a way that these do not answer.
        caches: Functions that keep results of earlier calls.
        memos: Attributes that hold nothing in the runs, so that the model makes them anew.
        sums: Symbols that are the sum of two others.
        examples: Sizes of symbols with the leaves that the user gave for them.
        branch_inputs: The same for inputs with which both sides of branches can be run.
        keep_results: Whether runs keep their results.
        is_fake: Whether a parameter or buffer, by its name, has no elements in the runs.
        both: The branches that are recorded on both sides.
        is_filled: Whether masks that choose nothing get elements.
        reach: How far runs at other sizes may go.
        changed: The names of attributes that runs have changed.
        swaps: The functions of the files whose code has had another form in a run.
    """

    leaves: list[Any]
    tree: Any
    names: list[str]
    axes: list[dict[int, Axis]]
    sizes: dict[str, int] = field(default_factory=dict)
    bounds: dict[str, tuple[int, int | None]] = field(default_factory=dict)
    unstated: set[str] = field(default_factory=set)
    shadows: Changes = field(default_factory=list)
    asked_classes: list[str] = field(default_factory=list)
    caches: list[Any] = field(default_factory=list)
    memos: list[Memo] = field(default_factory=list)
    sums: dict[str, tuple[str, str]] = field(default_factory=dict)
    examples: list[tuple[dict[str, int], list[Any]]] = field(default_factory=list)
    branch_inputs: list[tuple[dict[str, int], list[Any]]] = field(default_factory=list)
    keep_results: bool = False
    is_fake: IsFake | None = None
    #: The size that the last run made up where unknown elements decide one.
    count: int = 1
    #: Whether runs that would take long may be without elements.
    may_be_light: bool = True
    #: Sizes at which loops make too few turns to compare them: the program is tried out there.
    few: list[dict[str, int]] = field(default_factory=list)
    #: Whether the leaves have other data than the example.
    is_changed: bool = False
    #: Whether something has no elements.
    has_fakes: bool = False
    #: Whether the model computes gradients and leaves it to its caller that they are on.
    has_gradients: bool = False
    both: Any = None
    is_filled: bool = False
    reach: Reach = field(default_factory=Reach)
    changed: set[str] = field(default_factory=set)
    swaps: Swaps = field(default_factory=Swaps)

    def at(self, sizes: Mapping[str, int]) -> list[Any]:
        """The leaves with other sizes: those that the user gave, or the example, repeated or cut."""
        for known, leaves in self.examples:
            if known == sizes:
                return list(leaves)
        return [_resized(leaf, axes, sizes) for leaf, axes in zip(self.leaves, self.axes)]

    def range_of(self, value: Value, axis: int) -> tuple[int | None, int | None]:
        """The least and the largest size of a dimension of a value; None where there is none."""
        if value.source is None or value.source[0] != "input":
            return 0, None
        chosen = self.axes[value.source[1]].get(axis)
        if chosen is None:
            return value.shape[axis], value.shape[axis]
        if chosen.symbol not in self.bounds or chosen.factor < 1:
            return 0, None
        low, high = self.bounds[chosen.symbol]
        return chosen.factor * low + chosen.offset, None if high is None else chosen.factor * high + chosen.offset

    def rename(self, symbol: str, to: str) -> None:
        """Gives a dimension the name of another one, to which it is equal."""
        for axes in self.axes:
            for axis, chosen in axes.items():
                if chosen.symbol == symbol:
                    axes[axis] = Axis(to, chosen.factor, chosen.offset)
        low, high = self.bounds.pop(symbol)
        other_low, other_high = self.bounds[to]
        highs = [bound for bound in (high, other_high) if bound is not None]
        self.bounds[to] = (max(low, other_low), min(highs) if highs else None)
        del self.sizes[symbol]
        if symbol in self.unstated:
            self.unstated.discard(symbol)
        else:
            self.unstated.discard(to)


def _resized(leaf: Any, axes: dict[int, Axis], sizes: Mapping[str, int]) -> Any:
    if not isinstance(leaf, torch.Tensor):
        return axes[-1].size(sizes) if -1 in axes else leaf
    for axis, chosen in axes.items():
        size = chosen.size(sizes)
        if size == leaf.shape[axis]:
            continue
        if leaf.shape[axis] == 0:  # there are no elements to repeat; integers may be ids
            shape = [size if place == axis else length for place, length in enumerate(leaf.shape)]
            leaf = leaf.new_ones(shape) if leaf.is_floating_point() else leaf.new_zeros(shape)
        else:
            index = torch.arange(size, device=leaf.device) % leaf.shape[axis]
            leaf = leaf.detach().index_select(axis, index)
    return leaf


@dataclass
class Run:
    """A recorded run.

    Attributes:
        sizes: The values of symbols.
        leaves: The inputs.
        recorder: The recording.
        outputs: The results, flattened, as the run returns them.
        tree: How the results are put together.
        buffers: New values of buffers, by name.
        results: Copies of the results, if they are kept.
        is_light: Whether it was without elements, because it would have taken long.
    """

    sizes: dict[str, int]
    leaves: list[Any]
    recorder: Recorder
    outputs: list[Any]
    tree: Any
    buffers: dict[str, Any]
    results: list[Any] = field(default_factory=list)
    is_light: bool = False


def recorded(
    model: torch.nn.Module,
    arguments: Arguments,
    sizes: dict[str, int],
    composites: list[Any],
    replace: Callable[[Any], Callable[..., Any] | None],
    is_light: bool = False,
    turns: Turns | None = None,
) -> Run:
    """Runs a model at these sizes, with branches answered as `turns` says. The model is afterwards as it was before.

    Args:
        is_light: Whether the run is without the elements of floats.

    Raises:
        Unrecorded: The recorder cannot follow the model.
        Exception: What the model raises.
    """
    try:
        return _recorded(model, arguments, sizes, composites, replace, is_light, turns)
    except RuntimeError as error:
        if arguments.has_gradients or not needs_gradients(error):
            raise
    arguments.has_gradients = True
    return _recorded(model, arguments, sizes, composites, replace, is_light, turns)


def _recorded(
    model: torch.nn.Module, arguments: Arguments, sizes: dict[str, int], composites: list[Any], replace: Callable[[Any], Any], is_light: bool, turns: Turns | None
) -> Run:
    leaves = arguments.at(sizes)
    with ExitStack() as stack:
        stack.enter_context(restored(model, arguments.changed))
        stack.enter_context(forgotten(arguments.caches, arguments.memos))
        arguments.count += 2
        light = lightened(model, leaves, arguments.count) if is_light else None
        fakes: Fakes | None
        if light is not None:
            fakes, leaves = light.lights, light.leaves
        elif is_light:
            fakes, leaves = lent(model, list(map(without_floats, leaves)), is_computed_with, arguments.count)
        else:
            fakes, leaves = lent(model, leaves, arguments.is_fake, arguments.count)
            arguments.has_fakes = fakes is not None
        recorder = Recorder(model, dynamic=bool(arguments.sizes), replace=replace, fakes=fakes)
        recorder.most, recorder.fills = arguments.reach.most, arguments.is_filled
        if light is not None:
            recorder.take_as_unknown(light.tensors)
        Number.range_of = arguments.range_of  # type: ignore[method-assign,assignment]
        if turns is not None:
            turns.range_of = arguments.range_of
        if turns is not None and turns.lowered:
            recorder.structure = Structure(recorder, turns, model)
            recorder.structure.attributes.give_deques()
            stack.enter_context(arguments.swaps.made(turns.lowered, recorder.structure))
        else:
            recorder.turns = turns
        if turns is not None and turns.loops:
            recorder.loops = Loops(turns.loops, turns.without, turns.more, turns.changing, turns.least)
        recorder.watch([*(tensor for _, tensor in named_tensors(model)), *(leaf for leaf in leaves if isinstance(leaf, torch.Tensor))])
        stack.enter_context(shadowed(arguments.shadows))
        stack.enter_context(taken_as_plain())
        stack.enter_context(methods_of_numbers())
        stack.enter_context(repeated())
        stack.enter_context(noted_texts())
        stack.enter_context(counted())
        stack.enter_context(_capture.onnx_export_flag())
        stack.enter_context(exporting())
        stack.enter_context(_capture.quiet())
        stack.enter_context(torch.set_grad_enabled(arguments.has_gradients))
        stack.enter_context(kept_whole(composites))
        stack.enter_context(intercepted())
        stack.enter_context(computed_at_once())
        stack.enter_context(enable_python_dispatcher())
        stack.callback(recorder.restore)
        seed_generators()
        given = [_input(recorder, leaf, axes, arguments.names[index], index) for index, (leaf, axes) in enumerate(zip(leaves, arguments.axes))]
        args, kwargs = pytree.tree_unflatten(given, arguments.tree)
        with Functions(), recorder:
            returned = model(*args, **kwargs)
            if recorder.loops is not None:
                recorder.loops.finish(recorder)
        outputs, tree = outputs_of(returned)
        for output in outputs:
            check_class(output)
        buffers = _new_buffers(model)
        results = [_copied(output) for output in outputs] if arguments.keep_results else []
    collect_new()
    return Run(sizes, leaves, recorder, outputs, tree, buffers, results, is_light)


def _copied(output: Any) -> Any:
    """A result as it is now: the model may have written it to a buffer, which gets its elements back."""
    if isinstance(output, Tracked):
        output = output.actual
    elif isinstance(output, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return plain(output)
    return output.detach().clone() if isinstance(output, torch.Tensor) else output


def _input(recorder: Recorder, leaf: Any, axes: dict[int, Axis], name: str, index: int) -> Any:
    if isinstance(leaf, torch.Tensor):
        given = leaf.detach()
        if given.is_meta:
            note_device(given, place_of(leaf))
        return recorder.input(given, index)
    return recorder.number_input(leaf, name) if -1 in axes else leaf


def _new_buffers(model: torch.nn.Module) -> dict[str, Any]:
    """Buffers that the run has replaced, by name."""
    return {name: buffer for name, buffer in model.named_buffers() if isinstance(buffer, Tracked)}


#: What `torch.compiler.is_exporting()` and `torch.compiler.is_compiling()` return.
_FLAGS = ("_is_exporting_flag", "_is_compiling_flag")


@contextmanager
def exporting() -> Iterator[None]:
    """Models ask whether they are exported, and take then a form that holds at all sizes."""
    flags = {name: getattr(torch.compiler, name) for name in _FLAGS if hasattr(torch.compiler, name)}
    torchvision: Any = sys.modules.get("torchvision")
    is_tracing = getattr(torchvision, "_is_tracing", None)

    def is_tracing_boxes() -> bool:
        # `batched_nms` has a form for few boxes and one for many, with the same results, and asks for the first in this way. Other functions would make
        # tensors of sizes.
        return sys._getframe(1).f_code.co_name == "batched_nms" or is_tracing()  # type: ignore[misc]

    try:
        for name in flags:
            setattr(torch.compiler, name, True)
        if is_tracing is not None:
            torchvision._is_tracing = is_tracing_boxes
        yield
    finally:
        for name, value in flags.items():
            setattr(torch.compiler, name, value)
        if is_tracing is not None:
            torchvision._is_tracing = is_tracing


def sizes_apart(arguments: Arguments) -> Iterator[dict[str, int]]:
    """Other sizes to try: each dimension changes by another factor, which keeps what divides it, or by another amount."""
    for scale in (2, 3, 5):
        yield _changed(arguments, lambda index, size: size * (scale + index))
    for step in (1, 2, 3):
        yield _changed(arguments, lambda index, size: size + step + index)


def sizes_together(arguments: Arguments) -> Iterator[dict[str, int]]:
    """Other sizes to try: all dimensions change in the same way."""
    for scale in (2, 3):
        yield _changed(arguments, lambda _, size: size * scale)
    for step in (1, 2, -1, -2):
        yield _changed(arguments, lambda _, size: max(2, size + step))


def sizes_to_try(arguments: Arguments) -> Iterator[dict[str, int]]:
    """Other sizes to try where a branch goes the other way at some: larger and smaller ones, and those that are divided by many numbers."""
    yield from sizes_apart(arguments)
    yield from sizes_together(arguments)
    for scale in (4, 8, 12):
        yield _changed(arguments, lambda _, size: size * scale)
    for small in (2, 3, 4, 5, 6, 8, 12, 16, 24):
        yield _changed(arguments, lambda _, __: small)


def _changed(arguments: Arguments, change: Callable[[int, int], int]) -> dict[str, int]:
    return summed(arguments, {symbol: _within(change(index, size), arguments.bounds[symbol], size) for index, (symbol, size) in enumerate(arguments.sizes.items())})


def summed(arguments: Arguments, sizes: dict[str, int]) -> dict[str, int]:
    """The sizes, with those that are the sum of two others."""
    return {symbol: sum(sizes[part] for part in arguments.sums[symbol]) if symbol in arguments.sums else size for symbol, size in sizes.items()}


def _within(wanted: int, bounds: tuple[int, int | None], size: int) -> int:
    low, high = bounds
    if high is not None and wanted > high:
        return max(low, high if high != size else high - 1)
    return max(low, wanted)


def first_sizes(arguments: Arguments) -> dict[str, int]:
    """The sizes of the first run: those of the example, but larger ones in place of 0 and 1, which PyTorch treats in another way."""
    unused = {size for leaf in arguments.leaves for size in getattr(leaf, "shape", ())}
    sizes = {}
    for symbol, size in arguments.sizes.items():
        low, high = arguments.bounds[symbol]
        if size > 1 or (high is not None and high < 2):
            sizes[symbol] = size
            continue
        wanted = next(number for number in range(max(low, 2), 1 << 20) if number not in unused)
        sizes[symbol] = wanted if high is None or wanted <= high else high
        unused.add(sizes[symbol])
    return summed(arguments, sizes)

