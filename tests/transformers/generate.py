"""Greedy generation with exported decoders in ONNX Runtime, compared with `generate` of transformers.

    python tests/transformers/generate.py                  # all families
    python tests/transformers/generate.py llama t5         # some
    python tests/transformers/generate.py --runner llama   # through transformers' ExportedModel
    python tests/transformers/generate.py --genai llama    # in onnxruntime-genai
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import tiny
import torch

#: The families: the auto class, the task, and changes of the tiny configuration. Windows are shorter than what is generated.
CAUSAL = ("AutoModelForCausalLM", "text-generation")
FAMILIES: dict[str, tuple[tuple[str, str], dict[str, Any]]] = {
    "llama": (CAUSAL, {}),
    "gpt2": (CAUSAL, {}),
    "gpt_neox": (CAUSAL, {}),
    "opt": (CAUSAL, {}),
    "phi3": (CAUSAL, {"sliding_window": 8}),
    "qwen2": (CAUSAL, {"sliding_window": 8, "use_sliding_window": True, "max_window_layers": 1}),
    "qwen3": (CAUSAL, {}),
    "mistral": (CAUSAL, {"sliding_window": 8}),
    "gemma2": (CAUSAL, {"sliding_window": 8}),
    "gemma3_text": (CAUSAL, {"sliding_window": 8}),
    "cohere2": (CAUSAL, {"sliding_window": 8}),
    "gpt_oss": (CAUSAL, {"sliding_window": 8}),
    "mixtral": (CAUSAL, {}),
    "qwen3_moe": (CAUSAL, {}),
    "olmoe": (CAUSAL, {}),
    "deepseek_v3": (CAUSAL, {"num_key_value_heads": 4}),
    "lfm2": (CAUSAL, {}),
    "mamba": (CAUSAL, {}),
    "mamba2": (CAUSAL, {"num_heads": 8, "head_dim": 16, "n_groups": 2, "state_size": 16, "chunk_size": 8}),
    "falcon_mamba": (CAUSAL, {}),
    "qwen3_next": (CAUSAL, {}),
    "jamba": (CAUSAL, {"attn_layer_period": 2, "attn_layer_offset": 1}),
    "t5": (("AutoModelForSeq2SeqLM", "text2text-generation"), {}),
    "bart": (("AutoModelForSeq2SeqLM", "text2text-generation"), {}),
    "m2m_100": (("AutoModelForSeq2SeqLM", "text2text-generation"), {}),
    "whisper": (("AutoModelForSpeechSeq2Seq", "automatic-speech-recognition"), {"max_source_positions": 50, "begin_suppress_tokens": None, "suppress_tokens": None}),
}
TOKENS = 50


def family(name: str) -> tuple[tuple[str, str], dict[str, Any]] | None:
    """The auto class, the task and the changes of a type; None if it does not generate."""
    from transformers.models.auto import modeling_auto

    if name in FAMILIES:
        return FAMILIES[name]
    for auto, task, mapping in (
        (*CAUSAL, modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES),
        ("AutoModelForSeq2SeqLM", "text2text-generation", modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES),
    ):
        if name in mapping:
            return (auto, task), {}
    return None


def model_of(name: str) -> Any:
    """A tiny model of a family."""
    import transformers

    found = family(name)
    assert found is not None, f"{name} does not generate"
    (auto, _), changes = found
    return tiny.build(name, getattr(transformers, auto), changes=changes)


def task_of(name: str) -> str:
    """The task of a family."""
    found = family(name)
    assert found is not None
    return found[0][1]


def expected(model: Any, inputs: dict[str, Any], count: int = TOKENS) -> Any:
    """What `generate` writes."""
    import transformers

    config = model.generation_config
    config.eos_token_id, config.pad_token_id, config.forced_eos_token_id = None, 0, None
    for name in ("suppress_tokens", "begin_suppress_tokens", "forced_decoder_ids"):
        setattr(config, name, None)
    with torch.no_grad():
        # Whisper's own `generate` for long audio changes the prompt.
        return transformers.GenerationMixin.generate(model, **inputs, max_new_tokens=count, min_new_tokens=count, do_sample=False, use_cache=True)


class Session:
    """An ONNX file whose cache is carried from call to call."""

    def __init__(self, path: Path) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.inputs = {value.name: value for value in self.session.get_inputs()}
        self.state: dict[str, Any] = {}

    def start(self, batch: int) -> None:
        """Empties the cache."""
        for name, value in self.inputs.items():
            if name.startswith("past_"):
                self.state[name] = torch.zeros([batch if size == "batch" else 0 if isinstance(size, str) else size for size in value.shape])

    def __call__(self, **feeds: Any) -> Any:
        """Returns the logits of the last token, or the first output."""
        from aten2onnx import _runtime

        feeds = {name: value for name, value in {**self.state, **feeds}.items() if name in self.inputs}
        names = [value.name for value in self.session.get_outputs()]
        found = dict(zip(names, _runtime.run(self.session, feeds, as_torch=True)))
        for name, value in found.items():
            if name.startswith("present_"):
                self.state[name.replace("present_", "past_", 1)] = value
            elif name.startswith("present."):
                self.state[name.replace("present", "past_key_values", 1)] = value
        return found["logits"][:, -1] if "logits" in found else found[names[0]]


def causal(folder: Path, prompt: Any) -> Any:
    """Generates with one graph, which takes the prompt at once, or token by token if it is made for one token."""
    session = Session(folder / "onnx/model.onnx")
    session.start(len(prompt))
    at_once = isinstance(session.inputs["input_ids"].shape[1], str)
    found, seen = prompt, 0
    pieces = [prompt] if at_once else list(prompt.split(1, dim=1))
    for index in range(TOKENS + len(pieces) - 1):
        tokens = pieces[index] if index < len(pieces) else found[:, -1:]
        positions = torch.arange(seen, seen + tokens.shape[1]).expand(len(prompt), -1)
        seen += tokens.shape[1]
        logits = session(input_ids=tokens, attention_mask=torch.ones(len(prompt), seen, dtype=torch.long), position_ids=positions)
        if index >= len(pieces) - 1:
            found = torch.cat([found, logits.argmax(-1, keepdim=True)], dim=1)
    return found


def seq2seq(folder: Path, inputs: dict[str, Any], start: int, merged: bool) -> Any:
    """Generates with an encoder and two decoders, or the merged one."""
    states = Session(folder / "onnx/encoder_model.onnx")(**inputs)
    batch = len(states)
    if merged:
        first = later = Session(folder / "onnx/decoder_model_merged.onnx")
        first.start(batch)
    else:
        first, later = Session(folder / "onnx/decoder_model.onnx"), Session(folder / "onnx/decoder_with_past_model.onnx")
    found = torch.full((batch, 1), start)
    mask = {"encoder_attention_mask": inputs["attention_mask"]} if "attention_mask" in inputs else {}
    for index in range(TOKENS):
        session = later if index else first
        if index == 1:
            later.state |= first.state
        branch = {"use_cache_branch": torch.tensor([index > 0])}
        logits = session(input_ids=found[:, -1:] if index else found, encoder_hidden_states=states, **mask, **branch)
        found = torch.cat([found, logits.argmax(-1, keepdim=True)], dim=1)
    return found


def check(name: str, folder: Path) -> str:
    """Exports a family and compares what it generates."""
    import aten2onnx.transformers as hugging_face
    from aten2onnx.transformers._inputs import EXAMPLE, Maker

    model = model_of(name)
    task = task_of(name)
    hugging_face.export(model, folder, task)
    if task == "text-generation":
        prompt = Maker(model, EXAMPLE, seed=5).tokens(6)
        wanted = expected(model, {"input_ids": prompt, "attention_mask": torch.ones_like(prompt)})
        results = {"": causal(folder, prompt)}
    else:
        inputs = {key: value for key, value in Maker(model, EXAMPLE, seed=5).inputs().items() if not key.startswith("decoder_")}
        start = getattr(model.config, "decoder_start_token_id", None) or 0
        model.generation_config.decoder_start_token_id = start
        wanted = expected(model, inputs)
        results = {f" ({kind})": seq2seq(folder, inputs, start, kind == "merged") for kind in ("two decoders", "merged")}
    return _verdict(wanted, results)


def check_runner(name: str, _: Path) -> str:
    """The same through the backend of transformers.exporters."""
    import transformers
    from transformers.exporters import AutoHfExporter

    from aten2onnx.transformers import Aten2OnnxConfig
    from aten2onnx.transformers._inputs import EXAMPLE, Maker

    model = model_of(name)
    prompt = Maker(model, EXAMPLE, seed=5).tokens(6)
    inputs = {"input_ids": prompt, "attention_mask": torch.ones_like(prompt)}
    wanted = expected(model, inputs)
    config = Aten2OnnxConfig(dynamic=True)
    exported = AutoHfExporter.from_config(config).export_for_generation(model, dict(inputs), config)
    found, cache = prompt, {}
    start = next((key for key in ("past_key_values", "cache_params") if key in exported.runners["prefill"].metadata.kwargs), None)
    if start is not None:  # `generate` makes an empty cache before the first call
        cache[start] = transformers.DynamicCache(config=model.config)
    for index in range(TOKENS):
        runner = exported.runners["decode" if index else "prefill"]
        tokens = found[:, -1:] if index else found
        positions = torch.arange(found.shape[1] - tokens.shape[1], found.shape[1]).expand(len(found), -1)
        feeds = {"input_ids": tokens, "attention_mask": torch.ones_like(found), "position_ids": positions, **cache}
        result = runner(**{key: value for key, value in feeds.items() if key in runner.metadata.kwargs})
        key = next(key for key in ("past_key_values", "cache_params") if getattr(result, key, None) is not None)
        cache = {key: result[key]}
        found = torch.cat([found, result.logits[:, -1].argmax(-1, keepdim=True)], dim=1)
    return _verdict(wanted, {"": found})


def check_genai(name: str, folder: Path) -> str:
    """The same in onnxruntime-genai."""
    import onnxruntime_genai

    import aten2onnx.transformers as hugging_face
    from aten2onnx.transformers._inputs import EXAMPLE, Maker

    model = model_of(name)
    hugging_face.export(model, folder, "text-generation", genai=True)
    prompt = Maker(model, EXAMPLE, seed=5).tokens(6)[:1]
    wanted = expected(model, {"input_ids": prompt, "attention_mask": torch.ones_like(prompt)})
    loaded = onnxruntime_genai.Model(str(folder))
    parameters = onnxruntime_genai.GeneratorParams(loaded)
    parameters.set_search_options(max_length=6 + TOKENS, min_length=6 + TOKENS, do_sample=False)
    generator = onnxruntime_genai.Generator(loaded, parameters)
    generator.append_tokens(prompt[0].numpy().astype("int32"))
    while not generator.is_done():
        generator.generate_next_token()
    return _verdict(wanted, {"": torch.tensor(generator.get_sequence(0), dtype=torch.long)[None]})


def _verdict(wanted: Any, results: dict[str, Any]) -> str:
    wrong = []
    for kind, found in results.items():
        if not torch.equal(found, wanted):
            same = (found == wanted).all(0).long().cumprod(0).sum().item() if found.shape == wanted.shape else f"{list(found.shape)}, not {list(wanted.shape)}"
            wrong.append(f"other tokens{kind} after {same}")
    return "; ".join(wrong) or "equal"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*")
    parser.add_argument("--runner", action="store_true")
    parser.add_argument("--genai", action="store_true")
    chosen = parser.parse_args()
    import transformers

    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity(50)
    run = check_runner if chosen.runner else check_genai if chosen.genai else check
    equal = 0
    names = chosen.families or list(FAMILIES)
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            try:
                verdict = run(name, Path(folder))
            except Exception as error:  # noqa: BLE001  # the table goes on
                verdict = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        equal += verdict == "equal"
        print(f"{name:16} {verdict}", flush=True)
    print(f"{equal} of {len(names)} families generate the same {TOKENS} tokens as transformers")
    return int(equal < len(names))


if __name__ == "__main__":
    sys.exit(main())
