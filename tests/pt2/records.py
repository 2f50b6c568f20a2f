"""Exports programs whose records are true though they look different from what rules infer, and compares the models with PyTorch.

    records.py PATH-OF-aten2onnx
"""
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from torch.export import Dim

warnings.simplefilter("ignore")


def chunk(x):
    return x.chunk(2)


def unsafe_chunk(x):
    return torch.unsafe_chunk(x, 2)


def split(x):
    return x.split(3)[0], x.split([2, x.shape[0] - 2])[1]


def slice_scatter(x, y):
    return torch.slice_scatter(x, y, 0, 0, 3)


def multiple(x):
    if x.shape[0] % 2 == 0:
        return x.reshape(x.shape[0] // 2, 2, -1).flatten(0, 1)[: x.shape[0] // 2 * 2] + 1
    return x


def arithmetic(x):
    n = x.shape[0]
    return x[: int(n * 0.5)], x.new_zeros(max(n - 2, 1)), x[: n // 2 + n % 2]


def from_data(x, n):
    k = n.item()
    torch._check(k >= 2)
    torch._check(k <= x.shape[0])
    return x.narrow(0, 0, k).sum(0), x.new_zeros(k * 2 + 1), x.new_zeros((k + 3) // 2), x.new_zeros(max(k, 2))


def even(x, n):
    k = n.item()
    torch._check(k >= 2)
    torch._check(k <= 8)
    torch._check(k % 2 == 0)
    return x.new_zeros(k).reshape(k // 2, 2), x.new_zeros(k % 2 + k), x.new_zeros((k + 1) // 2)


def parts(x, n):
    k = n.item()
    torch._check(k >= 2)
    torch._check(x.shape[0] - k >= 2)
    return x.split([k, x.shape[0] - k])


def found(x):
    places = x.round().nonzero()
    return x.new_zeros(places.shape[0] * 2 + 1), places.flatten()


N = Dim.AUTO
FOUR = torch.tensor(4)
CASES = [
    (chunk, (torch.randn(5, 3),), ({0: N, 1: N},)),
    (unsafe_chunk, (torch.randn(6, 3),), ({0: N},)),
    (split, (torch.randn(5, 3),), ({0: N},)),
    (slice_scatter, (torch.randn(5, 4), torch.randn(3, 4)), ({0: N, 1: N}, {0: N, 1: N})),
    (multiple, (torch.randn(6, 3),), ({0: N, 1: N},)),
    (arithmetic, (torch.randn(7, 3),), ({0: N},)),
    (from_data, (torch.randn(7, 3), FOUR), ({0: N}, None)),
    (even, (torch.randn(7, 3), FOUR), ({0: N}, None)),
    (parts, (torch.randn(7, 3), FOUR), ({0: N}, None)),
    (found, (torch.randn(7, 3),), ({0: N},)),
]


def check(tool, function, inputs, shapes, folder):
    module = type("Model", (torch.nn.Module,), {"forward": lambda self, *args: function(*args)})()
    # The arguments of the signature are those of the function.
    module.forward = function
    program = torch.export.export(module, inputs, dynamic_shapes=shapes)
    archive, model = Path(folder, "program.pt2"), Path(folder, "model.onnx")
    torch.export.save(program, archive)
    subprocess.run([tool, "export", archive, "-o", model, "--quiet"], check=True)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    found = session.run(None, {i.name: x.numpy() for i, x in zip(session.get_inputs(), inputs)})
    wanted = torch.utils._pytree.tree_leaves(function(*inputs))
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted):
        np.testing.assert_allclose(a, b.numpy(), 1e-5)


def main():
    for function, inputs, shapes in CASES:
        with tempfile.TemporaryDirectory() as folder:
            check(sys.argv[1], function, inputs, shapes, folder)
        print("right", function.__name__)


if __name__ == "__main__":
    main()
