"""Exports programs with their backward passes and compares the gradients in ONNX Runtime with those of PyTorch.

    gradients.py PATH-OF-aten2onnx

Prints a line for each difference, and exits with 1 if there is one.
"""
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnxruntime as ort
import torch
import torch.nn.functional as F
from torch import nn
from torch.export.experimental import _export_forward_backward

warnings.simplefilter("ignore")


class Image(nn.Module):
    """Convolution, normalization, activations, pools and interpolation."""

    inputs = (torch.randn(2, 3, 16, 16), torch.tensor([1, 3]))

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ConvTranspose2d(8, 4, 3, groups=2)
        self.batch, self.group, self.last = nn.BatchNorm2d(8).eval(), nn.GroupNorm(2, 8), nn.Linear(4, 5)

    def forward(self, x, target):
        x = F.gelu(self.group(F.silu(self.batch(self.first(x)))))
        x = F.interpolate(F.max_pool2d(x, 2), scale_factor=2.0, mode="bilinear")
        x = F.hardswish(self.second(F.avg_pool2d(x, 3, 1, padding=1, count_include_pad=False)))
        return F.cross_entropy(self.last(F.adaptive_avg_pool2d(x, 1).flatten(1)), target)


class Text(nn.Module):
    """Embedding, attention and layer normalization."""

    inputs = (torch.tensor([[1, 4, 4], [0, 2, 1]]), torch.randn(2, 3, 8))

    def __init__(self):
        super().__init__()
        self.words, self.norm, self.out = nn.Embedding(10, 8, padding_idx=0), nn.LayerNorm(8), nn.Linear(8, 8)

    def forward(self, ids, target):
        x = self.norm(self.words(ids))
        weights = torch.softmax(x @ x.transpose(-1, -2), -1)
        return F.smooth_l1_loss(torch.tanh(self.out(F.elu(weights @ x))), target)


def differences(tool, module, opset, folder):
    archive, model = Path(folder, "program.pt2"), Path(folder, "model.onnx")
    program = _export_forward_backward(torch.export.export(module, module.inputs))
    torch.export.save(program, archive)
    subprocess.run([tool, "export", archive, "-o", model, "--opset", str(opset)], check=True, stderr=subprocess.DEVNULL)
    session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    feeds = {i.name: x.numpy() for i, x in zip(session.get_inputs(), module.inputs)}
    loss = module(*module.inputs)
    loss.backward()
    wanted = [loss.detach(), *(p.grad for p in module.parameters())]
    found = session.run(None, feeds)
    if len(found) != len(wanted):
        return [f"{len(found)} results, wanted {len(wanted)}"]
    names = ["loss", *dict(module.named_parameters())]
    return [n for n, a, b in zip(names, found, wanted) if not np.allclose(a, b.numpy(), 1e-3, 1e-5)]


def main():
    failed = 0
    for kind in (Image, Text):
        for opset in (9, 18):
            torch.manual_seed(0)
            with tempfile.TemporaryDirectory() as folder:
                wrong = differences(sys.argv[1], kind(), opset, folder)
            if wrong:
                failed += 1
                print(f"{kind.__name__} at opset {opset}: {', '.join(wrong)}")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
