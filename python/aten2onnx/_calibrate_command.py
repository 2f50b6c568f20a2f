"""`aten2onnx calibrate MODEL.onnx DATA.npz`, and `--calibrate` of `aten2onnx convert`: what needs ONNX Runtime. The native command does the rest."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from tempfile import TemporaryDirectory

from . import _native
from ._calibrate import calibrate, measured_ranges
from ._errors import Error, exit_code_of


def main(arguments: Sequence[str]) -> int:
    """Runs the command `calibrate`, and returns the exit code."""
    parser = _parser("aten2onnx calibrate", "Run a float32 model, and write the ranges of its values for `convert --ranges`.")
    parser.add_argument("data", metavar="DATA", nargs="+", help="an .npz file with an array for each input, or a folder of such files")
    parser.add_argument("-o", "--output", metavar="RANGES.json", required=True, help="the file for the ranges")
    options = parser.parse_args(arguments)
    try:
        found = calibrate(options.model, options.data, options.output, method=options.calibration, percentile=options.percentile)
    except Error as error:
        return _failed(error)
    print(f"{len(found['values'])} values measured in {found['runs']} runs: {options.output}", file=sys.stderr)
    return 0


def convert(arguments: Sequence[str]) -> int:
    """Runs `convert MODEL --calibrate DATA`: measures the model, and converts it with the ranges."""
    parser = _parser("aten2onnx convert", "Convert a model with ranges that are measured. The model comes first; other options are those of `convert --help`.")
    parser.add_argument("--calibrate", metavar="DATA", action="append", required=True, help="an .npz file with an array for each input, or a folder of such files")
    if arguments[:1] == [] or arguments[0].startswith("-"):
        parser.error("with --calibrate, MODEL is the first argument")
    options, others = parser.parse_known_args(arguments)
    with TemporaryDirectory(prefix="aten2onnx-") as folder:
        try:
            ranges = measured_ranges(options.model, options.calibrate, options.calibration, options.percentile, folder)
        except Error as error:
            return _failed(error)
        return _native.main(["aten2onnx", "convert", options.model, *others, "--ranges", ranges])


def _parser(name: str, description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(name, description=description, allow_abbrev=False)
    parser.add_argument("model", metavar="MODEL", help="a float32 ONNX model")
    parser.add_argument(
        "--calibration", choices=("minmax", "percentile", "entropy"), default="minmax", help="how ranges follow from the runs (default: minmax)"
    )
    parser.add_argument("--percentile", metavar="P", type=float, default=99.99, help="with percentile, how many percent of the numbers lie in the range (default: 99.99)")
    return parser


def _failed(error: Error) -> int:
    print(f"error: {error}", file=sys.stderr)
    return exit_code_of(error)
