"""Times sessions of ONNX Runtime beside one another: what opsets.py and runtime.py share."""

from __future__ import annotations

import fnmatch
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import onnxruntime

Key = TypeVar("Key")


def names_chosen(names: Iterable[str], only: str) -> list[str]:
    """The names that one of these patterns fits, which have commas between them."""
    return [name for name in names if any(fnmatch.fnmatch(name, pattern) for pattern in only.split(","))]


def session_of(path: Path, threads: int = 1, profile: Path | None = None) -> onnxruntime.InferenceSession:
    """A session on the CPU. With `profile`, its profile is written to a file whose name begins so."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    if profile is not None:
        options.enable_profiling, options.profile_file_prefix = True, str(profile)
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def least_times(runs: dict[Key, Callable[[], object]], rounds: int, clock: Callable[[], float]) -> dict[Key, float]:
    """The least seconds of each run. They take turns in a random order: one that runs twice in a row finds its weights in the caches."""
    shuffled, keys = random.Random(0), list(runs)
    times: dict[Key, float] = dict.fromkeys(keys, float("inf"))
    for _ in range(rounds):
        for key in shuffled.sample(keys, len(keys)):
            start = clock()
            runs[key]()
            times[key] = min(times[key], clock() - start)
    return times
