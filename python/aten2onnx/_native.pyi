"""The native part of the package. It is not public."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

__all__ = [
    "DEFAULT_OPSET",
    "MAX_OPSET",
    "MIN_OPSET",
    "ConvertedModel",
    "Model",
    "Program",
    "Rules",
    "__version__",
    "chosen_opset",
    "main",
    "save_many",
]

__version__: str
MIN_OPSET: int
MAX_OPSET: int
DEFAULT_OPSET: int

_Progress = Callable[[int, int], Any]

@final
class Rules:
    def __new__(cls, paths: Sequence[str] = ...) -> Rules: ...
    def support(self, operator: str) -> dict[str, Any] | None: ...

@final
class Program:
    @staticmethod
    def read(path: str, rules: Rules, source: str = "{}") -> Program: ...
    @staticmethod
    def read_bytes(name: str, data: bytes, rules: Rules, source: str = "{}") -> Program: ...
    @staticmethod
    def inspect_file(
        path: str, rules: Rules, source: str = "{}", opset: int | None = None, data: bytes | None = None, target: str | None = None
    ) -> tuple[str, str]: ...
    @staticmethod
    def live(
        name: str,
        json: bytes,
        state: Mapping[str, Mapping[str, Any]],
        constants: Mapping[str, Mapping[str, Any]],
        source: str = "{}",
    ) -> Program: ...
    @staticmethod
    def traced(
        name: str,
        exported: Any,
        ranges: Sequence[tuple[str, tuple[int | None, int | None]]],
        version: tuple[int, int],
        state: Mapping[str, Mapping[str, Any]],
        constants: Mapping[str, Mapping[str, Any]],
        source: str = "{}",
    ) -> Program: ...
    def blockers(self, rules: Rules, opset: int) -> list[dict[str, Any]]: ...
    def export(self, rules: Rules, options: str) -> Model: ...
    def inspect(self, rules: Rules, opset: int | None = None, target: str | None = None) -> tuple[str, str]: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def torch_version(self) -> str | None: ...

@final
class Model:
    def save(self, path: str, external: str | None = None, progress: _Progress | None = None) -> dict[str, Any]: ...
    def save_adapter(self, path: str, file: str | None = None, tensors: Mapping[str, Mapping[str, Any]] | None = None) -> int: ...
    def serialized(self, progress: _Progress | None = None) -> bytes: ...
    @property
    def opset(self) -> int: ...
    @property
    def ir_version(self) -> int: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def operators(self) -> dict[str, int]: ...
    @property
    def inputs(self) -> list[tuple[str, str]]: ...
    @property
    def outputs(self) -> list[tuple[str, str]]: ...
    @property
    def weights(self) -> tuple[int, int]: ...

@final
class ConvertedModel:
    def __new__(cls, path: str, bytes: bytes | None, rules: Rules, options: str) -> ConvertedModel: ...
    def save(self, path: str, progress: _Progress | None = None) -> dict[str, Any]: ...
    def serialized(self) -> bytes: ...
    @property
    def notes(self) -> list[str]: ...

def save_many(
    models: Sequence[tuple[str, Model]], path: str, merge: str | None = None, progress: _Progress | None = None
) -> list[dict[str, Any]]: ...
def chosen_opset(target: str | None, asked: int | None) -> int: ...
def main(args: Sequence[str]) -> int: ...
