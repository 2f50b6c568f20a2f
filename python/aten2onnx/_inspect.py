"""`aten2onnx.inspect`: shows what a model contains and which opsets support it."""

from __future__ import annotations

import json
import os
from typing import Any

from . import _progress, _script
from ._errors import require
from ._native import Program, Rules, chosen_opset
from ._support import Paths, rules


class Inspection:
    """The contents of a model. `print` shows them as text; `data` has them as dictionaries and lists."""

    def __init__(self, data: dict[str, Any], text: str) -> None:
        self.data = data
        self._text = text

    @property
    def methods(self) -> list[dict[str, Any]]:
        """The methods of a TorchScript model: name, signature, parameters, returns. A parameter has a type, and what was recorded of it, its
        default, or the text that describes it."""
        return self.data.get("torchscript", {}).get("methods", [])

    @property
    def inputs(self) -> list[dict[str, Any]]:
        """Inputs in order: name, kind, dtype, shape."""
        return self.data["inputs"]

    @property
    def outputs(self) -> list[dict[str, Any]]:
        """Outputs in order: name, kind, dtype, shape."""
        return self.data["outputs"]

    @property
    def conditions(self) -> list[str]:
        """Where the model is right, if not for all sizes that its inputs name: `s77 % 16 == 0`."""
        return self.data["conditions"]

    @property
    def operators(self) -> dict[str, int]:
        """The number of calls of each operator, the most frequent first."""
        return {operator["operator"]: operator["count"] for operator in self.data["operators"]}

    @property
    def opsets(self) -> list[int]:
        """The opsets that the model can be exported to."""
        return [verdict["opset"] for verdict in self.data["opsets"] if verdict["ok"]]

    def reasons(self, opset: int) -> list[dict[str, Any]]:
        """Returns the problems at an opset, as dictionaries with the keys message, place, help and needs_opset."""
        return next((verdict["reasons"] for verdict in self.data["opsets"] if verdict["opset"] == opset), [])

    def quantized(self, opset: int) -> dict[str, Any] | None:
        """Returns what the quantized weights are written as at an opset: the keys `dtypes` (tensors, weights and bytes of each), `scale_bytes`,
        `bits_per_weight` (with scales and zero points) and `all_bytes`. None if there are none, or the opset does not support the model."""
        return next((verdict.get("quantized") for verdict in self.data["opsets"] if verdict["opset"] == opset), None)

    def json(self) -> str:
        """Returns `data` as JSON."""
        return json.dumps(self.data, indent=2)

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__


def inspect(
    model: Any,
    args: Any = (),
    *,
    kwargs: dict[str, Any] | None = None,
    opset: int | None = None,
    mappings: Paths = (),
    model_name: str | None = None,
    target: str | None = None,
    **options: Any,
) -> Inspection:
    """Shows the inputs, outputs, weights and operators of a model, and the opsets that it can be exported to.

    Args:
        model: The path of a `.pt2` file or of a TorchScript file, an ExportedProgram or a module.
        args: Example inputs of a module, or of a TorchScript file that does not record them.
        kwargs: Example inputs by name.
        opset: If given, only this opset is checked.
        mappings: Mapping files or folders, as in `export`.
        model_name: The program to show, of a package that has several.
        target: A runtime, such as "tract": shows what is replaced for it, or what is impossible there.
        options: For modules: `dynamic_shapes`, `dynamic_axes`, `input_names`, `output_names`, `capture`, `branches`,
            `examples`, `strict` and `adopt_fixes`, as in `export`.
    """
    known = rules(mappings)
    if isinstance(model, (str, os.PathLike)) or _script.is_script(model):
        axes = [options.get(name) for name in ("dynamic_shapes", "dynamic_axes", "input_names")]
        source = json.dumps({**_script.source(model, args, kwargs, *axes), "model": model_name})
        saved = _script.saved(model) if _script.is_script(model) else None
        path = type(model).__name__ if saved is not None else os.fspath(model)
        data, text = Program.inspect_file(path, known, source, opset, saved, target)
    else:
        require("torch", "inspecting a model that is not a `.pt2` file")
        found = _captured(model, args, kwargs, known, chosen_opset(target, opset), options)
        data, text = found.live.native.inspect(known, opset, target)
    return Inspection(json.loads(data), text)


def _captured(model: Any, args: Any, kwargs: Any, known: Rules, opset: int, options: dict[str, Any]) -> Any:
    """Captures a module as `export` does, and leaves the operators as they are that have no rule."""
    from . import _ways
    from ._report import Report

    way = _ways.way_of(options.pop("capture", "auto"), options.get("strict"))
    branches, examples = options.pop("branches", "refuse"), options.pop("examples", ())
    names = ("dynamic_shapes", "dynamic_axes", "input_names", "output_names", "strict", "adopt_fixes")
    unknown = [name for name in options if name not in names]
    if unknown:
        raise TypeError(f"inspect() got an unexpected keyword argument '{unknown[0]}'")
    arguments = (args, kwargs, *(options.get(name) for name in names[:-1]), options.get("adopt_fixes", True))
    with _progress.shown(False) as shown:
        return _ways.capture(model, _ways.Request(arguments, way, branches, examples), known, opset, Report(type(model).__name__), shown)
