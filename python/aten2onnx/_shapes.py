"""Converts dynamic dimensions from the forms of `torch.onnx.export` to that of `torch.export.export`, and collects their names."""

from __future__ import annotations

import inspect
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ._errors import ArgumentError


def dimension_type() -> Any:
    """The class of named dimensions. `torch.export.Dim` is a function in PyTorch 2.6."""
    from torch.export import Dim, dynamic_shapes

    return Dim if isinstance(Dim, type) else dynamic_shapes._Dim  # type: ignore[attr-defined]


Axes = Any  # {axis: name, Dim, hint or None}, or the same as a list; None if no dimension is dynamic


def named_arguments(model: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arguments of a call by parameter name, in the order of torch.export."""
    forward = getattr(model, "forward", model)
    signature = inspect.signature(forward)
    try:
        bound = signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        raise ArgumentError(f"the model does not take these arguments: {error}", help=f"its parameters are {', '.join(signature.parameters)}") from error
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD and name in bound:
            bound |= bound.pop(name)
    return bound


def program_arguments(exported: Any, example: Any = None) -> Any:
    """Returns the arguments of an example of a program by parameter name (by default its own); None if it has none."""
    example = example or exported.example_inputs
    if example is None:
        return None
    signature = exported.module_call_graph[0].signature
    args, kwargs = example
    names = list(getattr(signature, "forward_arg_names", None) or ())[: len(args)]
    if len(names) < len(args):
        return None
    # `*args` are args_0, args_1 and so on in the signature, and one tuple in `dynamic_shapes` and in guards.
    first = next((index for index, name in enumerate(names) if name.endswith("_0")), len(names))
    rest = [name.removesuffix("_0") for name in names[first : first + 1]]
    if rest and names[first:] == [f"{rest[0]}_{index}" for index in range(len(names) - first)]:
        return dict(zip(names[:first], args)) | {rest[0]: tuple(args[first:])} | kwargs
    return dict(zip(names, args)) | kwargs


def are_keywords(model: Any, args: Sequence[Any], last: Any) -> bool:
    """Whether the last argument is a dictionary of keyword arguments, as in torch.onnx.export, and not an input of the model."""
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
    """Converts `dynamic_axes` to `dynamic_shapes`.

    A key is one of `input_names`, which are in the order of the tensor arguments, or the name of a parameter. Axes of outputs are
    ignored, because they follow from the inputs.
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
                raise ArgumentError(f"dynamic_axes: no input or output `{name}`; the inputs are {known}")
            continue
        if not isinstance(axes, Mapping):
            axes = {axis: f"{name}_dynamic_axes_{count}" for count, axis in enumerate(axes, 1)}
        rank = leaves[places[name]].dim()
        wanted[places[name]] = {axis % rank if -rank <= axis < rank else axis: name for axis, name in axes.items()}
    return pytree.tree_unflatten(wanted, tree)


def for_torch(dynamic_shapes: Any, share: bool) -> Any:
    """Replaces names by the dimensions of torch.export.

    A name that is used once becomes `Dim.DYNAMIC`. With `share`, dimensions with the same name are declared equal. A named dimension is at
    least 1: who needs an empty one says `Dim("n", min=0)`.
    """
    from torch.export import Dim

    hint: Any = Dim.DYNAMIC(min=1) if callable(Dim.DYNAMIC) else Dim.DYNAMIC
    count = Counter(name for axes in axes_of(dynamic_shapes) for name in sizes(axes) if isinstance(name, str))
    shared = {name: Dim(name, min=1) for name, times in count.items() if share and times > 1 and name.isidentifier()}
    return replaced(dynamic_shapes, lambda size: shared.get(size, hint) if isinstance(size, str) else size)


def repeats_names(dynamic_shapes: Any) -> bool:
    """Whether a name is used more than once."""
    names = [name for axes in axes_of(dynamic_shapes) for name in sizes(axes) if isinstance(name, str)]
    return len(set(names)) < len(names)


def names(exported: Any, dynamic_shapes: Any) -> dict[str, str]:
    """Returns the names that `dynamic_shapes` gives to the symbols of an exported program, with strings or Dims."""
    specs = [spec for spec in exported.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
    axes = axes_of(dynamic_shapes)
    if len(axes) != len(specs):
        return {}
    values = {node.name: node.meta.get("val") for node in exported.graph.nodes if node.op == "placeholder"}
    found: dict[str, str] = {}
    hints: dict[str, Any] = {}
    for spec, chosen in zip(specs, axes):
        shape = getattr(values.get(getattr(spec.arg, "name", None)), "shape", ())
        for axis, size in items(chosen):
            name = size if isinstance(size, str) else getattr(size, "__name__", None) if isinstance(size, dimension_type()) else None
            if name and axis < len(shape):
                root = getattr(size, "root", None)
                symbol = _symbol(shape[axis]) if root is None else _symbol_of(shape[axis], size)
                if symbol:
                    hints[symbol] = getattr(shape[axis].node, "hint", None) if root is None else None
                    _name(found, symbol, name if root is None else root.__name__, hints)
    return found


def _symbol_of(size: Any, derived: Any) -> str | None:
    """Returns the symbol in a size such as `4*s77`, if it is made from it as a dimension such as `4*w` is made from `w`."""
    expression = getattr(getattr(size, "node", None), "expr", None)
    symbols = list(getattr(expression, "free_symbols", ()))
    return str(symbols[0]) if len(symbols) == 1 and derived.fn(symbols[0]) == expression else None


def _name(found: dict[str, str], symbol: str, name: str, hints: Mapping[str, Any]) -> None:
    before = found.get(symbol)
    others = [other for other, known in found.items() if known == name]
    if before not in (None, name):
        warnings.warn(f"the dimensions `{before}` and `{name}` are always equal: both are named `{before}`", stacklevel=6)
    elif before is None and any(hints[symbol] is None or hints[other] != hints[symbol] for other in others):
        warnings.warn(f"two dimensions named `{name}` may differ: the second is named `{symbol}` instead", stacklevel=6)
    elif before is None:
        found[symbol] = name


def axes_of(dynamic_shapes: Any) -> list[Axes]:
    """Returns the dynamic dimensions of each input, in order."""
    from torch.utils import _pytree as pytree

    return pytree.tree_flatten(dynamic_shapes, is_leaf=_is_axes)[0]


def _is_axes(value: Any) -> bool:
    from torch.export import Dim

    hint, known = type(Dim.AUTO), dimension_type()
    is_size = lambda size: size is None or isinstance(size, (int, str, known, hint))  # noqa: E731
    if isinstance(value, Mapping):
        return all(isinstance(axis, int) and is_size(size) for axis, size in value.items())
    return value is None or (isinstance(value, (list, tuple)) and all(map(is_size, value)))


def replaced(dynamic_shapes: Any, change: Callable[[Any], Any]) -> Any:
    """Returns dynamic shapes with each size changed."""
    from torch.utils import _pytree as pytree

    def changed(axes: Axes) -> Axes:
        if isinstance(axes, Mapping):
            return {axis: change(size) for axis, size in axes.items()}
        if not isinstance(axes, (list, tuple)):
            return None if axes is None else change(axes)
        return type(axes)(map(change, axes))

    return pytree.tree_map(changed, dynamic_shapes, is_leaf=_is_axes)


def items(axes: Axes) -> list[tuple[int, Any]]:
    """The axes of an input with their sizes."""
    if isinstance(axes, Mapping):
        return list(axes.items())
    return list(enumerate(axes)) if isinstance(axes, (list, tuple)) else []  # an int that is an input has no axes


def sizes(axes: Axes) -> list[Any]:
    """The sizes of the dimensions of an input."""
    return [size for _, size in items(axes)]


def _symbol(size: Any) -> str | None:
    """Returns the symbol of a size, or None for a number or an expression."""
    expression = getattr(getattr(size, "node", None), "expr", None)
    return str(expression) if expression is not None and expression.is_symbol else None
