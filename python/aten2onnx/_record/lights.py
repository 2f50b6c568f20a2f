"""Runs without the elements of floats, on tensors of the meta device. They cost far less than fake tensors, which check every call.

A meta tensor has a type, sizes and strides. The device that it stands for is kept beside. Where the meta device has no kernel, a call is made on fake tensors.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import torch
from torch.utils import _pytree as pytree

from .fakes import ITEMS, Fakes, is_computed_with, is_unknown, plain_sizes, without_floats
from .result_shapes import shape_of_result
from .tensors import named_tensors, note_device, place_of

_log = logging.getLogger(__name__)
_META = torch.device("meta")


class Lights(Fakes):
    """Makes the meta tensors of a run."""

    def __init__(self, count: int, device: torch.device) -> None:
        super().__init__(count, device)
        #: The memory of meta tensors by that of real ones.
        self._memories: dict[int, Any] = {}

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        """The meta tensor of a tensor."""
        return tensor if tensor.is_meta else super().of(tensor)

    def _made(self, tensor: torch.Tensor) -> torch.Tensor:
        made = _like(tensor, self._memory_of(tensor), tensor.device)
        self.memory[int(made.untyped_storage()._cdata)] = int(tensor.untyped_storage()._cdata)
        return made

    def _memory_of(self, tensor: torch.Tensor) -> Any:
        storage = tensor.untyped_storage()
        found = self._memories.get(int(storage._cdata))
        if found is None:
            found = self._memories[int(storage._cdata)] = torch.UntypedStorage(storage.nbytes(), device=_META)
        return found

    def call(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Runs an operator on meta tensors.

        Raises:
            NoElements: Its result needs elements.
        """
        if function in ITEMS:
            return self._item(args[0])
        device = _device_of_result(args, kwargs)
        shape = shape_of_result(function, args, kwargs)
        if shape is not None:
            if function._schema.is_mutable:
                return args[0]
            made = torch.empty(shape.sizes, dtype=args[0].dtype, device=_META, memory_format=shape.order)
            note_device(made, device)
            return made
        try:
            out = function(*map(_on_meta, args), **{name: _on_meta(arg) for name, arg in kwargs.items()})
        except RuntimeError as error:  # that of a kernel which is not there is one, too
            _log.debug("%s on fake tensors: %s", function, error)
            return self._called_on_fakes(function, args, kwargs)
        _note_devices(out, device)
        return out

    def _called_on_fakes(self, function: Any, args: Any, kwargs: Any) -> Any:
        """The result of a call that is made on fake tensors. What shares memory with an argument does so as a meta tensor, too."""
        given: list[tuple[torch.Tensor, torch.Tensor]] = []

        def faked(tensor: torch.Tensor) -> torch.Tensor:
            sizes, strides = plain_sizes(tensor)
            with self.mode:
                made = torch.empty_strided(sizes, strides, dtype=tensor.dtype, device=place_of(tensor))
            given.append((made, tensor))
            return made

        def light(made: torch.Tensor) -> torch.Tensor:
            for fake, tensor in given:
                if made is fake and made.shape == tensor.shape:
                    return tensor
                if made.untyped_storage()._cdata == fake.untyped_storage()._cdata:
                    return _like(made, tensor.untyped_storage(), made.device, int(tensor.storage_offset()))
            return _like(made, None, made.device)

        fake_args, fake_kwargs = pytree.tree_map_only(torch.Tensor, faked, (args, kwargs))
        return pytree.tree_map_only(torch.Tensor, light, super().call(function, fake_args, fake_kwargs))


def _like(tensor: torch.Tensor, memory: Any, device: torch.device, offset: int = 0) -> torch.Tensor:
    """A meta tensor of the type of another one, in this memory or in its own."""
    sizes, strides = plain_sizes(tensor)
    if memory is None:
        made = torch.empty_strided(sizes, strides, dtype=tensor.dtype, device=_META)
    else:
        made = torch.empty(0, dtype=tensor.dtype, device=_META)
        made.set_(memory, offset + int(tensor.storage_offset()), sizes, strides)  # type: ignore[call-overload]
    note_device(made, device)
    return made


def _on_meta(arg: Any) -> Any:
    return _META if isinstance(arg, torch.device) else arg


def _device_of_result(args: Iterable[Any], kwargs: Mapping[str, Any]) -> torch.device:
    """Where the result of a call is: the device that it asks for, or that of its first tensor with a dimension."""
    found = None
    for leaf in pytree.tree_leaves((kwargs, args)):
        if isinstance(leaf, torch.device):
            return leaf
        if isinstance(leaf, torch.Tensor) and (found is None or (found.dim() == 0 and leaf.dim() > 0)):
            found = leaf
    return torch.device("cpu") if found is None else place_of(found)


def _note_devices(out: Any, device: torch.device) -> None:
    if isinstance(out, torch.Tensor):
        note_device(out, device)
    elif isinstance(out, (list, tuple)):
        for item in out:
            _note_devices(item, device)


class Light(NamedTuple):
    """What a run without elements is made of.

    Attributes:
        lights: What makes its meta tensors.
        leaves: Its inputs.
        tensors: The tensors of the model whose elements it does without.
    """

    lights: Lights
    leaves: list[Any]
    tensors: list[torch.Tensor]


def lightened(model: torch.nn.Module, leaves: list[Any], count: int) -> Light | None:
    """A run without elements; None if something has none in any run, or cannot be on the meta device."""
    tensors = named_tensors(model)
    if any(is_unknown(tensor) for tensor in [tensor for _, tensor in tensors] + leaves) or any(tensor.layout is not torch.strided for _, tensor in tensors):
        return None
    lights = Lights(count, torch.device("cpu"))
    given = []
    for leaf in leaves:
        light = without_floats(leaf)
        if light is not leaf:
            note_device(light, leaf.device)
        given.append(light)
    return Light(lights, given, [tensor for name, tensor in tensors if is_computed_with(name, tensor)])


__all__ = ["Lights", "lightened"]
