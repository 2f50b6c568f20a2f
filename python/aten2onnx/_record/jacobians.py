"""Computes `torch.autograd.functional.jacobian` by `torch.func` while a model is recorded: PyTorch's function makes a turn for each element of
the result, so the calls would differ with the sizes, and a file would have them once for each element. `hessian` calls `jacobian`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

import torch
from torch.autograd import functional
from torch.utils import _pytree as pytree

_BEFORE = FunctionType(functional.jacobian.__code__, vars(functional), "jacobian", functional.jacobian.__defaults__)


@contextmanager
def computed_at_once() -> Iterator[None]:
    """While the block runs, Jacobians have the same values and are made by the same calls at all sizes. The code of the function is changed, because a
    model may have imported it by name."""
    before = functional.jacobian.__code__
    functional.jacobian.__code__ = _in_its_place.__code__
    try:
        yield
    finally:
        functional.jacobian.__code__ = before


def _in_its_place(
    func: Any, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False, strategy: str = "reverse-mode"
) -> Any:
    from aten2onnx._record.jacobians import jacobian

    return jacobian(func, inputs, create_graph, strict, vectorize, strategy)


def jacobian(func: Any, inputs: Any, create_graph: bool, strict: bool, vectorize: bool, strategy: str) -> Any:
    """As `torch.autograd.functional.jacobian`, which is called where `torch.func` cannot do the same: it checks what is independent if it is strict."""
    given = (inputs,) if isinstance(inputs, torch.Tensor) else tuple(inputs)
    if strict or not all(isinstance(value, torch.Tensor) and value.is_floating_point() for value in given):
        return _BEFORE(func, inputs, create_graph, strict, vectorize, strategy)
    try:
        rows = _rows(func, given)
    except RuntimeError:
        return _BEFORE(func, inputs, create_graph, strict, vectorize, strategy)
    if not create_graph:
        rows = pytree.tree_map(torch.Tensor.detach, rows)
    if not isinstance(inputs, torch.Tensor):
        return rows
    return tuple(row[0] for row in rows) if isinstance(rows[0], tuple) else rows[0]


def _rows(func: Any, given: tuple[torch.Tensor, ...]) -> Any:
    """A tuple for each result of a function, or for its only one: the derivatives by each input, [*dimensions of the result, *those of the input].

    `torch.func.jacrev` does the same, but makes the units of several results as one matrix, in which places depend on sizes.

    Raises:
        RuntimeError: `torch.func` cannot compute them.
    """
    made: Any = torch.func.vjp(func, *given)
    found, slopes = made
    results = (found,) if isinstance(found, torch.Tensor) else found

    def row(index: int) -> tuple[torch.Tensor, ...]:
        def along(unit: torch.Tensor) -> Any:
            units = tuple(unit.view_as(result) if number == index else torch.zeros_like(result) for number, result in enumerate(results))
            return slopes(units[0] if isinstance(found, torch.Tensor) else units)

        result = results[index]
        by_unit = torch.func.vmap(along)(torch.eye(result.numel(), dtype=result.dtype, device=result.device))
        return tuple(slope.reshape(*result.shape, *value.shape) for slope, value in zip(by_unit, given))

    return row(0) if isinstance(found, torch.Tensor) else tuple(row(index) for index in range(len(results)))


__all__ = ["computed_at_once", "jacobian"]
