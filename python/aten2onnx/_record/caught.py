"""Errors that the model's own code catches: a side of a branch that only raises one goes on in the handler."""

from __future__ import annotations

import ast
import builtins
import os
import sys
from functools import lru_cache
from types import FrameType

from .places import Line, kind_of_frame, nodes_of, statement_at

#: Errors that checks of sizes and data do not raise.
_OTHERS = (ImportError, AttributeError, NameError, StopIteration, TypeError)
#: Where the model is called: what is around it is not its code.
_RUNS = os.path.join(os.path.dirname(__file__), "runs.py")


def is_caught_in(frame: FrameType | None, line: Line | None) -> bool:
    """Whether the code of the model that is running, or calls what is running, catches the errors that the branch on a line raises."""
    raised = () if line is None else _raised(line.file, line.number)
    while frame is not None and frame.f_code.co_filename != _RUNS:
        if kind_of_frame(frame) == "model" and is_caught(frame.f_code.co_filename, frame.f_lineno, raised):
            return True
        frame = frame.f_back
    return False


def is_caught_as(error: type[Exception]) -> bool:
    """Whether the code of the model that is running catches an error of this type."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != _RUNS:
        if kind_of_frame(frame) == "model" and is_caught(frame.f_code.co_filename, frame.f_lineno, (error.__name__,)):
            return True
        frame = frame.f_back
    return False


@lru_cache(maxsize=4096)
def is_caught(file: str, number: int, raised: tuple[str, ...] = ()) -> bool:
    """Whether an error that is raised on a line, or in what the line calls, is caught by a `try` or `contextlib.suppress` around it. `raised` has the names of its types,
    if they are known."""
    return any(_catches(node, number, raised) for node in nodes_of(file, ast.Try, ast.With))


def _catches(node: ast.AST, number: int, raised: tuple[str, ...]) -> bool:
    if isinstance(node, ast.Try) and _has_line(node.body, number):
        return any(not isinstance(handler.body[-1], ast.Raise) and _takes(handler.type, raised) for handler in node.handlers)
    if not isinstance(node, ast.With) or not _has_line(node.body, number):
        return False
    calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call) and "suppress" in ast.unparse(item.context_expr.func)]
    return any(_takes(ast.Tuple(call.args), raised) for call in calls)


def _has_line(body: list[ast.stmt], number: int) -> bool:
    return body[0].lineno <= number <= (body[-1].end_lineno or body[-1].lineno)


def _takes(types: ast.expr | None, raised: tuple[str, ...]) -> bool:
    """Whether a handler of these types may take an error."""
    names = types.elts if isinstance(types, ast.Tuple) else [types]
    return any(_may_be(name, error) for name in names for error in raised or ("",))


def _may_be(name: ast.expr | None, error: str) -> bool:
    caught = getattr(builtins, name.id, None) if isinstance(name, ast.Name) else None
    if not isinstance(caught, type):
        return True
    found = getattr(builtins, error, None)
    return issubclass(found, caught) if isinstance(found, type) else not issubclass(caught, _OTHERS)


@lru_cache(maxsize=1024)
def _raised(file: str, number: int) -> tuple[str, ...]:
    """The names of the types that the statement with a branch raises."""
    found = statement_at(file, number)
    if isinstance(found, ast.Assert):
        return ("AssertionError",)
    raises = [node.exc for node in ast.walk(found) if isinstance(node, ast.Raise)] if found is not None else []
    return tuple(ast.unparse(error.func if isinstance(error, ast.Call) else error) for error in raises if error is not None)


__all__ = ["is_caught", "is_caught_as", "is_caught_in"]
