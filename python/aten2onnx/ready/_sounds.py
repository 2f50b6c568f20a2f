"""Waveforms to what a speech model takes."""

from __future__ import annotations

import math
from typing import Literal

import torch

from .._errors import ArgumentError

#: The scale of Slaney is linear up to this frequency, in Hz.
_BREAK = 1000.0
#: Hz of a mel below it, and the natural logarithm of the factor of a mel above it.
_LINEAR, _STEP = 200.0 / 3.0, math.log(6.4) / 27.0


class LogMel(torch.nn.Module):
    """Waveforms to logarithmic mel spectrograms. By default the numbers are those of Whisper.

    Input: float32 `[n, samples]`, -1 to 1, of `sample_rate` samples in a second; at least `n_fft // 2 + 1` samples.
    Output: float32 `[n, mels, frames]`, where `frames` is `samples // hop` for `log="whisper"`, which leaves the last frame out, else
    `samples // hop + 1`.

    The signal is reflected at both ends by `n_fft // 2` samples. A frame is the squared magnitude of the Fourier transform of `n_fft` samples under a periodic
    Hann window, and a mel the sum of its frequencies weighted with a triangle.
    """

    window: torch.Tensor
    filters: torch.Tensor

    def __init__(
        self,
        *,
        sample_rate: int = 16000,
        n_fft: int = 400,
        hop: int = 160,
        mels: int = 80,
        low: float = 0.0,
        high: float | None = None,
        scale: Literal["slaney", "htk"] = "slaney",
        norm: bool = True,
        log: Literal["whisper", "natural", "decibel"] = "whisper",
        floor: float = 1e-10,
    ) -> None:
        """Describes what the model takes.

        Args:
            sample_rate: Samples in a second.
            n_fft: Samples of a frame.
            hop: Samples from one frame to the next.
            mels: The number of mels: 80, or 128 for Whisper large-v3.
            low: The lowest frequency, in Hz.
            high: The highest frequency, in Hz (default: half of the sample rate).
            scale: The scale of mels: "slaney" (Whisper, librosa) or "htk" (torchaudio by default).
            norm: Whether triangles have the same area (Whisper, librosa), or the same height (torchaudio by default).
            log: "whisper": log10, at most 8 below the largest value of the waveform, plus 4, divided by 4. "natural": the natural logarithm.
                "decibel": 10 log10, as `torchaudio.transforms.AmplitudeToDB()` without `top_db`.
            floor: Smaller numbers become this before the logarithm.
        """
        super().__init__()
        high = sample_rate / 2 if high is None else high
        if not 0 <= low < high <= sample_rate / 2:
            raise ArgumentError(f"low and high: found {low} and {high} Hz", help=f"pass frequencies from 0 to half of the sample rate, {sample_rate / 2} Hz")
        if min(n_fft, hop, mels, sample_rate) < 1 or floor <= 0:
            raise ArgumentError("sample_rate, n_fft, hop, mels and floor have to be larger than 0")
        if scale not in ("slaney", "htk"):
            raise ArgumentError(f"scale: found {scale!r}", help="pass 'slaney' or 'htk'")
        if log not in ("whisper", "natural", "decibel"):
            raise ArgumentError(f"log: found {log!r}", help="pass 'whisper', 'natural' or 'decibel'")
        self.n_fft, self.hop, self.log, self.floor = n_fft, hop, log, float(floor)
        self.register_buffer("window", torch.hann_window(n_fft), persistent=False)
        self.register_buffer("filters", _filters(sample_rate, n_fft, mels, float(low), float(high), scale, norm), persistent=False)
        self.eval()

    def forward(self, waveform: torch.Tensor) -> torch.Tensor:
        """Returns the spectrograms."""
        frames = torch.stft(waveform, self.n_fft, self.hop, window=self.window, return_complex=True).abs() ** 2
        if self.log == "whisper":
            frames = frames[..., :-1]
        mel = (self.filters @ frames).clamp(min=self.floor)
        if self.log == "natural":
            return mel.log()
        if self.log == "decibel":
            return 10 * mel.log10()
        mel = mel.log10()
        return (mel.maximum(mel.amax((-2, -1), keepdim=True) - 8) + 4) / 4


def _filters(sample_rate: int, n_fft: int, mels: int, low: float, high: float, scale: str, norm: bool) -> torch.Tensor:
    """The weight of each frequency in each mel, `[mels, n_fft // 2 + 1]`."""
    frequencies = torch.linspace(0, sample_rate / 2, n_fft // 2 + 1, dtype=torch.float64)
    points = torch.linspace(_mel(low, scale), _mel(high, scale), mels + 2, dtype=torch.float64)
    edges = torch.tensor([_hertz(float(point), scale) for point in points], dtype=torch.float64)
    widths = edges.diff()
    slopes = edges.unsqueeze(1) - frequencies
    rising, falling = -slopes[:-2] / widths[:-1].unsqueeze(1), slopes[2:] / widths[1:].unsqueeze(1)
    triangles = rising.minimum(falling).clamp(min=0)
    if norm:
        triangles = triangles * (2 / (edges[2:] - edges[:-2])).unsqueeze(1)
    return triangles.to(torch.float32)


def _mel(hertz: float, scale: str) -> float:
    if scale == "htk":
        return 2595.0 * math.log10(1.0 + hertz / 700.0)
    return hertz / _LINEAR if hertz < _BREAK else _BREAK / _LINEAR + math.log(hertz / _BREAK) / _STEP


def _hertz(mel: float, scale: str) -> float:
    if scale == "htk":
        return 700.0 * (10.0 ** (mel / 2595.0) - 1.0)
    return mel * _LINEAR if mel < _BREAK / _LINEAR else _BREAK * math.exp(_STEP * (mel - _BREAK / _LINEAR))
