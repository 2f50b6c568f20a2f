"""Models that compute gradients in `forward` and leave it to their caller that gradients are on, as they are when nobody turned them off."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch

Found = TypeVar("Found")

#: What PyTorch says where a gradient is asked for and none was kept.
_MISSING = (
    "does not require grad",
    "does not have a grad_fn",
    "None of the outputs require gradients",
    "Trying to use forward AD with",
    "appears to not have been used in the graph",
)


def needs_gradients(error: BaseException) -> bool:
    """Whether a model failed because gradients are off."""
    return isinstance(error, RuntimeError) and any(text in str(error) for text in _MISSING)


def called(call: Callable[[], Found]) -> Found:
    """The result of a call of a model without gradients; with them, if the model computes gradients itself and asks for that.

    Raises:
        Exception: What the model raises.
    """
    try:
        with torch.no_grad():
            return call()
    except RuntimeError as error:
        if not needs_gradients(error):
            raise
    with torch.enable_grad():
        return call()


__all__ = ["called", "needs_gradients"]
