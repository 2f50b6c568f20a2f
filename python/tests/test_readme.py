"""What the README tells users of Python to write works as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import onnx
import pytest
import torch
from torch import nn

REPOSITORY = Path(__file__).resolve().parents[2]


def blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (REPOSITORY / page).read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("page", ["README.md", "docs/migration.md", "python/README.md"])
def test_the_lines_of_python(page, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    names = {"torch": torch, "model": nn.Sequential(nn.Linear(4, 3), nn.ELU()).eval(), "x": torch.randn(2, 4)}

    class Named(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = names["model"]

        def forward(self, x):
            return self.net(x)

    names["model"] = Named().eval()
    assert blocks(page)
    for block in blocks(page):
        exec(block, names)
    onnx.checker.check_model("model.onnx", full_check=True)
