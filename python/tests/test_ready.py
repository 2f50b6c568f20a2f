"""`aten2onnx.ready`: what the modules compute in ONNX Runtime is what they do in PyTorch at several sizes, and that is what others compute."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

import aten2onnx
from aten2onnx import ready


def same_at(module: torch.nn.Module, example: torch.Tensor, axes: dict[int, str], others: list[torch.Tensor], folder: Path, rtol: float = 1e-5, atol: float = 1e-5) -> onnx.ModelProto:
    """Exports a module by the default capture and compares it with PyTorch at other sizes."""
    path = folder / "ready.onnx"
    name = next(iter(module.forward.__annotations__))
    program = aten2onnx.export(module, (example,), path, dynamic_shapes={name: axes}, verify=True)
    assert not program.report.conditions and not program.report.unrecorded
    session = onnxruntime.InferenceSession(str(path))
    for x in [example, *others]:
        wanted = module(x)
        found = session.run(None, {name: x.numpy()})
        for one, other in zip(found, wanted if isinstance(wanted, tuple) else (wanted,)):
            assert one.dtype == other.numpy().dtype and one.shape == tuple(other.shape)
            np.testing.assert_allclose(one, other.numpy(), rtol=rtol, atol=atol)
    return onnx.load(path)


def photo(n: int, h: int, w: int, c: int = 3) -> torch.Tensor:
    return torch.randint(0, 256, (n, h, w, c), dtype=torch.uint8)


SIZES = [(1, 1, 1), (2, 17, 90), (1, 90, 17), (3, 48, 32), (1, 200, 300)]
IMAGES: list[dict[str, Any]] = [
    {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)},
    {"antialias": True, "reverse_channels": True},
    {"letterbox": True},
    {"letterbox": True, "antialias": True, "fill": 0},
]


@pytest.mark.parametrize("options", IMAGES)
def test_images_of_any_size(options: dict[str, Any], tmp_path: Path) -> None:
    # Positions in the image are float32 numbers in both, rounded in other places.
    same_at(ready.Image(48, 32, **options), photo(2, 30, 50), {0: "n", 1: "h", 2: "w"}, [photo(*size) for size in SIZES], tmp_path, 1e-4, 2e-4)


def test_images_are_those_of_torchvision() -> None:
    from torchvision.transforms.v2 import functional as vision

    mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    for antialias in (False, True):
        for size in SIZES:
            image = photo(*size)
            x = vision.resize(image.permute(0, 3, 1, 2).float() / 255, [48, 32], antialias=antialias)
            torch.testing.assert_close(ready.Image(48, 32, mean=mean, std=std, antialias=antialias)(image), vision.normalize(x, mean, std), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(ready.Image(9, 7, reverse_channels=True)(image), ready.Image(9, 7)(image.flip(-1)))
    [channel] = ready.Image(4, 4, mean=(0,), std=(1,))(photo(1, 4, 4, 1))
    assert channel.shape == (1, 4, 4)


def test_a_letterbox_keeps_the_shape_of_images() -> None:
    """As ultralytics makes it: the larger ratio that fits, in the middle."""
    for h, w in [(29, 50), (50, 30), (48, 32), (7, 300), (300, 7), (1, 1)]:
        image = photo(1, h, w)
        ratio = min(48 / h, 32 / w)
        inner = max(1, int(h * ratio + 0.5)), max(1, int(w * ratio + 0.5))
        top, left = (48 - inner[0]) // 2, (32 - inner[1]) // 2
        wanted = torch.full((1, 3, 48, 32), 114.0)
        resized = torch.nn.functional.interpolate(image.permute(0, 3, 1, 2).float(), size=inner, mode="bilinear", align_corners=False)
        wanted[:, :, top : top + inner[0], left : left + inner[1]] = resized
        torch.testing.assert_close(ready.Image(48, 32, letterbox=True)(image), wanted / 255)


def test_the_most_likely_classes(tmp_path: Path) -> None:
    model = same_at(ready.TopK(3, labels=["cat", "dog", "Bär", "x"]), torch.randn(2, 4), {0: "n"}, [torch.randn(5, 4), torch.zeros(1, 4)], tmp_path)
    assert json.loads(next(entry.value for entry in model.metadata_props if entry.key == "names")) == {"0": "cat", "1": "dog", "2": "Bär", "3": "x"}
    for activation, made in (("softmax", lambda x: x.softmax(-1)), ("sigmoid", torch.sigmoid), ("none", lambda x: x)):
        x = torch.randn(6, 2, 9)
        found, classes = ready.TopK(4, activation=activation)(x)
        torch.testing.assert_close((found, classes), tuple(made(x).topk(4)))
    same_at(ready.TopK(5, activation="sigmoid"), torch.randn(2, 7), {0: "n", 1: "classes"}, [torch.randn(3, 3), torch.randn(1, 40)], tmp_path)
    same_at(ready.TopK(1), torch.randn(2, 3).half(), {0: "n"}, [torch.randn(4, 3).half()], tmp_path, 1e-2, 1e-3)


def boxes(n: int, classes: int, anchors: int) -> torch.Tensor:
    x = torch.rand(n, 4 + classes, anchors)
    x[:, :2] *= 50
    x[:, 2:4] = x[:, 2:4] * 20 + 1
    return x


def test_boxes_of_detectors(tmp_path: Path) -> None:
    others = [boxes(1, 3, 1), boxes(3, 3, 300), boxes(2, 3, 20) * 0, boxes(1, 3, 50) - 30]
    model = same_at(ready.Detections(labels={0: "a", 1: "b", 2: "c"}), boxes(2, 3, 40), {0: "n", 2: "anchors"}, others, tmp_path)
    assert any(entry.key == "names" for entry in model.metadata_props)
    as_v5 = lambda x: torch.cat([x[:, :4], x[:, -1:], x[:, 4:]], 1).transpose(1, 2).contiguous()  # noqa: E731
    same_at(ready.Detections(objectness=True, most=5), as_v5(boxes(2, 3, 40)), {0: "n", 1: "anchors"}, [as_v5(x) for x in others], tmp_path)


def suppressed(x: torch.Tensor, score: float, overlap: float) -> set[tuple[int, int, int]]:
    """The image, the anchor and the class of the boxes that are left, one after the other."""
    found = set()
    for image, one in enumerate(x.double()):
        best, classes = one[4:].max(0)
        kept: list[int] = []
        for anchor in best.argsort(descending=True).tolist():
            if best[anchor] >= score and all(classes[other] != classes[anchor] or shared(one[:4, other], one[:4, anchor]) <= overlap for other in kept):
                kept.append(anchor)
        found |= {(image, anchor, int(classes[anchor])) for anchor in kept}
    return found


def shared(a: torch.Tensor, b: torch.Tensor) -> float:
    """The intersection of two boxes, divided by their union."""
    ends = [((a[i] - a[i + 2] / 2).maximum(b[i] - b[i + 2] / 2), (a[i] + a[i + 2] / 2).minimum(b[i] + b[i + 2] / 2)) for i in (0, 1)]
    inside = float(torch.prod(torch.stack([(high - low).clamp(min=0) for low, high in ends])))
    return inside / float(a[2] * a[3] + b[2] * b[3] - inside)


def test_boxes_of_a_class_and_an_image_suppress_one_another() -> None:
    x = boxes(2, 2, 60)
    found, scores, classes, images = ready.Detections(score=0.3, overlap=0.4)(x)
    corners = torch.cat([x[:, :2] - x[:, 2:4] / 2, x[:, :2] + x[:, 2:4] / 2], 1)
    anchors = [int((corners[image] - box[:, None]).abs().sum(0).argmin()) for image, box in zip(images, found)]
    wanted = suppressed(x, 0.3, 0.4)
    assert {(int(image), anchor, int(kind)) for image, anchor, kind in zip(images, anchors, classes)} == wanted and 4 < len(wanted) < 120
    assert scores.tolist() == sorted(scores.tolist(), reverse=True)


def test_log_mels_are_those_of_whisper(tmp_path: Path) -> None:
    from transformers import WhisperFeatureExtractor

    silent = torch.cat([torch.randn(8000), torch.zeros(8000)])
    for mels, waveform in ((80, torch.randn(16000)), (128, torch.randn(5000) * 0.01), (80, silent)):
        extractor = WhisperFeatureExtractor(feature_size=mels)
        wanted = extractor._np_extract_fbank_features(waveform.numpy()[None], "cpu")
        np.testing.assert_allclose(ready.LogMel(mels=mels)(waveform[None]).numpy(), wanted, rtol=1e-4, atol=1e-4)
    same_at(ready.LogMel(), torch.randn(2, 4000), {0: "n", 1: "samples"}, [torch.randn(1, 16000), torch.randn(3, 1234), torch.randn(1, 201)], tmp_path)


def test_log_mels_are_those_of_torchaudio(tmp_path: Path) -> None:
    """By its formulas, with the filters of transformers."""
    from transformers.audio_utils import mel_filter_bank

    waveform = torch.randn(2, 9000)
    for scale, norm in (("htk", False), ("slaney", True), ("htk", True)):
        filters = mel_filter_bank(257, 40, 20.0, 7600.0, 16000, "slaney" if norm else None, scale)
        power = torch.stft(waveform, 512, 128, window=torch.hann_window(512), return_complex=True).abs() ** 2
        mel = torch.from_numpy(filters).float().T @ power
        for log, made in (("natural", lambda x: x.log()), ("decibel", lambda x: 10 * x.log10())):
            module = ready.LogMel(n_fft=512, hop=128, mels=40, low=20, high=7600, scale=scale, norm=norm, log=log)
            torch.testing.assert_close(module(waveform), made(mel.clamp(min=1e-10)), rtol=1e-3, atol=1e-3)
    module = ready.LogMel(n_fft=512, hop=128, mels=40, scale="htk", norm=False, log="decibel")
    same_at(module, waveform, {0: "n", 1: "samples"}, [torch.randn(1, 300), torch.randn(3, 20000)], tmp_path, 1e-4, 1e-3)


def test_misuse_is_named() -> None:
    for make, said in [
        (lambda: ready.Image(0, 3), "at least 1"),
        (lambda: ready.Image(3, 3, mean=(0, 0)), "one of each"),
        (lambda: ready.Image(3, 3, std=(1, 1, 0)), "std"),
        (lambda: ready.TopK(0), "k: found 0"),
        (lambda: ready.TopK(1, activation="relu"), "'softmax'"),
        (lambda: ready.TopK(1, labels="cats"), "as a list"),
        (lambda: ready.Detections(score=2), "score: found 2"),
        (lambda: ready.Detections(overlap=-1), "overlap: found -1"),
        (lambda: ready.Detections(most=0), "most: found 0"),
        (lambda: ready.LogMel(low=9000), "half of the sample rate"),
        (lambda: ready.LogMel(hop=0), "larger than 0"),
        (lambda: ready.LogMel(scale="mel"), "'slaney'"),
        (lambda: ready.LogMel(log="log2"), "'natural'"),
    ]:
        with pytest.raises(aten2onnx.ArgumentError) as raised:
            make()
        assert said in str(raised.value), str(raised.value)
