"""Tries a program out at other sizes and data than it was recorded at, beside the model itself."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from itertools import islice
from operator import is_not
from typing import Any

import torch
from torch.utils import _pytree as pytree

from .bounded import Bounded, Reach
from .held import Differs, sizes_seen
from .runs import Arguments, Run, sizes_to_try, summed
from .sides import CHANGES
from .wide import is_held
from .work import is_long

_log = logging.getLogger(__name__)

#: So many sizes are tried, each with so many kinds of data; fewer of a program of many calls.
_MOST, _KINDS = 12, 5
_CALLS = 300
#: So large is a size at which programs are tried whose whole numbers may need more bits than a file has: those of Fibonacci do at 93.
_FAR = 200
#: The model may make so many calls, or so many times those of the first run, in one try; and so many in all.
_CALLS_OF_TRY, _TIMES, _CALLS_OF_ALL = 3_000, 5, 50_000


class Difference(str):
    """What a program gives that the model does not.

    Attributes:
        sizes: Where.
    """

    sizes: dict[str, int]


def difference(recorded: Any, model: torch.nn.Module, arguments: Arguments, first: Run, has_conditions: bool, holds: Callable[[dict[str, int]], bool] = lambda _: True) -> Difference | None:
    """What the program gives that the model does not; None if both agree wherever they were tried. A program with conditions need not be right where a size is 1, nor
    where `holds` says that they do not hold."""
    if arguments.has_fakes:
        return None
    is_large = len(first.recorder.calls) > _CALLS
    reach = Reach(max(_CALLS_OF_TRY, _TIMES * first.recorder.made))
    left = max(_CALLS_OF_ALL, 2 * _TIMES * first.recorder.made)
    for sizes in islice(sizes_tried(arguments, has_conditions), 4 if is_large else 2 * _MOST):
        if not holds(sizes) or is_long(first, sizes) or arguments.reach.is_beyond(sizes):
            continue
        found, calls = _difference_at(sizes, recorded, model, arguments, reach, left, 2 if is_large else _KINDS)
        if found is not None:
            return found
        left -= calls
    return None


def far_difference(recorded: Any, model: torch.nn.Module, arguments: Arguments, first: Run, holds: Callable[[dict[str, int]], bool]) -> Difference | None:
    """What the program gives that the model does not, or which number is too large for a file, where one size is much larger than those of the other tries: at
    the least such size that is found."""
    if arguments.has_fakes:
        return None
    reach = Reach(max(_CALLS_OF_TRY, _TIMES * first.recorder.made))

    def at(sizes: dict[str, int]) -> Difference | None:
        if not holds(sizes) or is_long(first, sizes) or arguments.reach.is_beyond(sizes):
            return None
        return _difference_at(sizes, recorded, model, arguments, reach, _CALLS_OF_ALL, _KINDS, _check_width)[0]

    for symbol, sizes in far_sizes(arguments):
        found = at(sizes)
        right, wrong = arguments.sizes[symbol], sizes[symbol]
        while found is not None and wrong - right > 1:
            middle = (right + wrong) // 2
            nearer = at(summed(arguments, {**arguments.sizes, symbol: middle}))
            right, wrong, found = (right, middle, nearer) if nearer is not None else (middle, wrong, found)
        if found is not None:
            return found
    return None


def _difference_at(
    sizes: dict[str, int],
    recorded: Any,
    model: torch.nn.Module,
    arguments: Arguments,
    reach: Reach,
    left: int,
    kinds: int,
    see_numbers: Callable[[Any, Any], None] | None = None,
) -> tuple[Difference | None, int]:
    """What the program gives at one choice of sizes that the model does not, and how many calls the model has made for it. It may make `left` calls."""
    calls = 0
    for number, leaves in enumerate(islice(data_to_try(arguments.at(sizes)), kinds)):
        if left < calls or reach.is_beyond(sizes) or _points_beyond(leaves, sizes, arguments.sizes):
            break
        args, kwargs = pytree.tree_unflatten(leaves, arguments.tree)
        bound = Bounded(reach.most)
        try:
            sizes_seen(recorded, model, args, kwargs, arguments, bound, see_numbers)
        except Differs as error:
            where = ", ".join(f"{name}={size}" for name, size in sizes.items())
            found = Difference(f"at {where or 'other data'}, number {number}: {error}")
            found.sizes = sizes
            return found, calls
        except Exception as error:  # whatever the model raises for inputs that it does not take
            _log.debug("the model does not run at %s: %s", sizes, error)
            reach.note(error, sizes)
        calls += bound.calls
    return None, calls


def _points_beyond(leaves: list[Any], sizes: dict[str, int], base: dict[str, int]) -> bool:
    """Whether an element of integers may be a place that a size of the example has and a smaller one lacks. Some kernels read memory there that nobody wrote."""
    smaller = [(size, base[symbol]) for symbol, size in sizes.items() if symbol in base and size < base[symbol]]
    known = [leaf for leaf in leaves if type(leaf) is torch.Tensor and leaf.device.type != "meta"] if smaller else []
    whole = [leaf for leaf in known if leaf.dtype in (torch.int32, torch.int64)]
    return any(bool(((leaf > now) & (leaf <= before)).any()) for leaf in whole for now, before in smaller)


def _check_width(node: Any, value: Any) -> None:
    """Compares whole numbers that a program computes with what a file has for them.

    Raises:
        Differs: One is too large.
    """
    for number in pytree.tree_leaves(value):
        if type(number) is int and not is_held(number, getattr(node.target, "__name__", "") == "pow"):
            raise Differs("a whole number is too large")


def far_sizes(arguments: Arguments) -> Iterator[tuple[str, dict[str, int]]]:
    """The sizes of the example with one that is much larger, and its symbol."""
    for symbol, size in arguments.sizes.items():
        high = arguments.bounds[symbol][1]
        far = max(_FAR, 2 * size) if high is None else min(max(_FAR, 2 * size), high)
        if symbol not in arguments.sums and far > size:
            yield symbol, summed(arguments, {**arguments.sizes, symbol: far})


def sizes_tried(arguments: Arguments, has_conditions: bool) -> Iterator[dict[str, int]]:
    """Sizes to try: those of the example, others, and 1."""
    base = dict(arguments.sizes)
    yield base
    if not base:
        return
    seen = [base]
    for sizes in arguments.few:
        if sizes not in seen:
            seen.append(sizes)
            yield sizes
    for sizes in islice(sizes_to_try(arguments), 2 * _MOST):
        if sizes not in seen and len(seen) < _MOST:
            seen.append(sizes)
            yield sizes
    for symbol, (low, _) in arguments.bounds.items():
        if low <= 1 and not has_conditions and symbol in base:
            yield summed(arguments, {**base, symbol: 1})


def data_to_try(leaves: list[Any]) -> Iterator[list[Any]]:
    """The leaves, and other data of floats if there are any."""
    yield leaves
    generator = torch.Generator().manual_seed(7)
    drawn = [_drawn(leaf, generator) for leaf in leaves]
    if not any(map(is_not, drawn, leaves)):
        return
    yield drawn
    for change in CHANGES[1:4]:
        yield [change(leaf) for leaf in drawn]


def _drawn(leaf: Any, generator: torch.Generator) -> Any:
    """A tensor of floats that are drawn. Integers may be ids, and keep their values."""
    if not isinstance(leaf, torch.Tensor) or not leaf.is_floating_point():
        return leaf
    return torch.randn(leaf.shape, generator=generator, dtype=torch.float64).to(leaf.device, leaf.dtype)


__all__ = ["Difference", "data_to_try", "difference", "far_difference", "sizes_tried"]
