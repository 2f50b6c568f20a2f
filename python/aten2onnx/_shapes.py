"""Dynamic dimensions: what `torch.onnx.export` takes, as `torch.export.export` wants it, and the names for the ONNX model."""

from __future__ import annotations

import inspect
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Axes = Any  # {axis: name, Dim, hint or None}, or the same as a list; None where nothing is dynamic


def named_arguments(model: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call by the names of the parameters, as torch.export orders them."""
    forward = getattr(model, "forward", model)
    signature = inspect.signature(forward)
    bound = signature.bind(*args, **kwargs).arguments
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD and name in bound:
            bound |= bound.pop(name)
    return bound


def are_keywords(model: Any, args: Sequence[Any], last: Any) -> bool:
    """Is the last of the arguments a dictionary of keyword arguments, as torch.onnx.export takes it, and not one that the model takes?"""
    if not isinstance(last, dict) or not all(isinstance(name, str) for name in last):
        return False
    try:
        inspect.signature(model.forward).bind(*args, **last)
    except TypeError:
        return False
    return True


def from_dynamic_axes(
    arguments: Mapping[str, Any], dynamic_axes: Mapping[str, Any], input_names: Sequence[str], output_names: Sequence[str]
) -> dict[str, Any]:
    """`dynamic_axes` as `dynamic_shapes`.

    A key is one of `input_names`, which are given in the order of the tensors among the arguments, or a parameter's own name. Those
    of outputs tell nothing that does not follow from the inputs.
    """
    import torch
    from torch.utils import _pytree as pytree

    leaves, tree = pytree.tree_flatten(dict(arguments))
    wanted: list[Axes] = [None] * len(leaves)
    tensors = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    places = dict(zip(input_names, tensors))
    for name, value in arguments.items():
        if isinstance(value, torch.Tensor):
            places.setdefault(name, next(i for i in tensors if leaves[i] is value))
    for name, axes in dynamic_axes.items():
        if name not in places:
            if name not in output_names:
                known = ", ".join(f"`{known}`" for known in places)
                raise ValueError(f"dynamic_axes: there is no input or output `{name}`; the inputs are {known}")
            continue
        if not isinstance(axes, Mapping):
            axes = {axis: f"{name}_dynamic_axes_{count}" for count, axis in enumerate(axes, 1)}
        rank = leaves[places[name]].dim()
        wanted[places[name]] = {axis % rank if -rank <= axis < rank else axis: name for axis, name in axes.items()}
    return pytree.tree_unflatten(wanted, tree)


def for_torch(dynamic_shapes: Any, share: bool) -> Any:
    """The same with names replaced by what torch.export takes.

    A name that is used once leaves the rest to torch.export. With `share`, one that is used several times means that the sizes are equal.
    """
    from torch.export import Dim

    count = Counter(name for axes in axes_of(dynamic_shapes) for name in _values(axes) if isinstance(name, str))
    shared = {name: Dim(name) for name, times in count.items() if share and times > 1 and name.isidentifier()}
    return _map(dynamic_shapes, lambda size: shared.get(size, Dim.DYNAMIC) if isinstance(size, str) else size)


def repeats_names(dynamic_shapes: Any) -> bool:
    """Is a name used more than once?"""
    names = [name for axes in axes_of(dynamic_shapes) for name in _values(axes) if isinstance(name, str)]
    return len(set(names)) < len(names)


def names(exported: Any, dynamic_shapes: Any) -> dict[str, str]:
    """What the symbols of an exported program are called in `dynamic_shapes`, by a string or a Dim."""
    from torch.export import Dim

    specs = [spec for spec in exported.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
    axes = axes_of(dynamic_shapes)
    if len(axes) != len(specs):
        return {}
    values = {node.name: node.meta.get("val") for node in exported.graph.nodes if node.op == "placeholder"}
    found: dict[str, str] = {}
    for spec, chosen in zip(specs, axes):
        shape = getattr(values.get(getattr(spec.arg, "name", None)), "shape", ())
        for axis, size in _items(chosen):
            name = size if isinstance(size, str) else getattr(size, "__name__", None) if isinstance(size, Dim) else None
            symbol = _symbol(shape[axis]) if name and axis < len(shape) else None
            if name and symbol:
                _name(found, symbol, name)
    return found


def _name(found: dict[str, str], symbol: str, name: str) -> None:
    before = found.get(symbol)
    if before not in (None, name):
        warnings.warn(f"the dimensions `{before}` and `{name}` are always equal: both are called `{before}`", stacklevel=5)
    elif before is None and name in found.values():
        warnings.warn(f"two dimensions that may differ are called `{name}`: the second keeps its own name, `{symbol}`", stacklevel=5)
    elif before is None:
        found[symbol] = name


def axes_of(dynamic_shapes: Any) -> list[Axes]:
    """What is said of each input, in order."""
    from torch.utils import _pytree as pytree

    return pytree.tree_flatten(dynamic_shapes, is_leaf=_is_axes)[0]


def _is_axes(value: Any) -> bool:
    from torch.export import Dim

    hint = type(Dim.AUTO)
    is_size = lambda size: size is None or isinstance(size, (int, str, Dim, hint))  # noqa: E731
    if isinstance(value, Mapping):
        return all(isinstance(axis, int) and is_size(size) for axis, size in value.items())
    return value is None or (isinstance(value, (list, tuple)) and all(map(is_size, value)))


def _map(dynamic_shapes: Any, change: Callable[[Any], Any]) -> Any:
    from torch.utils import _pytree as pytree

    def changed(axes: Axes) -> Axes:
        if isinstance(axes, Mapping):
            return {axis: change(size) for axis, size in axes.items()}
        return None if axes is None else type(axes)(map(change, axes))

    return pytree.tree_map(changed, dynamic_shapes, is_leaf=_is_axes)


def _items(axes: Axes) -> list[tuple[int, Any]]:
    if axes is None:
        return []
    return list(axes.items()) if isinstance(axes, Mapping) else list(enumerate(axes))


def _values(axes: Axes) -> list[Any]:
    return [size for _, size in _items(axes)]


def _symbol(size: Any) -> str | None:
    """The symbol that a size is; None for a number and for an expression."""
    expression = getattr(getattr(size, "node", None), "expr", None)
    return str(expression) if expression is not None and expression.is_symbol else None
