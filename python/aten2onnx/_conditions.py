"""The conditions on sizes under which torch.export captured a program: its guards.

From PyTorch 2.9 on a program has them as code in Python. Before that they are lost with the environment of its symbols, which knows them as long as the
program lives. A program that an older PyTorch has saved and loaded has none.
"""

from __future__ import annotations

import re
from typing import Any

#: What PyTorch 2.6 calls the arguments of a call: `L['args'][0][1]` is the second one by position, `L['args'][1]['x']` one by name.
_POSITION = re.compile(r"L\['args'\]\[0\]\[(\d+)\]")
_KEYWORD = re.compile(r"L\['args'\]\[1\](\['\w+'\])")


def guards_code(exported: Any) -> list[str]:
    """The conditions in Python, in the sizes of arguments: `L['x'].size()[0] > 4`."""
    known = getattr(exported, "_guards_code", None)
    if known is not None:
        return list(known)
    try:
        return of_symbols(exported)
    except Exception:  # an environment of a version that nobody has tried
        return []


def of_symbols(exported: Any) -> list[str]:
    """The conditions as the environment of the symbols knows them."""
    from torch._dynamo.source import ConstantSource
    from torch.fx.experimental import symbolic_shapes

    environment = _environment(exported)
    if environment is None:
        return []
    sources = environment.var_to_sources
    own = {symbol for symbol, found in sources.items() if not any(isinstance(source, ConstantSource) for source in found)}
    kind: Any = getattr(symbolic_shapes, "ShapeGuardPythonPrinter", None) or symbolic_shapes.ShapeGuardPrinter
    printer = kind(sources, _name, sources)
    codes = [printer.doprint(guard.expr) for guard in environment.guards if guard.expr.free_symbols and guard.expr.free_symbols.issubset(own)]
    names = list(getattr(exported.module_call_graph[0].signature, "forward_arg_names", None) or _names(exported))
    return [_renamed(code, names) for code in dict.fromkeys(codes) if "L['self']" not in code]


def _name(source: Any) -> str:
    return str(source.name() if callable(source.name) else source.name)


def _environment(exported: Any) -> Any:
    """The environment of the symbols of a program; None if it has no symbols."""
    import torch

    for node in exported.graph.nodes:
        value = node.meta.get("val")
        for size in (*getattr(value, "shape", ()), value):
            if isinstance(size, torch.SymInt):
                return getattr(size.node, "shape_env", None)
    return None


def _names(exported: Any) -> list[str]:
    """The names of positional inputs, where the program has one for each argument."""
    specs = [spec for spec in exported.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
    return [str(getattr(spec.arg, "name", "")) for spec in specs]


def _renamed(code: str, names: list[str]) -> str:
    def name(found: Any) -> str:
        place = int(found[1])
        return f"L[{names[place]!r}]" if place < len(names) else found[0]

    return _KEYWORD.sub(r"L\1", _POSITION.sub(name, code))
