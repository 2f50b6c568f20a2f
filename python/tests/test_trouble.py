"""Common problems: the export works, or the error says what to do."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import aten2onnx
import pytest
import torch
from torch import nn

OPSETS = [9, 11, 13, 18, 23]


def exported(net: nn.Module, *args, **options) -> aten2onnx.ONNXProgram:
    return aten2onnx.export(net.eval(), args, verify=True, **options)


@pytest.mark.parametrize("opset", OPSETS)
def test_a_custom_layer_of_mm_and_relu(opset) -> None:
    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randn(4, 3))

        def forward(self, x):
            return torch.mm(x, self.weight).relu()

    program = exported(Layer(), torch.randn(2, 4), opset_version=opset)
    assert set(program.report.operators) <= {"MatMul", "Gemm", "Relu"}
    assert "weight" in [tensor.name for tensor in program.model_proto.graph.initializer]


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("dim", [1, -1, (1, 2), None])
def test_division_by_the_norm(opset, dim) -> None:
    class Normalise(nn.Module):
        def forward(self, x):
            return x / torch.norm(x, dim=dim, keepdim=True)

    exported(Normalise(), torch.randn(2, 3, 4), opset_version=opset)


def test_uint8_into_a_linear_layer_is_an_error_of_pytorch() -> None:
    net = nn.Sequential(nn.Flatten(), nn.Linear(4, 3)).eval()
    with pytest.raises(aten2onnx.CaptureError) as caught:
        aten2onnx.export(net, (torch.zeros(2, 4, dtype=torch.uint8),))
    error = caught.value
    assert "must have the same dtype, but got Byte and Float" in str(error)
    assert "convert them to the dtype of the weights" in error.help
    assert isinstance(error.cause, RuntimeError) and error.__cause__ is None


@pytest.mark.parametrize("opset", OPSETS)
def test_log1p_after_a_convolution(opset) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(3, 4, 3)

        def forward(self, x):
            return torch.log1p(self.conv(x).abs())

    exported(Net(), torch.randn(1, 3, 8, 8), opset_version=opset)


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("size", [1, (1, 1), (2, 3)])
def test_adaptive_pooling_and_view_with_everything_dynamic(opset, size) -> None:
    class Net(nn.Module):
        def forward(self, x):
            pooled = nn.functional.adaptive_avg_pool2d(x, size)
            return pooled.view(x.shape[0], -1)

    shapes = {"x": {0: "batch", 2: "height", 3: "width"}}
    program = exported(Net(), torch.randn(2, 3, 8, 12), opset_version=opset, dynamic_shapes=shapes)
    for batch, height, width in [(2, 8, 12), (1, 6, 6), (3, 10, 21)]:
        x = torch.randn(batch, 3, height, width)
        torch.testing.assert_close(program(x)[0], Net()(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("opset", OPSETS)
def test_half_precision_input(opset) -> None:
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.GELU(), nn.Flatten(), nn.Linear(144, 5)).half()
    program = exported(net, torch.randn(2, 3, 8, 8, dtype=torch.float16), opset_version=opset)
    assert program.report.inputs[0][1] == "float16[2, 3, 8, 8]"
    assert program.report.outputs[0][1] == "float16[2, 5]"


def test_half_into_a_float_layer_is_an_error_of_pytorch() -> None:
    with pytest.raises(aten2onnx.CaptureError, match="dtype"):
        aten2onnx.export(nn.Linear(4, 3).eval(), (torch.zeros(2, 4, dtype=torch.float16),))


def test_ints_into_a_linear_layer_are_an_error_of_pytorch() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 3)

        def forward(self, x):
            y = x + 1
            return self.linear(y)

    with pytest.raises(aten2onnx.CaptureError, match="same dtype, but got Long and Float") as caught:
        aten2onnx.export(Net().eval(), (torch.zeros(2, 4, dtype=torch.int64),))
    assert "in forward" in caught.value.source_line and "test_trouble.py" in caught.value.source_line


@pytest.mark.parametrize("opset", range(9, 27))
def test_elu_at_any_opset(opset) -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.ELU(), nn.ELU(alpha=0.3))
    program = exported(net, torch.randn(2, 4), opset_version=opset)
    assert program.model_proto.opset_import[0].version == opset


def test_an_opset_that_is_too_old() -> None:
    with pytest.raises(aten2onnx.UnsupportedError, match="opset 8 is too old") as caught:
        aten2onnx.export(nn.ReLU().eval(), (torch.zeros(1),), opset_version=8)
    assert str(aten2onnx.MIN_OPSET) in caught.value.help and str(aten2onnx.MAX_OPSET) in caught.value.help


def test_an_error_in_the_model_names_its_line() -> None:
    class Wrong(nn.Module):
        def forward(self, x):
            return x.reshape(7, 7)

    with pytest.raises(aten2onnx.CaptureError) as caught:
        aten2onnx.export(Wrong().eval(), (torch.zeros(4),))
    assert "test_trouble.py" in caught.value.source_line and "in forward" in caught.value.source_line


def test_an_unknown_problem_says_what_to_try() -> None:
    class Wrong(nn.Module):
        def forward(self, x):
            return x.reshape(7, 7)

    with pytest.raises(aten2onnx.CaptureError) as caught:
        aten2onnx.export(Wrong().eval(), (torch.zeros(4),))
    assert "call the model with these inputs" in caught.value.help and "dynamic_shapes" in caught.value.help


class Converts(nn.Module):
    def __init__(self, dtype):
        super().__init__()
        self.router, self.dtype = nn.Linear(3, 3), dtype

    def forward(self, x):
        self.router = self.router.to(self.dtype)
        return self.router(x)


def test_a_module_that_converts_what_needs_no_conversion() -> None:
    to = nn.Module.to
    exported(Converts(torch.float32), torch.randn(2, 3))
    assert nn.Module.to is to


def test_a_module_that_converts_itself_says_what_to_do() -> None:
    with pytest.raises(aten2onnx.Error) as caught:
        aten2onnx.export(Converts(torch.float64).eval(), (torch.zeros(2, 3, dtype=torch.float64),))
    assert caught.value.help is not None and "test_trouble.py" in caught.value.source_line


def test_a_random_generator_with_a_dynamic_size_says_what_to_do() -> None:
    class Draws(nn.Module):
        def forward(self, x):
            return x + torch.randn((x.shape[0], 3), generator=None, dtype=x.dtype, device=x.device)

    with pytest.raises(aten2onnx.CaptureError, match="concrete integers") as caught:
        aten2onnx.export(Draws().eval(), (torch.zeros(4, 3),), dynamic_shapes={"x": {0: "rows"}}, capture="export")
    assert "pass its result as an input" in caught.value.help
    program = aten2onnx.export(Draws().eval(), (torch.zeros(4, 3),), dynamic_shapes={"x": {0: "rows"}})
    assert program(torch.zeros(7, 3))[0].shape == (7, 3)


def test_the_line_is_that_of_the_model_and_not_of_a_patch() -> None:
    file = Path(sysconfig.get_path("purelib")) / "transformers/exporters/exporter_dynamo.py"
    scope: dict = {}
    exec(compile("def patch(x):\n    return x.reshape(7, 7)\n", str(file), "exec"), scope)

    class Wrong(nn.Module):
        def forward(self, x):
            return scope["patch"](x)

    with pytest.raises(aten2onnx.CaptureError) as caught:
        aten2onnx.export(Wrong().eval(), (torch.zeros(4),))
    assert "test_trouble.py" in caught.value.source_line


def test_data_dependent_control_flow_says_what_to_do() -> None:
    class Branches(nn.Module):
        def forward(self, x):
            return x + 1 if x.sum() > 0 else x - 1

    with pytest.raises(aten2onnx.CaptureError) as caught:
        aten2onnx.export(Branches().eval(), (torch.ones(4),), branches="refuse")
    assert "depends on the elements of a tensor: `return x + 1 if x.sum() > 0 else x - 1`" in caught.value.message
    assert "torch.cond" in caught.value.help and "test_trouble.py" in caught.value.source_line
    with pytest.raises(aten2onnx.CaptureError) as caught:
        aten2onnx.export(Branches().eval(), (torch.ones(4),), capture="export")
    assert "Could not guard on data-dependent expression" in caught.value.message
    assert "torch.cond" in caught.value.help and "TORCH" not in str(caught.value)
    assert "test_trouble.py" in caught.value.source_line


def test_batch_norm_in_training_mode() -> None:
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)).train()
    before = net[1].running_mean.clone()
    with pytest.warns(UserWarning, match="training mode"):
        program = aten2onnx.export(net, (torch.randn(2, 3, 8, 8),), verify=True)
    assert any("running_mean" in note for note in program.report.notes), program.report.notes
    with pytest.warns(UserWarning, match="training mode"):
        kept = aten2onnx.export(net, (torch.randn(2, 3, 8, 8),), verify=True, keep_mutations=True)
    assert {"1.running_mean_out", "1.running_var_out"} < {name for name, _ in kept.report.outputs}
    assert torch.equal(before, net[1].running_mean), "exporting must not train"


class Saved(torch.nn.Module):
    def forward(self, x):
        return x


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (lambda: torch.nn.Linear(2, 2).state_dict(), ["a state dict of 2 tensors", "load_state_dict(torch.load("]),
        (lambda: {"net": torch.nn.Linear(2, 2).state_dict(), "epoch": 3}, ["the keys `net`, `epoch`", '["net"])']),
        (lambda: Saved(), ["an object of the class", "Saved", "weights_only=False"]),
        (lambda: torch.ones(2), ["it has a tensor"]),
    ],
    ids=["state dict", "checkpoint", "module", "tensor"],
)
def test_files_of_torch_save_are_answered_with_a_line_of_python(content, wanted, tmp_path):
    path = tmp_path / "saved.pt"
    torch.save(content(), path)
    for call in (aten2onnx.export, lambda path: aten2onnx.inspect(path)):
        with pytest.raises(aten2onnx.Error) as caught:
            call(str(path))
        for text in [*wanted, "torch.export.save"]:
            assert text in str(caught.value)
