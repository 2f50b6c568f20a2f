"""A dozen model types: base models with dynamic shapes give the results of PyTorch at two sizes.

`tests/transformers/compare.py` compares all types.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tiers import slow

pytest.importorskip("transformers")

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/transformers"))
import compare  # noqa: E402

TYPES = ["albert", "bert", "clip", "convnext", "distilbert", "gemma3_text", "mpnet", "olmoe", "qwen3", "segformer", pytest.param("swin", marks=slow), "t5", "vit", "wav2vec2"]


@pytest.mark.parametrize("model_type", TYPES)
def test_a_type(model_type) -> None:
    row = compare.compare(model_type, "AutoModel")
    assert row["status"] == "right", row
