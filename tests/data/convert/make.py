"""Creates the models that tests/convert converts: exported by torch.onnx at opset 18, and as .pt2 files.

    python tests/data/convert/make.py                 small models, written to the folder of this file
    python tests/data/convert/make.py --real FOLDER   ResNet-50, ViT-B/16 and GPT-2, which are too large for the repository

Weights are random. Inputs and PyTorch's results are written beside each model. torch.onnx needs the package onnxscript.
"""

import argparse
import pathlib
import re

import numpy as np
import onnx
import torch
import torchvision
import transformers

BATCH = torch.export.Dim("batch", min=1, max=64)
SEQUENCE = torch.export.Dim("sequence", min=2, max=64)


class Logits(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, tokens):
        return self.model(tokens, use_cache=False).logits


def resnet(real):
    if real:
        net = torchvision.models.resnet50()
    else:
        net = torch.nn.Sequential(
            torch.nn.Conv2d(3, 16, 7, 2, 3, bias=False), torch.nn.BatchNorm2d(16), torch.nn.ReLU(), torch.nn.MaxPool2d(3, 2, 1),
            torchvision.models.resnet.Bottleneck(16, 8, downsample=torch.nn.Conv2d(16, 32, 1)),
            torchvision.models.resnet.Bottleneck(32, 8, stride=2, downsample=torch.nn.Conv2d(32, 32, 1, 2)),
            torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(32, 10))
    side = 224 if real else 64
    return net, torch.randn(2, 3, side, side), ({0: BATCH},)


def vit(real):
    if real:
        net = torchvision.models.vit_b_16()
    else:
        net = torchvision.models.VisionTransformer(32, 8, 2, 2, 32, 64, num_classes=10)
    side = 224 if real else 32
    return net, torch.randn(2, 3, side, side), ({0: BATCH},)


def gpt2(real):
    sizes = {} if real else {"n_embd": 32, "n_layer": 2, "n_head": 2, "vocab_size": 100, "n_positions": 64}
    config = transformers.GPT2Config(**sizes, attn_implementation="sdpa")
    net = Logits(transformers.GPT2LMHeadModel(config))
    return net, torch.randint(0, config.vocab_size, (2, 7)), ({0: BATCH, 1: SEQUENCE},)


def random_statistics(net):
    with torch.no_grad():
        for module in net.modules():
            if getattr(module, "running_mean", None) is not None:
                module.running_mean.normal_(0, 0.1)
                module.running_var.uniform_(0.6, 1.4)
        for parameter in net.parameters():
            if parameter.numel() > 1 and bool((parameter == parameter.flatten()[0]).all()):
                parameter.add_(0.05 * torch.randn_like(parameter))


def without_paths(text):
    return re.sub(r"/[\w./-]*/(?=[\w-]+\.py)", "", text)


def make(name, build, real, folder):
    torch.manual_seed(0)
    net, example, shapes = build(real)
    net = net.eval()
    random_statistics(net)
    program = torch.export.export(net, (example,), dynamic_shapes=shapes)
    for node in program.graph.nodes:
        if node.meta.get("stack_trace"):
            node.meta["stack_trace"] = without_paths(node.meta["stack_trace"])
    torch.export.save(program, folder / f"{name}.pt2")
    path = folder / f"{name}.onnx"
    torch.onnx.export(net, (example,), path, dynamo=True, opset_version=18, dynamic_shapes=shapes, external_data=False, verbose=False)
    model = onnx.load(path)
    # Remove the metadata of torch.onnx about Python, which contains local paths.
    for node in model.graph.node:
        kept = [p for p in node.metadata_props if p.key.endswith("name_scopes")]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    onnx.save(model, path)
    with torch.no_grad():
        np.savez_compressed(folder / f"{name}.npz", x=example.numpy(), y=net(example).numpy())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--real", metavar="FOLDER", type=pathlib.Path)
    args = parser.parse_args()
    folder = args.real or pathlib.Path(__file__).parent
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    for name, build in [("resnet", resnet), ("vit", vit), ("gpt2", gpt2)]:
        make(name, build, args.real is not None, folder)


main()
