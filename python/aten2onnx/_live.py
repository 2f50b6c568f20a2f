"""Passes an ExportedProgram in memory to the native library: the graph as JSON, the weights by pointer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ._capture import quiet
from ._errors import InputError, UnsupportedError
from ._native import Program


class LiveProgram:
    """A native program and the tensors whose memory it reads.

    Weights are read when the model is written, so in-place changes until then change the model.
    """

    def __init__(self, exported: Any, name: str) -> None:
        self.exported = _plain(exported)
        self._tensors: list[tuple[str, Any, int, int]] = []
        state = self._lent(self.exported.state_dict)
        constants = self._lent(self.exported.constants)
        self.native = Program.live(name, document(self.exported), state, constants)

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
            tensor = _on_cpu(name, value.detach())
            storage = tensor.untyped_storage()
            self._tensors.append((name, tensor, storage.data_ptr(), storage.nbytes()))
            described[name] = {
                "dtype": str(tensor.dtype).removeprefix("torch."),
                "sizes": list(tensor.shape),
                "strides": list(tensor.stride()),
                "offset": tensor.storage_offset(),
                "address": storage.data_ptr(),
                "bytes": storage.nbytes(),
                "owner": tensor,
            }
        return described


def document(exported: Any) -> bytes:
    """Returns the JSON of a program without its weights, as torch.export.save writes it."""
    import torch
    from torch._export.serde import serialize as serde
    from torch._export.serde.schema import SCHEMA_VERSION

    serializer = _serializer(exported)
    try:
        graph = serializer.serialize_graph(exported.graph_module)
        signature = serializer.serialize_signature(exported.graph_signature)
    except (serde.SerializeError, AssertionError, NotImplementedError) as error:
        raise UnsupportedError(
            f"PyTorch cannot serialize this program: {_essence(error)}", help="`torch.export.save` fails in the same way"
        ) from error
    program = {
        "graph_module": {"graph": graph, "signature": signature},
        "range_constraints": serde.serialize_range_constraints(exported.range_constraints),
        "schema_version": {"major": SCHEMA_VERSION[0], "minor": SCHEMA_VERSION[1]},
        "torch_version": torch.__version__,
    }
    return json.dumps(serde._dataclass_to_dict(program), cls=serde.EnumEncoder, allow_nan=False).encode()


def _essence(error: Exception) -> str:
    """Returns the node and the reason from PyTorch's message, which also contains the graph and a traceback."""
    first, *_, last = str(error).splitlines() * 2 or [""]
    node = first.split(" in graph:")[0]
    return node if last in ("", first) else f"{node}: {last.split(': ', 1)[-1]}"


def _serializer(exported: Any) -> Any:
    """Returns PyTorch's serializer, extended to nodes of `torch.onnx.ops.symbolic`."""
    from torch._export.serde import serialize as serde

    serializer = serde.GraphModuleSerializer(exported.graph_signature, exported.module_call_graph)
    plain = serializer.serialize_inputs

    def serialize_inputs(target: Any, args: Any, kwargs: Any = None) -> Any:
        if getattr(target, "namespace", None) == "onnx_symbolic":
            # PyTorch only serializes lists of lists if they contain tuples of known ints. The outputs have the shapes.
            places = [tuple(place) for place in kwargs["attr_pos"]]
            kwargs = {name: value for name, value in kwargs.items() if name not in ("shapes", "attr_pos")}
            kwargs |= {"attr_pos": places} if places else {}
        return plain(target, args, kwargs)

    serializer.serialize_inputs = serialize_inputs  # type: ignore[method-assign]  # the class is final
    return serializer


def _plain(exported: Any) -> Any:
    """Replaces tensor subclasses (quantized weights, DTensor, ...) by plain tensors."""
    from torch.utils._python_dispatch import is_traceable_wrapper_subclass

    tensors = [*exported.state_dict.values(), *exported.constants.values()]
    if any(map(is_traceable_wrapper_subclass, tensors)):
        with quiet():
            return exported.run_decompositions({})
    return exported


def _on_cpu(name: str, tensor: Any) -> Any:
    import torch
    from torch._subclasses.fake_tensor import FakeTensor

    if tensor.is_meta or isinstance(tensor, FakeTensor):
        raise InputError(
            f"the weight `{name}` has no data: it is on the meta device or a fake tensor",
            help="load the weights of the model to a real device before the export",
        )
    if tensor.layout is not torch.strided:
        raise UnsupportedError(f"the weight `{name}` has the layout {tensor.layout}, which ONNX does not support")
    # Each call returns the same tensor if there is nothing to do.
    return tensor.cpu().resolve_conj().resolve_neg()
