"""`fade.py save CURVE ..` writes CURVE.pt2 for each. `fade.py compare CURVE ..` runs each CURVE.onnx and compares its results with PyTorch."""

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
    def __init__(self, curve):
        super().__init__()
        self.curve = curve

    def forward(self, x):
        return fade_in(x, self.curve).abs()


def save(curve):
    torch.export.save(torch.export.export(Model(curve), (torch.randn(2, 9),)), f"{curve}.pt2")


def compare(curve):
    import numpy as np
    import onnxruntime

    x = torch.randn(2, 9)
    (found,) = onnxruntime.InferenceSession(f"{curve}.onnx").run(None, {"x": x.numpy()})
    np.testing.assert_allclose(found, Model(curve)(x).numpy(), rtol=1e-5, atol=1e-6)
    print(f"{curve}: the same")


if __name__ == "__main__":
    for name in sys.argv[2:]:
        {"save": save, "compare": compare}[sys.argv[1]](name)
