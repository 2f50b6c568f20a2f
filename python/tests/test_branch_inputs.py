"""Inputs that the user gives for a side of a branch which the example cannot run: `branch_inputs`."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
import torch

import aten2onnx


class Factors(torch.nn.Module):
    """One side fails for nearly all matrices."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x[0, 0] > 5:
            return torch.linalg.cholesky(x)
        return x * 2


EXAMPLE = torch.zeros(3, 3)
DEFINITE = torch.eye(3) * 9 + torch.full((3, 3), 0.1)
#: The line of the branch, as an error names it.
BRANCH = f"{Path(__file__).name}:{inspect.getsourcelines(Factors.forward)[1] + 1}"


def test_a_side_is_run_at_the_inputs_that_were_given_for_it() -> None:
    model = Factors().eval()
    program = aten2onnx.export(model, (EXAMPLE,), branch_inputs={BRANCH: (DEFINITE,)}, verify=True)
    for x in (EXAMPLE, DEFINITE, torch.eye(3) * 6):
        torch.testing.assert_close(program(x)[0], model(x))
    # Both sides were taken, so the note does not say that one was not.
    assert any("Both sides of `if x[0, 0] > 5:`" in note and "no input" not in note for note in program.report.notes)
    by_name = {str(Path(__file__).parent / BRANCH): {"x": DEFINITE}}
    assert aten2onnx.inspect(model, (EXAMPLE,), branch_inputs=by_name).data["opsets"]


def test_without_them_the_error_says_how_to_give_them() -> None:
    with pytest.raises(aten2onnx.CaptureError) as caught:
        aten2onnx.export(Factors().eval(), (EXAMPLE,))
    assert "its other side fails" in str(caught.value) and f'branch_inputs={{"{BRANCH}": (x2,)}}' in str(caught.value)


@pytest.mark.parametrize(
    ("given", "branches", "said"),
    [
        ({"other.py:3": (DEFINITE,)}, "both", f"branches with both sides are at `{BRANCH}`"),
        ({"test_branch_inputs.py": (DEFINITE,)}, "both", "pass the file and line of a branch"),
        ({BRANCH: 3}, "both", "branch_inputs: found an object of type `int`"),
        ({BRANCH: (DEFINITE.double(),)}, "both", "branch_inputs: `x` has another type"),
        ({BRANCH: (DEFINITE,)}, "example", "branch_inputs cannot be used with branches='example'"),
    ],
)
def test_inputs_that_say_nothing_are_errors(given: dict[str, object], branches: str, said: str) -> None:
    if "other.py:3" in given:
        given = {BRANCH: (DEFINITE,), **given}
    with pytest.raises(aten2onnx.Error) as caught:
        aten2onnx.export(Factors().eval(), (EXAMPLE,), branches=branches, branch_inputs=given)  # type: ignore[arg-type]
    assert said in str(caught.value)
