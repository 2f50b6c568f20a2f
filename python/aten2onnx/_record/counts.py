"""`torch.Size.numel()`, which multiplies plain numbers. While a run is recorded, it multiplies numbers that remember.

`torch.Size` is a class of C and has no attributes that Python may set: the function is put into the dictionary of the class.
"""

from __future__ import annotations

import ctypes
import gc
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

_NUMEL = torch.Size.numel
#: The dictionary behind `torch.Size.__dict__`, which is a view of it. None where Python has no such thing.
_METHODS: Any = next((found for found in gc.get_referents(torch.Size.__dict__) if type(found) is dict and found.get("numel") is _NUMEL), None)


def _numel(sizes: Any) -> Any:
    return math.prod(tuple(sizes))


def _put(function: Any) -> None:
    _METHODS["numel"] = function
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(torch.Size))  # Python remembers what it has found in a class


@contextmanager
def counted() -> Iterator[None]:
    """Lets `numel` of the sizes of a tensor be a number that remembers while the block runs."""
    if _METHODS is None:
        yield
        return
    _put(_numel)
    try:
        yield
    finally:
        _put(_NUMEL)
