"""Loops and exits of real models, exported as they are: decoding as one file, with the tokens of PyTorch."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import aten2onnx

transformers = pytest.importorskip("transformers")


class Greedy(nn.Module):
    """Greedy decoding of a language model until the end token, or a number of tokens."""

    def __init__(self, model, end: int, most: int) -> None:
        super().__init__()
        self.model, self.end, self.most = model, end, most

    def forward(self, ids):
        while ids.shape[1] < self.most and ids[0, -1] != self.end:
            logits = self.model(input_ids=ids, use_cache=False).logits
            ids = torch.cat([ids, logits[:, -1:].argmax(-1)], 1)
        return ids


def llama():
    torch.manual_seed(1)
    config = transformers.LlamaConfig(
        vocab_size=13, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=64
    )
    config._attn_implementation = "eager"
    return sharpened(transformers.LlamaForCausalLM(config).eval())


def sharpened(model):
    """A model with larger weights, whose tokens are not all the same."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(20)
    return model


def test_greedy_decoding_of_a_llama_gives_the_tokens_of_pytorch() -> None:
    model = Greedy(llama(), 3, 24).eval()
    program = aten2onnx.export(model, (torch.tensor([[1, 5, 2, 7]]),), dynamic_shapes={"ids": {1: "n"}}, capture="record")
    assert program.report.operators["Loop"] == 1
    lengths = set()
    for seed in range(20):
        torch.manual_seed(seed)
        ids = torch.randint(0, 13, (1, 2 + seed % 7))
        wanted = model(ids)
        lengths.add(wanted.shape[1])
        assert program(ids)[0].tolist() == wanted.tolist()
    assert len(lengths) > 2


class Transcriber(nn.Module):
    """Greedy decoding of a Whisper: the encoder runs once, the decoder in each turn."""

    def __init__(self, whisper, first: int, end: int, most: int) -> None:
        super().__init__()
        self.whisper, self.first, self.end, self.most = whisper, first, end, most

    def forward(self, features):
        encoded = self.whisper.model.encoder(features).last_hidden_state
        ids = torch.full((1, 1), self.first)
        while ids.shape[1] < self.most and ids[0, -1] != self.end:
            decoded = self.whisper.model.decoder(input_ids=ids, encoder_hidden_states=encoded, use_cache=False).last_hidden_state
            ids = torch.cat([ids, self.whisper.proj_out(decoded[:, -1:]).argmax(-1)], 1)
        return ids


def whisper():
    torch.manual_seed(2)
    config = transformers.WhisperConfig(
        vocab_size=11, num_mel_bins=8, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2,
        encoder_ffn_dim=32, decoder_ffn_dim=32, max_source_positions=20, max_target_positions=40, pad_token_id=0, bos_token_id=1, eos_token_id=3,
        decoder_start_token_id=1, suppress_tokens=None, begin_suppress_tokens=None,
    )  # fmt: skip
    config._attn_implementation = "eager"
    return sharpened(transformers.WhisperForConditionalGeneration(config).eval())


def test_greedy_decoding_of_a_whisper_gives_the_tokens_of_pytorch() -> None:
    model = Transcriber(whisper(), 1, 3, 20).eval()
    program = aten2onnx.export(model, (torch.randn(1, 8, 40),), capture="record")
    assert program.report.operators["Loop"] == 1
    lengths = set()
    for seed in range(20):
        torch.manual_seed(seed)
        features = torch.randn(1, 8, 40) * (1 + seed)
        wanted = model(features)
        lengths.add(wanted.shape[1])
        assert program(features)[0].tolist() == wanted.tolist()
    assert len(lengths) > 2


class Parseq(nn.Module):
    """A decoder of text in images, which stops when the end token is there."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(9, 16)
        self.positions = nn.Parameter(torch.randn(12, 16))
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.head = nn.Linear(16, 9)

    def forward(self, memory):
        tokens = torch.zeros(memory.shape[0], 1, dtype=torch.long)
        logits = []
        for i in range(12):
            y = self.embed(tokens) + self.positions[: i + 1]
            y = y + self.attention(y, memory, memory, need_weights=False)[0]
            p = self.head(y[:, -1:])
            logits.append(p)
            tokens = torch.cat([tokens, p.argmax(-1)], 1)
            if (tokens == 3).any(dim=-1).all():
                break
        return torch.cat(logits, 1)


def test_a_text_decoder_stops_early() -> None:
    torch.manual_seed(0)
    model = Parseq().eval()
    program = aten2onnx.export(model, (torch.randn(2, 5, 16),), dynamic_shapes={"memory": {0: "batch", 1: "n"}}, capture="record")
    lengths = set()
    for seed in range(24):
        torch.manual_seed(seed)
        memory = torch.randn(1 + seed % 3, 2 + seed % 5, 16) * (1 + seed % 4)
        wanted = model(memory)
        lengths.add(wanted.shape[1])
        torch.testing.assert_close(program(memory)[0], wanted, atol=1e-4, rtol=1e-4)
    assert len(lengths) > 2


class Exits(nn.Module):
    """BERT whose layers have heads: the first that is sure ends it."""

    def __init__(self) -> None:
        super().__init__()
        config = transformers.BertConfig(vocab_size=31, hidden_size=16, num_hidden_layers=3, num_attention_heads=2, intermediate_size=32, max_position_embeddings=40)
        config._attn_implementation = "eager"
        self.bert = transformers.BertModel(config)
        self.heads = nn.ModuleList(nn.Linear(16, 2) for _ in range(3))

    def forward(self, ids):
        hidden = self.bert.embeddings(ids)
        for number, layer in enumerate(self.bert.encoder.layer):
            made = layer(hidden)
            hidden = made[0] if isinstance(made, tuple) else made
            logits = self.heads[number](hidden[:, 0])
            if logits.softmax(-1).max() > 0.6:
                self.left = number
                return logits
        self.left = -1
        return logits


def test_a_bert_with_exits() -> None:
    torch.manual_seed(2)
    model = Exits().eval()
    program = aten2onnx.export(model, (torch.randint(0, 31, (1, 7)),), dynamic_shapes={"ids": {1: "n"}}, capture="record")
    assert program.report.operators["If"] >= 2
    exits = set()
    for seed in range(20):
        torch.manual_seed(seed)
        ids = torch.randint(0, 31, (1, 2 + seed))
        logits = model(ids)
        exits.add(model.left)
        torch.testing.assert_close(program(ids)[0], logits, atol=1e-4, rtol=1e-4)
    assert len(exits) > 1
