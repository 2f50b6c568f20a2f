"""Numbers that remember where they came from: the node classes of torch.SymInt, SymFloat and SymBool.

A `Number` has a value and an expression. PyTorch calls its methods by name, from Python and from C++. Where a plain number is asked for (`int()`, a
branch, an index), the value is the answer, and the recorder is told.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import torch

#: Told of plain numbers that are asked for: `ask(number, what)`, with what "bool", "int" or "float", returns the answer.
Asked = Callable[["Number", str], Any]


class Number:
    """A number with its expression: the name of a function and its operands, which are numbers or plain values.

    Sources are ("size", value, axis), ("item", value) and ("input", name).
    """

    __slots__ = ("ask", "function", "is_mixed", "node", "operands", "value", "width")

    #: The least and the largest size of a dimension of a value, in the run that is made.
    range_of: Callable[[Any, int], tuple[int | None, int | None]] = staticmethod(lambda value, axis: (0, None))

    def __init__(self, value: Any, function: str, operands: tuple[Any, ...], ask: Asked) -> None:
        self.value = value
        self.function = function
        self.operands = operands
        self.ask = ask
        self.is_mixed = False  # whether Python has an integer at some inputs, and a real number at others (`mixed.py`)
        self.node: Any = None  # what the graph makes of it
        self.width: Any = None  # so many bits it needs (`wide.py`); None if that was not asked

    # What PyTorch asks of a node.
    constant = None

    def is_int(self) -> bool:
        return type(self.value) is int

    def is_float(self) -> bool:
        return type(self.value) is float

    def is_bool(self) -> bool:
        return type(self.value) is bool

    def is_nested_int(self) -> bool:
        return False

    def has_hint(self) -> bool:
        return True

    def require_hint(self, fallback: Any = None) -> Any:
        return self.value

    @property
    def hint(self) -> Any:
        return self.value

    def maybe_as_int(self) -> None:
        return None

    def constant_int(self) -> None:
        return None

    constant_bool = nested_int = constant_int

    def is_constant(self) -> bool:
        return False

    def is_symbolic(self) -> bool:
        return True

    def clone(self) -> Number:
        return self

    def __str__(self) -> str:
        return str(self.value)

    __repr__ = _graph_repr = __str__

    @property
    def expr(self) -> Any:
        return self.value

    def wrap_int(self, value: int) -> Number:
        return Number(value, "", (), self.ask)

    wrap_float = wrap_bool = wrap_int

    # Plain numbers that are asked for.
    def guard_int(self, file: str = "", line: int = 0) -> int:
        return int(self.ask(self, "int")) if self.function else self.value

    def guard_float(self, file: str = "", line: int = 0) -> float:
        return float(self.ask(self, "float")) if self.function else self.value

    def guard_bool(self, file: str = "", line: int = 0) -> bool:
        if not self.function:
            return bool(self.value)
        asked = self._binary("ne", 0.0, operator.ne) if self.is_float() else self  # a file asks for booleans, and takes integers as such
        return bool(self.ask(asked, "bool"))

    int_, float_, bool_ = guard_int, guard_float, guard_bool
    guard_size_oblivious = guard_or_false = guard_or_true = expect_true = guard_bool

    def expect_size(self, file: str = "", line: int = 0) -> bool:
        return True

    def statically_known_true(self, file: str = "", line: int = 0) -> bool:
        return self.guard_bool(file, line)

    # Functions of numbers.
    def _binary(self, function: str, other: Any, apply: Callable[[Any, Any], Any]) -> Number:
        other = other if isinstance(other, Number) else Number(other, "", (), self.ask)
        if (self.is_bool() or other.is_bool()) and not (function in _OF_BOOLS and self.is_bool() and other.is_bool()):
            return self.counted()._binary(function, other.counted(), apply)
        value = apply(self.value, _divisor(other) if function in _QUOTIENTS and other.function else other.value)
        if not self.function and not other.function:
            return Number(value, "", (), self.ask)
        if function in _WIDE and self.is_int() and other.is_int():
            fitting = _held(function, self, other)
            if fitting is not None:
                return fitting
        return Number(value, function, (self.operand(), other.operand()), self.ask)

    def counted(self) -> Number:
        """The number 1 or 0 that a boolean is in arithmetic."""
        if not self.is_bool():
            return self
        return self.sym_ite(1, 0) if self.function else Number(int(self.value), "", (), self.ask)

    def _unary(self, function: str, apply: Callable[[Any], Any]) -> Number:
        value = apply(self.value)
        return Number(value, function, (self,), self.ask) if self.function else Number(value, "", (), self.ask)

    def operand(self) -> Any:
        """The number as an operand: a plain value if it is one."""
        return self if self.function else self.value

    def quotient(self) -> tuple[Any, Any] | None:
        """Both operands, if it is the quotient of two integers."""
        if self.function != "truediv":
            return None
        a, b = self.operands
        is_int = lambda x: type(x.value if isinstance(x, Number) else x) is int  # noqa: E731
        return (a, b) if is_int(a) and is_int(b) else None

    def integer(self) -> Number | None:
        """The integer that it is, or is the float of: `int(np.ceil(n / 4))` is no other number than `math.ceil(n / 4)`."""
        if self.is_int():
            return self
        inner = self.operands[0] if self.function == "sym_float" else None
        return inner if isinstance(inner, Number) and inner.is_int() else None

    def floor(self) -> Number:
        found = self.quotient()
        if found is not None:
            return self._whole("floordiv", *found, operator.floordiv)
        return self.integer() or self._unary("floor", math.floor)

    def ceil(self) -> Number:
        found = self.quotient()
        if found is not None:
            minus = self._whole("neg", found[0], None, lambda a, _: -a)
            below = self._whole("floordiv", minus, found[1], operator.floordiv)
            return below._unary("neg", operator.neg)
        return self.integer() or self._unary("ceil", math.ceil)

    def trunc(self) -> Number:
        found = self.quotient()
        if found is None:
            return self.integer() or self._unary("trunc", math.trunc)
        a, b = (operand_number(one, self.ask) for one in found)
        if not b.is_natural():
            return self._unary("trunc", math.trunc)
        if a.is_natural():
            return self.floor()
        # Below zero, the fraction goes the other way.
        above, below = (one.sym_max(0)._binary("floordiv", b, operator.floordiv) for one in (a, a._unary("neg", operator.neg)))
        return above._binary("sub", below, operator.sub)

    def is_natural(self) -> bool:
        """Whether it is known to be no less than 0, at all inputs."""
        from .intervals import interval

        if not self.function:
            return bool(self.value >= 0)
        low = interval(self, Number.range_of, {})[0]
        return low is not None and low >= 0

    sym_int = trunc

    def _whole(self, function: str, a: Any, b: Any, apply: Callable[[Any, Any], Any]) -> Number:
        from .quotients import of_parts

        plain = lambda x: x.value if isinstance(x, Number) else x  # noqa: E731
        found = None if b is None or isinstance(b, Number) else of_parts(function, operand_number(a, self.ask), operand_number(b, self.ask))
        if found is not None:
            return found
        operands = (a,) if b is None else (a, b)
        return Number(apply(plain(a), plain(b)), function, operands, self.ask)

    def round(self) -> Number:
        if self.integer() is not None:
            return self.integer()  # type: ignore[return-value]
        if not self.function:
            return Number(round(self.value), "", (), self.ask)
        found = self.quotient()
        if found is not None and type(found[1]) is int and found[1] > 0:
            return _rounded_quotient(operand_number(found[0], self.ask), found[1])
        # Half goes to the even neighbour.
        down = self._unary("floor", math.floor)
        rest = self._binary("sub", down, operator.sub)
        is_half, is_more = rest._binary("eq", 0.5, operator.eq), rest._binary("gt", 0.5, operator.gt)
        up = is_more.sym_ite(1, operand(is_half.sym_ite(operand(down._binary("mod", 2, operator.mod)), 0)))
        return down._binary("add", up, operator.add)

    def sym_float(self) -> Number:
        from .mixed import is_mixed

        return self if self.is_float() and not is_mixed(self) else self._unary("sym_float", float)

    def sym_max(self, other: Any) -> Number:
        return self._binary("sym_max", other, max)

    def sym_min(self, other: Any) -> Number:
        return self._binary("sym_min", other, min)

    def sym_not(self) -> Number:
        return self._unary("sym_not", operator.not_)

    def sym_ite(self, yes: Any, no: Any) -> Number:
        chosen = plain(yes) if self.value else plain(no)
        return Number(chosen, "sym_ite", (self, operand(yes), operand(no)), self.ask) if self.function else Number(chosen, "", (), self.ask)

    def int_floordiv(self, other: Any) -> Number:
        return self._binary("floordiv", other, operator.floordiv)

    def is_integer(self) -> Number:
        return self._binary("eq", self.floor(), lambda a, b: a == b)

    # Layouts are those of the real tensors.
    def is_contiguous(self, sizes: Any, strides: Any) -> Number:
        return self.wrap_bool(True)

    is_non_overlapping_and_dense = is_contiguous

    def is_channels_last_contiguous_2d(self, sizes: Any, strides: Any) -> Number:
        return self.wrap_bool(False)

    is_channels_last_contiguous_3d = is_channels_last_strides_2d = is_channels_last_strides_3d = is_channels_last_contiguous_2d

    def is_non_overlapping_and_dense_indicator(self, sizes: Any, strides: Any) -> Number:
        return self.wrap_int(1)


def _held(function: str, number: Number, other: Number) -> Number | None:
    """Asks that a product, a power or a shifted number fits into what a file has for it. Returns the form in which it fits, if that is another one."""
    from .quotients import of_parts
    from .wide import power_held, product_held, shift_held

    if function == "pow":
        return power_held(number, other)
    if function in _QUOTIENTS:
        return of_parts(function, number, other)
    held = product_held if function == "mul" else shift_held
    held(number, other)
    return None


#: Functions of two booleans. In all others they are numbers.
_OF_BOOLS = frozenset(("and_", "or_", "xor", "eq", "ne"))
#: Functions of whole numbers that may need more bits than a file has.
_WIDE = frozenset(("mul", "pow", "lshift", "floordiv", "mod"))
#: Functions that have no value where the second number is zero.
_QUOTIENTS = frozenset(("truediv", "floordiv", "mod"))


def _divisor(number: Number) -> Any:
    """The value of a divisor. Where the model catches the error that Python raises at zero, that is a branch: on its other side zero is something else."""
    from .caught import is_caught_as

    if not is_caught_as(ZeroDivisionError):
        return number.value
    if symbolic(number._binary("eq", 0, operator.eq)):
        raise ZeroDivisionError("division by zero")
    return number.value or type(number.value)(1)


def operand_number(value: Any, ask: Asked) -> Number:
    """An operand as a number."""
    return value if isinstance(value, Number) else Number(value, "", (), ask)


def _rounded_quotient(a: Number, by: int) -> Number:
    """`round(a / by)` in integers: half goes to the even neighbour."""
    twice = a._binary("mul", 2, operator.mul)._binary("add", by, operator.add)
    nearest = twice._binary("floordiv", 2 * by, operator.floordiv)
    rest = twice._binary("mod", 2 * by, operator.mod)
    is_half = Number(1, "", (), a.ask)._binary("sub", rest.sym_min(1), operator.sub)
    return nearest._binary("sub", is_half._binary("mul", nearest._binary("mod", 2, operator.mod), operator.mul), operator.sub)


#: Functions of two numbers, by the name of PyTorch's method: the function that the program calls.
_BINARY: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    **{name: (name, getattr(operator, name)) for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "eq", "ne", "lt", "le", "gt", "ge", "lshift", "rshift")},
    **{name: ("truediv", operator.truediv) for name in ("int_truediv", "float_truediv")},
    **{name: ("pow", operator.pow) for name in ("float_pow", "pow_by_natural")},
    **{name: ("and_", operator.and_) for name in ("and_", "sym_and", "bitwise_and")},
    **{name: ("or_", operator.or_) for name in ("or_", "sym_or", "bitwise_or")},
    "bitwise_xor": ("xor", operator.xor),
}
#: Functions of one number.
_UNARY: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "neg": ("neg", operator.neg),
    "pos": ("pos", operator.pos),
    "abs": ("abs", abs),
    **{f"sym_{name}": (name, getattr(math, name)) for name in ("sqrt", "exp", "log", "log2", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh")},
}


def _method_of_two(function: str, apply: Callable[[Any, Any], Any]) -> Any:
    return lambda self, other: self._binary(function, other, apply)


def _method_of_one(function: str, apply: Callable[[Any], Any]) -> Any:
    return lambda self, *rest: self._unary(function, apply)


#: What functions compute, by their names in expressions.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{function: apply for function, apply in _BINARY.values()},
    **{function: apply for function, apply in _UNARY.values()},
    **{"floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "sym_float": float, "sym_max": max, "sym_min": min, "sym_not": operator.not_},
    "sym_ite": lambda condition, yes, no: yes if condition else no,
}

setattr(Number, "str", Number.__str__)  # PyTorch's name for it
for _name, (_function, _apply) in _BINARY.items():
    setattr(Number, _name, _method_of_two(_function, _apply))
for _name, (_function, _apply1) in _UNARY.items():
    setattr(Number, _name, _method_of_one(_function, _apply1))


def number_of(value: Any) -> Number | None:
    """The number behind a SymInt, SymFloat or SymBool that was recorded; None for all else."""
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        node = value.node
        return node if isinstance(node, Number) else None
    return None


def symbolic(number: Number) -> Any:
    """A number as Python and PyTorch see it."""
    if not number.function:
        return number.value
    if number.is_bool():
        return torch.SymBool(number)
    return torch.SymInt(number) if number.is_int() else torch.SymFloat(number)


def plain(value: Any) -> Any:
    """The value of a number, or anything else as it is."""
    if isinstance(value, Number):
        return value.value
    number = number_of(value)
    return value if number is None else number.value


def operand(value: Any) -> Any:
    """A value as an operand of an expression."""
    if isinstance(value, Number):
        return value.operand()
    number = number_of(value)
    return value if number is None else number.operand()


def numbers_in(number: Any) -> Iterator[Number]:
    """The different numbers that a number is computed from, itself included, in the order in which Python reads them."""
    seen: set[int] = set()
    waiting = [number]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Number) and id(one) not in seen:
            seen.add(id(one))
            yield one
            waiting += reversed(one.operands)


def is_of_turn(number: Any) -> bool:
    """Whether the number of a turn of a loop is in a number."""
    return any(one.function == "item" and one.operands[0].is_turn for one in numbers_in(number))


def is_from_data(number: Any) -> bool:
    """Whether an element of a tensor is in a number."""
    return any(one.function == "item" for one in numbers_in(number))
