"""Writes a generator as a function that returns a list of what it yields: whoever walks over it gets the same elements.

What is between two elements runs before the first is read. A generator that is told something (`x = yield y`), or that has no end, stays as it is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

_MADE = "_a2o_made"
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.ListComp, ast.GeneratorExp)


def as_list(function: ast.FunctionDef) -> bool:
    """Writes a generator as a function of that kind; whether it could be. Other functions stay as they are."""
    inside = list(_inside(function.body))
    yields = [node for node in inside if isinstance(node, (ast.Yield, ast.YieldFrom))]
    if not yields:
        return True
    statements = [node for node in inside if isinstance(node, ast.Expr) and isinstance(node.value, (ast.Yield, ast.YieldFrom))]
    has_value = any(isinstance(node, ast.Return) and node.value is not None for node in inside)
    if len(statements) != len(yields) or has_value or any(map(_is_endless, inside)):
        return False
    for node in inside:
        if isinstance(node, ast.Return):
            node.value = _placed(ast.Name(_MADE, ast.Load()), node)
    function.body = [_Yields().visit(node) for node in function.body]
    first, last = function.body[0], function.body[-1]
    begin = _placed(ast.Assign([ast.Name(_MADE, ast.Store())], ast.List([], ast.Load())), first)
    function.body = [begin, *function.body, _placed(ast.Return(ast.Name(_MADE, ast.Load())), last)]
    return True


class _Yields(ast.NodeTransformer):
    """Puts lists that grow in place of `yield`."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        value = node.value
        if not isinstance(value, (ast.Yield, ast.YieldFrom)):
            return node
        given, made = value.value or ast.Constant(None), ast.Name(_MADE, ast.Load())
        if isinstance(value, ast.Yield):
            return _placed(ast.Expr(ast.Call(ast.Attribute(made, "append", ast.Load()), [given], [])), node)  # type: ignore[no-any-return]
        rest = ast.Call(ast.Name("list", ast.Load()), [given], [])
        return _placed(ast.Assign([ast.Name(_MADE, ast.Store())], ast.BinOp(made, ast.Add(), rest)), node)  # type: ignore[no-any-return]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = visit_FunctionDef  # type: ignore[assignment]


def _is_endless(node: ast.AST) -> bool:
    """Whether a loop is never left."""
    if not (isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)):
        return False
    return not any(isinstance(inner, (ast.Break, ast.Return, ast.Raise)) for inner in _inside(node.body))


def _inside(nodes: Any) -> Iterator[ast.AST]:
    for node in nodes:
        yield node
        if not isinstance(node, _SCOPES):
            yield from _inside(ast.iter_child_nodes(node))


def _placed(node: Any, place: ast.AST) -> Any:
    for inner in ast.walk(node):
        if "lineno" in inner._attributes and not hasattr(inner, "lineno"):
            ast.copy_location(inner, place)
    return node


__all__ = ["as_list"]
