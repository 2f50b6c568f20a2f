"""Shows the progress of long work: a line in a terminal, an output in a notebook, and nothing elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Seconds before anything is shown.
DELAY = 1.0
#: Seconds between two updates.
PAUSE = 0.1
WIDTH = 30


class Progress:
    """Shows the current step, and how much of it is done if that is known."""

    def __init__(self, wanted: bool | None = None) -> None:
        self._show = _display(wanted)
        self._started = time.monotonic()
        self._last = 0.0
        self._shown = False
        self._step = ""

    def step(self, name: str) -> None:
        """Starts a step."""
        self._step = name
        self._draw(name)

    def __call__(self, done: int, total: int) -> None:
        """Shows how many bytes of the current step are done."""
        part = done / total if total else 1.0
        bar = "█" * round(part * WIDTH)
        self._draw(f"{self._step} {bar:░<{WIDTH}} {done / 1e6:,.0f} of {total / 1e6:,.0f} MB")

    def close(self) -> None:
        """Clears the display."""
        if self._shown and self._show is not None:
            self._show("")
            self._shown = False

    def _draw(self, text: str) -> None:
        now = time.monotonic()
        if self._show is None or now - self._started < DELAY or now - self._last < PAUSE:
            return
        self._last, self._shown = now, True
        self._show(f"aten2onnx: {text}")


@contextmanager
def shown(wanted: bool | None) -> Iterator[Progress]:
    """Shows the progress of the block."""
    progress = Progress(wanted)
    try:
        yield progress
    finally:
        progress.close()


def _display(wanted: bool | None) -> Callable[[str], None] | None:
    """Returns a function that replaces the line that is shown, or None if nothing is shown."""
    if wanted is False:
        return None
    if _is_notebook():
        return _Notebook()
    if wanted or (sys.stderr is not None and sys.stderr.isatty()):
        return _terminal
    return None


def _terminal(text: str) -> None:
    # Return to the start of the line, and clear the rest of the previous text.
    sys.stderr.write(f"\r{text}\x1b[K")
    sys.stderr.flush()


class _Notebook:
    """An output of the notebook cell that is updated."""

    def __init__(self) -> None:
        self._handle = None

    def __call__(self, text: str) -> None:
        from IPython.display import display

        # Plain text needs no widgets.
        bundle = {"text/plain": text}
        if self._handle is None:
            self._handle = display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)


def _is_notebook() -> bool:
    shell = sys.modules.get("IPython")
    if shell is None:
        return False
    running = shell.get_ipython()
    return running is not None and "IPKernelApp" in running.config
