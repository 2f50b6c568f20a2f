"""The parts of a program as PyTorch's serializer writes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ._conditions import guards_code
from ._errors import UnsupportedError


def ranges(exported: Any) -> list[tuple[str, tuple[int | None, int | None]]]:
    """Returns the bounds of the symbols of a program. Those of expressions follow from them."""
    import sympy
    from torch._export.serde.serialize import serialize_range_constraints

    symbols = {symbol: bounds for symbol, bounds in exported.range_constraints.items() if isinstance(symbol, sympy.Symbol)}
    return [(symbol, (found.min_val, found.max_val)) for symbol, found in serialize_range_constraints(symbols).items()]


def guards(exported: Any) -> tuple[list[str], list[str], list[str]]:
    """Returns the conditions on the inputs under which a program was captured, in Python, the way to each input in them: `['x'][0]`,
    and the name of each output, empty if it has none."""
    code = guards_code(exported)
    return code, _paths(exported) if code else [], output_names(exported)


def output_names(exported: Any) -> list[str]:
    """Returns the names of outputs in dictionaries, dataclasses and named tuples: those of their keys and fields."""
    try:
        return [_joined(path) for path in _ways(exported.call_spec.out_spec)]
    except Exception:  # no tree, or one of a class that PyTorch will change: outputs have the names of their values
        return []


def _joined(path: list[Any]) -> str:
    if not any(isinstance(part, str) for part in path):
        return ""
    first, *rest = path
    return ".".join([f"output_{first}" if isinstance(first, int) else first, *map(str, rest)])


def _ways(tree: Any) -> list[list[Any]]:
    """The keys, as texts, and places, as numbers, on the way to each leaf."""
    if tree.is_leaf():
        return [[]]
    children = tree.children()
    names = _keys(tree, len(children))
    return [[names[at] if names[at] is not None else at, *rest] for at, child in enumerate(children) for rest in _ways(child)]


def _keys(tree: Any, count: int) -> list[str | None]:
    """What a container calls its children; None for those without a name."""
    kind, context = tree.type, tree.context
    if kind in (tuple, list):
        return [None] * count
    fields = getattr(kind, "__match_args__", ()) if hasattr(kind, "n_sequence_fields") else getattr(context, "_fields", ())
    found = fields or context
    if isinstance(found, list) and len(found) == 2:  # a dataclass, or a dictionary with a default
        pair = [part for part in found if isinstance(part, list) and len(part) == count and all(isinstance(key, str) for key in part)]
        found = pair[0] if pair else found
    if not isinstance(found, (list, tuple)) or len(found) != count:
        return [None] * count
    return [str(key) if isinstance(key, (str, int, float)) and not isinstance(key, bool) and key != "" else None for key in found]


def _paths(exported: Any) -> list[str]:
    """Returns the way to each input in the arguments of the call; nothing if PyTorch cannot tell."""
    from torch.utils import _pytree as pytree

    signature = exported.module_call_graph[0].signature
    names = list(getattr(signature, "forward_arg_names", None) or ())
    try:
        # Of programs without examples the tree of the arguments is filled with numbers.
        tree = exported.call_spec.in_spec
        examples = exported.example_inputs or pytree.tree_unflatten(list(range(tree.num_leaves)), tree)
        leaves, _ = pytree.tree_flatten_with_path(examples)
        return [_named(path, names) for path, _ in leaves]
    except Exception:  # classes of arguments that are registered without names for what they contain
        return []


def _named(path: Any, names: list[str]) -> str:
    """The way to an argument, by the name of its parameter: PyTorch has a tuple of a tuple of positional and a dictionary of other arguments."""
    from torch.utils import _pytree as pytree

    place, argument, *rest = path
    is_positional = place.idx == 0
    first = f"[{names[argument.idx]!r}]" if is_positional else pytree.keystr((argument,))
    return first + str(pytree.keystr(tuple(rest)))


def expressions() -> Callable[[Any], str]:
    """Returns a function that writes symbolic expressions as `sympy.srepr` does, but those that are parts of several only once."""
    from sympy import Basic
    from sympy.printing.repr import ReprPrinter

    class Printer(ReprPrinter):  # type: ignore[misc]  # sympy has no types
        def __init__(self) -> None:
            super().__init__()
            self.known: dict[Any, str] = {}

        def _print(self, expr: Any, **options: Any) -> str:
            if not isinstance(expr, Basic):
                return str(super()._print(expr, **options))
            text = self.known.get(expr)
            if text is None:
                text = self.known[expr] = super()._print(expr, **options)
            return text

    return Printer().doprint  # type: ignore[no-any-return]


def document(exported: Any) -> bytes:
    """Returns the JSON of a program without its weights, as torch.export.save writes it."""
    import torch
    from torch._export.serde import serialize as serde
    from torch._export.serde.schema import SCHEMA_VERSION

    serializer = _serializer(exported)
    try:
        graph = serializer.serialize_graph(exported.graph_module)
        signature = serializer.serialize_signature(exported.graph_signature)
    except (serde.SerializeError, AssertionError, NotImplementedError) as error:
        raise UnsupportedError(
            f"PyTorch cannot serialize this program: {_essence(error)}", help="`torch.export.save` fails in the same way"
        ) from error
    conditions, paths, names = guards(exported)
    program = {
        "graph_module": {"graph": graph, "signature": signature, "module_call_graph": []},
        "opset_version": {},
        "range_constraints": serde.serialize_range_constraints(exported.range_constraints),
        "schema_version": {"major": SCHEMA_VERSION[0], "minor": SCHEMA_VERSION[1]},
        "torch_version": torch.__version__,
        "guards_code": conditions,
        "input_paths": paths,
        "output_names": names,
    }
    return json.dumps(serde._dataclass_to_dict(program), cls=serde.EnumEncoder, allow_nan=False).encode()


def _essence(error: Exception) -> str:
    """Returns the node and the reason from PyTorch's message, which also contains the graph and a traceback."""
    first, *_, last = str(error).splitlines() * 2 or [""]
    node = first.split(" in graph:")[0]
    return node if last in ("", first) else f"{node}: {last.split(': ', 1)[-1]}"


def _serializer(exported: Any) -> Any:
    """Returns PyTorch's serializer, extended to nodes of `torch.onnx.ops.symbolic`."""
    from torch._export.serde import serialize as serde

    serializer = serde.GraphModuleSerializer(exported.graph_signature, exported.module_call_graph)
    plain = serializer.serialize_inputs

    def serialize_inputs(target: Any, args: Any, kwargs: Any = None) -> Any:
        if getattr(target, "namespace", None) == "onnx_symbolic":
            # PyTorch only serializes lists of lists if they contain tuples of known ints. The outputs have the shapes.
            places = [tuple(place) for place in kwargs["attr_pos"]]
            kwargs = {name: value for name, value in kwargs.items() if name not in ("shapes", "attr_pos")}
            kwargs |= {"attr_pos": places} if places else {}
        return plain(target, args, kwargs)

    serializer.serialize_inputs = serialize_inputs  # type: ignore[method-assign]  # the class is final
    return serializer
