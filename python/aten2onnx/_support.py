"""`aten2onnx.supported`: tells whether an operator can be exported."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from . import _arguments, _native
from ._errors import ArgumentError
from ._types import Operator, Paths


@dataclass(frozen=True)
class Support:
    """Whether an operator can be exported. True if every call of it can be exported to `opset`, or to all opsets if that is None.

    Attributes:
        operator: The overload, such as `aten::add.Tensor`.
        opset: The opset in question; None for all.
        full: The opsets that support every call.
        partial: The opsets that support some calls.
        reasons: Why other calls are not supported.
        rule: The location of the rule, such as `mappings/aten/arithmetic.opmap:12`; None if there is no rule.
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


@_arguments.checked
def supported(op: Operator, opset: int | None = None, *, mappings: Paths = ()) -> Support:
    """Tells whether an operator can be exported.

    Args:
        op: An operator of `torch.ops`, or its name: `aten::add.Tensor`, `aten.add.Tensor`.
        opset: An opset (default: all opsets).
        mappings: Mapping files or folders, as in `export`.
    """
    _arguments.opset(opset, "opset")
    name = operator_name(op)
    known = rules(mappings).support(name)
    if known is None:
        known = {"full": (), "partial": (), "reasons": (f"there is no rule for `{name}`",), "rule": None}
    return Support(name, opset, tuple(known["full"]), tuple(known["partial"]), tuple(known["reasons"]), known["rule"])


def rules(mappings: Paths) -> _native.Rules:
    """Returns the built-in rules, extended and overridden by those of mapping files."""
    paths = [mappings] if isinstance(mappings, (str, os.PathLike)) else mappings
    return _native.Rules([os.fspath(path) for path in paths])


def operator_name(op: Any) -> str:
    """Returns the full name of an operator, such as `aten::add.Tensor`."""
    if not isinstance(op, str):
        name = getattr(op, "name", None)  # an overload
        op = name() if callable(name) else getattr(op, "_qualified_op_name", op)
    if not isinstance(op, str):
        raise ArgumentError(
            f"op: expected an operator of `torch.ops` or its name, found an object of the class `{type(op).__name__}`", help='write it as "aten::add.Tensor"'
        )
    op = op.removeprefix("torch.ops.")
    if "::" not in op:
        op = op.replace(".", "::", 1)
    return op.removesuffix(".default")
