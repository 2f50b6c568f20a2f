"""Numbers that are integers at some inputs and real ones at others: `max(n, 2.5)`. A file has a real number, which is equal. Where the class of such a number says of what
dtype a result is, no file is right."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree

from .expressions import inner_first
from .intervals import decided
from .numbers import Number, number_of, numbers_in, operand_number, plain, symbolic
from .places import line_of_model

#: Functions that give an integer for integers, and a real number if one is real.
_KEEPING = frozenset("add sub mul floordiv mod pow neg abs pos sym_max sym_min sym_ite".split())


def chosen_extreme(is_max: bool, best: Any, value: Any) -> Any:
    """The larger or smaller one of two numbers, as Python has it: also its class."""
    from .recorder import Recorder

    numbers = [number_of(one) for one in (best, value)]
    kinds = [type(plain(one)) for one in (best, value)]
    if kinds == [bool, bool] and numbers != [None, None]:
        return best | value if is_max else best & value
    if numbers == [None, None] or bool in kinds:
        return max(best, value) if is_max else min(best, value)
    sym_one = torch.sym_max if is_max else torch.sym_min
    found = sym_one(best, value)
    if (kinds[0] is float) is (kinds[1] is float):
        return found
    ask = next(number.ask for number in numbers if number is not None)
    one, other = (operand_number(one if number is None else number, ask) for one, number in zip((best, value), numbers))
    is_second = decided(Number(other.value > one.value, "gt" if is_max else "lt", (other.operand(), one.operand()), ask), Number.range_of)
    if is_second is not None:
        return value if is_second else best
    number_of(found).is_mixed = True  # type: ignore[union-attr]
    if Recorder.current is not None:
        Recorder.current.has_mixed = True
    return found


def is_mixed(number: Number | None) -> bool:
    """Whether Python has an integer at some inputs for a number that is real in this run."""
    if number is None or not number.is_float() or not any(one.is_mixed for one in numbers_in(number)):
        return False
    found: dict[int, bool] = {}
    for one in inner_first(number):
        found[id(one)] = _is_mixed(one, found)
    return found[id(number)]


def _is_mixed(number: Number, found: dict[int, bool]) -> bool:
    """The same, by what was found of the operands."""
    if number.is_mixed:
        return True
    if number.function not in _KEEPING or not number.is_float():
        return False
    operands = number.operands[1:] if number.function == "sym_ite" else number.operands
    known = [found.get(id(one), False) for one in operands]
    return any(known) and all(mixed or _may_be_whole(one) for mixed, one in zip(known, operands))


def _may_be_whole(operand: Any) -> bool:
    """Whether a number may be an integer that PyTorch has made a real one of, to compute with another one."""
    if isinstance(operand, Number):
        return operand.is_int() or (operand.function == "sym_float" and operand_number(operand.operands[0], operand.ask).is_int())
    return float(operand).is_integer()


def check_dtypes(function: Any, args: Any, kwargs: Any, given: Any, out: Any) -> None:
    """Refuses a call whose result has another dtype where such a number among what was `given` is an integer. `args` and `kwargs` are those of the run."""
    if function._schema.is_mutable or not any(is_mixed(number_of(one)) for one in pytree.tree_leaves(given)):
        return
    places = [is_mixed(number_of(one)) for one in pytree.tree_leaves(given)]
    leaves, tree = pytree.tree_flatten((args, kwargs))
    whole = pytree.tree_unflatten([int(leaf) if is_place and type(leaf) is float else leaf for is_place, leaf in zip(places, leaves)], tree)
    try:
        other = function(*whole[0], **whole[1])
    except (RuntimeError, TypeError, ValueError, IndexError):
        return
    if [one.dtype for one in _tensors(other)] != [one.dtype for one in _tensors(out)]:
        check_class(None)


def _tensors(out: Any) -> list[torch.Tensor]:
    return [one for one in pytree.tree_leaves(out) if isinstance(one, torch.Tensor)]


def check_class(number: Any) -> None:
    """Refuses what has one form for an integer and another one for a real number. None if that is known."""
    from .recorder import Unrecorded

    if number is not None and not is_mixed(number_of(number)):
        return
    raise Unrecorded(
        "a number is an integer at some inputs and a real one at others, as in `max(n, 2.5)`, and a dtype follows from it: write `float(..)` or `int(..)` around it, or pass `dtype`",
        line_of_model(),
    )


def check_elements(data: Any) -> None:
    """Refuses numbers whose classes say of what dtype a tensor of them is."""
    leaves = pytree.tree_leaves(data)
    if not any(type(plain(leaf)) is float and not is_mixed(number_of(leaf)) for leaf in leaves):
        for leaf in leaves:
            check_class(leaf)


__all__ = ["check_class", "check_elements", "check_dtypes", "chosen_extreme", "is_mixed"]
