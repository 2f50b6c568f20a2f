"""Measures what builds and edits cost, in processor seconds: of this checkout and of another commit, in turns. Then the two programs export in turns.

    python bench/build.py [--base COMMIT] [--models FOLDER] [--into docs/performance.md]

Each commit is checked out into a folder of its own, with an empty target folder; dependencies are downloaded before. Processor time is that
of all processes, so that two cores do not halve it; other work on the machine makes it larger all the same. --models is a folder of
NAME/model.pt2, as `bench/models.py` writes it; without it three models of the tests are exported. The interpreter must have pip.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from pages import write_table

ROOT = Path(__file__).resolve().parents[1]
MARK = "<!-- bench/build.py -->"
END = "<!-- bench/build.py ends -->"
PROGRAM = "aten2onnx"
# In this order, in one target folder.
STEPS = [
    ("`cargo build --release --bin aten2onnx`, cold", ["cargo", "build", "--release", "--quiet", "--bin", PROGRAM]),
    ("then `cargo run --release -p aten2onnx-codegen -- check`", ["cargo", "run", "--release", "--quiet", "-p", "aten2onnx-codegen", "--", "check"]),
    ("then `pip install ./python`", [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", "{wheels}", "./python"]),
]
ALONE = [("`pip install ./python`, cold", STEPS[2][1])]
# In one target folder as well. An edit appends a comment to the first of the files that exists: sources have moved.
CHECK = ["cargo", "run", "--quiet", "-p", "aten2onnx-codegen", "--", "check"]
BUILD = ["cargo", "build", "--quiet"]
INTERPRETED = ["env", "ATEN2ONNX_RULES=interpreted", *BUILD]
BUILDER = ["src/builder/src/passes/gemm.rs", "src/builder/passes/gemm.rs"]
EDITS = [
    ("`cargo build`, cold", [], BUILD),
    ("then `cargo run -p aten2onnx-codegen -- check`", [], CHECK),
    ("the same after an edit of a rule", ["mappings/aten/activation.opmap"], CHECK),
    ("`cargo build` after an edit of a rule", ["mappings/aten/reduce.opmap"], BUILD),
    ("after an edit in `src/export`", ["src/export/src/inspect.rs", "src/export/inspect.rs"], BUILD),
    ("after an edit in `src/builder`, on which most crates lie", BUILDER, BUILD),
    ("`ATEN2ONNX_RULES=interpreted cargo build`", [], INTERPRETED),
    ("the same after an edit in `src/builder`", BUILDER, INTERPRETED),
]
# Exports of each model, by each program in turn.
TURNS = 15
EXPORTS = "an export of each model"


def spent(command: list[str], folder: Path, target: Path) -> float:
    """The processor seconds of a command and its children."""
    command = [part.format(wheels=target / "wheels") for part in command]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ATEN2ONNX_")} | {"CARGO_TARGET_DIR": str(target)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode != 0:
        sys.exit(f"error: `{' '.join(command)}` failed in {folder}:\n{done.stdout[-4000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def size(folder: Path) -> int:
    """The bytes of all files in a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def edit(folder: Path, candidates: list[str]) -> None:
    """Appends a comment to the first of the files that exists."""
    if not candidates:
        return
    found = next((folder / name for name in candidates if (folder / name).exists()), None)
    if found is None:
        sys.exit(f"error: {folder} has none of {', '.join(candidates)}. Name the file in EDITS of bench/build.py")
    with found.open("a") as text:
        text.write("// edited\n")


def measured(commits: list[str], scratch: Path) -> dict[str, dict[str, float]]:
    """The seconds of each step by commit, the megabytes of the target folder after a release build, and those of the program, which stays in
    `scratch`. The commits take turns at each step, because the speed of a machine changes within minutes."""
    found: dict[str, dict[str, float]] = {commit: {} for commit in commits}
    folders = {commit: checked_out(commit, scratch) for commit in commits}

    def note(commit: str, name: str, value: float) -> None:
        found[commit][name] = value
        print(f"{commit} {name}: {value:.1f}", flush=True)

    def run(steps: list[tuple[str, list[str], list[str]]], after: Callable[[str, str, Path], None]) -> None:
        """Runs steps of all commits, each commit in a target folder of its own."""
        with tempfile.TemporaryDirectory(dir=scratch) as place:
            targets = {commit: Path(place) / commit for commit in commits}
            for name, candidates, command in steps:
                for commit in commits:
                    targets[commit].mkdir(exist_ok=True)
                    edit(folders[commit], candidates)
                    note(commit, name, spent(command, folders[commit], targets[commit]))
                    after(commit, name, targets[commit])

    def sizes(commit: str, name: str, target: Path) -> None:
        if name == STEPS[0][0]:
            note(commit, "megabytes of the target folder after the first", size(target) / 1e6)
        if name == STEPS[-1][0]:
            program = shutil.copy(target / "release" / PROGRAM, scratch / f"{PROGRAM}-{commit}")
            note(commit, "megabytes of the command", Path(program).stat().st_size / 1e6)

    try:
        run([(name, [], command) for name, command in STEPS], sizes)
        run([(name, [], command) for name, command in ALONE], lambda *_: None)
        run(EDITS, lambda *_: None)
        return found
    finally:
        for folder in folders.values():
            subprocess.run(["git", "worktree", "remove", "--force", folder], cwd=ROOT, check=True)


def checked_out(commit: str, scratch: Path) -> Path:
    """The folder of a commit, whose dependencies are there."""
    folder = scratch / f"at-{commit}"
    subprocess.run(["git", "worktree", "add", "--quiet", "--detach", folder, commit], cwd=ROOT, check=True)
    subprocess.run(["cargo", "fetch", "--quiet", "--locked"], cwd=folder, check=True)
    return folder


def exports(commits: list[str], models: list[Path], scratch: Path) -> dict[str, float]:
    """The processor seconds of each program for one export of each model: the sum of medians. The programs take turns."""
    totals = dict.fromkeys(commits, 0.0)
    for model in models:
        seconds = {commit: [] for commit in commits}
        for _ in range(TURNS):
            for commit in commits:
                seconds[commit].append(spent([str(scratch / f"{PROGRAM}-{commit}"), "export", str(model), "-o", str(scratch / "model.onnx")], scratch, scratch))
        for commit in commits:
            totals[commit] += statistics.median(seconds[commit])
    return totals


def short(commit: str) -> str:
    return subprocess.run(["git", "rev-parse", "--short=8", commit], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def pip_is_there() -> bool:
    return subprocess.run([sys.executable, "-m", "pip", "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def table(found: dict[str, dict[str, float]], models: int) -> str:
    """A row for each measurement, a column for each commit, and with two commits their ratio."""
    commits = list(found)
    rows = []
    for name in found[commits[0]]:
        values = [found[commit][name] for commit in commits]
        digits = 0 if max(values) >= 20 else 1 if max(values) >= 1 else 3
        ratio = [f"{values[1] / max(values[0], 1e-9):.2f}"] if len(values) == 2 else []
        rows.append([name] + [f"{value:.{digits}f}" for value in values] + ratio)
    heads = ["processor seconds"] + [f"at {commit}" for commit in commits] + (["ratio"] if len(commits) == 2 else [])
    lines = ["| " + " | ".join(line) + " |" for line in [heads, ["---"] * len(heads)] + rows]
    machine = f"{os.cpu_count()} cores, {platform.machine()}, load average {os.getloadavg()[0]:.1f} at the end"
    return "\n".join(lines) + f"\n\nMeasured on {machine}; {models} models.\n"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--base", help="the commit to compare with")
    arguments.add_argument("--models", type=Path, help="a folder of NAME/*.pt2")
    arguments.add_argument("--into", type=Path, help="the page that gets the table, between its marks")
    given = arguments.parse_args()
    models = sorted(given.models.glob("*/*.pt2") if given.models else (ROOT / "tests/data/convert").glob("*.pt2"))
    if not models:
        sys.exit(f"error: {given.models} has no NAME/model.pt2. Write some with bench/models.py")
    if not pip_is_there():
        sys.exit(f"error: {sys.executable} has no pip, which builds the Python package. Run this with another Python")
    commits = [short(commit) for commit in ([given.base] if given.base else []) + ["HEAD"]]
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        found = measured(commits, scratch)
        for commit, seconds in exports(commits, models, scratch).items():
            found[commit][EXPORTS] = seconds
    text = table(found, len(models))
    print(text)
    if given.into:
        write_table(given.into, MARK, END, text)


if __name__ == "__main__":
    main()
