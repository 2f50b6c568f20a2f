"""Runs models in a runtime: starts its process, sends models, and tells what became of each.

A crash, a hang or too much memory costs only the model at hand: the next one gets a new process.
"""
import contextlib
import dataclasses
import json
import os
import resource
import select
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from . import tensors

GB = 1 << 30
# Some runtimes keep memory of every model.
MODELS_PER_PROCESS = 200
# So many times the limit a process may wait for the processor.
PATIENCE = 4
# Seconds between two looks at a process that does not answer.
GLANCE = 2.0


@dataclasses.dataclass
class Result:
    """What a runtime did with a model: `ran`, `refused` (it does not load), or `failed` (it loads, but does not run)."""

    verdict: str
    reason: str = ""
    outputs: list = dataclasses.field(default_factory=list)
    load_seconds: float | None = None
    seconds: list = dataclasses.field(default_factory=list)


class Stopped(Exception):
    """The process ended or did not answer in time."""


class Worker:
    """A runtime that takes one model after the other."""

    def __init__(self, runtime, seconds=60.0, memory_gb=8.0):
        if not runtime.is_ready:
            raise Stopped(f"{runtime.name} {runtime.version} is not installed: run `python runtimes/setup.py {runtime.name}-{runtime.version}`")
        self.runtime = runtime
        self.seconds = seconds
        self.memory = int(memory_gb * GB)
        self.process = None
        self.version = None
        self.folder = tempfile.TemporaryDirectory(prefix="aten2onnx-runtime-")
        self.log = Path(self.folder.name, "log")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        self.folder.cleanup()

    def run(self, model, inputs, times=1):
        """Runs a model file `times` times with inputs by name."""
        loaded = None
        try:
            self.start()
            self.send(self.job(model, inputs, times))
            message = self.receive()
            if "error" in message:
                return Result("refused", message["error"])
            loaded = message["loaded"]
            message = self.receive()
            if "error" in message:
                return Result("failed", message["error"], load_seconds=loaded)
            outputs = list(tensors.read(self.path("outputs"), message["outputs"]).values())
            return Result("ran", "", outputs, loaded, message["seconds"])
        except Stopped as stopped:
            self.stop()
            return Result("refused" if loaded is None else "failed", str(stopped), load_seconds=loaded)

    @property
    def models_at_once(self):
        """How many models the adapter compiles together (`models_at_once` in `runtime.toml`)."""
        return self.runtime.settings.get("models_at_once", 1)

    def prepare(self, models, seconds=1800.0):
        """Has many models compiled at once, where that is faster (`models_at_once`). They are run one by one after."""
        if self.models_at_once == 1 or not models:
            return
        if self.process and self.served + len(models) > MODELS_PER_PROCESS:
            self.stop()
        self.start()
        self.send({"prepare": [str(Path(model).resolve()) for model in models]})
        message = self.receive(seconds)
        if "error" in message:
            raise Stopped(message["error"])

    def job(self, model, inputs, times):
        described = tensors.write(self.path("inputs"), inputs)
        return {"model": str(Path(model).resolve()), "tensors": self.path("inputs"), "inputs": described, "outputs": self.path("outputs"), "times": times}

    def path(self, name):
        return str(Path(self.folder.name, name))

    def start(self):
        """Starts the process, unless it runs."""
        if self.process and self.served >= MODELS_PER_PROCESS:
            self.stop()
        if self.process is None:
            command = [str(part) for part in self.runtime.command()]
            memory = self.memory
            with open(self.log, "wb") as log:
                self.process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, cwd=self.folder.name, env=self.runtime.variables(),
                    start_new_session=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (memory, memory)),
                )  # fmt: skip
            self.served = 0
            self.unread = b""
            self.version = self.receive()["ready"]
        self.served += 1

    def stop(self):
        """Ends the process and those that it started."""
        if self.process is None:
            return
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        # What was not read is thrown away.
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()
        self.process = None

    def send(self, message):
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Stopped(self.last_words()) from None

    def receive(self, seconds=None):
        """Waits for a message. On a busy machine, a process may have used little of its time: it then gets more."""
        limit = seconds or self.seconds
        start, used = time.monotonic(), self.cpu_seconds()
        while b"\n" not in self.unread:
            ready, _, _ = select.select([self.process.stdout], [], [], min(limit / 4, GLANCE))
            waited = time.monotonic() - start
            is_busy = self.cpu_seconds() - used > limit / 2
            if not ready and waited > limit * (1 if is_busy else PATIENCE):
                raise Stopped(f"no answer within {limit:g} s")
            if not ready and self.is_dead():
                raise Stopped("the process ended, but a thread of it did not")
            if not ready:
                continue
            chunk = os.read(self.process.stdout.fileno(), 1 << 16)
            if not chunk:
                raise Stopped(self.last_words())
            self.unread += chunk
        line, self.unread = self.unread.split(b"\n", 1)
        return json.loads(line)

    def cpu_seconds(self):
        """The processor time that the process and those that it started have used, whether they run or it waited for them."""
        states = [state for state in map(stat, filter(str.isdigit, os.listdir("/proc"))) if state and int(state[3]) == self.process.pid]
        return sum(int(time) for state in states for time in state[11:15]) / os.sysconf("SC_CLK_TCK")

    def is_dead(self):
        """Whether the first thread ended. Others may hang, and keep the pipes open."""
        return stat(self.process.pid)[0] == "Z"

    def last_words(self):
        """Why the process ended: its exit code or signal, and the last lines that it printed."""
        code = self.process.wait()
        how = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
        lines = [line.strip() for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        panics = [index for index, line in enumerate(lines) if "panicked at" in line]
        told = lines[panics[0] : panics[0] + 2] if panics else lines[-4:]
        return f"the process ended ({how}){': ' if told else ''}{' | '.join(told)}"


def stat(pid):
    """What Linux tells of a process, from its state on, or None if there is no such process any more."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
