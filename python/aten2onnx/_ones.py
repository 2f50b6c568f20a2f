"""Captures models whose example has a dynamic dimension of size 1.

torch.export treats 1 as special: it makes the dimension constant, or takes the size for any other where PyTorch would broadcast or squeeze it. So
such a model is captured again with a larger size, if the first program does not have the dimension; and each operator of the program is held
against what it does at the example.
"""

from __future__ import annotations

import copy
import logging
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from . import _capture, _shapes
from ._conditions import guards_code
from ._errors import CaptureError

_log = logging.getLogger(__name__)

HELP = (
    "pass an example in which the dimension is larger than 1, if the model does not treat 1 as special; "
    "or leave the dimension out of `dynamic_shapes`: the file then takes this size only"
)


def capture(
    model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any, strict: bool | None, adopt_fixes: bool
) -> tuple[Any, list[str]]:
    """Returns the ExportedProgram of a module and notes, as `_capture.capture` does."""
    small = list(_small(args, kwargs, dynamic_shapes))
    if not small:
        return _capture.capture(model, args, kwargs, dynamic_shapes, strict, adopt_fixes)
    try:
        exported, notes = _capture.capture(model, args, kwargs, dynamic_shapes, strict, adopt_fixes)
        frozen = _frozen(exported, small) + _pinned(exported, args, kwargs, small)
        if not frozen:
            _check(exported, args, kwargs)
            return exported, notes
        error = CaptureError(f"torch.export makes the dynamic dimension {_listed(frozen)} constant, because its size is 1 in the example", help=HELP)
    except CaptureError as first:
        frozen, error = small, first
        error.help = f"the dynamic dimension {_listed(small)} has the size 1 in the example: {HELP}"
    if not any(wanted for _, _, wanted in small):
        if frozen is small:
            raise error
        return exported, notes
    size = _unused(args, kwargs)
    larger = _enlarged(args, kwargs, small, size)
    for oblivious in (True, False):
        try:
            exported, notes = _capture.capture(model, *larger, dynamic_shapes, strict, adopt_fixes, oblivious)
        except CaptureError:
            continue
        # Without guards that tell 1 apart, only the results show whether the model does.
        if not _frozen(exported, small) and _takes(exported, args, kwargs) and (oblivious or _same(model, exported, args, kwargs)):
            break
    else:
        raise error from None
    _check(exported, args, kwargs)
    exported._example_inputs = (args, kwargs)
    notes.append(f"The model was captured with the size {size} in place of 1 for {_listed(frozen)}: torch.export makes dimensions of size 1 constant.")
    return exported, notes


#: The number of an input in the order of its leaves, an axis, and whether it must be dynamic: Dim.AUTO leaves that to torch.export.
_Place = tuple[int, int, bool]


def _leaves(args: Any, kwargs: Any) -> tuple[list[Any], Any]:
    from torch.utils import _pytree as pytree

    return pytree.tree_flatten((args, kwargs))


def _small(args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any) -> Iterator[_Place]:
    """The dynamic dimensions whose size is 1."""
    import torch
    leaves, _ = _leaves(args, kwargs)
    axes = _shapes.axes_of(dynamic_shapes)
    if len(axes) != len(leaves):
        return
    for index, (leaf, chosen) in enumerate(zip(leaves, axes)):
        for axis, size in _shapes.items(chosen):
            is_dynamic = not (size is None or isinstance(size, int) or "STATIC" in str(size))
            if is_dynamic and isinstance(leaf, torch.Tensor) and axis < leaf.dim() and leaf.shape[axis] == 1:
                yield index, axis, isinstance(size, (str, _shapes.dimension_type())) or "DYNAMIC" in str(size)


def _inputs(exported: Any) -> list[Any]:
    """What torch.export recorded of each input, in order."""
    values = {node.name: node.meta.get("val") for node in exported.graph.nodes if node.op == "placeholder"}
    specs = [spec for spec in exported.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
    return [values.get(getattr(spec.arg, "name", None)) for spec in specs]


def _frozen(exported: Any, small: list[_Place]) -> list[_Place]:
    """The dimensions that are to be dynamic, but are constant in the program."""
    inputs = _inputs(exported)
    return [(index, axis, wanted) for index, axis, wanted in small if wanted and _is_number(inputs[index].shape[axis])]


def _pinned(exported: Any, args: Any, kwargs: Any, small: list[_Place]) -> list[_Place]:
    """The dimensions that a guard on them alone makes constant."""
    found = []
    for place in small:
        arguments = _shapes.program_arguments(exported, _enlarged(args, kwargs, [place], 2)) or {}
        alone = [code for code in guards_code(exported) if len(set(_SIZE.findall(code))) == 1]
        if place[2] and arguments and not all(_holds(code, arguments) for code in alone):
            found.append(place)
    return found


#: A size in a guard: `L['x'].size()[0]`.
_SIZE = re.compile(r"L(?:\[[^]]*\]|\.\w+)*\.size\(\)\[\d+\]")


def _holds(code: str, arguments: Mapping[str, Any]) -> bool:
    """Whether a guard holds: an expression in Python in the sizes of the arguments, which PyTorch itself evaluates before it runs a program."""
    import torch

    try:
        return bool(eval(code, {"L": arguments, "math": math, "torch": torch}))  # noqa: S307
    except (KeyError, IndexError, TypeError, AttributeError):
        return True  # names of arguments that are not those of the call: the native library tells such guards


def _is_number(size: Any) -> bool:
    expression = getattr(getattr(size, "node", None), "expr", None)
    return isinstance(size, int) if expression is None else bool(expression.is_number)


def _unused(args: Any, kwargs: Any) -> int:
    """A size that nothing in the example has, so that nothing is equal to it by chance."""
    leaves, _ = _leaves(args, kwargs)
    sizes = {size for leaf in leaves for size in getattr(leaf, "shape", ())}
    return next(size for size in range(2, 1 << 20) if size not in sizes)


def _enlarged(args: Any, kwargs: Any, small: list[_Place], size: int) -> tuple[Any, Any]:
    """The example with another size in place of 1."""
    from torch.utils import _pytree as pytree

    leaves, tree = _leaves(args, kwargs)
    for index, axis, _ in small:
        leaves[index] = leaves[index].repeat_interleave(size, axis)
    return pytree.tree_unflatten(leaves, tree)


def _takes(exported: Any, args: Any, kwargs: Any) -> bool:
    """Whether a program that was captured with other sizes takes those of the example."""
    known = _symbols(exported, args, kwargs)
    if known is None:
        return False
    for symbol, size in known.items():
        bounds = exported.range_constraints.get(symbol)
        # torch.export never captures for 1 alone: it means 1 by a smallest size of 2.
        if bounds is not None and (size > bounds.upper or size < bounds.lower > 2):
            return False
    arguments = _shapes.program_arguments(exported, (args, kwargs)) or {}
    return all(_holds(code, arguments) for code in guards_code(exported))


def takes(exported: Any, args: Any, kwargs: Any) -> bool:
    """Whether a program says of itself that it is right for these arguments: their sizes are in its ranges, and its guards hold."""
    known = _symbols(exported, args, kwargs)
    if known is None:
        return False
    ranges = {symbol: exported.range_constraints.get(symbol) for symbol in known}
    if any(bounds is not None and not bounds.lower <= known[symbol] <= bounds.upper for symbol, bounds in ranges.items()):
        return False
    return _takes(exported, args, kwargs)


def _symbols(exported: Any, args: Any, kwargs: Any) -> dict[Any, int] | None:
    """The symbols of a program with their values for these arguments; None if one has two."""
    import torch

    leaves, _ = _leaves(args, kwargs)
    known: dict[Any, int] = {}
    for leaf, value in zip(leaves, _inputs(exported)):
        sizes = zip(leaf.shape, value.shape) if isinstance(leaf, torch.Tensor) and isinstance(value, torch.Tensor) else [(leaf, value)]
        for found, size in sizes:
            expression = getattr(getattr(size, "node", None), "expr", None)
            if expression is not None and expression.is_symbol and known.setdefault(expression, found) != found:
                return None
    return known


def _same(model: Any, exported: Any, args: Any, kwargs: Any) -> bool:
    """Whether a program gives the results of the model at the example."""
    import torch

    try:
        with torch.no_grad(), _capture.quiet():
            wanted, found = ([run(*copy.deepcopy(args), **copy.deepcopy(kwargs))] for run in (model, exported.module()))
    except Exception as error:  # PyTorch passes on whatever the model raises.
        _log.debug("the model does not run at the example: %s", error)
        return False
    pairs = list(zip(_flat(wanted), _flat(found)))
    tensors = [(a, b) for a, b in pairs if isinstance(a, torch.Tensor)]
    return len(_flat(wanted)) == len(_flat(found)) and all(a.shape == b.shape and torch.allclose(a.double(), b.double(), 1e-3, 1e-5, True) for a, b in tensors)


def _check(exported: Any, args: Any, kwargs: Any) -> None:
    """Raises an error if an operator does not give the sizes at the example that torch.export recorded."""
    found = _first_difference(exported, _symbols(exported, args, kwargs) or {})
    if found is None:
        return
    node, real, recorded = found
    line = _line(node)
    raise CaptureError(
        f"the program that torch.export captured is not right at the example: `{node.name}` gives {real} there, and not {recorded}, because a dynamic dimension has the size 1",
        place=[line] if line else [],
        help=HELP,
        source_line=line,
    )


def _first_difference(exported: Any, symbols: Mapping[Any, int]) -> tuple[Any, list[int], list[int]] | None:
    """The first operator whose result has other sizes than torch.export recorded, with both; None if there is none, or it cannot be told."""
    import torch
    from torch._subclasses import FakeTensorMode

    found: list[tuple[Any, list[int], list[int]]] = []

    class Sizes(torch.fx.Interpreter):
        def run_node(self, node: Any) -> Any:
            result = super().run_node(node)
            if node.op == "call_function":
                for real, recorded in zip(_flat(result), _flat(node.meta.get("val"))):
                    sizes = _sizes(recorded, symbols)
                    if isinstance(real, torch.Tensor) and sizes is not None and list(real.shape) != sizes:
                        found.append((node, list(real.shape), sizes))
                        raise ValueError("the first difference")
            return result

    try:
        with torch.no_grad(), FakeTensorMode(allow_non_fake_inputs=True):
            values = []
            for node in exported.graph.nodes:
                if node.op == "placeholder":
                    values.append(_at_example(node.meta.get("val"), symbols))
            Sizes(exported.graph_module).run(*values)
    except Exception as error:  # operators that have no sizes without data
        _log.debug("sizes at the example end at: %s", error)
    return found[0] if found else None


def _flat(value: Any) -> list[Any]:
    from torch.utils import _pytree as pytree

    return pytree.tree_leaves(value)


def _at_example(value: Any, symbols: Mapping[Any, int]) -> Any:
    """An input with its sizes in the example."""
    import torch

    if isinstance(value, torch.Tensor):
        return torch.empty(_sizes(value, symbols) or [], dtype=value.dtype, device=value.device)
    number = _number(value, symbols)
    return value if number is None else number


def _sizes(value: Any, symbols: Mapping[Any, int]) -> list[int] | None:
    """The sizes of a tensor in the example, if they are known."""
    import torch

    if not isinstance(value, torch.Tensor):
        return None
    sizes = [_number(size, symbols) for size in value.shape]
    return None if None in sizes else sizes  # type: ignore[return-value]


def _number(size: Any, symbols: Mapping[Any, int]) -> int | None:
    expression = getattr(getattr(size, "node", None), "expr", None)
    if expression is None:
        return size if isinstance(size, int) else None
    value = expression.subs(symbols)
    return int(value) if value.is_Integer else None


def _line(node: Any) -> str | None:
    """The line of the model that calls an operator."""
    lines = [line.strip() for line in str(node.meta.get("stack_trace") or "").splitlines() if line.strip().startswith("File ")]
    return lines[-1] if lines else None


def _listed(places: list[_Place]) -> str:
    shown = [f"{axis} of input {index}" for index, axis, _ in places[:3]]
    more = f" and {len(places) - 3} more" if len(places) > 3 else ""
    return ", ".join(shown) + more
