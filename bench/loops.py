"""What a Loop costs in ONNX Runtime: each model has a loop of a fixed number of turns, and is exported unrolled and with `roll=8`. Both files run in turns.

    python bench/loops.py [--into docs/control-flow.md]    # PYTHONPATH has the package aten2onnx

Their results are held against PyTorch's. Times are medians, of one thread.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import torch
from pages import finish_table
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "tests"))
from real_models import Greedy, Parseq, SetAbstraction, llama, mamba  # noqa: E402

import aten2onnx

MARK, END = "<!-- bench/loops.py -->", "<!-- bench/loops.py ends -->"
ROUNDS = 60


class Recurrence(nn.Module):
    """A recurrent cell that is written in Python."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state, found = torch.zeros(x.shape[0], x.shape[2]), []
        for turn in range(x.shape[1]):
            state = torch.tanh(self.inner(x[:, turn]) + self.outer(state))
            found.append(state)
        return torch.stack(found, 1)


class Scan(nn.Module):
    """The sequential scan of a state space, as Mamba-1 has it."""

    def __init__(self, width: int, states: int) -> None:
        super().__init__()
        self.decay, self.step = nn.Parameter(torch.rand(width, states)), nn.Linear(width, width)
        self.enters, self.leaves = nn.Linear(width, states), nn.Linear(width, states)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        steps = nn.functional.softplus(self.step(x)).unsqueeze(-1)
        decay = torch.exp(-steps * self.decay)
        entering, leaving = steps * self.enters(x).unsqueeze(2) * x.unsqueeze(-1), self.leaves(x)
        state, found = torch.zeros(x.shape[0], *self.decay.shape), []
        for turn in range(x.shape[1]):
            state = decay[:, turn] * state + entering[:, turn]
            found.append((state * leaving[:, turn].unsqueeze(1)).sum(-1))
        return torch.stack(found, 1)


class Counted(Greedy):
    """Greedy decoding of a number of tokens that is fixed, and stops at the end token."""

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        for _ in range(self.most):
            logits = self.model(input_ids=ids, use_cache=False).logits
            ids = torch.cat([ids, logits[:, -1:].argmax(-1)], 1)
            if ids[0, -1] == self.end:
                break
        return ids


MODELS = {
    "recurrent cell of 32, 64 turns": (Recurrence(32), (torch.randn(1, 64, 32),)),
    "recurrent cell of 512, 64 turns": (Recurrence(512), (torch.randn(1, 64, 512),)),
    "scan of 64 x 16 states, 128 turns": (Scan(64, 16), (torch.randn(1, 128, 64),)),
    "Mamba of transformers, 2 layers, 64 tokens": (mamba(64, 16, 2), (torch.randint(0, 29, (1, 64)),)),
    "sampling and grouping of PointNet++, 64 of 512 points": (SetAbstraction(64), (torch.randn(1, 512, 3),)),
    "a text decoder that stops early, 12 turns": (Parseq(), (torch.randn(1, 20, 16),)),
    "greedy decoding of a Llama, 16 tokens": (Counted(llama(), 3, 16), (torch.tensor([[1, 5, 2, 7]]),)),
}


def row(name: str, model: nn.Module, args: tuple[torch.Tensor, ...], folder: Path) -> str:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    with torch.no_grad():
        wanted = model.eval()(*args)
    programs = {roll: aten2onnx.export(model, args, folder / f"{roll}.onnx", roll=roll) for roll in (None, 8)}
    loading, sessions = {}, {}
    for roll in programs:
        start = time.perf_counter()
        sessions[roll] = onnxruntime.InferenceSession(folder / f"{roll}.onnx", options, providers=["CPUExecutionProvider"])
        loading[roll] = 1000 * (time.perf_counter() - start)
    times: dict[int | None, list[float]] = {roll: [] for roll in programs}
    for turn in range(ROUNDS):
        for roll, session in list(sessions.items())[:: 1 if turn % 2 else -1]:
            feeds = {put.name: arg.numpy() for put, arg in zip(session.get_inputs(), args)}
            start = time.perf_counter()
            found = session.run(None, feeds)
            times[roll].append(time.perf_counter() - start)
            for one, want in zip(found, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
                torch.testing.assert_close(torch.from_numpy(one), want, rtol=1e-4, atol=1e-4)
    nodes = {roll: len(program.model_proto.graph.node) for roll, program in programs.items()}
    sizes = {roll: (folder / f"{roll}.onnx").stat().st_size / 1000 for roll in programs}
    median = {roll: 1000 * statistics.median(found) for roll, found in times.items()}
    cells = [name, *(f"{values[None]:.{digits}f} / {values[8]:.{digits}f}" for values, digits in ((nodes, 0), (sizes, 0), (loading, 0), (median, 2)))]
    return "| " + " | ".join([*cells, f"{median[8] / median[None]:.2f}"]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, help="the page that gets the table, between its marks")
    given = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    lines = ["| unrolled / as a Loop | nodes | kB | loaded in ms | a run in ms | Loop |", "| --- | --- | --- | --- | --- | --- |"]
    with tempfile.TemporaryDirectory() as folder:
        lines += [row(name, model, args, Path(folder)) for name, (model, args) in MODELS.items()]
    finish_table(lines, given.into, MARK, END)


if __name__ == "__main__":
    main()
