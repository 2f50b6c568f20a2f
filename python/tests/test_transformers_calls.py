"""`aten2onnx.export` with what transformers' models take and give: caches, model outputs, dataclasses, None."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from torch import nn

import aten2onnx

transformers = pytest.importorskip("transformers")

SMALL = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 128}


def llama(**changes):
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL | changes)).eval()


def step(model, past: int, new: int, batch: int = 2, cache=None):
    """The arguments of a step after `past` tokens."""
    cache = transformers.DynamicCache(config=model.config) if cache is None else cache
    with torch.no_grad():
        model(torch.randint(0, 128, (batch, past)), past_key_values=cache)
    return {"input_ids": torch.randint(0, 128, (batch, new)), "attention_mask": torch.ones(batch, past + new, dtype=torch.long), "past_key_values": cache}


def test_a_dynamic_cache_has_names_and_dimensions() -> None:
    model = llama()
    program = aten2onnx.export(model, kwargs=step(model, 5, 3), dynamic_shapes="auto", verify=True)
    assert program.report.inputs[:4] == [
        ("input_ids", "int64[batch, sequence]"),
        ("attention_mask", "int64[batch, past_sequence + sequence]"),
        ("past_key_values.0.key", "float32[batch, 2, past_sequence, 8]"),
        ("past_key_values.0.value", "float32[batch, 2, past_sequence, 8]"),
    ]
    assert program.report.outputs[:2] == [
        ("logits", "float32[batch, sequence, 128]"),
        ("present.0.key", "float32[batch, 2, past_sequence + sequence, 8]"),
    ]
    program.verify((), step(model, 9, 1, batch=1))


def test_a_note_names_a_dimension_that_is_always_the_same() -> None:
    class Chooses(nn.Module):
        def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
            return input_ids * 2 if input_ids.shape[1] == 8 else input_ids

    program = aten2onnx.export(Chooses(), kwargs={"input_ids": torch.zeros(2, 8, dtype=torch.long)}, dynamic_shapes="auto", branches="refuse")
    assert program.report.inputs == [("input_ids", "int64[batch, 8]")]
    (note,) = [note for note in program.report.notes if "is always" in note]
    assert note.startswith("The dimension `sequence` is always 8:") and "test_transformers_calls.py" in note


def test_the_arguments_are_those_of_the_model_afterwards() -> None:
    model = llama()
    program = aten2onnx.export(model, kwargs=step(model, 5, 3), dynamic_shapes="auto")
    assert "forward" not in vars(model)
    arguments = step(model, 7, 2)
    found = program(**arguments)[0]
    with torch.no_grad():
        torch.testing.assert_close(found, model(**arguments).logits)
    with pytest.raises(aten2onnx.InputError, match="expected the arguments of the export"):
        program(input_ids=arguments["input_ids"])


def test_dimensions_of_a_cache_are_given_at_once() -> None:
    model = llama()
    arguments = step(model, 5, 3)
    del arguments["attention_mask"]
    shapes = {"input_ids": {0: "B", 1: "S"}, "past_key_values": {0: "B", 2: "P"}}
    program = aten2onnx.export(model, kwargs=arguments, dynamic_shapes=shapes)
    assert ("past_key_values.1.value", "float32[B, 2, P, 8]") in program.report.inputs
    with pytest.raises(aten2onnx.InputError, match="has 4 tensors, found dimensions for 1"):
        aten2onnx.export(model, kwargs=arguments, dynamic_shapes={"past_key_values": [{0: "B"}]})


def test_a_sliding_window_keeps_all_tokens_and_masks_them() -> None:
    config = transformers.Gemma3TextConfig(**SMALL, head_dim=8, sliding_window=8, layer_types=["sliding_attention", "full_attention"])
    model = transformers.Gemma3ForCausalLM(config).eval()
    program = aten2onnx.export(model, kwargs=step(model, 5, 2), dynamic_shapes="auto")
    assert [name for name, _ in program.report.inputs if "window" in name or name.endswith("length")] == []
    tokens = torch.randint(0, 128, (1, 20))
    empty = torch.zeros(1, 2, 0, 8)
    program.initialize_inference_session()
    names = [name for name, _ in program.report.inputs]
    feeds = {name: empty for name in names if name.startswith("past")} | {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}
    from aten2onnx import _runtime

    found = _runtime.run(program._session, {name: feeds[name] for name in names}, as_torch=True)[0]
    with torch.no_grad():
        torch.testing.assert_close(found, model(tokens).logits, rtol=1e-3, atol=1e-5)
    with pytest.raises(aten2onnx.InputError, match="its sliding window kept 7"):
        aten2onnx.export(model, kwargs=step(model, 12, 1))


def test_a_static_cache_has_one_length() -> None:
    model = llama()
    program = aten2onnx.export(model, kwargs=step(model, 5, 1, cache=transformers.StaticCache(config=model.config, max_cache_len=16)), verify=True)
    assert [name for name, _ in program.report.inputs if "length" in name] == ["past_key_values.length"]
    arguments = step(model, 9, 1, cache=transformers.StaticCache(config=model.config, max_cache_len=16))
    arguments["attention_mask"] = arguments["attention_mask"][:, :6]
    found = program(**arguments)[0]
    with torch.no_grad():
        torch.testing.assert_close(found, model(**arguments).logits)


def test_states_of_a_hybrid_model_have_names() -> None:
    config = transformers.Lfm2Config(**SMALL, layer_types=["conv", "full_attention"])
    model = transformers.Lfm2ForCausalLM(config).eval()
    program = aten2onnx.export(model, kwargs=step(model, 5, 1), verify=True)
    names = [name for name, _ in program.report.inputs]
    assert {"past_conv.0", "past_key_values.1.key"} <= set(names)
    assert {"present_conv.0", "present.1.key"} <= {name for name, _ in program.report.outputs}


def test_an_encoder_decoder_cache_has_both_parts() -> None:
    config = transformers.T5Config(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, vocab_size=128, decoder_start_token_id=0)
    model = transformers.T5ForConditionalGeneration(config).eval()
    tokens = torch.randint(0, 128, (2, 6))
    with torch.no_grad():
        first = model(input_ids=tokens, decoder_input_ids=tokens[:, :3])
    states = transformers.modeling_outputs.BaseModelOutput(last_hidden_state=first.encoder_last_hidden_state)
    arguments = {"encoder_outputs": states, "decoder_input_ids": tokens[:, :2], "past_key_values": first.past_key_values}
    program = aten2onnx.export(model, kwargs=arguments, dynamic_shapes="auto", verify=True)
    inputs = dict(program.report.inputs)
    assert inputs["encoder_hidden_states"] == "float32[batch, encoder_sequence, 32]"
    assert inputs["past_key_values.0.decoder.key"] == "float32[batch, 4, past_sequence, 8]"
    assert inputs["past_key_values.1.encoder.value"] == "float32[batch, 4, encoder_sequence, 8]"
    assert "present.0.decoder.key" in dict(program.report.outputs)


def test_dataclasses_and_constants() -> None:
    @dataclass
    class Pair:
        first: torch.Tensor
        times: int = 3
        second: torch.Tensor | None = None

    @dataclass
    class Sum:
        total: torch.Tensor
        count: int
        other: torch.Tensor | None = None

    class Add(nn.Module):
        def forward(self, x, pair, negative=True):
            return Sum(-x if negative else x + pair.first * pair.times, 2)

    arguments = {"x": torch.ones(2, 3), "pair": Pair(torch.ones(2, 3)), "negative": False}
    program = aten2onnx.export(Add().eval(), kwargs=arguments, dynamic_shapes="auto", verify=True)
    assert program.report.inputs == [("x", "float32[batch, x_1]"), ("pair.first", "float32[batch, x_1]")]
    assert [name for name, _ in program.report.outputs] == ["total"]
    assert program(torch.ones(4, 3), Pair(torch.ones(4, 3)))[0].eq(4).all()


def test_a_result_with_the_name_of_an_argument_has_a_name_of_its_own() -> None:
    @dataclass
    class Masked:
        x: torch.Tensor
        mask: torch.Tensor

    class Double(nn.Module):
        def forward(self, x, masked):
            return {"x": x * 2, "sum": x + masked.x * masked.mask}

    program = aten2onnx.export(Double().eval(), kwargs={"x": torch.ones(2, 3), "masked": Masked(torch.ones(2, 3), torch.ones(2, 3))}, verify=True)
    assert [name for name, _ in program.report.inputs] == ["x", "masked.x", "masked.mask"]
    assert [name for name, _ in program.report.outputs] == ["output.x", "sum"]


def test_an_unknown_argument_is_an_error() -> None:
    tokens = torch.ones(1, 2, dtype=torch.long)
    with pytest.raises(aten2onnx.InputError, match="dynamic_shapes: no argument `tokens` in this call; its arguments are input_ids"):
        aten2onnx.export(llama(), kwargs={"input_ids": tokens}, dynamic_shapes={"tokens": {0: "batch"}})
