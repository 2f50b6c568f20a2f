"""`aten2onnx.export` accepts the arguments of `torch.onnx.export`, and its models return PyTorch's results."""

from __future__ import annotations

import inspect
import io
import typing
from pathlib import Path

import aten2onnx
import numpy
import onnx
import pytest
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor, scale: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = self.linear(x) * scale
        return y, y.softmax(-1)


@pytest.fixture
def net() -> nn.Module:
    return Net().eval()


@pytest.fixture
def args() -> tuple[torch.Tensor, ...]:
    return torch.randn(2, 4), torch.randn(2, 3)


def same(found, expected) -> None:
    assert len(found) == len(expected)
    for got, wanted in zip(found, expected):
        torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-5)


def dims(value) -> list[int | str]:
    return [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]


def test_all_arguments_of_torch_are_known() -> None:
    from aten2onnx import _others

    ours = {*inspect.signature(aten2onnx.export).parameters, *_others.IGNORED, *_others.REFUSED}
    assert set(inspect.signature(torch.onnx.export).parameters) <= ours


@pytest.mark.parametrize("opset", [9, 11, 13, 18, 23, 26])
def test_the_model_has_the_given_opset(net, args, opset, tmp_path) -> None:
    path = tmp_path / "net.onnx"
    program = aten2onnx.export(net, args, path, opset_version=opset)
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    assert [(entry.domain, entry.version) for entry in model.opset_import] == [("", opset)]
    assert program.report.opset == opset
    assert program.report.files == [{"path": str(path), "bytes": path.stat().st_size}]
    same(program(*args), net(*args))


def test_none_is_the_default_opset(net, args) -> None:
    assert aten2onnx.export(net, args).report.opset == aten2onnx.DEFAULT_OPSET == 18


def test_module_program_and_file_give_the_same_bytes(net, args, tmp_path) -> None:
    exported = torch.export.export(net, args)
    torch.export.save(exported, tmp_path / "net.pt2")
    from_module = aten2onnx.export(net, args).model_bytes
    assert aten2onnx.export(exported).model_bytes == from_module
    assert aten2onnx.export(tmp_path / "net.pt2").model_bytes == from_module


def test_keyword_inputs_have_a_fixed_order(net, args) -> None:
    program = aten2onnx.export(net, kwargs={"scale": args[1], "x": args[0]})
    same(program(scale=args[1], x=args[0]), net(*args))
    same(program(x=args[0], scale=args[1]), net(*args))
    program = aten2onnx.export(net, (args[0], {"scale": args[1]}))  # as the older exporter took them
    same(program(args[0], scale=args[1]), net(*args))
    with pytest.raises(aten2onnx.Error, match="expected 2 inputs as in the export, found 1"):
        aten2onnx.export(net, args)(args[0])


def test_names_are_assigned_in_order(net, args) -> None:
    model = aten2onnx.export(net, args, input_names=["a", "b"], output_names=["y"]).model_proto
    assert [value.name for value in model.graph.input] == ["a", "b"]
    assert model.graph.output[0].name == "y"
    with pytest.raises(aten2onnx.UnsupportedError, match="more names than inputs"):
        aten2onnx.export(net, args, input_names=["a", "b", "c"])


@pytest.mark.parametrize(
    "options",
    [
        {"dynamic_shapes": {"x": {0: "batch"}, "scale": {0: "batch"}}},
        {"dynamic_shapes": ({0: "batch"}, ("batch", None))},
        {"dynamic_shapes": {"x": {0: torch.export.Dim("batch")}, "scale": {0: torch.export.Dim("batch")}}},
        {"dynamic_axes": {"x": {0: "batch"}, "scale": {0: "batch"}, "linear": [0]}, "output_names": ["linear"]},
        {"dynamic_axes": {"a": {-2: "batch"}, "b": {0: "batch"}}, "input_names": ["a", "b"]},
    ],
    ids=["strings", "positions", "Dim", "axes", "axes of named inputs"],
)
@pytest.mark.parametrize("batch", [1, 2])
def test_dynamic_dimensions(net, options, batch) -> None:
    x, scale = torch.randn(batch, 4), torch.randn(batch, 3)
    program = aten2onnx.export(net, (x, scale), **options)
    assert [dims(value) for value in program.model_proto.graph.input] == [["batch", 4], ["batch", 3]]
    assert dims(program.model_proto.graph.output[0]) == ["batch", 3]
    other = torch.randn(5, 4), torch.randn(5, 3)
    same(program(*other), net(*other))


def test_a_list_of_dynamic_axes_gets_generated_names(net, args) -> None:
    with pytest.warns(UserWarning, match="always equal"):
        program = aten2onnx.export(net, args, dynamic_axes={"x": [0], "scale": [0]})
    assert dims(program.model_proto.graph.input[0]) == ["x_dynamic_axes_1", 4]


def test_dynamic_axes_of_an_unknown_input(net, args) -> None:
    with pytest.raises(ValueError, match="no input or output `z`; the inputs are `x`, `scale`"):
        aten2onnx.export(net, args, dynamic_axes={"z": [0]})


def test_a_dimension_that_cannot_be_dynamic_is_an_error(net, args) -> None:
    with pytest.raises(aten2onnx.CaptureError) as caught:
        aten2onnx.export(net, args, dynamic_shapes={"x": {1: "width"}, "scale": None})
    assert "leave it out of `dynamic_shapes`" in caught.value.help


def test_one_name_for_two_dimensions_makes_them_equal() -> None:
    class Both(nn.Module):
        def forward(self, x, y):
            return x.sum(), y.sum()

    args = torch.randn(3, 2), torch.randn(3, 2)
    program = aten2onnx.export(Both().eval(), args, dynamic_shapes={"x": {0: "n"}, "y": {0: "n"}})
    assert [dims(value)[0] for value in program.model_proto.graph.input] == ["n", "n"]
    # Sizes that differ in the example cannot be equal: the second keeps the name that torch.export gave it.
    with pytest.warns(UserWarning, match="two dimensions named `n` may differ"):
        program = aten2onnx.export(Both().eval(), (args[0], torch.randn(4, 2)), dynamic_shapes={"x": {0: "n"}, "y": {0: "n"}})
    first, second = (dims(value)[0] for value in program.model_proto.graph.input)
    assert first == "n" and second != "n"


def test_nested_inputs_and_constants() -> None:
    class Nested(nn.Module):
        def forward(self, pair, table, flag: bool, skip=None):
            return (pair[0] + pair[1]) * (table["scale"] if flag else 1)

    args = ((torch.randn(2), torch.randn(2)), {"scale": torch.randn(2)}, True)
    net = Nested().eval()
    program = aten2onnx.export(net, args)
    assert len(program.report.inputs) == 3
    same(program(*args), [net(*args)])


def test_a_target_chooses_the_opset(net, args) -> None:
    assert aten2onnx.export(net, args, target="tensorrt-8.6").report.opset == 17
    with pytest.raises(aten2onnx.UnsupportedError, match="tensorrt-8.6 does not support opset 23"):
        aten2onnx.export(net, args, target="tensorrt-8.6", opset_version=23)
    with pytest.raises(aten2onnx.UnsupportedError, match="unknown target `tensort`"):
        aten2onnx.export(net, args, target="tensort")


def test_symbolic_sizes_become_numbers(mobilenet) -> None:
    def batch(program):
        return program.model_proto.graph.input[0].type.tensor_type.shape.dim[0]

    assert batch(aten2onnx.export(mobilenet)).dim_param == "s77"
    assert batch(aten2onnx.export(mobilenet, static={"s77": 3})).dim_value == 3
    assert batch(aten2onnx.export(mobilenet, static=True)).dim_value > 0
    with pytest.raises(aten2onnx.UnsupportedError, match="no dimension `s1`"):
        aten2onnx.export(mobilenet, static={"s1": 3})


def test_external_data(net, args, tmp_path) -> None:
    net.linear = nn.Linear(4, 3000)
    net.forward = lambda x, scale: net.linear(x)
    for choice, there in [(True, True), ("always", True), (False, False), ("never", False), ("auto", False)]:
        path = tmp_path / f"{choice}.onnx"
        program = aten2onnx.export(net, args, path, external_data=choice)
        assert (tmp_path / f"{choice}.onnx.data").exists() == there, choice
        assert len(program.report.files) == 1 + there
        onnx.checker.check_model(str(path))
    program.save(tmp_path / "again.onnx", external_data=True)
    assert (tmp_path / "again.onnx.data").exists()
    same(program(*args), [net(*args)])


def test_files_that_are_not_paths(net, args) -> None:
    buffer = io.BytesIO()
    program = aten2onnx.export(net, args, buffer)
    assert buffer.getvalue() == program.model_bytes


def test_a_program_of_a_package_is_chosen_by_name() -> None:
    package = Path(__file__).parents[2] / "tests/data/pt2/multi_model.pt2"
    with pytest.raises(aten2onnx.InputError, match="choose one of `dec/er`, `enc`"):
        aten2onnx.export(package)
    sizes = [aten2onnx.export(package, model_name=name).model_proto.graph.initializer[0].dims for name in ("enc", "dec/er")]
    assert sizes[0] != sizes[1]


def test_outputs_may_be_named_tuples_of_any_class() -> None:
    class Pair(typing.NamedTuple):
        values: torch.Tensor
        places: torch.Tensor

    class Largest(nn.Module):
        def forward(self, x):
            return Pair(x * 2, x + 1), torch.max(x, 1)

    program = aten2onnx.export(Largest().eval(), (torch.randn(3, 4),), verify=True)
    assert len(program.model_proto.graph.output) == 4


def test_a_pt2_file_runs_on_arrays(mobilenet) -> None:
    program = aten2onnx.export(mobilenet)
    stored = numpy.load(mobilenet.with_name("mobilenet_like.inputs.npz"))
    expected = numpy.load(mobilenet.with_name("mobilenet_like.expected.npz"))
    found = program(stored["x3"])
    numpy.testing.assert_allclose(found[0], expected["y3"], rtol=1e-3, atol=1e-4)
    assert isinstance(found[0], numpy.ndarray)
    assert program.exported_program is None


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.int32, torch.uint8, torch.bool])
def test_element_types_of_inputs_and_outputs(dtype) -> None:
    class Widened(nn.Module):
        def forward(self, x):
            return x.to(torch.float32).abs().to(dtype)

    x = torch.randn(2, 4).abs().to(dtype)
    found = aten2onnx.export(Widened().eval(), (x,), verify=True)(x)
    assert found[0].dtype == dtype
    assert torch.equal(found[0], x)


def test_a_trailing_dictionary_is_keywords_or_an_argument() -> None:
    class Scaled(nn.Module):
        def forward(self, x, scale=1.0):
            return x["a"] * scale if isinstance(x, dict) else x * scale

    x = torch.ones(2)
    assert torch.equal(aten2onnx.export(Scaled().eval(), (x, {"scale": x * 3}))(x, scale=x * 3)[0], x * 3)
    assert torch.equal(aten2onnx.export(Scaled().eval(), ({"a": x},))({"a": x})[0], x)


def test_an_opset_that_the_runtime_does_not_support(net, args) -> None:
    program = aten2onnx.export(net, args, opset_version=aten2onnx.MAX_OPSET)
    with pytest.raises(aten2onnx.UnsupportedError, match=f"ONNX Runtime .* cannot run this model: .*{aten2onnx.MAX_OPSET}"):
        program(*args)


def test_training_mode_causes_a_warning(args) -> None:
    with pytest.warns(UserWarning, match="training mode"):
        aten2onnx.export(Net(), args)


def test_is_in_onnx_export() -> None:
    class Asks(nn.Module):
        def forward(self, x):
            return x + 1 if torch.onnx.is_in_onnx_export() else x - 1

    assert aten2onnx.export(Asks().eval(), (torch.zeros(1),))(torch.zeros(1))[0].item() == 1
    assert not torch.onnx.is_in_onnx_export()


def test_wrapped_modules(net, args) -> None:
    same(aten2onnx.export(torch.compile(net), args)(*args), net(*args))
    same(aten2onnx.export(nn.DataParallel(net).eval(), args)(*args), net(*args))
    with pytest.raises(aten2onnx.InputError, match="cannot export an object of type `int`"):
        aten2onnx.export(7)


def test_the_session_can_be_replaced_and_released(net, args) -> None:
    program = aten2onnx.export(net, args)
    program.initialize_inference_session(providers=["CPUExecutionProvider"])
    same(program(*args), net(*args))
    program.release()
    same(program(*args), net(*args))
