"""An encoder layer in the manner of zipformer (speech recognition): SwooshL and SwooshR, which are `logaddexp` beside a number, BiasNorm, attention in
chunks with relative positions, and a `logaddexp` of two tensors as a joiner has it. Exports it with aten2onnx and with torch.onnx, and compares the
results and the time in ONNX Runtime, in turns.

    .venv/bin/python bench/zipformer.py            # PYTHONPATH has the package aten2onnx
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
import time
from pathlib import Path

import torch
from torch import nn


class SwooshL(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        zero = torch.tensor(0.0, dtype=x.dtype, device=x.device)
        return torch.logaddexp(zero, x - 4.0) - 0.08 * x - 0.035


class SwooshR(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        zero = torch.tensor(0.0, dtype=x.dtype, device=x.device)
        return torch.logaddexp(zero, x - 1.0) - 0.08 * x - 0.313261687


class BiasNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.log_scale, self.bias = nn.Parameter(torch.tensor(0.3)), nn.Parameter(torch.randn(width) * 1e-2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scales = torch.mean((x - self.bias) ** 2, dim=-1, keepdim=True) ** -0.5 * self.log_scale.exp()
        return x * scales


class Positions(nn.Module):
    """Relative positions, compressed so that near ones differ more than far ones."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        count, half = x.size(0), self.width // 2
        at = torch.arange(-(count - 1), count, device=x.device).to(torch.float32).unsqueeze(1)
        length = self.width**0.5
        near = length * at.sign() * ((at.abs() + length).log() - math.log(length))
        angles = (near / self.width * 2 * math.pi).atan() * (1 + torch.arange(half, device=x.device))
        found = torch.zeros(2 * count - 1, self.width, device=x.device)
        found[:, 0::2], found[:, 1::2] = angles.cos(), angles.sin()
        found[:, -1] = 1.0
        return found.unsqueeze(0)


class Weights(nn.Module):
    """Weights of attention, with a bias for relative positions."""

    def __init__(self, width: int, positions: int, heads: int, query: int, position: int) -> None:
        super().__init__()
        self.heads, self.query, self.position = heads, query, position
        self.project = nn.Linear(width, (2 * query + position) * heads)
        self.places = nn.Linear(positions, heads * position, bias=False)

    def forward(self, x: torch.Tensor, places: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        heads, size = self.heads, self.query * self.heads
        made = self.project(x)
        count, batch, _ = made.shape
        q, k, p = made[..., :size], made[..., size : 2 * size], made[..., 2 * size :]
        q = q.reshape(count, batch, heads, self.query).permute(2, 1, 0, 3)
        p = p.reshape(count, batch, heads, self.position).permute(2, 1, 0, 3)
        k = k.reshape(count, batch, heads, self.query).permute(2, 1, 3, 0)
        scores = q @ k
        places = self.places(places).reshape(-1, 2 * count - 1, heads, self.position).permute(2, 0, 3, 1)
        far = p @ places
        rows = torch.arange(count - 1, -1, -1, device=x.device)
        chosen = (rows.repeat(batch * heads).unsqueeze(-1) + torch.arange(count, device=x.device)).reshape(heads, batch, count, count)
        scores = scores + torch.gather(far, 3, chosen)
        return scores.masked_fill(mask, -1000).softmax(-1)


class Attention(nn.Module):
    def __init__(self, width: int, heads: int, value: int) -> None:
        super().__init__()
        self.heads, self.into, self.out = heads, nn.Linear(width, heads * value), nn.Linear(heads * value, width)

    def forward(self, x: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        count, batch, _ = x.shape
        x = self.into(x).reshape(count, batch, self.heads, -1).permute(2, 1, 0, 3)
        return self.out((weights @ x).permute(2, 1, 0, 3).reshape(count, batch, -1))


class NonlinearAttention(nn.Module):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.into, self.out = nn.Linear(width, 3 * inner), nn.Linear(inner, width)

    def forward(self, x: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        s, x, y = self.into(x).chunk(3, dim=2)
        count, batch, _ = x.shape
        heads = weights.shape[0]
        x = (x * torch.tanh(s)).reshape(count, batch, heads, -1).permute(2, 1, 0, 3)
        return self.out((weights @ x).permute(2, 1, 0, 3).reshape(count, batch, -1) * y)


class Feedforward(nn.Sequential):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__(nn.Linear(width, inner), SwooshL(), nn.Dropout(0.1), nn.Linear(inner, width))


class Convolution(nn.Module):
    def __init__(self, width: int, kernel: int) -> None:
        super().__init__()
        self.into, self.out = nn.Linear(width, 2 * width), nn.Linear(width, width)
        self.depthwise, self.activation = nn.Conv1d(width, width, kernel, groups=width, padding=kernel // 2), SwooshR()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x, s = self.into(x).chunk(2, dim=2)
        x = self.depthwise((x * s.sigmoid()).permute(1, 2, 0)).permute(2, 0, 1)
        return self.out(self.activation(x))


class Layer(nn.Module):
    def __init__(self, width: int = 256, heads: int = 4, inner: int = 768, positions: int = 48, kernel: int = 31, chunk: int = 32) -> None:
        super().__init__()
        self.chunk = chunk
        self.positions, self.weights = Positions(positions), Weights(width, positions, heads, 32, 4)
        self.attention1, self.attention2 = Attention(width, heads, 12), Attention(width, heads, 12)
        self.feed1, self.feed2, self.feed3 = Feedforward(width, inner * 3 // 4), Feedforward(width, inner), Feedforward(width, inner * 5 // 4)
        self.nonlinear = NonlinearAttention(width, 3 * width // 4)
        self.conv1, self.conv2 = Convolution(width, kernel), Convolution(width, kernel)
        self.norm = BiasNorm(width)
        self.bypass, self.bypass_mid = nn.Parameter(torch.full((width,), 0.5)), nn.Parameter(torch.full((width,), 0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = x
        at = torch.arange(x.shape[0], device=x.device) // self.chunk
        weights = self.weights(x, self.positions(x), at.unsqueeze(0) > at.unsqueeze(1))
        x = x + self.feed1(x)
        x = x + self.nonlinear(x, weights[0:1])
        x = x + self.attention1(x, weights)
        x = x + self.conv1(x)
        x = x + self.feed2(x)
        x = first + (x - first) * self.bypass_mid
        x = x + self.attention2(x, weights)
        x = x + self.conv2(x)
        x = x + self.feed3(x)
        x = self.norm(x)
        return first + (x - first) * self.bypass


class Two(nn.Module):
    """`logaddexp` of two tensors alone."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.logaddexp(x, y)


def sessions(model: nn.Module, args: tuple[torch.Tensor, ...], shapes: tuple[dict[int, str], ...], folder: Path) -> dict[str, object]:
    """A session for the file of each exporter, whose results are held against PyTorch."""
    import aten2onnx
    import onnx
    import onnxruntime

    own, theirs = folder / "own.onnx", folder / "torch.onnx"
    aten2onnx.export(model, args, own, dynamic_shapes=shapes, opset_version=18)
    chosen = tuple({axis: torch.export.Dim.AUTO for axis in part} for part in shapes)  # named ones are refused for the layer
    torch.onnx.export(model, args, theirs, dynamic_shapes=chosen, dynamo=True, opset_version=18, verbose=False)
    found: dict[str, object] = {}
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    for name, path in (("aten2onnx", own), ("torch.onnx", theirs)):
        found[name] = session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        feeds = {put.name: arg.numpy() for put, arg in zip(session.get_inputs(), args)}
        (result,) = session.run(None, feeds)
        with torch.no_grad():
            torch.testing.assert_close(torch.from_numpy(result), model(*args), rtol=1e-3, atol=1e-3)
        print(f"  {name}: {len(onnx.load(path, load_external_data=False).graph.node)} nodes")
    return found


def compare(model: nn.Module, args: tuple[torch.Tensor, ...], shapes: tuple[dict[int, str], ...], rounds: int) -> float:
    """The time of aten2onnx's file over that of torch.onnx's, by the medians of runs in turns."""
    with tempfile.TemporaryDirectory() as folder:
        both = sessions(model.eval(), args, shapes, Path(folder))
        times: dict[str, list[float]] = {name: [] for name in both}
        for turn in range(rounds):
            for name, session in both.items() if turn % 2 else reversed(both.items()):
                feeds = {put.name: arg.numpy() for put, arg in zip(session.get_inputs(), args)}
                begin = time.perf_counter()
                session.run(None, feeds)
                times[name].append(time.perf_counter() - begin)
    medians = {name: statistics.median(found) for name, found in times.items()}
    print("  " + ", ".join(f"{name} {1000 * median:.3f} ms" for name, median in medians.items()))
    return medians["aten2onnx"] / medians["torch.onnx"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=60)
    rounds = parser.parse_args().rounds
    torch.manual_seed(0)
    x = torch.randn(200, 1, 256)
    print("encoder layer, 200 frames")
    print(f"  ratio {compare(Layer(), (x,), ({0: 'frames'},), rounds):.3f}")
    print("logaddexp of two tensors, 1,000,000 elements")
    print(f"  ratio {compare(Two(), (torch.randn(1000, 1000), torch.randn(1000, 1000)), ({0: 'n'}, {0: 'n'}), rounds):.3f}")


if __name__ == "__main__":
    main()
