"""Measures how much memory the export of a live module needs in addition to the module.

    python python/bench/memory.py                     2 GB of weights, at most 200 MB more
    python python/bench/memory.py --megabytes 400
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from pathlib import Path

import torch
from torch import nn

import aten2onnx

MEGABYTE = 1 << 20
WIDTH = 4096


def resident() -> int:
    """The resident memory of this process in bytes."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    # File pages can be dropped at any time, so they do not count.
    return (int(fields["RssAnon"].split()[0]) + int(fields["RssShmem"].split()[0])) * 1024


class Peak:
    """The peak memory while the block runs, sampled every two milliseconds."""

    def __enter__(self) -> Peak:
        self.most, self._over = resident(), False
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        self._thread.join()

    def _watch(self) -> None:
        while not self._over:
            self.most = max(self.most, resident())
            time.sleep(0.002)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=2048)
    parser.add_argument("--limit", type=int, default=200, help="allowed megabytes in addition to the module")
    parser.add_argument("--folder", type=Path, help="output folder")
    options = parser.parse_args()
    x = torch.randn(1, WIDTH)
    # What PyTorch loads for its first export does not count.
    aten2onnx.export(nn.Linear(WIDTH, 8).eval(), (x,))
    layers = options.megabytes * MEGABYTE // (WIDTH * WIDTH * 4)
    net = nn.Sequential(*[nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(layers)]).eval()
    with tempfile.TemporaryDirectory() as folder:
        path = (options.folder or Path(folder)) / "large.onnx"
        before, start = resident(), time.perf_counter()
        with Peak() as peak:
            aten2onnx.export(net, (x,), path)
        seconds = time.perf_counter() - start
        size = sum(file.stat().st_size for file in path.parent.glob("large.onnx*"))
    more = (peak.most - before) / MEGABYTE
    print(f"{layers * WIDTH * WIDTH * 4 / MEGABYTE:.0f} MB of weights, {size / MEGABYTE:.0f} MB written in {seconds:.1f} s, {more:.0f} MB of additional memory")
    return 0 if more <= options.limit else 1


if __name__ == "__main__":
    sys.exit(main())
