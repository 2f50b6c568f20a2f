"""Loops and exits of real models, exported as they are: decoding as one file, with the tokens of PyTorch."""

from __future__ import annotations

import pytest
import torch

import aten2onnx

from real_models import Exits, Greedy, Parseq, Transcriber, llama, whisper
from tiers import IS_ALL, slow

pytest.importorskip("transformers")


@slow
def test_greedy_decoding_of_a_llama_gives_the_tokens_of_pytorch() -> None:
    model = Greedy(llama(), 3, 24).eval()
    program = aten2onnx.export(model, (torch.tensor([[1, 5, 2, 7]]),), dynamic_shapes={"ids": {1: "n"}}, capture="record")
    assert program.report.operators["Loop"] == 1
    lengths = set()
    for seed in range(20 if IS_ALL else 10):
        torch.manual_seed(seed)
        ids = torch.randint(0, 13, (1, 2 + seed % 7))
        wanted = model(ids)
        lengths.add(wanted.shape[1])
        assert program(ids)[0].tolist() == wanted.tolist()
    assert len(lengths) > 2


def test_greedy_decoding_of_a_whisper_gives_the_tokens_of_pytorch() -> None:
    model = Transcriber(whisper(), 1, 3, 20).eval()
    program = aten2onnx.export(model, (torch.randn(1, 8, 40),), capture="record")
    assert program.report.operators["Loop"] == 1
    lengths = set()
    for seed in range(20 if IS_ALL else 10):
        torch.manual_seed(seed)
        features = torch.randn(1, 8, 40) * (1 + seed)
        wanted = model(features)
        lengths.add(wanted.shape[1])
        assert program(features)[0].tolist() == wanted.tolist()
    assert len(lengths) > 2


def test_a_text_decoder_stops_early() -> None:
    torch.manual_seed(0)
    model = Parseq().eval()
    program = aten2onnx.export(model, (torch.randn(2, 5, 16),), dynamic_shapes={"memory": {0: "batch", 1: "n"}}, capture="record")
    lengths = set()
    for seed in range(24 if IS_ALL else 12):
        torch.manual_seed(seed)
        memory = torch.randn(1 + seed % 3, 2 + seed % 5, 16) * (1 + seed % 4)
        wanted = model(memory)
        lengths.add(wanted.shape[1])
        torch.testing.assert_close(program(memory)[0], wanted, atol=1e-4, rtol=1e-4)
    assert len(lengths) > 2


def test_a_bert_with_exits() -> None:
    torch.manual_seed(2)
    model = Exits().eval()
    program = aten2onnx.export(model, (torch.randint(0, 31, (1, 7)),), dynamic_shapes={"ids": {1: "n"}}, capture="record")
    assert program.report.operators["If"] >= 2
    exits = set()
    for seed in range(20 if IS_ALL else 10):
        torch.manual_seed(seed)
        ids = torch.randint(0, 31, (1, 2 + 2 * (seed % 10)))
        logits = model(ids)
        exits.add(model.left)
        torch.testing.assert_close(program(ids)[0], logits, atol=1e-4, rtol=1e-4)
    assert len(exits) > 1
