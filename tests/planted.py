"""Plants each fault of `tests/planted.toml`, and sees which tests find it.

    python tests/planted.py [--into CONTRIBUTING.md] [--times parts.json] [NAME ..]

A fault is a change of one place in a copy of this repository. The part of the tests that it is listed for must fail, and so must no test of the
fast tier if it is said that only the slow part finds it. With --into, the table of parts is written between its marks; --times takes what
`tests/parts.py --out` wrote.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))

from pages import write_table  # noqa: E402

MARK, END = "<!-- tests/planted.py -->", "<!-- tests/planted.py ends -->"


@dataclass(frozen=True)
class Fault:
    """A fault, where it is planted, and the tests that should find it."""

    name: str
    part: str
    file: str
    old: str
    new: str
    # Shell commands: the slow part, and faster tests of the same code.
    slow: str
    faster: str
    faster_finds: bool
    says: str


def faults() -> list[Fault]:
    return [Fault(**entry) for entry in tomllib.loads((ROOT / "tests/planted.toml").read_text())["fault"]]


def planted(fault: Fault, copy: Path) -> None:
    """Changes the copy. The old text is in one place."""
    path = copy / fault.file
    text = path.read_text()
    if text.count(fault.old) != 1:
        sys.exit(f"error: {fault.name}: {fault.file} has the old text {text.count(fault.old)} times, not once. Mend the entry in tests/planted.toml")
    path.write_text(text.replace(fault.old, fault.new))


def succeeds(command: str, copy: Path, log: Path) -> bool:
    with log.open("ab") as out:
        out.write(f"\n$ {command}\n".encode())
        out.flush()
        return subprocess.run(["bash", "-c", f"set -e; {command}"], cwd=copy, stdout=out, stderr=out).returncode == 0


def judged(fault: Fault, copy: Path, logs: Path) -> str | None:
    """What is wrong about the entry, or nothing."""
    log = logs / f"{fault.name.replace(' ', '-')}.log"
    planted(fault, copy)
    try:
        if succeeds(fault.slow, copy, log):
            return f"not found by `{fault.slow}`"
        if fault.faster and succeeds(fault.faster, copy, log) == fault.faster_finds:
            return f"`{fault.faster}` {'does not find it' if fault.faster_finds else 'finds it too'}: change `faster_finds`"
        return None
    finally:
        subprocess.run(["git", "checkout", "--quiet", "--", "."], cwd=copy, check=True)


def table(all_faults: list[Fault], times: dict[str, dict[str, float]]) -> str:
    lines = ["| part | seconds | a fault that it finds | found faster |", "| --- | --- | --- | --- |"]
    for fault in all_faults:
        seconds = f"{times[fault.part]['processor']:.0f}" if fault.part in times else ""
        faster = f"`{fault.faster}`" if fault.faster_finds else "no"
        lines.append(f"| `{fault.part}` | {seconds} | {fault.says} | {faster} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("names", nargs="*", metavar="NAME", help="these faults alone")
    arguments.add_argument("--into", type=Path, help="the page that gets the table, between its marks")
    arguments.add_argument("--times", type=Path, help="the seconds of each part, as tests/parts.py writes them")
    arguments.add_argument("--logs", type=Path, default=ROOT / "target/planted", help="the folder for what the tests print")
    given = arguments.parse_args()
    known = faults()
    if unknown := set(given.names) - {fault.name for fault in known}:
        sys.exit(f"error: there is no fault {', '.join(sorted(unknown))}. Faults are: {', '.join(fault.name for fault in known)}")
    given.logs.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("ATEN2ONNX_PYTHON", str(ROOT / ".venv/bin/python"))
    os.environ["CARGO_TARGET_DIR"] = str(given.logs / "target")
    wrong = []
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "aten2onnx"
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", copy, "HEAD"], cwd=ROOT, check=True)
        try:
            for fault in known:
                if given.names and fault.name not in given.names:
                    continue
                found = judged(fault, copy, given.logs)
                print(f"{fault.name}: {found or 'as stated'}", flush=True)
                wrong += [fault.name] if found else []
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", copy], cwd=ROOT, check=True)
    if given.into and not wrong:
        write_table(given.into, MARK, END, table(known, json.loads(given.times.read_text()) if given.times else {}))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
