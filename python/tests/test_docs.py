"""The Python and TOML code blocks of the documentation, and the minimal example."""

from __future__ import annotations

import inspect
import re
import runpy
import sys
import tomllib
from pathlib import Path

import onnx
import pytest
import torch
from torch import nn

import aten2onnx

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = [*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/*.md"), REPOSITORY / "python/README.md"]


def blocks(language: str) -> dict[str, list[str]]:
    """Returns the blocks of a language by page. Blocks that name a file are tested elsewhere."""
    fence = re.compile(rf"^```{language}\n(.*?)^```$", re.DOTALL | re.MULTILINE)
    found = {str(page.relative_to(REPOSITORY)): fence.findall(page.read_text(encoding="utf-8")) for page in PAGES}
    return {page: texts for page, texts in found.items() if texts}


PYTHON = blocks("python")


def test_no_page_is_missing() -> None:
    assert {"README.md", "docs/migration.md", "docs/complex.md", "docs/custom-operators.md", "python/README.md"} <= set(PYTHON)


@pytest.mark.parametrize("page", PYTHON)
def test_python_runs(page, tmp_path, monkeypatch) -> None:
    class Named(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(nn.Linear(4, 3), nn.ELU())

        def forward(self, x):
            return self.net(x)

    monkeypatch.chdir(tmp_path)
    names = {"torch": torch, "model": Named().eval(), "x": torch.randn(2, 4), "__name__": page}
    for number, block in enumerate(PYTHON[page]):
        # A file of its own: what a loop is, is read from the code.
        path = tmp_path / f"{Path(page).stem}_{number}.py"
        path.write_text(block, encoding="utf-8")
        exec(compile(block, str(path), "exec"), names)
    onnx.checker.check_model("model.onnx", full_check=True)


def test_no_script_has_the_name_of_a_module_of_python() -> None:
    # The folder of a script comes first where its imports are looked for: all others beside it would get this one.
    folders = ("bench", "tests", "tools", "runtimes", "explorer", "python/tests")
    scripts = [path for folder in folders for path in (REPOSITORY / folder).rglob("*.py") if "node_modules" not in path.parts]
    assert len(scripts) > 100
    assert not [path for path in scripts if path.stem in sys.stdlib_module_names]


def test_every_argument_of_export_is_on_the_page_about_arguments() -> None:
    page = (REPOSITORY / "docs/migration.md").read_text(encoding="utf-8")
    arguments = [name for name in inspect.signature(aten2onnx.export).parameters if name != "others"]
    assert len(arguments) > 40
    assert not [name for name in arguments if f"`{name}`" not in page]


def test_toml_parses() -> None:
    texts = [text for page in blocks("toml").values() for text in page]
    assert texts
    for text in texts:
        assert tomllib.loads(text)


def test_the_minimal_example(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(REPOSITORY / "examples/minimal/export.py"), run_name="__main__")
    assert "Compared with PyTorch" in capsys.readouterr().out
    onnx.checker.check_model("model.onnx", full_check=True)
