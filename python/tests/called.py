"""A module that calls a function: for tests of what the code of a model may do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn


class Calls(nn.Module):
    """A module whose `forward` is a function of one tensor."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(x)
