"""ONNX models, whoever made them, at another opset."""

from __future__ import annotations

import os
from typing import Any

from . import _progress
from ._errors import require
from ._native import ConvertedModel, chosen_opset
from ._program import external_data_choice
from ._support import Paths
from ._support import rules as own_rules


def convert(
    model: Any,
    f: str | os.PathLike[str] | None = None,
    *,
    opset_version: int | None = None,
    target: str | None = None,
    ir_version: int | str = "lowest",
    external_data: bool | str = "auto",
    inline_functions: bool = False,
    mappings: Paths = (),
    optimize: bool = False,
    progress: bool | None = None,
) -> Any:
    """Converts an ONNX model to another opset; the weights are not touched.

    Args:
        model: the path of an `.onnx` file, an `onnx.ModelProto`, or a model as bytes.
        f: where the result goes.
        opset_version: the opset of the result, 9 to 28; 18 by itself, or the nearest that the target takes.
        target: the runtime that the model is for, such as "tensorrt-8.6": what it lacks is said otherwise. `aten2onnx targets` lists them.
        ir_version: the IR version: "lowest" that holds the model, that of the opset's "release" of ONNX, or a number.
        external_data: where the weights go: "auto" (as in the source), "always" or True, "never" or False.
        inline_functions: put the bodies of local functions where they are called.
        mappings: mapping files, or folders of them, whose `lower` rules come before the built-in ones.
        optimize: True also runs the passes of an export, which drop what nobody reads; by itself nothing changes but what the opset asks for.
        progress: show what is going on; by itself in a terminal and in a notebook, when it takes long.

    Returns:
        Without `f`, the result in the form of `model`: an `onnx.ModelProto` for one, else bytes. With `f`, None.

    Raises:
        UnsupportedError: the opset cannot say the model; all that stands in the way at once.
    """
    is_path = isinstance(model, (str, os.PathLike))
    is_proto = hasattr(model, "SerializeToString")
    content = None if is_path else model.SerializeToString() if is_proto else bytes(model)
    path = os.fspath(model) if is_path else "model"
    choices = {
        "opset": chosen_opset(target, opset_version),
        "target": target,
        "ir": str(ir_version),
        "external_data": external_data_choice(external_data),
        "inline_functions": inline_functions,
        "optimize": optimize,
    }
    converted = ConvertedModel(path, content, own_rules(mappings), choices)
    if f is not None:
        with _progress.shown(progress) as shown:
            shown.step("writing")
            converted.save(os.fspath(f), shown)
        return None
    found = converted.serialized()
    return require("onnx", "a ModelProto").load_from_string(found) if is_proto else found
