"""What a model is told of the classes of values while it is recorded: that of a run that is not."""

from __future__ import annotations

import numbers
from pathlib import Path
from typing import Any

import aten2onnx
import numpy as np
import pytest
import torch
from torch import nn


class Asks(nn.Module):
    """Doubles its argument if the answer is yes."""

    def __init__(self, question: Any) -> None:
        super().__init__()
        self.question = question

    def forward(self, x):
        return x * 2 if self.question(x) else x


QUESTIONS: dict[str, Any] = {
    "int is": lambda x: type(x.shape[0]) is int,
    "int ==": lambda x: type(x.shape[0]) == int,  # noqa: E721
    "int in": lambda x: type(len(x)) in (float, int),
    "float is": lambda x: type(x.shape[0] / 2) is float,
    "float of an element": lambda x: type(x.sum().item()) is float,
    "bool is": lambda x: type(x.shape[0] > 3) is bool,
    "bool": lambda x: isinstance(x.shape[0] > 3, bool),
    "a bool is an int": lambda x: isinstance(x.shape[0] > 3, int),
    "an int is no bool": lambda x: not isinstance(x.shape[0], bool) and type(x.shape[0]) is not bool,
    "number": lambda x: isinstance(x.shape[0], numbers.Integral) and isinstance(x.shape[0], (np.integer, numbers.Number)),
    "union": lambda x: isinstance(x.shape[0], int | float),
    "tensor is": lambda x: type(x) is torch.Tensor and type(x + 1) == torch.Tensor,  # noqa: E721
    "name": lambda x: type(x).__name__ == "Tensor",
    "table": lambda x: {torch.Tensor: True, list: False}.get(type(x), False) and {int: True}.get(type(x.shape[0]), False),
    "a class makes values": lambda x: type(x.shape[0])("3") == 3,
    "a bool is a kind of int": lambda x: issubclass(bool, int) and issubclass(type(x.shape[0] > 3), int) and bool(x.shape[0]),
    "a class is a type": lambda x: isinstance(int, type) and issubclass(type(x.shape[0]), int),
    "array is": lambda x: type(x.numpy()) is np.ndarray,
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_value_has_the_class_that_it_has_in_a_plain_run(name):
    model = Asks(QUESTIONS[name]).eval()
    assert model.question(torch.randn(6, 4))
    program = aten2onnx.export(model, (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")
    for n in (2, 5, 6, 9):
        x = torch.randn(n, 4)
        torch.testing.assert_close(program(x)[0], model(x))


def test_a_class_that_numpy_gets_does_not_hide_sizes(tmp_path):
    # `dtype=int` needs Python's own class: so `int` is that in the whole file.
    text = """
import numpy as np
from torch import nn

class Model(nn.Module):
    def forward(self, x):
        offsets = np.zeros(3, dtype=int)
        return x * 2 + offsets.sum() if isinstance(x.shape[0], int) and type(x.shape[0]) is int else x
"""
    model = _module(tmp_path, text)
    program = aten2onnx.export(model, (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")
    x = torch.randn(3, 4)
    torch.testing.assert_close(program(x)[0], model(x))


OTHERWISE = {
    "class": "return x * 2 if n.__class__ is int else x",
    "singledispatch": "return x * doubled(n)",
    "match": "match n:\n            case int(n):\n                return x * 2\n        return x",
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_a_model_that_asks_for_a_class_in_another_way_is_tried_out(name, tmp_path):
    text = f"""
from functools import singledispatch
import numpy as np
from torch import nn

@singledispatch
def doubled(n):
    return 1

@doubled.register
def _(n: int):
    return 2

class Model(nn.Module):
    def forward(self, x):
        n, offsets = x.shape[0], np.zeros(3, dtype=int)
        {OTHERWISE[name]}
"""
    with pytest.raises(aten2onnx.CaptureError, match="(?s)(the model asks for the class of a value, or compares it by `is`, and does something else for that of a recording|sub-patterns).*model_of_classes.py"):
        aten2onnx.export(_module(tmp_path, text), (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")


def _module(folder: Path, text: str) -> nn.Module:
    import importlib.util

    file = folder / "model_of_classes.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made: nn.Module = module.Model().eval()
    return made


class Segments(nn.Module):
    def forward(self, x, offsets):
        return torch.segment_reduce(x, "amax", offsets=offsets)


def test_places_that_a_smaller_size_lacks_are_not_tried():
    """`torch.segment_reduce` asks for classes, and reads beyond its input where an offset is larger."""
    program = aten2onnx.export(Segments(), (torch.randn(6, 2), torch.tensor([0, 2, 6])), dynamic_shapes={"x": {0: "n"}, "offsets": None})
    x, offsets = torch.randn(9, 2), torch.tensor([0, 5, 9])
    assert torch.equal(torch.as_tensor(program(x, offsets)[0]), Segments()(x, offsets))
