"""Small modules that are exported by every PyTorch: each with its example, its dynamic dimensions, and inputs of another size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

Inputs = Callable[[int], tuple[Any, ...]]
N = ({0: "n"},)


class Of(nn.Module):
    """A module that calls a function with its layers."""

    def __init__(self, function: Callable[..., Any], **layers: nn.Module) -> None:
        super().__init__()
        self.function = function
        for name, layer in layers.items():
            self.add_module(name, layer)

    def forward(self, x):
        return self.function(self, x)


class Two(nn.Module):
    def forward(self, x, y):
        return torch.matmul(x, y.transpose(-1, -2)).softmax(-1)


def _rows(width: int) -> Inputs:
    return lambda n: (torch.randn(n, width),)


def _images(n: int) -> tuple[Any, ...]:
    return (torch.randn(n, 3, 16, 16),)


def _tokens(n: int) -> tuple[Any, ...]:
    return (torch.randint(0, 20, (n, 5)),)


def _words(n: int) -> tuple[Any, ...]:
    return (torch.randn(n, 5, 8),)


def models() -> dict[str, tuple[nn.Module, Inputs, Any]]:
    """By name: the module, its inputs for a size, and its dynamic dimensions."""
    torch.manual_seed(0)
    conv = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(512, 4))
    return {
        "linear": (nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 4)), _rows(8), N),
        "convolutions": (conv, _images, N),
        "transposed convolution": (nn.Sequential(nn.ConvTranspose2d(3, 4, 2, 2), nn.SiLU()), _images, N),
        "depthwise convolution": (nn.Conv2d(3, 6, 3, groups=3), _images, N),
        "height and width": (nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1)), lambda n: (torch.randn(2, 3, 8 + n, 9 + n),), ({2: "h", 3: "w"},)),
        "interpolate": (Of(lambda s, x: F.interpolate(x, scale_factor=2.0, mode="bilinear")), _images, N),
        "pixel shuffle": (nn.Sequential(nn.Conv2d(3, 12, 1), nn.PixelShuffle(2)), _images, N),
        "LSTM": (Of(lambda s, x: s.rnn(x)[0], rnn=nn.LSTM(8, 6, batch_first=True)), _words, N),
        "LSTM of any length": (Of(lambda s, x: s.rnn(x)[0], rnn=nn.LSTM(8, 6, batch_first=True)), lambda n: (torch.randn(2, n, 8),), ({1: "t"},)),
        "two-way GRU": (Of(lambda s, x: s.rnn(x)[0], rnn=nn.GRU(8, 6, 2, bidirectional=True, batch_first=True)), _words, N),
        "RNN": (Of(lambda s, x: s.rnn(x)[1], rnn=nn.RNN(8, 6, batch_first=True)), _words, N),
        "embedding": (nn.Sequential(nn.Embedding(20, 8), nn.LayerNorm(8)), _tokens, N),
        "embedding bag": (nn.EmbeddingBag(20, 8), _tokens, N),
        "encoder layer": (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), _words, N),
        "attention": (Of(lambda s, x: s.attention(x, x, x, need_weights=False)[0], attention=nn.MultiheadAttention(8, 2, batch_first=True)), _words, N),
        "causal attention": (Of(lambda s, x: F.scaled_dot_product_attention(x, x, x, is_causal=True)), lambda n: (torch.randn(2, 2, n, 4),), ({2: "t"},)),
        "two inputs": (Two(), lambda n: (torch.randn(n, 3, 4), torch.randn(n, 5, 4)), ({0: "n"}, {0: "n"})),
        "group norm": (nn.GroupNorm(3, 6), lambda n: (torch.randn(n, 6, 4),), N),
        "half of the rows": (Of(lambda s, x: x[: int(x.shape[0] / 2)] * x.shape[0]), _rows(4), N),
        "flatten and view": (Of(lambda s, x: x.view(x.size(0), -1).reshape(-1, 6)), lambda n: (torch.randn(n, 3, 4),), N),
        "cat and pad": (Of(lambda s, x: F.pad(torch.cat([x, x.flip(1)], 1), (1, 2))), _rows(4), N),
        "slices and writes": (Of(lambda s, x: torch.cat([x[::2], x[1:] * 2])), _rows(4), N),
        "in place": (Of(lambda s, x: x.clone().index_fill_(1, torch.tensor([1]), 0.5).mul_(2)), _rows(4), N),
        "topk and gather": (Of(lambda s, x: x.gather(1, x.topk(2, 1).indices)), _rows(6), N),
        "where and masks": (Of(lambda s, x: torch.where(x > 0, x, x.exp()).masked_fill(x > 1, 1.0)), _rows(4), N),
        "einsum": (Of(lambda s, x: torch.einsum("nij,nkj->nik", x, x)), lambda n: (torch.randn(n, 3, 4),), N),
        "statistics": (Of(lambda s, x: (x - x.mean(0)) / x.std(0)), _rows(4), N),
        "arange": (Of(lambda s, x: x + torch.arange(x.shape[0])[:, None]), _rows(4), N),
        "cumulative": (Of(lambda s, x: x.cumsum(0).logsumexp(1)), _rows(4), N),
        "dictionary": (Of(lambda s, x: {"a": x + 1, "b": (x * 2, x.sum())}), _rows(4), N),
        "half precision": (nn.Linear(4, 4).half(), lambda n: (torch.randn(n, 4).half(),), N),
    }
