"""Decomposes the operators that have no rule, and only these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._capture import quiet
from ._constants import run_decompositions
from ._live import LiveProgram

#: The results of a decomposition may need another one.
ROUNDS = 8


def decomposed(program: LiveProgram, name: str, blockers: Callable[[Any], list[dict[str, Any]]]) -> tuple[LiveProgram, list[str]]:
    """Decomposes the operators that `blockers` lists, as far as PyTorch can. Returns the program and the names of these operators."""
    done: list[str] = []
    for _ in range(ROUNDS):
        replaced = table([blocker["operator"] for blocker in blockers(program.native)])
        if not replaced:
            break
        done += [known for known in map(_name, replaced) if known not in done]
        with quiet():
            exported = run_decompositions(program.exported, replaced)
        program = LiveProgram(exported, name, program.outside)
    return program, done


def overload(operator: str) -> Any:
    """Returns the torch operator with a name such as `aten::add.Tensor`, or None."""
    import torch

    namespace, _, rest = operator.partition("::")
    packet, _, variant = rest.partition(".")
    found = getattr(getattr(torch.ops, namespace, None), packet, None)
    return getattr(found, variant or "default", None)


def table(operators: list[str]) -> dict[Any, Callable[..., Any]]:
    """Returns what PyTorch replaces operators by, as far as it can."""
    if not operators:
        return {}  # PyTorch takes long to list its decompositions.
    import torch
    from torch._decomp import global_decomposition_table

    defaults = torch.export.default_decompositions()
    registered = global_decomposition_table["post_autograd"]
    found: dict[Any, Callable[..., Any]] = {}
    for operator in map(overload, operators):
        if operator is None:
            continue
        if operator in registered:
            found[operator] = registered[operator]
        elif operator in defaults:
            found[operator] = defaults[operator]
        elif hasattr(operator, "impl_aten"):  # a prim, which some decompositions use
            found[operator] = operator.impl_aten
    return found


def _name(operator: Any) -> str:
    return operator.name().removesuffix(".default")
