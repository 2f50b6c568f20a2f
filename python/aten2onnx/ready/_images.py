"""Images as bytes to what a model takes."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.nn import functional

from .._errors import ArgumentError


class Image(torch.nn.Module):
    """Images as bytes, resized and normalised.

    Input: uint8 `[n, h, w, c]`, 0 to 255; `h` and `w` are any sizes of at least 1, and `c` the number of channels, 1 to 4.
    Output: float32 `[n, c, height, width]`: `(x / 255 - mean) / std`, by channel.

    Without `letterbox` an image is stretched to the new size. With it, it keeps its shape, is put in the middle, and the border is filled: the
    size is `min(height, round(h * width / w))` by `min(width, round(w * height / h))`, halves are rounded up, and of an odd border the smaller part is
    at the top and left. A point of the output is at `(point - border) * h / new_h` of the image.

    Resizing is bilinear between the centres of pixels (`align_corners=False`), without rounding to bytes, as
    `torch.nn.functional.interpolate` does it.
    """

    mean: torch.Tensor
    std: torch.Tensor

    def __init__(
        self,
        height: int,
        width: int,
        *,
        mean: Sequence[float] = (0.0, 0.0, 0.0),
        std: Sequence[float] = (1.0, 1.0, 1.0),
        letterbox: bool = False,
        antialias: bool = False,
        fill: float = 114.0,
        reverse_channels: bool = False,
    ) -> None:
        """Describes what the model takes.

        Args:
            height: The height of the output, in pixels.
            width: Its width.
            mean: The mean of each channel, of values from 0 to 1: for ImageNet `(0.485, 0.456, 0.406)`.
            std: The standard deviation of each channel: for ImageNet `(0.229, 0.224, 0.225)`.
            letterbox: Whether images keep their shape.
            antialias: Whether images that become smaller are smoothed first, as in Pillow and by default in torchvision. ONNX has it from opset 18 on.
            fill: The value of the border of a letterbox, 0 to 255.
            reverse_channels: Whether the output has the channels in reverse order: BGR of RGB, or RGB of BGR.
        """
        super().__init__()
        if height < 1 or width < 1:
            raise ArgumentError(f"height and width: found {height} and {width}", help="pass sizes in pixels that are at least 1")
        if len(mean) != len(std) or not 1 <= len(mean) <= 4:
            raise ArgumentError(f"mean and std: found {len(mean)} and {len(std)} numbers", help="pass one of each for a channel")
        if any(value == 0 for value in std):
            raise ArgumentError("std: a channel has 0", help="pass 1 for a channel that is not scaled")
        self.height, self.width = height, width
        self.letterbox, self.antialias, self.fill, self.reverse_channels = letterbox, antialias, float(fill), reverse_channels
        self.register_buffer("mean", torch.tensor([float(value) for value in mean]).reshape(1, -1, 1, 1) * 255, persistent=False)
        self.register_buffer("std", torch.tensor([float(value) for value in std]).reshape(1, -1, 1, 1) * 255, persistent=False)
        self.eval()

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """Prepares images."""
        x = image.permute(0, 3, 1, 2).to(torch.float32)
        if self.reverse_channels:
            x = x.flip(1)
        return (self._resized(x) - self.mean) / self.std

    def _resized(self, x: torch.Tensor) -> torch.Tensor:
        height, width = self.height, self.width
        if not self.letterbox:
            return functional.interpolate(x, size=(height, width), mode="bilinear", align_corners=False, antialias=self.antialias)
        h, w = x.shape[2], x.shape[3]
        # Whole numbers alone: `round(h * width / w)` with halves up, and at least 1.
        inner_h = torch.sym_max(1, torch.sym_min(height, (2 * h * width + w) // (2 * w)))
        inner_w = torch.sym_max(1, torch.sym_min(width, (2 * w * height + h) // (2 * h)))
        x = functional.interpolate(x, size=(inner_h, inner_w), mode="bilinear", align_corners=False, antialias=self.antialias)
        top, left = (height - inner_h) // 2, (width - inner_w) // 2
        return functional.pad(x, (left, width - inner_w - left, top, height - inner_h - top), value=self.fill)
