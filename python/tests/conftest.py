"""Fixtures of all tests."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

# One thread for each of pytest's processes: those of PyTorch wait actively, and take a core from the other process. Read when PyTorch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def mobilenet() -> Path:
    """A small MobileNet, written by torch.export.save."""
    return REPOSITORY / "tests/data/models/mobilenet_like.pt2"


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Uses the same weights and inputs in every run."""
    import torch

    torch.default_generator.manual_seed(0)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Another order, if `tests/run --shuffle` asks for one. Each process of pytest-xdist makes the same."""
    if seed := os.environ.get("ATEN2ONNX_SHUFFLE"):
        random.Random(seed).shuffle(items)
