"""Text that is made of values: the function that makes it, and the values that it is given."""

from __future__ import annotations

import ast
import copy


def text_parts(node: ast.expr) -> list[ast.expr] | None:
    """A lambda that makes the text of an expression, and the expressions of its arguments: `lambda a: f"head{a}"` and `k`. None of what is no such text."""
    made = _Parts()
    text = made.visit(copy.deepcopy(node))
    if not made.parts or not _is_text(node):
        return None
    names = [ast.arg(name) for name in made.names]
    function = ast.Lambda(ast.arguments([], names, None, [], [], None, []), text)
    for inner in ast.walk(function):
        if "lineno" in inner._attributes and not hasattr(inner, "lineno"):
            ast.copy_location(inner, node)
            inner.end_lineno, inner.end_col_offset = node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
    return [function, *made.parts]


def _is_text(node: ast.expr) -> bool:
    """Whether an expression is text that has only parts of the forms below."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Add) and _is_text(node.left) and _is_text(node.right)
    return isinstance(node, ast.JoinedStr) or _is_str(node)


def _is_str(node: ast.AST) -> bool:
    """Whether it is `str(value)`."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str" and len(node.args) == 1 and not node.keywords


class _Parts(ast.NodeTransformer):
    """Puts names in place of the values that become text."""

    def __init__(self) -> None:
        self.parts: list[ast.expr] = []
        self.names: list[str] = []

    def _name(self, value: ast.expr) -> ast.Name:
        self.parts.append(value)
        self.names.append(f"_a2o_part{len(self.names)}")
        return ast.Name(self.names[-1], ast.Load())

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        node.value = self._name(node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if _is_str(node):
            node.args = [self._name(node.args[0])]
        return node


__all__ = ["text_parts"]
