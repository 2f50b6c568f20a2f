"""The variants of a graph that transformers.js and optimum look for by name: half precision and quantized ones, each converted from the file of the capture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .._convert import convert
from .._errors import ArgumentError
from .._types import ExternalData, Paths
from . import _external

#: By the dtype of transformers.js: what follows the name of the graph, and the options of `aten2onnx.convert`.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "fp32": ("", {}),
    "fp16": ("_fp16", {"precision": "float16"}),
    "q4": ("_q4", {"quantize_weights": "int4", "target": "onnxruntime"}),
    "q4f16": ("_q4f16", {"quantize_weights": "int4", "precision": "float16", "target": "onnxruntime"}),
    "q8": ("_quantized", {"quantize": "dynamic"}),
    "int8": ("_int8", {"quantize": "dynamic", "quantize_weights": "int8"}),
    "uint8": ("_uint8", {"quantize": "dynamic", "quantize_weights": "uint8"}),
}


def checked(dtypes: Sequence[str]) -> list[str]:
    """The dtypes, each once.

    Raises:
        ArgumentError: One of them is unknown, or there is none.
    """
    chosen = list(dict.fromkeys(dtypes))
    for dtype in chosen:
        if dtype not in VARIANTS:
            raise ArgumentError(f"dtype: there is no variant {dtype!r}", help=f"the variants are {', '.join(VARIANTS)}")
    if not chosen:
        raise ArgumentError("dtype: no variant is asked for", help="leave it out for `fp32`")
    return chosen


def write(path: Path, dtypes: Sequence[str], external_data: ExternalData, opset_version: int | None, target: str | None, mappings: Paths) -> list[Path]:
    """Writes the variants of the graph in a file beside it, and returns their files. Weights are streamed."""
    made = []
    for dtype in dtypes:
        suffix, options = VARIANTS[dtype]
        if not suffix:
            continue
        own = path.with_name(f"{path.stem}{suffix}.onnx")
        chosen = {"opset_version": opset_version, "mappings": mappings, **options, **({"target": target} if target else {})}
        convert(path, own, external_data=external_data, optimize=True, progress=False, **chosen)
        named = _external.rename(own)
        made += [own] if named is None else [own, named]
    return made
