"""The backend of transformers.exporters: the same interface, names, metadata and folders as transformers' own ONNX exporter."""

from __future__ import annotations

import inspect
import json

import onnx
import pytest
import torch

transformers = pytest.importorskip("transformers")
exporters = pytest.importorskip("transformers.exporters")

import aten2onnx.transformers  # noqa: E402
from aten2onnx.transformers import Aten2OnnxConfig, Aten2OnnxExporter, SavedProgram  # noqa: E402


@pytest.fixture
def model():
    config = transformers.LlamaConfig(
        hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, vocab_size=128, eos_token_id=None, pad_token_id=0
    )
    return transformers.LlamaForCausalLM(config).eval()


@pytest.fixture
def inputs():
    tokens = torch.randint(1, 128, (2, 6))
    return {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}


def test_the_backend_is_registered() -> None:
    config = exporters.AutoExportConfig.from_dict({"export_format": "aten2onnx", "opset_version": 17, "dynamic": True})
    assert isinstance(config, Aten2OnnxConfig) and config.opset_version == 17
    assert isinstance(exporters.AutoHfExporter.from_config(config), Aten2OnnxExporter)


def test_an_export_runs_saves_and_loads(model, inputs, tmp_path) -> None:
    config = Aten2OnnxConfig(dynamic=True, opset_version=13, verify=True)
    exported = exporters.AutoHfExporter.from_config(config).export(model, dict(inputs), config)
    with torch.no_grad():
        expected = model(**inputs)
    assert isinstance(exported(**inputs), type(expected))
    torch.testing.assert_close(exported(**inputs).logits, expected.logits)
    exported.save_pretrained(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} >= {"model.onnx", "model.onnx.data", "export.json", "config.json"}
    assert json.loads((tmp_path / "export.json").read_text())["export_format"] == "aten2onnx"
    assert onnx.load(tmp_path / "model.onnx").opset_import[0].version == 13
    loaded = exporters.ExportedModel.from_pretrained(tmp_path)
    assert isinstance(loaded.program, SavedProgram)
    longer = {name: torch.cat([value, value], dim=1) for name, value in inputs.items()}
    with torch.no_grad():
        torch.testing.assert_close(loaded(**longer).logits, model(**longer).logits)
    loaded.save_pretrained(tmp_path / "again")
    torch.testing.assert_close(exporters.ExportedModel.from_pretrained(tmp_path / "again")(**inputs).logits, expected.logits)


@pytest.mark.parametrize("capture", ["record", "export"])
def test_generation_gives_the_same_tokens(model, inputs, capture) -> None:
    config = Aten2OnnxConfig(dynamic=True, capture=capture)
    exported = exporters.AutoHfExporter.from_config(config).export_for_generation(model, dict(inputs), config)
    expected = model.generate(**inputs, max_new_tokens=20, do_sample=False)
    found, cache = inputs["input_ids"], {}
    for index in range(20):
        runner = exported.runners["decode" if index else "prefill"]
        tokens = found[:, -1:] if index else found
        positions = torch.arange(found.shape[1] - tokens.shape[1], found.shape[1]).expand(len(found), -1)
        feeds = {"input_ids": tokens, "attention_mask": torch.ones_like(found), "position_ids": positions, **cache}
        result = runner(**{name: value for name, value in feeds.items() if name in runner.metadata.kwargs})
        cache = {"past_key_values": result.past_key_values}
        found = torch.cat([found, result.logits[:, -1].argmax(-1, keepdim=True)], dim=1)
    assert torch.equal(found, expected)


def test_both_captures_have_the_same_names_and_description(model, inputs, tmp_path) -> None:
    found = {}
    for capture in ("record", "export"):
        config = Aten2OnnxConfig(dynamic=True, capture=capture)
        exported = exporters.AutoHfExporter.from_config(config).export(model, dict(inputs), config)
        exported.save_pretrained(tmp_path / capture)
        graph = onnx.load(tmp_path / capture / "model.onnx").graph
        described = json.loads((tmp_path / capture / "export.json").read_text())
        found[capture] = [value.name for value in graph.input], [value.name for value in graph.output], {k: v for k, v in described.items() if k != "config"}
    names, described = found["record"][:2], found["record"][2]
    assert names == found["export"][:2]
    assert json.dumps(described).replace("record", "export") == json.dumps(found["export"][2])


def test_the_recorder_is_asked_first(model, inputs, monkeypatch) -> None:
    monkeypatch.setattr(torch.export, "export", lambda *_, **__: pytest.fail("torch.export is asked"))
    config = Aten2OnnxConfig(dynamic=True)
    exported = exporters.AutoHfExporter.from_config(config).export(model, dict(inputs), config)
    with torch.no_grad():
        torch.testing.assert_close(exported(**inputs).logits, model(**inputs).logits)


def test_a_capture_that_excludes_an_option_is_refused(model, inputs) -> None:
    config = Aten2OnnxConfig(strict=True, capture="record")
    with pytest.raises(aten2onnx.Error, match="strict=True"):
        exporters.AutoHfExporter.from_config(config).export(model, dict(inputs), config)


@pytest.mark.parametrize("parameter", ["opset_version", "target", "mappings", "optimize", "verify", "quantizer", "capture"])
def test_wrong_options_are_errors_of_the_family(parameter) -> None:
    for value in [7, "x", [], {}, [7], object(), 1.5]:
        try:
            Aten2OnnxConfig(**{parameter: value})
        except aten2onnx.Error as error:
            assert str(error).startswith(parameter)
        except Exception as error:
            pytest.fail(f"{parameter}={value!r}: {type(error).__name__}: {error}")
    with pytest.raises(aten2onnx.ArgumentError, match=parameter):
        Aten2OnnxConfig(**{parameter: object()})


@pytest.mark.parametrize("parameter", [*inspect.signature(aten2onnx.transformers.export).parameters])
def test_wrong_arguments_of_an_export_are_errors_of_the_family(parameter, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    for value in [7, "x", "", [], {}, [7], {"x": 7}, object(), b"x"]:
        with pytest.raises(aten2onnx.Error):
            aten2onnx.transformers.export(**{"model": tmp_path / "empty", "directory": tmp_path / "out", parameter: value})
