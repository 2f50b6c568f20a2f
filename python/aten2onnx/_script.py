"""TorchScript: describes example inputs to the exporter, and saves live modules to memory."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ._errors import InputError

DTYPES = {"half": "float16", "float": "float32", "double": "float64", "int": "int32", "long": "int64", "short": "int16"}


def is_script(model: Any) -> bool:
    """Whether it is a ScriptModule or ScriptFunction of a torch that is already imported."""
    import sys

    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, (torch.jit.ScriptModule, torch.jit.ScriptFunction))


def saved(model: Any) -> bytes:
    """The archive of a live module or function."""
    import torch

    buffer = io.BytesIO()
    torch.jit.save(model, buffer)
    return buffer.getvalue()


def source(
    model: Any,
    args: Any,
    kwargs: Mapping[str, Any] | None,
    dynamic_shapes: Any,
    dynamic_axes: Mapping[str, Any] | None,
    input_names: Sequence[str] | None,
) -> dict[str, Any]:
    """The options that describe the inputs: `args` by position, `kwargs` by name, in the order in which the model has them."""
    values = [args] if _is_tensor(args) else list(args or ())
    named = {str(index): value for index, value in enumerate(values)} | _ordered(model, kwargs or {})
    inputs = []
    for index, (name, value) in enumerate(named.items()):
        dims = _of_input(name, index, dynamic_shapes)
        known = list(input_names or ())[index : index + 1] + [name]
        for axes_name in known:
            dims = dims or (dynamic_axes or {}).get(axes_name)
        inputs.append(_described(name, value, dims))
    return {"inputs": inputs}


def _ordered(model: Any, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments by name in the order of the parameters of a live model: that of the call says nothing."""
    schema = getattr(getattr(model, "forward", None), "schema", None) or getattr(model, "schema", None)
    known = [argument.name for argument in getattr(schema, "arguments", ())]
    return {name: kwargs[name] for name in sorted(kwargs, key=lambda name: known.index(name) if name in known else len(known))}


def default_dtype(model: Any, chosen: Any) -> str | None:
    """The name of the dtype of floats without one: the given one, or PyTorch's now for a live model."""
    if chosen is None and is_script(model):
        import torch

        chosen = torch.get_default_dtype()
    return None if chosen is None else str(chosen).removeprefix("torch.")


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "dtype") and hasattr(value, "shape")


def _of_input(name: str, index: int, shapes: Any) -> Any:
    """The dynamic dimensions of an input, by its name or position."""
    if isinstance(shapes, Mapping):
        if name in shapes:
            return shapes[name]
        return list(shapes.values())[index] if name.isdigit() and index < len(shapes) else None
    if isinstance(shapes, (list, tuple)) and index < len(shapes):
        return shapes[index]
    return None


def _described(name: str, value: Any, dims: Any) -> str:
    constant = value is None or isinstance(value, (bool, int, float, str))
    return f"{name}={_constant(value)}" if constant else f"{name}:{_spec(value, dims, name)}"


def _constant(value: Any) -> str:
    return json.dumps(value) if isinstance(value, str) else "none" if value is None else str(value)


def _spec(value: Any, dims: Any, place: str) -> str:
    if _is_tensor(value):
        sizes = [_size(size, axis, len(value.shape), dims, place) for axis, size in enumerate(value.shape)]
        return f"{str(value.dtype).replace('torch.', '')}[{','.join(sizes)}]"
    if isinstance(value, Mapping):
        return "{%s}" % ",".join(f"{_constant(key)}:{_spec(item, _child(dims, key), f'{place}_{key}')}" for key, item in value.items())
    if isinstance(value, (list, tuple)):
        items = ",".join(_spec(item, _child(dims, index), f"{place}_{index}") for index, item in enumerate(value))
        return f"[{items}]" if isinstance(value, list) else f"({items})"
    if value is None or isinstance(value, (bool, int, float, str)):
        return f"={_constant(value)}"
    raise InputError(f"an input of type `{type(value).__name__}` cannot be described", help="pass tensors, numbers, strings, lists, tuples and dictionaries")


def _child(dims: Any, key: Any) -> Any:
    if isinstance(dims, Mapping):
        return dims.get(key)
    return dims[key] if isinstance(dims, (list, tuple)) and isinstance(key, int) and key < len(dims) else None


def _size(size: int, axis: int, rank: int, dims: Any, place: str) -> str:
    """A size as a number, or the name of a dynamic one."""
    if isinstance(dims, Mapping):
        dim = dims.get(axis, dims.get(axis - rank))
    elif isinstance(dims, (list, tuple)):
        in_list = dims and all(isinstance(item, int) and not isinstance(item, bool) for item in dims)
        dim = (axis in dims or None) if in_list else dims[axis] if axis < len(dims) else None
    else:
        dim = None
    if dim is None or (isinstance(dim, int) and not isinstance(dim, bool)) or str(dim).endswith("STATIC"):
        return str(int(size))
    name = dim if isinstance(dim, str) else getattr(dim, "__name__", None)
    if name is None or not str(name).isidentifier() or name in ("AUTO", "DYNAMIC"):
        prefix = f"input_{place}" if place[:1].isdigit() else place
        name = f"{prefix}_dim_{axis}".replace(".", "_")
    return str(name)
