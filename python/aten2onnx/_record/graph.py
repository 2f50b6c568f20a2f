"""Makes an FX graph of a recording, and describes its inputs and outputs as torch.export does: the native library reads it like a program of torch.export.

The sizes in it are those of the run. The native library replaces them by expressions of the inputs' dimensions.
"""

from __future__ import annotations

import copy
import math
import operator
import re
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch
from torch.export.graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)

from .expressions import inner_first, name_of
from .fakes import is_unknown
from .numbers import Number, is_from_data, number_of
from .nested import BEGIN, END, Body, Mark
from .recorder import Call, Recorder, Unrecorded, decides_sizes
from .references import is_kept, is_read, note_reads, note_sources, sizes_by_name, values_in
from .runs import Arguments, Axis, Run
from .scopes import Scope, graph_module, lift_alike
from .tensors import Value, named_tensors
from .turns import key_of_operand

aten = torch.ops.aten

_OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "neg", "pos", "abs", "eq", "ne", "lt", "le", "gt", "ge", "and_", "or_", "xor", "lshift", "rshift")
#: The Python function that a node calls, by that of an expression.
_FUNCTIONS: dict[str, Any] = {
    **{name: getattr(operator, name) for name in _OPERATORS},
    **{name: getattr(torch, name) for name in ("sym_max", "sym_min", "sym_not", "sym_ite", "sym_float")},
    **{name: getattr(math, name) for name in ("floor", "ceil", "trunc", "sqrt", "exp", "log", "log2", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh")},
}


def _log(a: float) -> float:
    return math.log(a)


# The native library asks for the names of parameters, which `math.log` does not tell.
_log.__module__, _log.__name__ = "math", "log"
_FUNCTIONS["log"] = _log


class Symbol:
    """Stands for a symbolic number in `meta["val"]`: the native library computes its expression."""

    def __init__(self, name: str, number: Number) -> None:
        self._expr = None
        self.expr = f"Symbol('{name}', integer=True)"
        self.hint = number.value
        self.number = number

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["number"], name)


#: Functions that choose between numbers, or compare them: what they give may be known from a bound.
_COMPARED = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))

#: The text of a condition has no more characters: what is read at several places is written at each.
_LONGEST = 100_000
#: The functions of numbers that a graph calls.
FUNCTIONS_OF_NUMBERS = frozenset(_FUNCTIONS.values())

_SIGNS = {
    **{"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "lshift": "<<", "rshift": ">>"},
    **{"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "and_": "and", "or_": "or", "neg": "-", "sym_not": "not "},
}
_NAMES = {"sym_max": "max", "sym_min": "min", "sym_float": "float", "abs": "abs", "round": "round", "sym_ite": "torch.sym_ite"}


class Branch(NamedTuple):
    """A branch that was taken.

    Attributes:
        condition: In the names of the graph.
        answer: Which side was taken.
        line: The line of the model.
        by_model: Whether the model's own code asks, and not PyTorch.
        from_data: Whether elements of tensors decide, and not sizes alone.
        is_plain: Whether a plain number was made of a size, such as the number of turns of a loop.
        is_inside: Whether it is on a side of another branch, which is a part of its condition.
        is_caught: Whether the model goes on if its code raises an error there.
    """

    condition: str
    answer: bool
    line: Any
    by_model: bool
    from_data: bool
    is_plain: bool = False
    is_inside: bool = False
    is_caught: bool = False


@dataclass
class Recorded:
    """A recorded program, with the attributes of a `torch.export.ExportedProgram` that exports use.

    Attributes:
        inputs: The sizes of the inputs that are tensors, by name: numbers, (factor, symbol, offset), or two symbols whose sum it is. An int that is an input has one of these.
        observed: For each run the values of symbols, and the sizes of all tensors by name.
        tree: How the arguments are put together.
        out_tree: How the results are put together.
        branches: The branches that were taken.
        from_data: Tensors whose sizes depend on elements of others, by name.
        example_inputs: The arguments of the example, and those by name.
        checks: The sizes, the arguments and the results of the runs, if they are kept.
        unread: Parameters and buffers that the program does not read.
        choices: What is true in the example of comparisons that are computed, as `max(n, 1)` is, in the names of the graph.
    """

    graph_module: Any
    graph_signature: Any
    state_dict: dict[str, Any]
    constants: dict[str, Any]
    inputs: dict[str, list[Any]]
    bounds: dict[str, tuple[int, int | None]]
    observed: list[tuple[dict[str, int], dict[str, list[int]]]]
    tree: Any
    out_tree: Any
    branches: list[Branch] = field(default_factory=list)
    from_data: list[str] = field(default_factory=list)
    example_inputs: Any = None
    checks: list[tuple[dict[str, int], Arguments, list[Any]]] = field(default_factory=list)
    unread: dict[str, Any] = field(default_factory=dict)
    choices: list[str] = field(default_factory=list)

    @property
    def call_spec(self) -> Any:
        return SimpleNamespace(in_spec=self.tree, out_spec=self.out_tree)

    @property
    def graph(self) -> Any:
        return self.graph_module.graph


class _Builder:
    def __init__(self, model: torch.nn.Module, arguments: Arguments, runs: list[Run]) -> None:
        self.arguments = arguments
        self.runs = runs
        self.recorder: Recorder = runs[0].recorder
        self.scope = Scope()
        self.outer: list[Scope] = []
        #: Finished bodies, by number.
        self.bodies: dict[int, Scope] = {}
        #: Conditions in a body, by the identity of the number.
        self.texts: dict[int, str] = {}
        self.state: dict[str, Any] = {}
        self.constants: dict[str, Any] = {}
        self.specs: list[InputSpec] = []
        self.names: set[str] = set()
        self.buffers = {name for name, _ in model.named_buffers(remove_duplicate=False)}
        #: Buffers that are not in the state dict.
        self.passing = {f"{path}.{name}" if path else name for path, module in model.named_modules(remove_duplicate=False) for name in module._non_persistent_buffers_set}
        self.tensors = dict(named_tensors(model))
        self.from_data: list[str] = []
        #: The numbers of the program that compare others.
        self.compared: list[Number] = []
        self.line: Any = None  # of the call that is written
        self.keys: dict[int, Any] = {}  # of numbers, as `name_of` keeps them
        self.read_bodies: set[Body] = set()
        #: The positions of the calls in bodies that nobody reads.
        self.unread: list[range] = []

    @property
    def graph(self) -> torch.fx.Graph:
        return self.scope.graph

    @property
    def numbers(self) -> dict[Any, Any]:
        return self.scope.numbers

    def program(self) -> Recorded:
        needed = self._live()
        self._weights(needed)
        inputs = self._inputs()
        for position, call in enumerate(self.recorder.calls):
            if not needed[position]:
                continue
            if call.function is BEGIN:
                self._begin(call, position)
            elif call.function is END:
                self._end(call, position)
            elif position in self.recorder.open_splits:
                self._split(call)
            else:
                self._call(call)
        outputs = [self._output(output) for output in self.runs[0].outputs]
        specs = [self._output_spec(node, output) for node, output in zip(outputs, self.runs[0].outputs)]
        mutations = [(name, self._output(value)) for name, value in self.runs[0].buffers.items()]
        mutated = [OutputSpec(OutputKind.BUFFER_MUTATION, TensorArgument(name=node.name), name) for name, node in mutations]
        branches, choices = self._branches(), self._choices()
        self.graph.output(tuple([node for _, node in mutations] + outputs))
        module = graph_module(self.scope.root, self.graph)
        signature = ExportGraphSignature(self.specs, mutated + specs)
        observed = [(run.sizes, self._observed(run)) for run in self.runs]
        unread = {name: tensor for name, tensor in self.tensors.items() if name not in self.state and tensor.layout is torch.strided}
        return Recorded(
            module, signature, self.state, self.constants, inputs, self._bounds(), observed, self.arguments.tree, self.runs[0].tree, branches, self.from_data, unread=unread, choices=choices
        )

    def _live(self) -> list[bool]:
        """Which calls count: those that write, and those whose results are read by one that counts."""
        calls = self.recorder.calls
        read: set[int] = set()
        for output in (*self.runs[0].outputs, *self.runs[0].buffers.values()):
            note_reads(self.recorder.reference(output) if isinstance(output, (torch.Tensor, torch.SymInt, torch.SymFloat, torch.SymBool)) else output, read)
        for question in self.recorder.questions:
            note_reads(question.number, read)
        needed = [False] * len(calls)
        unread: Body | None = None
        last = len(calls)
        for position in reversed(range(len(calls))):
            call = calls[position]
            if isinstance(call.function, Mark):
                body = call.args[0]
                needed[position] = unread is None and body in self.read_bodies
                if unread is None and call.function is END and not needed[position]:
                    unread, last = body, position
                elif unread == body and call.function is BEGIN:
                    unread = None
                    self.unread.append(range(position + 1, last + 1))
                if needed[position]:
                    note_reads(call.args[1:], read)
                continue
            if unread is not None:
                continue
            if is_read(call.results, read) or is_kept(call.function):
                self.read_bodies.update(arg for arg in call.args if isinstance(arg, Body))
                needed[position] = True
                note_reads(call.args, read)
                note_reads(call.kwargs, read)
        self.read = read
        return needed

    def _weights(self, needed: list[bool]) -> None:
        seen: dict[int, Value] = {}
        for position, call in enumerate(self.recorder.calls):
            if needed[position]:
                note_sources((call.args, call.kwargs), seen)
        for output in (*self.runs[0].outputs, *self.runs[0].buffers.values()):
            if isinstance(output, torch.Tensor):
                note_sources(self.recorder.reference(output), seen)
        for value in sorted(seen.values(), key=lambda value: value.key):
            kind, what = value.source  # type: ignore[misc]
            if kind == "weight":
                self._weight(value, what)
            elif kind == "constant":
                self._constant(value, what)

    def _weight(self, value: Value, name: str) -> None:
        is_buffer = name in self.buffers
        node = self._placeholder(("b_" if is_buffer else "p_") + re.sub(r"\W", "_", name), value)
        self.state[name] = self.tensors[name]
        kind = InputKind.BUFFER if is_buffer else InputKind.PARAMETER
        self.specs.append(InputSpec(kind, TensorArgument(name=node.name), name, name not in self.passing if is_buffer else None))
        if is_unknown(self.tensors[name]):
            self._weights_tied_to(value, name)

    def _weights_tied_to(self, value: Value, name: str) -> None:
        """The other names of a weight without data: files may have it under one of them."""
        for other, tensor in self.tensors.items():
            if tensor is self.tensors[name] and other not in self.state:
                self._weight(copy.copy(value), other)

    def _constant(self, value: Value, index: int) -> None:
        name = f"lifted_tensor_{len(self.constants)}"
        node = self._placeholder(f"c_{name}", value)
        self.constants[name] = self.recorder.constants[index]
        self.specs.append(InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(name=node.name), name))

    def _placeholder(self, name: str, value: Value) -> Any:
        node = self._named_placeholder(name)
        node.meta["val"] = _described(value)
        value.node = node
        return node

    def _named_placeholder(self, name: str) -> Any:
        """A placeholder with just this name, also if Python has a function of that name."""
        node = self.graph.placeholder(name)
        if name not in self.names:
            node.name = node.target = name
        self.names.add(node.name)
        return node

    def _bounds(self) -> dict[str, tuple[int, int | None]]:
        return {symbol: bounds for symbol, bounds in self.arguments.bounds.items() if symbol not in self.arguments.sums}

    def _extent(self, axis: Axis) -> tuple[Any, ...]:
        """A dynamic dimension as the native library takes it."""
        parts = self.arguments.sums.get(axis.symbol)
        return (axis.factor, axis.symbol, axis.offset) if parts is None else parts

    def _inputs(self) -> dict[str, list[Any]]:
        sizes: dict[str, list[Any]] = {}
        values = {value.source[1]: value for value in self.recorder.inputs}  # type: ignore[index]
        for index, (leaf, axes, name) in enumerate(zip(self.arguments.leaves, self.arguments.axes, self.arguments.names)):
            if index in values:
                node = self._placeholder(name, values[index])
                self.specs.append(InputSpec(InputKind.USER_INPUT, TensorArgument(name=node.name), None))
                sizes[node.name] = [self._extent(axes[axis]) if axis in axes else size for axis, size in enumerate(values[index].shape)]
                continue
            node = self._named_placeholder(name)
            if -1 in axes:
                number = Number(self.runs[0].leaves[index], "input", (name,), self.recorder.ask)
                node.meta["val"] = torch.SymInt(Symbol(node.name, number))
                self.numbers[self._key(number)] = node
                self.specs.append(InputSpec(InputKind.USER_INPUT, SymIntArgument(name=node.name), None))
                sizes[node.name] = [(axes[-1].factor, axes[-1].symbol, axes[-1].offset)]
            else:
                node.meta["val"] = leaf
                self.specs.append(InputSpec(InputKind.USER_INPUT, ConstantArgument(name=node.name, value=leaf), None))
        return sizes

    def _begin(self, call: Call, position: int) -> None:
        """Opens the graph of a body."""
        self.outer.append(self.scope)
        self.scope = Scope(self.outer[-1])
        self.scope.position = position
        for place, value in enumerate(call.results):
            value.node = self.scope.parameter(f"arg{place}_{call.args[0].number}", None)
            value.node.meta["val"] = _symbolic(value.node.name, _number_in(value)) if value.device is None else _described(value)

    def _end(self, call: Call, position: int) -> None:
        """Closes the graph of a body."""
        body, results = call.args
        for question in self.recorder.questions:
            # Those of a body in this one have their texts.
            if self.scope.position < question.calls <= position and id(question.number) not in self.texts:
                self.texts[id(question.number)] = self._text(question.number, question.line)
        self.graph.output(tuple(self._argument(result) for result in results))
        self.bodies[body.number] = self.scope
        self.scope = self.outer.pop()

    def _nested(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments of a higher-order operator: its graphs, and last what these read from outside."""
        bodies = [self.bodies[arg.number] for arg in args if isinstance(arg, Body)]
        operands = tuple(self._argument(outer) for outer in lift_alike(bodies))
        graphs = iter([self.scope.add("body", scope.graph, scope.root) for scope in bodies])
        return (*(next(graphs) if isinstance(arg, Body) else self._operand(arg) for arg in args[:-1]), operands)

    def _operand(self, arg: Any) -> Any:
        """An operand of a higher-order operator. In a list of tensors, plain numbers are nodes as well."""
        if isinstance(arg, (list, tuple)):
            return type(arg)(self._operand(item) for item in arg)
        if type(arg) is not int:
            return self._argument(arg)
        node = self.graph.call_function(operator.add, (arg, 0))
        node.meta["val"] = _symbolic(node.name, Number(arg, "input", (node.name,), lambda number, what: number.value))
        return node

    def _split(self, call: Call) -> None:
        """Parts whose number is another one at other sizes: each is a slice."""
        tensor, size, *rest = call.args
        dim = rest[0] if rest else call.kwargs.get("dim", 0)
        for index, part in enumerate(call.results):
            if part.key in self.read:
                ends = [_times(size, count) for count in (index, index + 1)]
                self._call(call._replace(function=aten.slice.Tensor, args=(tensor, dim, *ends), kwargs={}, results=part))

    def _call(self, call: Call) -> None:
        is_nested = isinstance(call.function, torch._ops.HigherOrderOperator)
        self.line = call.line
        args = self._nested(call.args) if is_nested else tuple(self._argument(arg) for arg in call.args)
        kwargs = {name: self._argument(arg) for name, arg in call.kwargs.items()}
        name = call.function.name() if is_nested else call.function._schema.name.partition("::")[2]
        node = self.graph.create_node("call_function", call.function, args, kwargs, name=name)
        if call.line is not None:
            node.meta["stack_trace"] = f"  {call.line}"
        if call.modules:
            node.meta["nn_module_stack"] = call.modules
        self._result(node, call.results)
        if not is_nested and decides_sizes(call.function):
            self.from_data += [value.node.name for value in values_in(call.results) if value.node is not None]

    def _result(self, node: Any, result: Any) -> None:
        """Describes what a node gives, and takes lists apart."""
        if isinstance(result, Value):
            result.node = node
            node.meta["val"] = _described(result)
        elif isinstance(result, (list, tuple)):
            node.meta["val"] = type(result)(_described(item) for item in result)
            for index, item in enumerate(result):
                if isinstance(item, Value) and item.key in self.read:
                    element = self.graph.call_function(operator.getitem, (node, index))
                    element.meta = {**{k: v for k, v in node.meta.items() if k != "val"}, "val": _described(item)}
                    item.node = element
                elif isinstance(item, (list, tuple)):
                    raise Unrecorded("an operator that returns lists of lists")

    def _argument(self, arg: Any) -> Any:
        if isinstance(arg, Value):
            if arg.node is None:
                raise Unrecorded("a value that no recorded call makes")
            return arg.node if arg.node.graph is self.graph else self.scope.lift(("value", arg.key), arg, arg.node.name, arg.node.meta["val"])
        if isinstance(arg, Number):
            return self._number(arg)
        if isinstance(arg, (list, tuple)):
            return type(arg)(self._argument(item) for item in arg)
        return arg

    def _number(self, number: Any) -> Any:
        """The node of a number. Equal expressions have one."""
        if not isinstance(number, Number):
            return number
        key = self._key(number)
        found = self.numbers.get(key)
        if found is None:
            found = self.numbers[key] = self._new_number(number)
        return found

    def _key(self, number: Any) -> Any:
        return name_of(number, key_of_operand, self.keys)

    def _new_number(self, number: Number) -> Any:
        if number.function == "item" and number.operands[0].node.graph is self.graph:
            return number.operands[0].node
        if number.function in ("item", "input"):  # in a body, from outside
            node = self.scope.lift(self._key(number), number, "outer", None)
            node.meta["val"] = _symbolic(node.name, number)
            return node
        if number.function == "size":
            value, axis = number.operands
            node = self.graph.call_function(aten.sym_size.int, (self._argument(value), axis))
        else:
            function = _FUNCTIONS.get(number.function)
            if function is None:
                raise Unrecorded(f"the function `{number.function}` of a size")
            if number.function in _COMPARED or number.function in ("sym_max", "sym_min"):
                self.compared.append(number)
            node = self.graph.call_function(function, tuple(self._number(operand) for operand in number.operands))
        if self.line is not None:
            node.meta["stack_trace"] = f"  {self.line}"  # of the call that takes the number
        node.meta["val"] = _symbolic(node.name, number)
        return node

    def _output(self, output: Any) -> Any:
        if isinstance(output, torch.Tensor):
            return self._argument(self.recorder.reference(output))
        number = number_of(output)
        if number is None and not isinstance(output, (int, float, str, type(None))):
            raise Unrecorded(f"the model returns an object of the class `{type(output).__name__}`")
        return output if number is None else self._number(number)

    def _output_spec(self, node: Any, output: Any) -> OutputSpec:
        if isinstance(output, torch.Tensor):
            return OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(name=node.name), None)
        number = number_of(output)
        if number is not None and not isinstance(node, (int, float)):
            kind = SymFloatArgument if number.is_float() else SymIntArgument
            return OutputSpec(OutputKind.USER_OUTPUT, kind(name=node.name), None)
        return OutputSpec(OutputKind.USER_OUTPUT, ConstantArgument(name="", value=output), None)

    def _branches(self) -> list[Branch]:
        found = []
        seen = set()
        for question in self.recorder.questions:
            if question.is_plain and id(question.number) in self.recorder.tied:
                continue
            if any(question.calls in positions for positions in self.unread):
                continue
            key = (self._key(question.number), question.answer, question.line, question.is_plain, question.is_caught, tuple((self._key(number), side) for number, side in question.sides))
            if key in seen:
                continue
            seen.add(key)
            text = self.texts.get(id(question.number)) or self._text(question.number, question.line)
            condition = f"({text} == {question.answer!r})" if question.is_plain else text
            answer = True if question.is_plain else question.answer
            # A side inside of another one that computes its condition itself is left out: the condition is stronger without it.
            sides = [(number, side) for number, side in question.sides if self._is_outside(number)]
            if sides:
                others = [f"(not {self._text(number)})" if side else self._text(number) for number, side in sides]
                condition, answer = "(" + " or ".join([*others, condition if answer else f"(not {condition})"]) + ")", True
            found.append(Branch(condition, answer, question.line, question.by_model, is_from_data(question.number), question.is_plain, bool(sides), question.is_caught))
        return found

    def _choices(self) -> list[str]:
        """What is true in this run of the numbers that compare others, if sizes alone decide it."""
        found = []
        for number in self.compared:
            if is_from_data(number) or not self._is_outside(number):
                continue
            if number.function in _COMPARED:
                found.append(self._text(number) if number.value else f"(not {self._text(number)})")
                continue
            one, other = (operand.value if isinstance(operand, Number) else operand for operand in number.operands)
            texts = [self._text(operand) for operand in number.operands]
            found.append(f"({texts[0]} {'>=' if one >= other else '<='} {texts[1]})")
        return list(dict.fromkeys(found))

    def _is_outside(self, number: Number) -> bool:
        """Whether a number is computed outside of all bodies."""
        return all(value.node is not None and value.node.graph is self.graph for value in values_in(number))

    def _text(self, number: Any, line: Any = None) -> str:
        """A number in the names of the graph, as Python writes it. `line` asks for it."""
        known: dict[int, str] = {}

        def text_of(operand: Any) -> str:
            return known[id(operand)] if isinstance(operand, Number) else repr(operand)

        for one in inner_first(number):
            if one.function in ("size", "item", "input"):
                known[id(one)] = str(self._number(one).name)
                continue
            operands = list(map(text_of, one.operands))
            if sum(map(len, operands)) > _LONGEST:
                raise Unrecorded("a branch depends on an expression of sizes that is too long", line)
            known[id(one)] = _text_of_function(one.function, operands)
        return text_of(number)

    def _observed(self, run: Run) -> dict[str, list[int]]:
        """The sizes of all values in a run, by the names in the graph."""
        sizes: dict[str, list[int]] = {}
        for mine, theirs in zip(self.recorder.calls, run.recorder.calls):
            sizes_by_name(mine.results, theirs.results, sizes)
        return sizes


def _text_of_function(function: str, operands: list[str]) -> str:
    """A function of numbers as Python writes it."""
    sign = _SIGNS.get(function)
    if sign is not None:
        return f"({operands[0]} {sign} {operands[1]})" if len(operands) == 2 else f"({sign}{operands[0]})"
    return f"{_NAMES.get(function, 'math.' + function)}({', '.join(operands)})"


def _times(size: Any, count: int) -> Any:
    return size._binary("mul", count, operator.mul).operand() if isinstance(size, Number) else size * count


def _number_in(value: Value) -> Number:
    """A number that an operator returns, or that the body of one is given."""
    return Number({int: 1, float: 1.0, bool: True}[value.dtype], "item", (value,), lambda number, what: number.value)


def _described(value: Any) -> Any:
    """A value as the native library reads it from `meta["val"]`."""
    if not isinstance(value, Value):
        return None
    if value.device is None:
        return _symbolic(f"n{value.key}", _number_in(value))
    return torch.empty_strided(value.shape, value.stride, dtype=value.dtype, device="meta")


def _symbolic(name: str, number: Number) -> Any:
    symbol = Symbol(name, number)
    if number.is_bool():
        return torch.SymBool(symbol)
    return torch.SymInt(symbol) if number.is_int() else torch.SymFloat(symbol)


def program_of(model: torch.nn.Module, arguments: Arguments, runs: list[Run]) -> Recorded:
    """The program of a recording whose other runs were held against it."""
    return _Builder(model, arguments, runs).program()
