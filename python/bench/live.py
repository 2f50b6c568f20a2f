"""Measures the export of captured programs: by reading the FX graph, through PyTorch's serializer, and from a `.pt2` file.

    python python/bench/live.py                            eleven models; the new way takes at most 3 times the command's time
    python python/bench/live.py swin bigbird --runs 5

The times are those of `aten2onnx.export(exported, f=path)`, and of the whole process `aten2onnx export model.pt2`, each the best of
`--runs`; PyTorch's serializer runs once. They are seconds of the processor, which depend less on what else runs than those of the clock;
the last column is by the clock. The three files are the same, byte for byte.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import aten2onnx
import torch
from aten2onnx import _export, _live

REPOSITORY = Path(__file__).resolve().parents[2]
IMAGES: Any = ({0: "batch", 2: "height", 3: "width"},)
BATCH: Any = ({0: "batch"},)
TEXT: Any = ({0: "batch", 1: "sequence"},)


def image(size: int) -> tuple[torch.Tensor]:
    return (torch.randn(2, 3, size, size),)


def tokens(length: int) -> tuple[torch.Tensor]:
    return (torch.randint(0, 99, (2, length)),)


def torchvision(name: str) -> Callable[[], Any]:
    def make() -> Any:
        import torchvision

        return getattr(torchvision.models, name)(), image(224 if name.startswith("vit") else 64), BATCH

    return make


def timm(name: str) -> Callable[[], Any]:
    def make() -> Any:
        import timm

        return timm.create_model(name), image(64), BATCH

    return make


def swin() -> Any:
    from transformers import SwinConfig, SwinModel

    config = SwinConfig(image_size=32, patch_size=2, embed_dim=16, depths=[1, 1, 2, 1], num_heads=[2, 2, 4, 4], window_size=2)
    return SwinModel(config), image(32), IMAGES


def bigbird() -> Any:
    from transformers import BigBirdConfig, BigBirdModel

    config = BigBirdConfig(
        vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=37, block_size=8, max_position_embeddings=256
    )
    return BigBirdModel(config), tokens(128), TEXT


def mask2former() -> Any:
    from transformers import Mask2FormerConfig, Mask2FormerModel, SwinConfig

    stages = ["stage1", "stage2", "stage3", "stage4"]
    backbone = SwinConfig(image_size=64, embed_dim=16, depths=[1] * 4, num_heads=[1] * 4, window_size=2, out_features=stages)
    config = Mask2FormerConfig(
        backbone_config=backbone, feature_size=32, mask_feature_size=32, hidden_dim=32, encoder_feedforward_dim=16, encoder_layers=2, decoder_layers=2,
        num_attention_heads=2, dim_feedforward=16, num_queries=5,
    )  # fmt: skip
    return Mask2FormerModel(config), image(64), IMAGES


def bert() -> Any:
    from transformers import BertConfig, BertModel

    return BertModel(BertConfig(hidden_size=64, num_attention_heads=4, intermediate_size=128)), tokens(16), TEXT


def gpt2() -> Any:
    from transformers import GPT2Config, GPT2Model

    return Hidden(GPT2Model(GPT2Config(vocab_size=99, n_embd=64, n_head=4, n_positions=64))), tokens(16), TEXT


def llama() -> Any:
    from transformers import LlamaConfig, LlamaModel

    config = LlamaConfig(vocab_size=99, hidden_size=64, intermediate_size=128, num_hidden_layers=12, num_attention_heads=4)
    return Hidden(LlamaModel(config)), tokens(16), TEXT


class Hidden(torch.nn.Module):
    """A decoder without its cache."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids, use_cache=False).last_hidden_state


MODELS: dict[str, Callable[[], Any]] = {
    "resnet50": torchvision("resnet50"),
    "mobilenet_v3_large": torchvision("mobilenet_v3_large"),
    "densenet121": torchvision("densenet121"),
    "vit_b_16": torchvision("vit_b_16"),
    "efficientnetv2_s": timm("tf_efficientnetv2_s"),
    "bert": bert,
    "gpt2": gpt2,
    "llama": llama,
    "bigbird": bigbird,
    "swin": swin,
    "mask2former": mask2former,
}


class Serialized:
    """In place of the native class: every graph goes through PyTorch's serializer."""

    live = staticmethod(_live.Program.live)

    @staticmethod
    def traced(*_: Any) -> Any:
        raise NotImplementedError


def spent() -> float:
    """Processor seconds of this process and of those that it waited for."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def best(runs: int, run: Callable[[], Any]) -> tuple[float, float]:
    """The shortest of the times, in seconds of the processor and of the clock."""
    times = []
    for _ in range(runs):
        busy, start = spent(), time.perf_counter()
        run()
        times.append((spent() - busy, time.perf_counter() - start))
    return min(busy for busy, _ in times), min(clock for _, clock in times)


def measure(name: str, folder: Path, command: Path, runs: int) -> float:
    """Prints a line, and returns the time of reading the graph divided by that of the command."""
    torch.manual_seed(0)
    model, args, shapes = MODELS[name]()
    (capture, _), (_, exported, _) = timed(lambda: _export.exported_program(model.eval(), args, dynamic_shapes=shapes))
    files = {way: folder / f"{name}.{way}.onnx" for way in ("graph", "serialized", "command")}
    aten2onnx.export(exported, f=files["graph"])  # loads modules of PyTorch
    graph, clock = best(runs, lambda: aten2onnx.export(exported, f=files["graph"]))
    with mock.patch.object(_live, "Program", Serialized):
        serialized, _ = best(1, lambda: aten2onnx.export(exported, f=files["serialized"]))
    archive = folder / f"{name}.pt2"
    torch.export.save(exported, archive)
    arguments = [command, "export", archive, "-o", files["command"]]
    commanded, commanded_clock = best(runs, lambda: subprocess.run(arguments, check=True, capture_output=True))
    same = len({file.read_bytes() for file in files.values()}) == 1
    times = f"{capture:9.1f} {serialized:10.2f} {graph:7.3f} {commanded:7.3f} {serialized / graph:6.0f}x {graph / commanded:8.2f} {clock / commanded_clock:8.2f}"
    print(f"{name:20} {len(exported.graph.nodes):5} {times}  {'same' if same else 'DIFFERENT'}", flush=True)
    archive.unlink()
    for file in files.values():
        file.unlink()
    return graph / commanded if same else float("inf")


def timed(run: Callable[[], Any]) -> tuple[tuple[float, float], Any]:
    """The time of a run, and its result."""
    results: list[Any] = []
    return best(1, lambda: results.append(run())), results[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=list(MODELS), help=", ".join(MODELS))
    parser.add_argument("--bin", type=Path, default=REPOSITORY / "target/release/aten2onnx", help="the command")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--limit", type=float, default=3.0, help="allowed time of reading the graph, divided by the command's")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'model':20} {'nodes':>5} {'capture s':>9} {'serializer':>10} {'graph':>7} {'command':>7} {'faster':>7} {'ratio':>8} {'by clock':>8}")
    with tempfile.TemporaryDirectory() as folder:
        ratios = [measure(name, Path(folder), options.bin, options.runs) for name in options.models]
    print(f"reading the graph takes at most {max(ratios):.2f} times as long as the command")
    return 0 if max(ratios) <= options.limit else 1


if __name__ == "__main__":
    sys.exit(main())
