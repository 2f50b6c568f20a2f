"""Models that do something else each time they run, without PyTorch: what they draw would be a constant of the file."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import aten2onnx


class Of(torch.nn.Module):
    def __init__(self, function: Callable[[torch.Tensor], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(x)


class LayerDrop(torch.nn.Module):
    """As encoders of transformers have it: the number is drawn, and used in training alone."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        drawn = random.uniform(0, 1)
        return x if self.training and drawn < 0.5 else x * 2


_CACHE: dict[tuple[int, ...], torch.Tensor] = {}


def cached(x: torch.Tensor) -> torch.Tensor:
    """Its first run makes more calls than the others."""
    if tuple(x.shape) not in _CACHE:
        _CACHE[tuple(x.shape)] = torch.arange(3.0) * 2
    return x + _CACHE[tuple(x.shape)]


DRAWING: dict[str, Callable[[torch.Tensor], Any]] = {
    "random": lambda x: x * random.random(),
    "NumPy's number": lambda x: x * float(np.random.rand()),
    "NumPy's array": lambda x: x + torch.from_numpy(np.random.rand(3).astype("float32")),
    "generator of its own": lambda x: x * float(np.random.default_rng().random()),
    "time": lambda x: x * (time.perf_counter() % 7),
    "size": lambda x: x[: random.randint(1, 1000) % 2 + 1],
    "branch": lambda x: x + 1 if random.random() < 0.5 else x - 1,
}


@pytest.mark.parametrize("shapes", [None, {"x": {0: "n"}}], ids=["static", "dynamic"])
@pytest.mark.parametrize("name", DRAWING)
def test_what_is_drawn_outside_of_pytorch_is_refused_with_its_line(name: str, shapes: Any) -> None:
    random.seed(3)
    np.random.seed(3)
    before = random.getstate(), np.random.get_state()[2]
    with pytest.raises(aten2onnx.CaptureError, match=r"does not do the same when it runs again(.|\n)*in <lambda>(.|\n)*draw them with torch"):
        aten2onnx.export(Of(DRAWING[name]).eval(), (torch.ones(2, 3),), dynamic_shapes=shapes)
    assert (random.getstate(), np.random.get_state()[2]) == before


def test_torch_export_notes_what_is_drawn() -> None:
    program = aten2onnx.export(Of(DRAWING["random"]).eval(), (torch.ones(2, 3),), capture="export")
    assert any("`numpy.random` are constants of the file" in note for note in program.report.notes)
    program = aten2onnx.export(Of(torch.sin).eval(), (torch.ones(2, 3),), capture="export")
    assert not any("`numpy.random`" in note for note in program.report.notes)


@pytest.mark.parametrize("shapes", [None, {"x": {0: "n"}}], ids=["static", "dynamic"])
def test_what_is_drawn_and_not_used_is_no_matter(shapes: Any) -> None:
    random.seed(3)
    before = random.getstate()
    program = aten2onnx.export(LayerDrop().eval(), (torch.ones(2, 3),), dynamic_shapes=shapes, capture="record")
    assert random.getstate() == before
    torch.testing.assert_close(program(torch.ones(2, 3))[0], torch.full((2, 3), 2.0))


def test_a_first_run_may_fill_a_cache() -> None:
    _CACHE.clear()
    x = torch.randn(2, 3)
    program = aten2onnx.export(Of(cached).eval(), (x,), capture="record")
    torch.testing.assert_close(program(x)[0], cached(x))


SETTING: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "default dtype": (torch.get_default_dtype, lambda: torch.set_default_dtype(torch.float64)),
    "deterministic": (torch.are_deterministic_algorithms_enabled, lambda: torch.use_deterministic_algorithms(True)),
    "precision": (torch.get_float32_matmul_precision, lambda: torch.set_float32_matmul_precision("medium")),
    "autocast": (lambda: torch.is_autocast_enabled("cpu"), lambda: torch.set_autocast_enabled("cpu", True)),
    "gradients": (torch.is_grad_enabled, lambda: torch.set_grad_enabled(False)),
    "seed": (torch.initial_seed, lambda: torch.manual_seed(17)),
}


@pytest.mark.parametrize("name", SETTING)
def test_what_a_model_sets_in_pytorch_is_as_before(name: str) -> None:
    get, put = SETTING[name]
    before = get()

    def function(x: torch.Tensor) -> torch.Tensor:
        put()
        return x + 1

    aten2onnx.export(Of(function).eval(), (torch.ones(2, 3),), dynamic_shapes={"x": {0: "n"}}, capture="record")
    assert get() == before

    def failing(x: torch.Tensor) -> torch.Tensor:
        put()
        raise ValueError("no")

    with pytest.raises(aten2onnx.CaptureError):
        aten2onnx.export(Of(failing).eval(), (torch.ones(2, 3),), capture="record")
    assert get() == before
