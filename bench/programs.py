"""Random programs with branches and loops (`python/tests/programs.py`), counted: how many files are right, how many models are refused, and for what reasons.

    python bench/programs.py FIRST LAST [--into docs/control-flow.md]    # PYTHONPATH has the package aten2onnx

The seeds FIRST to LAST - 1 are taken of each kind of program, so it makes four times as many. A program that is wrong ends it with an error.
"""

from __future__ import annotations

import argparse
import collections
import platform
import re
import sys
from pathlib import Path

import torch
from pages import current_commit, write_table

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "tests"))
import programs  # noqa: E402

MARK, END = "<!-- bench/programs.py -->", "<!-- bench/programs.py ends -->"
KINDS = ("plain", "branches", "loops", "mixed")


def reason(message: str) -> str:
    """The first line of an error without what is of one program: names in quotes, sizes and conditions."""
    first = message.splitlines()[0].removeprefix("this model cannot be captured: ")
    first = re.sub(r", where .*$|\(at n=.*$|: `[^`]*`,?$", "", re.sub(r"`[^`]*` was taken", "it was taken", first))
    return re.sub(r"`[^`]*`", "..", re.sub(r"\b\d+\b", "N", first)).rstrip(" ,:(")


def counted(first: int, last: int) -> tuple[dict[str, collections.Counter[str]], collections.Counter[str], list[str]]:
    """The verdicts of each kind, the reasons of refusals, and the programs that are wrong."""
    verdicts: dict[str, collections.Counter[str]] = {kind: collections.Counter() for kind in KINDS}
    reasons: collections.Counter[str] = collections.Counter()
    wrong = []
    for kind in KINDS:
        for seed in range(first, last):
            verdict, text = programs.verdict(seed, **({} if kind == "plain" else {kind: True}))
            verdicts[kind][verdict] += 1
            if verdict == "refused":
                reasons[reason(text)] += 1
            elif verdict in ("wrong", "conditional"):
                wrong.append(f"{kind} {seed}: {verdict}, {text}")
                print(wrong[-1], flush=True)
        print(kind, dict(verdicts[kind]), flush=True)
    return verdicts, reasons, wrong


def table(first: int, last: int, verdicts: dict[str, collections.Counter[str]], reasons: collections.Counter[str]) -> str:
    lines = ["| programs | right | refused | right under conditions that it states | wrong | PyTorch does not run it at the example |", "|---|---|---|---|---|---|"]
    for kind, found in verdicts.items():
        lines.append("| " + " | ".join([kind, *(str(found[name]) for name in ("right", "refused", "conditional", "wrong", "invalid"))]) + " |")
    total = sum(found[name] for found in verdicts.values() for name in ("right", "refused", "conditional", "wrong"))
    if reasons:
        lines += ["", "| reason of a refusal | share |", "|---|---|", *(f"| {what} | {count / total:.2%} |" for what, count in reasons.most_common())]
    lines += ["", f"- seeds {first} to {last - 1} of each kind; PyTorch {torch.__version__}, {platform.machine()}, at {current_commit()}", ""]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--into", type=Path)
    args = parser.parse_args()
    verdicts, reasons, wrong = counted(args.first, args.last)
    text = table(args.first, args.last, verdicts, reasons)
    print(text)
    if args.into is not None:
        write_table(args.into, MARK, END, text)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
