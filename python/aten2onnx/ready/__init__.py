"""Modules to put before and after a model: `aten2onnx.export(model, (image,), before=Image(224, 224), after=TopK(5))`.

They are modules of PyTorch, exported like others: in eager mode they compute what the file does. All sizes that their inputs have may be
dynamic.
"""

from ._boxes import Detections
from ._classes import TopK
from ._images import Image
from ._sounds import LogMel

__all__ = ["Detections", "Image", "LogMel", "TopK"]
