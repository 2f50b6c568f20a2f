"""What is in a model, and which opsets would do, without exporting it."""

from __future__ import annotations

import json
import os
from typing import Any

from ._errors import require
from ._native import Program
from ._support import Paths, rules


class Inspection:
    """What is in a model. Printed, it is a page for people; `data` is the same as dictionaries and lists."""

    def __init__(self, data: dict[str, Any], text: str) -> None:
        self.data = data
        self._text = text

    @property
    def inputs(self) -> list[dict[str, Any]]:
        """Inputs in order: name, kind, dtype, shape."""
        return self.data["inputs"]

    @property
    def outputs(self) -> list[dict[str, Any]]:
        """Outputs in order: name, kind, dtype, shape."""
        return self.data["outputs"]

    @property
    def operators(self) -> dict[str, int]:
        """How often each operator is called, the most frequent first."""
        return {operator["operator"]: operator["count"] for operator in self.data["operators"]}

    @property
    def opsets(self) -> list[int]:
        """The opsets that the model can be exported to."""
        return [verdict["opset"] for verdict in self.data["opsets"] if verdict["ok"]]

    def reasons(self, opset: int) -> list[dict[str, Any]]:
        """What is in the way of an opset: message, place, help, needs_opset."""
        return next((verdict["reasons"] for verdict in self.data["opsets"] if verdict["opset"] == opset), [])

    def json(self) -> str:
        """All of it as JSON."""
        return json.dumps(self.data, indent=2)

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__


def inspect(model: Any, args: Any = (), *, kwargs: dict[str, Any] | None = None, opset: int | None = None, mappings: Paths = (), **options: Any
) -> Inspection:
    """Looks into a model without exporting it: inputs, outputs, weights, operators, and which opsets would do.

    Args:
        model: a `.pt2` file, an ExportedProgram or a module.
        args: example inputs of a module.
        kwargs: the same by name.
        opset: only try this opset.
        mappings: mapping files with rules of your own, as in `export`.
        options: of a module: `dynamic_shapes`, `dynamic_axes`, `input_names`, `output_names`, `strict`, as in `export`.
    """
    if isinstance(model, (str, os.PathLike)):
        program = Program.read(os.fspath(model))
    else:
        require("torch", "inspecting what is not a `.pt2` file")
        from ._export import exported_program
        from ._live import LiveProgram

        name, exported, _ = exported_program(model, args, kwargs, **options)
        program = LiveProgram(exported, name).native
    data, text = program.inspect(rules(mappings), opset)
    return Inspection(json.loads(data), text)
