"""What all tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def mobilenet() -> Path:
    """A small MobileNet as torch.export.save wrote it."""
    return REPOSITORY / "tests/data/models/mobilenet_like.pt2"


@pytest.fixture(autouse=True)
def seeded() -> None:
    """The same weights and inputs on every run."""
    import torch

    torch.manual_seed(0)
