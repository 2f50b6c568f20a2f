"""Puts a model back as it was before a run: attributes, buffers, containers in attributes, and the generator of random numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def restored(model: torch.nn.Module) -> Iterator[None]:
    """While the block runs, the model may change; afterwards it is as before, also after an error."""
    saved = [(module, dict(vars(module)), _containers(vars(module))) for module in model.modules()]
    cuda = [torch.cuda.current_device()] if torch.cuda.is_available() and torch.cuda.is_initialized() else []
    try:
        with torch.random.fork_rng(devices=cuda):
            yield
    finally:
        for module, attributes, containers in saved:
            now = vars(module)
            if list(now) != list(attributes) or any(now[name] is not value for name, value in attributes.items()):
                now.clear()
                now.update(attributes)
            for container, copy in containers:
                _refill(container, copy)


@contextmanager
def untouched(model: torch.nn.Module) -> Iterator[None]:
    """The same, and the elements of buffers as well: for runs that no recorder watches."""
    copies = [(buffer, buffer.detach().clone()) for buffer in model.buffers()]
    try:
        with restored(model):
            yield
    finally:
        for buffer, copy in copies:
            buffer.data.copy_(copy)


def _containers(attributes: dict[str, Any]) -> list[tuple[Any, Any]]:
    """The lists, dictionaries and sets among the values of attributes, each with a copy."""
    return [(value, value.copy()) for value in attributes.values() if isinstance(value, (list, dict, set)) and hasattr(value, "copy")]


def _refill(container: Any, copy: Any) -> None:
    if isinstance(container, list):
        if len(container) != len(copy) or any(a is not b for a, b in zip(container, copy)):
            container[:] = copy
    elif isinstance(container, dict):
        if list(container) != list(copy) or any(container[name] is not value for name, value in copy.items()):
            container.clear()
            container.update(copy)
    elif container != copy:
        container.clear()
        container.update(copy)
