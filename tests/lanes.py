"""Runs the test programs of the workspace two at a time: many of them wait for one Python process, which leaves a core idle.

    python tests/lanes.py [ARGUMENTS OF cargo test]

Programs are built by `cargo test --no-run` and run in the folder of their package, as cargo does; documentation tests follow. All run, even
if one fails. With a number in ATEN2ONNX_SHUFFLE (`tests/run --shuffle`), programs start in a random order, and so do the tests of each.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

LANES = 2
# The end-to-end tests take most of the time, and have threads of their own: they start first, so that the others run while they wait.
LONGEST = "cli: tests"
# The number from which a random order follows.
SHUFFLE = "ATEN2ONNX_SHUFFLE"


def programs(arguments: list[str]) -> list[tuple[str, Path, Path]]:
    """Builds the test programs. Returns their names, paths and the folders of their packages."""
    command = ["cargo", "test", "--quiet", "--no-run", "--message-format", "json-render-diagnostics", *arguments]
    built = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    found = []
    for line in built.splitlines():
        message = json.loads(line)
        if message["reason"] == "compiler-artifact" and message["profile"]["test"] and message.get("executable"):
            folder = Path(message["manifest_path"]).parent
            found.append((f"{folder.name}: {message['target']['name']}", Path(message["executable"]), folder))
    return found


def run(program: tuple[str, Path, Path]) -> bool:
    """Runs one program and prints what it says. Returns whether it succeeded."""
    name, path, folder = program
    start = time.monotonic()
    # What cargo sets for tests that look for their package at run time.
    environment = os.environ | {"CARGO_MANIFEST_DIR": str(folder)}
    command = [path, "--quiet"]
    if seed := os.environ.get(SHUFFLE):
        # The option is not stable. Tests that run cargo take the variable away (`common::cargo`).
        environment["RUSTC_BOOTSTRAP"] = "1"
        command += ["-Z", "unstable-options", "--shuffle-seed", seed]
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    print(f"\n-- {name}, {time.monotonic() - start:.1f} s\n{done.stdout}", end="", flush=True)
    return done.returncode == 0


def main() -> int:
    arguments = sys.argv[1:]
    found = sorted(programs(arguments), key=lambda program: program[0] != LONGEST)
    if "--workspace" in arguments and found[0][0] != LONGEST:
        sys.exit(f"error: there is no test program `{LONGEST}`: say in tests/lanes.py which one takes longest")
    if seed := os.environ.get(SHUFFLE):
        random.Random(seed).shuffle(found)
    with ThreadPoolExecutor(LANES) as lanes:
        succeeded = list(lanes.map(run, found))
    failed = [name for (name, *_), fine in zip(found, succeeded) if not fine]
    if subprocess.run(["cargo", "test", "--quiet", "--doc", *arguments]).returncode != 0:
        failed.append("the documentation tests")
    print(f"\n{len(found)} test programs" + (f"; failed: {', '.join(failed)}" if failed else ", all succeeded"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
