"""What the branches and loops of real models cost: the export, and a run in ONNX Runtime beside the file that a user would have without.

    python bench/real.py [PATTERN] [--into docs/control-flow.md]    # PYTHONPATH has the package aten2onnx

Each model is exported as it is, at dynamic sizes, and once more with the side of the example (`branches="example"`) or with the turns of the example (static sizes). "Runs for a side" are those
that a model without branches does not take. Both files run at the example, in turns, on one thread. Results are held against PyTorch at other inputs, too: for decoders, the tokens of 20 prompts.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from costs import cost_of_export
from pages import finish_table
from torch.export import Dim
from turns import least_times, names_chosen, session_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "tests"))
import real_models as real  # noqa: E402
from test_branch_runs import FIRST  # noqa: E402

MARK, END = "<!-- bench/real.py -->", "<!-- bench/real.py ends -->"
ROUNDS, OTHERS = 60, 20


@dataclass
class Case:
    """A model and its inputs.

    Attributes:
        make: Makes the model.
        inputs: Makes inputs of a number: 0 is the example.
        shapes: Its dynamic dimensions.
        without: The file beside it: "example" (the side of the example) or "unrolled" (the turns of the example, at its sizes alone).
        options: Arguments of the export.
        counts: What is compared.
    """

    make: Callable[[], torch.nn.Module]
    inputs: Callable[[int], tuple[torch.Tensor, ...]]
    shapes: Any
    without: str = "example"
    options: dict[str, Any] = field(default_factory=dict)
    counts: str = "inputs"


def _points(number: int) -> tuple[torch.Tensor, ...]:
    m, n = ((120, 90), (30, 40), (12, 9), (200, 150))[number % 4]
    return real.points(m, n, (2.0, 0.5, 1.0, 4.0)[number % 4], 32)


def _prompt(number: int) -> tuple[torch.Tensor, ...]:
    return (torch.randint(0, 13, (1, 2 + number % 7)),)


_M, _N = Dim("m", min=2), Dim("n", min=2)
CASES = {
    "LightGlue, 4 layers, adaptive depth and width": Case(
        lambda: real.matcher(width=32, heads=4, layers=4), _points, {"kpts0": {1: _M}, "kpts1": {1: _N}, "desc0": {1: _M}, "desc1": {1: _N}}, options={"max_runs": 2, "max_branches": 64}
    ),
    "text decoder with an early stop, as PARSeq": Case(real.Parseq, lambda k: (torch.randn(1 + k % 3, 5 + k % 7, 16) * (1 + k % 4),), {"memory": {0: "batch", 1: "n"}}),
    "greedy decoding of a Llama": Case(lambda: real.Greedy(real.llama(), 3, 24), _prompt, {"ids": {1: "n"}}, "unrolled", counts="prompts"),
    "greedy decoding of a Whisper": Case(lambda: real.Transcriber(real.whisper(), 1, 3, 20), lambda k: (torch.randn(1, 8, 40) * (1 + k),), None, "example", counts="prompts"),
    "Mamba, 2 layers, at any length": Case(lambda: real.mamba(64, 16, 2), lambda k: (torch.randint(0, 29, (1, (64, 1, 7, 100)[k % 4])),), {"ids": {1: "n"}}, "unrolled"),
    "sampling and grouping of PointNet++": Case(
        lambda: real.SetAbstraction(None), lambda k: (torch.randn(1, (128, 10, 33, 64)[k % 4], 3),), {"xyz": {0: "batch", 1: "n"}}, "unrolled"
    ),
    "DINOv2, positions of the training size": Case(
        lambda: real.dinov2(64, 4), lambda k: (torch.randn(1 + k % 2, 3, 16 + 4 * (k % 3), 16 + 8 * (k % 2)),), {"pixels": {0: "batch", 2: "h", 3: "w"}}
    ),
    "BERT of 4 layers with exits": Case(lambda: real.Exits(64, 4), lambda k: (torch.randint(0, 31, (1, 12 + k)),), {"ids": {1: "n"}}),
}


def _sides(program: Any) -> int:
    """How many sides of branches, and turns of loops, are in a file."""
    found = program.report.operators
    return 2 * found.get("If", 0) + found.get("Loop", 0)


def _nodes(graph: Any) -> int:
    """The nodes of a graph, with those of branches and loops in it."""
    return sum(1 + sum(_nodes(attribute.g) for attribute in node.attribute if attribute.HasField("g")) for node in graph.node)


def _is_equal(got: Any, want: Any) -> bool:
    got, want = torch.as_tensor(got), torch.as_tensor(want)
    return got.shape == want.shape and torch.allclose(got.double(), want.double(), 1e-3, 1e-4)


def _equal(case: Case, model: torch.nn.Module, session: Any) -> int:
    """How many of the inputs give the results of PyTorch."""
    found = 0
    for number in range(OTHERS):
        args = case.inputs(number)
        wanted = torch.utils._pytree.tree_leaves(model(*args))
        found += all(map(_is_equal, _run(session, args), wanted))
    return found


def _run(session: Any, args: tuple[torch.Tensor, ...]) -> Any:
    return session.run(None, {put.name: arg.numpy() for put, arg in zip(session.get_inputs(), args)})


def _beside(case: Case, model: torch.nn.Module, args: tuple[torch.Tensor, ...], path: Path) -> Any:
    """The file without branches and loops."""
    import aten2onnx

    if case.without == "example":
        return aten2onnx.export(model, args, path, dynamic_shapes=case.shapes, branches="example")
    return aten2onnx.export(model, args, path, branches="example")


def row(name: str, case: Case, folder: Path) -> str:
    torch.manual_seed(0)
    model = case.make().eval()
    args = case.inputs(0)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        cost, program = cost_of_export(model, args, case.shapes, folder / "both.onnx", **case.options)
        other = _beside(case, model, args, folder / "other.onnx")
        sessions = {what: session_of(folder / f"{what}.onnx") for what in ("both", "other")}
        equal = _equal(case, model, sessions["both"])
        times = least_times({what: lambda session=session: _run(session, args) for what, session in sessions.items()}, ROUNDS, time.perf_counter)
    sides = _sides(program)
    cells = [
        name,
        f"{_nodes(program.model_proto.graph)} / {_nodes(other.model_proto.graph)}",
        f"{1000 * times['both']:.2f} / {1000 * times['other']:.2f} ({case.without})",
        f"{times['both'] / times['other']:.2f}",
        f"{equal} of {OTHERS} {case.counts}",
        str(cost.runs),
        str(sides),
        f"{max(cost.runs - FIRST, 0) / sides:.1f}",
        f"{cost.all - cost.tried:.2f} + {cost.tried:.2f}",
    ]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pattern", nargs="?", default="*", help="which models, as a pattern of file names")
    parser.add_argument("--into", type=Path, help="the page that gets the table, between its marks")
    given = parser.parse_args()
    torch.set_num_threads(1)
    lines = [
        "| model | nodes / without | a run in ms / without | times | equal to PyTorch | runs of the model | sides | runs for a side | exported in s + tried out |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name in names_chosen(CASES, given.pattern):
            lines.append(row(name, CASES[name], Path(folder)))
            print(lines[-1], flush=True)
    finish_table(lines, given.into, MARK, END)


if __name__ == "__main__":
    main()
