"""`aten2onnx diff A.onnx B.onnx --inputs DATA.npz`: the options that need ONNX Runtime. Without them, the native command runs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ._diff import diff
from ._errors import Error, exit_code_of


def main(arguments: Sequence[str]) -> int:
    """Runs the command and returns the exit code: 1 if the models differ."""
    options = _parser().parse_args(arguments)
    try:
        found = diff(
            options.first,
            options.second,
            inputs=options.inputs,
            seed=options.random,
            sizes=dict(options.size) if options.size else None,
            rtol=options.rtol,
            atol=options.atol,
            html=options.html,
            follow_links=options.follow_links,
        )
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return exit_code_of(error)
    if not options.quiet:
        print(found, end="")
    return 0 if found.equal else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("aten2onnx diff", description="Show what differs between two .onnx files, and the first value that differs when both are run.", allow_abbrev=False)
    parser.add_argument("first", metavar="A.onnx")
    parser.add_argument("second", metavar="B.onnx")
    data = parser.add_mutually_exclusive_group()
    data.add_argument("--inputs", metavar="DATA.npz", help="run both models with these inputs, arrays by name")
    data.add_argument("--random", metavar="SEED", type=_seed, help="run both models with random inputs, which follow from the number")
    parser.add_argument("--size", metavar="batch=3", type=_size, action="append", help="the size of a symbolic dimension of random inputs (default: 2)")
    parser.add_argument("--rtol", type=float, help="the allowed relative difference of values")
    parser.add_argument("--atol", type=float, help="the allowed absolute difference of values")
    parser.add_argument("--html", metavar="OUT.html", help="also write a page, in one file")
    parser.add_argument("--follow-links", action="store_true", help="read external data also through symbolic links that lead out of the model's folder")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing: the exit code says whether the models differ")
    return parser


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"`{text}` is no number that is at least 0")
    return int(text)


def _size(text: str) -> tuple[str, int]:
    name, found, size = text.rpartition("=")
    if not found or not name or not size.isdecimal():
        raise argparse.ArgumentTypeError(f"`{text}`: write NAME=SIZE, such as `batch=3`")
    return name, int(size)
