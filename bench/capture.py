#!/usr/bin/env python3
"""Times whole exports of modules in memory, in processor seconds, beside `torch.onnx.export(dynamo=True)`, both with dynamic shapes.

    python bench/capture.py [NAME..] [--into docs/performance.md]

Each model is exported once before by both, so that imports are not in the figures. The environment needs torchvision, transformers and onnxscript.
"""
import argparse
import logging
import os
import platform
import statistics
import time
import warnings
from pathlib import Path

import aten2onnx
import torch
import torchvision.models as tv
from transformers import CONFIG_MAPPING, AutoModel

from pages import write_table

MARK, END = "<!-- bench/capture.py -->", "<!-- bench/capture.py ends -->"


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


SMALL = dict(hidden_size=64, num_hidden_layers=4, num_attention_heads=4, intermediate_size=128)
CAUSAL = dict(SMALL, num_key_value_heads=2, use_cache=False)
MODELS = {
    **{name: image(name) for name in ("resnet18", "resnet50", "vgg11", "mobilenet_v2", "mobilenet_v3_small", "efficientnet_b0", "densenet121", "convnext_tiny", "regnet_y_400mf", "shufflenet_v2_x0_5", "squeezenet1_0", "mnasnet0_5", "vit_b_16", "swin_t")},
    **{name: text(name, **SMALL) for name in ("bert", "roberta", "electra", "mpnet", "deberta")},
    **{name: text(name, **CAUSAL) for name in ("llama", "qwen2", "mistral", "gemma")},
    "gpt2": text("gpt2", n_embd=64, n_layer=4, n_head=4, use_cache=False),
    "distilbert": text("distilbert", dim=64, n_layers=4, n_heads=4, hidden_dim=128),
    "xlnet": text("xlnet", d_model=64, n_layer=4, n_head=4, d_inner=128),
    "lstm_tagger": lambda: (Tagger().eval(), (torch.randint(0, 499, (2, 30)),), ({0: "batch", 1: "length"},)),
}


def spent(call):
    """The processor seconds of a call; the error if it fails."""
    try:
        call()
        start = time.process_time()
        call()
        return time.process_time() - start
    except Exception as error:  # either exporter may refuse a model
        return str(error).splitlines()[0][:60]


def torch_export(model, args, shapes):
    dim = torch.export.Dim.DYNAMIC
    torch.onnx.export(model, args, dynamo=True, verbose=False, dynamic_shapes=tuple({axis: dim for axis in axes} for axes in shapes))


def row(name):
    torch.manual_seed(0)
    model, args, shapes = MODELS[name]()
    with torch.no_grad():
        eager = spent(lambda: model(*args))
    ours = spent(lambda: aten2onnx.export(model, args, dynamic_shapes=shapes).model_bytes)
    theirs = spent(lambda: torch_export(model, args, shapes))
    ratio = theirs / ours if isinstance(ours, float) and isinstance(theirs, float) else None
    shown = [f"{value:.2f}" if isinstance(value, float) else value for value in (eager, theirs, ours)]
    print(name, *shown, ratio, flush=True)
    return [name, *shown, "" if ratio is None else f"{ratio:.0f}x"], ratio


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("names", nargs="*", help="models (default: all)")
    arguments.add_argument("--into", type=Path, help="the page that gets the table, between its marks")
    given = arguments.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    rows = [row(name) for name in given.names or MODELS]
    ratios = [ratio for _, ratio in rows if ratio is not None]
    heads = [["model", "eager run s", "torch s", "ours s", "faster"], ["---"] * 5]
    table = "\n".join("| " + " | ".join(line) + " |" for line in heads + [line for line, _ in rows])
    table += f"\n\n- median {statistics.median(ratios):.0f} times faster, at least {min(ratios):.1f} times; {len(rows)} models\n"
    table += f"- PyTorch {torch.__version__}, {os.cpu_count()} cores, {platform.machine()}, load average {os.getloadavg()[0]:.1f} at the end\n"
    print(table)
    if given.into:
        write_table(given.into, MARK, END, table)


if __name__ == "__main__":
    main()
