"""Exports a small model to `model.onnx` at opset 13 and compares the results with PyTorch: `python examples/minimal/export.py`."""

import torch
from torch import nn

import aten2onnx

model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2)).eval()
x = torch.randn(3, 4)

# `dynamic_shapes` names the dimensions that may have other sizes; `verify` runs the result in ONNX Runtime.
program = aten2onnx.export(model, (x,), "model.onnx", opset_version=13, dynamic_shapes=({0: "batch"},), verify=True)
print(program.report)

# The same model with another batch size.
(y,) = program(torch.randn(5, 4))
assert y.shape == (5, 2)
