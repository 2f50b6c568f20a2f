"""Text that is made of numbers and tensors: `self.layers[f"layer{k}"]`.

A file has no text, so what goes on with it would be a constant. Messages may have it.
"""

from __future__ import annotations

import ast
import sys
from contextlib import AbstractContextManager
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from .methods import methods_given
from .numbers import is_from_data, number_of, plain
from .places import Line, kind_of_frame, line_of_model, tree_of
from .recorder import Recorder, Unrecorded
from .tensors import Tracked

#: Functions that make another thing of a text.
_MAKERS = frozenset("len int float ord hash eval exec".split())
#: Functions and methods that find something by its name.
_FINDERS = frozenset("getattr hasattr setattr get pop setdefault get_submodule get_parameter get_buffer index count startswith endswith".split())

#: The lines that have made text of a size and gone on with it, in this export.
TEXTS: list[Line | None] = []

#: Methods that keep a text in an object.
_KEEPERS = frozenset("append add insert extend update put".split())
#: Modules of Python that write messages.
_TELLING = frozenset("logging warnings traceback".split())
#: How the names of functions begin that write messages, or name what is measured or checked.
_TELLERS = ("print", "warn", "log", "debug", "info", "error", "critical", "exception", "assert", "check", "record", "range_push", "annotate", "profile", "trace", "fail", "require", "write")

MAKES, FINDS, KEEPS, TELLS = "makes", "finds", "keeps", "tells"


def note_text(value: Any) -> None:
    """Notes that the model makes text of a number or tensor.

    Raises:
        Unrecorded: It goes on with the text, and elements of tensors decide it.
    """
    recorder, frame = Recorder.current, _frame()
    if recorder is None or frame is None or (isinstance(value, Tracked) and recorder.is_fixed(value)):
        return
    number = number_of(value)
    from_data = number is None or is_from_data(number)
    use = _use(frame.f_code, frame.f_lasti, frame.f_lineno)
    if use == TELLS:
        return
    if from_data or use == MAKES:
        what = "an element of a tensor" if from_data else "a size"
        message = f"the model makes text of {what}, and goes on with it: where it finds something, write both in one expression, as in `self.heads[str(k)]`"
        raise Unrecorded(message, line_of_model(), is_final=True)  # other ways of capture have the name of the size in the text
    TEXTS.append(line_of_model())
    int(value)


def is_told() -> bool:
    """Whether the model only tells of the text that its line makes, in a message or an error."""
    frame = _frame()
    return frame is None or _use(frame.f_code, frame.f_lasti, frame.f_lineno) == TELLS


def _frame() -> FrameType | None:
    """The frame of the model whose code makes a text; None if a library does."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and (kind := kind_of_frame(frame)) in ("own", "python"):
        if kind == "python" and str(frame.f_globals.get("__name__")).partition(".")[0] in _TELLING:
            return None
        frame = frame.f_back
    return frame if frame is not None and kind_of_frame(frame) == "model" else None


@lru_cache(maxsize=4096)
def _use(code: CodeType, place: int, number: int) -> str:
    """What the code of a model does with the text that an instruction makes."""
    tree = tree_of(code.co_filename)
    if tree is None:
        return KEEPS
    parents = {inner: node for node in ast.walk(tree) for inner in ast.iter_child_nodes(node)}
    texts = [node for node in parents if _is_text(node) and node.lineno <= number <= (node.end_lineno or number)]  # type: ignore[attr-defined]
    if hasattr(code, "co_positions"):
        first, last, begin, end = list(code.co_positions())[place // 2]
        if None not in (first, last, begin, end):
            texts = [node for node in texts if _spans(node, (first, begin), (last, end))] or _nodes_at(tree, (first, begin), (last, end))
    if not texts:  # another function makes the text: `",".join(map(str, sizes))`
        return KEEPS
    uses = {_use_of(node, parents) for node in texts}
    return next((use for use in (MAKES, FINDS, KEEPS) if use in uses), TELLS)


def _spans(node: Any, begin: Any, end: Any) -> bool:
    """Whether an expression has all from one place to another."""
    return bool((node.lineno, node.col_offset) <= begin and end <= (node.end_lineno, node.end_col_offset))


def _nodes_at(tree: ast.AST, begin: Any, end: Any) -> list[ast.AST]:
    """The expressions from one place to another: a call of a function that makes text of what it is given."""
    nodes = (node for node in ast.walk(tree) if isinstance(node, (ast.Call, ast.BinOp)))
    return [node for node in nodes if (node.lineno, node.col_offset) == begin and (node.end_lineno, node.end_col_offset) == end]


def _is_text(node: ast.AST) -> bool:
    if isinstance(node, ast.JoinedStr):
        return True
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute):
        return node.func.attr == "format"
    return isinstance(node.func, ast.Name) and node.func.id in ("str", "repr", "format")


def _use_of(node: Any, parents: dict[Any, Any]) -> str:
    parent = parents.get(node)
    while parent is not None:
        if isinstance(parent, ast.Call):
            if node is not parent.func:
                return _use_of_argument(parent, parents)
        elif isinstance(parent, (ast.Subscript, ast.Compare)):
            return FINDS
        elif isinstance(parent, (ast.Raise, ast.Assert, ast.Expr)):
            return TELLS
        elif isinstance(parent, ast.stmt):
            return KEEPS
        node, parent = parent, parents.get(parent)
    return KEEPS


def _use_of_argument(call: ast.Call, parents: dict[Any, Any]) -> str:
    name = call.func.id if isinstance(call.func, ast.Name) else call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if name in _MAKERS:
        return MAKES
    if name in _FINDERS:
        return FINDS
    if name in _KEEPERS:
        return KEEPS
    if name.strip("_").startswith(_TELLERS) or name.endswith(("Error", "Exception", "Warning")):
        return TELLS
    # What another function makes of it is no matter if nobody reads that.
    return TELLS if isinstance(parents.get(call), ast.Expr) else KEEPS


def _of(real: Any) -> Any:
    def text(value: Any, *spec: Any) -> str:
        note_text(value)
        if spec and spec[0]:  # PyTorch's numbers that remember take no format
            with _disable_current_modes(), torch._C.DisableTorchFunction():
                return format(value.actual.detach() if isinstance(value, Tracked) else plain(value), spec[0])
        return real(value, *spec)  # type: ignore[no-any-return]

    return text


_NAMES = ("__str__", "__repr__", "__format__")
_KINDS: tuple[Any, ...] = (torch.SymInt, torch.SymFloat, torch.SymBool, Tracked)


def noted_texts() -> AbstractContextManager[None]:
    """While the block runs, text that the model makes of numbers and tensors is noted."""
    return methods_given((kind, name, _of(getattr(kind, name))) for kind in _KINDS for name in _NAMES)


__all__ = ["TEXTS", "is_told", "noted_texts"]
