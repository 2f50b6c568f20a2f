"""Writes assignments in conditions (`if (y := f(x)) > 0`) as statements of their own, if they are what the condition asks first, and those with types without them."""

from __future__ import annotations

import ast
from typing import Any

#: Where the part of an expression is that is computed first.
_FIRST = {ast.Compare: "left", ast.BinOp: "left", ast.UnaryOp: "operand", ast.Attribute: "value", ast.Subscript: "value"}


class Assignments(ast.NodeTransformer):
    """Puts statements in place of assignments in conditions, and assignments without types in place of those with them."""

    def visit_If(self, node: ast.If) -> Any:
        self.generic_visit(node)
        taken = _taken(node)
        return [taken, node] if taken is not None else node

    def visit_While(self, node: ast.While) -> Any:
        self.generic_visit(node)
        if node.orelse:
            return node
        taken = _taken(node)
        if taken is None:
            return node
        left = ast.If(ast.UnaryOp(ast.Not(), node.test), [ast.Break()], [])
        node.test, node.body = ast.Constant(True), [taken, left, *node.body]
        for made in (node.test, left, *ast.walk(left)):
            if not hasattr(made, "lineno"):
                ast.copy_location(made, taken)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """The parts of a function share its names, which have no types there."""
        if not isinstance(node.target, ast.Name):
            return node
        return ast.copy_location(ast.Pass() if node.value is None else ast.Assign([node.target], node.value), node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node


def _taken(node: Any) -> ast.Assign | None:
    """The assignment that a condition makes first, as a statement. The condition reads the name then."""
    place, field = node, "test"
    while True:
        inner: Any = getattr(place, field) if not isinstance(place, ast.BoolOp) else place.values[0]
        if isinstance(inner, ast.NamedExpr):
            break
        if not isinstance(inner, (ast.BoolOp, *_FIRST)):
            return None
        place, field = inner, _FIRST.get(type(inner), "")
    name = ast.copy_location(ast.Name(inner.target.id, ast.Load()), inner)
    if isinstance(place, ast.BoolOp):
        place.values[0] = name
    else:
        setattr(place, field, name)
    return ast.copy_location(ast.Assign([inner.target], inner.value), inner)


__all__ = ["Assignments"]
