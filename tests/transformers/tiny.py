"""Builds tiny models of transformers' model types from their default configurations, with random weights."""

from __future__ import annotations

import contextlib
import copy
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import torch

#: More parameters than this make no test.
LIMIT = 40_000_000
#: The size of what a name means. The first pattern that fits decides; None keeps the default.
RULES: list[tuple[str, Any]] = [
    (r"(feature|pad|bos|eos|sep|cls|mask|unk|image|video|audio|boi|eoi|vision|decoder_start|start|end|forced).*(token_id|token_index|token_idx)", "token"),
    (r".*token_id|.*token_index", "token"),
    (r"type_vocab_size|num_feat_extract_layers", None),
    (r".*vocab.*size.*", 160),
    (r".*(num_)?(key_value|kv)_heads.*|num_query_groups|multi_query_group_num", 2),
    (r"num_mem_blocks|num_hidden_layers|.*num_.*layers|.*n_layers?|.*_layers|n_layer|depth|layers|num_blocks|.*num_encoder_blocks", 2),
    (r".*heads?|n_head|.*num_heads", 4),
    (r"head_dim|.*_head_dim|.*head_size|d_kv|attention_head_dim|kv_channels|attention_key_dim|attention_value_dim", 16),
    (r"(num|n)_.*experts_per_tok|moe_topk|num_selected_experts|.*top_k", 2),
    (r"(num|n)_(local_|routed_)?experts|moe_num_experts", 4),
    (r"n_group|topk_group|num_expert_group", 1),
    (r".*(intermediate|ffn|d_ff|inner|mlp|feedforward|feed_forward).*(size|dim|hidden)?", 64),
    (r"q_lora_rank|kv_lora_rank|.*lora.*rank", 16),
    (r"hidden_size|d_model|n_embd|embed_dim|dim|hidden_dim|.*hidden_size|.*hidden_dim|model_dim|encoder_embed_dim|decoder_embed_dim|.*embedding_size|embedding_dim|.*embed_dim|projection_dim|.*projection_size", 64),
    (r"time_step_rank", 8),
    (r"max_.*positions?.*|n_positions|.*max_position.*|n_ctx|max_seq.*len.*", 512),
    (r"image_size|img_size|input_size", "image"),
    (r"num_queries|num_labels|num_mel_bins|num_query_tokens", None),
]
#: Lists of sizes by name.
LISTS: list[tuple[str, Any]] = [
    (r"depths|num_layers|layers_per_block|n_blocks|blocks|encoder_layers|decoder_layers|stage_num_blocks", lambda index: 1),
    (r".*heads.*", lambda index: 2 ** min(index, 2)),
    (r"conv_dim", lambda index: 32),
    (r"hidden_sizes|embed_dims?|.*embedding_sizes|.*channels|.*dims", lambda index: 16 * 2 ** min(index, 2)),
]


#: Types whose sizes depend on each other in their own way.
SPECIAL: dict[str, dict[str, Any]] = {
    "swin": {"image_size": 64, "window_size": 2, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 4], "out_features": None, "out_indices": None},
    "swinv2": {"image_size": 64, "window_size": 4, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 4]},
    # Values have as many heads as queries.
    "nemotron3_diarization_audio": {"num_key_value_heads": 4},
    "nemotron3_5_transcribe_asr_audio": {"num_key_value_heads": 4},
}


def shrunk(config: Any) -> dict[str, Any]:
    """Returns the arguments of a tiny configuration of the class of `config`."""
    small: dict[str, Any] = {}
    for name, value in vars(config).items():
        if name.startswith("_") or isinstance(value, bool):
            continue
        if hasattr(value, "to_dict"):
            small[name] = {**value.to_dict(), **shrunk(value)}
        elif isinstance(value, int):
            size = _size(name, value, config)
            if size is not None:
                small[name] = size
        elif isinstance(value, (list, tuple)) and value and all(type(item) is int for item in value):
            rule = next((rule for pattern, rule in LISTS if re.fullmatch(pattern, name)), None)
            if rule is not None:
                small[name] = type(value)(min(item, rule(index)) for index, item in enumerate(value))
    small.update(SPECIAL.get(getattr(config, "model_type", ""), {}))
    layers = small.get("num_hidden_layers")
    for name in ("layer_types", "mlp_layer_types", "layers_block_type"):
        kinds = getattr(config, name, None)
        if isinstance(kinds, list) and isinstance(layers, int):
            small[name] = _kinds(kinds)
            small["num_hidden_layers"] = len(small[name])
    return small


def _kinds(kinds: list[str]) -> list[str]:
    """One layer of each kind, at least two."""
    different = list(dict.fromkeys(kinds))
    return different if len(different) > 1 else different * 2


def _size(name: str, value: int, config: Any) -> int | None:
    rule = next((rule for pattern, rule in RULES if re.fullmatch(pattern, name)), None)
    if rule == "token":
        # Different special tokens must stay different.
        return value if value < 90 else 90 + value % 67
    if rule == "image":
        patch = getattr(config, "patch_size", 16)
        patch = patch[0] if isinstance(patch, (list, tuple)) else patch
        return min(value, max(32, 4 * patch)) if isinstance(patch, int) else min(value, 64)
    return None if rule is None else min(value, rule) if value > 0 else None


def configs_of(model_type: str, changes: dict[str, Any]) -> Iterator[Any]:
    """Configurations of a type, the smallest first: a class may demand relations between sizes that a smaller one breaks."""
    from transformers import CONFIG_MAPPING

    kind = CONFIG_MAPPING[model_type]
    full = kind()
    small = shrunk(full)
    layers = ("layer_types", "layers_block_type")
    for kept in (
        small,
        {name: value for name, value in small.items() if not name.endswith(layers)},
        few(full),
        {name: value for name, value in few(full).items() if not name.endswith("config")},
    ):
        with contextlib.suppress(Exception):
            yield kind(**kept | changes)


def few(config: Any) -> dict[str, Any]:
    """Returns the arguments of a configuration with few layers and tokens, and the sizes of the default."""
    kept = (r".*vocab.*size.*", r".*token_id|.*token_index", r"num_mem_blocks|num_hidden_layers|.*num_.*layers|.*n_layers?|.*_layers|n_layer")
    made: dict[str, Any] = {}
    for name, value in shrunk(config).items():
        if isinstance(value, dict):
            made[name] = {**getattr(config, name).to_dict(), **few(getattr(config, name))} if hasattr(getattr(config, name), "to_dict") else value
        elif name.endswith("layer_types") or any(re.fullmatch(pattern, name) for pattern in kept) and not isinstance(value, (list, tuple)):
            made[name] = value
    return made


def vary(model: Any) -> None:
    """Makes matrices random that start as zeros: a router of zeros gives ties, which each runtime breaks in its own way."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1 and parameter.is_floating_point() and not parameter.any():
                parameter.normal_(std=0.1)


def calm(model: Any) -> None:
    """Turns off what draws random numbers, where a model has a factor for it: others are not comparable."""
    for name in ("noise_scale", "noise_scale_duration"):
        if isinstance(getattr(model, name, None), float):
            setattr(model, name, 0.0)


def noise(model: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """The random numbers that a model draws if it is not given any, as an input."""
    parameters = inspect.signature(model.forward).parameters
    generator = torch.Generator().manual_seed(7)
    patches = getattr(getattr(getattr(model, "embeddings", None), "patch_embeddings", None), "num_patches", None)
    if "noise" in parameters and patches is not None:
        return {"noise": torch.rand(len(inputs["pixel_values"]), patches, generator=generator)}
    if "noise_sequence" in parameters:
        batch, length = inputs["input_features"].shape[:2]
        return {"noise_sequence": torch.randn(batch, length, model.config.model_in_channels, generator=generator)}
    return {}


def build(model_type: str, auto: Any = None, run: Callable[[Any], None] | None = None, changes: dict[str, Any] | None = None) -> Any:
    """A tiny model of a type with random weights, ready for inference: the smallest with which `run` does not fail."""
    import transformers

    problem: Exception = ValueError("no small configuration is valid")
    for config in configs_of(model_type, changes or {}):
        try:
            with torch.device("meta"):
                plan = (auto or transformers.AutoModel).from_config(copy.deepcopy(config))
            parameters = sum(parameter.numel() for parameter in plan.parameters())
            if parameters > LIMIT:
                raise ValueError(f"{parameters} parameters are too many for a test")
            torch.manual_seed(0)
            model = (auto or transformers.AutoModel).from_config(config).eval()
            vary(model)
            if run is not None:
                with torch.no_grad():
                    run(model)
            return model
        except Exception as error:  # noqa: BLE001  # whatever the class raises
            problem = error
    raise problem
