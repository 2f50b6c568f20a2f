"""`aten2onnx.inspect`: shows what a model contains and which opsets support it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import cast

from . import _arguments, _progress, _script
from ._errors import require
from ._facts import Inspected, Method, Port, Quantized, Reason
from ._native import Program, chosen_opset
from ._support import rules
from ._types import Args, Branches, Capture, DynamicAxes, DynamicShapes, Model, Paths


class Inspection:
    """The contents of a model. `print` shows them as text; `data` has them as dictionaries and lists."""

    def __init__(self, data: Inspected, text: str) -> None:
        self.data = data
        self._text = text

    @property
    def methods(self) -> list[Method]:
        """The methods of a TorchScript model: name, signature, parameters, returns. A parameter has a type, and what was recorded of it, its
        default, or the text that describes it."""
        return self.data["torchscript"]["methods"] if "torchscript" in self.data else []

    @property
    def inputs(self) -> list[Port]:
        """Inputs in order: name, kind, dtype, shape."""
        return self.data["inputs"]

    @property
    def outputs(self) -> list[Port]:
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

    @_arguments.checked
    def reasons(self, opset: int) -> list[Reason]:
        """Returns the problems at an opset, as dictionaries with the keys message, place, help and needs_opset."""
        return next((verdict["reasons"] for verdict in self.data["opsets"] if verdict["opset"] == opset), [])

    @_arguments.checked
    def quantized(self, opset: int) -> Quantized | None:
        """Returns what the quantized weights are written as at an opset: the keys `dtypes` (tensors, weights and bytes of each), `scale_bytes`,
        `bits_per_weight` (with scales and zero points) and `all_bytes`. None if there are none, or the opset does not support the model."""
        return next((verdict.get("quantized") for verdict in self.data["opsets"] if verdict["opset"] == opset), None)

    def json(self) -> str:
        """Returns `data` as JSON."""
        return json.dumps(self.data, indent=2)

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__


@_arguments.checked
def inspect(
    model: Model,
    args: Args = (),
    *,
    kwargs: Mapping[str, object] | None = None,
    opset: int | None = None,
    mappings: Paths = (),
    model_name: str | None = None,
    target: str | None = None,
    dynamic_shapes: DynamicShapes | None = None,
    dynamic_axes: DynamicAxes | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    capture: Capture = "auto",
    branches: Branches = "both",
    max_branches: int = 32,
    max_runs: int = 64,
    roll: int | None = None,
    examples: Sequence[object] = (),
    branch_inputs: Mapping[str, object] | None = None,
    strict: bool | None = None,
    adopt_fixes: bool = True,
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
        dynamic_shapes: The dynamic dimensions of a module or of a TorchScript file, as in `export`.
        dynamic_axes: The same in the form of the older exporter.
        input_names: Names for the inputs, as in `export`.
        output_names: Names for the outputs of a module, as in `export`.
        capture: How a module is captured, as in `export`.
        branches: What becomes of branches in Python, as in `export`.
        max_branches: How many branches may become an If, as in `export`.
        max_runs: How many times the module may run for them, as in `export`.
        roll: Loops of at least so many turns become a Loop, as in `export`.
        examples: Other inputs for a module, as in `export`.
        branch_inputs: Inputs with which both sides of branches can be run, as in `export`.
        strict: The mode of torch.export for a module, as in `export`.
        adopt_fixes: Whether to follow what torch.export suggests for a module, as in `export`.
    """
    _arguments.shapes(dynamic_shapes)
    _arguments.opset(opset, "opset")
    args = _arguments.arguments("args", args)
    known = rules(mappings)
    if isinstance(model, (str, os.PathLike)) or _script.is_script(model):
        described = _script.source(model, args, kwargs, dynamic_shapes, dynamic_axes, input_names)
        source = json.dumps({**described, "model": model_name})
        saved = _script.saved(model) if _script.is_script(model) else None
        path = type(model).__name__ if saved is not None else os.fspath(cast("str | os.PathLike[str]", model))
        data, text = Program.inspect_file(path, known, source, opset, saved, target)
    else:
        require("torch", "inspecting a model that is not a `.pt2` file")
        from . import _ways
        from ._report import Report

        arguments = (args, kwargs, dynamic_shapes, dynamic_axes, input_names, output_names, strict, adopt_fixes)
        request = _ways.Request(arguments, _ways.way_of(capture, strict), branches, examples, _arguments.branch_inputs(branch_inputs, branches), False, max_branches, max_runs, _arguments.roll(roll, branches))
        with _progress.shown(False) as shown:
            found = _ways.capture(model, request, known, chosen_opset(target, opset), Report(type(model).__name__), shown)
        data, text = found.live.native.inspect(known, opset, target)
    return Inspection(json.loads(data), text)

