"""An environment that is the Python of the tests: it has ONNX Runtime, so nothing is installed."""
import os
import random
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness import environments  # noqa: E402


@pytest.fixture
def onnxruntime(tmp_path, monkeypatch):
    monkeypatch.setenv("ATEN2ONNX_RUNTIMES", str(tmp_path / "environments"))
    runtime = environments.find("onnxruntime")
    (runtime.environment / "bin").mkdir(parents=True)
    python = runtime.environment / "bin/python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    shutil.copyfile(runtime.requirements, runtime.environment / "requirements")
    return runtime


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Another order, if `tests/run --shuffle` asks for one. Each process of pytest-xdist makes the same."""
    if seed := os.environ.get("ATEN2ONNX_SHUFFLE"):
        random.Random(seed).shuffle(items)
