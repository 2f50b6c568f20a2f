"""What the rules can say of an operator."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import _native

#: A path or several.
Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


@dataclass(frozen=True)
class Support:
    """Whether an operator can be exported; true if every call of it can, at the opset that was asked for.

    Attributes:
        operator: the overload, `aten::add.Tensor`.
        opset: the opset that was asked for; None for all.
        full: the opsets where every call works.
        partial: the opsets where some calls are refused.
        reasons: why not everywhere.
        rule: where its rule is, `mappings/aten/arithmetic.opmap:12`; None if it has none.
    """

    operator: str
    opset: int | None
    full: tuple[int, ...]
    partial: tuple[int, ...]
    reasons: tuple[str, ...]
    rule: str | None

    def __bool__(self) -> bool:
        if self.opset is None:
            return len(self.full) == _native.MAX_OPSET - _native.MIN_OPSET + 1
        return self.opset in self.full


def supported(op: Any, opset: int | None = None, *, mappings: Paths = ()) -> Support:
    """Can this operator be exported?

    Args:
        op: an operator of `torch.ops`, or its name: `aten::add.Tensor`, `aten.add.Tensor`.
        opset: one opset; all from 9 to 28 if it is left out.
        mappings: mapping files with rules of your own, as in `export`.
    """
    name = operator_name(op)
    known = rules(mappings).support(name)
    if known is None:
        known = {"full": (), "partial": (), "reasons": (f"there is no rule for `{name}`",), "rule": None}
    return Support(name, opset, tuple(known["full"]), tuple(known["partial"]), tuple(known["reasons"]), known["rule"])


def rules(mappings: Paths) -> _native.Rules:
    """The built-in rules, and those of mapping files over them."""
    paths = [mappings] if isinstance(mappings, (str, os.PathLike)) else mappings
    return _native.Rules([os.fspath(path) for path in paths])


def operator_name(op: Any) -> str:
    """`aten::add.Tensor` of whatever names an operator."""
    if not isinstance(op, str):
        name = getattr(op, "name", None)  # an overload
        op = name() if callable(name) else getattr(op, "_qualified_op_name", str(op))
    op = op.removeprefix("torch.ops.")
    if "::" not in op:
        op = op.replace(".", "::", 1)
    return op.removesuffix(".default")
