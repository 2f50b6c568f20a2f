"""Weights that are not in the program: in safetensors files, or given as tensors."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from ._errors import ArgumentError, InputError
from ._types import Weights


@dataclass
class OutsideWeights:
    """Where the weights of a program are.

    Attributes:
        paths: Safetensors files, indexes and folders.
        tensors: Tensors by name, which replace those of the program.
        names: Names in the state dict with the names in the files; prefixes end with a dot.
    """

    paths: list[str] = field(default_factory=list)
    tensors: dict[str, Any] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    def options(self) -> dict[str, Any]:
        """Returns the source options that describe the files."""
        return {"weights": self.paths, "weight_names": [f"{old}={new}" for old, new in self.names.items()]}

    def source(self) -> str:
        """Returns them as JSON."""
        return json.dumps(self.options())

    def tensor(self, name: str, value: Any) -> Any:
        """Returns the tensor of the program, or the one that is given in its place; None if a file has to have it.

        Raises:
            InputError: The one that is given has another type than the program's, or the program has no data and none is given.
        """
        given = self.tensors.get(name)
        if given is not None and (given.shape != value.shape or given.dtype != value.dtype):
            raise InputError(
                f"weights: `{name}` is {_type(given)}, and {_type(value)} in the program",
                help="pass the weights that the module was made for, or make it with the dtype of the weights",
            )
        if given is None and self.tensors and not self.paths and is_absent(value):
            near = get_close_matches(name, self.tensors, 1)
            raise InputError(
                f"weights: `{name}` is missing, and has no data in the module" + (f"; the mapping has `{near[0]}`" if near else ""),
                help="pass all weights of the module by their names in its state dict, and buffers that are not in it by their names in the module",
            )
        value = value if given is None else given
        return None if self.paths and is_absent(value) else value


def _type(tensor: Any) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"


def outside_weights(weights: Weights | None, names: Mapping[str, str] | None = None) -> OutsideWeights:
    """Reads the arguments `weights` and `weight_names`."""
    found = OutsideWeights(names=dict(names or {}))
    if weights is None:
        return found
    for part in [weights] if isinstance(weights, (str, os.PathLike, Mapping)) else weights:
        if isinstance(part, Mapping):
            found.tensors.update(tensors("weights", part))
        elif isinstance(part, (str, os.PathLike)):
            found.paths.append(os.fspath(part))
        else:
            raise ArgumentError(f"weights: expected a path or a mapping of tensors, found {part!r}")
    return found


def tensors(argument: str, found: Mapping[str, Any]) -> Mapping[str, Any]:
    """Checks that a mapping has tensors."""
    for name, value in found.items():
        if not hasattr(value, "untyped_storage"):
            raise ArgumentError(f"{argument}[{name!r}]: expected a tensor of PyTorch, found an object of the class `{type(value).__name__}`")
    return found


def check_data(model: Any, outside: OutsideWeights) -> None:
    """Raises an error for the first tensor of a module that has no data, and that no file or mapping has.

    Raises:
        InputError: There is one.
    """
    import torch

    if not isinstance(model, torch.nn.Module) or outside.paths or outside.tensors:
        return
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        if is_absent(tensor):
            raise without_data(name)
    for path, module in model.named_modules():
        for name, tensor in vars(module).items():
            if isinstance(tensor, torch.Tensor) and is_absent(tensor):
                raise InputError(
                    f"the attribute `{path + '.' if path else ''}{name}` of the module is a tensor that has no data: it is on the meta device or a fake tensor",
                    help="make it on a real device, or register it as a buffer: then `weights=` can name what has its data",
                )


def without_data(name: str) -> InputError:
    """The error for a weight without data."""
    return InputError(
        f"the weight `{name}` has no data: it is on the meta device or a fake tensor",
        help="load the weights of the model to a real device before the export, or name the files that have them: `weights=\"model.safetensors\"`",
    )


def is_absent(tensor: Any) -> bool:
    """Tells whether a tensor has no data."""
    from torch._subclasses.fake_tensor import FakeTensor

    return tensor.is_meta or isinstance(tensor, FakeTensor)
