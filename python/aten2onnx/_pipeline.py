"""`aten2onnx.Pipeline`: runs the parts of a model, as `aten2onnx split` writes them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import _arguments
from ._errors import ArgumentError, FileError, InputError, require

#: The form of the lists that `aten2onnx split` writes.
_FORMAT = 1


class Pipeline:
    """The parts of a model, which run one after the other in ONNX Runtime. It has the methods `run`, `get_inputs` and `get_outputs` of
    `onnxruntime.InferenceSession`.

    Attributes:
        inputs: The names of the model's inputs.
        outputs: The names of its outputs.
        sessions: The sessions of the parts, in their order.
    """

    @_arguments.checked
    def __init__(self, path: str | os.PathLike[str], *, session_options: object = None, providers: Sequence[object] | None = None, other_providers: Sequence[object] | None = None) -> None:
        """Opens the parts.

        Args:
            path: The list of the parts that `aten2onnx split` writes, `DIR/NAME.json`.
            session_options: The `onnxruntime.SessionOptions` of all parts.
            providers: The execution providers of all parts (default: those of ONNX Runtime for the CPU).
            other_providers: Those of the parts that the target does not run, if the model was split for one (default: `providers`).
        """
        runtime = require("onnxruntime", "a pipeline")
        wiring = _read(Path(path))
        self.inputs: list[str] = wiring["inputs"]
        self.outputs: list[str] = wiring["outputs"]
        self._parts = [(part["inputs"], part["outputs"]) for part in wiring["parts"]]
        files = [Path(path).parent / part["file"] for part in wiring["parts"]]
        missing = [str(file) for file in files if not file.is_file()]
        if missing:
            raise FileError(f"{path}: the part `{missing[0]}` is missing", help="keep the list and its parts in one folder")
        chosen = list(providers) if providers is not None else ["CPUExecutionProvider"]
        others = list(other_providers) if other_providers is not None else chosen
        if other_providers is not None and wiring.get("target") is None:
            raise ArgumentError("other_providers: the model was not split for a target", help="leave it out, or split with `target`")
        of_parts = [chosen if part.get("runs_on_target", True) else others for part in wiring["parts"]]
        self.sessions: list[Any] = [runtime.InferenceSession(str(file), session_options, providers=own) for file, own in zip(files, of_parts)]
        self._last = {name: number for number, (inputs, _) in enumerate(self._parts) for name in inputs}

    @_arguments.checked
    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, object], run_options: object = None) -> list[Any]:
        """Runs all parts, and returns the outputs of the model.

        Args:
            output_names: The outputs to return (default: all of the model, in order).
            input_feed: The inputs of the model, by name.
            run_options: The `onnxruntime.RunOptions` of each part.
        """
        wanted = self.outputs if output_names is None else list(output_names)
        unknown = [name for name in wanted if name not in self.outputs]
        if unknown:
            raise ArgumentError(f"output_names: the model has no output `{unknown[0]}`", help=f"its outputs are {_listed(self.outputs)}")
        foreign = [name for name in input_feed if name not in self.inputs]
        if foreign:
            raise ArgumentError(f"input_feed: the model has no input `{foreign[0]}`", help=f"its inputs are {_listed(self.inputs)}")
        values = dict(input_feed)
        missing = [name for name in self.inputs if (name in self._last or name in wanted) and name not in values]
        if missing:
            raise ArgumentError(f"input_feed: the input `{missing[0]}` is missing", help=f"the inputs of the model are {_listed(self.inputs)}")
        for number, (session, (inputs, outputs)) in enumerate(zip(self.sessions, self._parts)):
            values.update(zip(outputs, session.run(outputs, {name: values[name] for name in inputs}, run_options)))
            # What no later part reads takes no memory any more.
            for name in [name for name in values if self._last.get(name, -1) <= number and name not in wanted]:
                del values[name]
        return [values[name] for name in wanted]

    def get_inputs(self) -> list[Any]:
        """The inputs of the model that its parts read: name, type and shape."""
        found = {node.name: node for session in reversed(self.sessions) for node in session.get_inputs()}
        return [found[name] for name in self.inputs if name in found]

    def get_outputs(self) -> list[Any]:
        """The outputs of the model that its parts compute: name, type and shape."""
        found = {node.name: node for session in self.sessions for node in session.get_outputs()}
        return [found[name] for name in self.outputs if name in found]


def _read(path: Path) -> dict[str, Any]:
    """The list of the parts."""
    try:
        wiring = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}", help="pass the .json file that `aten2onnx split` wrote") from error
    except ValueError as error:
        raise InputError(f"{path}: not a list of parts: {error}", help="pass the .json file that `aten2onnx split` wrote") from error
    if not _is_wiring(wiring):
        raise InputError(f"{path}: not a list of parts", help="pass the .json file that `aten2onnx split` wrote")
    if wiring["format"] != _FORMAT:
        raise InputError(f"{path}: the list has the form {wiring['format']}, which is not known", help="update aten2onnx, or split the model again")
    return wiring


def _is_wiring(found: Any) -> bool:
    """Whether it has the fields of a list of parts."""

    def has(fields: Any, **wanted: type) -> bool:
        return isinstance(fields, dict) and all(isinstance(fields.get(name), kind) for name, kind in wanted.items())

    if not has(found, format=int, inputs=list, outputs=list, parts=list):
        return False
    return all(has(part, file=str, inputs=list, outputs=list) for part in found["parts"])


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
