"""Makes example inputs of a model of transformers from its configuration and the signature of its `forward`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .._errors import InputError


@dataclass(frozen=True)
class Sizes:
    """The sizes of example inputs.

    Attributes:
        batch: The size of the batch.
        sequence: The number of tokens.
        past: The number of tokens in the cache.
        scale: The factor for what has a size in the configuration, such as images, in tenths.
        samples: The number of audio samples.
    """

    batch: int = 2
    sequence: int = 12
    past: int = 7
    scale: int = 10
    samples: int = 4000


#: What the export is traced with, and what it is verified with.
EXAMPLE = Sizes()
SECOND = Sizes(batch=3, sequence=9, past=5, samples=4800)


class Maker:
    """Makes the inputs of one model.

    Attributes:
        config: The configuration of the model.
        text: That of its text part.
        vision: That of its vision part.
        audio: That of its audio part.
    """

    def __init__(self, model: Any, sizes: Sizes = EXAMPLE, seed: int = 0) -> None:
        import torch

        self.model = model
        self.sizes = sizes
        self.config = model.config
        self.text = part(self.config, "text_config", "decoder", "language_config", "llm_config")
        self.vision = part(self.config, "vision_config", "vision_encoder_config", "encoder_config", "encoder", "backbone_config")
        self.audio = part(self.config, "audio_config", "audio_encoder_config", "encoder_config")
        self.generator = torch.Generator().manual_seed(seed)
        self.parameters = inspect.signature(model.forward).parameters

    def inputs(self) -> dict[str, Any]:
        """Returns the inputs by name.

        Raises:
            InputError: The configuration does not say what an input looks like.
        """
        made: dict[str, Any] = {}
        for name in self._wanted():
            make = _MAKERS.get(name)
            value = make(self) if make is not None else None
            if value is None:
                raise InputError(
                    f"the configuration of {type(self.model).__name__} does not say what its input `{name}` looks like",
                    help="pass `inputs=` with an example of each input",
                )
            made[name] = value
        return made

    def tokens(self, length: int, limit: int | None = None) -> Any:
        """Random token ids which have no special meaning."""
        import torch

        vocabulary = limit or number(self.text, "vocab_size", default=number(self.config, "vocab_size", default=100))
        special = {value for key, value in flat(self.config) if key.endswith(("token_id", "token_index")) and isinstance(value, int)}
        plain = [token for token in range(min(vocabulary, 1000)) if token not in special] or [0]
        chosen = torch.randint(0, len(plain), (self.sizes.batch, length), generator=self.generator)
        return torch.tensor(plain)[chosen]

    def random(self, *shape: int) -> Any:
        """Random floats."""
        import torch

        dtype = next((parameter.dtype for parameter in self.model.parameters() if parameter.is_floating_point()), torch.float32)
        return torch.randn(shape, generator=self.generator).to(dtype)

    def ones(self, *shape: int) -> Any:
        """A mask that hides nothing."""
        import torch

        return torch.ones(shape, dtype=torch.long)

    def _wanted(self) -> list[str]:
        """The names of the inputs: the main one, those without a default, and the masks and ids that go with them."""
        main = getattr(self.model, "main_input_name", "input_ids")
        if main not in self.parameters and not self._takes_anything():
            main = next(iter(self.parameters))
        required = [
            name
            for name, parameter in self.parameters.items()
            if parameter.default is parameter.empty and parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
        ]
        wanted = {main: None, **dict.fromkeys(required)}
        if "pixel_values" in self.parameters and "pixel_values" not in wanted and self._is_dual():
            wanted["pixel_values"] = None
        if "input_ids" in self.parameters and "pixel_values" in wanted and self._is_dual():
            wanted["input_ids"] = None
        for name in ("input_ids", "input_features", "input_values"):
            if name in wanted and name != main and name not in required and not self._is_dual():
                del wanted[name]
        if "input_ids" in wanted and "attention_mask" in self.parameters:
            wanted["attention_mask"] = None
        if "input_ids" in wanted and "token_type_ids" in self.parameters and (number(self.text, "type_vocab_size") or 0) > 1:
            wanted["token_type_ids"] = None
        if getattr(self.config, "is_encoder_decoder", False) and "decoder_input_ids" in self.parameters:
            wanted["decoder_input_ids"] = None
        if "bbox" in self.parameters and "input_ids" in wanted:
            wanted["bbox"] = None
        order = {name: index for index, name in enumerate(self.parameters)}
        return sorted(wanted, key=lambda name: order.get(name, len(order)))

    def _takes_anything(self) -> bool:
        return any(parameter.kind is parameter.VAR_KEYWORD for parameter in self.parameters.values())

    def _is_dual(self) -> bool:
        """Whether the model compares a text with an image, as CLIP does."""
        placeholders = ("image_token_id", "image_token_index", "image_token", "media_placeholder_token_id", "image_patch_id")
        if any(hasattr(self.config, name) for name in placeholders):
            return False  # images are among the tokens
        return {"input_ids", "pixel_values"} <= set(self.parameters) and (hasattr(self.config, "text_config") or hasattr(self.config, "vision_config"))


def part(config: Any, *names: str) -> Any:
    """The configuration of a part of a model; that of the model if it has no such part."""
    for name in names:
        found = getattr(config, name, None)
        if hasattr(found, "to_dict"):
            return found
    return config


def number(config: Any, *names: str, default: int | None = None) -> Any:
    """The first of some fields of a configuration that is a number."""
    for name in names:
        value = getattr(config, name, None)
        if isinstance(value, (list, tuple)) and value and isinstance(value[0], int):
            value = value[0]
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return default


def flat(config: Any) -> list[tuple[str, Any]]:
    """All fields of a configuration and its parts."""
    found: list[tuple[str, Any]] = []
    for key, value in vars(config).items():
        found += flat(value) if hasattr(value, "to_dict") else [(key, value)]
    return found


def image_size(config: Any) -> tuple[int, int]:
    """The height and width of images."""
    for name in ("image_size", "input_size", "img_size", "crop_size"):
        value = getattr(config, name, None)
        if isinstance(value, Mapping):
            value = [value.get("height", value.get("shortest_edge", 224)), value.get("width", value.get("shortest_edge", 224))]
        if isinstance(value, int):
            return value, value
        if isinstance(value, (list, tuple)) and len(value) >= 2:
            return int(value[-2]), int(value[-1])
    return 64, 64


def pixels(maker: Maker) -> Any:
    """Random images, or videos."""
    vision = maker.vision
    height, width = image_size(vision) if vision is not maker.config else image_size(maker.config)
    if not hasattr(vision, "image_size") and hasattr(maker.config, "image_size"):
        height, width = image_size(maker.config)
    channels = number(vision, "num_channels", "in_channels", "in_chans", default=number(maker.config, "num_channels", default=3))
    height, width = height * maker.sizes.scale // 10, width * maker.sizes.scale // 10
    frames = number(vision, "num_frames")
    if frames is not None:
        return maker.random(maker.sizes.batch, frames, channels, height, width)
    return maker.random(maker.sizes.batch, channels, height, width)


def _features(maker: Maker) -> Any:
    bins = number(maker.audio, "num_mel_bins", "input_feat_per_channel", "feature_size", "n_mels", "feature_projection_input_dim", default=number(maker.config, "num_mel_bins", default=80))
    positions = number(maker.audio, "max_source_positions")
    if positions is not None and not hasattr(maker.audio, "input_feat_per_channel"):
        return maker.random(maker.sizes.batch, bins, 2 * positions)  # Whisper: a fixed window
    return maker.random(maker.sizes.batch, 8 * maker.sizes.sequence, bins)


def _samples(maker: Maker) -> Any:
    bins, frames = number(maker.config, "num_mel_bins"), number(maker.config, "max_length")
    if bins is not None and frames is not None and hasattr(maker.config, "frequency_stride"):
        return maker.random(maker.sizes.batch, frames, bins)  # spectrograms
    channels = number(maker.config, "audio_channels")
    if channels is not None:
        return maker.random(maker.sizes.batch, channels, maker.sizes.samples)
    return maker.random(maker.sizes.batch, maker.sizes.samples)


def _boxes(maker: Maker) -> Any:
    import torch

    corner = torch.randint(0, 8, (maker.sizes.batch, maker.sizes.sequence, 2), generator=maker.generator)
    return torch.cat([corner, corner + 4], dim=-1)


_MAKERS: dict[str, Callable[[Maker], Any]] = {
    "input_ids": lambda maker: maker.tokens(maker.sizes.sequence),
    "attention_mask": lambda maker: maker.ones(maker.sizes.batch, maker.sizes.sequence),
    "token_type_ids": lambda maker: maker.ones(maker.sizes.batch, maker.sizes.sequence) * 0,
    "decoder_input_ids": lambda maker: maker.tokens(maker.sizes.past),
    "decoder_attention_mask": lambda maker: maker.ones(maker.sizes.batch, maker.sizes.past),
    "bbox": _boxes,
    "pixel_values": pixels,
    "input_features": _features,
    "input_values": _samples,
}
