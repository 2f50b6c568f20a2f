#!/usr/bin/env python3
"""Creates the models that run.py compares, with random weights: NAME/model.pt2 and NAME/inputs.npz in a folder."""
import argparse
import fnmatch
from pathlib import Path

import numpy as np
import torch
import torchvision.models as tv


class Logits(torch.nn.Module):
    """A language model that only returns its logits."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids):
        return self.model(input_ids=ids, use_cache=False).logits


class Hidden(Logits):
    def forward(self, ids):
        return self.model(input_ids=ids).last_hidden_state


def image(build, size=224):
    return lambda: (build(weights=None), (torch.randn(2, 3, size, size),))


def text(build, wrap=Logits, length=32):
    return lambda: (wrap(build()), (torch.randint(0, 500, (2, length)),))


def bert():
    from transformers import BertConfig, BertModel
    return BertModel(BertConfig(vocab_size=1000, hidden_size=256, num_hidden_layers=6, num_attention_heads=4,
                                intermediate_size=1024))


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel
    return GPT2LMHeadModel(GPT2Config(vocab_size=1000, n_embd=256, n_layer=6, n_head=4))


def llama(**sizes):
    def build():
        from transformers import LlamaConfig, LlamaForCausalLM
        return LlamaForCausalLM(LlamaConfig(**{
            "vocab_size": 1000, "hidden_size": 256, "intermediate_size": 688, "num_hidden_layers": 6,
            "num_attention_heads": 4, "num_key_value_heads": 2, **sizes}))
    return build


def mixer():
    import timm
    return timm.create_model("mixer_s32_224", pretrained=False), (torch.randn(2, 3, 224, 224),)


MODELS = {
    "resnet18": image(tv.resnet18),
    "resnet50": image(tv.resnet50),
    "mobilenet_v3_small": image(tv.mobilenet_v3_small),
    "efficientnet_b0": image(tv.efficientnet_b0),
    "densenet121": image(tv.densenet121),
    "convnext_tiny": image(tv.convnext_tiny),
    "vit_b_16": image(tv.vit_b_16),
    "swin_t": image(tv.swin_t),
    "vgg11": image(tv.vgg11),
    "mixer_s32": mixer,
    "bert": text(bert, Hidden),
    "gpt2": text(gpt2),
    "llama": text(llama()),
    "llama_2gb": text(llama(vocab_size=32000, hidden_size=2048, intermediate_size=5632, num_hidden_layers=8,
                            num_attention_heads=16, num_key_value_heads=16), length=16),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="*")
    args = parser.parse_args()
    for name, build in MODELS.items():
        folder = args.folder / name
        if not fnmatch.fnmatch(name, args.only) or (folder / "inputs.npz").exists():
            continue
        folder.mkdir(parents=True, exist_ok=True)
        torch.manual_seed(0)
        model, inputs = build()
        batch = {0: torch.export.Dim("batch", max=64)}
        with torch.no_grad():
            program = torch.export.export(model.eval(), inputs, dynamic_shapes=(batch,), strict=False)
        torch.export.save(program, folder / "model.pt2")
        np.savez(folder / "inputs.npz", **{f"i{i}": x.numpy() for i, x in enumerate(inputs)})
        print(name, (folder / "model.pt2").stat().st_size >> 20, "MiB", flush=True)


if __name__ == "__main__":
    main()
