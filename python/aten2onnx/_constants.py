"""Decomposes programs, and keeps constants that PyTorch drops.

Where a decomposition makes a tensor of numbers, as the emulated arithmetic of FP4 does, `ExportedProgram.run_decompositions` lifts it, forgets it,
and then refuses its own result: "Constant tensor ... is not in the constants dictionary". Seen in PyTorch 2.13.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ._conditions import guards_code

REFUSAL = "is not in the constants dictionary"


def run_decompositions(exported: Any, table: dict[Any, Any]) -> Any:
    """Returns `exported.run_decompositions(table)` with all its constants, and with the guards of a program that was loaded from a file."""
    made = _decomposed(exported, table)
    guards = guards_code(exported)
    if guards and not getattr(made, "_guards_code", None):
        made._guards_code = guards
    return made


def _decomposed(exported: Any, table: dict[Any, Any]) -> Any:
    try:
        return exported.run_decompositions(table)
    except Exception as error:  # The class of this error is PyTorch's own and has moved.
        if REFUSAL not in str(error):
            raise
    with _kept(exported):
        return exported.run_decompositions(table)


@contextmanager
def _kept(exported: Any) -> Iterator[None]:
    """While it is open, the constants of a decomposition are added to those that the result gets from the program."""
    import torch
    from torch.export import _trace

    trace, constants = _trace._export_to_aten_ir, exported._constants

    def keep(*args: Any, **kwargs: Any) -> Any:
        made = trace(*args, **kwargs)
        exported._constants.update({name: value for name, value in made.constants.items() if isinstance(value, torch.Tensor)})
        return made

    # The result takes the dictionary of the program, which itself stays as it was.
    exported._constants = dict(constants)
    _trace._export_to_aten_ir = keep
    try:
        yield
    finally:
        _trace._export_to_aten_ir = trace
        exported._constants = constants
