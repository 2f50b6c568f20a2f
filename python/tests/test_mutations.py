"""Models that write to their buffers and inputs."""

from __future__ import annotations

import aten2onnx
import pytest
import torch
from torch import nn


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.ones(3))
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        self.seen.add_(x.sum(0))
        y = self.linear(x)
        x.mul_(2)
        return y + self.seen


ARGS = (torch.randn(2, 3),)

WRONG = """
map aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor {
    ignore(dim) "intentionally wrong";
    ignore(keepdim) "intentionally wrong";
    ignore(dtype) "intentionally wrong";
    ReduceMax(self, [0], keepdims_i = 0)
}
"""


def test_writes_are_dropped_with_a_note() -> None:
    program = aten2onnx.export(Counter().eval(), ARGS, verify=True)
    assert [name for name, _ in program.report.outputs] == ["add"]
    assert sum("`keep_mutations`" in note for note in program.report.notes) == 2


@pytest.mark.parametrize("decompose", [False, True])
def test_new_values_are_outputs(decompose) -> None:
    exported = torch.export.export(Counter().eval(), ARGS, dynamic_shapes=({0: torch.export.Dim("batch")},))
    if decompose:
        exported = exported.run_decompositions()
    program = aten2onnx.export(exported, keep_mutations=True, verify=True)
    assert [name for name, _ in program.report.inputs] == ["x", "seen"]
    assert [name for name, _ in program.report.outputs][1:] == ["seen_out", "x_out"]
    assert all(row["ok"] for row in program.report.verification["outputs"].values())
    assert len(program.report.verification["outputs"]) == 3
    x = torch.randn(4, 3)
    _, seen, doubled = program(x)
    torch.testing.assert_close(seen, 1 + x.sum(0))
    torch.testing.assert_close(doubled, 2 * x)


def test_verify_finds_a_wrong_new_value(tmp_path) -> None:
    mapping = tmp_path / "wrong.opmap"
    mapping.write_text(WRONG)
    with pytest.raises(aten2onnx.VerificationError, match="output `seen_out`"):
        aten2onnx.export(Counter().eval(), ARGS, keep_mutations=True, mappings=mapping, verify=True)


def test_assertions_are_listed() -> None:
    class Net(nn.Module):
        def forward(self, x):
            torch._assert_async((x > 0).all(), "positive")
            return x + 1

    program = aten2onnx.export(Net().eval(), (torch.ones(3),), keep_assertions=True)
    assert any("assert" in note for note in program.report.notes), program.report.notes
    assert not aten2onnx.export(Net().eval(), (torch.ones(3),)).report.notes


def test_a_place_that_only_the_run_knows_may_count_from_the_end() -> None:
    class Net(nn.Module):
        def forward(self, x, place):
            out = torch.zeros_like(x)
            at = place.item()
            out[-at].add_(x[0])
            out[at] = x[1]
            out[x.shape[0] // 2 - x.shape[0]] = x[2]
            return out, x.narrow(0, -(x.shape[0] // 2), 2)

    net = Net().eval()
    program = aten2onnx.export(net, (torch.randn(6, 3), torch.tensor(2)), dynamic_shapes=({0: "n"}, None))
    for size, place in ((4, 1), (5, -1), (6, 3), (9, -2)):
        args = (torch.randn(size, 3), torch.tensor(place))
        torch.testing.assert_close(tuple(program(*args)), net(*args))
