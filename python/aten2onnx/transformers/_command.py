"""The command `aten2onnx hf`: exports a Hugging Face model to a directory."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from .._errors import Error, exit_code_of
from ._directory import export
from ._tasks import TASKS
from ._variants import VARIANTS


def main(arguments: Sequence[str]) -> int:
    """Runs the command and returns the exit code."""
    chosen = _parser().parse_args(arguments)
    try:
        made = export(
            chosen.model,
            chosen.directory,
            chosen.task,
            opset_version=chosen.opset,
            target=chosen.target,
            mappings=chosen.mappings,
            merge=not chosen.no_merge,
            genai=chosen.genai,
            verify=not chosen.no_verify,
            external_data=chosen.external_data,
            dtype=chosen.dtype.split(","),
            quantize_weights=chosen.quantize_weights,
            block_size=chosen.block_size if chosen.block_size in (None, "channel") else int(chosen.block_size),
            scales=chosen.scales,
            skip=chosen.skip,
            trust_remote_code=chosen.trust_remote_code,
            capture=chosen.capture,
            branches=chosen.branches,
        )
    except (Error, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return exit_code_of(error)
    for note in dict.fromkeys(made.notes):
        print(f"note: {note}", file=sys.stderr)
    for path in made.files:
        print(path)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="aten2onnx hf", description="Exports a Hugging Face model with dynamic sizes, and verifies it in ONNX Runtime.")
    parser.add_argument("model", help="a directory that `save_pretrained` wrote, or the name of a repository")
    parser.add_argument("directory", help="the output directory")
    parser.add_argument("--task", help=f"the task (default: that of the model's class): {', '.join(sorted(TASKS))}")
    parser.add_argument("--opset", type=int, help="the opset, 9 to 28 (default: 18; for a target its fastest, if that was measured, or the nearest that it supports)")
    parser.add_argument("--target", help="the runtime, such as `onnxruntime-1.16`")
    parser.add_argument("--mappings", action="append", default=[], help="a mapping file or folder with rules for custom operators")
    parser.add_argument(
        "--external-data",
        choices=["auto", "always", "never"],
        default="auto",
        help="where the weights go: into the model if protobuf can hold them (auto), beside it in NAME.onnx_data (always), or into it (never)",
    )
    parser.add_argument("--dtype", default="fp32", help=f"the variants to write, from one capture: {', '.join(VARIANTS)}, joined by commas (default: fp32)")
    parser.add_argument("--quantize-weights", choices=["int8", "uint8", "int4", "uint4", "fp8"], help="quantize the weights of products, convolutions and lookups")
    parser.add_argument("--block-size", metavar="N|channel", help="so many numbers of a weight have a common scale (default: 32 for 4 bits, else channel)")
    parser.add_argument("--scales", choices=["nearest", "mse", "hqq"], help="how the scales of quantized weights are chosen (default: nearest)")
    parser.add_argument("--skip", action="append", default=[], metavar="PATTERN", help="do not quantize weights, operators, nodes or modules of this name, such as lm_head")
    parser.add_argument("--genai", action="store_true", help="also write genai_config.json for onnxruntime-genai")
    parser.add_argument("--no-merge", action="store_true", help="do not write decoder_model_merged.onnx for encoder-decoder models")
    parser.add_argument("--no-verify", action="store_true", help="do not compare with PyTorch in ONNX Runtime")
    parser.add_argument("--trust-remote-code", action="store_true", help="run code from the repository of the model")
    parser.add_argument("--capture", choices=["auto", "record", "export"], default="auto", help="how the graphs are captured: recorded, by torch.export, or as it goes (auto)")
    parser.add_argument("--branches", choices=["refuse", "example", "both"], default="both", help="what becomes of branches in Python that decide by a size or by data")
    return parser
