"""The models of precision.py: those of runtime_models.py, the hazards of tests/precision, and kinds that converters of finished graphs stumble over."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
import torchvision
import transformers
from capture import unet
from runtime_models import DECODER
from runtime_models import MODELS as OF_RUNTIME
from torch import Tensor, nn

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / folder) for folder in ("python/tests", "tests/models")]
import real_models as real  # noqa: E402
from zoo import randomise  # noqa: E402


def _hazards() -> ModuleType:
    """tests/precision/models.py, which has the name of another module here."""
    spec = importlib.util.spec_from_file_location("precision_hazards", ROOT / "tests/precision/models.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Made(NamedTuple):
    """A model, with what it is exported at and what it is run at."""

    module: nn.Module
    example: tuple[Tensor, ...]
    second: tuple[Tensor, ...]
    dynamic: Any


def other_sizes(example: tuple[Tensor, ...], dynamic: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """Inputs of other sizes: one more along the first dimension, fewer along others; floats are drawn, integers are the last of the example."""
    return tuple(_resized(given, names or {}) for given, names in zip(example, dynamic, strict=True))


def _resized(given: Tensor, names: dict[int, Any]) -> Tensor:
    sizes = list(given.shape)
    for axis in names:
        sizes[axis] = sizes[axis] + 1 if axis == 0 else sizes[axis] * 3 // 4
    if given.dtype.is_floating_point:
        return torch.randn(sizes) * given.std() + given.mean()
    for axis, size in enumerate(sizes):
        given = given.index_select(axis, (torch.arange(size) - size) % given.shape[axis])
    return given


def of_runtime(name: str) -> Callable[[], Made]:
    """A model of runtime_models.py."""

    def build() -> Made:
        module, example, dynamic = OF_RUNTIME[name][1]()
        shapes = (dynamic,) if module.forward.__code__.co_flags & 4 else dynamic
        return Made(module, example, other_sizes(example, dynamic), shapes)

    return build


class Cached(nn.Module):
    """A decoder that is given the keys and values of the words before, and returns them with its own."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, *past: Tensor) -> tuple[Tensor, ...]:
        cache = transformers.DynamicCache()
        for layer in range(len(past) // 2):
            cache.update(past[2 * layer], past[2 * layer + 1], layer)
        made = self.model(input_ids=input_ids, past_key_values=cache)
        return (made.logits, *(value for layer in made.past_key_values.layers for value in (layer.keys, layer.values)))


def llama_with_cache() -> Made:
    config = transformers.LlamaConfig(**{**DECODER, "num_hidden_layers": 2})

    def given(batch: int, words: int, before: int) -> tuple[Tensor, ...]:
        return torch.randint(0, 900, (batch, words)), *(torch.randn(batch, 2, before, 64) for _ in range(4))

    names = ({0: "batch", 1: "length"}, *({0: "batch", 2: "past"},) * 4)
    module = Cached(transformers.LlamaForCausalLM(config))
    return Made(module, given(2, 3, 16), given(3, 2, 40), (names[0], names[1:]))


def diffusion() -> Made:
    module, example, dynamic = unet(1, (32, 64), 16)()
    return Made(module, example, (torch.rand(3, 4, 16, 16), torch.tensor([999, 1, 50]), torch.rand(3, 77, 768)), dynamic)


class Spectrogram(nn.Module):
    """Speech commands from a waveform: a short-time Fourier transform, powers in decibels on a mel scale, and convolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.hann_window(256))
        self.register_buffer("mel", torch.rand(129, 40) / 129)
        self.layers = nn.Sequential(nn.Conv1d(40, 64, 5, stride=2), nn.BatchNorm1d(64), nn.GELU(), nn.Conv1d(64, 64, 5, stride=2), nn.GELU())
        self.head = nn.Linear(64, 12)

    def forward(self, wave: Tensor) -> Tensor:
        spectrum = torch.stft(wave, 256, 128, window=self.window, return_complex=True)
        power = spectrum.real.square() + spectrum.imag.square()
        decibels = 10 * torch.log10((power.transpose(1, 2) @ self.mel).clamp(min=1e-10))
        return F.log_softmax(self.head(self.layers(decibels.transpose(1, 2) / 40).mean(-1)), -1)


def spectrogram() -> Made:
    return Made(Spectrogram(), (torch.randn(2, 4000),), (torch.randn(3, 6500),), ({0: "batch", 1: "samples"},))


class Gates(nn.Module):
    """Transcription of speech by recurrent layers of GRU in both directions."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(40, 48, 5, stride=2, padding=2)
        self.gru = nn.GRU(48, 64, num_layers=2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(128, 29)

    def forward(self, mel: Tensor) -> Tensor:
        return F.log_softmax(self.head(self.gru(F.gelu(self.conv(mel)).transpose(1, 2))[0]), -1)


def gru_speech() -> Made:
    return Made(Gates(), (torch.randn(2, 40, 100),), (torch.randn(3, 40, 150),), ({0: "batch", 2: "frames"},))


class Boxes(nn.Module):
    """A detector of one stage for images of any size: features of three sizes, of which the smaller are resized to the larger; anchors; the boxes that are left of
    those that overlap. The results do not depend on the order of scores that are almost equal."""

    def __init__(self) -> None:
        super().__init__()
        widths = (3, 16, 32, 64)
        self.stages = nn.ModuleList(
            nn.Sequential(nn.Conv2d(one, other, 3, 2, 1, bias=False), nn.BatchNorm2d(other), nn.SiLU()) for one, other in zip(widths, widths[1:])
        )
        self.sides = nn.ModuleList(nn.Conv2d(width, 32, 1) for width in widths[1:])
        self.scores, self.boxes = nn.Conv2d(32, 1, 3, padding=1), nn.Conv2d(32, 4, 3, padding=1)

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        features = []
        for stage in self.stages:
            image = stage(image)
            features.append(image)
        found, top = [], None
        for number in (2, 1, 0):
            level = self.sides[number](features[number])
            top = level if top is None else level + F.interpolate(top, size=level.shape[2:], mode="nearest")
            if number:
                found.append(self.decoded(top, 2 ** (number + 1)))
        boxes, scores = (torch.cat(parts) for parts in zip(*found))
        kept = torchvision.ops.nms(boxes, scores, 0.5)
        return boxes, scores, scores[kept].sum() / 100

    def decoded(self, level: Tensor, stride: int) -> tuple[Tensor, Tensor]:
        """The boxes and scores of a level."""
        height, width = level.shape[2:]
        rows, columns = ((torch.arange(count, device=level.device) + 0.5) * stride for count in (height, width))
        centers = torch.stack((columns[None, :].expand(height, width), rows[:, None].expand(height, width)), -1).reshape(-1, 2).to(level.dtype)
        moved, sizes = self.boxes(level)[0].permute(1, 2, 0).reshape(-1, 4).split(2, 1)
        middles, halves = centers + moved * stride, sizes.clamp(max=4).exp() * stride
        return torch.cat((middles - halves, middles + halves), 1), self.scores(level).sigmoid().reshape(-1)


def detector() -> Made:
    return Made(Boxes(), (torch.rand(1, 3, 96, 96),), (torch.rand(1, 3, 80, 128),), ({2: "height", 3: "width"},))


class Named(nn.Module):
    """One result of a model that returns a dictionary."""

    def __init__(self, model: nn.Module, name: str) -> None:
        super().__init__()
        self.model, self.name = model, name

    def forward(self, image: Tensor) -> Tensor:
        return self.model(image)[self.name]


def segmentation() -> Made:
    module = Named(torchvision.models.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=6), "out")
    return Made(module, (torch.randn(2, 3, 96, 128),), (torch.randn(3, 3, 128, 160),), ({0: "batch", 2: "height", 3: "width"},))


def optical_flow() -> Made:
    class Flow(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = torchvision.models.optical_flow.raft_small(weights=None)

        def forward(self, before: Tensor, after: Tensor) -> Tensor:
            return self.model(before, after, num_flow_updates=2)[-1]

    def given(batch: int) -> tuple[Tensor, Tensor]:
        return torch.rand(batch, 3, 128, 128) * 2 - 1, torch.rand(batch, 3, 128, 128) * 2 - 1

    return Made(Flow(), given(2), given(3), ({0: "batch"},) * 2)


def parseq() -> Made:
    return Made(real.Parseq(), (torch.randn(1, 5, 16),), (torch.randn(2, 9, 16),), ({0: "batch", 1: "n"},))


def exits() -> Made:
    return Made(real.Exits(64, 4), (torch.randint(0, 31, (1, 12)),), (torch.randint(0, 31, (1, 17)),), ({1: "n"},))


def mamba() -> Made:
    return Made(real.mamba(64, 16, 2), (torch.randint(0, 29, (1, 64)),), (torch.randint(0, 29, (1, 40)),), ({1: "n"},))


class Squares(nn.Module):
    """The norm of Llama between products, of quiet and of loud words: the mean of squares is beyond float16 on both sides, and its root is not."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(64, 64, bias=False), nn.Linear(64, 16)
        self.norm = transformers.models.llama.modeling_llama.LlamaRMSNorm(64)

    def forward(self, words: Tensor) -> Tensor:
        return self.last(self.norm(self.first(words)))


def squares() -> Made:
    def given(batch: int, length: int) -> tuple[Tensor, ...]:
        return (torch.randn(batch, length, 64) * torch.logspace(-3, 3.2, length)[:, None],)

    return Made(Squares(), given(2, 5), given(3, 7), ({0: "batch", 1: "length"},))


def hazard(name: str) -> Callable[[], Made]:
    """A model of tests/precision, which gives what `Made` holds."""
    return lambda: Made(*getattr(_hazards(), name)())


KINDS = (
    *("resnet18", "mobilenet_v3_small", "efficientnet_b0", "convnextv2", "vit", "swin_t", "segformer", "clip", "bert"),
    *("t5", "gpt2", "llama", "qwen3", "gemma2", "whisper", "conformer", "hifigan", "lstm_tagger"),
)
HAZARDS = ("masks", "norms", "rotary", "sums", "places", "turns", "own", "large")

#: How each model is built.
MODELS: dict[str, Callable[[], Made]] = {
    **{name: of_runtime(name) for name in KINDS},
    "llama with a cache": llama_with_cache,
    "diffusers unet": diffusion,
    "spectrogram": spectrogram,
    "gru_speech": gru_speech,
    "lraspp": segmentation,
    "detector": detector,
    "raft_small": optical_flow,
    "parseq": parseq,
    "bert with exits": exits,
    "mamba": mamba,
    **{f"hazard: {name}": hazard(name) for name in HAZARDS},
    "hazard: squares": squares,
}


def made(name: str) -> Made:
    """A model with weights that do not depend on what was built before. No statistic or scale is constant."""
    torch.manual_seed(0)
    found = MODELS[name]()
    randomise(found.module.eval())
    return found
