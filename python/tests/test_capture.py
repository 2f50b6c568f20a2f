"""How a module is captured, and what an error says: every way that was tried, the line of the model, and no more than a screen."""

from __future__ import annotations

import traceback
from functools import lru_cache

import aten2onnx
import pytest
import torch
from torch import nn

N = {"x": {0: "n"}}


class Half(nn.Module):
    def forward(self, x):
        return x[: int(x.shape[0] / 2)] * 2


class Six(nn.Module):
    def forward(self, x):
        return x.reshape(6, 4)


class OnData(nn.Module):
    def forward(self, x):
        return x + 1 if x.sum() > 0 else x - 1


class Counts(nn.Module):
    def forward(self, x):
        found = []
        for row in x:
            if row.sum().item() > 0:
                found.append(row)
        return torch.stack(found)


class Numpy(nn.Module):
    def forward(self, x):
        return x * torch.from_numpy(x.numpy().copy())


class Listed(nn.Module):
    def forward(self, x):
        return x * torch.tensor(x.sum(1).tolist()).sum()


class Wrong(nn.Module):
    def forward(self, x):
        return x @ x


class Kind(nn.Module):
    def forward(self, x):
        return nn.Linear(4, 4)(x.double())


class Raises(nn.Module):
    def forward(self, x):
        raise RuntimeError("not written yet")


class Unique(nn.Module):
    def forward(self, x):
        n = len(torch.unique(x))
        return x[0] * 2 if n > 3 else x[0]


FAILING = [Six, OnData, Counts, Numpy, Listed, Wrong, Kind, Raises, Unique]
STEPS = ("export", "strict", "auto", "record", "trace", "script")


@pytest.mark.parametrize("way", STEPS)
@pytest.mark.parametrize("kind", FAILING)
def test_an_error_names_the_line_and_fits_on_a_screen(kind, way, capfd, caplog) -> None:
    x = torch.randn(6, 4)
    x.mark = 1
    try:
        program = aten2onnx.export(kind().eval(), (x,), dynamic_shapes=N, capture=way)
    except aten2onnx.Error as error:
        assert len(str(error).splitlines()) <= 20 and all(len(line) <= 600 for line in str(error).splitlines())
        assert "test_capture.py" in str(error) and "def forward(self, arg0_1" not in str(error)
        shown = "".join(traceback.format_exception(error))
        assert "GraphModule" not in shown and "direct cause" not in shown
    else:  # what one way refuses, another takes
        for other in (torch.rand(6, 4) + 1, torch.rand(9, 4) + 1):
            try:
                want = kind().eval()(other)
            except RuntimeError:
                continue
            assert torch.allclose(torch.as_tensor(program(*([other.numpy()] if way in ("trace", "script") else [other]))[0]), want)
    assert vars(x) == {"mark": 1}
    out, err = capfd.readouterr()
    assert not out and not err and not [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]


@lru_cache
def refusal(capture: str, strict: bool | None) -> aten2onnx.CaptureError:
    """The error of a model that takes one size only."""
    with pytest.raises(aten2onnx.CaptureError) as caught:
        aten2onnx.export(Six().eval(), (torch.randn(6, 4),), dynamic_shapes=N, capture=capture, strict=strict)
    return caught.value


def test_auto_says_for_each_way_why_it_failed() -> None:
    error = refusal("auto", None)
    names = [name for name, _ in error.ways]
    assert names[0] == "recording it" and "torch.export" in names and "torch.export (strict)" in names
    lines = str(error).splitlines()
    assert lines[0].startswith("this model cannot be captured: ") and lines[1].startswith("  --> File ")
    assert all(any(line.startswith(f"{name}: ") for line in lines) for name in names[1:])
    assert "mark_dynamic" not in str(error)
    assert "in forward" in error.source_line


@pytest.mark.parametrize("way", ["export", "strict"])
def test_a_specialised_dimension_has_the_line_that_did_it(way) -> None:
    error = refusal(way, None)
    assert "test_capture.py" in error.source_line and "in forward" in error.source_line


@pytest.mark.parametrize(
    "strict, ways",
    [
        (None, ["torch.export", "torch.export (strict)", "torch.export (sizes from 2)"]),
        (True, ["torch.export (strict)"]),
        (False, ["torch.export", "torch.export (sizes from 2)"]),
    ],
)
@pytest.mark.parametrize("capture", ["auto", "export"])
def test_strict_is_the_mode_of_torch_export(strict, ways, capture) -> None:
    names = [name for name, _ in refusal(capture, strict).ways] or ["torch.export (strict)" if strict else "torch.export"]
    assert names == [*(["recording it"] if strict is None and capture == "auto" else []), *ways]


@pytest.mark.parametrize("capture, strict", [("record", True), ("record", False), ("fake", True), ("script", True), ("trace", False), ("strict", False)])
def test_a_way_without_torch_export_has_no_strict_mode(capture, strict) -> None:
    for function in (aten2onnx.export, aten2onnx.inspect):
        with pytest.raises(aten2onnx.InputError, match=rf"capture='{capture}' cannot be used with strict={strict}"):
            function(nn.ReLU(), (torch.randn(6, 4),), capture=capture, strict=strict)


def test_an_earlier_attempt_leaves_no_marks() -> None:
    x = torch.randn(6, 4)
    with pytest.raises(aten2onnx.CaptureError):
        aten2onnx.export(Six().eval(), (x,), dynamic_shapes=N, capture="export")
    assert aten2onnx.export(Six().eval(), (x,), capture="export").report.inputs[0][1] == "float32[6, 4]"
    assert torch.export.export(Six().eval(), (x,)).range_constraints == {}


def test_script_keeps_both_sides() -> None:
    program = aten2onnx.export(OnData().eval(), (torch.ones(3, 4),), dynamic_shapes=N, capture="script")
    for x in (torch.ones(2, 4), -torch.ones(5, 4)):
        torch.testing.assert_close(torch.as_tensor(program(x.numpy())[0]), OnData()(x))


def test_a_trace_is_held_against_others() -> None:
    program = aten2onnx.export(nn.Sequential(nn.Linear(4, 3), nn.ReLU()).eval(), (torch.randn(2, 4),), dynamic_shapes=({0: "n"},), capture="trace")
    assert program.report.inputs[0][1] == "float32[n, 4]"
    with pytest.raises(aten2onnx.CaptureError, match="the number 3 where it is") as caught:
        aten2onnx.export(Half().eval(), (torch.randn(6, 4),), dynamic_shapes=N, capture="trace")
    assert "return x[: int" in open(__file__).read().splitlines()[int(caught.value.source_line.split("line ")[1].split(",")[0]) - 1]


def test_examples_replace_the_inputs_of_other_runs() -> None:
    seen = []

    class Sees(nn.Module):
        def forward(self, x):
            seen.append(tuple(x.shape)) if not torch.jit.is_tracing() else None
            return x * 2

    examples = [(torch.randn(10, 4),), {"x": torch.randn(3, 4)}]
    program = aten2onnx.export(Sees().eval(), (torch.randn(6, 4),), dynamic_shapes=N, examples=examples, verify=True, capture="record")
    assert {int(shape[0]) for shape in seen} == {6, 10, 3}
    assert program.report.verification["sizes"] == [{"n": 6}, {"n": 10}, {"n": 3}]
    assert "at n=6, n=10, n=3" in program.report.markdown()


def test_examples_must_be_inputs_of_the_same_call() -> None:
    for wrong in [(torch.randn(10, 5),), (torch.randn(10, 4), 1), (torch.ones(10, 4, dtype=torch.int64),), 3]:
        with pytest.raises(aten2onnx.InputError, match="examples"):
            aten2onnx.export(Half().eval(), (torch.randn(6, 4),), dynamic_shapes=N, examples=[wrong])


def test_verify_compares_the_runs_at_other_sizes(tmp_path) -> None:
    # The rule is right at the size of the example only: 6 rows.
    mapping = tmp_path / "wrong.opmap"
    mapping.write_text("map aten::relu(Tensor self) -> Tensor = Relu(self) + (shape_of(self)[0] - 6)\n")
    try:
        aten2onnx.export(nn.ReLU().eval(), (torch.randn(6, 4),), dynamic_shapes=({0: "n"},), verify=True, mappings=mapping)
    except aten2onnx.VerificationError as error:
        assert "at n=" in error.message and "n=6" not in error.message
        assert not all(row["ok"] for row in error.report.verification["outputs"].values())
    except aten2onnx.Error as error:
        pytest.fail(f"the rule is not what was meant: {error}")
    else:
        pytest.fail("a file that is wrong at other sizes was verified")


def test_inspect_captures_as_export_does() -> None:
    found = aten2onnx.inspect(Half().eval(), (torch.randn(6, 4),), dynamic_shapes=N)
    assert found.opsets and not found.conditions
    with pytest.raises(aten2onnx.CaptureError, match="elements of a tensor"):
        aten2onnx.inspect(OnData().eval(), (torch.ones(6, 4),), dynamic_shapes=N, branches="refuse")
    assert not aten2onnx.inspect(OnData().eval(), (torch.ones(6, 4),), dynamic_shapes=N).conditions
    assert aten2onnx.inspect(OnData().eval(), (torch.ones(6, 4),), dynamic_shapes=N, branches="example").opsets


def test_dimensions_are_dynamic_where_the_runs_allow_it() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(3, 4, 3)

        def forward(self, x, y):
            return self.conv(x).flatten(1).mean(1) + y

    program = aten2onnx.export(Net().eval(), (torch.randn(2, 3, 8, 8), torch.randn(2)), dynamic_shapes="auto", verify=True, capture="record")
    assert program.report.inputs[0][1] == "float32[batch, 3, x_2, x_3]" and program.report.inputs[1][1] == "float32[batch]"
    (note,) = [note for note in program.report.notes if "always 3" in note]
    assert "test_capture.py" in note and "dimension 1 of `x`" in note


def test_a_dimension_that_a_branch_decides_is_constant_with_its_line() -> None:
    class Branches(nn.Module):
        def forward(self, x):
            return x + 1 if x.shape[0] > 4 else x - 1

    program = aten2onnx.export(Branches().eval(), (torch.randn(6, 4),), dynamic_shapes={"x": {0: torch.export.Dim.AUTO, 1: "w"}}, verify=True, capture="record", branches="refuse")
    assert program.report.inputs[0][1] == "float32[6, w]"
    assert any("always 6" in note and "test_capture.py" in note for note in program.report.notes)


@pytest.mark.parametrize("way", ["script", "trace"])
def test_torchscript_takes_no_module_in_training_mode(way) -> None:
    with pytest.warns(UserWarning, match="training mode"), pytest.raises(aten2onnx.InputError, match="modules in evaluation mode"):
        aten2onnx.export(torch.nn.Dropout(), (torch.ones(2),), capture=way)
