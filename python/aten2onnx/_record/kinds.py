"""Classes of Python as a model sees them while a run is recorded: other values belong to them, too."""

from __future__ import annotations

from typing import Any


class Kind(type):
    """The class of what stands for `real` in the code of a model. Instances of `others` are its instances, too."""

    real: type
    others: tuple[type, ...] = ()

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, (cls.real, *cls.others))

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind.real if isinstance(kind, Kind) else kind, cls.real)

    def __eq__(cls, other: Any) -> bool:
        return other is cls.real or other is cls

    def __hash__(cls) -> int:
        return hash(cls.real)

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls.real, name)
