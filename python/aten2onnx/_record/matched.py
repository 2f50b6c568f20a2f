"""`match` as a series of `if`, where its cases are values: `case "up" | "down"`, `case 3 if x.sum() > 0`, `case _`."""

from __future__ import annotations

import ast
from typing import Any

#: How the names of what is matched begin.
_SUBJECT = "_a2o_subject"


class Matches(ast.NodeTransformer):
    """Puts `if` in place of `match`. One with other cases stays."""

    def visit_Match(self, node: ast.Match) -> Any:
        self.generic_visit(node)
        name = f"{_SUBJECT}_{node.lineno}_{node.col_offset}"
        tests: list[Any] = [_test(case, name) for case in node.cases]
        if any(test is None for test in tests):
            return node
        made: list[ast.stmt] = []
        for case, test in reversed(list(zip(node.cases, tests))):
            first = _bound(case.pattern, name)
            if isinstance(test, ast.Constant) and case.guard is None:
                made = [*first, *case.body]
                continue
            made = [_at(ast.If(test, [*first, *case.body], made), case.pattern)]
        return [_at(ast.Assign([ast.Name(name, ast.Store())], node.subject), node), *made]


def _test(case: ast.match_case, name: str) -> ast.expr | None:
    """The condition of a case; None if it has another form."""
    test = _of_pattern(case.pattern, name)
    if test is None or (case.guard is not None and _bound(case.pattern, name)):
        return None
    if case.guard is None:
        return test
    return case.guard if isinstance(test, ast.Constant) else _at(ast.BoolOp(ast.And(), [test, case.guard]), case.pattern)


def _of_pattern(pattern: Any, name: str) -> ast.expr | None:
    subject = ast.Name(name, ast.Load())
    if isinstance(pattern, ast.MatchValue):
        return _at(ast.Compare(subject, [ast.Eq()], [pattern.value]), pattern)
    if isinstance(pattern, ast.MatchSingleton):
        return _at(ast.Compare(subject, [ast.Is()], [ast.Constant(pattern.value)]), pattern)
    if isinstance(pattern, ast.MatchOr):
        parts: list[Any] = [_of_pattern(part, name) for part in pattern.patterns]
        return None if any(part is None or isinstance(part, ast.Constant) for part in parts) else _at(ast.BoolOp(ast.Or(), parts), pattern)
    if isinstance(pattern, ast.MatchAs) and pattern.pattern is None:
        return _at(ast.Constant(True), pattern)
    return None


def _bound(pattern: Any, name: str) -> list[ast.stmt]:
    """What gives the name of a case its value: `case other`."""
    if not isinstance(pattern, ast.MatchAs) or pattern.name is None:
        return []
    return [_at(ast.Assign([ast.Name(pattern.name, ast.Store())], ast.Name(name, ast.Load())), pattern)]


def _at(node: Any, place: Any) -> Any:
    """A new node, and those in it, on the line of another."""
    for inner in ast.walk(node):
        if "lineno" in inner._attributes and not hasattr(inner, "lineno"):
            ast.copy_location(inner, place)
    return node


__all__ = ["Matches"]
