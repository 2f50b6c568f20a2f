"""The package: type stubs, type annotations, and the copies of the licenses."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import aten2onnx

from tiers import IS_ALL

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = Path(aten2onnx.__file__).parent


def mypy(folder: Path, module: str, *arguments: object) -> None:
    """Runs a program of mypy, which writes its cache to the folder."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


#: The stub names types of this package alone. PyTorch's are not read for it, which takes long.
ALONE = """\
[mypy]
follow_imports = skip
ignore_missing_imports = True

[mypy-aten2onnx.*]
follow_imports = normal
"""


def test_the_stub_describes_the_native_module(tmp_path) -> None:
    (tmp_path / "alone.ini").write_text(ALONE)
    mypy(tmp_path, "mypy.stubtest", "--mypy-config-file", "alone.ini", "aten2onnx._native")


#: The types of PyTorch and of other libraries count, and errors in them do not.
SILENT = """\
[mypy]
follow_imports = silent
ignore_missing_imports = True
"""
#: Of libraries that is not read, most of which the package does not use: the models of transformers alone would be half of all. `MODELS=all` reads them.
UNREAD = """
[mypy-transformers.models.*,huggingface_hub.*,torch._dynamo.*,torch._inductor.*,torch.distributed.*,torch.testing.*,torch.ao.*,torch.onnx.*]
follow_imports = skip

[mypy-transformers.models,transformers.models.auto.*]
follow_imports = silent
"""


def test_the_package_is_typed(tmp_path) -> None:
    assert (PACKAGE / "py.typed").exists()
    (tmp_path / "silent.ini").write_text(SILENT if IS_ALL else SILENT + UNREAD)
    mypy(tmp_path, "mypy", "--config-file", "silent.ini", PACKAGE)


def test_the_licenses_are_those_of_the_repository() -> None:
    for copy, original in [("Apache-2.0.txt", "LICENSE-APACHE"), ("MIT.txt", "LICENSE-MIT")]:
        assert (REPOSITORY / "python/LICENSES" / copy).read_bytes() == (REPOSITORY / original).read_bytes()


def test_the_metadata_is_complete() -> None:
    found = metadata.metadata("aten2onnx")
    assert found["Version"] == aten2onnx.__version__
    assert found["License-Expression"] == "Apache-2.0 OR MIT"
    assert found.get_all("License-File") == ["LICENSES/Apache-2.0.txt", "LICENSES/MIT.txt"]
    assert {"Homepage", "Repository", "Changelog"} <= {url.split(",")[0] for url in found.get_all("Project-URL")}
