"""The process of a runtime: takes one model after the other from standard input, and runs it with the runtime's adapter.

    python serve.py ADAPTER.py

It is started by `worker.py` with the Python of the runtime's environment, and needs NumPy only. A message is a line of JSON.

- At the start: {"ready": VERSION}
- In:  {"model": FILE, "tensors": FILE, "inputs": [...], "outputs": FILE, "times": N}; `tensors.py` describes the lists.
- Out: {"loaded": SECONDS}, then {"outputs": [...], "seconds": [...]} with the seconds of each of N runs; or {"error": REASON}
  in place of either.
- In, for an adapter in Rust that compiles models (`models_at_once` in `runtime.toml`): {"prepare": [FILE, ...]}; out: {"prepared": N}.

An adapter is a module with three functions: `version()`, `load(path)`, and `run(model, inputs)`, which takes arrays by name and
returns the outputs in the order of the model. A runtime that compiles for sizes has `load(path, inputs)`.
"""
import importlib.util
import inspect
import json
import os
import sys
import time
from pathlib import Path

import tensors


def load_adapter(path):
    spec = importlib.util.spec_from_file_location("adapter", path)
    adapter = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(adapter)
    return adapter


def take_standard_output():
    """Returns the standard output for messages alone. What runtimes print goes to standard error."""
    messages = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return messages


def reason_of(error):
    text = str(error).strip() or repr(error)
    return f"{type(error).__name__}: {text}"


def answer(adapter, job, say):
    inputs = tensors.read(job["tensors"], job["inputs"])
    given = [inputs] if "inputs" in inspect.signature(adapter.load).parameters else []
    start = time.perf_counter()
    model = adapter.load(job["model"], *given)
    say({"loaded": time.perf_counter() - start})
    seconds = []
    for _ in range(job.get("times", 1)):
        start = time.perf_counter()
        outputs = adapter.run(model, inputs)
        seconds.append(time.perf_counter() - start)
    named = {str(index): output for index, output in enumerate(outputs)}
    say({"outputs": tensors.write(job["outputs"], named), "seconds": seconds})


def main():
    messages = take_standard_output()

    def say(message):
        messages.write(json.dumps(message) + "\n")
        messages.flush()

    adapter = load_adapter(Path(sys.argv[1]))
    say({"ready": adapter.version()})
    for line in sys.stdin:
        try:
            answer(adapter, json.loads(line), say)
        except Exception as error:
            say({"error": reason_of(error)})


if __name__ == "__main__":
    main()
