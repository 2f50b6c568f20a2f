"""The graphs of models that see images and write text: the vision encoder, the embedding of tokens, and the decoder."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch

from .._errors import InputError
from ._graphs import Graph, is_stepwise
from ._inputs import EXAMPLE, SECOND, Maker, Sizes


class VisionEncoder(torch.nn.Module):
    """Images to features that stand in the place of image tokens."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, pixel_values: Any) -> dict[str, Any]:
        """Returns `image_features`."""
        found = self.model.get_image_features(pixel_values=pixel_values)
        found = getattr(found, "pooler_output", found)
        return {"image_features": torch.stack(list(found)) if isinstance(found, (list, tuple)) else found}


class Embedding(torch.nn.Module):
    """Tokens to embeddings, into which a runtime puts the features of images."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Any) -> dict[str, Any]:
        """Returns `inputs_embeds`."""
        return {"inputs_embeds": self.model.get_input_embeddings()(input_ids)}


class TextDecoder(torch.nn.Module):
    """The language model with its head."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        self.config = model.config

    def forward(self, inputs_embeds: Any, attention_mask: Any, past_key_values: Any = None) -> dict[str, Any]:
        """Returns the logits and the cache."""
        result = self.model(inputs_embeds=inputs_embeds, attention_mask=attention_mask, past_key_values=past_key_values, use_cache=True)
        return {"logits": result.logits, "past_key_values": result.past_key_values}


def image_text(model: Any, inputs: dict[str, Any] | None) -> list[Graph]:
    """Returns the three graphs."""
    if not hasattr(model, "get_image_features"):
        raise InputError(f"{type(model).__name__} has no `get_image_features`", help="export its parts with `aten2onnx.export`")
    if is_stepwise(model):
        raise InputError(f"the language model of {type(model).__name__} has states of fixed size", help="export its parts with `aten2onnx.export`")
    decoder = TextDecoder(model).eval()
    given = {} if inputs is None else {"pixel_values": inputs["pixel_values"]}

    def images(sizes: Sizes, seed: int) -> dict[str, Any]:
        from ._inputs import pixels

        return given or {"pixel_values": pixels(Maker(model, sizes, seed))}

    def tokens(sizes: Sizes, seed: int) -> dict[str, Any]:
        return {"input_ids": Maker(model, sizes, seed).tokens(sizes.sequence)}

    def step(sizes: Sizes, seed: int) -> dict[str, Any]:
        maker, embed = Maker(model, sizes, seed), Embedding(model)
        with torch.no_grad():
            start = embed(maker.tokens(sizes.past))["inputs_embeds"]
            cache = decoder(start, maker.ones(sizes.batch, sizes.past))["past_key_values"]
            new = embed(maker.tokens(sizes.sequence))["inputs_embeds"]
        return {"inputs_embeds": new, "attention_mask": maker.ones(sizes.batch, sizes.past + sizes.sequence), "past_key_values": cache}

    def prompt(sizes: Sizes) -> dict[str, Any]:
        maker = Maker(model, sizes, 20)
        with torch.no_grad():
            start = Embedding(model)(maker.tokens(sizes.sequence))["inputs_embeds"]
        return {"inputs_embeds": start, "attention_mask": maker.ones(sizes.batch, sizes.sequence)}

    # Many models cut the features apart by image, which freezes the number of images.
    one = dataclasses.replace(EXAMPLE, batch=1)
    single = Graph("vision_encoder", VisionEncoder(model).eval(), images(one, 0), [images(one, 1)], notes=["The vision encoder takes one image at a time."], static={"pixel_values": 0})
    vision = Graph("vision_encoder", VisionEncoder(model).eval(), images(EXAMPLE, 0), [images(SECOND, 1)], alternative=None if given else single)
    short = dataclasses.replace(EXAMPLE, sequence=3)
    return [
        vision,
        Graph("embed_tokens", Embedding(model).eval(), tokens(EXAMPLE, 0), [tokens(SECOND, 1)]),
        Graph("decoder_model_merged", decoder, step(short, 0), [step(dataclasses.replace(SECOND, sequence=1), 1)], prefill=prompt(SECOND)),
    ]
