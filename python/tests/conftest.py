"""Fixtures of all tests."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# One thread for each of pytest's processes: those of PyTorch wait actively, and take a core from the other process. Read when PyTorch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# No test asks a server for a model: where there is none, each question takes seconds. Read when the client is imported.
os.environ["HF_HUB_OFFLINE"] = "1"

REPOSITORY = Path(__file__).resolve().parents[2]
# pytest imports tests by their paths: what they share is a module here.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def mobilenet() -> Path:
    """A small MobileNet, written by torch.export.save."""
    return REPOSITORY / "tests/data/models/mobilenet_like.pt2"


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Uses the same weights and inputs in every run."""
    import torch

    torch.default_generator.manual_seed(0)


@pytest.fixture(autouse=True)
def modes_are_left_as_they_were() -> Iterator[None]:
    """No test leaves PyTorch in another mode, whatever it exports and however that fails."""
    before = _modes()
    yield
    assert _modes() == before


def _modes() -> dict[str, Any]:
    import torch

    return {
        "gradients": torch.is_grad_enabled(),
        "inference": torch.is_inference_mode_enabled(),
        "autocast": torch.is_autocast_enabled("cpu"),
        "default dtype": torch.get_default_dtype(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "modes of functions": len(torch.overrides._get_current_function_mode_stack()),
        "modes of calls": len(torch.utils._python_dispatch._get_current_dispatch_mode_stack()),
        "level of forward gradients": torch.autograd.forward_ad._current_level,
    }


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Another order, if `tests/run --shuffle` asks for one. Each process of pytest-xdist makes the same."""
    if seed := os.environ.get("ATEN2ONNX_SHUFFLE"):
        random.Random(seed).shuffle(items)
