"""Puts a model back as it was before a run: attributes, buffers, containers in attributes, the generator of random numbers, and flags of PyTorch."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from operator import is_not, ne
from typing import Any

import torch


#: What PyTorch has one of in a process, and a model may set: how it is read, and how it is set.
_FLAGS: list[tuple[Callable[[], Any], Callable[[Any], None]]] = [
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    (torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms),
    (torch._C._get_mkldnn_enabled, torch._C._set_mkldnn_enabled),
    *((partial(torch.is_autocast_enabled, device), partial(torch.set_autocast_enabled, device)) for device in ("cpu", "cuda")),
    *((partial(torch.get_autocast_dtype, device), partial(torch.set_autocast_dtype, device)) for device in ("cpu", "cuda")),
]


#: What PyTorch itself keeps in a module.
_OF_MODULES = frozenset(vars(torch.nn.Module()))


@contextmanager
def restored(model: torch.nn.Module, changed: set[str] | None = None) -> Iterator[None]:
    """While the block runs, the model may change; afterwards it is as before, also after an error. `changed` is given the names of attributes that were changed."""
    saved = [(module, dict(vars(module)), _containers(vars(module))) for module in model.modules()]
    flags = [(get, put, get()) for get, put in _FLAGS]
    try:
        with torch.random.fork_rng(devices=_cuda_in_use()):
            yield
    finally:
        if changed is not None:
            changed.update(name for module, attributes, containers in saved for name in _changed(vars(module), attributes, containers))
        for get, put, before in flags:
            if get() != before:
                put(before)
        for module, attributes, containers in saved:
            now = vars(module)
            if len(now) != len(attributes) or any(map(is_not, now.values(), attributes.values())) or any(map(ne, now, attributes)):
                now.clear()
                now.update(attributes)
            for container, copy in containers:
                _refill(container, copy)


def _changed(now: dict[str, Any], before: dict[str, Any], containers: list[tuple[Any, Any]]) -> Iterator[str]:
    """The names of attributes that are others than before, or hold others."""
    copies = {id(container): copy for container, copy in containers}
    for name, value in now.items():
        copy = copies.get(id(value))
        is_same = value is before.get(name, now) and (id(value) not in copies or _is_copy(value, copy))
        if not is_same and name not in _OF_MODULES:
            yield name


def _is_copy(container: Any, copy: Any) -> bool:
    if copy is None or len(container) != len(copy):
        return not container and copy is None
    values = [each.values() if isinstance(each, dict) else each for each in (container, copy)]
    return container == copy if isinstance(container, set) else not any(map(is_not, *values))


def seed_generators() -> None:
    """Seeds the generators that `restored` puts back, so that each run draws the same numbers. `torch.manual_seed` would also seed a device that
    nobody has used yet, as soon as somebody does."""
    torch.default_generator.manual_seed(0)
    if _cuda_in_use():
        torch.cuda.manual_seed(0)


def _cuda_in_use() -> list[int]:
    """The current device of CUDA, if CUDA is in use."""
    return [torch.cuda.current_device()] if torch.cuda.is_available() and torch.cuda.is_initialized() else []


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
    """The lists, dictionaries, sets and deques among the values of attributes, each with a copy; None for an empty one, as most of PyTorch's are."""
    return [(value, value.copy() if value else None) for value in attributes.values() if isinstance(value, (list, dict, set, deque)) and hasattr(value, "copy")]


def _refill(container: Any, copy: Any) -> None:
    if copy is None:
        if container:
            container.clear()
    elif isinstance(container, list):
        if len(container) != len(copy) or any(map(is_not, container, copy)):
            container[:] = copy
    elif isinstance(container, deque):
        if len(container) != len(copy) or any(map(is_not, container, copy)):
            container.clear()
            container.extend(copy)
    elif isinstance(container, dict):
        if len(container) != len(copy) or any(map(is_not, container.values(), copy.values())) or any(map(ne, container, copy)):
            container.clear()
            container.update(copy)
    elif container != copy:
        container.clear()
        container.update(copy)
