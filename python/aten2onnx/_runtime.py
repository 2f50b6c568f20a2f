"""Runs a model in ONNX Runtime with tensors or arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ._errors import InputError, require

#: Element types that NumPy lacks: their numbers in ONNX, and a torch dtype of the same width that holds the bytes.
_CARRIED = {"bfloat16": (16, "uint16"), "float8_e4m3fn": (17, "uint8"), "float8_e4m3fnuz": (18, "uint8"), "float8_e5m2": (19, "uint8"), "float8_e5m2fnuz": (20, "uint8")}


def flat_inputs(exported: Any, args: Any, kwargs: Mapping[str, Any] | None) -> list[Any]:
    """Returns the values for the inputs of the ONNX model, without the inputs that torch.export made constants."""
    leaves = user_inputs(exported, args, kwargs)
    return [leaf for leaf, spec in zip(leaves, input_specs(exported)) if hasattr(spec.arg, "name") and not hasattr(spec.arg, "value")]


def state(exported: Any, names: Sequence[str]) -> list[Any]:
    """Returns the values of the buffers that are inputs because of `keep_mutations`."""
    values = {**exported.constants, **exported.state_dict}
    return [values[name] for name in names if name in values]


def user_inputs(exported: Any, args: Any, kwargs: Mapping[str, Any] | None) -> list[Any]:
    """Returns the arguments of a call of the module, flattened as in torch.export."""
    from torch.utils import _pytree as pytree

    spec = exported.call_spec.in_spec
    if spec is not None and kwargs:
        known = spec.child(1).context if hasattr(spec, "child") else spec.children_specs[1].context
        missing = [name for name in known if name not in kwargs]
        if missing or len(kwargs) != len(known):
            raise InputError(f"expected the keyword arguments of the export ({', '.join(known)}), found {', '.join(kwargs)}")
        kwargs = {name: kwargs[name] for name in known}
    leaves = pytree.tree_flatten((tuple(args), dict(kwargs or {})))[0]
    wanted = len(input_specs(exported))
    if len(leaves) != wanted:
        raise InputError(f"expected {wanted} inputs as in the export, found {len(leaves)}")
    return leaves


def input_specs(exported: Any) -> list[Any]:
    """Returns the specs of the user inputs."""
    return [spec for spec in exported.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]


def run(session: Any, feeds: Mapping[str, Any], as_torch: bool) -> list[Any]:
    """Runs a session and returns the outputs in order."""
    names = [value.name for value in session.get_outputs()]
    lent = {name: _argument(name, value) for name, value in feeds.items()}
    try:
        values = session.run_with_ort_values(names, lent)
    except Exception as error:  # the errors of ONNX Runtime have no common base class
        raise InputError(f"ONNX Runtime cannot run the model on these inputs: {str(error).splitlines()[0]}") from error
    return [_to_torch(value) if as_torch else value.numpy() for value in values]


def of_type(value: Any, wanted: str) -> Any:
    """A float32 tensor in the half precision that an input has; other values as they are."""
    import torch

    dtype = {"tensor(float16)": torch.float16, "tensor(bfloat16)": torch.bfloat16}.get(wanted)
    return value.to(dtype) if dtype is not None and getattr(value, "dtype", None) == torch.float32 else value


def _argument(name: str, value: Any) -> Any:
    """The value of an input for ONNX Runtime."""
    try:
        return _to_ort(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"the input `{name}` cannot be made from an object of the class `{type(value).__name__}`: {error}", help="pass a tensor") from error


def _to_ort(value: Any) -> Any:
    runtime = require("onnxruntime", "running the model")
    import numpy

    if not hasattr(value, "detach"):
        # Python numbers have 64 bits, as in torch.export.
        return runtime.OrtValue.ortvalue_from_numpy(numpy.ascontiguousarray(value))
    import torch

    # Complex tensors are real tensors with a last dimension of 2.
    value = value.detach().cpu().resolve_conj().resolve_neg()
    value = (torch.view_as_real(value) if value.is_complex() else value).contiguous()
    carried = _CARRIED.get(str(value.dtype).removeprefix("torch."))
    if carried is None:
        return runtime.OrtValue.ortvalue_from_numpy(value.numpy())
    number, carrier = carried
    return runtime.OrtValue.ortvalue_from_numpy_with_onnx_type(value.view(getattr(torch, carrier)).numpy(), number)


def _to_torch(value: Any) -> Any:
    import torch

    kind = value.data_type().removeprefix("tensor(").removesuffix(")")
    if kind == "bfloat16" or kind.startswith("float8"):
        # DLPack supports these types, but NumPy does not.
        return torch.utils.dlpack.from_dlpack(value._ortvalue.to_dlpack())
    return torch.from_numpy(value.numpy())
