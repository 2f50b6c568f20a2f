"""Operators that treat a size of 1 in another way, and numbers that PyTorch takes as plain ones: the file is right, or states where it is."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import aten2onnx

sys.path.insert(0, os.path.dirname(__file__))
from called import Calls  # noqa: E402

pytest.importorskip("onnxruntime")


def exported(function: Callable[..., Any], **options: Any) -> aten2onnx.ONNXProgram:
    return aten2onnx.export(Calls(function).eval(), (torch.randn(3, 4),), dynamic_shapes={"x": {0: "a"}}, **options)


def held(program: aten2onnx.ONNXProgram, function: Callable[..., Any], sizes: tuple[int, ...]) -> None:
    for size in sizes:
        x = torch.randn(size, 4)
        for result, want in zip(program(x), torch.utils._pytree.tree_leaves(function(x))):
            np.testing.assert_allclose(result, want, rtol=1e-4, atol=1e-5)
            assert tuple(result.shape) == tuple(want.shape)


@pytest.mark.parametrize(
    "function",
    [lambda x: x.squeeze(), lambda x: x.squeeze(0), lambda x: x.squeeze((0, 1)), lambda x: x.clone().squeeze_(0), lambda x: x.cov(), lambda x: x.corrcoef()],
    ids=["all", "one", "some", "in place", "cov", "corrcoef"],
)
def test_an_operator_that_drops_dimensions_of_one_is_a_condition(function: Callable[..., Any]) -> None:
    # No file has another rank by size: the one for 2 and more had it, and said that it takes 1.
    with pytest.warns(UserWarning, match="right only where `a >= 2`"):
        program = exported(function)
    assert program.report.conditions == ["a >= 2"]
    held(program, function, (2, 3, 7))
    with pytest.raises(aten2onnx.Error, match="a >= 2"):
        exported(function, strict_shapes=True)


class Squeezed(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.unsqueeze(1).squeeze(1).squeeze(0) * 2


@pytest.mark.parametrize("capture", ["trace", "script", "file", "recorded"])
def test_so_it_is_in_every_program(capture: str, tmp_path: Path) -> None:
    # Neither torch.export nor TorchScript has a guard for it.
    model, x = Squeezed().eval(), torch.randn(3, 4)
    shapes: Any = ({0: "a"},)
    if capture == "file":
        exported = torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim("a", min=1)},))
        torch.export.save(exported, tmp_path / "model.pt2")
        with pytest.warns(UserWarning, match=r"right only where `\w+ >= 2`"):
            program = aten2onnx.export(tmp_path / "model.pt2")
        assert [condition.split()[1:] for condition in aten2onnx.inspect(tmp_path / "model.pt2").conditions] == [[">=", "2"]]
    else:
        options = {} if capture == "recorded" else {"capture": capture}
        with pytest.warns(UserWarning, match="right only where `a >= 2`"):
            program = aten2onnx.export(model, (x,), dynamic_shapes=shapes, **options)
    held(program, model, (2, 3, 7))


@pytest.mark.parametrize("function", [lambda x: x.unsqueeze(1).squeeze(1), lambda x: x.sum(1, keepdim=True).squeeze(-1), lambda x: x.squeeze(1)])
def test_other_dimensions_that_are_dropped_are_none(function: Callable[..., Any]) -> None:
    program = exported(function)
    assert not program.report.conditions and not program.report.notes
    held(program, function, (1, 3, 7))


def branch_on_nothing(x: torch.Tensor) -> torch.Tensor:
    return x.sum(0) + 1 if x.numel() else x.new_zeros(4)


def mean_or_one(x: torch.Tensor) -> torch.Tensor:
    return x.new_ones(4) if x.shape[0] == 0 else x.mean(0)


def no_branch(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return x.flatten(0), x.mean(0), x.sum(1)


@pytest.mark.parametrize("function", [branch_on_nothing, mean_or_one, no_branch])
@pytest.mark.parametrize("example", [3, 0])
def test_a_dimension_that_may_be_empty(function: Callable[..., Any], example: int) -> None:
    dimension = torch.export.Dim("a", min=0)
    program = aten2onnx.export(Calls(function).eval(), (torch.randn(example, 4),), dynamic_shapes={"x": {0: dimension}})
    assert not program.report.conditions
    assert not any(entry.key == "aten2onnx.ranges" for entry in program.model_proto.metadata_props)
    held(program, function, (0, 1, 3))


def test_what_a_branch_on_nothing_is_otherwise() -> None:
    # A dimension that the user declares so is at least 1.
    program = aten2onnx.export(Calls(branch_on_nothing).eval(), (torch.randn(3, 4),), dynamic_shapes={"x": {0: torch.export.Dim("a", min=1)}})
    assert "If" not in program.report.operators
    assert any(note.startswith("The file is right only where a >= 1") for note in program.report.notes)
    assert [entry.value for entry in program.model_proto.metadata_props if entry.key == "aten2onnx.ranges"] == ["a >= 1"]
    # So is one at which the model does not run where it is empty.
    function = lambda x: x + 1 if x.shape[0] > 0 else x.amax()  # noqa: E731
    program = aten2onnx.export(Calls(function).eval(), (torch.randn(3, 4),), dynamic_shapes={"x": {0: torch.export.Dim("a", min=0)}})
    assert "If" not in program.report.operators and not program.report.conditions
    assert any(note.startswith("The file is right only where a >= 1") for note in program.report.notes)


def test_tensors_that_are_close_decide_a_branch() -> None:
    function = lambda x: x + 1 if torch.allclose(x, x.round(), atol=0.25) else x - 1  # noqa: E731
    program = exported(function)
    held(program, function, (1, 3))
    whole = torch.arange(8.0).reshape(2, 4)
    np.testing.assert_allclose(program(whole)[0], whole + 1)


def test_triangles_of_sizes() -> None:
    function = lambda x: (torch.triu_indices(x.shape[0], 4, 1), torch.tril_indices(x.shape[0], x.shape[0]))  # noqa: E731
    for opset in (9, 13, 18):
        held(exported(function, opset_version=opset), function, (1, 3, 6))


def scaled(by: float, x: torch.Tensor) -> torch.Tensor:
    return x * (math.sqrt(x.shape[0]) + by)


def test_functions_in_attributes_see_sizes() -> None:
    # The function lives in another module than the class of the module that has it.
    for function in (partial(scaled, 0.5), lambda x: scaled(1.5, x)):
        model = nn.Sequential(nn.Identity())
        model[0].forward = function
        program = aten2onnx.export(model.eval(), (torch.randn(3, 4),), dynamic_shapes={"input": {0: "a"}})
        held(program, function, (1, 3, 5))


def test_bfloat16_that_onnx_runtime_lacks_is_told() -> None:
    function = lambda x: (x.bfloat16() @ x.bfloat16().T).float()  # noqa: E731
    told = exported(function).report.notes
    assert len(told) == 1 and "has no bfloat16 kernel on the CPU for `MatMul`" in told[0] and '`target="onnxruntime"`' in told[0]
    program = exported(function, target="onnxruntime")
    assert not any("no bfloat16 kernel" in note for note in program.report.notes)
    x = torch.randn(5, 4)
    np.testing.assert_allclose(program(x)[0], function(x), rtol=2e-2, atol=2e-2)


class SideThatIsOne(nn.Module):
    """Sides of a branch inside of another one: in each, another operand has the size 1."""

    def forward(self, x):
        n, m = x.shape
        if m > 7:
            x = torch.cat(torch.split(x, max(1, n // 2)), 0)
        elif m * 2 > m:
            if n % 2 == 0:
                x = torch.full((n, m), 0.5) + x[:, :1]
            else:
                x = torch.linspace(0, 1, steps=n)[:, None] + x[:1]
            x = x @ torch.ones(x.shape[1], m)
        return x


def test_what_is_broadcast_on_one_side_is_not_what_is_broadcast_on_the_other():
    model = SideThatIsOne().eval()
    program = aten2onnx.export(model, (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n", 1: "m"}}, capture="record")
    for sizes in ((6, 4), (3, 5), (5, 4), (4, 9), (7, 7), (1, 2), (2, 1)):
        x = torch.randn(*sizes)
        torch.testing.assert_close(torch.as_tensor(program(x)[0]), model(x))


def test_a_branch_at_one_that_matters_where_other_sizes_are_small_is_a_condition() -> None:
    function = lambda x: x * max(1, min((x.shape[1] // 2) and int(3 / x.shape[0] * 2), 6))  # noqa: E731
    program = aten2onnx.export(Calls(function).eval(), (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n", 1: "m"}}, capture="record")
    assert program.report.conditions == ["m >= 2"]
    for n, m in ((1, 2), (2, 2), (3, 7), (9, 3)):
        x = torch.randn(n, m)
        torch.testing.assert_close(program(x)[0], function(x))
