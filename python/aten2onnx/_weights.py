"""Weights that are not in the program: in safetensors files, or given as tensors."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ._errors import ArgumentError
from ._types import Weights


@dataclass
class Elsewhere:
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
        """Returns the tensor of the program, or the one that is given in its place; None if a file has to have it."""
        value = self.tensors.get(name, value)
        return None if self.paths and is_absent(value) else value


def elsewhere(weights: Weights | None, names: Mapping[str, str] | None = None) -> Elsewhere:
    """Reads the arguments `weights` and `weight_names`."""
    found = Elsewhere(names=dict(names or {}))
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


def is_absent(tensor: Any) -> bool:
    """Tells whether a tensor has no data."""
    from torch._subclasses.fake_tensor import FakeTensor

    return tensor.is_meta or isinstance(tensor, FakeTensor)
