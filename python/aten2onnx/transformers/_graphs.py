"""The graphs of a task: modules with example inputs, and inputs of other sizes to verify the result with."""

from __future__ import annotations

import dataclasses
import inspect
from dataclasses import dataclass, field
from typing import Any

import torch

from .._errors import InputError
from ._inputs import EXAMPLE, SECOND, Maker, Sizes
from ._tasks import Task


@dataclass
class Graph:
    """One file.

    Attributes:
        name: The name of the file, without its extension.
        module: What is exported.
        inputs: The arguments of its `forward`.
        checks: Arguments of other sizes.
        prefill: Arguments without a cache, which the graph takes as an empty cache.
        notes: What users must know.
        static: Inputs with an axis that is not dynamic.
        alternative: What is exported if this graph cannot be captured, or is wrong at other sizes.
    """

    name: str
    module: Any
    inputs: dict[str, Any]
    checks: list[dict[str, Any]]
    prefill: dict[str, Any] | None = None
    notes: list[str] = field(default_factory=list)
    static: dict[str, int] = field(default_factory=dict)
    alternative: Graph | None = None


def graphs(model: Any, task: Task, inputs: dict[str, Any] | None) -> list[Graph]:
    """Returns the graphs of a task. `inputs` replaces the inputs that are made from the configuration."""
    if task.graphs == "decoder":
        return [decoder(model)]
    if task.graphs == "encoder-decoder":
        return encoder_decoder(model, inputs)
    if task.graphs == "image-text":
        from ._multimodal import image_text

        return image_text(model, inputs)
    if inputs is not None:
        return [Graph("model", model, inputs, [])]
    return [Graph("model", model, Maker(model).inputs(), [Maker(model, SECOND, seed=1).inputs()])]


def decoder(model: Any, name: str = "model") -> Graph:
    """A decoder with a cache: one graph for the prompt, with an empty cache, and for each step.

    Some models with states of fixed size can only continue them token by token. That is the alternative.
    """
    example = _step(model, dataclasses.replace(EXAMPLE, sequence=3), seed=0)
    one = _step(model, dataclasses.replace(SECOND, sequence=1), seed=1)
    prefill = _prompt(model, SECOND)
    if not is_stepwise(model):
        return Graph(name, model, example, [one, _step(model, dataclasses.replace(SECOND, sequence=4), seed=2)], prefill)
    note = "The model continues its states token by token: the graph takes one token at a time, also of the prompt, and starts with states of zeros."
    single = _step(model, dataclasses.replace(EXAMPLE, sequence=1), seed=0)
    return Graph(name, model, example, [one], prefill, alternative=Graph(name, model, single, [one], notes=[note], static={"input_ids": 1, "position_ids": 1}))


def is_stepwise(model: Any) -> bool:
    """Whether the model has states of fixed size."""
    cache = _cache(model, dataclasses.replace(EXAMPLE, batch=1, past=3), 0)
    return not hasattr(cache, "layers") or any(getattr(cache, "is_linear", []))


def cache_argument(model: Any) -> str:
    """The name of the argument that takes the cache."""
    parameters = inspect.signature(model.forward).parameters
    found = next((name for name in ("past_key_values", "cache_params", "state") if name in parameters), None)
    if found is None:
        raise InputError(f"{type(model).__name__} takes no cache", help="use the task `feature-extraction`")
    return found


def _cache(model: Any, sizes: Sizes, seed: int) -> Any:
    """The cache after some tokens."""
    argument = cache_argument(model)
    with torch.no_grad():
        result = model(input_ids=Maker(model, sizes, seed).tokens(sizes.past), use_cache=True)
    found = getattr(result, argument, None)
    if found is None:
        raise InputError(f"{type(model).__name__} returns no cache", help="use the task `feature-extraction`")
    return found


def _step(model: Any, sizes: Sizes, seed: int) -> dict[str, Any]:
    """The arguments of a step: new tokens after those in the cache."""
    cache = _cache(model, sizes, seed)
    maker = Maker(model, sizes, seed + 10)
    made: dict[str, Any] = {"input_ids": maker.tokens(sizes.sequence)}
    kinds = getattr(cache, "is_linear", [])
    has_attention = hasattr(cache, "layers") and not (kinds and all(kinds))
    if "attention_mask" in maker.parameters and has_attention:
        made["attention_mask"] = maker.ones(sizes.batch, sizes.past + sizes.sequence)
    if "position_ids" in maker.parameters:
        made["position_ids"] = _positions(maker, sizes.past, sizes.sequence)
    return made | {cache_argument(model): cache, "use_cache": True}


def _prompt(model: Any, sizes: Sizes) -> dict[str, Any]:
    """The arguments of the first call."""
    maker = Maker(model, sizes, 20)
    made: dict[str, Any] = {"input_ids": maker.tokens(sizes.sequence)}
    if "attention_mask" in maker.parameters:
        made["attention_mask"] = maker.ones(sizes.batch, sizes.sequence)
    if "position_ids" in maker.parameters:
        made["position_ids"] = _positions(maker, 0, sizes.sequence)
    return made


def _positions(maker: Maker, past: int, new: int) -> Any:
    return torch.arange(past, past + new).expand(maker.sizes.batch, new).contiguous()


class Decoder(torch.nn.Module):
    """The decoder of an encoder-decoder model, with the names that runtimes feed."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        self.config = model.config

    def forward(
        self, input_ids: Any, encoder_hidden_states: Any = None, encoder_attention_mask: Any = None, past_key_values: Any = None
    ) -> dict[str, Any]:
        """Returns the logits and the cache. With a cache, the keys and values of the encoder's states are in it."""
        from transformers.modeling_outputs import BaseModelOutput

        if encoder_hidden_states is None:
            keys = past_key_values.cross_attention_cache.layers[0].keys
            # The model only passes them on to layers that read the cache instead.
            encoder_hidden_states = keys.new_zeros(keys.shape[0], keys.shape[2], hidden_size(self.config))
        masks = {} if encoder_attention_mask is None else {"attention_mask": encoder_attention_mask}
        result = self.model(
            decoder_input_ids=input_ids,
            encoder_outputs=BaseModelOutput(last_hidden_state=encoder_hidden_states),
            past_key_values=past_key_values,
            use_cache=True,
            **masks,
        )
        return {"logits": result.logits, "past_key_values": result.past_key_values}


class DecoderWithPast(Decoder):
    """The same for later steps: returns the part of the cache that changes."""

    def forward(self, input_ids: Any, encoder_attention_mask: Any = None, past_key_values: Any = None) -> dict[str, Any]:  # type: ignore[override]
        """Returns the logits and the cache of the decoder itself."""
        result = super().forward(input_ids, None, encoder_attention_mask, past_key_values)
        from transformers import EncoderDecoderCache

        changed = result["past_key_values"]
        empty = EncoderDecoderCache(changed.self_attention_cache, type(changed.cross_attention_cache)())
        return {"logits": result["logits"], "past_key_values": empty}


def hidden_size(config: Any) -> int:
    """The size of the encoder's states."""
    return int(getattr(config, "d_model", None) or config.hidden_size)


def encoder_decoder(model: Any, inputs: dict[str, Any] | None) -> list[Graph]:
    """The encoder, and the decoder without and with a cache."""
    encoder = model.get_encoder()
    first, with_past = Decoder(model).eval(), DecoderWithPast(model).eval()

    def encoded(sizes: Sizes, seed: int) -> tuple[dict[str, Any], Any]:
        made = inputs if inputs is not None else Maker(model, sizes, seed).inputs()
        made = {name: value for name, value in made.items() if not name.startswith("decoder_")}
        with torch.no_grad():
            return made, encoder(**made).last_hidden_state

    def step(sizes: Sizes, seed: int, new: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """The arguments of the first step of the decoder, and of a later one."""
        made, states = encoded(sizes, seed)
        maker = Maker(model, sizes, seed + 10)
        mask = {"encoder_attention_mask": made["attention_mask"]} if "input_ids" in made and "attention_mask" in made else {}
        start = {"input_ids": maker.tokens(sizes.past), "encoder_hidden_states": states, **mask}
        with torch.no_grad():
            cache = first(**start)["past_key_values"]
        return start, {"input_ids": maker.tokens(new), "past_key_values": cache, **mask}

    example, check = step(EXAMPLE, 0, 3), step(SECOND, 1, 1)
    return [
        Graph("encoder_model", encoder, encoded(EXAMPLE, 0)[0], [encoded(SECOND, 1)[0]]),
        Graph("decoder_model", first, example[0], [check[0]]),
        Graph("decoder_with_past_model", with_past, example[1], [check[1]]),
    ]
