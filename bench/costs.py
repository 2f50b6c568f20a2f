"""Counts what the export of a model with branches and loops takes: what branches.py and real.py share."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

import aten2onnx
from aten2onnx import _recorded
from aten2onnx._record import runs


@dataclass
class Cost:
    """One export.

    Attributes:
        runs: How often the model ran to be recorded.
        tried: The seconds of the comparisons with the model at other sizes and data.
        all: The seconds of the whole export.
    """

    runs: int = 0
    tried: float = 0.0
    all: float = 0.0


@contextmanager
def _counted(cost: Cost) -> Iterator[None]:
    """While the block runs, runs and comparisons are counted."""
    record, tries = runs._recorded, {name: getattr(_recorded, name) for name in ("try_out", "try_guesses")}

    def recorded(*args: Any) -> Any:
        cost.runs += 1
        return record(*args)

    def timed(function: Any) -> Any:
        def tried(*args: Any) -> None:
            start = time.process_time()
            try:
                function(*args)
            finally:
                cost.tried += time.process_time() - start

        return tried

    runs._recorded = recorded
    for name, function in tries.items():
        setattr(_recorded, name, timed(function))
    try:
        yield
    finally:
        runs._recorded = record
        for name, function in tries.items():
            setattr(_recorded, name, function)


def cost_of_export(model: torch.nn.Module, args: tuple[Any, ...], shapes: Any, path: Any = None, **options: Any) -> tuple[Cost, aten2onnx.ONNXProgram]:
    """Records a model and exports it. Times are of the processor."""
    cost = Cost()
    with _counted(cost):
        start = time.process_time()
        program = aten2onnx.export(model, args, path, dynamic_shapes=shapes, capture="record", **options)
        cost.all = time.process_time() - start
    return cost, program
