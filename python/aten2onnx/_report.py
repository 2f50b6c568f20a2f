"""The report of an export, as Markdown, as JSON and as a page."""

from __future__ import annotations

import json
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from . import _arguments, _native
from ._errors import Error, FileError, in_python
from ._facts import Compared, File, NamedType, Reported, Verification, Written

if TYPE_CHECKING:
    from ._native import Model


class Report:
    """The report of an export.

    Attributes:
        model: The name of the model.
        torch_version: The version of PyTorch, if known.
        opset: The opset of the model.
        ir_version: The IR version of the model.
        inputs: The inputs as pairs of name and type.
        outputs: The outputs as pairs of name and type.
        operators: The number of nodes of each ONNX operator.
        weights: The number of weights, and their size in bytes.
        decomposed: The PyTorch operators that were decomposed because they have no rule.
        notes: Notes for the user.
        conditions: Where the model is right, if not for all sizes that its inputs name: `n % 16 == 0`.
        verification: The results of `verify`: `outputs` by name, and `sizes`, the sizes at which a recorded module was compared; None if it did not run.
        files: The written files with their sizes.
        seconds: The time of each step.
        error: The error message; None if the export succeeded.
    """

    def __init__(self, model: str) -> None:
        self.model = model
        self.torch_version: str | None = None
        self.opset: int | None = None
        self.ir_version: int | None = None
        self.inputs: list[tuple[str, str]] = []
        self.outputs: list[tuple[str, str]] = []
        self.operators: dict[str, int] = {}
        self.weights: tuple[int, int] = (0, 0)
        self.decomposed: list[str] = []
        self.notes: list[str] = []
        self.conditions: list[str] = []
        self.verification: Verification | None = None
        self.files: list[File] = []
        self.seconds: dict[str, float] = {}
        self.error: str | None = None
        self._page: Callable[[str], str] | None = None
        self.unrecorded: str | None = None  # why the recorder did not take the model
        self.unrecorded_line: str | None = None

    @property
    def nodes(self) -> int:
        """The number of nodes, including those of subgraphs."""
        return sum(self.operators.values())

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Records the time of a step."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[step] = self.seconds.get(step, 0.0) + time.perf_counter() - start

    def of_model(self, model: Model) -> None:
        """Adds the facts of the native model."""
        self.opset, self.ir_version = model.opset, model.ir_version
        self.inputs, self.outputs = model.inputs, model.outputs
        self.operators, self.weights = model.operators, model.weights
        self.conditions = model.conditions
        self.notes += [note for note in map(in_python, model.notes) if note not in self.notes]

    def of_files(self, sizes: Written) -> None:
        """Adds the files that were written."""
        self.files.append({"path": str(sizes["path"]), "bytes": sizes["bytes"]})
        if sizes["data_bytes"] is not None:
            self.files.append({"path": str(sizes["data_path"]), "bytes": sizes["data_bytes"]})
        if sizes["advice"] is not None:
            self.notes.append(sizes["advice"])

    def to_dict(self) -> Reported:
        """Returns the report as a dictionary."""
        return {
            "model": self.model,
            "aten2onnx": _native.__version__,
            "torch": self.torch_version,
            "opset": self.opset,
            "ir_version": self.ir_version,
            "inputs": _named(self.inputs),
            "outputs": _named(self.outputs),
            "nodes": self.nodes,
            "operators": self.operators,
            "weights": {"tensors": self.weights[0], "bytes": self.weights[1]},
            "decomposed": self.decomposed,
            "notes": self.notes,
            "conditions": self.conditions,
            "verification": self.verification,
            "files": self.files,
            "seconds": {step: round(seconds, 4) for step, seconds in self.seconds.items()},
            "error": self.error,
        }

    def json(self) -> str:
        """Returns the report as JSON."""
        return json.dumps(self.to_dict(), indent=2)

    def markdown(self) -> str:
        """Returns the report as Markdown."""
        title = f"# {self.model}: {'not exported' if self.error else f'opset {self.opset}, IR {self.ir_version}'}"
        made_by = f"aten2onnx {_native.__version__}" + (f", torch {self.torch_version}" if self.torch_version else "")
        parts = [title, made_by]
        if self.error:
            parts.append(f"## Error\n\n```\n{self.error}\n```")
        parts += [
            _table("Inputs", ("name", "type"), self.inputs),
            _table("Outputs", ("name", "type"), self.outputs),
            _list("Right only where", [f"`{condition}`" for condition in self.conditions]),
            _verification(self.verification),
            _list("Decomposed operators (without a rule)", [f"`{operator}`" for operator in self.decomposed]),
            _list("Notes", self.notes),
            _table(f"Nodes: {self.nodes}", ("operator", "count"), _by_count(self.operators)),
            _list("Weights", [f"{self.weights[0]} tensors, {self.weights[1]:,} bytes"] if self.opset else []),
            _table("Files", ("file", "bytes"), [(file["path"], f"{file['bytes']:,}") for file in self.files]),
            _table("Time", ("step", "seconds"), [(step, f"{taken:.3f}") for step, taken in self.seconds.items()]),
        ]
        return "\n\n".join(part for part in parts if part) + "\n"

    def html(self) -> str:
        """Returns a page about the model and its export, in one file: numbers and notes, opsets, operators, modules, weights, passes and verification."""
        if self._page is not None:
            extras = {
                "notes": self.notes,
                "error": self.error,
                "verification": _for_page(self.verification),
                "files": [(Path(file["path"]).name, file["bytes"]) for file in self.files],
                "seconds": sum(self.seconds.values()) if self.seconds else None,
            }
            try:
                return self._page(json.dumps(extras))
            except Error as error:
                self.error = self.error or str(error)
        return _native.failed_page(self.model, self.error or "the model was not exported by this report")

    @_arguments.checked
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the report: as JSON if the path ends in `.json`, as a page if it ends in `.html`, else as Markdown."""
        path = Path(path)
        write = {".json": self.json, ".html": self.html}.get(path.suffix, self.markdown)
        _write(path, write())

    def __repr__(self) -> str:
        return self.markdown()

    _repr_markdown_ = markdown


def _write(path: Path, text: str) -> None:
    """Writes a file, which appears when it is complete."""
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
            whole = Path(folder) / path.name
            whole.write_text(text, encoding="utf-8")
            os.replace(whole, path)
    except (OSError, ValueError) as error:  # a ValueError for a path with a zero byte
        raise FileError(f"cannot write the report {path}: {getattr(error, 'strerror', None) or error}") from error


def _for_page(found: Verification | None) -> dict[str, object] | None:
    """Returns the results of `verify` without the numbers that JSON lacks."""
    if found is None:
        return None
    finite = lambda value: None if isinstance(value, float) and not math.isfinite(value) else value  # noqa: E731
    rows = [{"name": name, **{key: finite(value) for key, value in row.items()}} for name, row in found["outputs"].items()]
    return {"onnxruntime": found["onnxruntime"] + _sizes(found), "outputs": rows}


def _sizes(found: Verification) -> str:
    """At which sizes a file was compared, besides those of the example."""
    sizes = [" ".join(f"{symbol}={size}" for symbol, size in one.items()) for one in found.get("sizes", ())]
    return f", at {', '.join(sizes)}" if sizes else ""


def _named(ports: list[tuple[str, str]]) -> list[NamedType]:
    return [{"name": name, "type": kind} for name, kind in ports]


def _by_count(operators: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(operators.items(), key=lambda item: (-item[1], item[0]))


def _table(title: str, head: tuple[str, ...], rows: Sequence[tuple[object, ...]]) -> str:
    if not rows:
        return ""
    line = lambda cells: "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"  # noqa: E731
    return "\n".join([f"## {title}", "", line(head), "|---" * len(head) + "|", *map(line, rows)])


def _list(title: str, lines: list[str]) -> str:
    return "\n".join([f"## {title}", "", *(f"- {line}" for line in lines)]) if lines else ""


def _noise(row: Compared) -> str:
    return f"{row['signal_to_noise']:.1f} dB" if "signal_to_noise" in row else ""


def _verification(found: Verification | None) -> str:
    if found is None:
        return ""
    rows = [
        (name, row["dtype"], f"{row['largest_difference']:.3g}", f"{row['largest_value']:.3g}", _noise(row), "yes" if row["ok"] else "NO")
        for name, row in found["outputs"].items()
    ]
    title = f"Compared with PyTorch in ONNX Runtime {found['onnxruntime']}{_sizes(found)}"
    return _table(title, ("output", "dtype", "largest difference", "largest value", "signal to noise", "equal"), rows)
