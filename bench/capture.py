#!/usr/bin/env python3
"""Times whole exports of modules in memory, in processor seconds, beside `torch.onnx.export(dynamo=True)`, both with dynamic shapes.

    python bench/capture.py [NAME..] [--into docs/performance.md]
    python bench/capture.py --memory [--into docs/performance.md]

Each model is exported once before by both, so that imports are not in the figures. Neither writes a file: both give a model that holds the weights of the module. `--memory` prints the peak memory of a process that runs a model, and of one that
exports it, for models of common sizes. The environment needs torchvision, timm, transformers, diffusers and onnxscript.
"""
import argparse
import copy
import gc
import logging
import os
import platform
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import aten2onnx
import torch
import torchvision.models as tv
from transformers import CONFIG_MAPPING, AutoModel

from pages import current_commit, write_table

MARK, END = "<!-- bench/capture.py -->", "<!-- bench/capture.py ends -->"
MEMORY_MARK, MEMORY_END = "<!-- bench/capture.py memory -->", "<!-- bench/capture.py memory ends -->"


class Hidden(torch.nn.Module):
    """A text model with its ids and mask as inputs."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, mask):
        return self.model(input_ids=ids, attention_mask=mask)[0]


class Tagger(torch.nn.Module):
    """An LSTM over a sequence of any length."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(500, 64)
        self.rnn = torch.nn.LSTM(64, 64, batch_first=True, bidirectional=True)
        self.head = torch.nn.Linear(128, 10)

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


def image(name, size=224):
    return lambda: (getattr(tv, name)(weights=None).eval(), (torch.randn(2, 3, size, size),), ({0: "batch"},))


def text(name, **config):
    def build():
        config.setdefault("vocab_size", 500)
        model = AutoModel.from_config(CONFIG_MAPPING[name](**config)).eval()
        ids = torch.randint(0, 499, (2, 24))
        return Hidden(model).eval(), (ids, torch.ones_like(ids)), ({0: "batch", 1: "sequence"}, {0: "batch", 1: "sequence"})

    return build


def with_cache(name, **config):
    """A decoder with a cache, as transformers passes it."""

    def build():
        from transformers import AutoModelForCausalLM, DynamicCache

        model = AutoModelForCausalLM.from_config(CONFIG_MAPPING[name](vocab_size=500, **config)).eval()
        cache = DynamicCache()
        for layer in range(4):
            cache.update(torch.randn(2, 2, 16, 16), torch.randn(2, 2, 16, 16), layer)
        given = {"input_ids": torch.randint(0, 499, (2, 3)), "attention_mask": torch.ones(2, 19, dtype=torch.int64), "past_key_values": cache}
        return model, given, "auto"

    return build


def timm_image(name, size=224):
    def build():
        import timm

        return timm.create_model(name, pretrained=False).eval(), (torch.randn(2, 3, size, size),), ({0: "batch"},)

    return build


class Denoiser(torch.nn.Module):
    """A model of diffusers that returns a tensor."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x, step, context):
        return self.model(x, step, context).sample


def unet(layers, channels, size):
    def build():
        from diffusers import UNet2DConditionModel

        count = len(channels)
        down = ("CrossAttnDownBlock2D",) * (count - 1) + ("DownBlock2D",)
        up = ("UpBlock2D",) + ("CrossAttnUpBlock2D",) * (count - 1)
        sizes = {"sample_size": size, "layers_per_block": layers, "block_out_channels": channels, "cross_attention_dim": 768, "attention_head_dim": 8}
        model = UNet2DConditionModel(in_channels=4, out_channels=4, down_block_types=down, up_block_types=up, norm_num_groups=8, **sizes)
        args = (torch.rand(2, 4, size, size), torch.tensor([7, 7]), torch.rand(2, 77, 768))
        return Denoiser(model).eval(), args, ({0: "batch"},) * 3

    return build


class Detector(torch.nn.Module):
    """A detector of torchvision for one image."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, image):
        return self.model([image])[0]


def detector(name):
    def build():
        model = getattr(tv.detection, name)(weights=None, weights_backbone=None, min_size=96, max_size=128).eval()
        return Detector(model).eval(), (torch.rand(3, 100, 100),), ({1: "height", 2: "width"},)

    return build


SMALL = dict(hidden_size=64, num_hidden_layers=4, num_attention_heads=4, intermediate_size=128)
CAUSAL = dict(SMALL, num_key_value_heads=2, use_cache=False)
MODELS = {
    **{name: image(name) for name in ("resnet18", "resnet50", "vgg11", "mobilenet_v2", "mobilenet_v3_small", "efficientnet_b0", "densenet121", "convnext_tiny", "regnet_y_400mf", "shufflenet_v2_x0_5", "squeezenet1_0", "mnasnet0_5", "vit_b_16", "swin_t")},
    **{name: text(name, **SMALL) for name in ("bert", "roberta", "electra", "mpnet", "deberta")},
    **{name: text(name, **CAUSAL) for name in ("llama", "qwen2", "mistral", "gemma")},
    "gpt2": text("gpt2", n_embd=64, n_layer=4, n_head=4, use_cache=False),
    "distilbert": text("distilbert", dim=64, n_layers=4, n_heads=4, hidden_dim=128),
    "xlnet": text("xlnet", d_model=64, n_layer=4, n_head=4, d_inner=128),
    **{f"timm {name}": timm_image(name) for name in ("vit_tiny_patch16_224", "convnext_atto", "mobilevit_xxs", "edgenext_xx_small", "repvit_m0_9")},
    "llama with a cache": with_cache("llama", **{**CAUSAL, "use_cache": True}),
    "qwen2 with a cache": with_cache("qwen2", **{**CAUSAL, "use_cache": True}),
    "diffusers unet": unet(1, (32, 64), 16),
    "fasterrcnn": detector("fasterrcnn_resnet50_fpn"),
    "retinanet": detector("retinanet_resnet50_fpn"),
    "lstm_tagger": lambda: (Tagger().eval(), (torch.randint(0, 499, (2, 30)),), ({0: "batch", 1: "length"},)),
}


def large_bert():
    from transformers import BertConfig, BertModel

    ids = torch.randint(0, 499, (2, 128))
    return Hidden(BertModel(BertConfig())).eval(), (ids, torch.ones_like(ids)), ({0: "batch", 1: "sequence"},) * 2


#: Models of common sizes, whose memory is measured.
LARGE = {"resnet50": MODELS["resnet50"], "bert of 110 M": large_bert, "UNet of 290 M": unet(2, (160, 320, 640, 640), 32)}


def peak(name, mode):
    """Prints the peak memory of this process after a run or an export of a model, in MB."""
    model, args, shapes = LARGE[name]()
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        if mode == "eager":
            model(*args)
        else:
            aten2onnx.export(model, args, Path(folder) / "model.onnx", dynamic_shapes=shapes, capture="record", branches="example")
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def memory(names):
    """The peak memory of processes of their own."""
    lines = ["| model | eager run MB | export MB | |", "|---|---|---|---|"]
    for name in names or LARGE:
        eager, ours = (
            float(subprocess.run([sys.executable, __file__, name, "--peak", mode], check=True, capture_output=True, text=True).stdout.split()[-1])
            for mode in ("eager", "export")
        )
        lines.append(f"| {name} | {eager:.0f} | {ours:.0f} | {100 * (ours / eager - 1):+.0f} % |")
        print(lines[-1], flush=True)
    return "\n".join(lines) + f"\n\n- peak of the resident memory of a process, imports included; PyTorch {torch.__version__}, one thread, dynamic shapes\n"


def spent(call):
    """The processor seconds of a call after one that is not counted, the least of three if they are short; the error if it fails."""
    try:
        call()
        found = []
        while len(found) < 3 and sum(found) < 1:
            gc.collect()
            start = time.process_time()
            call()
            found.append(time.process_time() - start)
        return min(found)
    except Exception as error:  # either exporter may refuse a model
        return "not exported: " + re.sub(r"\x1b\[[0-9;]*m|[|`]", "", str(error).splitlines()[0])[:60]


def torch_export(model, args, kwargs, shapes):
    """An export by PyTorch. Where dimensions are left to the model, it gets all of them as such."""
    dim = torch.export.Dim.DYNAMIC
    if shapes == "auto":
        auto = lambda leaf: dict.fromkeys(range(leaf.dim()), torch.export.Dim.AUTO) if isinstance(leaf, torch.Tensor) else None  # noqa: E731
        dynamic = torch.utils._pytree.tree_map(auto, kwargs)
    else:
        dynamic = tuple({axis: dim for axis in axes} for axes in shapes)
    torch.onnx.export(model, args, kwargs=kwargs, dynamo=True, verbose=False, dynamic_shapes=dynamic)


def row(name):
    torch.manual_seed(0)
    model, given, shapes = MODELS[name]()
    args, kwargs = ((), given) if isinstance(given, dict) else (given, {})
    copied = lambda: copy.deepcopy(kwargs)  # noqa: E731 - a run fills the cache
    with torch.no_grad():
        eager = spent(lambda: model(*args, **copied()))
    ours = spent(lambda: aten2onnx.export(model, args, kwargs=copied(), dynamic_shapes=shapes))
    theirs = spent(lambda: torch_export(model, args, copied(), shapes))
    ratio = theirs / ours if isinstance(ours, float) and isinstance(theirs, float) else None
    shown = [f"{value:.2f}" if isinstance(value, float) else value for value in (eager, theirs, ours)]
    print(name, *shown, ratio, flush=True)
    return [name, *shown, "" if ratio is None else f"{ratio:.0f}x"], eager, ours, ratio


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("names", nargs="*", help="models (default: all)")
    arguments.add_argument("--memory", action="store_true", help="measure the peak memory")
    arguments.add_argument("--peak", choices=("eager", "export"), help=argparse.SUPPRESS)
    arguments.add_argument("--into", type=Path, help="the page that gets the table, between its marks")
    given = arguments.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    if given.peak:
        return peak(given.names[0], given.peak)
    if given.memory:
        table = memory(given.names)
        return write_table(given.into, MEMORY_MARK, MEMORY_END, table) if given.into else print(table)
    rows = [row(name) for name in given.names or MODELS]
    ratios = [ratio for *_, ratio in rows if ratio is not None]
    heads = [["model", "eager run s", "torch s", "ours s", "faster"], ["---"] * 5]
    table = "\n".join("| " + " | ".join(line) + " |" for line in heads + [line for line, *_ in rows])
    told = f"median {statistics.median(ratios):.0f} times faster, at least {min(ratios):.1f} times" if ratios else "torch.onnx exports none of them here"
    table += f"\n\n- {told}; {len(rows)} models\n"
    for low, high in ((0, 0.05), (0.05, 0.3)):
        part = [ratio for _, eager, _, ratio in rows if ratio is not None and low <= eager < high]
        if part:
            table += f"- {len(part)} models whose run takes {low} to {high} s: median {statistics.median(part):.0f} times\n"
    table += f"- aten2onnx at commit {current_commit()}, PyTorch {torch.__version__}, {os.cpu_count()} cores, {platform.machine()}, load average {os.getloadavg()[0]:.1f} at the end\n"
    print(table)
    if given.into:
        write_table(given.into, MARK, END, table)


if __name__ == "__main__":
    main()
