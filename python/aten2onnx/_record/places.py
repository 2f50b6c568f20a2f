"""Lines and modules of the model: where a call, a branch or a number comes from."""

from __future__ import annotations

import ast
import linecache
import os
import re
import sys
import sysconfig
from functools import lru_cache
from types import FrameType
from typing import Any, NamedTuple

import torch

_TORCH = os.path.dirname(torch.__file__) + os.sep
_OWN = os.path.dirname(os.path.dirname(__file__)) + os.sep
_STDLIB = sysconfig.get_path("stdlib") + os.sep
_SITE = sysconfig.get_path("purelib") + os.sep


class Line(NamedTuple):
    """A line of the model."""

    file: str
    number: int
    function: str

    def __str__(self) -> str:
        return f'File "{self.file}", line {self.number}, in {self.function}'

    @property
    def place(self) -> tuple[str, int]:
        """The file and the number."""
        return self.file, self.number

    @property
    def text(self) -> str:
        return linecache.getline(self.file, self.number).strip()


@lru_cache(maxsize=4096)
def kind_of_file(name: str) -> str:
    """Whose code a file is: "own" (this package), "torch", "python" or "model". Code without a file, such as that of `python -c` and `exec`, is the model's."""
    if name.startswith(_OWN):
        return "own"
    if name.startswith(_TORCH):
        return "torch"
    if name.startswith("<frozen ") or (name.startswith(_STDLIB) and not name.startswith(_SITE)):
        return "python"
    return "model"


@lru_cache(maxsize=1024)
def is_installed(file: str) -> bool:
    """Whether a file belongs to an installed package, which nobody edits while a program runs."""
    return file.startswith(_SITE) or not {"site-packages", "dist-packages"}.isdisjoint(file.split(os.sep))


def kind_of_frame(frame: FrameType) -> str:
    """Whose code is running. Code that a library has made, such as the methods of a dataclass, is the library's."""
    name = frame.f_code.co_filename
    return _kind_of_module(str(frame.f_globals.get("__name__", ""))) if name.startswith("<") else kind_of_file(name)


@lru_cache(maxsize=1024)
def _kind_of_module(name: str) -> str:
    top = name.partition(".")[0]
    if top in ("torch", "aten2onnx"):
        return "own" if top == "aten2onnx" else "torch"
    return "python" if top in sys.stdlib_module_names and top != "__main__" else "model"


def line_of_model() -> Line | None:
    """The innermost line of the model that is running."""
    return line_of_frame(sys._getframe(1))


def line_of_frame(frame: FrameType | None, end: str = "") -> Line | None:
    """The innermost line of the model in a frame and those that it was called from, up to one of the file `end`."""
    while frame is not None and frame.f_code.co_filename != end:
        if kind_of_frame(frame) == "model":
            return Line(frame.f_code.co_filename, frame.f_lineno, _function_of(frame))
        frame = frame.f_back
    return None


def _function_of(frame: FrameType) -> str:
    """The name of the function that is running. The parts of lowered code are those of their function."""
    named: FrameType | None = frame
    while named is not None and named.f_code.co_name.startswith("_a2o"):
        named = named.f_back
        while named is not None and (kind_of_frame(named) != "model" or named.f_code.co_name == "<lambda>"):
            named = named.f_back
    return (named or frame).f_code.co_name


#: Files of PyTorch in which its numbers ask on behalf of their caller.
_NUMBERS = (_TORCH + "__init__.py", _TORCH + os.path.join("fx", "experimental", "sym_node.py"))
#: Where this package asks on behalf of a branch on a tensor.
_BRANCHES = os.path.join(os.path.dirname(__file__), "keep.py")


def frame_of_model() -> FrameType | None:
    """The innermost frame of the model that is running."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and kind_of_frame(frame) != "model":
        frame = frame.f_back
    return frame


def is_asked_by_model() -> bool:
    """Whether Python's code of the model asks for a number, and not PyTorch: it asks through the methods of Python's numbers, and C++ does not."""
    frame = sys._getframe(1)
    through = False
    while frame is not None:
        name = frame.f_code.co_filename
        kind = kind_of_frame(frame)
        if kind == "model":
            return through
        if name.startswith(_NUMBERS) or (name == _BRANCHES and frame.f_code.co_name == "_is_nonzero"):
            through = True
        elif kind == "torch":
            return False
        frame = frame.f_back  # type: ignore[assignment]
    return False


def is_branch_of_torch(answer: bool) -> bool:
    """Whether a branch in Python's code of PyTorch asks, and does more on its other side than raise an error or warn. It asks on behalf of the model: `3 in x`."""
    frame: FrameType | None = sys._getframe(1)
    through = False
    while frame is not None and kind_of_frame(frame) != "model":
        if frame.f_code.co_filename.startswith(_NUMBERS):
            through = True
        elif kind_of_frame(frame) == "torch":
            return through and not only_stops(frame.f_code.co_filename, frame.f_lineno, answer)
        frame = frame.f_back
    return False


@lru_cache(maxsize=1024)
def only_stops(file: str, number: int, answer: bool) -> bool:
    """Whether the other side of a branch on this line only raises an error or warns: `assert ..`, `if ..: raise ..`."""
    found = statement_at(file, number)
    if isinstance(found, ast.Assert):
        return answer
    if isinstance(found, ast.If):
        other = found.body if not answer else found.orelse
        return bool(other) and all(map(_stops, other))
    return False


def _stops(statement: ast.stmt) -> bool:
    if isinstance(statement, (ast.Raise, ast.Assert, ast.Pass)):
        return True
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    called = ast.unparse(statement.value.func)
    return called in ("print", "warn") or called.split(".")[0] in ("warnings", "logger", "logging", "log", "_log", "_logger")


@lru_cache(maxsize=64)
def tree_of(file: str) -> ast.Module | None:
    """What a file of Python says; None if it cannot be read."""
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return None


@lru_cache(maxsize=512)
def nodes_of(file: str, *kinds: type[ast.AST]) -> tuple[Any, ...]:
    """The nodes of these kinds in a file of Python, each after those that it is in."""
    return tuple(node for node in _all_nodes(file) if isinstance(node, kinds))


@lru_cache(maxsize=16)
def _all_nodes(file: str) -> tuple[ast.AST, ...]:
    tree = tree_of(file)
    return () if tree is None else tuple(ast.walk(tree))


@lru_cache(maxsize=64)
def numbers_in(file: str) -> tuple[int, ...]:
    """The whole numbers that are written in a file of Python, also in text, the smallest first."""
    found: set[int] = set()
    for node in nodes_of(file, ast.Constant):
        if type(node.value) is int:
            found.add(node.value)
        elif isinstance(node.value, str):
            found.update(int(digits) for digits in re.findall(r"\d{1,4}", node.value))
    return tuple(sorted(found))


@lru_cache(maxsize=1024)
def calling_itself(file: str, number: int) -> str | None:
    """The name of the innermost function that a line is in, if that calls itself."""
    around = [node for node in nodes_of(file, ast.FunctionDef) if node.lineno <= number <= (node.end_lineno or node.lineno)]
    if not around:
        return None
    name = str(around[-1].name)
    called = (node.func for node in ast.walk(around[-1]) if isinstance(node, ast.Call))
    is_itself = any((isinstance(one, ast.Name) and one.id == name) or (isinstance(one, ast.Attribute) and one.attr == name and isinstance(one.value, ast.Name) and one.value.id == "self") for one in called)
    return name if is_itself else None


def is_in_loop(place: tuple[str, int], loop: tuple[str, int]) -> bool:
    """Whether a line is in a loop that begins on another one, or in a comprehension there."""
    kinds = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    begun = [node for node in nodes_of(loop[0], *kinds) if node.lineno == loop[1]]
    return place == loop or (place[0] == loop[0] and any(node.lineno <= place[1] <= node.end_lineno for node in begun))


#: Functions whose results tell nothing of the turn of a loop that calls them.
_PLAIN_CALLS = frozenset("append range len enumerate zip reversed list int float print".split())


@lru_cache(maxsize=1024)
def is_choosing_walk(file: str, number: int) -> bool:
    """Whether a line has what a `for` or comprehension goes through whose turns may do other things: they compare, or call functions that may."""
    for node in nodes_of(file, ast.For, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp):
        walked = [node.iter] if isinstance(node, ast.For) else [generator.iter for generator in node.generators]
        if any(one.lineno <= number <= (one.end_lineno or one.lineno) for one in walked) and any(map(_chooses, ast.walk(node))):
            return True
    return False


def _chooses(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr if isinstance(node.func, ast.Attribute) else ""
        return name not in _PLAIN_CALLS
    return isinstance(node, (ast.If, ast.IfExp, ast.Compare, ast.BoolOp, ast.While, ast.Match))


def statement_at(file: str, number: int) -> Any:
    """The innermost `if` or `assert` whose condition is on a line."""
    tests = ((node, node.test) for node in reversed(nodes_of(file, ast.If, ast.Assert)))
    return next((node for node, test in tests if test.lineno <= number <= (test.end_lineno or test.lineno)), None)


class Modules:
    """The calls of modules that are running, for the names of nodes."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.paths = {id(module): path for path, module in reversed(list(model.named_modules(remove_duplicate=True)))}
        self.paths[id(model)] = ""
        self.counts: dict[str, int] = {}
        self.stack: list[dict[str, tuple[str, Any]]] = [{}]
        self._handles: list[Any] = []

    def __enter__(self) -> Modules:
        hooks = torch.nn.modules.module
        self._handles = [
            hooks.register_module_forward_pre_hook(self._enter),
            hooks.register_module_forward_hook(self._leave, always_call=True),
        ]
        return self

    def __exit__(self, *_: Any) -> None:
        for handle in self._handles:
            handle.remove()

    @property
    def current(self) -> dict[str, tuple[str, Any]]:
        """The running calls, the outermost first, as torch.export notes them: a key for the call, the path of the module and its class."""
        return self.stack[-1]

    def _enter(self, module: Any, _: Any) -> None:
        path = self.paths.get(id(module))
        if path is None:
            self.stack.append(self.current)
            return
        count = self.counts.get(path, 0)
        self.counts[path] = count + 1
        kind = type(module)
        key = f"L__self__{path}" if count == 0 else f"L__self__{path}@{count}"
        self.stack.append({**self.current, key: (path, f"{kind.__module__}.{kind.__qualname__}")})

    def _leave(self, module: Any, _: Any, __: Any) -> None:
        if len(self.stack) > 1:
            self.stack.pop()
