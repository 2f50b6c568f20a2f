"""Times the parts of the tests, each on its own: every test program, each module of the end-to-end tests, each file of tests in Python, and the
steps of `tests/run` that are one command.

    python tests/parts.py [--least SECONDS] [--out FILE] [PART ..]

A part is a name as `cli: convert`, `codegen: damage`, `python: test_loops.py` or `step: workflows`. Processor seconds are those of the program
and all that it starts; parts that share a Python process with others take longer here than in a whole run. With parts, --out keeps the others.
The Python package is that of the last `tests/run`.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

from lanes import LONGEST, programs

# Of <linux/prctl.h>.
PR_SET_CHILD_SUBREAPER = 36
ROOT = Path(__file__).resolve().parents[1]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
STEPS = {
    "workflows": ["tests/workflows"],
    "runtimes/tests": [sys.executable, "-m", "pytest", "-q", "runtimes/tests"],
    "runtimes/slice.py": [sys.executable, "runtimes/slice.py", "--exporter", str(TARGET / "debug/aten2onnx")],
}


def of_cargo() -> list[tuple[str, list[str], Path]]:
    """The name, command and folder of each part in Rust."""
    found = []
    for name, path, folder in programs(["--workspace"]):
        command = [str(path), "--quiet"]
        if name != LONGEST:
            found.append((name, command, folder))
            continue
        listed = subprocess.run([path, "--list", "--format", "terse"], check=True, stdout=subprocess.PIPE, text=True, cwd=folder).stdout
        modules = sorted({line.split("::")[0] for line in listed.splitlines() if "::" in line})
        package = name.split(":")[0]
        found += [(f"{package}: {module}", [*command, f"{module}::"], folder) for module in modules]
    return found


def of_python() -> list[tuple[str, list[str], Path]]:
    files = sorted(path.name for path in (ROOT / "python/tests").glob("test_*.py"))
    found = [(f"python: {name}", [sys.executable, "-m", "pytest", "-q", f"python/tests/{name}"], ROOT) for name in files]
    return found + [(f"step: {name}", command, ROOT) for name, command in STEPS.items()]


def adopt_orphans() -> None:
    """Processes whose parent has ended become children of this one (Linux), so that their time is known: the Python host of the end-to-end tests
    ends after them."""
    if sys.platform == "linux" and ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        sys.exit("error: the system does not let this process adopt orphans")


def await_orphans() -> None:
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        pass


def spent(command: list[str], folder: Path) -> tuple[float, float, bool]:
    """The seconds and the processor seconds of a part, and whether it succeeded."""
    environment = os.environ | {"CARGO_MANIFEST_DIR": str(folder), "PYTHONPATH": str(TARGET / "python/packages")}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    await_orphans()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return time.monotonic() - start, processor, done.returncode == 0


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("parts", nargs="*", metavar="PART", help="these alone")
    arguments.add_argument("--least", type=float, default=0.0, metavar="SECONDS", help="prints no part that takes less processor time")
    arguments.add_argument("--out", type=Path, help="writes the seconds of each part as JSON")
    given = arguments.parse_args()
    os.environ.setdefault("ATEN2ONNX_PYTHON", sys.executable)
    # Nothing is built if no part in Rust is asked for.
    in_rust = not given.parts or any(not part.startswith(("python:", "step:")) for part in given.parts)
    known = [*(of_cargo() if in_rust else []), *of_python()]
    if unknown := set(given.parts) - {name for name, *_ in known}:
        sys.exit(f"error: there is no part {', '.join(sorted(unknown))}. Parts are: {', '.join(name for name, *_ in known)}")
    found = json.loads(given.out.read_text()) if given.parts and given.out and given.out.exists() else {}
    failed = []
    adopt_orphans()
    for name, command, folder in known:
        if given.parts and name not in given.parts:
            continue
        seconds, processor, succeeded = spent(command, folder)
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
