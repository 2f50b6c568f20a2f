"""The runtimes and their environments: which there are, where they are installed, and how each is made and started.

A runtime is a folder `adapters/NAME`, a release of it a file there:

- `VERSION.txt`: requirements for Python, beside `adapter.py`;
- `VERSION.json`: a `package.json` for Node.js, beside `adapter.mjs`.
- `VERSION.toml` and `VERSION.lock`: a `Cargo.toml` and its `Cargo.lock`, beside `adapter.rs`.

The name alone means the newest release. Environments are in the cache folder of the user, or in $ATEN2ONNX_RUNTIMES.
"""
import dataclasses
import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ADAPTERS = ROOT / "adapters"
TARGETS = ROOT.parent / "mappings/targets"
KINDS = {".txt": "python", ".json": "node", ".toml": "rust"}
# Nothing is reported to anyone, and reasons are short.
QUIET = {
    "RUST_BACKTRACE": "0",
    "DO_NOT_TRACK": "1",
    "ORT_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_OFFLINE": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "npm_config_update_notifier": "false",
    "npm_config_fund": "false",
    "npm_config_audit": "false",
}


class UnknownRuntime(Exception):
    """There is no runtime or release of a name."""


def folder():
    """Where environments are."""
    chosen = os.environ.get("ATEN2ONNX_RUNTIMES")
    return Path(chosen) if chosen else Path.home() / ".cache/aten2onnx/runtimes"


@dataclasses.dataclass(frozen=True)
class Runtime:
    """A release of a runtime."""

    name: str
    version: str
    requirements: Path

    @property
    def kind(self):
        return KINDS[self.requirements.suffix]

    @property
    def settings(self):
        """`runtime.toml`."""
        return tomllib.loads((self.requirements.parent / "runtime.toml").read_text())

    @property
    def computes(self):
        """The dtype in which it computes all floats, if it has only one."""
        return self.settings.get("computes")

    @property
    def environment(self):
        return folder() / f"{self.name}-{self.version}"

    @property
    def is_ready(self):
        """Whether the environment was made from the present requirements."""
        made = self.environment / "requirements"
        return made.is_file() and made.read_bytes() == self.requirements.read_bytes()

    def command(self):
        """Starts the process that `serve.py` describes."""
        adapters = self.requirements.parent
        match self.kind:
            case "python":
                return [self.environment / "bin/python", ROOT / "harness/serve.py", adapters / "adapter.py"]
            case "node":
                return ["node", adapters / "adapter.mjs", self.environment]
            case "rust":
                return [self.environment / "release" / "adapter"]

    def variables(self):
        return {**os.environ, **QUIET, "OMP_NUM_THREADS": "1"}


def known():
    """Returns all releases by name of the runtime, the newest first."""
    found = {}
    for file in ADAPTERS.glob("*/*"):
        if file.suffix in KINDS and file.stem[0].isdigit():
            found.setdefault(file.parent.name, []).append(Runtime(file.parent.name, file.stem, file))
    return {name: sorted(releases, key=age, reverse=True) for name, releases in sorted(found.items())}


def age(runtime):
    return [int(part) if part.isdigit() else -1 for part in runtime.version.replace("-", ".").split(".")]


def find(name):
    """Finds `openvino`, `openvino-2026.4` or `openvino-2026.4.1`."""
    for runtime, releases in known().items():
        for release in releases:
            full = f"{runtime}-{release.version}"
            if name in (runtime, full) or full.startswith(name + "."):
                return release
    names = ", ".join(f"{r.name}-{r.version}" for releases in known().values() for r in releases)
    raise UnknownRuntime(f"unknown runtime `{name}`: there are {names}")


def make(runtime):
    """Makes the environment of a runtime anew."""
    place = runtime.environment
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    {"python": make_python, "node": make_node, "rust": make_rust}[runtime.kind](runtime, place)
    shutil.copyfile(runtime.requirements, place / "requirements")


def make_python(runtime, place):
    any_python = ["--ignore-requires-python"] if runtime.settings.get("any_python") else []
    if shutil.which("uv") and not any_python:
        execute(["uv", "venv", "--quiet", "--clear", "--python", sys.executable, place])
        execute(["uv", "pip", "install", "--quiet", "--no-deps", "--python", place / "bin/python", "-r", runtime.requirements])
    else:
        execute([sys.executable, "-m", "venv", "--clear", place])
        execute([place / "bin/python", "-m", "pip", "install", "--quiet", "--no-deps", *any_python, "-r", runtime.requirements])


def make_node(runtime, place):
    shutil.copyfile(runtime.requirements, place / "package.json")
    execute(["npm", "install", "--ignore-scripts", "--no-package-lock", "--silent"], cwd=place)


def make_rust(runtime, place):
    shutil.copyfile(runtime.requirements, place / "Cargo.toml")
    (place / "src").mkdir()
    for file in runtime.requirements.parent.glob("*.rs"):
        shutil.copyfile(file, place / "src" / ("main.rs" if file.name == "adapter.rs" else file.name))
    shutil.copyfile(ROOT / "harness/serve.rs", place / "src/serve.rs")
    lock = runtime.requirements.with_suffix(".lock")
    shutil.copyfile(lock, place / "Cargo.lock")
    variables = {"RUNTIME_VERSION": runtime.version, **compiler_of_protobuf(place)}
    execute(["cargo", "build", "--release", "--locked", "--quiet", "--target-dir", "."], cwd=place, variables=variables)
    for left in ("build", ".fingerprint", *([] if runtime.settings.get("keep_libraries") else ["deps"])):
        shutil.rmtree(place / "release" / left, ignore_errors=True)


def compiler_of_protobuf(place):
    """The variable PROTOC for builds that need it, if the requirements have a crate with the compiler for Linux on x86-64."""
    listed = subprocess.run(["cargo", "metadata", "--format-version", "1", "--locked"], cwd=place, check=True, capture_output=True, text=True).stdout
    crates = {crate["name"]: crate for crate in json.loads(listed)["packages"]}
    found = crates.get("protoc-bin-vendored-linux-x86_64")
    return {"PROTOC": str(Path(found["manifest_path"]).parent / "bin/protoc")} if found else {}


def execute(command, cwd=None, variables=None):
    subprocess.run([str(part) for part in command], cwd=cwd, check=True, env={**os.environ, **QUIET, **(variables or {})})
