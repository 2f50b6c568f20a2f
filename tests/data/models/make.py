"""Creates the small model that the README exports: `python tests/data/models/make.py`.

It is torchvision's MobileNetV3-Small with a width multiplier of 0.4, random weights and a dynamic batch. Two inputs and PyTorch's
results are written beside it. The same versions of torch and torchvision create the same files; `--check` compares
them with the existing ones.
"""

import argparse
import pathlib
import re
import sys
import tempfile

import numpy as np
import torch
import torchvision

HERE = pathlib.Path(__file__).parent
NAME = "mobilenet_like"


def model():
    """Returns the model. Its weights are uniformly distributed and scaled so that signals keep their magnitude in each layer."""
    torch.manual_seed(0)
    net = torchvision.models.mobilenet_v3_small(weights=None, width_mult=0.4, num_classes=100)
    for module in net.modules():
        if isinstance(module, (torch.nn.Conv2d, torch.nn.Linear)):
            bound = 1.4 * (3 / module.weight[0].numel()) ** 0.5
            torch.nn.init.uniform_(module.weight, -bound, bound)
        if isinstance(module, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(module.running_mean, -0.2, 0.2)
            torch.nn.init.uniform_(module.running_var, 0.5, 1.5)
            torch.nn.init.uniform_(module.weight, 0.5, 1.5)
            torch.nn.init.uniform_(module.bias, -0.2, 0.2)
    return net.eval()


def without_paths(program):
    """Removes local paths from stack traces, but keeps the line numbers."""
    for module in program.graph_module.modules():
        for node in getattr(getattr(module, "graph", None), "nodes", ()):
            trace = node.meta.get("stack_trace")
            if trace:
                node.meta["stack_trace"] = re.sub(r'File "[^"]*?/(torch(?:vision)?/[^"]*)"', r'File "\1"', trace)
    return program


def make(folder):
    torch.set_num_threads(1)
    net = model()
    example = torch.rand(2, 3, 64, 64, generator=torch.Generator().manual_seed(1))
    batch = torch.export.Dim("batch", min=1, max=1024)
    program = torch.export.export(net, (example,), dynamic_shapes=({0: batch},))
    torch.export.save(without_paths(program), folder / f"{NAME}.pt2")

    inputs = {}
    expected = {}
    for size in (1, 3):
        x = torch.rand(size, 3, 64, 64, generator=torch.Generator().manual_seed(size))
        inputs[f"x{size}"] = x.numpy()
        with torch.no_grad():
            expected[f"y{size}"] = net(x).numpy()
    np.savez(folder / f"{NAME}.inputs.npz", **inputs)
    np.savez(folder / f"{NAME}.expected.npz", **expected)


def same(made, kept):
    """Compares files: by bytes, but PyTorch's results may differ between machines by rounding."""
    if "expected" not in made.name:
        return made.read_bytes() == kept.read_bytes()
    a, b = np.load(made), np.load(kept)
    return a.files == b.files and all(np.allclose(a[k], b[k], rtol=1e-4, atol=1e-4) for k in a.files)


def check():
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder)
        make(made)
        stale = [p.name for p in sorted(made.iterdir()) if not same(p, HERE / p.name)]
    if stale:
        sys.exit(f"error: these files are not up to date: {', '.join(stale)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="do not write; fail if the files are not up to date")
    if parser.parse_args().check:
        check()
    else:
        make(HERE)
