"""Models that compute gradients in `forward` and leave it to their caller that gradients are on."""

from __future__ import annotations

from typing import Any

import aten2onnx
import pytest
import torch


class Forces(torch.nn.Module):
    """The energy of atoms and its gradient, as models of molecules compute it."""

    def __init__(self) -> None:
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.SiLU(), torch.nn.LayerNorm(8), torch.nn.Linear(8, 1))
        self.register_buffer("scale", torch.tensor(2.0))

    def forward(self, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        positions = positions.detach().requires_grad_()
        distances = (positions[:, None] - positions[None]).pow(2).sum(-1)
        energy = (self.net(positions).sum() + torch.exp(-distances).sum()) * self.scale
        return energy, -torch.autograd.grad(energy, positions)[0]


class Backward(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.clone().requires_grad_()
        (y.sin() * y).sum().backward()
        assert y.grad is not None
        return y.grad


class Curvature(torch.nn.Module):
    """Its inner activation has a derivative in forward mode only where gradients are on."""

    def __init__(self) -> None:
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.SiLU(), torch.nn.Linear(8, 1))

    def forward(self, x: torch.Tensor) -> Any:
        return torch.func.vmap(torch.func.hessian(lambda point: self.net(point).squeeze(-1)))(x)


@pytest.mark.parametrize("shapes", [None, ({0: "n"},), "auto"], ids=["static", "dynamic", "auto"])
@pytest.mark.parametrize("kind", [Forces, Backward, Curvature])
def test_gradients_are_on_for_a_model_that_needs_them(kind: type[torch.nn.Module], shapes: Any) -> None:
    torch.manual_seed(0)
    model, x = kind().eval(), torch.randn(4, 3)
    with torch.no_grad(), pytest.raises(RuntimeError):
        model(x)
    program = aten2onnx.export(model, (x,), dynamic_shapes=shapes, capture="record", verify=True)
    for other in (x + 1, torch.randn(6, 3)) if shapes else (x + 1,):
        wanted = model(other)
        for want, got in zip(wanted if isinstance(wanted, tuple) else (wanted,), program(other)):
            torch.testing.assert_close(got, want.detach(), rtol=1e-4, atol=1e-5)
    assert torch.is_grad_enabled() and all(parameter.grad is None for parameter in model.parameters())


class Broken(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.autograd.grad(x.sum(), x)[0]


def test_a_model_that_has_no_gradient_either_way_is_an_error_with_its_line() -> None:
    with pytest.raises(aten2onnx.CaptureError, match=r"does not require grad(.|\n)*in forward"):
        aten2onnx.export(Broken(), (torch.randn(3),), capture="record")
