"""Times the parts of the tests, each on its own: every test program, and each module of the end-to-end tests.

    python tests/parts.py [--least SECONDS] [--out FILE] [PART ..]

A part is a name as `cli: convert` or `codegen: damage`. Processor seconds are those of the program and all that it starts; parts that share a
Python process with others take longer here than in a whole run.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

from lanes import LONGEST, programs


def parts() -> list[tuple[str, Path, Path, list[str]]]:
    """The name, program, folder and arguments of each part."""
    found = []
    for name, path, folder in programs(["--workspace"]):
        if name != LONGEST:
            found.append((name, path, folder, []))
            continue
        listed = subprocess.run([path, "--list", "--format", "terse"], check=True, stdout=subprocess.PIPE, text=True, cwd=folder).stdout
        modules = sorted({line.split("::")[0] for line in listed.splitlines() if "::" in line})
        package = name.split(":")[0]
        found += [(f"{package}: {module}", path, folder, [f"{module}::"]) for module in modules]
    return found


def spent(path: Path, folder: Path, arguments: list[str]) -> tuple[float, float, bool]:
    """The seconds and the processor seconds of a part, and whether it succeeded."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run([path, "--quiet", *arguments], cwd=folder, env=os.environ | {"CARGO_MANIFEST_DIR": str(folder)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return time.monotonic() - start, processor, done.returncode == 0


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("parts", nargs="*", metavar="PART", help="these alone")
    arguments.add_argument("--least", type=float, default=0.0, metavar="SECONDS", help="prints no part that takes less processor time")
    arguments.add_argument("--out", type=Path, help="writes the seconds of each part as JSON")
    given = arguments.parse_args()
    known = parts()
    if unknown := set(given.parts) - {name for name, *_ in known}:
        sys.exit(f"error: there is no part {', '.join(sorted(unknown))}. Parts are: {', '.join(name for name, *_ in known)}")
    found, failed = {}, []
    for name, path, folder, selected in known:
        if given.parts and name not in given.parts:
            continue
        seconds, processor, succeeded = spent(path, folder, selected)
        found[name] = {"seconds": round(seconds, 1), "processor": round(processor, 1)}
        if not succeeded:
            failed.append(name)
        if processor >= given.least or not succeeded:
            print(f"{name}: {seconds:.1f} s, {processor:.1f} s of processors{'' if succeeded else ', failed'}", flush=True)
        if given.out:
            given.out.write_text(json.dumps(found, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
