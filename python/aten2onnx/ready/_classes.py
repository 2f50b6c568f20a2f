"""The most likely classes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Literal

import torch

from .._errors import ArgumentError


class TopK(torch.nn.Module):
    """The most likely classes of a classifier.

    Input: scores `[.., classes]`, of any float dtype.
    Outputs: probabilities `[.., k]` of the same dtype, the largest first, and the classes `[.., k]`, int64. Of equal ones the lower class
    is first.

    With `labels`, the file has the metadata `names`: `{"0": "cat", "1": "dog"}` as JSON.
    """

    def __init__(
        self, k: int, *, labels: Sequence[str] | Mapping[int, str] | None = None, activation: Literal["softmax", "sigmoid", "none"] = "softmax"
    ) -> None:
        """Describes what is wanted.

        Args:
            k: The number of classes that are returned; all of a model with fewer.
            labels: The names of the classes, in order or by number.
            activation: What makes probabilities of scores: "softmax" over all classes, "sigmoid" for each class alone, or "none" if they are
                probabilities.
        """
        super().__init__()
        if k < 1:
            raise ArgumentError(f"k: found {k}", help="pass a number of classes that is at least 1")
        if activation not in ("softmax", "sigmoid", "none"):
            raise ArgumentError(f"activation: found {activation!r}", help="pass 'softmax', 'sigmoid' or 'none'")
        self.k, self.activation = k, activation
        self.onnx_metadata = names(labels)
        self.eval()

    def forward(self, scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns the probabilities and the classes."""
        if self.activation == "softmax":
            scores = scores.softmax(-1)
        elif self.activation == "sigmoid":
            scores = scores.sigmoid()
        # `topk` leaves open which of equal ones comes first.
        probabilities, classes = scores.sort(dim=-1, descending=True, stable=True)
        return probabilities[..., : self.k], classes[..., : self.k]


def names(labels: Sequence[str] | Mapping[int, str] | None) -> dict[str, str]:
    """The metadata for the names of classes."""
    if labels is None:
        return {}
    if isinstance(labels, str):
        raise ArgumentError("labels: found a text", help="pass the names of the classes as a list")
    pairs = labels.items() if isinstance(labels, Mapping) else enumerate(labels)
    return {"names": json.dumps({str(number): str(name) for number, name in pairs}, ensure_ascii=False)}
