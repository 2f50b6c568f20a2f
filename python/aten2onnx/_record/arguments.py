"""The arguments of a call, flattened, with names and dynamic dimensions; and other examples of them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from .. import _shapes
from .._errors import InputError
from .fakes import without_elements
from .recorder import Unrecorded
from .runs import Arguments, Axis


def arguments_of(model: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any], dynamic_shapes: Any, empty: frozenset[str] = frozenset()) -> Arguments:
    """The arguments of a call, with their dynamic dimensions.

    Raises:
        Unrecorded: The dimensions are given in a way that the recorder does not take, or do not fit the example.
    """
    named = _named(model, args, kwargs)
    leaves, tree = pytree.tree_flatten((tuple(args), dict(kwargs)))
    leaves = list(map(without_elements, leaves))
    names: list[str] = []
    axes: list[dict[int, Axis]] = []
    found = Arguments(leaves, tree, names, axes)
    wanted = _axes_by_name(named, list(_shapes.named_arguments(model, args, kwargs)), dynamic_shapes)
    for name, value in named.items():
        paths, _ = pytree.tree_flatten_with_path(value)
        chosen = _shapes.axes_of(wanted.get(name)) if wanted.get(name) is not None else [None] * len(paths)
        if len(chosen) != len(paths):
            raise Unrecorded(f"the dynamic dimensions of `{name}` are not in the form of its value")
        for (path, leaf), sizes in zip(paths, chosen):
            names.append(_leaf_name(name, path, names))
            axes.append(_axes(found, leaf, sizes, names[-1]))
    if len(names) != len(leaves):
        raise Unrecorded("the arguments of the call have no names")
    for symbol in found.unstated & empty:
        found.bounds[symbol] = (0, found.bounds[symbol][1])
    return found


def example_of(
    model: torch.nn.Module, base: tuple[Any, Mapping[str, Any]], arguments: Arguments, args: tuple[Any, ...], kwargs: Mapping[str, Any], option: str = "examples"
) -> tuple[dict[str, int], list[Any]]:
    """The sizes of another example, which an option gives, and its leaves in the order of the first.

    Raises:
        InputError: It is not a call like the first.
    """
    named, wanted = _named(model, args, kwargs), _named(model, *base)
    leaves, tree = pytree.tree_flatten([named.get(name) for name in wanted])
    if set(named) != set(wanted) or tree != pytree.tree_structure(list(wanted.values())):
        raise InputError(f"{option}: the inputs are not those of `args` and `kwargs`", help="pass the same arguments, with other sizes of the dynamic dimensions")
    sizes: dict[str, int] = {}
    for name, leaf, known, axes in zip(arguments.names, leaves, arguments.leaves, arguments.axes):
        if type(leaf) is not type(known) or (isinstance(leaf, torch.Tensor) and (leaf.dtype != known.dtype or leaf.dim() != known.dim())):
            raise InputError(f"{option}: `{name}` has another type than in `args`", help="pass inputs of the same dtype and rank")
        for axis, size in enumerate(leaf.shape) if isinstance(leaf, torch.Tensor) else [(-1, leaf)] if -1 in axes else ():
            chosen = axes.get(axis)
            if chosen is None and size != known.shape[axis]:
                raise InputError(f"{option}: the dimension {axis} of `{name}` is {size}, and {known.shape[axis]} in `args`", help="name it in `dynamic_shapes`")
            value = (size - chosen.offset) // chosen.factor if chosen is not None else 0
            if chosen is not None and (chosen.size({chosen.symbol: value}) != size or sizes.setdefault(chosen.symbol, value) != value):
                raise InputError(f"{option}: `{name}` has the size {size} where `{chosen.symbol}` does not allow it", help="pass sizes that `dynamic_shapes` allows")
    return sizes, leaves


def _named(model: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by name, in the order of the call: those of `*args` one by one."""
    parameters = list(inspect.signature(model.forward).parameters.values())
    named: dict[str, Any] = {}
    for index, value in enumerate(args):
        parameter = parameters[min(index, len(parameters) - 1)]
        if parameter.kind is parameter.VAR_POSITIONAL or index >= len(parameters):
            first = next((place for place, one in enumerate(parameters) if one.kind is one.VAR_POSITIONAL), index)
            named[f"{parameter.name}_{index - first}"] = value
        else:
            named[parameter.name] = value
    return named | dict(kwargs)


def _axes_by_name(named: Mapping[str, Any], parameters: Sequence[str], dynamic_shapes: Any) -> Mapping[str, Any]:
    if dynamic_shapes is None:
        return {}
    if isinstance(dynamic_shapes, Mapping):
        found = dict(dynamic_shapes)
    elif isinstance(dynamic_shapes, (list, tuple)):
        found = dict(zip(parameters, dynamic_shapes))
    else:
        raise Unrecorded("dynamic dimensions in a form of torch.export's own")
    for name in [name for name in found if name not in named and isinstance(found[name], (list, tuple))]:
        found |= {f"{name}_{index}": axes for index, axes in enumerate(found.pop(name))}  # those of `*args`
    unknown = [name for name in found if name not in named]
    if unknown:
        raise Unrecorded(f"the dynamic dimensions of `{unknown[0]}`, which is several arguments")
    return found


def _leaf_name(name: str, path: Any, taken: list[str]) -> str:
    parts = [name, *(str(getattr(step, "key", getattr(step, "idx", getattr(step, "name", step)))) for step in path)]
    made = "_".join(parts)
    made = "".join(letter if letter.isalnum() or letter == "_" else "_" for letter in made)
    return made if made not in taken else f"{made}_{len(taken)}"


def _axes(arguments: Arguments, leaf: Any, sizes: Any, name: str) -> dict[int, Axis]:
    """The dynamic dimensions of a leaf, whose symbols are noted with their sizes and bounds."""
    if isinstance(leaf, torch.Tensor):
        items = [(axis, size, leaf.shape[axis]) for axis, size in _shapes.items(sizes)]
    elif type(leaf) is int and sizes is not None and not isinstance(sizes, int):
        items = [(-1, sizes, leaf)]
    else:
        return {}
    found = {}
    for axis, size, known in items:
        if size is None or isinstance(size, int) or "STATIC" in str(size):
            continue
        found[axis] = _axis(arguments, size, known, name, axis)
    return found


def _axis(arguments: Arguments, size: Any, known: int, name: str, axis: int) -> Axis:
    bounds: tuple[int, int | None] = (1, None)
    is_stated = False
    if isinstance(size, str):
        made = Axis(size)
    elif getattr(size, "root", None) is not None:
        root = size.root
        offset = size.fn(0)
        made, bounds, is_stated = Axis(root.__name__, size.fn(1) - offset, offset), _bounds(root), True
    elif hasattr(size, "__name__") and hasattr(size, "min"):
        made, bounds, is_stated = Axis(size.__name__), _bounds(size), True
    elif "AUTO" in str(size):
        raise Unrecorded("a dimension that torch.export chooses")
    else:
        made, bounds = Axis(f"{name}_{axis if axis >= 0 else 'value'}"), (1 if axis >= 0 else -(1 << 31), None)
    value = (known - made.offset) // made.factor
    if made.size({made.symbol: value}) != known or arguments.sizes.setdefault(made.symbol, value) != value:
        raise Unrecorded(f"the example has two sizes for the dimension `{made.symbol}`")
    if is_stated and made.symbol in arguments.unstated:
        arguments.unstated.discard(made.symbol)
        arguments.bounds[made.symbol] = bounds
    elif not is_stated and axis >= 0 and made.symbol not in arguments.bounds:
        arguments.unstated.add(made.symbol)
    arguments.bounds.setdefault(made.symbol, bounds)
    return made


def _bounds(dim: Any) -> tuple[int, int | None]:
    high = getattr(dim, "max", None)
    # An unbounded maximum may be an infinity of sympy, which is no int.
    return max(0, int(getattr(dim, "min", 1))), None if high is None or high >= 1 << 31 else int(high)


__all__ = ["arguments_of", "example_of"]
