"""Constants: those that a decomposition makes are kept, although PyTorch forgets them, and those that a run writes to are what they were before."""

from __future__ import annotations

import aten2onnx
import numpy as np
import onnx
import pytest
import torch
from aten2onnx import _constants


class Emulated(torch.nn.Module):
    """A linear layer with weights of 4 bits, which PyTorch emulates with tensors that it makes on the way."""

    def __init__(self) -> None:
        super().__init__()
        from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor

        self.linear = torch.nn.Linear(64, 32)
        weight = NVFP4Tensor.to_nvfp4(self.linear.weight.detach(), is_swizzled_scales=True)
        self.linear.weight = torch.nn.Parameter(weight, requires_grad=False)

    def forward(self, x):
        return self.linear(x)


def test_weights_of_four_bits_are_exported() -> None:
    model, x = Emulated().eval(), torch.randn(3, 64)
    program = aten2onnx.export(model, (x,), opset_version=21)
    difference = np.abs(program(x)[0].numpy() - model(x).detach().numpy()).max()
    assert difference < 1e-5
    weights = program.model_proto.graph.initializer
    assert [t.name for t in weights if t.data_type == onnx.TensorProto.FLOAT and np.prod(t.dims) >= 32 * 64] == []


def test_the_program_of_the_user_stays() -> None:
    exported = torch.export.export(Emulated().eval(), (torch.randn(3, 64),), strict=False)
    before = dict(exported.constants)
    decomposed = _constants.run_decompositions(exported, {})
    assert decomposed.constants.keys() > before.keys()
    assert exported.constants.keys() == before.keys()


def test_other_errors_are_passed_on() -> None:
    class Broken:
        def run_decompositions(self, table):
            raise ValueError("something else")

    with pytest.raises(ValueError, match="something else"):
        _constants.run_decompositions(Broken(), {})


def grown_table(x):
    table = torch.tensor([1, 2, 3])
    table += x.shape[0]
    return x.sum() + table


def row_of_table(x):
    table = torch.tensor([[0, 1], [-1, 0]])
    table[1] += torch.arange(1, 3)
    table[0].add_(x[0].long())
    return x[table[:, 1] % 2] + table.sum()


def table_of_numpy(x):
    table = torch.from_numpy(np.arange(6, dtype=np.float32))
    table.mul_(2).add_(x.mean())
    return table + x.sum()


@pytest.mark.parametrize("function", [grown_table, row_of_table, table_of_numpy])
@pytest.mark.parametrize("shapes", [None, "auto"])
def test_a_constant_that_is_written_to_is_what_it_was_before(function, shapes) -> None:
    class Model(torch.nn.Module):
        def forward(self, x):
            return function(x)

    program = aten2onnx.export(Model(), (torch.arange(8.0).reshape(4, 2),), capture="record", dynamic_shapes=shapes)
    for rows in (4,) if shapes is None else (4, 7):
        x = torch.randn(rows, 2)
        torch.testing.assert_close(program(x)[0], function(x))


class Seeded(torch.nn.Module):
    """Draws the same numbers in each call."""

    def forward(self, x):
        generator = torch.Generator().manual_seed(3)
        weight = torch.randn(4, 4, generator=generator)
        if x.sum() > 0:
            return x @ weight + torch.randperm(4, generator=generator)
        return x @ weight - torch.rand(4, generator=generator)


class Drawn(torch.nn.Module):
    def forward(self, x):
        return x[torch.randperm(x.shape[0], generator=torch.Generator().manual_seed(3))]


def test_what_a_generator_of_the_model_draws_is_a_constant() -> None:
    program = aten2onnx.export(Seeded(), (torch.ones(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")
    for x in (torch.randn(3, 4).abs(), -torch.randn(9, 4).abs()):
        torch.testing.assert_close(program(x)[0], Seeded()(x), atol=1e-5, rtol=1e-5)


def test_how_many_numbers_a_generator_of_the_model_draws_is_known() -> None:
    with pytest.raises(aten2onnx.CaptureError, match=r"(?s)a generator of its own.*test_constants\.py"):
        aten2onnx.export(Drawn(), (torch.ones(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")


class OwnGenerator(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.generator = torch.Generator().manual_seed(3)

    def forward(self, x):
        return x + torch.rand(2, generator=self.generator)


class Reseeded(OwnGenerator):
    def forward(self, x):
        self.generator.manual_seed(5)
        return super().forward(x)


def test_a_generator_of_a_module_stays_as_it_was() -> None:
    drawing, seeding = OwnGenerator(), Reseeded()
    before = drawing.generator.get_state()
    with pytest.raises(aten2onnx.CaptureError, match=r"(?s)not do the same when it runs again.*test_constants\.py"):
        aten2onnx.export(drawing, (torch.ones(3, 2),), dynamic_shapes={"x": {0: "n"}}, capture="record")
    program = aten2onnx.export(seeding, (torch.ones(3, 2),), dynamic_shapes={"x": {0: "n"}}, capture="record")
    assert torch.equal(drawing.generator.get_state(), before) and torch.equal(seeding.generator.get_state(), before)
    torch.testing.assert_close(program(torch.ones(7, 2))[0], seeding(torch.ones(7, 2)))
