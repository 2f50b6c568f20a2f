"""The models of runtime.py: architectures that people run, small, with random weights. Each is a function that gives a module, its inputs and what is
dynamic of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import transformers
from models import MODELS as OF_RUN
from torch import Tensor, nn

Made = tuple[nn.Module, tuple[Tensor, ...], tuple[dict[int, str], ...]]

TOKENS = {"vocab_size": 1000, "hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4}
DECODER = TOKENS | {"intermediate_size": 688, "num_key_value_heads": 2}
HEAD = {"head_dim": 64}
BATCH_AND_LENGTH = {0: "batch", 1: "length"}


class Chosen(nn.Module):
    """A model of transformers that takes its inputs by position and gives one tensor."""

    def __init__(self, model: nn.Module, names: tuple[str, ...], result: str, **settings: Any) -> None:
        super().__init__()
        self.model, self.names, self.result, self.settings = model, names, result, settings

    def forward(self, *given: Tensor) -> Tensor:
        return getattr(self.model(**dict(zip(self.names, given)), **self.settings), self.result)


def ids(length: int = 64) -> Tensor:
    return torch.randint(0, 900, (2, length))


def encoder(name: str, **settings: Any) -> Callable[[], Made]:
    """A text encoder, with a mask of attention."""

    def build() -> Made:
        config = getattr(transformers, f"{name}Config")(**{**TOKENS, "intermediate_size": 1024, **settings})
        model = getattr(transformers, f"{name}Model")(config)
        mask = torch.ones(2, 64, dtype=torch.int64)
        mask[1, 50:] = 0
        return Chosen(model, ("input_ids", "attention_mask"), "last_hidden_state"), (ids(), mask), (BATCH_AND_LENGTH,) * 2

    return build


def decoder(name: str, **settings: Any) -> Callable[[], Made]:
    """A language model on a prompt, without a cache."""

    def build() -> Made:
        config = getattr(transformers, f"{name}Config")(**{**DECODER, **settings})
        model = getattr(transformers, f"{name}ForCausalLM")(config)
        return Chosen(model, ("input_ids",), "logits", use_cache=False), (ids(),), (BATCH_AND_LENGTH,)

    return build


def translator(name: str, **settings: Any) -> Callable[[], Made]:
    """An encoder and a decoder of text."""

    def build() -> Made:
        config = getattr(transformers, f"{name}Config")(vocab_size=1000, d_model=256, **settings)
        model = getattr(transformers, f"{name}ForConditionalGeneration")(config)
        chosen = Chosen(model, ("input_ids", "decoder_input_ids"), "logits", use_cache=False)
        return chosen, (ids(), ids(16)), ({0: "batch", 1: "length"}, {0: "batch", 1: "decoded"})

    return build


def vision(config: Any, name: str, size: int = 64, result: str = "last_hidden_state") -> Callable[[], Made]:
    """An image encoder of transformers."""

    def build() -> Made:
        model = getattr(transformers, name)(config())
        return Chosen(model, ("pixel_values",), result), (torch.randn(2, 3, size, size),), ({0: "batch"},)

    return build


def whisper() -> Made:
    sizes = {"encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 1024, "decoder_ffn_dim": 1024, "encoder_attention_heads": 4, "decoder_attention_heads": 4}
    config = transformers.WhisperConfig(
        vocab_size=1000, d_model=256, num_mel_bins=80, max_source_positions=200, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, **sizes
    )
    model = transformers.WhisperForConditionalGeneration(config)
    chosen = Chosen(model, ("input_features", "decoder_input_ids"), "logits", use_cache=False)
    return chosen, (torch.randn(2, 80, 400), ids(16)), ({0: "batch"}, {0: "batch", 1: "decoded"})


def clip() -> Made:
    text = {"vocab_size": 1000, "hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 1024}
    image = {"hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 1024, "image_size": 64, "patch_size": 16}
    model = transformers.CLIPModel(transformers.CLIPConfig(text_config=text, vision_config=image))
    names = ("input_ids", "pixel_values")
    return Chosen(model, names, "logits_per_image"), (ids(32), torch.randn(2, 3, 64, 64)), ({0: "texts"}, {0: "images"})


def vocoder() -> Made:
    config = transformers.SpeechT5HifiGanConfig(model_in_dim=80, upsample_initial_channel=128)
    return transformers.SpeechT5HifiGan(config), (torch.randn(2, 50, 80),), (BATCH_AND_LENGTH,)


def speech() -> Made:
    sizes = {"hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 1024, "conv_dim": (64,) * 7}
    config = transformers.Wav2Vec2ConformerConfig(**sizes, num_conv_pos_embedding_groups=4, position_embeddings_type="relative")
    model = transformers.Wav2Vec2ConformerModel(config)
    return Chosen(model, ("input_values",), "last_hidden_state"), (torch.randn(2, 16000),), (BATCH_AND_LENGTH,)


class Tagger(nn.Module):
    """Labels of words by a recurrent layer in both directions."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.lstm, self.head = nn.Embedding(1000, 128), nn.LSTM(128, 128, 2, batch_first=True, bidirectional=True), nn.Linear(256, 20)

    def forward(self, words: Tensor) -> Tensor:
        return self.head(self.lstm(self.embed(words))[0])


def tagger() -> Made:
    return Tagger(), (ids(),), ({0: "batch"},)


def vit() -> transformers.PretrainedConfig:
    return transformers.ViTConfig(hidden_size=256, num_hidden_layers=4, num_attention_heads=4, intermediate_size=1024, image_size=64, patch_size=8)


def dinov2() -> transformers.PretrainedConfig:
    return transformers.Dinov2Config(hidden_size=256, num_hidden_layers=4, num_attention_heads=4, image_size=64, patch_size=8)


def segformer() -> transformers.PretrainedConfig:
    return transformers.SegformerConfig(hidden_sizes=[32, 64, 128, 256], depths=[1, 1, 1, 1], decoder_hidden_size=128)


def convnext() -> transformers.PretrainedConfig:
    return transformers.ConvNextV2Config(hidden_sizes=[32, 64, 128, 256], depths=[1, 1, 2, 1])


def of_run(name: str) -> Callable[[], Made]:
    """A model of models.py, with a dynamic batch."""

    def build() -> Made:
        model, args = OF_RUN[name]()
        return model, args, ({0: "batch"},)

    return build


#: The type of a model in `onnxruntime.transformers.optimizer`, if it knows one, and how it is built.
MODELS: dict[str, tuple[str | None, Callable[[], Made]]] = {
    "bert": ("bert", encoder("Bert")),
    "roberta": ("bert", encoder("Roberta")),
    "electra": ("bert", encoder("Electra", embedding_size=128)),
    "mpnet": ("bert", encoder("MPNet")),
    "albert": ("bert", encoder("Albert", embedding_size=128)),
    "gpt2": ("gpt2", of_run("gpt2")),
    "gpt_neox": ("gpt_neox", decoder("GPTNeoX")),
    "llama": ("gpt2", decoder("Llama")),
    "mistral": ("gpt2", decoder("Mistral")),
    "qwen2": ("gpt2", decoder("Qwen2")),
    "qwen3": ("qwen3", decoder("Qwen3", **HEAD)),
    "phi3": ("phi", decoder("Phi3", pad_token_id=0)),
    "gemma": ("gpt2", decoder("Gemma", **HEAD)),
    "gemma2": ("gpt2", decoder("Gemma2", **HEAD)),
    "olmo2": ("gpt2", decoder("Olmo2")),
    "t5": ("t5", translator("T5", d_kv=64, d_ff=1024, num_layers=3, num_heads=4, decoder_start_token_id=0)),
    "bart": ("bart", translator("Bart", encoder_layers=2, decoder_layers=2, encoder_ffn_dim=1024, decoder_ffn_dim=1024)),
    "whisper": ("bart", whisper),
    "clip": ("clip", clip),
    "vit": ("vit", vision(vit, "ViTModel")),
    "dinov2": ("vit", vision(dinov2, "Dinov2Model")),
    "swin_t": ("swin", of_run("swin_t")),
    "segformer": (None, vision(segformer, "SegformerModel", 128)),
    "convnextv2": (None, vision(convnext, "ConvNextV2Model", 128)),
    "conformer": ("conformer", speech),
    "hifigan": (None, vocoder),
    "lstm_tagger": (None, tagger),
    "resnet18": (None, of_run("resnet18")),
    "mobilenet_v3_small": (None, of_run("mobilenet_v3_small")),
    "efficientnet_b0": (None, of_run("efficientnet_b0")),
}
