"""Functions of Python's `math`, and methods of its numbers, that are expressions of those that a file computes: `math.log10(n)`, `n.bit_length()`, `round(x, 2)`."""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import reduce
from typing import Any

import torch

from .methods import methods_given
from .numbers import Number, number_of, symbolic

_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)


def _ln(x: Any) -> Any:
    number = number_of(x)
    return math.log(x) if number is None else symbolic(number.sym_log())  # type: ignore[attr-defined]


def _chosen(condition: Any, yes: Any, no: Any) -> Any:
    number = number_of(condition)
    return (yes if condition else no) if number is None else symbolic(number.sym_ite(yes, no))


def _float(x: Any) -> Any:
    return x * 1.0


def _nearest(x: Any) -> Any:
    number = number_of(x)
    return round(x) if number is None else symbolic(number.round())


def _log(x: Any, base: Any = None) -> Any:
    return _ln(x) if base is None else _ln(x) / _ln(base)


def _log10(x: Any) -> Any:
    """The powers of ten have whole logarithms."""
    found = _ln(x) / math.log(10)
    near = _nearest(found)
    return _chosen(10.0**near == x, _float(near), found)


def _log1p(x: Any) -> Any:
    """What `1 + x` loses of a small `x` is the same in its logarithm and beside it."""
    more = x + 1.0
    kept = more - 1.0
    return _chosen(kept == 0.0, _float(x), _ln(more) * x / _chosen(kept == 0.0, 1.0, kept))


def _whole_root(x: Any) -> Any:
    number = number_of(x)
    return math.isqrt(x) if number is None else symbolic(number.sym_sqrt().floor())  # type: ignore[attr-defined]


def _fmod(x: Any, y: Any) -> Any:
    """The remainder has the sign of the first."""
    rest = abs(x) % abs(y)
    return _float(_chosen(x < 0, -rest, rest))


def _hypot(*sides: Any) -> Any:
    total = sum(side * side for side in sides)
    number = number_of(total)
    return math.sqrt(total) if number is None else symbolic(number.sym_sqrt())  # type: ignore[attr-defined]


def _copysign(x: Any, y: Any) -> Any:
    size = _float(abs(x))
    if number_of(y) is None:
        return size if math.copysign(1, y) > 0 else -size
    return _chosen(y < 0, -size, size)


def _perm(n: Any, k: Any = None) -> Any:
    if k is None:
        return _factorial(n)
    if not isinstance(k, int):
        return _of_few(k, 0, _MOST_OF_FEW, lambda known: _perm(n, known), lambda: math.perm(n, int(k)))
    if not 0 <= k <= _MOST_OF_FEW:
        return math.perm(n, k)
    found: Any = 1
    for less in range(k):
        found = found * (n - less)
    return found


def _comb(n: Any, k: Any) -> Any:
    if not isinstance(k, int):
        return _of_few(k, 0, _MOST_OF_FEW, lambda known: _comb(n, known), lambda: math.comb(n, int(k)))
    return _perm(n, k) // math.factorial(k) if 0 <= k <= _MOST_OF_FEW else math.comb(n, k)


def _factorial(n: Any) -> Any:
    """No other factorial has 64 bits. That a number is no larger is a condition."""
    from .wide import asked_at_most

    number = number_of(n)
    if number is None or not number.is_int() or not number.is_natural():
        return math.factorial(n)
    asked_at_most(number, _LARGEST_FACTORIAL)
    return _of_few(n, 0, _LARGEST_FACTORIAL, math.factorial, None)


def _of_few(number: Any, low: int, high: int, of: Callable[[int], Any], other: Any) -> Any:
    """A function of a number with few values: each is computed, and one is chosen. `other` has it where the number may have more values."""
    from .intervals import interval

    least, most = interval(number_of(number), Number.range_of, {}) if number_of(number) is not None else (None, None)
    if other is not None and (least is None or most is None or least < low or most > high):
        return other()
    first, last = max(low, least or 0), high if most is None else min(high, most)
    chosen = of(last)
    for known in range(last - 1, first - 1, -1):
        chosen = _chosen(number == known, of(known), chosen)
    return chosen


def _gcd(*numbers: Any) -> Any:
    """The greatest common divisor: the greatest of the divisors of a known one that divides the others. Where none is known, an operator of PyTorch finds it."""
    known = math.gcd(*(number for number in numbers if isinstance(number, int)))
    if not 0 < known <= _MOST:
        return reduce(_gcd_of_tensors, numbers)
    found: Any = 1
    for divisor in (number for number in range(2, known + 1) if known % number == 0):
        rests = sum(number % divisor for number in numbers if not isinstance(number, int))
        found = _chosen(rests == 0, divisor, found)
    return found


def _gcd_of_tensors(one: Any, other: Any) -> Any:
    return torch.gcd(*(torch.scalar_tensor(number, dtype=torch.int64) for number in (one, other))).item()


def _lcm(*numbers: Any) -> Any:
    return reduce(_lcm_of_two, numbers)


def _lcm_of_two(one: Any, other: Any) -> Any:
    return abs(one * other) // torch.sym_max(_gcd(one, other), 1)


def _remainder(x: Any, y: Any) -> Any:
    """What is left of the nearest multiple. Half goes to the even one."""
    return _float(x - _nearest(x / y) * y)


def _modf(x: Any) -> tuple[Any, Any]:
    number = number_of(_float(x))
    if number is None:
        return math.modf(x)
    whole = symbolic(number.trunc())
    return _float(x) - whole, _float(whole)


#: No number has the divisors of a larger one in a file.
_MOST = 4096
#: Where a number has no more values than up to this, a function of it is computed for each.
_MOST_OF_FEW = 8
_LARGEST_FACTORIAL = 20
#: Functions of `math`, by name.
_OF_MATH: dict[str, Callable[..., Any]] = {
    "log": _log,
    "log10": _log10,
    "log1p": _log1p,
    "isqrt": _whole_root,
    "fmod": _fmod,
    "fabs": lambda x: _float(abs(x)),
    "hypot": _hypot,
    "copysign": _copysign,
    "comb": _comb,
    "perm": _perm,
    "factorial": _factorial,
    "gcd": _gcd,
    "lcm": _lcm,
    "remainder": _remainder,
    "modf": _modf,
    "fsum": lambda numbers: _float(sum(numbers)),
    "dist": lambda one, other: _hypot(*(a - b for a, b in zip(one, other))),
    "isnan": lambda x: x != x,
    "isinf": lambda x: abs(x) == math.inf,
    "isfinite": lambda x: abs(x) < math.inf,
    "pow": lambda x, y: _float(x) ** _float(y),
    "exp2": lambda x: 2.0**x,
    "degrees": lambda x: x * (180 / math.pi),
    "radians": lambda x: x * (math.pi / 180),
}


def _or_real(real: Callable[..., Any], own: Callable[..., Any]) -> Callable[..., Any]:
    has_number = lambda arg: isinstance(arg, _SYMBOLIC) or (isinstance(arg, (list, tuple)) and any(isinstance(one, _SYMBOLIC) for one in arg))  # noqa: E731
    return lambda *args, **kwargs: own(*args) if not kwargs and any(map(has_number, args)) else real(*args, **kwargs)


def of_math() -> dict[str, Callable[..., Any]]:
    """The functions of `math`, for numbers that remember and for all others."""
    return {name: _or_real(getattr(math, name), own) for name, own in _OF_MATH.items() if hasattr(math, name)}


def rounded(value: Any, digits: Any = None) -> Any:
    """`round` of a number that remembers: half goes to the even neighbour."""
    number = number_of(value)
    if number is None:
        return round(value) if digits is None else round(value, digits)
    if digits is None:
        return symbolic(number.round())
    digits = int(digits)
    if number.is_float():
        return _with_decimals(value, digits) if digits > 0 else _to_power(value, 10**-digits)
    return value if digits >= 0 else _nearest(value / 10**-digits) * 10**-digits


def _with_decimals(x: Any, digits: int) -> Any:
    """Python rounds the exact number. What the product loses of it says which way a half goes."""
    power = 10.0**digits
    y = x * power
    down = _floor(y)
    rest, lost = y - down, _lost(x, power, y)
    is_odd = down % 2 == 1
    up = _chosen(rest > 0.5, 1, _chosen(rest == 0.5, _chosen(lost > 0.0, 1, _chosen(lost == 0.0, _chosen(is_odd, 1, 0), 0)), 0))
    return (down + up) / power


def _floor(x: Any) -> Any:
    number = number_of(x)
    return math.floor(x) if number is None else symbolic(number.floor())


def _lost(x: Any, y: float, product: Any) -> Any:
    """What the product of two numbers lost when it was rounded (Dekker)."""
    (a, b), (c, d) = _halves(x), _halves(y)
    return ((a * c - product) + a * d + b * c) + b * d


def _halves(x: Any) -> tuple[Any, Any]:
    """Two numbers of 26 bits whose sum a number is."""
    wide = x * 134217729.0
    high = wide - (wide - x)
    return high, x - high


def _to_power(x: Any, power: int) -> Any:
    """The nearest multiple of a power of ten. Only a whole number is halfway between two."""
    down = _floor(x)
    if power == 1:
        return _float(_nearest(x))
    return _float(_chosen(x == down, _nearest(down / power), (down + power // 2) // power) * power)


def _bit_length(n: Any) -> Any:
    """The nearest whole logarithm is that of a power of two that is near: it is compared with the number."""
    size = abs(n)
    number = number_of(torch.sym_max(size, 1))
    near = 0 if number is None else symbolic(number.sym_log2().round())  # type: ignore[attr-defined]
    return near + _chosen((1 << near) <= size, 1, 0)


def _bit_count(n: Any) -> Any:
    """Sums of neighbours: of bits, then of pairs, and so on."""
    found = abs(n)
    for width, mask in ((1, 0x5555555555555555), (2, 0x3333333333333333), (4, 0x0F0F0F0F0F0F0F0F), (8, 0x00FF00FF00FF00FF), (16, 0x0000FFFF0000FFFF), (32, 0x00000000FFFFFFFF)):
        found = (found & mask) + ((found >> width) & mask)
    return found


def _divmod(a: Any, b: Any) -> Any:
    return a // b, a % b


def _as_type(number: Any, kind: Any) -> Any:
    """`astype` of a number of NumPy."""
    is_whole = issubclass(kind, int) or "int" in getattr(kind, "__name__", "")
    found = number_of(number)
    if found is None:
        return kind(number)
    return symbolic(found.trunc() if is_whole else found.sym_float())


def _comparison(real: Any, apply: Callable[[Any, Any], bool]) -> Any:
    """`==` or `!=` of a number that remembers. PyTorch says of numbers of other classes that they are never equal: members of an IntEnum, numbers of NumPy, fractions."""

    def compared(self: Any, other: Any) -> Any:
        other = _counted(_plain_of(other))
        if isinstance(other, numbers.Number) and type(other) not in (int, float, bool):
            return apply(int(self) if isinstance(self, torch.SymInt) else float(self), other)
        return real(self, other)

    return compared


def _with_integers(real: Any) -> Any:
    """A function of a number that remembers and another one, which may be of a class of integers, or a boolean that remembers."""
    return lambda self, other: real(self, _integer_of(other))


def _integer_of(other: Any) -> Any:
    return int(other) if isinstance(other, int) and type(other) is not bool else _counted(other)


def _quotient(real: Any, is_second: bool) -> Any:
    """`//` of numbers. Python takes the remainder from a real number first: `6 // 0.1` is 59, and PyTorch's numbers say 60."""

    def computed(self: Any, other: Any) -> Any:
        other = _integer_of(other)
        if not any(isinstance(one, (float, torch.SymFloat)) for one in (self, other)):
            return real(self, other)
        return _real_quotient(*((other, self) if is_second else (self, other)))

    return computed


def _real_quotient(a: Any, b: Any) -> Any:
    near = (a - a % b) / b  # a whole number, but for a rounding
    down = _floor(near)
    return _float(_chosen(near - down > 0.5, down + 1, down))


def power(base: Any, exponent: Any, modulus: Any = None) -> Any:
    """`pow`. Python asks only a first number that is one of PyTorch's for a power with a modulus."""
    if modulus is None or not any(isinstance(one, _SYMBOLIC) for one in (base, exponent, modulus)):
        return pow(base, exponent) if modulus is None else pow(base, exponent, modulus)
    found = number_of(exponent)
    if not (found.is_natural() if found is not None else exponent >= 0):
        return pow(int(base), int(exponent), int(modulus))  # an inverse of the modulus
    return base**exponent % modulus


def _counted(value: Any) -> Any:
    """The number 1 or 0 that a boolean is which remembers: PyTorch would ask for its answer, or compute with it as a boolean."""
    number = number_of(value)
    return symbolic(number.counted()) if number is not None and number.is_bool() else value


def _of_counted(apply: Callable[[Any, Any], Any], is_second: bool) -> Any:
    """Arithmetic of a boolean that remembers with another number."""

    def computed(self: Any, other: Any) -> Any:
        if not isinstance(other, (*_SYMBOLIC, int, float)):
            return NotImplemented
        pair = (_counted(self), _counted(other))
        return apply(*reversed(pair)) if is_second else apply(*pair)

    return computed


def _is_either(self: Any, other: Any) -> Any:
    """`a ^ b` of a boolean that remembers."""
    if isinstance(other, (bool, torch.SymBool)):
        found = number_of(self)._binary("ne", number_of(other) if isinstance(other, torch.SymBool) else other, operator.ne)  # type: ignore[union-attr]
        return symbolic(found)
    return _counted(self) ^ other


def _plain_of(number: Any) -> Any:
    """A number as an int or float of Python, if it is none and can be one."""
    if type(number) in (int, float, bool) or not isinstance(number, numbers.Real):
        return number
    if isinstance(number, numbers.Integral):
        return int(number)
    return number if isinstance(number, numbers.Rational) else float(number)


#: Functions of two numbers, which other classes of integers have, too.
_OF_TWO = [f"__{side}{name}__" for side in ("", "r") for name in "add sub mul truediv floordiv mod pow lshift rshift and or xor".split()] + ["__lt__", "__le__", "__gt__", "__ge__"]
_COMPARISONS = {
    kind: {name: _comparison(getattr(kind, name), apply) for name, apply in (("__eq__", operator.eq), ("__ne__", operator.ne))} for kind in (torch.SymInt, torch.SymFloat)
}
for _kind, _methods in _COMPARISONS.items():
    _methods.update({name: _with_integers(getattr(_kind, name)) for name in _OF_TWO if name in vars(_kind)})
    _methods.update({name: _quotient(getattr(_kind, name), name == "__rfloordiv__") for name in ("__floordiv__", "__rfloordiv__") if name in vars(_kind)})
_OF_BOOLS = "add sub mul truediv floordiv mod pow lshift rshift".split()
_METHODS: dict[Any, dict[str, Any]] = {
    torch.SymBool: {
        **{f"__{side}{name}__": _of_counted(getattr(operator, name), bool(side)) for side in ("", "r") for name in _OF_BOOLS},
        **{f"__{name}__": _of_counted(getattr(operator, name), False) for name in ("lt", "le", "gt", "ge")},
        "__neg__": lambda flag: -_counted(flag),
        "__index__": lambda flag: int(bool(flag)),  # `(a, b)[n > 3]` is a branch
        "__xor__": _is_either,
        "__rxor__": _is_either,
    },
    torch.SymInt: {
        "__divmod__": _divmod,
        "__rdivmod__": lambda b, a: _divmod(a, b),
        "__invert__": lambda n: -n - 1,
        "bit_count": _bit_count,
        "bit_length": _bit_length,
        "astype": _as_type,
    },
    torch.SymFloat: {
        "__divmod__": _divmod,
        "__rdivmod__": lambda b, a: _divmod(a, b),
        "__round__": rounded,
        "astype": _as_type,
    },
}


def methods_of_numbers() -> AbstractContextManager[None]:
    """While the block runs, PyTorch's numbers have methods that Python's have."""
    return methods_given((kind, name, method) for given in (_METHODS, _COMPARISONS) for kind, methods in given.items() for name, method in methods.items())


__all__ = ["methods_of_numbers", "of_math", "power", "rounded"]
