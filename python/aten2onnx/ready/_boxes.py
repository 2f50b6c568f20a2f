"""The boxes that a detector finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from .._errors import ArgumentError, require
from ._classes import names


class Detections(torch.nn.Module):
    """The boxes of a YOLO-like detector: decoded, without those of low scores, and without those that overlap a better one of their class
    (non-maximum suppression). It needs torchvision.

    Input: float32 `[n, 4 + classes, anchors]`, as YOLOv8 and later return it: the centre, width and height of each box, and the scores of its classes;
    with `objectness`, `[n, anchors, 5 + classes]`, as YOLOv5 does: after the box how likely it is one, which the scores are multiplied with.
    Outputs, of `count` boxes in all images; `count` may be 0:
        boxes `[count, 4]`, float32: left, top, right, bottom, in the units of the input;
        scores `[count]`, float32, the best first in all images;
        classes `[count]`, int64;
        images `[count]`, int64: the number of the image, 0 to n - 1.

    With `labels`, the file has the metadata `names`: `{"0": "cat", "1": "dog"}` as JSON.
    """

    def __init__(
        self,
        *,
        score: float = 0.25,
        overlap: float = 0.45,
        objectness: bool = False,
        labels: Sequence[str] | Mapping[int, str] | None = None,
        most: int | None = None,
    ) -> None:
        """Describes what is wanted.

        Args:
            score: Boxes with less are left out.
            overlap: Boxes whose intersection with a better one of their class and image, divided by their union, is larger are left out.
            objectness: Whether the input has the form of YOLOv5.
            labels: The names of the classes, in order or by number.
            most: The most boxes of all images together (default: all).
        """
        super().__init__()
        for name, value in (("score", score), ("overlap", overlap)):
            if not 0 <= value <= 1:
                raise ArgumentError(f"{name}: found {value}", help="pass a number from 0 to 1")
        if most is not None and most < 1:
            raise ArgumentError(f"most: found {most}", help="pass a number of boxes that is at least 1")
        self.score, self.overlap, self.objectness, self.most = float(score), float(overlap), objectness, most
        self.onnx_metadata = names(labels)
        require("torchvision", "non-maximum suppression")
        self.eval()

    def forward(self, found: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Returns boxes, scores, classes and images."""
        from torchvision.ops import nms

        if self.objectness:
            centres, scores = found[..., :4], found[..., 5:] * found[..., 4:5]
        else:
            found = found.transpose(1, 2)
            centres, scores = found[..., :4], found[..., 4:]
        half = centres[..., 2:] / 2
        boxes = torch.cat([centres[..., :2] - half, centres[..., :2] + half], -1)
        best, classes = scores.max(-1)
        images, anchors = (best >= self.score).nonzero(as_tuple=True)
        boxes, best, classes = boxes[images, anchors], best[images, anchors], classes[images, anchors]
        # Boxes of other classes and images are put where they cannot overlap.
        group = (images * scores.shape[-1] + classes).to(boxes.dtype)
        apart = boxes + (group * _extent(boxes)).unsqueeze(1)
        kept = nms(apart, best, self.overlap)
        if self.most is not None:
            kept = kept[: self.most]
        return boxes[kept], best[kept], classes[kept], images[kept]


def _extent(boxes: torch.Tensor) -> torch.Tensor:
    """A length that is larger than the distance of any two points of boxes; there may be no box."""
    none = boxes.new_zeros(1, 4)
    all_boxes = torch.cat([boxes, none])
    return all_boxes.amax() - all_boxes.amin() + 1
