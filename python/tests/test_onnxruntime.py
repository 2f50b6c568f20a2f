"""Forms that ONNX Runtime gets wrong are avoided without a target, too."""

from __future__ import annotations

import aten2onnx
import pytest
import torch
import torch.nn.functional as F
from torch import nn


class PadAndPool(nn.Module):
    """A pool of zeros: ONNX Runtime would make the padding a part of the pool, which pads with the lowest number."""

    def __init__(self, **options) -> None:
        super().__init__()
        self.options = options

    def forward(self, x):
        return F.max_pool2d(F.pad(x, (1, 1, 1, 1)), 3, 2, **self.options)


@pytest.mark.parametrize("opset", [9, 10, 11, 13, 18, 22, 26])
@pytest.mark.parametrize("options", [{}, {"padding": 1}, {"ceil_mode": True}, {"dilation": 2}, {"padding": 1, "ceil_mode": True, "dilation": 2}], ids=str)
def test_zeros_before_a_pool_count(opset, options) -> None:
    x = -1 - torch.rand(2, 3, 8, 9)
    program = aten2onnx.export(PadAndPool(**options).eval(), (x,), opset_version=opset)
    torch.testing.assert_close(program(x)[0], PadAndPool(**options)(x))
    operators = [node.op_type for node in program.model_proto.graph.node]
    assert "MaxPool" in operators or "ReduceMax" in operators


class TransposedTimesVector(nn.Module):
    """ONNX Runtime would fuse the transposition with the product, and then read the vector wrong."""

    def forward(self, x, stack, v):
        products = [x.t() @ v, torch.mv(2 * x.t(), v), torch.addmv(v[:3], x.t(), v), stack.transpose(1, 2) @ v, stack.half().transpose(1, 2).float() @ v]
        return [*products, v @ x, x @ v[:3]]


@pytest.mark.parametrize("opset", [9, 13, 18, 24])
def test_a_transposed_matrix_is_multiplied_by_a_vector(opset) -> None:
    inputs = (torch.randn(5, 3), torch.randn(2, 5, 4), torch.randn(5))
    program = aten2onnx.export(TransposedTimesVector(), inputs, opset_version=opset)
    torch.testing.assert_close(list(program(*inputs)), TransposedTimesVector()(*inputs))
