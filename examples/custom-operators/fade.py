"""`fade.py save CURVE` writes fade.pt2. `fade.py compare CURVE` runs fade.onnx and compares its results with PyTorch."""

import sys

import torch


@torch.library.custom_op("mylib::fade_in", mutates_args=())
def fade_in(x: torch.Tensor, curve: str) -> torch.Tensor:
    steps = torch.linspace(0, 1, x.shape[-1])
    return x * (steps if curve == "linear" else (steps * torch.pi / 2).sin())


@fade_in.register_fake
def _(x, curve):
    return torch.empty_like(x)


class Model(torch.nn.Module):
    def forward(self, x):
        return fade_in(x, sys.argv[2]).abs()


if sys.argv[1] == "save":
    torch.export.save(torch.export.export(Model(), (torch.randn(2, 9),)), "fade.pt2")
else:
    import numpy as np
    import onnxruntime

    x = torch.randn(2, 9)
    (found,) = onnxruntime.InferenceSession("fade.onnx").run(None, {"x": x.numpy()})
    np.testing.assert_allclose(found, Model()(x).numpy(), rtol=1e-5, atol=1e-6)
    print("the same")
