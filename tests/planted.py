"""Plants each fault of `tests/planted.toml`, and sees which tests find it.

    python tests/planted.py [--into CONTRIBUTING.md] [--times parts.json] [NAME ..]

A fault is a change of one place in a copy of the last commit, in target/planted/. All commands of the list succeed in the copy without a fault.
With it, the command of the part it is listed for must fail, although it builds, and the fast tier finds it or not, as the list says. The fast
tier runs once for all faults that it should not find: if it passes with all of them, it finds none. With --into, the table of parts is written
between its marks; --times takes what `tests/parts.py --out` wrote.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))

from pages import write_table  # noqa: E402

MARK, END = "<!-- tests/planted.py -->", "<!-- tests/planted.py ends -->"
PACKAGE = "python/aten2onnx"
# What `tests/run --fast` runs of tests, without the one that looks whether faults can be planted.
FAST = "cargo run --quiet -p aten2onnx-codegen -- check && cargo test --quiet --workspace -- --skip python:: --skip slow:: --skip tiers::"


@dataclass(frozen=True)
class Fault:
    """A fault, where it is planted, and the tests that should find it."""

    name: str
    part: str
    file: str
    old: str
    new: str
    # A shell command: those tests of the part that find it.
    slow: str
    # What the table says of the fault.
    says: str
    # A shell command: the tests of the fast tier. Empty if they do not know such files.
    faster: str = FAST
    faster_finds: bool = False

    @property
    def takes_package(self) -> bool:
        """Whether its tests run the Python package of the copy."""
        return self.file.startswith("python/")

    def environment(self) -> dict[str, str]:
        # A fault may look suspicious to Clippy, which compiles in CI.
        environment = {name: value for name, value in os.environ.items() if name not in ("RUSTC_WORKSPACE_WRAPPER", "CLIPPY_ARGS")}
        if self.takes_package:
            environment["PYTHONPATH"] = os.environ["PACKAGES"]
        return environment

    def commands(self) -> list[str]:
        return [command for command in (self.slow, self.faster) if command]


def faults() -> list[Fault]:
    return [Fault(**entry) for entry in tomllib.loads((ROOT / "tests/planted.toml").read_text())["fault"]]


class Copy:
    """The repository at its last commit, in a folder that stays, so that the next run builds little."""

    def __init__(self, folder: Path, logs: Path) -> None:
        self.folder, self.logs = folder, logs
        self.packages = Path(os.environ["PACKAGES"])
        if not folder.exists():
            subprocess.run(["git", "clone", "--quiet", "--shared", "--no-checkout", ROOT, folder], check=True)
        commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        subprocess.run(["git", "checkout", "--quiet", "--force", "--detach", commit], cwd=folder, check=True)

    def plant(self, fault: Fault) -> None:
        """Changes a file. The old text is in one place of it."""
        path = self.folder / fault.file
        text = path.read_text()
        if text.count(fault.old) != 1:
            sys.exit(f"error: {fault.name}: {fault.file} has the old text {text.count(fault.old)} times, not once. Mend the entry in tests/planted.toml")
        path.write_text(text.replace(fault.old, fault.new))
        self.pack(fault)

    def mend(self, fault: Fault) -> None:
        subprocess.run(["git", "checkout", "--quiet", "--", "."], cwd=self.folder, check=True)
        self.pack(fault)

    def pack(self, fault: Fault) -> None:
        """Brings a file in Python into the package."""
        if fault.file.startswith(PACKAGE):
            shutil.copy(self.folder / fault.file, self.packages / Path(fault.file).relative_to("python"))

    def build_package(self) -> None:
        """The Python package, as tests/run builds it."""
        wheels = self.packages.with_name("wheels")
        for folder in (wheels, self.packages):
            shutil.rmtree(folder, ignore_errors=True)
        python = os.environ["ATEN2ONNX_PYTHON"]
        build = f"{python} -m maturin build --quiet --profile dev --features as-in-workspace --manifest-path python/Cargo.toml --out {wheels} && {python} -m zipfile -e {wheels}/*.whl {self.packages}"
        if not self.succeeds(build, dict(os.environ), "package"):
            sys.exit(f"error: the Python package does not build: see {self.logs}/package.log")

    def succeeds(self, command: str, environment: dict[str, str], name: str) -> bool:
        with (self.logs / f"{name.replace(' ', '-')}.log").open("ab") as log:
            log.write(f"\n$ {command}\n".encode())
            log.flush()
            return subprocess.run(["bash", "-c", command], cwd=self.folder, env=environment, stdout=log, stderr=log).returncode == 0


def build_of(command: str) -> str | None:
    """What builds the tests of a command of cargo, without running them."""
    return f"{command.split(' -- ')[0]} --no-run" if " test " in command.split(" -- ")[0] and "cargo " in command else None


def found_slowly(fault: Fault, copy: Copy) -> str | None:
    """What is wrong about the part that should find a fault, or nothing."""
    environment = fault.environment()
    copy.plant(fault)
    try:
        builds = build_of(fault.slow)
        if builds and not copy.succeeds(builds, environment, fault.name):
            return "the copy does not build with it"
        if copy.succeeds(fault.slow, environment, fault.name):
            return f"not found by `{fault.slow}`"
        return None
    finally:
        copy.mend(fault)


def passes_with(planted: list[Fault], copy: Copy) -> bool:
    """Whether the fast tier passes with these faults, which are built and judged by the same command."""
    try:
        for fault in planted:
            copy.plant(fault)
        return copy.succeeds(planted[0].faster, planted[0].environment(), "faster")
    finally:
        for fault in planted:
            copy.mend(fault)


def judged_faster(chosen: list[Fault], copy: Copy) -> dict[str, str]:
    """What the list says wrongly of the fast tier, by the name of the fault."""
    together: dict[tuple[str, bool], list[Fault]] = {}
    for fault in chosen:
        if fault.faster and not fault.faster_finds:
            together.setdefault((fault.faster, fault.takes_package), []).append(fault)
    unknown = [fault for planted in together.values() if not passes_with(planted, copy) for fault in planted]
    finds = "the fast tier finds it too: change `faster_finds`"
    wrong = {fault.name: finds for fault in unknown if not passes_with([fault], copy)}
    seen = [fault for fault in chosen if fault.faster and fault.faster_finds]
    return wrong | {fault.name: "the fast tier does not find it: change `faster_finds`" for fault in seen if passes_with([fault], copy)}


def fail_without_faults(chosen: list[Fault], copy: Copy) -> list[str]:
    """The commands that fail in the copy as it is: they would find any fault."""
    if any(fault.file.startswith(PACKAGE) for fault in chosen):
        copy.build_package()
    asked = {(command, fault.takes_package): fault for fault in chosen for command in fault.commands()}
    return [command for (command, _), fault in asked.items() if not copy.succeeds(command, fault.environment(), "without-faults")]


def table(all_faults: list[Fault], times: dict[str, dict[str, float]]) -> str:
    seconds = {fault.part: times.get(fault.part, {}).get("processor", 0.0) for fault in all_faults}
    lines = ["| part | seconds | a fault that it finds | found faster |", "| --- | --- | --- | --- |"]
    for fault in sorted(all_faults, key=lambda fault: (-seconds[fault.part], fault.part)):
        shown = f"{seconds[fault.part]:.0f}" if fault.part in times else ""
        lines.append(f"| {fault.part} | {shown} | {fault.says} | {'yes' if fault.faster_finds else 'no'} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("names", nargs="*", metavar="NAME", help="these faults alone")
    arguments.add_argument("--into", type=Path, help="the page that gets the table, between its marks")
    arguments.add_argument("--times", type=Path, help="the seconds of each part, as tests/parts.py writes them")
    arguments.add_argument("--logs", type=Path, default=ROOT / "target/planted", help="the folder for the copy, and for what the tests print")
    given = arguments.parse_args()
    known = faults()
    if unknown := set(given.names) - {fault.name for fault in known}:
        sys.exit(f"error: there is no fault {', '.join(sorted(unknown))}. Faults are: {', '.join(fault.name for fault in known)}")
    chosen = [fault for fault in known if not given.names or fault.name in given.names]
    logs = given.logs.resolve()
    logs.mkdir(parents=True, exist_ok=True)
    for log in logs.glob("*.log"):
        log.unlink()
    os.environ.setdefault("ATEN2ONNX_PYTHON", str(ROOT / ".venv/bin/python"))
    os.environ |= {"CARGO_TARGET_DIR": str(logs / "target"), "PACKAGES": str(logs / "packages")}
    copy = Copy(logs / "copy", logs)
    if failing := fail_without_faults(chosen, copy):
        sys.exit("error: without a fault, these fail (see without-faults.log):\n" + "\n".join(failing))
    wrong = {}
    for fault in chosen:
        start = time.monotonic()
        found = found_slowly(fault, copy)
        print(f"{fault.name}: {found or 'found by its part'}, {time.monotonic() - start:.0f} s", flush=True)
        wrong |= {fault.name: found} if found else {}
    start = time.monotonic()
    told = judged_faster(chosen, copy)
    print("\n".join([f"the fast tier: {time.monotonic() - start:.0f} s", *(f"{name}: {found}" for name, found in told.items())]))
    wrong |= told
    if given.into and not wrong:
        write_table(given.into, MARK, END, table(known, json.loads(given.times.read_text()) if given.times else {}))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
