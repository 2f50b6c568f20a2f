"""A dimension of which the user gives no least size is at least 1, as long as the code of the model does not ask whether it is empty: then the file is right at 0, too."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import aten2onnx

import test_sizes_of_one
from test_sizes_of_one import Calls

pytest.importorskip("onnxruntime")

SIZES = (0, 1, 2, 3, 7)


def exported(function: Callable[..., Any], **options: Any) -> aten2onnx.ONNXProgram:
    return test_sizes_of_one.exported(function, capture="record", **options)


def ranges(program: aten2onnx.ONNXProgram) -> list[str]:
    return [entry.value for entry in program.model_proto.metadata_props if entry.key == "aten2onnx.ranges"]


def held(program: aten2onnx.ONNXProgram, function: Callable[..., Any], sizes: tuple[int, ...] = SIZES) -> None:
    for size in sizes:
        x = torch.randn(size, 4)
        want = function(x)
        np.testing.assert_allclose(program(x)[0], want, rtol=1e-4, atol=1e-5)
        assert tuple(program(x)[0].shape) == tuple(want.shape)


def early(x: torch.Tensor) -> torch.Tensor:
    if x.shape[0] == 0:
        return x
    return x / x.max()


def in_another_branch(x: torch.Tensor) -> torch.Tensor:
    if x.shape[0] < 5:
        return x.sum(0) if x.shape[0] > 0 else x.new_ones(4)
    return x.mean(0)


def counted_down(x: torch.Tensor) -> torch.Tensor:
    n, y = x.shape[0], x.sum(0)
    while n:
        y = y * 0.5 + n
        n -= 1
    return y


BRANCHES = {
    "numel": lambda x: x.sum(0) + 1 if x.numel() else x.new_zeros(4),
    "more than 0": lambda x: x.sum(0) + 1 if x.shape[0] > 0 else x.new_zeros(4),
    "not len": lambda x: x.new_ones(4) if not len(x) else x.sum(0),
    "and": lambda x: x * 2 if x.shape[0] > 0 and x.sum() > 0 else x - 1,
    "or": lambda x: x.sum(0) / (x.shape[0] or 1),
    "early": early,
    "in another branch": in_another_branch,
}
NUMBERS = {
    "max": lambda x: x.sum(0) / max(x.shape[0], 1),
    "max of len": lambda x: x.sum() / max(1, len(x)),
    "min": lambda x: x.sum(0) + min(x.shape[0], 1),
    "comparison": lambda x: x.sum(0) + (x.shape[0] > 0),
    "int of a comparison": lambda x: x.sum(0) + 3 * int(x.shape[0] > 0),
    "tensor of a comparison": lambda x: torch.tensor(x.shape[0] == 0) | (x.sum(0) > 0),
    # The file counted down from -1 without end.
    "while": counted_down,
}


@pytest.mark.parametrize("name", BRANCHES)
def test_a_branch_that_only_the_default_decides_has_both_sides(name: str) -> None:
    program = exported(BRANCHES[name])
    assert program.report.operators["If"] >= 1 and not program.report.conditions and not ranges(program)
    assert not any("right only" in note for note in program.report.notes)
    held(program, BRANCHES[name])


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_that_only_the_default_decides_is_computed(name: str) -> None:
    program = exported(NUMBERS[name])
    assert "If" not in program.report.operators and not program.report.conditions and not ranges(program)
    held(program, NUMBERS[name])


@pytest.mark.parametrize("function", [lambda x: x.mean(0), lambda x: x.flatten(0) + 1, lambda x: x * (x.shape[0] - 1), lambda x: x[: max(x.shape[0], 0)]])
def test_a_model_that_does_not_ask_costs_nothing(function: Callable[..., Any]) -> None:
    model = Counted(function).eval()
    arguments = (torch.randn(3, 4),)
    program = aten2onnx.export(model, arguments, dynamic_shapes={"x": {0: "a"}}, capture="record")
    assert ranges(program) == ["a >= 1"]
    runs = model.runs
    stated = aten2onnx.export(model, arguments, dynamic_shapes={"x": {0: torch.export.Dim("a", min=1)}}, capture="record")
    assert model.runs == 2 * runs and stated.report.operators == program.report.operators


class Counted(Calls):
    runs = 0

    def forward(self, x: torch.Tensor) -> Any:
        self.runs += 1
        return self.function(x)


def test_a_bound_that_is_written_decides() -> None:
    function = BRANCHES["numel"]
    program = aten2onnx.export(Calls(function).eval(), (torch.randn(3, 4),), dynamic_shapes={"x": {0: torch.export.Dim("a", min=1)}})
    assert "If" not in program.report.operators and ranges(program) == ["a >= 1"]
    assert any("right only where a >= 1" in note for note in program.report.notes)

    class Two(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return x + y if x.shape[0] > 0 else x.new_ones(1, 4)

    # At one of two inputs that are equal is enough.
    name, dimension = {0: "a"}, {0: torch.export.Dim("a", min=2)}
    for shapes in ({"x": name, "y": dimension}, {"x": dimension, "y": name}):
        program = aten2onnx.export(Two().eval(), (torch.randn(3, 4), torch.randn(3, 4)), dynamic_shapes=shapes, capture="record")
        assert "If" not in program.report.operators and ranges(program) == ["a >= 2"]


def other_rank(x: torch.Tensor) -> torch.Tensor:
    return x.new_zeros(3) if x.numel() == 0 else x.amax(0).unsqueeze(0)


def fails_without_elements(x: torch.Tensor) -> torch.Tensor:
    return x + 1 if x.shape[0] > 0 else x.amax()


def is_refused(x: torch.Tensor) -> torch.Tensor:
    if x.shape[0] == 0:
        raise ValueError("no rows")
    return x * 2


@pytest.mark.parametrize("function", [other_rank, fails_without_elements, is_refused])
def test_where_no_file_can_have_it_the_bound_stays(function: Callable[..., Any]) -> None:
    program = exported(function)
    assert "If" not in program.report.operators and not program.report.conditions and ranges(program) == ["a >= 1"]
    assert any("right only where a >= 1" in note for note in program.report.notes)
    held(program, function, (1, 3, 7))


def test_another_condition_stays() -> None:
    # The file is for even sizes in both forms, and takes none of them less.
    function = lambda x: x[::2] + x[1::2] if x.shape[0] > 0 else x.new_ones(1, 4)  # noqa: E731
    program = aten2onnx.export(Calls(function).eval(), (torch.randn(4, 4),), dynamic_shapes={"x": {0: "a"}}, capture="record")
    held(program, function, (0, 2, 4, 6))


def test_a_branch_of_a_library_asks_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    text = "def pooled(x):\n    if x.shape[0] == 0:\n        return x.new_ones(4)\n    return x.sum(0)\n"
    for place, name in ((folder, "installed_layers"), (tmp_path, "own_layers")):
        (place / f"{name}.py").write_text(text)
        monkeypatch.syspath_prepend(str(place))
    import installed_layers
    import own_layers

    program = exported(installed_layers.pooled)
    assert "If" not in program.report.operators and ranges(program) == ["a >= 1"]
    assert any("right only where a >= 1" in note for note in program.report.notes)
    assert exported(own_layers.pooled).report.operators["If"] == 1
    for name in ("installed_layers", "own_layers"):
        sys.modules.pop(name)


@pytest.mark.parametrize("branches", ["refuse", "example"])
def test_who_wants_no_branches_has_the_bound(branches: str) -> None:
    program = exported(BRANCHES["numel"], branches=branches)
    assert "If" not in program.report.operators and ranges(program) == ["a >= 1"]
    assert any("right only where a >= 1" in note for note in program.report.notes)


@pytest.mark.parametrize("shapes", [{"dynamic_shapes": "auto"}, {"dynamic_axes": {"x": {0: "a"}}, "input_names": ["x"]}, {"dynamic_shapes": {"x": {0: torch.export.Dim.DYNAMIC}}}])
def test_so_it_is_however_a_dimension_is_named(shapes: Any) -> None:
    function = BRANCHES["numel"]
    held(aten2onnx.export(Calls(function).eval(), (torch.randn(3, 4),), **shapes), function)


def test_an_empty_input_is_verified() -> None:
    program = exported(early, verify=True)
    assert program.report.operators["If"] == 1
