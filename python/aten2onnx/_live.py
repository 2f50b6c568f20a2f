"""Passes an ExportedProgram in memory to the native library, which reads its graph and gets its weights by pointer."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from . import _serialized
from ._capture import quiet
from ._constants import run_decompositions
from ._errors import InputError, UnsupportedError
from ._native import Program
from ._weights import OutsideWeights, is_absent, without_data

_log = logging.getLogger(__name__)


class LiveProgram:
    """A native program and the tensors whose memory it reads.

    Weights are read when the model is written, so in-place changes until then change the model.
    """

    #: Whether the program was recorded, and not captured by torch.export.
    is_recorded = False

    def __init__(self, exported: Any, name: str, outside: OutsideWeights | None = None) -> None:
        self.exported = _plain(exported)
        self.outside = outside or OutsideWeights()
        self._tensors: list[tuple[str, Any, int, int]] = []
        state = self._lent(self.exported.state_dict)
        constants = self._lent(self.exported.constants)
        self.native = _native(name, self.exported, state, constants, self.outside.source())

    def check(self) -> None:
        """Raises an error if the storage of a weight was resized, because it must not be read then."""
        for name, tensor, address, size in self._tensors:
            storage = tensor.untyped_storage()
            if (storage.data_ptr(), storage.nbytes()) != (address, size):
                raise InputError(
                    f"the memory of the weight `{name}` was resized after the export",
                    help="save the model before you move or offload the module, or export it again",
                )

    def _lent(self, tensors: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        import torch

        described = {}
        for name, value in tensors.items():
            if not isinstance(value, torch.Tensor):
                continue  # an object of a custom class, which the graph signature describes
            given = self.outside.tensor(name, value)
            if given is None:
                described[name] = absent(value)
                continue
            described[name] = facts(name, given)
            tensor = described[name]["owner"]
            self._tensors.append((name, tensor, described[name]["address"], described[name]["bytes"]))
        return described


def facts(name: str, tensor: Any) -> dict[str, Any]:
    """Describes a tensor for the native library, which reads its memory."""
    tensor = _on_cpu(name, tensor.detach())
    storage = tensor.untyped_storage()
    return {
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "sizes": list(tensor.shape),
        "strides": list(tensor.stride()),
        "offset": tensor.storage_offset(),
        "address": storage.data_ptr(),
        "bytes": storage.nbytes(),
        "absent": False,
        "owner": tensor,
    }


def absent(tensor: Any) -> dict[str, Any]:
    """Describes a tensor without data. Tied tensors have the same storage, which stands for its address."""
    return {
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "sizes": list(tensor.shape),
        "strides": list(tensor.stride()),
        "offset": tensor.storage_offset(),
        "address": tensor.untyped_storage()._cdata,
        "bytes": 0,
        "absent": True,
        "owner": tensor,
    }


def _native(name: str, exported: Any, state: dict[str, dict[str, Any]], constants: dict[str, dict[str, Any]], source: str) -> Program:
    """Reads the graph, or what PyTorch's serializer writes of it: that takes thirty times as long, but knows rare arguments."""
    from torch._export.serde.schema import SCHEMA_VERSION

    major, minor = SCHEMA_VERSION
    try:
        return Program.traced(name, exported, _serialized.ranges(exported), _serialized.guards(exported), (major, minor), state, constants, source)
    except NotImplementedError as reason:
        _check_arguments(exported)
        _log.debug("%s is read through PyTorch's serializer: %s", name, reason)
        return Program.live(name, _serialized.document(exported), state, constants, source)


def _check_arguments(exported: Any) -> None:
    """Raises an error for an argument that an operator lacks: PyTorch's serializer would leave it out."""
    import torch

    for module in exported.graph_module.modules():
        for node in module.graph.nodes if isinstance(module, torch.fx.GraphModule) else ():
            if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
                continue
            arguments = node.target._schema.arguments
            names = [argument.name for argument in arguments]
            surplus = [f"has no argument `{name}`" for name in node.kwargs if name not in names]
            if len(node.args) > sum(not argument.kwarg_only for argument in arguments):
                surplus.append(f"is given more arguments than it has: {len(node.args)} of {len(names)}")
            if surplus:
                raise InputError(
                    f"`{node.target.name()}` {surplus[0]}",
                    place=[f"node `{node.name}`"],
                    help=f"its arguments are {', '.join(f'`{name}`' for name in names)}",
                )


def _plain(exported: Any) -> Any:
    """Replaces tensor subclasses (quantized weights, DTensor, ...) by plain tensors, and calls of Python functions by what these do."""
    from torch.utils._python_dispatch import is_traceable_wrapper_subclass

    tensors = [*exported.state_dict.values(), *exported.constants.values()]
    calls = list(_calls_of_functions(exported))
    for node in calls:
        _check_import(node)
    if calls or any(map(is_traceable_wrapper_subclass, tensors)):
        with quiet():
            return run_decompositions(exported, {})
    return exported


def _calls_of_functions(exported: Any) -> Iterator[Any]:
    """The nodes that call a Python function: torch.export records some of the classes of torch.autograd.Function in this way.

    Such programs cannot be saved.
    """
    import torch

    flat_apply = getattr(torch.ops.higher_order, "flat_apply", None)
    for module in exported.graph_module.modules():
        if flat_apply is not None and isinstance(module, torch.fx.GraphModule):
            yield from module.graph.find_nodes(op="call_function", target=flat_apply)


def _check_import(node: Any) -> None:
    """Raises an error if a node calls a class that PyTorch cannot find by the name in the node."""
    name = next((value for value in node.args[2:] if isinstance(value, str)), None)
    if name is None or "." not in name:
        return
    module, _, kind = name.rpartition(".")
    try:
        found = getattr(import_module(module), kind)
    except (ImportError, AttributeError):
        found = None
    if found is None:
        lines = [line.strip() for line in (node.meta.get("stack_trace") or "").splitlines() if line.strip().startswith("File ")]
        raise UnsupportedError(
            f"the program calls the class `{name}` of torch.autograd.Function, which cannot be imported by this name",
            place=lines[-1:],
            help="define the class at the level of its module",
            node=node.name,
            source_line=lines[-1] if lines else None,
        )


def _on_cpu(name: str, tensor: Any) -> Any:
    import torch

    if is_absent(tensor):
        raise without_data(name)
    if tensor.layout is not torch.strided:
        raise UnsupportedError(f"the weight `{name}` has the layout {tensor.layout}, which ONNX does not support")
    # Each call returns the same tensor if there is nothing to do.
    return tensor.cpu().resolve_conj().resolve_neg()
