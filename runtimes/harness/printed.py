"""What extension modules print, for adapters whose runtime tells the reason of a refusal only so."""
import contextlib
import ctypes
import os
import sys


@contextlib.contextmanager
def output_in(path):
    """Collects in a file what is printed, also by native code."""
    flush()
    kept = os.dup(1), os.dup(2)
    with open(path, "wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        flush()
        for there, back in zip(kept, (1, 2)):
            os.dup2(there, back)
            os.close(there)


def flush():
    sys.stdout.flush()
    sys.stderr.flush()
    ctypes.CDLL(None).fflush(None)


def lines(path):
    """What was printed, line by line, without colours. A line that was written over, as by a progress bar, is several."""
    text = "".join(part.split("m", 1)[-1] if index else part for index, part in enumerate(path.read_text(errors="replace").split("\x1b[")))
    return [line.strip() for line in text.splitlines() if line.strip()]
