"""Gives functions of a model the code of another form of them, while a run is recorded."""

from __future__ import annotations

import ast
import copy
import gc
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

from .lowered import NAME, NotLowered, lowered
from .places import tree_of

_log = logging.getLogger(__name__)

#: The file and number of a line.
Spot = tuple[str, int]


class Swaps:
    """The functions of files, as they were before the first run in which their code has another form. A run leaves no other functions behind, so that they are looked for once in an
    export: all objects of the process are gone through."""

    def __init__(self) -> None:
        self.known: dict[str, list[FunctionType]] = {}

    @contextmanager
    def made(self, spots: Iterable[Spot], runtime: Any) -> Iterator[None]:
        """While the block runs, the functions that these lines are in have their other form, whose branches and loops call `runtime`."""
        wanted = set(spots)
        changed: list[tuple[FunctionType, CodeType]] = []
        names: list[tuple[dict[str, Any], Any]] = []
        try:
            for function in self._functions({file for file, _ in wanted}):
                made = other_code(function.__code__, frozenset(number for file, number in wanted if file == function.__code__.co_filename))
                if made is None:
                    continue
                changed.append((function, function.__code__))
                function.__code__ = made
                names.append((function.__globals__, function.__globals__.get(NAME)))
                function.__globals__[NAME] = runtime
            yield
        finally:
            for function, code in changed:
                function.__code__ = code
            for space, before in names:
                if before is None:
                    space.pop(NAME, None)

    def _functions(self, files: set[str]) -> list[FunctionType]:
        new = files - self.known.keys()
        if new:
            self.known.update({file: [] for file in new})
            for found in _objects():
                if type(found) is FunctionType and found.__code__.co_filename in new:
                    self.known[found.__code__.co_filename].append(found)
        return [function for file in files for function in self.known[file]]


def _objects() -> list[Any]:
    """All objects, also those that `gc.freeze` has put aside. They are put aside again, without what nobody uses any more."""
    if not gc.get_freeze_count():
        return gc.get_objects()
    # Before they are taken back: a collection reads all that is not put aside, which is little.
    gc.collect()
    gc.unfreeze()
    found = gc.get_objects()
    gc.freeze()
    return found


def can_swap(spot: Spot) -> bool:
    """Whether a line is in a function that has another form."""
    return _form(spot[0], frozenset([spot[1]])) is not None


def other_code(code: CodeType, numbers: frozenset[int]) -> CodeType | None:
    """The code of a function in another form; None if it has none of the lines, or is not what its file says."""
    form = _form(code.co_filename, numbers)
    key = (code.co_name, code.co_firstlineno)
    if form is None or key not in form[1]:
        return None
    before, now = form[0].get(key), form[1][key]
    if before is None or before.co_code != code.co_code or before.co_freevars != code.co_freevars or now.co_freevars != code.co_freevars:
        return None
    return now


@lru_cache(maxsize=256)
def _form(file: str, numbers: frozenset[int]) -> tuple[dict[Any, CodeType], dict[Any, CodeType]] | None:
    """The code of the functions of a file as it is, and in another form where they have one of these lines."""
    tree = tree_of(file)
    if tree is None or not numbers:
        return None
    made = copy.deepcopy(tree)
    changed = _Lowering(numbers)
    changed.visit(made)
    if not changed.names:
        return None
    try:
        codes = [dict(_codes(compile(one, file, "exec", dont_inherit=True))) for one in (tree, ast.fix_missing_locations(made))]
    except SyntaxError as error:  # something that parts of a function cannot share
        _log.debug("%s is not lowered: %s", file, error)
        return None
    return codes[0], {key: code for key, code in codes[1].items() if key in changed.names}


def _codes(code: CodeType) -> Iterator[tuple[Any, CodeType]]:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield (inner.co_name, inner.co_firstlineno), inner
            yield from _codes(inner)


class _Lowering(ast.NodeTransformer):
    """Gives the outermost functions that have certain lines their other form."""

    def __init__(self, numbers: frozenset[int]) -> None:
        self.numbers = numbers
        self.names: set[Any] = set()
        self.in_class = False

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        before, self.in_class = self.in_class, True
        self.generic_visit(node)
        self.in_class = before
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if not self._has_line(node):
            return node
        if any(isinstance(inner, ast.ClassDef) and self._has_line(inner) for inner in ast.walk(node)):
            self.generic_visit(node)
            return node
        owner = node.args.args[0].arg if self.in_class and node.args.args else None
        before, self.in_class = self.in_class, False
        try:
            made = lowered(node, owner)
        except NotLowered:
            self.generic_visit(node)
            return node
        finally:
            self.in_class = before
        functions = [inner for inner in ast.walk(node) if isinstance(inner, ast.FunctionDef)]
        self.names |= {(one.name, min([one.lineno, *(decorator.lineno for decorator in one.decorator_list)])) for one in functions}
        return made

    def _has_line(self, node: Any) -> bool:
        return any(node.lineno <= number <= (node.end_lineno or node.lineno) for number in self.numbers)


__all__ = ["Spot", "Swaps", "can_swap", "other_code"]
