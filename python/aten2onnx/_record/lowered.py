"""Writes functions of a model in another form, in which branches and loops are calls: `if c: ..` is `branch(c, yes, no, get, set)`.

The sides of branches and the turns of loops are functions, so that the recorder can run each of them when it wants. `get` and `set` read and write the local names that
they use. `return`, `break` and `continue` become flags, and a comprehension a function with a loop. Lines stay those of the file.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from typing import Any

from .assigned import Assignments
from .matched import Matches
from .placed import CHANGES
from .worded import text_parts
from .yielded import as_list

#: The global name under which lowered code finds the functions in place of branches and loops.
NAME = "_a2o"

_RETURNED = f"{NAME}_returned"
#: The name of what a comprehension makes.
OUT = f"{NAME}_out"
#: How the names of the functions of comprehensions begin.
_COMPREHENSION = f"{NAME}_of"
#: Functions of a generator that a loop can be in place of.
_FOLDS = ("sum", "any", "all")
_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_LOOPS = (ast.For, ast.While)


class NotLowered(Exception):
    """Code that has no such form, with its line."""

    def __init__(self, what: str, node: ast.AST) -> None:
        super().__init__(what)
        self.number = getattr(node, "lineno", 0)


def lowered(function: ast.FunctionDef, owner: str | None) -> ast.FunctionDef:
    """A function in the other form. `owner` is the name of its first parameter, if it is a method.

    Raises:
        NotLowered: It has no such form.
    """
    made = copy.deepcopy(function)
    if not as_list(made):
        raise NotLowered("a generator that is told something, or has no end", function)
    for node in _inside(made.body):
        if isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal)):
            raise NotLowered("a generator, or a name from outside that it gives another value", node)
    made = Assignments().visit(Matches().visit(made))
    made.body = _Expressions(owner).block(made.body)
    return _with_calls(made)


def _with_calls(function: ast.FunctionDef) -> ast.FunctionDef:
    """A function whose expressions have the other form already."""
    body = list(function.body)
    if not _ends(body):
        body.append(_at(ast.Return(ast.Constant(None)), function))
    body = _Exits().block(body, None)
    body.append(_at(ast.Return(_call("returned", [_name(_RETURNED)], function)), function))
    names = {argument.arg for argument in _parameters(function)}
    stored = sorted({node.id for node in _inside(body) if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del))})
    found = _Calls(names | set(stored)).block(body)
    targets: list[ast.expr] = [_name(name, ast.Store()) for name in stored]
    # Names that only inner functions assign are those of this one.
    bound = [_at(ast.If(ast.Constant(False), [ast.Assign(targets, ast.Constant(None))], []), function)] if targets else []
    function.body = [*bound, *found]
    return ast.fix_missing_locations(function)


def _parameters(function: ast.FunctionDef) -> list[ast.arg]:
    args = function.args
    return [*args.posonlyargs, *args.args, *args.kwonlyargs, *([args.vararg] if args.vararg else []), *([args.kwarg] if args.kwarg else [])]


def _inside(nodes: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """Nodes and all in them, but not those of inner functions."""
    for node in nodes:
        yield node
        if not isinstance(node, _SCOPES):
            yield from _inside(list(ast.iter_child_nodes(node)))
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith(_COMPREHENSION):
            yield _at(ast.Name(node.name, ast.Store()), node)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                yield _at(ast.Name(alias.asname or alias.name.partition(".")[0], ast.Store()), node)


def _at(node: Any, place: ast.AST) -> Any:
    """A new node, and those in it, on the line of another."""
    for inner in ast.walk(node):
        if "lineno" in inner._attributes and not hasattr(inner, "lineno"):
            ast.copy_location(inner, place)
            inner.end_lineno, inner.end_col_offset = inner.lineno, inner.col_offset  # type: ignore[attr-defined]
    return node


def _name(name: str, context: Any = None) -> ast.Name:
    return ast.Name(name, context or ast.Load())


def _assigned(name: str, value: Any, place: ast.AST) -> Any:
    return _at(ast.Assign([_name(name, ast.Store())], value if isinstance(value, ast.expr) else ast.Constant(value)), place)


def _call(function: str, args: list[ast.expr], place: ast.AST) -> ast.Call:
    return _at(ast.Call(ast.Attribute(_name(NAME), function, ast.Load()), args, []), place)  # type: ignore[no-any-return]


def _lambda(body: ast.expr) -> ast.Lambda:
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), body)


def _function(name: str, parameters: list[str], body: list[ast.stmt], place: ast.AST) -> ast.FunctionDef:
    args = ast.arguments([], [ast.arg(parameter) for parameter in parameters], None, [], [], None, [])
    return _at(ast.FunctionDef(name, args, body or [ast.Pass()], []), place)  # type: ignore[no-any-return]


class _Counter:
    count = 0

    @classmethod
    def next(cls, stem: str) -> str:
        cls.count += 1
        return f"{NAME}_{stem}{cls.count}"


# Expressions.
class _Expressions(ast.NodeTransformer):
    """Puts calls in place of `and`, `or`, `not`, `a if c else b` and comprehensions. The functions of comprehensions stand before the statement."""

    def __init__(self, owner: str | None) -> None:
        self.owner = owner
        self.before: list[ast.stmt] = []

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for statement in body:
            outer, self.before = self.before, []
            made = self.visit(statement)
            found += [*self.before, made]
            self.before = outer
        return found

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for field, value in ast.iter_fields(node):
            if isinstance(value, list) and value and all(isinstance(item, ast.stmt) for item in value):
                setattr(node, field, self.block(value))
            elif isinstance(value, list):
                setattr(node, field, [self.visit(item) if isinstance(item, ast.AST) else item for item in value])
            elif isinstance(value, ast.AST):
                setattr(node, field, self.visit(value))
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        try:
            return lowered(node, None)
        except NotLowered:
            return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """Functions of comprehensions would stand outside, where its parameters are unknown."""
        if not any(isinstance(inner, (*_COMPREHENSIONS, ast.NamedExpr)) for inner in ast.walk(node.body)):
            node.body = self.visit(node.body)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node

    visit_AsyncFunctionDef = visit_DictComp = visit_SetComp = visit_Assert = visit_ClassDef  # type: ignore[assignment]

    # Conditions.
    def visit_If(self, node: Any) -> ast.AST:
        node.test = self._condition(node.test)
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return node

    visit_While = visit_If

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        test = self._condition(node.test)
        return _call("chosen", [test, _lambda(self.visit(node.body)), _lambda(self.visit(node.orelse))], node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        if all(map(_is_condition, node.values)):
            return self._condition(node)
        self.generic_visit(node)
        return _call("last" if isinstance(node.op, ast.And) else "first", [_lambda(value) for value in node.values], node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        if len(node.ops) > 1 and all(isinstance(middle, (ast.Name, ast.Constant)) for middle in node.comparators[:-1]):
            self.generic_visit(node)
            pairs = zip([node.left, *node.comparators], node.ops, node.comparators)
            return _call("every", [_lambda(_at(ast.Compare(copy.deepcopy(left), [sign], [copy.deepcopy(right)]), node)) for left, sign, right in pairs], node)
        self.generic_visit(node)
        if len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            found = _call("contained", [node.left, node.comparators[0]], node)
            return found if isinstance(node.ops[0], ast.In) else _call("negated", [found], node)
        if len(node.ops) == 1 and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            return _call("same" if isinstance(node.ops[0], ast.Is) else "other", [node.left, node.comparators[0]], node)
        return node

    def _condition(self, node: ast.expr) -> ast.expr:
        """An expression of which only counts whether it holds."""
        if isinstance(node, ast.BoolOp):
            name = "every" if isinstance(node.op, ast.And) else "some"
            return _call(name, [_lambda(self._condition(value)) for value in node.values], node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return _call("negated", [self._condition(node.operand)], node)
        return self.visit(node)  # type: ignore[no-any-return]

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        return self._condition(node) if isinstance(node.op, ast.Not) else self.generic_visit(node)

    # Comprehensions.
    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        if isinstance(node.elt, ast.Constant) and node.elt.value is None and len(node.generators) == 1 and not node.generators[0].ifs:
            return _call("nones", [self.visit(node.generators[0].iter)], node)
        out = OUT
        added = ast.Expr(ast.Call(ast.Attribute(_name(out), "append", ast.Load()), [node.elt], []))
        return self._loop_of(node, [_assigned(out, ast.List([], ast.Load()), node)], added, [ast.Return(_name(out))])

    visit_GeneratorExp = visit_ListComp  # type: ignore[assignment]

    def visit_Call(self, node: ast.Call) -> ast.AST:
        function = node.func
        if isinstance(function, ast.Name) and function.id == "super" and not node.args and self.owner is not None:
            node.args = [_at(_name("__class__"), node), _at(_name(self.owner), node)]
            return node
        if isinstance(function, ast.Name) and function.id in _FOLDS and len(node.args) == 1 and isinstance(node.args[0], (ast.GeneratorExp, ast.ListComp)) and not node.keywords:
            return self._fold(function.id, node.args[0])
        if isinstance(function, ast.Name) and function.id == "next" and node.args and isinstance(node.args[0], ast.GeneratorExp):
            return self._first(node)
        if isinstance(function, ast.Name) and function.id in ("list", "tuple") and len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Starred):
            return _call("listed", [function, self.visit(node.args[0])], node)
        text = text_parts(node.args[1]) if isinstance(function, ast.Name) and function.id == "getattr" and len(node.args) == 2 else None
        if text is not None:
            return _call("attribute_at_text", [self.visit(one) for one in (node.args[0], *text)], node)
        if isinstance(function, ast.Name) and function.id == "getattr" and len(node.args) == 2 and isinstance(node.args[1], ast.Name):
            return _call("attribute", [self.visit(one) for one in node.args], node)
        is_zip = isinstance(function, ast.Name) and function.id == "zip" and not node.keywords
        if is_zip and len(node.args) == 1 and isinstance(node.args[0], ast.Starred):
            return _call("unzipped", [function, self.visit(node.args[0].value)], node)
        if isinstance(function, ast.Attribute) and function.attr == "count" and len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Starred):
            return _call("counted", [self.visit(function.value), self.visit(node.args[0])], node)
        if isinstance(function, ast.Attribute) and function.attr in ("items", "keys", "values") and not node.args and not node.keywords:
            self.generic_visit(node)
            function.value = _call("whole", [function.value], function.value)
            return node
        if isinstance(function, ast.Attribute) and function.attr == "get" and 1 <= len(node.args) <= 2 and not node.keywords and not isinstance(node.args[0], ast.Starred):
            return _call("got", [self.visit(function.value), *map(self.visit, node.args)], node)
        if isinstance(function, ast.Attribute) and function.attr == "sort":
            self.generic_visit(node)
            node.func, node.args = _at(ast.Attribute(_name(NAME), "sort_in", ast.Load()), node), [function.value, *node.args]
            return node
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """`values.extend(others)`: `values` may be as long as a size says after that. `values[k].append(x)`, where a number of the file may choose the list."""
        value = node.value
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in CHANGES and not value.keywords:
            found = _list_at(value.func.value)
            if found is not None:
                container, index, otherwise = found
                given = ast.Constant(None) if otherwise is None else _lambda(self.visit(otherwise))
                args: list[ast.expr] = [self.visit(container), self.visit(index), given, ast.Constant(value.func.attr), *map(self.visit, value.args)]
                return _at(ast.Expr(_call("changed_at", args, node)), node)  # type: ignore[no-any-return]
        self.generic_visit(node)
        value = node.value
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "extend" and isinstance(value.func.value, ast.Name) and len(value.args) == 1:
            return _assigned(value.func.value.id, _call("extended", [value.func.value, value.args[0]], node), node)  # type: ignore[no-any-return]
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """`counts[k] = value`, where a number of the file may choose the place."""
        self.generic_visit(node)
        target = node.targets[0]
        if len(node.targets) == 1 and _is_chosen(target):
            return _at(ast.Expr(_call("set_at", [target.value, target.slice, node.value], node)), node)  # type: ignore[attr-defined]
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        if _is_chosen(node.target):
            target: Any = node.target
            self.generic_visit(target)
            args: list[ast.expr] = [target.value, target.slice, ast.Constant(type(node.op).__name__), _lambda(self.visit(node.value))]
            return _at(ast.Expr(_call("change_at", args, node)), node)  # type: ignore[no-any-return]
        self.generic_visit(node)
        if isinstance(node.op, ast.Add) and isinstance(node.target, ast.Name):
            return _assigned(node.target.id, _call("added", [_name(node.target.id), node.value], node), node)  # type: ignore[no-any-return]
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """An element that a number of the file may choose."""
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load) or isinstance(node.slice, (ast.Slice, ast.Constant, ast.Tuple, ast.UnaryOp)):
            return node
        text = text_parts(node.slice)
        if text is not None:
            return _call("at_text", [node.value, *text], node)
        return _call("item", [node.value, node.slice], node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Mult) and (isinstance(node.left, ast.List) or isinstance(node.right, ast.List)):
            return _call("repeated_list", [node.left, node.right], node)
        return node

    def visit_List(self, node: ast.List) -> ast.AST:
        """`[one, *others]`: lists that are joined."""
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load) or not any(isinstance(item, ast.Starred) for item in node.elts):
            return node
        parts: list[ast.expr] = []
        for item in node.elts:
            if isinstance(item, ast.Starred):
                parts.append(_call("listed", [_name("list"), item.value], item))
            elif parts and isinstance(parts[-1], ast.List):
                parts[-1].elts.append(item)
            else:
                parts.append(_at(ast.List([item], ast.Load()), item))
        made = parts[0]
        for part in parts[1:]:
            made = _at(ast.BinOp(made, ast.Add(), part), node)
        return made

    def _first(self, node: ast.Call) -> ast.AST:
        """`next` of a generator: its first element."""
        given = node.args[0]
        assert isinstance(given, ast.GeneratorExp)  # noqa: S101
        last: ast.stmt = ast.Return(node.args[1]) if len(node.args) > 1 else ast.Raise(_name("StopIteration"))
        return self._loop_of(given, [], ast.Return(given.elt), [last])

    def _fold(self, name: str, node: Any) -> ast.AST:
        """`sum`, `any` or `all` of a generator."""
        if name == "sum":
            total = OUT
            added = _assigned(total, ast.BinOp(_name(total), ast.Add(), node.elt), node)
            return self._loop_of(node, [_assigned(total, 0, node)], added, [ast.Return(_name(total))])
        test = node.elt if name == "any" else ast.UnaryOp(ast.Not(), node.elt)
        return self._loop_of(node, [], ast.If(test, [ast.Return(ast.Constant(name == "any"))], []), [ast.Return(ast.Constant(name == "all"))])

    def _loop_of(self, node: Any, first: list[Any], turn: Any, last: list[Any]) -> ast.AST:
        """The call of a function with the loops of a comprehension."""
        given, body = f"{NAME}_given", [turn]
        for place, generator in reversed(list(enumerate(node.generators))):
            for test in reversed(generator.ifs):
                body = [ast.If(test, body, [])]
            body = [ast.For(generator.target, _name(given) if place == 0 else generator.iter, body, [])]
        name = _Counter.next("of")
        made = _function(name, [given], [*first, *body, *last], node)
        made.body = _Expressions(self.owner).block(made.body)
        self.before.append(_with_calls(made))
        return _at(ast.Call(_name(name), [self.visit(node.generators[0].iter)], []), node)


def _is_chosen(target: ast.AST) -> bool:
    """Whether a number may choose the place that an assignment writes to."""
    return isinstance(target, ast.Subscript) and not isinstance(target.slice, (ast.Slice, ast.Constant, ast.Tuple, ast.UnaryOp))


def _list_at(node: ast.expr) -> tuple[ast.expr, ast.expr, ast.expr | None] | None:
    """Where a list stands that a number may choose: what holds it, its place, and the list that is put there if there is none, as in `lists.setdefault(k, [])`."""
    if isinstance(node, ast.Subscript) and _is_chosen(node):
        return node.value, node.slice, None
    is_default = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "setdefault" and len(node.args) == 2
    if is_default and not isinstance(node.args[0], ast.Constant):  # type: ignore[attr-defined]
        return node.func.value, node.args[0], node.args[1]  # type: ignore[attr-defined]
    return None


def _is_condition(node: ast.expr) -> bool:
    return isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)) or (isinstance(node, ast.BoolOp) and all(map(_is_condition, node.values)))


# Exits.
def _ends(body: Sequence[ast.stmt]) -> bool:
    """Whether no statement runs after these."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, ast.If):
        return _ends(last.body) and _ends(last.orelse)
    if isinstance(last, ast.With):
        return _ends(last.body)
    return isinstance(last, (ast.Return, ast.Break, ast.Continue, ast.Raise))


def _has_exit(node: ast.AST, is_in_loop: bool = False) -> bool:
    """Whether a statement leaves the function, or the loop that it is in."""
    if isinstance(node, ast.Return) or (isinstance(node, (ast.Break, ast.Continue)) and not is_in_loop):
        return True
    if isinstance(node, _SCOPES):
        return False
    inside = is_in_loop or isinstance(node, _LOOPS)
    return any(_has_exit(child, inside) for child in ast.iter_child_nodes(node))


class _Exits:
    """Puts flags in place of `return`, `break`, `continue` and `else` of loops. What follows an `if` that may leave stands on its other side."""

    def block(self, body: list[ast.stmt], loop: str | None) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for place, statement in enumerate(body):
            rest = body[place + 1 :]
            if isinstance(statement, ast.Return):
                value = statement.value or ast.Constant(None)
                left = [] if loop is None else [_assigned(f"{loop}_returns", True, statement), _assigned(f"{loop}_left", True, statement)]
                return [*found, _assigned(_RETURNED, value, statement), *left]
            if isinstance(statement, (ast.Break, ast.Continue)):
                return [*found, *([_assigned(f"{loop}_left", True, statement)] if isinstance(statement, ast.Break) else [])]
            if isinstance(statement, ast.If) and _has_exit(statement):
                sides = [self.block([*side, *([] if _ends(side) else copy.deepcopy(rest))], loop) for side in (statement.body, statement.orelse)]
                return [*found, _at(ast.If(statement.test, sides[0] or [ast.Pass()], sides[1]), statement)]
            if isinstance(statement, ast.If):
                found.append(_at(ast.If(statement.test, self.block(statement.body, loop), self.block(statement.orelse, loop)), statement))
            elif isinstance(statement, _LOOPS):
                loops, more = self._loop(statement)
                if more:
                    return [*found, *loops, *self.block([*more, *rest], loop)]
                found += loops
            elif isinstance(statement, ast.With):
                if _has_exit(statement) and rest and not _ends(statement.body):
                    raise NotLowered("a `with` that is left by `return`, `break` or `continue`", statement)
                found.append(_at(ast.With(statement.items, self.block(statement.body, loop)), statement))
                if _ends(statement.body):
                    return found
            else:
                if not isinstance(statement, _SCOPES) and _has_exit(statement):
                    raise NotLowered("a `try` or `match` that is left by `return`, `break` or `continue`", statement)
                found.append(statement)
                if isinstance(statement, ast.Raise):
                    return found
        return found

    def _loop(self, node: Any) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """A loop, and what follows it."""
        name = _Counter.next("loop")
        returns = any(_has_return(statement) for statement in node.body)
        is_left = returns or any(_has_break(statement) for statement in node.body)
        before = [_assigned(f"{name}_left", False, node)] if is_left else []
        before += [_assigned(f"{name}_returns", False, node)] if returns else []
        body = self.block(node.body, name) or [ast.Pass()]
        made: Any = ast.For(node.target, node.iter, body, []) if isinstance(node, ast.For) else ast.While(node.test, body, [])
        made = _at(made, node)
        made.is_left = f"{name}_left" if is_left else None
        after: list[ast.stmt] = []
        if returns and _is_endless(node):
            after.append(_at(ast.Return(_name(_RETURNED)), node))
        elif returns:
            after.append(_at(ast.If(_name(f"{name}_returns"), [ast.Return(_name(_RETURNED))], []), node))
        if node.orelse and is_left:
            after.append(_at(ast.If(_call("negated", [_name(f"{name}_left")], node), node.orelse, []), node))
        else:
            after += node.orelse
        return [*before, made], after


def _is_endless(node: Any) -> bool:
    """Whether a loop is left by `return` alone."""
    is_true = isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)
    return is_true and not any(_has_break(statement) for statement in node.body)


def _has_return(node: ast.AST) -> bool:
    return isinstance(node, ast.Return) or (not isinstance(node, _SCOPES) and any(map(_has_return, ast.iter_child_nodes(node))))


def _has_break(node: ast.AST) -> bool:
    return isinstance(node, ast.Break) or (not isinstance(node, (*_SCOPES, *_LOOPS)) and any(map(_has_break, ast.iter_child_nodes(node))))


# Calls.
class _Calls:
    """Puts calls in place of branches and loops. `names` are the local names of the function."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        return [made for statement in body for made in self._statement(statement)]

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        if isinstance(node, ast.If):
            return self._branch(node)
        if isinstance(node, _LOOPS):
            return self._loop(node)
        if isinstance(node, ast.With):
            node.body = self.block(node.body)
        return [node]

    def _branch(self, node: ast.If) -> list[ast.stmt]:
        name = _Counter.next("if")
        sides = [self._inner(f"{name}_{side}", [], body, node) for side, body in (("yes", node.body), ("no", node.orelse))]
        return [*sides, *self._state(name, [*node.body, *node.orelse], node), self._called("branch", name, [node.test], [f"{name}_yes", f"{name}_no"], node)]

    def _loop(self, node: Any) -> list[ast.stmt]:
        name = _Counter.next("for")
        left = getattr(node, "is_left", None)
        is_left = ast.Constant(None) if left is None else _lambda(_name(left))
        if isinstance(node, ast.While):
            body, given, over = self._inner(f"{name}_turn", [], node.body, node), "repeated", _lambda(node.test)
        else:
            element = f"{name}_element"
            first = _at(ast.Assign([node.target], _name(element)), node)
            body, given, over = self._inner(f"{name}_turn", [element], [first, *node.body], node), "walked", node.iter
            node = _at(ast.For(node.target, node.iter, [first, *node.body], []), node)
        return [body, *self._state(name, [*node.body, *([node.test] if isinstance(node, ast.While) else [])], node), self._called(given, name, [over, is_left], [f"{name}_turn"], node)]

    def _called(self, function: str, name: str, first: list[ast.expr], functions: list[str], node: ast.AST) -> ast.stmt:
        args = [*first, *map(_name, functions), _name(f"{name}_get"), _name(f"{name}_set")]
        return _at(ast.Expr(_call(function, args, node)), node)  # type: ignore[no-any-return]

    def _inner(self, name: str, parameters: list[str], body: list[ast.stmt], place: ast.AST) -> ast.FunctionDef:
        stored = sorted({node.id for node in _inside(body) if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del))} & self.names)
        made = self.block(copy.deepcopy(body)) if not hasattr(body, "is_made") else body
        return _function(name, parameters, [*([ast.Nonlocal(stored)] if stored else []), *made], place)

    def _state(self, name: str, body: Sequence[ast.AST], place: ast.AST) -> list[ast.stmt]:
        """The functions that read and write what a side or a turn uses."""
        names = list(dict.fromkeys(node.id for node in _inside(body) if isinstance(node, ast.Name) and node.id in self.names))
        inner = [node.id for one in _inside(body) if isinstance(one, _SCOPES) for node in ast.walk(one) if isinstance(node, ast.Name) and node.id in self.names]
        names = list(dict.fromkeys([*names, *inner]))
        paths = list(dict.fromkeys(path for node in _inside(body) for path in _paths(node) if path.split(".")[0] in self.names))
        places: list[Any] = [*map(_name, names), *(ast.parse(path, mode="eval").body for path in paths)]
        values: list[ast.expr] = [ast.Call(ast.Attribute(_name(NAME), "seen", ast.Load()), [_lambda(copy.deepcopy(value))], []) for value in places]
        get = _function(f"{name}_get", [], [ast.Return(ast.Dict([ast.Constant(text) for text in [*names, *paths]], values))], place)
        given = f"{name}_given"
        writes = [ast.Assign([_stored(value)], ast.Subscript(_name(given), ast.Constant(text), ast.Load())) for text, value in zip([*names, *paths], places)]
        tests: list[ast.expr] = [ast.Compare(ast.Constant(text), [ast.In()], [_name(given)]) for text in [*names, *paths]]
        for number, path in enumerate(paths, len(names)):  # the attributes of named tuples stay
            owner = _lambda(ast.parse(path.rpartition(".")[0], mode="eval").body)
            tests[number] = ast.BoolOp(ast.And(), [tests[number], ast.Call(ast.Attribute(_name(NAME), "can_change", ast.Load()), [owner], [])])
        guarded = [ast.If(test, [write], []) for test, write in zip(tests, writes)]
        return [get, _function(f"{name}_set", [given], [*([ast.Nonlocal(names)] if names else []), *guarded], place)]


def _stored(node: Any) -> Any:
    made = copy.deepcopy(node)
    made.ctx = ast.Store()
    return made


def _paths(node: ast.AST) -> Iterator[str]:
    """Attributes that a statement may change: `self.count += 1`, `self.cache.append(x)`."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, (ast.Store, ast.Del)):
        yield from _path(node)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        yield from _path(node.args[0] if node.func.attr in ("sort_in", "set_at", "change_at", "changed_at") and node.args else node.func.value)
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, (ast.Store, ast.Del)):
        yield from _path(node.value)


def _path(node: Any) -> Iterator[str]:
    while isinstance(node, ast.Subscript):
        node = node.value
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if parts and isinstance(node, ast.Name):
        yield ".".join([node.id, *reversed(parts)])


__all__ = ["NAME", "NotLowered", "lowered"]
