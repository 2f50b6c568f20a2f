"""`aten2onnx.transformers.export` and the command `hf`: the files for a task, and what they compute."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import onnx
import pytest
import torch

transformers = pytest.importorskip("transformers")

import aten2onnx  # noqa: E402
import aten2onnx.transformers as hugging_face  # noqa: E402
from aten2onnx.__main__ import main  # noqa: E402
from aten2onnx._errors import CaptureError, InternalError, MissingPackageError, UnsupportedError, VerificationError, exit_code_of  # noqa: E402
from aten2onnx.transformers._command import main as command  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/transformers"))
import generate  # noqa: E402
import tiny  # noqa: E402


@pytest.mark.parametrize("family", ["llama", "gemma2", "t5", "whisper", "mamba"])
def test_generation_gives_the_same_tokens(family, tmp_path) -> None:
    assert generate.check(family, tmp_path) == "equal"


def test_the_files_of_an_encoder_decoder_model(tmp_path) -> None:
    made = hugging_face.export(tiny.build("bart", transformers.AutoModelForSeq2SeqLM), tmp_path, merge=False)
    assert {path.name for path in (tmp_path / "onnx").iterdir()} == {"encoder_model.onnx", "decoder_model.onnx", "decoder_with_past_model.onnx"}
    assert dict(made.programs["decoder_model"].report.inputs)["encoder_hidden_states"].startswith("float32[batch, encoder_sequence")
    assert "present.0.encoder.key" not in dict(made.programs["decoder_with_past_model"].report.outputs)
    # optimum-onnx goes by their order.
    caches = [f"{layer}.{half}.{role}" for layer in range(2) for half in ("decoder", "encoder") for role in ("key", "value")]
    inputs = [name for name, _ in made.programs["decoder_with_past_model"].report.inputs]
    assert [name for name in inputs if name.startswith("past_")] == [f"past_key_values.{name}" for name in caches]
    outputs = [name for name, _ in made.programs["decoder_model"].report.outputs]
    assert [name for name in outputs if name.startswith("present")] == [f"present.{name}" for name in caches]


@pytest.mark.parametrize("where", ["the decoders", "protobuf"])
def test_weights_beside_the_merged_decoder(where, tmp_path, monkeypatch) -> None:
    if where == "protobuf":
        monkeypatch.setattr("aten2onnx.transformers._merge.LIMIT", 10_000)
    model = generate.model_of("t5")
    made = hugging_face.export(model, tmp_path, external_data="always" if where == "the decoders" else "auto")
    folder = tmp_path / "onnx"
    assert {folder / "decoder_model_merged.onnx", folder / "decoder_model_merged.onnx_data"} <= set(made.files)
    assert all(path.exists() for path in made.files) and set(folder.iterdir()) <= set(made.files)
    others = [path for path in folder.iterdir() if path.name.startswith("decoder") and "merged" not in path.name]
    # Both decoders have the same weights, which are written once.
    assert (folder / "decoder_model_merged.onnx_data").stat().st_size < 1.5 * sum(path.stat().st_size for path in others) / 2
    for path in others:
        path.unlink()
    outside = json.loads((tmp_path / "config.json").read_text())["transformers.js_config"]["use_external_data_format"]
    assert outside["decoder_model_merged.onnx"] == 1 and (len(outside) == 4) == (where == "the decoders")
    inputs = {"input_ids": torch.randint(1, 90, (2, 9)), "attention_mask": torch.ones(2, 9, dtype=torch.long)}
    model.generation_config.decoder_start_token_id = 0
    assert torch.equal(generate.seq2seq(tmp_path, inputs, 0, merged=True), generate.expected(model, inputs))


def test_the_configuration_for_genai(tmp_path) -> None:
    hugging_face.export(generate.model_of("llama"), tmp_path, genai=True, opset_version=17)
    decoder = json.loads((tmp_path / "genai_config.json").read_text())["model"]["decoder"]
    model = onnx.load(tmp_path / "onnx/model.onnx")
    names = {value.name for value in model.graph.input}
    assert decoder["filename"] == "onnx/model.onnx"
    assert {decoder["inputs"]["past_key_names"] % layer for layer in range(decoder["num_hidden_layers"])} <= names
    assert model.opset_import[0].version == 17


def test_a_head_and_a_tokenizer_from_the_command_line(tmp_path, capsys) -> None:
    source = tmp_path / "source"
    tiny.build("bert", transformers.AutoModelForSequenceClassification).save_pretrained(source)
    (source / "vocab.txt").write_text("[PAD]\n")
    sys_argv, sys.argv = sys.argv, ["aten2onnx", "hf", str(source), str(tmp_path / "out"), "--opset", "14", "--external-data", "always"]
    try:
        assert main() == 0
    finally:
        sys.argv = sys_argv
    assert {str(tmp_path / "out/onnx/model.onnx"), str(tmp_path / "out/onnx/model.onnx_data")} <= set(capsys.readouterr().out.splitlines())
    assert {"config.json", "vocab.txt"} <= {path.name for path in (tmp_path / "out").iterdir()}
    graph = onnx.load(tmp_path / "out/onnx/model.onnx").graph
    assert [value.name for value in graph.input] == ["input_ids", "attention_mask", "token_type_ids"]
    assert [value.name for value in graph.output] == ["logits"]


def test_the_command_ends_with_the_exit_codes_of_the_readme(tmp_path, capsys) -> None:
    source = tmp_path / "source"
    tiny.build("vit").save_pretrained(source)
    for arguments, code, said in [
        ([source, "--task", "poetry"], 4, "no task `poetry`"),
        ([source, "--dtype", "fp8"], 4, "fp8"),
    ]:
        model, *options = map(str, arguments)
        assert command([model, str(tmp_path / "out"), *options]) == code, arguments
        assert said in capsys.readouterr().err
    assert [exit_code_of(kind("")) for kind in (CaptureError, UnsupportedError, InternalError, VerificationError, MissingPackageError)] == [5, 5, 70, 1, 2]


def test_mistakes_are_explained(tmp_path) -> None:
    model = tiny.build("vit")
    with pytest.raises(aten2onnx.InputError, match="no task `poetry`"):
        hugging_face.export(model, tmp_path, "poetry")
    with pytest.raises(aten2onnx.InputError, match="takes no cache"):
        hugging_face.export(model, tmp_path, "text-generation")
    with pytest.raises(aten2onnx.InputError, match="`genai` is for models with the task `text-generation`"):
        hugging_face.export(model, tmp_path, "feature-extraction", genai=True)


def test_a_model_that_sees_images(tmp_path) -> None:
    text = transformers.LlamaConfig(
        hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, vocab_size=128
    )
    vision = transformers.CLIPVisionConfig(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, image_size=32, patch_size=8)
    config = transformers.LlavaConfig(text_config=text, vision_config=vision, image_token_index=100)
    made = hugging_face.export(transformers.LlavaForConditionalGeneration(config), tmp_path)
    assert list(made.programs) == ["vision_encoder", "embed_tokens", "decoder_model_merged"]
    assert made.programs["vision_encoder"].report.inputs == [("pixel_values", "float32[batch, 3, 32, 32]")]
    assert not any("one image at a time" in note for note in made.notes)  # the loop over images is a Loop
    assert dict(made.programs["decoder_model_merged"].report.inputs)["inputs_embeds"] == "float32[batch, sequence, 32]"


def test_the_variants_of_one_capture(tmp_path) -> None:
    """By the names that transformers.js looks for; those that nobody asks for are not there."""
    runtime = pytest.importorskip("onnxruntime")
    model = tiny.build("distilbert", transformers.AutoModelForSequenceClassification)
    made = hugging_face.export(model, tmp_path, dtype=["fp16", "q4", "q4f16", "q8", "int8", "uint8"])
    names = {f"model_{variant}.onnx" for variant in ("fp16", "q4", "q4f16", "quantized", "int8", "uint8")}
    assert {path.name for path in (tmp_path / "onnx").iterdir()} == names == {path.name for path in made.files if path.suffix == ".onnx"}
    ids, mask = torch.randint(1, 90, (2, 9)), torch.ones(2, 9, dtype=torch.long)
    with torch.no_grad():
        wanted = model(input_ids=ids, attention_mask=mask).logits
    for name in sorted(names):
        session = runtime.InferenceSession(str(tmp_path / "onnx" / name), providers=["CPUExecutionProvider"])
        [found] = session.run(None, {"input_ids": ids.numpy(), "attention_mask": mask.numpy()})
        noise = (torch.from_numpy(found).float() - wanted).norm() / wanted.norm()
        assert 0 < noise < (0.01 if name == "model_fp16.onnx" else 0.5), (name, noise)
        operators = {node.op_type for node in onnx.load(str(tmp_path / "onnx" / name)).graph.node}
        wanted_operator = {"q4": "MatMulNBits", "q4f16": "MatMulNBits", "fp16": "Cast"}.get(name[6:-5], "MatMulInteger")
        assert wanted_operator in operators, (name, operators)


def test_unknown_variants_are_named(tmp_path) -> None:
    with pytest.raises(aten2onnx.Error, match="there is no variant 'q5'"):
        hugging_face.export(tiny.build("distilbert", transformers.AutoModelForSequenceClassification), tmp_path, dtype=["q5"])
    assert not (tmp_path / "onnx").exists()


def test_weights_are_quantized_by_option(tmp_path) -> None:
    model = tiny.build("distilbert", transformers.AutoModelForSequenceClassification)
    made = hugging_face.export(model, tmp_path, quantize_weights="int8", skip=["*classifier*"])
    notes = [note for note in made.notes if note.startswith("int8: ")]
    assert len(notes) == 1 and made.programs["model"].report.verification["outputs"]["logits"]["signal_to_noise"] > 20
    with pytest.raises(aten2onnx.Error, match="cannot be used with dtype"):
        hugging_face.export(model, tmp_path, dtype=["q4"], quantize_weights="int8")
