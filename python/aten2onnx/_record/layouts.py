"""What a model asks of the memory of its tensors: whether elements lie one after the other, where they begin, and whether two tensors share them.

No file knows that. The answers are those of the run, and the line is noted: the program is then held against the model at other sizes. Where a size is 1, a tensor is
contiguous that is not elsewhere, which is a condition as that of `squeeze` is.
"""

from __future__ import annotations

import ast
import sys
from functools import lru_cache
from typing import Any

import torch

from .fakes import is_unknown
from .numbers import number_of
from .places import Line, frame_of_model, kind_of_frame, line_of_frame, line_of_model, nodes_of
from .tensors import Tracked, sizes_of_value

MEMORY = "how a tensor lies in memory"
ERROR = "whether an operator raises an error"
IDENTITY = "whether two tensors are the same object"


def _note_question(tensor: Tracked, what: str) -> None:
    """Notes the line of the model that asks something which may be another one at other sizes. Where a size of the tensor is 1, or of that whose memory it is in, the file
    must be right, or say that it is not."""
    recorder, line = tensor.recorder, line_of_model()
    if line is None or tensor.value.fixed or not (recorder.dynamic or tensor.value.ragged):
        return
    recorder.doubts.append((line, what))
    for value in (tensor.value, tensor.value.base):
        for size in () if value is None else sizes_of_value(value, recorder):
            recorder.require(number_of(size == 1), "bool", line, False)


def _is_of_model() -> bool:
    """Whether the caller of a method is code of the model."""
    return kind_of_frame(sys._getframe(2)) == "model"


def _is_contiguous(self: Tracked, memory_format: torch.memory_format = torch.contiguous_format) -> bool:
    if _is_of_model():
        _note_question(self, MEMORY)
    return self.actual.is_contiguous(memory_format=memory_format)


def _noted(method: Any) -> Any:
    """A method of tensors whose question is noted."""

    def asked(self: Tracked, *args: Any, **kwargs: Any) -> Any:
        if _is_of_model():
            _note_question(self, MEMORY)
        return method(self, *args, **kwargs)

    return asked


def _data_ptr(self: Tracked) -> int:
    if is_unknown(self.actual):
        from .recorder import Unrecorded

        raise Unrecorded("the model asks for the address of a tensor that has no data", line_of_model())
    if _is_of_model():
        _note_question(self, MEMORY)
    return self.actual.data_ptr()


def _is_view(self: Tracked) -> bool:
    if _is_of_model():
        _note_question(self, MEMORY)
    return self.value.base is not None


def _base_of(self: Tracked) -> Any:
    """The tensor that a view is of. A recording knows whether there is one; that it is given to the model is not recorded."""
    if self.value.base is None or not _is_of_model():
        return None
    from .recorder import Unrecorded

    raise Unrecorded("the model reads `_base` of a view, which a recording does not know", line_of_model(), is_final=True)


def note_identity(tensor: Tracked) -> None:
    """Notes a tensor that is copied because of its order in memory, where the model asks whether tensors are the same: where a size is 1, it is not copied."""
    frame = frame_of_model()
    line: Line | None = line_of_frame(frame)
    if line is not None and frame is not None and _compares_objects(line.file, frame.f_code.co_firstlineno):
        _note_question(tensor, IDENTITY)


@lru_cache(maxsize=1024)
def _compares_objects(file: str, first: int) -> bool:
    """Whether a function compares objects by `is`, other than with None, or by `id()`."""
    functions = [node for node in nodes_of(file, ast.FunctionDef, ast.Lambda) if first in (node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ())))]
    return any(_is_of_objects(node) for function in functions for node in ast.walk(function))


def _is_of_objects(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "id"
    if not isinstance(node, ast.Compare) or not any(isinstance(operator, (ast.Is, ast.IsNot)) for operator in node.ops):
        return False
    return not any(isinstance(one, ast.Constant) for one in (node.left, *node.comparators))


def add_questions() -> None:
    """Gives the values of runs these methods. C++ does not call them: what PyTorch's own operators ask goes another way."""
    methods: dict[str, Any] = {"is_contiguous": _is_contiguous, "data_ptr": _data_ptr, "_is_view": _is_view, "_base": property(_base_of)}
    methods.update({name: _noted(getattr(torch.Tensor, name)) for name in ("stride", "storage_offset", "dim_order")})
    for name, method in methods.items():
        setattr(Tracked, name, method)


__all__ = ["ERROR", "add_questions", "note_identity"]
