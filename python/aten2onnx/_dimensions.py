"""Meaningful names for the dynamic dimensions of inputs: `batch`, `sequence`, `past_sequence`, `height`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

#: The axes of well-known inputs. The first pattern that fits decides.
_AXES: list[tuple[str, tuple[str, ...]]] = [
    (r"(input\.)?past_key_values\.cross_attention_cache\.layers\.\d+\.(keys|values)", ("batch", "heads", "encoder_sequence", "head_size")),
    (r"(input\.)?past_key_values\.(self_attention_cache\.)?layers\.\d+\.(keys|values)", ("batch", "heads", "past_sequence", "head_size")),
    (r"past_key_values\.\d+\.encoder\.(key|value)", ("batch", "heads", "encoder_sequence", "head_size")),
    (r"past_key_values\.\d+\.(decoder\.)?(key|value)", ("batch", "heads", "past_sequence", "head_size")),
    (r"past_indexer\.\d+", ("batch", "past_sequence", "head_size")),
    (r"past_\w+\.\d+(\.\d+)?", ("batch", "heads", "state", "head_size")),
    (r"decoder_(input_ids|attention_mask|position_ids)", ("batch", "decoder_sequence")),
    (r"decoder_inputs_embeds", ("batch", "decoder_sequence", "hidden")),
    (r"encoder_hidden_states", ("batch", "encoder_sequence", "hidden")),
    (r"encoder_attention_mask", ("batch", "encoder_sequence")),
    (r"input_ids|token_type_ids|position_ids|inputs", ("batch", "sequence")),
    (r"inputs_embeds|hidden_states", ("batch", "sequence", "hidden")),
    (r"bbox", ("batch", "sequence", "corners")),
    (r"pixel_values", ("batch", "channels", "height", "width")),
    (r"pixel_mask", ("batch", "height", "width")),
    (r"pixel_values_videos", ("batch", "frames", "channels", "height", "width")),
    (r"input_features", ("batch", "features", "frames")),
    (r"input_values", ("batch", "samples")),
]
#: Axes that have the same size in all inputs that have them.
_SHARED = ("batch", "sequence", "past_sequence", "encoder_sequence", "decoder_sequence")
#: Axes that the weights decide.
_FIXED = ("heads", "head_size", "state", "hidden", "channels", "corners")
#: The mask covers past and new tokens if there is a past.
_MASKS = r"attention_mask"


def symbols(exported: Any, inputs: list[str]) -> dict[str, str]:
    """Returns a name for each symbol that is a dimension of an input, given the names of the inputs in order."""
    shapes = _shapes(exported, inputs)
    found: dict[str, str] = {}
    # Masks come last: their names are those of what they mask, if torch.export knows that the sizes are equal.
    for name in sorted(shapes, key=lambda name: name.endswith("mask")):
        for axis, wanted in enumerate(axes(name, shapes)):
            symbol = _symbol(shapes[name][axis])
            if symbol is not None and symbol not in found:
                found[symbol] = _free(wanted, name, axis, found)
    return found


def constants(exported: Any, inputs: list[str]) -> list[str]:
    """Returns a note for each dimension that has a meaning and was to be dynamic, but that torch.export made constant."""
    shapes = _shapes(exported, inputs)
    found: dict[str, str] = {}
    for name, shape in shapes.items():
        is_mask = len(shape) == 2 and re.fullmatch(_MASKS, name)
        for axis, label in enumerate(axes(name, shapes) if is_mask else _known(name, len(shape))):
            if label not in _FIXED and _is_number(shape[axis]):
                where = f"The dimension `{label}` (axis {axis} of `{name}`) is always {shape[axis]}"
                found.setdefault(label, f"{where}: the model decides something by it when it is captured.")
    return list(found.values())


def _shapes(exported: Any, inputs: list[str]) -> dict[str, Any]:
    """The shapes of the inputs, of which these are the names in order."""
    values = {node.name: node.meta.get("val") for node in exported.graph.nodes if node.op == "placeholder"}
    specs = [spec for spec in exported.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
    return {name: getattr(values.get(getattr(spec.arg, "name", None)), "shape", ()) for name, spec in zip(inputs, specs)}


def axes(name: str, shapes: Mapping[str, Any]) -> list[str]:
    """Returns names for the axes of an input."""
    rank = len(shapes[name])
    if re.fullmatch(_MASKS, name) and rank == 2:
        past = any("past_key_values" in other for other in shapes)
        return ["batch", "total_sequence" if past else "sequence"]
    known = _known(name, rank)
    if known:
        return list(known)
    plain = re.sub(r"\W", "_", name)
    return ["batch" if axis == 0 else f"{plain}_{axis}" for axis in range(rank)]


def equal(tensors: Mapping[str, Any]) -> list[tuple[str, str, int, int]]:
    """Returns the dimensions of well-known inputs that are equal by their meaning: two inputs and the axis of each."""
    first: dict[str, tuple[str, int]] = {}
    pairs = []
    for name, tensor in tensors.items():
        rank = len(tensor.shape)
        known = axes(name, {other: value.shape for other, value in tensors.items()}) if re.fullmatch(_MASKS, name) else _known(name, rank)
        for axis, label in enumerate(known):
            if label not in _SHARED:
                continue
            other, place = first.setdefault(label, (name, axis))
            if other != name and tensors[other].shape[place] == tensor.shape[axis]:
                pairs.append((other, name, place, axis))
    return pairs


def may_vary(name: str, tensor: Any) -> list[int]:
    """The axes of an input that may be dynamic: not the number of heads in a cache, for example."""
    known = _known(name, len(tensor.shape))
    return [axis for axis in range(len(tensor.shape)) if not (known and known[axis] in _FIXED)]


def _known(name: str, rank: int) -> tuple[str, ...]:
    for pattern, known in _AXES:
        if re.fullmatch(pattern, name) and (len(known) == rank or (name.startswith("past_") and len(known) > rank > 0)):
            return known[:rank]
    return ()


def _free(wanted: str, name: str, axis: int, found: Mapping[str, str]) -> str:
    """Returns a name that no other symbol has."""
    plain = re.sub(r"\W", "_", name)
    for candidate in (wanted, f"{plain}_{wanted}", f"{plain}_{axis}_{wanted}"):
        if candidate not in found.values():
            return candidate
    return f"{plain}_{axis}_{len(found)}"


def _is_number(size: Any) -> bool:
    expression = getattr(getattr(size, "node", None), "expr", None)
    return isinstance(size, int) if expression is None else bool(expression.is_number)


def _symbol(size: Any) -> str | None:
    expression = getattr(getattr(size, "node", None), "expr", None)
    return str(expression) if expression is not None and expression.is_symbol else None
