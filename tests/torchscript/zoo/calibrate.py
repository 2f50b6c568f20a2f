"""Detectors with random weights whose results say something: scores are spread, and the images are such that PyTorch itself finds the
same objects when their pixels move by as little as float arithmetic may move them."""
import torch
from torch import nn

from compare import array, differs, leaves

# How far a pixel moves: images are resized with floats, which PyTorch and ONNX Runtime round in other places.
ROUNDING = 3e-6


def photograph(height, width):
    """A smooth image: neighbours are alike, as in a photograph."""
    coarse = torch.rand(1, 3, height // 8, width // 8)
    return nn.functional.interpolate(coarse, (height, width), mode="bicubic", align_corners=False)[0].clamp(0, 1)


def is_head(name):
    return "head" in name or "predictor" in name


def calibrate(built, calls):
    """Statistics of batch norm from data, and heads whose results have a spread that does not depend on depth."""
    ends = {id(block.bn3) for block in built.modules() if hasattr(block, "bn3")}
    for block in built.modules():
        if getattr(block, "use_res_connect", False):
            ends.add(id([m for m in block.modules() if isinstance(m, nn.BatchNorm2d)][-1]))
    for m in built.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.train()
            m.reset_running_stats()
            m.momentum = None
            # Residuals are small, as in trained networks: otherwise roundings grow a thousandfold.
            m.weight.data.uniform_(0.8, 1.2).mul_(0.2 if id(m) in ends else 1)
            m.bias.data.normal_(0, 0.2)
    with torch.no_grad():
        built(*calls)
        built.eval()
        hooks = [m.register_forward_hook(scaled(name)) for name, m in built.named_modules()
                 if is_head(name) and isinstance(m, (nn.Conv2d, nn.ConvTranspose2d, nn.Linear))]
        built(*calls)
        for hook in hooks:
            hook.remove()


def scaled(name):
    """A hook that scales the weights of a layer on its first call, so that its results have a standard deviation of 1."""
    spread, done = 0.2 if "bbox" in name or "regression" in name else 1.0, []

    def hook(layer, inputs, result):
        if done or not result.numel():
            return None
        done.append(layer)
        if layer.bias is not None:
            layer.bias.data.zero_()
        layer.weight.data.mul_(spread / layer.forward(*inputs).std().clamp(min=1e-6))
        if layer.bias is not None:
            layer.bias.data.normal_(0, 0.3 * spread)
        return layer.forward(*inputs)
    return hook


def steady(built, height, width):
    """The inputs of a detector: the first image of a row for which PyTorch finds the same when its pixels are moved a little."""
    with torch.no_grad():
        for _ in range(30):
            image = photograph(height, width)
            found = [array(leaf) for leaf in leaves(built([image]))]
            moved = (built([image + ROUNDING * torch.randn_like(image)]) for _ in range(3))
            if len(found[0]) and not any(differs([array(a) for a in leaves(m)], found, 3e-3, len(found)) for m in moved):
                return ([image],)
    raise ValueError("PyTorch finds other objects in each of 30 images when their pixels move by a rounding")
