"""Takes the caches of transformers apart into named tensors, and puts them together around others.

The names are those that runtimes feed: `past_key_values.0.key`, `present.0.key`, `past_key_values.0.decoder.key`, `past_conv.0`.
Window sizes, counters and flags are constants of the graph. The only counter that is an input is the length of a static cache,
because nothing else says how much of it is filled.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ._errors import InputError

#: The name of a tensor, from the layer and the role: ("key", 0) -> "past_key_values.0.key".
Names = Callable[[str, int], str]

#: Arguments and fields that are the cache of the whole model.
_WHOLE = ("past_key_values", "cache_params", "past_key_value", "past_buckets_states", "state")
_ROLES = {"keys": "key", "values": "value"}
#: States that are no keys and values have their own prefix.
_STATES = {"conv_states": "conv", "recurrent_states": "recurrent", "indexer_keys": "indexer"}
#: Constants that some layers keep as tensors.
_CONSTANTS = ("_sliding_window_tensor",)


def is_cache(value: Any) -> bool:
    """Whether an object is a cache of transformers, of any kind."""
    module = sys.modules.get("transformers.cache_utils")
    return module is not None and isinstance(value, module.Cache)


def names(argument: str, past: str) -> Names:
    """Returns the names for the tensors of the cache in an argument (`past` is "past") or in an output ("present")."""
    field = argument.rsplit(".", 1)[-1]

    def name(role: str, layer: int) -> str:
        if field not in _WHOLE:
            return f"{argument}.{layer}.{role}"
        if role.split(".")[0] in _STATES.values():
            kind, _, state = role.partition(".")
            return f"{past}_{kind}.{layer}" + (f".{state}" if state else "")
        return f"{'past_key_values' if past == 'past' else past}.{layer}.{role}"

    return name


def take_apart(cache: Any, name: Names, found: dict[str, Any], role: str = "") -> Any:
    """Adds the tensors of a cache to `found`, and returns what puts the cache together again; see `_objects.take_apart`."""
    halves = {"self_attention_cache": "decoder.", "cross_attention_cache": "encoder."}
    if all(hasattr(cache, half) for half in halves):
        both: dict[str, Any] = {}
        built = {half: take_apart(getattr(cache, half), name, both, prefix) for half, prefix in halves.items()}
        # Runtimes pair them with the parts of each layer by their order.
        found.update(sorted(both.items(), key=lambda item: _layer_of(item[0])))
    else:
        length = _length(cache, lambda layer: name("length", layer), found)
        layers = [_layer(layer, index, name, role, found, length) for index, layer in enumerate(cache.layers)]
        built = {"layers": lambda tensors: [build(tensors) for build in layers]}

    def build(tensors: Any) -> Any:
        made = _copied(cache)
        for attribute, part in built.items():
            setattr(made, attribute, part(tensors))
        return made

    return build


def _layer_of(name: str) -> int:
    """The layer in the name of a tensor; -1 if it belongs to all."""
    return next((int(part) for part in reversed(name.split(".")) if part.isdigit()), -1)


def _layer(layer: Any, index: int, name: Names, role: str, found: dict[str, Any], length: str | None) -> Any:
    import torch

    places: dict[tuple[str, Any], str] = {}
    for attribute, value in vars(layer).items():
        if attribute in _CONSTANTS or (attribute == "cumulative_length" and length is not None):
            continue
        kind = _STATES.get(attribute, role + _ROLES.get(attribute, attribute))
        if isinstance(value, torch.Tensor):
            places[attribute, None] = name(kind, index)
        elif isinstance(value, dict):
            tensors = {key: part for key, part in value.items() if isinstance(part, torch.Tensor)}
            for key in tensors:
                places[attribute, key] = name(kind if len(value) == 1 else f"{kind}.{key}", index)
    for (attribute, key), place in places.items():
        value = getattr(layer, attribute)
        found[place] = value if key is None else value[key]

    def build(tensors: Any) -> Any:
        made = _copied(layer)
        for (attribute, key), place in places.items():
            # Layers of fixed size are written in place, and inputs must not be.
            tensor = tensors[place].clone() if _writes(layer) else tensors[place]
            if key is None:
                setattr(made, attribute, tensor)
            else:
                getattr(made, attribute)[key] = tensor
        if length is not None and isinstance(getattr(layer, "cumulative_length", None), torch.Tensor):
            made.cumulative_length = tensors[length].clone()
            if _is_static_sliding(layer):  # it never wraps, see `_check_static`
                made.__class__ = sys.modules["transformers.cache_utils"].StaticLayer
                made.is_sliding = True
        elif _is_sliding(layer) and isinstance(getattr(made, "cumulative_length", None), int) and made.keys is not None:
            made.cumulative_length = made.keys.shape[-2]
        return made

    return build


def _copied(value: Any) -> Any:
    """A copy whose flags can be changed without changing the original's."""
    made = copy.copy(value)
    for attribute, part in vars(made).items():
        if isinstance(part, (dict, list)):
            setattr(made, attribute, copy.copy(part))
    return made


def _length(cache: Any, name: Callable[[int], str], found: dict[str, Any]) -> str | None:
    """Adds the length of a static cache, which its layers share."""
    import torch

    counters = [getattr(layer, "cumulative_length", None) for layer in cache.layers]
    lengths = [counter for counter in counters if isinstance(counter, torch.Tensor)]
    if not lengths:
        return None
    place = name(0).replace(".0.", ".")
    found[place] = lengths[0]
    return place


def check(cache: Any) -> None:
    """Refuses caches whose state depends on Python numbers that a graph would freeze."""
    for part in vars(cache).values():
        if is_cache(part):
            check(part)
    layers = getattr(cache, "layers", [])
    _check_static(layers)
    for index, layer in enumerate(layers):
        _check_sliding(layer, index)


def _check_sliding(layer: Any, index: int) -> None:
    import torch

    counter, keys = getattr(layer, "cumulative_length", None), getattr(layer, "keys", None)
    if _is_sliding(layer) and isinstance(counter, int) and isinstance(keys, torch.Tensor) and keys.dim() == 4 and counter != keys.shape[-2]:
        raise InputError(
            f"layer {index} of the cache has seen {counter} tokens, of which its sliding window kept {keys.shape[-2]}",
            help="pass an example cache with fewer tokens than the sliding window: the graph keeps all tokens, and masks those outside the window",
        )


def _check_static(layers: list[Any]) -> None:
    """Refuses a static cache with windows shorter than the cache: where a window wraps is a Python number."""
    sizes = [layer.max_cache_len for layer in layers if hasattr(layer, "max_cache_len")]
    for index, layer in enumerate(layers):
        if _is_static_sliding(layer) and layer.max_cache_len < max(sizes):
            raise InputError(
                f"layer {index} of the static cache is a window of {layer.max_cache_len} tokens in a cache of {max(sizes)}: "
                "its position in the window is a Python number, which a graph would freeze",
                help=f"use a DynamicCache, or a StaticCache with max_cache_len={layer.max_cache_len}",
            )


def _is_static_sliding(layer: Any) -> bool:
    kind = getattr(sys.modules["transformers.cache_utils"], "StaticSlidingWindowLayer", ())
    return isinstance(layer, kind)


def _is_sliding(layer: Any) -> bool:
    kind = getattr(sys.modules["transformers.cache_utils"], "DynamicSlidingWindowLayer", ())
    return isinstance(layer, kind)


def _writes(layer: Any) -> bool:
    module = sys.modules["transformers.cache_utils"]
    kinds = tuple(kind for name in ("StaticLayer", "LinearAttentionLayer") if (kind := getattr(module, name, None)) is not None)
    return isinstance(layer, kinds)


def is_model(model: Any) -> bool:
    """Whether a module is or contains a model of transformers."""
    utils = sys.modules.get("transformers.modeling_utils")
    return utils is not None and any(isinstance(module, utils.PreTrainedModel) for module in model.modules())


def recurrent_states(model: Any) -> str:
    """What runtimes call the recurrent states of a model: "ssm" for state-space models."""
    return "ssm" if any("mamba" in type(module).__name__.lower() for module in model.modules()) else "recurrent"


def traceable() -> AbstractContextManager[Any]:
    """Makes transformers' models traceable inside the block, with the patches of its own capture (not those of its ONNX exporter).

    Among them: layers with a sliding window keep all tokens, since their Python counters would be frozen.
    """
    if "transformers.modeling_utils" not in sys.modules:
        return nullcontext()
    try:
        from transformers.exporters import exporter_dynamo, utils
    except ImportError:  # before 5.20
        return nullcontext()
    del exporter_dynamo  # importing it registers the patches
    return utils.patch_attributes([(owner, name, patch) for path, name, patch in utils._PATCHES["dynamo"] if (owner := _loaded(path)) is not None])


def _loaded(path: str) -> Any:
    """What a dotted path names, without loading a module: nobody has a model whose module is not loaded, and transformers' take seconds."""
    module, rest = path, ""
    while module not in sys.modules:
        module, _, last = module.rpartition(".")
        if not module:
            return None
        rest = f"{last}.{rest}" if rest else last
    found: Any = sys.modules[module]
    for name in rest.split(".") if rest else ():
        found = vars(found).get(name)
        if found is None:
            return None
    return found
