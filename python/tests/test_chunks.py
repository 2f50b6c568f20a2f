"""`chunk` and `tensor_split` of dynamic dimensions, whose number of pieces follows from the size, held against PyTorch."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import aten2onnx
from aten2onnx._record.chunks import count_of_chunks

ROWS = {"x": {0: "n"}}


class Sums(nn.Module):
    def forward(self, x):
        return torch.stack([piece.sum(0) for piece in x.chunk(4)])


class SumsOfSome(nn.Module):
    """As many chunks as half of the rows say."""

    def forward(self, x):
        return torch.stack([piece.sum(0) for piece in torch.chunk(x, x.shape[0] // 2 + 1)])


class Sections(nn.Module):
    def forward(self, x):
        return torch.stack([piece.sum(0) for piece in torch.tensor_split(x, x.shape[0] // 2 + 1)])


class Halves(nn.Module):
    def forward(self, x):
        one, two = x.chunk(2)
        return one.sum(0) * two.sum(0)


class Joined(nn.Module):
    def forward(self, x):
        pieces = x.chunk(2)
        return torch.stack([piece.sum(0) for piece in pieces])


class Last(nn.Module):
    def forward(self, x):
        return x.chunk(4)[-1]


@pytest.mark.parametrize("asked", range(1, 9))
def test_the_number_of_chunks(asked):
    for whole in range(80):
        assert count_of_chunks(whole, asked) == len(torch.empty(whole).chunk(asked)), (whole, asked)


def _check(model, program, sizes):
    for n in sizes:
        x = torch.randn(n, 3)
        torch.testing.assert_close(torch.as_tensor(program(x)[0]), model(x), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", (Sums, SumsOfSome, Sections))
def test_loops_over_pieces(kind, tmp_path):
    model = kind().eval()
    program = aten2onnx.export(model, (torch.randn(8, 3),), tmp_path / "model.onnx", dynamic_shapes=ROWS, capture="record")
    assert program.report.operators["Loop"] == 1 and not program.report.conditions
    _check(model, program, (1, 2, 3, 4, 5, 6, 7, 9, 13, 16))


def test_pieces_that_have_names_need_no_condition(tmp_path):
    """PyTorch raises an error where there is one piece only."""
    model = Halves().eval()
    program = aten2onnx.export(model, (torch.randn(8, 3),), tmp_path / "model.onnx", dynamic_shapes=ROWS, capture="record")
    assert not program.report.conditions
    _check(model, program, (2, 3, 5, 8))


def test_a_half_that_is_not_there_at_one(tmp_path):
    model = Joined().eval()
    program = aten2onnx.export(model, (torch.randn(8, 3),), tmp_path / "model.onnx", dynamic_shapes=ROWS, capture="record")
    assert program.report.conditions == ["n >= 2"]
    _check(model, program, (2, 3, 5, 8))


def test_the_last_chunk_of_a_size_that_decides_its_place(tmp_path):
    """At 5 rows, the last of 4 chunks is the third."""
    with pytest.raises(aten2onnx.CaptureError) as error:
        aten2onnx.export(Last().eval(), (torch.randn(8, 3),), tmp_path / "model.onnx", dynamic_shapes=ROWS, capture="record")
    assert "x.chunk(4)[-1]" in str(error.value)
    model = Last().eval()
    program = aten2onnx.export(model, (torch.randn(15, 3),), tmp_path / "model.onnx", dynamic_shapes={"x": {0: torch.export.Dim("n", min=12)}}, capture="record")
    _check(model, program, (12, 13, 14, 17, 30))


def test_multiples_have_all_chunks(tmp_path):
    model = Last().eval()
    program = aten2onnx.export(model, (torch.randn(8, 3),), tmp_path / "model.onnx", dynamic_shapes={"x": {0: 4 * torch.export.Dim("n")}}, capture="record")
    assert not program.report.conditions
    _check(model, program, (4, 8, 20))
