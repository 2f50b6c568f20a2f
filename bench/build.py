"""Measures what builds cost, in processor seconds: of this checkout, and in turns of another commit.

    python bench/build.py [--base COMMIT] [--into docs/performance.md]

Each commit is checked out into a folder of its own, with an empty target folder; dependencies are downloaded before. Processor time is that
of all processes, so that two cores do not halve it; other work on the machine makes it larger all the same.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from pages import write_table

ROOT = Path(__file__).resolve().parents[1]
MARK = "<!-- bench/build.py -->"
END = "<!-- bench/build.py ends -->"
# In this order, in one target folder.
STEPS = [
    ("`cargo build --release`, cold", ["cargo", "build", "--release", "--quiet"]),
    ("then `cargo run --release -p aten2onnx-codegen -- check`", ["cargo", "run", "--release", "--quiet", "-p", "aten2onnx-codegen", "--", "check"]),
    ("then `pip install ./python`", [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", "{wheels}", "./python"]),
]
ALONE = [("`pip install ./python`, cold", STEPS[2][1])]


def spent(command: list[str], folder: Path, target: Path) -> float:
    """The processor seconds of a command and its children."""
    command = [part.format(wheels=target / "wheels") for part in command]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ATEN2ONNX_")} | {"CARGO_TARGET_DIR": str(target)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def size(folder: Path) -> int:
    """The bytes of all files in a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def measure(commit: str, scratch: Path) -> tuple[dict[str, float], float]:
    """The seconds of each step, and the megabytes of the target folder after a release build."""
    folder = scratch / commit
    subprocess.run(["git", "worktree", "add", "--quiet", "--detach", folder, commit], cwd=ROOT, check=True)
    try:
        subprocess.run(["cargo", "fetch", "--quiet", "--locked"], cwd=folder, check=True)
        times = {}
        megabytes = 0.0
        for steps in (STEPS, ALONE):
            with tempfile.TemporaryDirectory(dir=scratch) as target:
                for name, command in steps:
                    times[name] = spent(command, folder, Path(target))
                    print(f"{commit} {name}: {times[name]:.0f} s", flush=True)
                    if name == STEPS[0][0]:
                        megabytes = size(Path(target)) / 1e6
        return times, megabytes
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", folder], cwd=ROOT, check=True)


def short(commit: str) -> str:
    return subprocess.run(["git", "rev-parse", "--short=8", commit], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--base", help="the commit to compare with")
    arguments.add_argument("--into", type=Path, help="the page that gets the table, between its marks")
    given = arguments.parse_args()
    commits = [short(commit) for commit in ([given.base] if given.base else []) + ["HEAD"]]
    with tempfile.TemporaryDirectory() as scratch:
        found = {commit: measure(commit, Path(scratch)) for commit in commits}
    rows = [[name] + [f"{found[commit][0][name]:.0f}" for commit in commits] for name, _ in STEPS + ALONE]
    rows.append(["megabytes of the target folder after the first"] + [f"{found[commit][1]:.0f}" for commit in commits])
    if given.base:
        ratios = [f"{float(row[2]) / max(float(row[1]), 1e-9):.2f}" for row in rows]
        rows = [row + [ratio] for row, ratio in zip(rows, ratios)]
    heads = ["processor seconds"] + [f"at {commit}" for commit in commits] + (["ratio"] if given.base else [])
    lines = [heads, ["---"] * len(heads)] + rows
    machine = f"{os.cpu_count()} cores, {platform.machine()}, load average {os.getloadavg()[0]:.1f} at the end"
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines) + f"\n\nMeasured on {machine}.\n"
    print(table)
    if given.into:
        write_table(given.into, MARK, END, table)


if __name__ == "__main__":
    main()
