"""Holds a recorded program against its model at sizes that it was not recorded at: sizes of 1, which PyTorch and models treat in another way."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from operator import is_not
from typing import Any

import torch
from torch.utils import _pytree as pytree

from .._calls import outputs
from .._runtime import user_inputs
from .._verify import is_random, results
from .bounded import Bounded
from .fakes import NoElements, is_computed_with, run_plainly, sizes_of_program, without_elements, without_floats
from .gradients import called
from .noise import is_noise, nudged_inputs
from .runs import Arguments, Run, summed
from .state import seed_generators, untouched
from .work import is_long

_log = logging.getLogger(__name__)


class Differs(Exception):
    """The program gives other results than the model, or does not run."""


def sizes_seen(
    recorded: Any,
    model: torch.nn.Module,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    arguments: Arguments,
    bound: Bounded | None = None,
    see_numbers: Callable[[Any, Any], None] | None = None,
) -> dict[str, list[int]]:
    """The sizes of all tensors of a program at these arguments. Where elements are unknown, those of the results are not compared. `bound` counts the model's calls,
    and `see_numbers` is given the numbers that the program computes.

    Raises:
        Differs: The results are not those of the model.
        Exception: What the model raises.
    """
    if arguments.has_fakes:
        return _fake_sizes(recorded, model, args, kwargs, arguments)
    sizes: dict[str, list[int]] = {}
    with bound or nullcontext():
        returned = _returned(model, args, kwargs)
    random = is_random(recorded)
    with torch.no_grad(), untouched(model) if random else nullcontext():  # a program computes with copies of buffers
        try:
            found, _ = results(recorded, user_inputs(recorded, args, kwargs), lambda node, value: sizes.update({node.name: list(value.shape)}), see_numbers)
        except Differs as error:
            raise Differs((str(error).splitlines() or [""])[0]) from None  # what runs a program adds its own lines
        except Exception as error:  # PyTorch passes on whatever an operator raises.
            raise Differs(f"the program does not run: {(str(error).splitlines() or [''])[0]}") from error
    wanted = returned.beside(len(found))
    _check_types(wanted, found)
    for number, (want, got) in enumerate(zip(wanted, found)):
        if isinstance(want, str) or isinstance(got, str):
            continue
        want, got = torch.as_tensor(want), torch.as_tensor(got)
        if not random and not _is_close(want, got) and not is_noise(want, got, lambda: _nearby(model, args, kwargs, len(found), number)):
            raise Differs(f"output {number} has other elements than in the model")
    return sizes


def is_another_later(model: torch.nn.Module, arguments: Arguments) -> bool:
    """Whether a second call of the model gives other results than the first, because of what it has changed in itself."""
    if arguments.has_fakes:
        return False
    found = []
    with untouched(model):
        for _ in range(2):
            args, kwargs = pytree.tree_unflatten(arguments.at(arguments.sizes), arguments.tree)
            seed_generators()
            try:
                found.append(_kept_results(model, args, kwargs))
            except Exception as error:  # whatever the model raises
                _log.debug("call %s of the model fails: %s", len(found) + 1, error)
                return len(found) == 1
    one, other = found
    return len(one) != len(other) or not all(map(_is_same, one, other))


def _kept_results(model: torch.nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
    """The results of one call, which changes the model."""
    return [_kept(value) for value in pytree.tree_leaves(called(lambda: model(*args, **kwargs)))]


def _is_same(one: Any, other: Any) -> bool:
    if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor):
        return type(one) is type(other) and (one is other or bool(one == other))
    return one.dtype == other.dtype and one.shape == other.shape and _is_close(one, other)


def _returned(model: torch.nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Returned:
    with untouched(model):
        return Returned(called(lambda: model(*copy.deepcopy(args), **copy.deepcopy(dict(kwargs)))))


def _nearby(model: torch.nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any], count: int, number: int) -> Iterator[torch.Tensor]:
    """A result of a model, one of so many, at inputs that are nearly the same. A model that does not run there says nothing."""
    for changed, named in nudged_inputs(args, dict(kwargs)):
        try:
            found = _returned(model, changed, named).beside(count)[number]
        except Exception as error:  # whatever the model raises
            _log.debug("the model does not run at inputs that are nearly the same: %s", error)
            return
        yield torch.as_tensor(found)


class Returned:
    """What a model has returned: its tensors and numbers as they were then."""

    def __init__(self, result: Any) -> None:
        self.leaves = [_kept(value) for value in pytree.tree_leaves(result) if value is not None]
        self.tensors = [_kept(value) for value in outputs(result).values()]

    def beside(self, count: int) -> list[Any]:
        """The results that so many of the program stand for: with numbers, unless they are in an object that is taken apart."""
        return self.leaves if len(self.leaves) == count else self.tensors


def _kept(value: Any) -> Any:
    """A result as it is now: it may be a buffer, which gets its elements back."""
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def _check_types(wanted: list[Any], found: list[Any]) -> None:
    for number, (want, got) in enumerate(zip(wanted, found)):
        if isinstance(want, str) or isinstance(got, str):
            continue
        is_float = isinstance(want, float)  # the file may have another type for it
        want, got = torch.as_tensor(want), torch.as_tensor(got)
        want = want.to(got.dtype) if is_float and got.is_floating_point() else want
        if want.shape != got.shape or want.dtype != got.dtype:
            raise Differs(f"output {number} is {got.dtype}{list(got.shape)}, and {want.dtype}{list(want.shape)} in the model")


def _light_sizes(recorded: Any, model: torch.nn.Module, leaves: list[Any]) -> dict[str, list[int]] | None:
    """The sizes of all tensors of a program without the elements of floats; None if these are needed."""
    try:
        wanted, found, sizes = sizes_of_program(recorded, model, list(map(without_floats, leaves)), is_computed_with)
    except Exception as error:  # whatever the model raises
        _log.debug("sizes without elements: %s", error)
        return None
    _check_types(wanted, found)
    return sizes


def _fake_sizes(recorded: Any, model: torch.nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any], arguments: Arguments) -> dict[str, list[int]]:
    leaves = list(map(without_elements, user_inputs(recorded, args, kwargs)))
    try:
        wanted, found, sizes = sizes_of_program(recorded, model, leaves, arguments.is_fake)
    except NoElements as error:
        raise Differs(str(error)) from error
    _check_types(wanted, found)
    return sizes


def _is_close(one: torch.Tensor, other: torch.Tensor) -> bool:
    wide = torch.complex128 if one.is_complex() else torch.float64
    return torch.allclose(one.to(wide), other.to(wide), 1e-3, 1e-5, True)


def sizes_at_one(recorded: Any, model: torch.nn.Module, arguments: Arguments, first: Run, symbol: str) -> list[tuple[dict[str, int], dict[str, list[int]]]]:
    """The sizes of all tensors where a dimension is 1, at the sizes of the other dimensions in each run, and for three choices of data. Where that would take long,
    the elements of the results are compared at the sizes of the first run.

    Raises:
        Differs: The program is not right there.
        Exception: What the model raises.
    """
    if arguments.has_fakes:
        raise Differs("the elements of the results are unknown")
    found = []
    for sizes, _ in list(recorded.observed):
        chosen = summed(arguments, {**sizes, symbol: 1})
        leaves = arguments.at(chosen)
        if sizes != first.sizes and is_long(first, sizes):
            light = _light_sizes(recorded, model, leaves)
            if light is not None:
                found.append((chosen, light))
                continue
        others = [[other_data(leaf, sign) for leaf in leaves] for sign in (1, -1)]
        for data in (leaves, *(data for data in others if any(map(is_not, data, leaves)))):
            args, kwargs = pytree.tree_unflatten(data, arguments.tree)
            found.append((chosen, sizes_seen(recorded, model, args, kwargs, arguments)))
    for chosen in _small_sizes(arguments, symbol):
        leaves = arguments.at(chosen)
        if not _runs(model, leaves, arguments):
            continue  # no file has to be right there
        args, kwargs = pytree.tree_unflatten(leaves, arguments.tree)
        found.append((chosen, sizes_seen(recorded, model, args, kwargs, arguments)))
    return found


def _small_sizes(arguments: Arguments, symbol: str) -> Iterator[dict[str, int]]:
    """Sizes of 1 of a dimension beside small ones of the others: what a number that the model computes is, may be the same wherever these are larger."""
    for size in (2, 3):
        sizes = {other: size if high is None else min(size, high) for other, (_, high) in arguments.bounds.items() if other in arguments.sizes}
        if len(sizes) > 1 and all(sizes[other] >= arguments.bounds[other][0] for other in sizes if other != symbol):
            yield summed(arguments, {**sizes, symbol: 1})


def _runs(model: torch.nn.Module, leaves: list[Any], arguments: Arguments) -> bool:
    try:
        run_plainly(model, leaves, arguments.tree, arguments.is_fake)
    except Exception as error:  # whatever the model raises at sizes that it does not take
        _log.debug("the model does not run: %s", error)
        return False
    return True


def other_data(leaf: Any, sign: int) -> Any:
    """A tensor of floats of this sign, by turns with the other. Integers may be ids, and keep their values."""
    if not isinstance(leaf, torch.Tensor) or not leaf.is_floating_point():
        return leaf
    drawn = torch.rand(leaf.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64) + 0.5
    signs = (1 - 2 * (torch.arange(drawn.numel()) % 2)).reshape(drawn.shape)
    return (sign * signs * drawn).to(leaf.device, leaf.dtype)
