"""`genai_config.json`: what onnxruntime-genai must know of a decoder."""

from __future__ import annotations

from typing import Any

from .._errors import InputError
from .._program import ONNXProgram

#: Types that onnxruntime-genai treats in their own way. It runs all others as "decoder".
_TYPES = {"llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text", "phi", "phi3", "granite", "olmo", "smollm3", "ernie4_5", "chatglm", "nemotron"}


def configuration(model: Any, program: ONNXProgram) -> dict[str, Any]:
    """Returns the content of the file."""
    config = model.config.get_text_config(decoder=True)
    inputs = {name for name, _ in program.report.inputs}
    if any(name.startswith("past_") and not name.startswith("past_key_values") for name in inputs):
        raise InputError("onnxruntime-genai only runs decoders whose cache has keys and values", help="leave out `genai`")
    heads = config.num_attention_heads
    layers = len([name for name in inputs if name.endswith(".key")])
    key = next(kind for name, kind in program.report.inputs if name.endswith(".key"))
    sizes = key.partition("[")[2].rstrip("]").split(", ")
    names = {name: name for name in ("input_ids", "attention_mask", "position_ids") if name in inputs}
    generation = model.generation_config
    eos = generation.eos_token_id if generation.eos_token_id is not None else config.eos_token_id
    first = eos[0] if isinstance(eos, list) else eos
    pad = generation.pad_token_id if generation.pad_token_id is not None else first
    length = int(getattr(config, "max_position_embeddings", None) or 2048)
    return {
        "model": {
            "bos_token_id": _token(generation.bos_token_id, config.bos_token_id),
            "context_length": length,
            "decoder": {
                "session_options": {"log_id": "onnxruntime-genai", "provider_options": []},
                "filename": "onnx/model.onnx",
                "head_size": int(sizes[3]),
                "hidden_size": config.hidden_size,
                "inputs": {**names, "past_key_names": "past_key_values.%d.key", "past_value_names": "past_key_values.%d.value"},
                "outputs": {"logits": "logits", "present_key_names": "present.%d.key", "present_value_names": "present.%d.value"},
                "num_attention_heads": heads,
                "num_hidden_layers": layers,
                "num_key_value_heads": int(sizes[1]),
            },
            "eos_token_id": eos if eos is not None else 0,
            "pad_token_id": pad if pad is not None else 0,
            "type": _type(config.model_type),
            "vocab_size": config.vocab_size,
        },
        "search": {
            "diversity_penalty": 0.0,
            "do_sample": bool(generation.do_sample),
            "early_stopping": True,
            "length_penalty": 1.0,
            "max_length": length,
            "min_length": 0,
            "no_repeat_ngram_size": 0,
            "num_beams": 1,
            "num_return_sequences": 1,
            "past_present_share_buffer": False,
            "repetition_penalty": 1.0,
            "temperature": 1.0,
            "top_k": 50 if generation.do_sample else 1,
            "top_p": 1.0,
        },
    }


def _type(model_type: str) -> str:
    return model_type if model_type in _TYPES else "decoder"


def _token(*candidates: Any) -> int:
    return next((token for token in candidates if isinstance(token, int)), 0)
