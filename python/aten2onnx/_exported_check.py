"""Holds a program of torch.export against the model at other sizes and data, where the model could not be recorded.

torch.export follows Python with the names of sizes in place of numbers: text, errors that Python raises, and what the model remembers are then those of the example, and no
guard says so.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping
from itertools import islice
from operator import is_not
from typing import Any

from ._capture import onnx_export_flag
from ._errors import CaptureError
from ._ones import takes
from ._verify import is_random, results

_log = logging.getLogger(__name__)

#: So many sizes are tried, each with so many kinds of data, as long as the runs compute no more elements than that.
SIZES, KINDS, ELEMENTS = 14, 2, 50_000_000
#: So many runs are made in any case.
LEAST = 2


def check_exported(exported: Any, model: Any, prepared: tuple[Any, ...], reason: str, line: str | None) -> None:
    """Compares a program of torch.export with the model.

    Args:
        exported: The program.
        model: The module.
        prepared: The module, how its arguments are taken apart, the arguments, and the dynamic dimensions.
        reason: Why the model was not recorded.
        line: Where.

    Raises:
        CaptureError: The program gives other results.
    """
    from ._record import free
    from ._record.arguments import arguments_of
    from ._record.recorder import Unrecorded
    from ._record.tried import data_to_try, sizes_tried

    inner, _, args, kwargs, shapes = prepared
    if free.is_open(shapes) or is_random(exported) or any(tensor.is_meta for tensor in inner.state_dict().values()):
        return
    try:
        arguments = arguments_of(inner, args, kwargs, shapes, frozenset())
    except Unrecorded as error:
        _log.debug("not held against the model: %s", error)
        return
    left = max(LEAST, ELEMENTS // max(_elements(exported), 1))
    for sizes in islice(sizes_tried(arguments, False), SIZES):
        for leaves in islice(data_to_try(arguments.at(sizes)), KINDS):
            left -= 1
            if left < 0:
                return
            found = _difference(exported, inner, *_call(leaves, arguments.tree))
            if found is None:
                continue
            where = ", ".join(f"{name}={size}" for name, size in sizes.items()) or "other data"
            raise CaptureError(
                f"this model cannot be captured: {reason.removesuffix(f' ({line})')}; torch.export follows it, but its program gives something else at {where}: {found}",
                place=[] if line is None else [line],
                source_line=line,
                help="change this line (docs/capture.md says what is recorded)",
            )


def _call(leaves: list[Any], tree: Any) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
    from torch.utils import _pytree as pytree

    args, kwargs = pytree.tree_unflatten(leaves, tree)
    return tuple(args), kwargs


def _elements(exported: Any) -> int:
    """How many elements the program computes at its example, about."""
    import torch

    values = (node.meta.get("val") for node in exported.graph.nodes if node.op == "call_function")
    return sum(_count(value) for value in values if isinstance(value, torch.Tensor))


def _count(tensor: Any) -> int:
    count = 1
    for size in tensor.shape:
        hint = getattr(getattr(size, "node", None), "hint", size)
        count *= hint if isinstance(hint, int) else 1
    return count


def _difference(exported: Any, model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
    """What the program gives that the model does not; None if both agree, or either does not take the inputs."""
    import torch

    from ._record.held import Returned
    from ._record.runs import exporting
    from ._record.state import untouched
    from ._runtime import user_inputs

    if not takes(exported, args, kwargs):
        return None
    try:
        with torch.no_grad(), untouched(model), exporting(), onnx_export_flag():  # the model may do something else then
            returned = Returned(model(*copy.deepcopy(args), **copy.deepcopy(dict(kwargs))))
        found, _ = results(exported, user_inputs(exported, args, kwargs))
    except Exception as error:  # whatever the model and PyTorch raise for inputs that they do not take
        _log.debug("not compared: %s", error)
        return None
    for number, (want, got) in enumerate(zip(returned.beside(len(found)), found)):
        if isinstance(want, str) or isinstance(got, str):
            continue
        want, got = torch.as_tensor(want), torch.as_tensor(got)
        if want.shape != got.shape:
            return f"output {number} has the shape {list(got.shape)}, and {list(want.shape)} in the model"
        if not torch.allclose(want.to(torch.complex128), got.to(torch.complex128), 1e-3, 1e-4, True):
            return f"output {number} has other elements than in the model"
    return None


__all__ = ["check_exported"]
