"""`aten2onnx.export_many`: exports several programs that share weights."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from . import _arguments, _progress
from ._errors import ArgumentError, InputError
from ._export import export
from ._native import save_many
from ._program import ONNXProgram


@_arguments.checked
def export_many(
    models: Mapping[str, object],
    f: str | os.PathLike[str],
    *,
    merge: bool | str = False,
    progress: bool | None = None,
    **options: object,
) -> dict[str, ONNXProgram]:
    """Exports several models into a folder, with one file for the weights of all: equal weights are written once.

    Args:
        models: By name: a module with its example inputs `(module, args)` or `(module, args, kwargs)`, a mapping of arguments of `export`
            such as `{"model": module, "args": args, "dynamic_shapes": shapes}`, or anything else that `export` takes as its model.
        f: The folder, which is made if it does not exist. With `merge`, the file.
        merge: Whether to write two models as the branches of one. The second runs if its input `use_cache_branch`, a bool of shape [1], is
            true; a string is another name for the input.
        progress: Whether to show the progress, as in `export`.
        options: Arguments of `export` for all models.

    Returns:
        The models by name, as `export` returns them. Each has the size of its file in its report.
    """
    if not models:
        raise InputError("there is no model to export", help="pass a mapping such as `{'prefill': (module, args)}`")
    repeated = [name for name in ("model", "f") if name in options]
    if repeated:
        raise ArgumentError(f"export_many() takes no argument '{repeated[0]}'", help="pass the models in `models`, and the folder as `f`")
    programs = {name: export(**{"progress": progress, **options, **_of_model(name, model)}) for name, model in models.items()}
    for program in programs.values():
        program._check()
    flag = merge if isinstance(merge, str) else "use_cache_branch" if merge else None
    with _progress.shown(progress) as shown:
        shown.step("writing")
        files = save_many([(name, program._model) for name, program in programs.items()], os.fspath(f), flag, shown)
    for program, sizes in zip(programs.values(), files):
        program.report.of_files(sizes)
    return programs


def _of_model(name: str, model: object) -> dict[str, Any]:
    """Returns the arguments of `export` for a model."""
    if isinstance(model, Mapping):
        if "model" not in model or "f" in model:
            raise InputError(f"the arguments of `{name}` need `model`, and have no `f`", help="pass the folder to `export_many`")
        return dict(model)
    if not isinstance(model, tuple):
        return {"model": model}
    if not 1 <= len(model) <= 3:
        raise InputError(f"`{name}` is a tuple of {len(model)}", help="pass `(module, args)` or `(module, args, kwargs)`")
    return dict(zip(("model", "args", "kwargs"), model))
