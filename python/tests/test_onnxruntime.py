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


class Backwards(nn.Module):
    """ONNX Runtime makes a slice of rows that a range chooses. There, -1 is the last place, and not the one before the first."""

    def forward(self, x):
        n = x.shape[0]
        return x[torch.arange(n - 1, -1, -1)], x[torch.arange(-n, 0)], x[torch.arange(n - 4, n)], x[torch.arange(n)], x[list(range(n))[::-2]]


def test_ranges_that_choose_rows_from_the_end() -> None:
    model = Backwards().eval()
    program = aten2onnx.export(model, (torch.randn(6, 3),), dynamic_shapes={"x": {0: "n"}}, capture="record")
    for n in (2, 3, 6, 9):
        x = torch.randn(n, 3)
        for got, want in zip(program(x), model(x), strict=True):
            torch.testing.assert_close(got, want)


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
