"""Shows what each dependency costs in a cold release build of the command, who needs it, and what for.

    cargo build --release --package aten2onnx-cli --timings      in an empty target folder
    python bench/dependencies.py [--timing FILE.html] [--into docs/performance.md]

"seconds" are those of the crate's own compilations; "with its own" adds the crates that nobody else needs, which would go with it. The
report of Cargo has the time between start and end of each compilation: build with one job (`CARGO_BUILD_JOBS=1`) if the machine has other work.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from collections import defaultdict
from pathlib import Path

from pages import write_table

ROOT = Path(__file__).resolve().parents[1]
MARK = "<!-- bench/dependencies.py -->"
END = "<!-- bench/dependencies.py ends -->"
# What each direct dependency is for. One without an entry is an error.
USES = {
    "anstyle": "the features that it has beside clap",
    "annotate-snippets": "errors of rules, with the line they are about",
    "anstream": "colours, where the terminal has them",
    "clap": "the command line",
    "ctrlc": "an interrupted export leaves no half file",
    "fastrand": "calls that `verify` makes up",
    "flatbuffers": "adapters in ONNX Runtime's own form",
    "half": "float16 and bfloat16 numbers",
    "indexmap": "tables in the order of the file, with serde",
    "memmap2": "weights are read where they are",
    "mimalloc": "the allocator: glibc's takes a third of a large export",
    "miniz_oxide": "the code in TorchScript archives",
    "once_cell": "the features that it has in the Python package",
    "pest": "the grammar of opmap",
    "prettyplease": "generated Rust that can be read",
    "proc-macro2": "generated Rust",
    "prost": "ONNX files",
    "quote": "generated Rust",
    "rustc-hash": "fast tables of names",
    "rustix": "copies in the kernel, and names of files on their way",
    "safetensors": "weights beside a model",
    "serde": "files of facts, and programs",
    "serde_json": "programs of `.pt2`, and reports",
    "serde_path_to_error": "an error in a program says where",
    "strsim": "\"did you mean\"",
    "syn": "generated Rust",
    "tempfile": "files that appear whole",
    "toml": "files of facts",
    "zip": "archives: their directory is not trusted",
}


def newest() -> Path:
    reports = sorted((ROOT / "target/cargo-timings").glob("cargo-timing-*.html"), key=lambda path: path.stat().st_mtime)
    if not reports:
        raise SystemExit("target/cargo-timings has no report: run `cargo build --release --package aten2onnx-cli --timings` first")
    return reports[-1]


def seconds(report: Path) -> dict[str, float]:
    """The seconds of all compilations of each crate, by name and version."""
    found = re.search(r"const UNIT_DATA = (\[.*?\]);\n", report.read_text(), re.S)
    if found is None:
        raise SystemExit(f"{report} is no report of `cargo build --timings`")
    spent: dict[str, float] = defaultdict(float)
    for unit in json.loads(found[1]):
        spent[f"{unit['name']} {unit['version']}"] += unit["duration"]
    return spent


class Crates:
    """The crates that the build had, with what each needs."""

    def __init__(self, spent: dict[str, float]) -> None:
        command = ["cargo", "metadata", "--format-version", "1", "--offline", "--locked"]
        metadata = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
        names = {package["id"]: f"{package['name']} {package['version']}" for package in metadata["packages"]}
        self.own = {names[member] for member in metadata["workspace_members"]} & set(spent)
        self.needs: dict[str, set[str]] = defaultdict(set)
        for node in metadata["resolve"]["nodes"]:
            for needed in node["deps"]:
                kinds = {kind["kind"] for kind in needed["dep_kinds"]}
                # Tests alone need the others.
                if kinds & {None, "build"} and {names[node["id"]], names[needed["pkg"]]} <= set(spent):
                    self.needs[names[node["id"]]].add(names[needed["pkg"]])

    def reached(self, without: str | None = None) -> set[str]:
        """What the crates of the project need, if none of them asked for one."""
        seen = set()
        waiting = list(self.own)
        while waiting:
            crate = waiting.pop()
            if crate == without or crate in seen:
                continue
            seen.add(crate)
            waiting.extend(self.needs[crate])
        return seen

    def direct(self) -> dict[str, list[str]]:
        """The dependencies of the project, with the crates that ask for them."""
        users: dict[str, list[str]] = defaultdict(list)
        for crate in sorted(self.own):
            for needed in self.needs[crate] - self.own:
                users[needed].append(crate.split(" ")[0].removeprefix("aten2onnx-"))
        return users


def table(spent: dict[str, float]) -> str:
    crates = Crates(spent)
    everything = crates.reached()
    rows = []
    for crate, users in crates.direct().items():
        name = crate.split(" ")[0]
        if name not in USES:
            raise SystemExit(f"say in USES of bench/dependencies.py what `{name}` is for, or do without it")
        gone = everything - crates.reached(without=crate)
        rows.append((sum(spent[one] for one in gone), name, spent[crate], len(gone) - 1, ", ".join(users), USES[name]))
    lines = ["| crate | seconds | with its own | own crates | who needs it | for |", "|---|---|---|---|---|---|"]
    for whole, name, alone, count, users, use in sorted(rows, reverse=True):
        lines.append(f"| `{name}` | {alone:.1f} | {whole:.1f} | {count} | {users} | {use} |")
    foreign = everything - crates.own
    part, whole = (sum(spent[crate] for crate in some) for some in (foreign, everything))
    lines.append(f"\n{len(foreign)} crates that are not of this project take {part:.0f} of {whole:.0f} seconds.\n")
    return "\n".join(lines)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--timing", type=Path, help="the report of Cargo (default: the newest)")
    arguments.add_argument("--into", type=Path, help="the page that gets the table, between its marks")
    given = arguments.parse_args()
    made = table(seconds(given.timing or newest()))
    print(made)
    if given.into:
        write_table(given.into, MARK, END, made)


if __name__ == "__main__":
    main()
