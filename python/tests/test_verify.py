"""`verify` compares a model with PyTorch and finds the first node whose results differ."""

from __future__ import annotations

import aten2onnx
import pytest
import torch
from aten2onnx._verify import compare
from torch import nn

NET = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 3))


def wrong_rule(tmp_path, text: str):
    path = tmp_path / "wrong.opmap"
    path.write_text(text)
    return path


def test_the_comparison_is_in_the_report() -> None:
    program = aten2onnx.export(NET.eval(), (torch.randn(2, 4),), verify=True)
    (row,) = program.report.verification["outputs"].values()
    assert row["ok"] and row["dtype"] == "float32" and row["largest_difference"] < 1e-5
    assert "Compared with PyTorch" in program.report.markdown()


def test_the_first_node_that_differs_is_named(tmp_path) -> None:
    mapping = wrong_rule(tmp_path, "map aten::tanh(Tensor self) -> Tensor = Sigmoid(self)\n")

    class Net(nn.Module):
        def forward(self, x):
            y = x * 2
            y = torch.tanh(y)
            return (y + 1).exp()

    with pytest.raises(aten2onnx.VerificationError) as caught:
        aten2onnx.export(Net().eval(), (torch.randn(5),), mappings=mapping, verify=True)
    error = caught.value
    assert (error.operator, error.node) == ("aten::tanh", "tanh")
    assert "test_verify.py" in error.source_line
    assert "first at `tanh` (aten::tanh)" in str(error)
    assert not error.report.verification["outputs"]["exp"]["ok"]
    assert error.program.model_bytes


def test_no_file_is_written_if_results_differ(tmp_path) -> None:
    mapping = wrong_rule(tmp_path, "map aten::relu(Tensor self) -> Tensor = Neg(self)\n")
    with pytest.raises(aten2onnx.VerificationError):
        aten2onnx.export(nn.ReLU().eval(), (torch.randn(5),), tmp_path / "m.onnx", mappings=mapping, verify=True)
    assert not (tmp_path / "m.onnx").exists()


def test_random_results_are_not_compared() -> None:
    class Noise(nn.Module):
        def forward(self, x):
            return x + torch.rand_like(x)

    with pytest.warns(UserWarning, match="not verified: the results of the model are random"):
        program = aten2onnx.export(Noise().eval(), (torch.zeros(8),), verify=True)
    assert program.report.verification is None
    assert "Not verified" in program.report.notes[0]


def test_dropout_outside_of_training_is_compared() -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)).eval()
    assert aten2onnx.export(net, (torch.randn(2, 4),), verify=True).report.verification


def test_verify_does_not_change_buffers() -> None:
    class Counts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(1))

        def forward(self, x):
            self.count += 1
            return x * self.count

    net = Counts().eval()
    program = aten2onnx.export(net, (torch.ones(2),), verify=True)
    program.verify()
    assert net.count.item() == 0


def test_other_inputs_and_tolerances() -> None:
    program = aten2onnx.export(NET.eval(), (torch.randn(2, 4),), dynamic_shapes=({0: "batch"},))
    program.verify((torch.randn(7, 4),))
    program.verify((torch.randn(7, 4),), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize(
    ("wanted", "got", "ok"),
    [
        (torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.00001]), True),
        (torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.1]), False),
        (torch.tensor([float("nan"), float("inf")]), torch.tensor([float("nan"), float("inf")]), True),
        (torch.tensor([float("nan"), 1.0]), torch.tensor([0.0, 1.0]), False),
        (torch.tensor([float("inf")]), torch.tensor([-float("inf")]), False),
        (torch.tensor([1, 2]), torch.tensor([1, 3]), False),
        (torch.tensor([True]), torch.tensor([False]), False),
        (torch.tensor([1, 2]), torch.tensor([1, 2], dtype=torch.int32), False),
        (torch.zeros(2), torch.zeros(1, 2), False),
        (torch.zeros(0), torch.zeros(0), True),
        (torch.tensor([1.0], dtype=torch.float16), torch.tensor([1.01], dtype=torch.float16), True),
        (torch.tensor([1.0], dtype=torch.float64), torch.tensor([1.0001], dtype=torch.float64), False),
        (torch.tensor([1 + 2j]), torch.tensor([[1.0, 2.0]]), True),
        (3, torch.tensor(3), True),
    ],
)
def test_tolerances_depend_on_the_dtype(wanted, got, ok) -> None:
    assert compare(wanted, got, None, None)["ok"] is ok
