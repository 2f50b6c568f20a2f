"""Keeps composite operators whole, if there is a rule for them: otherwise PyTorch would run their parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import torch
from torch._C import DispatchKey
from torch.utils._python_dispatch import _disable_current_modes

from .recorder import Recorder
from .tensors import Tracked, has_foreign

_KEY = DispatchKey.CompositeImplicitAutograd
#: Where the Python dispatcher has the parts of an operator that the library itself runs whole, such as `upsample_nearest2d`: they may round otherwise.
_KEYS = (_KEY, DispatchKey.Autograd)


def composites(names: Iterable[str]) -> list[Any]:
    """The overloads among these, by names such as `aten::linear` or `aten::add.Tensor`, that PyTorch takes apart."""
    found = []
    for name in names:
        namespace, _, rest = name.partition("::")
        packet, _, overload = rest.partition(".")
        operator = getattr(getattr(getattr(torch.ops, namespace, None), packet, None), overload or "default", None)
        if isinstance(operator, torch._ops.OpOverload) and _keys(operator):
            found.append(operator)
    return found


def _keys(operator: Any) -> list[Any]:
    """Under which keys PyTorch takes an operator apart."""
    found = [key for key in _KEYS if key in operator.py_kernels]
    return [_KEY, *(key for key in found if key != _KEY)] if _is_composite(operator.name()) else found


@lru_cache(maxsize=4096)
def _is_composite(name: str) -> bool:
    try:
        return bool(torch._C._dispatch_has_kernel_for_dispatch_key(name, "CompositeImplicitAutograd"))
    except RuntimeError:  # an operator of TorchScript alone
        return False


#: The operators that are kept whole now.
_kept: list[Any] | None = None


@contextmanager
def kept_whole(operators: list[Any]) -> Iterator[None]:
    """While the block runs, these operators arrive at the recorder as they are called. With gradients PyTorch needs their parts.

    A block inside of a block with the same list does nothing: PyTorch looks for each kernel again after a change.
    """
    global _kept
    if _kept is operators:
        yield
        return
    outer, _kept = _kept, operators
    before: list[tuple[Any, Any, Any]] = []

    def put(operator: Any, key: Any, kernel: Any) -> None:
        before.append((operator, key, operator.py_kernels.get(key)))
        operator.py_kernels[key] = kernel
        operator._dispatch_cache.clear()

    try:
        for operator in operators:
            for key in _keys(operator):
                put(operator, key, _kernel(operator, operator.py_kernels.get(key)))
        put(torch.ops.aten.is_nonzero.default, _KEY, _is_nonzero)
        yield
    finally:
        _kept = outer
        for operator, key, kernel in reversed(before):
            if kernel is None:
                operator.py_kernels.pop(key, None)
            else:
                operator.py_kernels[key] = kernel
            operator._dispatch_cache.clear()


def _kernel(operator: Any, before: Any) -> Any:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        recorder = Recorder.current
        if recorder is not None and not torch.is_grad_enabled() and _has_value(given := (*args, *kwargs.values())) and not has_foreign(given):
            with _disable_current_modes():
                if operator is torch.ops.aten.batch_norm.default and args[5]:
                    return _trained(recorder, *args)
                return recorder.call(operator, args, kwargs)
        if before is not None:
            return before(*args, **kwargs)
        return operator._op_dk(_KEY, *args, **kwargs)

    return kernel


def _trained(recorder: Recorder, x: Any, weight: Any, bias: Any, mean: Any, variance: Any, _: bool, momentum: float, eps: float, *others: Any) -> Any:
    """Batch normalization in training mode, with the writes to the statistics as calls of their own."""
    if mean is None:
        return recorder.call(torch.ops.aten._native_batch_norm_legit.no_stats, (x, weight, bias, True, momentum, eps), {})[0]
    functional = torch.ops.aten._native_batch_norm_legit_functional.default
    result, _, _, new_mean, new_variance = recorder.call(functional, (x, weight, bias, mean, variance, True, momentum, eps), {})
    recorder.call(torch.ops.aten.copy_.default, (mean, new_mean), {})
    recorder.call(torch.ops.aten.copy_.default, (variance, new_variance), {})
    return result


def _has_value(args: Iterable[Any]) -> bool:
    return any(isinstance(arg, Tracked) or (isinstance(arg, (list, tuple)) and _has_value(arg)) for arg in args)


def _is_nonzero(tensor: Any) -> bool:
    """A branch on the element of a tensor."""
    recorder = Recorder.current
    if recorder is None or not isinstance(tensor, Tracked):
        return bool(torch.ops.aten.is_nonzero.default._op_dk(_KEY, tensor))
    with _disable_current_modes():
        item = recorder.call(torch.ops.aten._local_scalar_dense.default, (tensor,), {})
    return bool(item) if not isinstance(item, (torch.SymInt, torch.SymFloat)) else bool(item != 0)
