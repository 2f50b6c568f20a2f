"""Models that call `torch.autograd.functional.jacobian` and `hessian`, which take a turn for each element of a result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.autograd import functional
from torch.autograd.functional import jacobian

import aten2onnx


class Of(torch.nn.Module):
    def __init__(self, function: Callable[[Any, torch.Tensor], Any]) -> None:
        super().__init__()
        self.net = torch.nn.Linear(3, 3)
        self.function = function

    def forward(self, x: torch.Tensor) -> Any:
        return torch.utils._pytree.tree_leaves(self.function(self.net, x))


def sums(net: Any) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda x: torch.tanh(net(x)).sum(-1)


def slope_of_jacobian(net: Any, x: torch.Tensor) -> torch.Tensor:
    point = x.detach().requires_grad_()
    return torch.autograd.grad(functional.jacobian(sums(net), point, create_graph=True).pow(2).sum(), point)[0]


class Cubed(torch.autograd.Function):
    """In the older form, which `torch.func` refuses."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return 3 * ctx.saved_tensors[0] ** 2 * gradient


FUNCTIONS: dict[str, Callable[[Any, torch.Tensor], Any]] = {
    "one tensor": lambda net, x: functional.jacobian(sums(net), x),
    "imported by name": lambda net, x: jacobian(sums(net), x),
    "tuples": lambda net, x: functional.jacobian(lambda a, b: ((a * net(b)).sum(0), a.exp().sum()), (x, x * 2)),
    "independent": lambda net, x: functional.jacobian(lambda a, b: net(a).sum(0), (x, x * 2)),
    "vectorized": lambda net, x: functional.jacobian(sums(net), x, vectorize=True),
    "forward mode": lambda net, x: functional.jacobian(sums(net), x, vectorize=True, strategy="forward-mode"),
    "gradient of it": slope_of_jacobian,
    "hessian": lambda net, x: functional.hessian(lambda a: torch.tanh(net(a)).sum(), x),
    "hessian of tuples": lambda net, x: functional.hessian(lambda a, b: (a * net(b)).pow(3).sum(), (x, x * 2)),
}
#: They make a turn for each element, as PyTorch does.
UNROLLED: dict[str, Callable[[Any, torch.Tensor], Any]] = {
    "strict": lambda net, x: functional.jacobian(sums(net), x, strict=True),
    "older function": lambda net, x: functional.jacobian(lambda a: Cubed.apply(net(a)).sum(-1), x),
}


def hold(function: Callable[[Any, torch.Tensor], Any], shapes: Any, *rows: int) -> None:
    model, code = Of(function).eval(), functional.jacobian.__code__
    program = aten2onnx.export(model, (torch.randn(4, 3),), dynamic_shapes=shapes, capture="record", verify=True)
    assert functional.jacobian.__code__ is code and program.report.conditions == []
    for count in rows:
        x = torch.randn(count, 3)
        for want, got in zip(model(x), program(x), strict=True):
            torch.testing.assert_close(got, want.detach(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_jacobians_are_right_at_all_sizes(name: str) -> None:
    hold(FUNCTIONS[name], {"x": {0: "n"}}, 1, 2, 6)


@pytest.mark.parametrize("name", UNROLLED)
def test_others_are_right_at_one_size(name: str) -> None:
    hold(UNROLLED[name], None, 4)
    with pytest.raises(aten2onnx.CaptureError):
        aten2onnx.export(Of(UNROLLED[name]).eval(), (torch.randn(4, 3),), dynamic_shapes={"x": {0: "n"}}, capture="record")
