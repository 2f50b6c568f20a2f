"""Higher-order operators (`torch.cond`, `while_loop`, `scan`, `map`): each function that they call is recorded on its own, as a body.

The calls of a body stand between two marks in the list of all calls, before the call of the operator. So bodies of two recordings are held against each other like
all calls. The result that the run goes on with is that of PyTorch: the side that was taken, or all rounds of a loop. A body is recorded before its rounds run, because
then nothing keeps it from writing to tensors of the model.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes

from .fakes import is_unknown
from .loops import Mark
from .numbers import plain
from .places import line_of_model
from .recorder import Call, Recorder, Unrecorded
from .tensors import Tracked, Value, scalar_value, symbolic_item


BEGIN, END = Mark("the begin of a function"), Mark("the end of a function")


class _Loop(torch._ops.HigherOrderOperator):
    """ONNX's Loop: `loop(body, count, condition, carried, more)`, where `body(index, *carried, *more)` returns the condition, if there is one, what is carried,
    and what is stacked."""

    def __init__(self) -> None:
        super().__init__("loop")

    def __call__(self, body: Any, count: Any, condition: Any, carried: Any, more: Any) -> Any:  # type: ignore[override]
        states, made, index = list(carried), [], 0
        goes_on = True if condition is None else bool(condition)
        while goes_on and (count is None or index < count):
            results = list(body(index, *states, *more))
            if condition is not None:
                goes_on = bool(results.pop(0))
            states, stacked = results[: len(states)], results[len(states) :]
            made.append([torch.as_tensor(item) for item in stacked])
            index += 1
        return (*states, *(torch.stack(list(column)) for column in zip(*made)))


LOOP_OPERATOR = _Loop()


class Body:
    """A recorded function. Those of two recordings with the same number are the same."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Body) and other.number == self.number

    def __hash__(self) -> int:
        return hash(self.number)


def _body(recorder: Recorder, function: Callable[..., Any], given: Sequence[tuple[Any, bool]], rest: Sequence[Any] = ()) -> tuple[Body, list[Any], Any]:
    """Records a function of parameters and of values that it reads from outside. Returns its results and how they are put together.

    Args:
        given: What the parameters stand for, each with whether elements of tensors decide its sizes.
        rest: The values from outside.
    """
    body = Body(recorder.bodies)
    recorder.bodies += 1
    params, values = [], []
    for place, (value, is_ragged) in enumerate(given):
        param, made = _parameter(recorder, value, is_ragged, ("param", (body.number, place)))
        params.append(param)
        values.append(made)
    recorder.calls.append(Call(BEGIN, (body,), {}, tuple(values), line_of_model(), recorder.modules.current))
    with recorder.inside():
        returned = function(*params, *rest)
    leaves, tree = pytree.tree_flatten(returned)
    for leaf in leaves:
        if not isinstance(leaf, (torch.Tensor, torch.SymInt, torch.SymBool, int, float, bool, type(None))):
            raise Unrecorded(f"a function of a higher-order operator returns an object of the class `{type(leaf).__name__}`", line_of_model())
    references = [recorder.reference(leaf) for leaf in leaves]
    recorder.calls.append(Call(END, (body, references), {}, None, line_of_model(), recorder.modules.current))
    return body, leaves, tree


def _parameter(recorder: Recorder, given: Any, is_ragged: bool, source: tuple[str, Any]) -> tuple[Any, Value]:
    if isinstance(given, torch.Tensor):
        actual = _copied(recorder, _actual(given))
        value = recorder.new_value(actual, False, source)
        value.ragged = is_ragged
        return Tracked(actual, value, recorder), value
    value = scalar_value(recorder.next_key(), type(plain(given)), source)
    return symbolic_item(plain(given), value, recorder.ask), value


def _copied(recorder: Recorder, tensor: torch.Tensor) -> torch.Tensor:
    with _paused(recorder):
        return tensor.detach().clone()


def _actual(value: Any) -> Any:
    return value.actual if isinstance(value, Tracked) else plain(value)


def _actuals(values: Sequence[Any]) -> list[Any]:
    return [_actual(value) for value in values]


@contextmanager
def _paused(recorder: Recorder) -> Iterator[None]:
    """While the block runs, nothing is written down: values are the real tensors."""
    Recorder.current = None
    try:
        with _disable_current_modes():
            yield
    finally:
        Recorder.current = recorder


def _results(recorder: Recorder, operator: Any, args: tuple[Any, ...], actuals: Sequence[Any], ragged: Sequence[bool]) -> list[Any]:
    """The results of a call of a higher-order operator, which is written down."""
    found: list[Any] = []
    values: list[Any] = []
    for actual, is_ragged in zip(actuals, ragged):
        if isinstance(actual, torch.Tensor):
            value = recorder.new_value(actual, False)
            value.ragged = is_ragged
            found.append(Tracked(_copied(recorder, actual), value, recorder))
        elif actual is None:
            found.append(None)
            values.append(None)
            continue
        else:
            value = scalar_value(recorder.next_key(), type(actual))
            found.append(symbolic_item(actual, value, recorder.ask))
        values.append(value)
    references = tuple(recorder.reference(arg) for arg in args)
    recorder.calls.append(Call(operator, references, {}, tuple(values), line_of_model(), recorder.modules.current))
    return found


def _is_true(value: Any, unknown: bool) -> bool:
    """Whether a condition holds; `unknown` if it has no element. The types of what follows are the same."""
    return unknown if is_unknown(value) else bool(value)


def _is_ragged(value: Any) -> bool:
    return isinstance(value, Tracked) and value.value.ragged


def _cond(recorder: Recorder, operator: Any, pred: Any, true_fn: Any, false_fn: Any, operands: Any = ()) -> Any:
    is_known = type(pred) is bool or (isinstance(pred, torch.Tensor) and (not isinstance(pred, Tracked) or recorder.is_fixed(pred)))
    taken = _is_true(_actual(pred), True)
    if is_known:
        return (true_fn if taken else false_fn)(*operands)
    yes, when_true, tree = _body(recorder, true_fn, (), operands)
    no, when_false, other_tree = _body(recorder, false_fn, (), operands)
    if tree != other_tree:
        raise Unrecorded("the functions of `torch.cond` return results of another form", line_of_model())
    for one, other in zip(when_true, when_false):
        if isinstance(one, torch.Tensor) != isinstance(other, torch.Tensor) or (isinstance(one, torch.Tensor) and one.dtype != other.dtype):
            raise Unrecorded("the functions of `torch.cond` return results of another type", line_of_model())
    ragged = [_is_ragged(one) or _is_ragged(other) for one, other in zip(when_true, when_false)]
    chosen = _actuals(when_true if taken else when_false)
    return pytree.tree_unflatten(_results(recorder, operator, (pred, yes, no, ()), chosen, ragged), tree)


def _while_loop(recorder: Recorder, operator: Any, cond_fn: Any, body_fn: Any, carried: Any, additional: Any = ()) -> Any:
    condition, _, _ = _body(recorder, cond_fn, _given(carried), additional)
    body, _, tree = _body(recorder, body_fn, _given(carried), additional)
    with _paused(recorder):
        now = _actuals(carried)
        rest = _actuals(additional)
        while _is_true(cond_fn(*now, *rest), False):
            now = pytree.tree_leaves(body_fn(*now, *rest))
    for before, after in zip(carried, now):
        if isinstance(before, torch.Tensor) and (before.dtype != after.dtype or _actual(before).shape != after.shape):
            raise Unrecorded("a loop that changes the type of what it carries", line_of_model())
    found = _results(recorder, operator, (condition, body, tuple(carried), ()), now, list(map(_is_ragged, carried)))
    return pytree.tree_unflatten(found, tree)


def _rounds(xs: Sequence[Any]) -> list[list[Any]]:
    """The slices of each round."""
    return [list(slices) for slices in zip(*(x.unbind(0) for x in xs))]


def _scan(recorder: Recorder, operator: Any, combine_fn: Any, init: Any, xs: Any, additional_inputs: Any = ()) -> Any:
    body, _, tree = _body(recorder, combine_fn, [*_given(init), *_first_slices(recorder, xs)], additional_inputs)
    with _paused(recorder):
        carry, rest = _actuals(init), _actuals(additional_inputs)
        rounds = _rounds(_actuals(xs))
        made: list[list[Any]] = []
        for slices in rounds:
            returned = pytree.tree_leaves(combine_fn(*carry, *slices, *rest))
            carry = returned[: len(carry)]
            made.append(returned[len(carry) :])
        stacked = [torch.stack(column) for column in zip(*made)]
    ragged = [*map(_is_ragged, init), *[any(map(_is_ragged, xs))] * len(stacked)]
    found = _results(recorder, operator, (body, tuple(init), tuple(xs), ()), [*carry, *stacked], ragged)
    return pytree.tree_unflatten(found, tree) if tree.num_leaves == len(found) else tuple(found)


def _first_slices(recorder: Recorder, xs: Sequence[Any]) -> list[tuple[Any, bool]]:
    """What the first round is given: the parameters of a body have its type."""
    with _paused(recorder):
        return [(_actual(x)[0], _is_ragged(x)) for x in xs]


def _given(values: Sequence[Any]) -> list[tuple[Any, bool]]:
    return [(value, _is_ragged(value)) for value in values]


def _map(recorder: Recorder, operator: Any, f: Any, xs: Any, pos_args: Any = ()) -> Any:
    body, _, tree = _body(recorder, f, _first_slices(recorder, xs), pos_args)
    with _paused(recorder):
        rest = _actuals(pos_args)
        made = [pytree.tree_leaves(f(*slices, *rest)) for slices in _rounds(_actuals(xs))]
        stacked = [torch.stack(column) for column in zip(*made)]
    found = _results(recorder, operator, (body, tuple(xs), ()), stacked, [any(map(_is_ragged, xs))] * len(stacked))
    return pytree.tree_unflatten(found, tree)


def _associative_scan(recorder: Recorder, operator: Any, combine_fn: Any, xs: Any, additional_inputs: Any = ()) -> Any:
    body, _, tree = _body(recorder, combine_fn, _first_slices(recorder, xs) * 2, additional_inputs)
    with _paused(recorder):
        rest = _actuals(additional_inputs)
        rounds = _rounds(_actuals(xs))
        so_far = [rounds[0]]
        for slices in rounds[1:]:
            so_far.append(pytree.tree_leaves(combine_fn(*so_far[-1], *slices, *rest)))
        stacked = [torch.stack(column) for column in zip(*so_far)]
    found = _results(recorder, operator, (body, tuple(xs), ()), stacked, list(map(_is_ragged, xs)))
    return pytree.tree_unflatten(found, tree)


def _flex_attention(recorder: Recorder, operator: Any, *args: Any, **kwargs: Any) -> Any:
    """PyTorch's own form for all devices, in operators that are recorded."""
    from torch._higher_order_ops.flex_attention import math_attention

    return math_attention(*args, **kwargs)


def _plain_call(first: int) -> Callable[..., Any]:
    def call(recorder: Recorder, operator: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
        return function(*args[first:], **kwargs)

    return call


_OWN: dict[str, Callable[..., Any]] = {
    "cond": _cond,
    "while_loop": _while_loop,
    "scan": _scan,
    "map_impl": _map,
    "associative_scan": _associative_scan,
    "flex_attention": _flex_attention,
    "invoke_subgraph": _plain_call(1),
    "wrap": _plain_call(0),
}

_ORIGINAL: Any = torch._ops.HigherOrderOperator.__call__
_FOLDER = os.path.join(os.path.dirname(torch.__file__), "_higher_order_ops") + os.sep
_FLEX = os.path.join(os.path.dirname(torch.__file__), "nn", "attention") + os.sep


def _call(operator: Any, *args: Any, **kwargs: Any) -> Any:
    recorder = Recorder.current
    if recorder is None or torch._C._functorch.peek_interpreter_stack() is not None:  # type: ignore[attr-defined]
        return _ORIGINAL(operator, *args, **kwargs)
    own = _OWN.get(operator.name())
    if own is None:
        raise Unrecorded(f"the operator `{operator.name()}` calls other functions", line_of_model())
    if torch.is_grad_enabled() and any(isinstance(leaf, torch.Tensor) and leaf.requires_grad for leaf in pytree.tree_leaves((args, kwargs))):
        raise Unrecorded(f"gradients through the operator `{operator.name()}`", line_of_model())
    return own(recorder, operator, *args, **kwargs)


def _generic_scan(operator: Any, leaves: Any, dim: int = 0, additional_inputs: Any = ()) -> Any:
    """What `associative_scan(combine_mode="generic")` calls, with a function of whole tensors: PyTorch would halve them as often as their size asks for."""
    if Recorder.current is None or dim != 0 or not any(isinstance(leaf, Tracked) for leaf in leaves):
        return _GENERIC(operator, leaves, dim, additional_inputs)

    def combine(*slices: Any) -> list[Any]:
        return [result.squeeze(0) for result in operator(*[part.unsqueeze(0) for part in slices])]

    return _SCANS.associative_scan_op(combine, leaves, additional_inputs)


_SCANS: Any = sys.modules.get("torch._higher_order_ops.associative_scan")
_GENERIC: Any = getattr(_SCANS, "generic_associative_scan", None)


@contextmanager
def intercepted() -> Iterator[None]:
    """While the block runs, higher-order operators are recorded, and not compiled before they run."""
    before = torch.compiler.is_dynamo_compiling

    def is_dynamo_compiling() -> bool:
        # The public functions compile the operator that they call, unless they are compiled themselves.
        name = sys._getframe(1).f_code.co_filename
        return name.startswith((_FOLDER, _FLEX)) or before()

    # The blocks of a mask from the side of the keys are for gradients alone, and PyTorch asks how many there are while it makes them.
    blocks: Any = sys.modules.get("torch.nn.attention.flex_attention")
    transposed = getattr(blocks, "_transpose_ordered", None)
    if transposed is not None:
        blocks._transpose_ordered = lambda *_: (None, None)
    torch.compiler.is_dynamo_compiling = is_dynamo_compiling
    torch._ops.HigherOrderOperator.__call__ = _call  # type: ignore[method-assign]
    if _GENERIC is not None:
        _SCANS.generic_associative_scan = _generic_scan
    try:
        yield
    finally:
        torch._ops.HigherOrderOperator.__call__ = _ORIGINAL  # type: ignore[method-assign]
        torch.compiler.is_dynamo_compiling = before
        if transposed is not None:
            blocks._transpose_ordered = transposed
        if _GENERIC is not None:
            _SCANS.generic_associative_scan = _GENERIC


__all__ = ["BEGIN", "END", "LOOP_OPERATOR", "Body", "Mark", "intercepted"]
