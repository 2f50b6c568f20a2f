"""The graphs that a program is made of: that of the model, and one for each body of a higher-order operator.

A body reads values from outside through placeholders, as torch.export writes it: these are the last operands of the operator.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import _lazy_graph_module as lazy


def graph_module(root: torch.nn.Module, graph: torch.fx.Graph) -> torch.fx.GraphModule:
    """A module of a graph, whose code in Python is made only if somebody calls it."""
    with lazy._use_lazy_graph_module(True):
        made: torch.fx.GraphModule = lazy._make_graph_module(root, graph)
    return made


class Scope:
    """A graph that nodes are added to.

    Attributes:
        numbers: The nodes of numbers, by their expression.
        lifted: What it reads from outside, by key, with its placeholder.
        root: The module that the graphs in it belong to.
    """

    def __init__(self, outer: Scope | None = None) -> None:
        self.graph = torch.fx.Graph()
        self.root = torch.nn.Module()
        self.numbers: dict[Any, Any] = {}
        self.lifted: dict[Any, tuple[Any, Any]] = {}
        self.position = 0
        self._last: Any = None
        if outer is not None:
            self.graph._graph_namespace = outer.graph._graph_namespace  # so that all names differ

    def parameter(self, name: str, described: Any) -> Any:
        """A placeholder after those that there are."""
        node = self.graph.placeholder(name)
        node.target = node.name  # a name that another one has gets a number
        node.meta["val"] = described
        (self._last or self.graph._root).append(node)
        self._last = node
        return node

    def move_last(self, node: Any) -> None:
        """Moves a placeholder after all others."""
        if self._last is not node:
            self._last.append(node)
            self._last = node

    def lift(self, key: Any, outer: Any, name: str, described: Any) -> Any:
        """The placeholder for something from outside."""
        found = self.lifted.get(key)
        if found is None:
            found = self.lifted[key] = (outer, self.parameter(name, described))
        return found[1]

    def add(self, name: str, graph: torch.fx.Graph, root: torch.nn.Module) -> Any:
        """The node that stands for a nested graph."""
        place = f"{name}_{len(list(self.root.children()))}"
        setattr(self.root, place, graph_module(root, graph))
        return self.graph.get_attr(place)


def lift_alike(bodies: list[Scope]) -> list[Any]:
    """Gives the bodies of an operator the same operands. Returns what these are."""
    operands: dict[Any, tuple[Any, Any]] = {}
    for body in bodies:
        for key, (outer, node) in body.lifted.items():
            operands.setdefault(key, (outer, node))
    for body in bodies:
        own = body.lifted
        body.lifted = {}
        for key, (outer, node) in operands.items():
            known = own.get(key)
            if known is None:
                body.lift(key, outer, f"{node.name}_unread", node.meta["val"])
            else:
                body.lifted[key] = known
                body.move_last(known[1])
    return [outer for outer, _ in operands.values()]
