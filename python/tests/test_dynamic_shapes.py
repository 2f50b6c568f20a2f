"""`dynamic_shapes`: what is wrong in it is named, names become dimensions of the file, and conditions on sizes are told."""

from __future__ import annotations

import warnings

import pytest
import torch
from torch import nn
from torch.export import Dim

import aten2onnx


def dims(value) -> list:
    return [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]


class Two(nn.Module):
    def forward(self, x, y=None, **more):
        return x * 2 if y is None else (x * 2, y + 1)


class Nested(nn.Module):
    def forward(self, table, pair, n: int):
        return table["a"] + 1, pair[0] * n, pair[1]


FOUR = (torch.randn(2, 3, 4, 5),)
NESTED = ({"a": torch.randn(2, 3)}, [torch.randn(4), torch.randn(5, 6)], 3)


@pytest.mark.parametrize(
    ("args", "shapes", "message"),
    [
        (FOUR, {"x": {7: "n"}}, r"dynamic_shapes\['x'\]: there is no axis 7\nhelp: the tensor has 4 dimensions"),
        (FOUR, {"x": {-1: "n"}}, r"\['x'\]: the axis -1 is counted from the end\nhelp: write 3"),
        (FOUR, {"x": {-5: "n"}}, r"\['x'\]: there is no axis -5"),
        (FOUR, {"x": {True: "n"}}, r"\['x'\]: True is no axis"),
        (FOUR, {"x": {"0": "n"}}, r"\['x'\]: '0' is no axis"),
        (FOUR, {"x": {0: True}}, r"\['x'\]\[0\]: True is no size"),
        (FOUR, {"x": {0: 1.5}}, r"\['x'\]\[0\]: 1.5 is no size"),
        (FOUR, {"x": {0: "batch size"}}, r"\['x'\]\[0\]: 'batch size' is no name for a dimension"),
        (FOUR, {"x": {0: 7}}, r"\['x'\]\[0\]: the constant size 7 is not that of the example, which is 2"),
        (FOUR, {"x": "n"}, r"\['x'\]: 'n' for a tensor"),
        (FOUR, {"x": True}, r"\['x'\]: True for a tensor"),
        (FOUR, {"x": ["n", None]}, r"\['x'\]: 2 sizes for a tensor of 4 dimensions"),
        (FOUR, {"z": {0: "n"}}, r"dynamic_shapes: the call has no argument 'z'\nhelp: its arguments are 'x'"),
        (FOUR, [None, None], r"dynamic_shapes: 2 entries for 1 argument"),
        (FOUR, 7, r"dynamic_shapes: 7 is neither a dictionary nor a sequence"),
        (FOUR * 2, {"x": {0: "n"}}, r"dynamic_shapes: the argument 'y' is missing\nhelp: add `'y': None`"),
        (NESTED, {"table": {"b": None}, "pair": None, "n": None}, r"\['table'\]: the argument has no key 'b'"),
        (NESTED, {"table": {}, "pair": None, "n": None}, r"\['table'\]: the key 'a' is missing"),
        (NESTED, {"table": {"a": {2: "n"}}, "pair": None, "n": None}, r"\['table'\]\['a'\]: there is no axis 2"),
        (NESTED, {"table": None, "pair": [None], "n": None}, r"\['pair'\]: 1 entry for a sequence of 2"),
        (NESTED, {"table": None, "pair": [None, {5: "n"}], "n": None}, r"\['pair'\]\[1\]: there is no axis 5"),
        (NESTED, {"table": None, "pair": None, "n": 1.5}, r"\['n'\]: 1.5 is no size"),
    ],
)
def test_a_wrong_entry_is_named(args, shapes, message) -> None:
    net = Nested().eval() if args is NESTED else Two().eval()
    with pytest.raises(aten2onnx.InputError, match=message):
        aten2onnx.export(net, args, dynamic_shapes=shapes)
    program = torch.export.export(net, args)
    with pytest.raises(aten2onnx.InputError, match=message):
        aten2onnx.export(program, dynamic_shapes=shapes)


def test_dynamic_axes_that_do_not_exist_are_named() -> None:
    with pytest.raises(aten2onnx.InputError, match=r"dynamic_axes\['x'\]: there is no axis 4"):
        aten2onnx.export(Two().eval(), FOUR, dynamic_axes={"x": {4: "n"}})


def test_right_entries_are_taken() -> None:
    net = Nested().eval()
    for shapes in (
        {"table": {"a": {0: "h", 1: Dim.AUTO}}, "pair": [{0: Dim("k")}, None], "n": Dim.DYNAMIC},
        ({"a": ["h", 3]}, [None, (None, "w")], None),
        {"table": None, "pair": None, "n": None},
    ):
        assert aten2onnx.export(net, NESTED, dynamic_shapes=shapes).report.opset == 18
    program = aten2onnx.export(net, NESTED, dynamic_shapes={"table": None, "pair": None, "n": Dim.DYNAMIC})
    assert program(NESTED[0], NESTED[1], 5)[1].allclose(NESTED[1][0] * 5)


def test_a_derived_dimension_keeps_its_name() -> None:
    class Split(nn.Module):
        def forward(self, x):
            return x.unflatten(1, (-1, 4)).sum(2)

    shapes = {"x": {0: "b", 1: 4 * Dim("w", min=1, max=100)}}
    program = aten2onnx.export(Split().eval(), (torch.randn(2, 24),), dynamic_shapes=shapes)
    assert dims(program.model_proto.graph.input[0]) == ["b", "4*w"]
    assert dims(program.model_proto.graph.output[0]) == ["b", "w"]


def test_one_name_on_two_inputs_is_one_dimension() -> None:
    args = (torch.randn(2, 3), torch.randn(2, 5))
    for name in ("b", Dim("b")):
        graph = aten2onnx.export(Two().eval(), args, dynamic_shapes={"x": {0: name}, "y": {0: name}}).model_proto.graph
        assert [dims(value)[0] for value in [*graph.input, *graph.output]] == ["b"] * 4


def test_one_name_is_one_dimension_where_the_model_has_conditions_on_it() -> None:
    class Sum(nn.Module):
        def forward(self, x, y):
            return x.transpose(0, 1).reshape(-1).sum() + y.sum()

    args = (torch.randn(2, 3), torch.randn(2, 3))
    shapes = {"x": {0: "a"}, "y": {0: "a"}}
    program = aten2onnx.export(Sum().eval(), args, dynamic_shapes=shapes)
    assert [dims(value)[0] for value in program.model_proto.graph.input] == ["a", "a"]
    fixed = aten2onnx.export(Sum().eval(), args, dynamic_shapes=shapes, static={"a": 4})
    assert [dims(value)[0] for value in fixed.model_proto.graph.input] == [4, 4]


class Branch(nn.Module):
    def forward(self, x, pair):
        x = x * 2 if x.shape[0] < 8 else x * 3
        x = x + 1 if (x.shape[1] * pair[0].shape[0]) % 4 == 0 else x - 1
        return x, pair[0] - 1 if pair[0].shape[0] > pair[1].shape[0] else pair[0]


BRANCH = (torch.randn(5, 6), (torch.randn(4), torch.randn(3)))
SHAPES = {"x": {0: "n", 1: "m"}, "pair": ({0: "h"}, {0: "w"})}
CONDITIONS = ["n <= 7", "(h*m) % 4 == 0", "h > w"]


def test_conditions_on_sizes_are_told_everywhere(tmp_path) -> None:
    with pytest.warns(UserWarning, match=r"right only where `n <= 7`; `\(h\*m\) % 4 == 0`; `h > w`"):
        program = aten2onnx.export(Branch().eval(), BRANCH, dynamic_shapes=SHAPES, branches="example")
    assert program.report.conditions == CONDITIONS
    assert "`h > w`" in program.report.notes[0] and "- `n <= 7`" in program.report.markdown()
    proto = program.model_proto
    assert {entry.key: entry.value for entry in proto.metadata_props}["aten2onnx.conditions"] == "\n".join(CONDITIONS)
    assert "n <= 7" in proto.graph.input[0].doc_string and "h > w" in proto.graph.input[2].doc_string
    assert "Right only where" in program.report.html()
    inspected = aten2onnx.inspect(Branch().eval(), BRANCH, dynamic_shapes=SHAPES, branches="example")
    assert len(inspected.conditions) == 3 and "Right only where" in str(inspected)
    program.save(tmp_path / "branch.onnx")
    with pytest.raises(aten2onnx.Error, match="not right for all sizes of") as caught:
        aten2onnx.export(Branch().eval(), BRANCH, dynamic_shapes=SHAPES, strict_shapes=True, branches="example")
    assert "h > w" in str(caught.value) and "strict_shapes" in str(caught.value)


@pytest.mark.parametrize("strict", [False, True])
def test_a_saved_program_says_the_same(tmp_path, strict) -> None:
    auto = {"x": {0: Dim.AUTO, 1: Dim.AUTO}, "pair": ({0: Dim.AUTO}, {0: Dim.AUTO})}
    exported = torch.export.export(Branch().eval(), BRANCH, dynamic_shapes=auto, strict=strict)
    path = tmp_path / "branch.pt2"
    torch.export.save(exported, path)
    told = []
    for model in (exported, path, torch.export.load(path), torch.export.load(path).run_decompositions({})):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            told.append(aten2onnx.export(model).report.conditions)
        assert told[-1] == [] or any("right only where" in str(warning.message) for warning in caught)
    # Three guards, and the sizes of at least 2 that PyTorch assumes of `Dim.AUTO`.
    assert len(told[0]) == 5 and told[0] == told[1] == told[2]


@pytest.mark.parametrize("strict", [False, True])
def test_a_program_of_an_older_pytorch_says_the_same(strict) -> None:
    """Up to 2.8 a program has no conditions of its own: those of its symbols are asked."""
    auto = {"x": {0: Dim.AUTO, 1: Dim.AUTO}, "pair": ({0: Dim.AUTO}, {0: Dim.AUTO})}
    exported = torch.export.export(Branch().eval(), BRANCH, dynamic_shapes=auto, strict=strict)
    told = aten2onnx.export(exported).report.conditions
    del exported._guards_code
    assert len(told) == 5 and aten2onnx.export(exported).report.conditions == told


def test_a_program_without_conditions_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program = aten2onnx.export(Two().eval(), FOUR, dynamic_shapes={"x": {0: "n"}}, strict_shapes=True)
    assert program.report.conditions == []
    assert [(entry.key, entry.value) for entry in program.model_proto.metadata_props] == [("aten2onnx.ranges", "n >= 1")]


class Example(nn.Module):
    """A model of a function."""

    def __init__(self, function) -> None:
        super().__init__()
        self.function, self.linear, self.conv = function, nn.Linear(4, 4), nn.Conv1d(4, 4, 3, padding=1)

    def forward(self, x, y=None):
        return self.function(self, x) if y is None else self.function(self, x, y)


ONES = {
    "linear": (lambda s, x: s.linear(x), [(1, 4)], [[(3, 4)]]),
    "conv": (lambda s, x: s.conv(x.transpose(1, 2)), [(1, 1, 4)], [[(3, 5, 4)]]),
    "attention": (lambda s, x: nn.functional.scaled_dot_product_attention(x, x, x), [(1, 1, 4)], [[(3, 5, 4)]]),
    "transposed": (lambda s, x: x.transpose(0, 1).reshape(-1, 4), [(1, 1, 4)], [[(3, 5, 4)]]),
    "resized": (lambda s, x: nn.functional.interpolate(x[:, None], scale_factor=2.0), [(1, 1, 4)], [[(3, 5, 4)]]),
    "centred": (lambda s, x: x - x.mean(0, keepdim=True), [(1, 4)], [[(3, 4)]]),
    "joined": (lambda s, x, y: torch.cat([x, y]), [(1, 4), (2, 4)], [[(3, 4), (5, 4)]]),
    "products": (lambda s, x, y: x @ y.transpose(-1, -2), [(1, 2, 4), (1, 3, 4)], [[(3, 2, 4), (3, 3, 4)]]),
    "outer": (lambda s, x, y: x[:, None] * y[None], [(1, 4), (1, 4)], [[(1, 4), (1, 4)]]),
}


@pytest.mark.parametrize("name", ONES)
def test_an_example_of_size_1_gives_a_file_for_other_sizes(name) -> None:
    function, sizes, others = ONES[name]
    net = Example(function).eval()
    args = tuple(torch.randn(size) for size in sizes)
    # What PyTorch finds equal in the example has one name.
    second = "m" if sizes[0][0] != sizes[-1][0] else "n"
    shapes = {"x": {axis: "nt"[axis] for axis in range(len(sizes[0]) - 1) if sizes[0][axis] == 1}}
    shapes |= {"y": {0: second}} if len(sizes) == 2 else {}
    program = aten2onnx.export(net, args, dynamic_shapes=shapes)
    program.verify()
    for example in others:
        values = tuple(torch.randn(size) for size in example)
        torch.testing.assert_close(program(*values)[0], net(*values), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("function", "sizes"),
    [
        (lambda s, x, y: torch.broadcast_tensors(x, y)[0], [(1, 3), (2, 3)]),
        (lambda s, x, y: x.expand_as(y), [(1, 3), (2, 3)]),
        (lambda s, x, y: x + y, [(1, 3), (2, 3)]),
        (lambda s, x, y: torch.where(x > 0, x, y), [(1, 3), (2, 3)]),
        (lambda s, x, y: x.squeeze(0) + y.sum(), [(1, 3), (2, 3)]),
        (lambda s, x, y: x.squeeze() + y.sum(), [(1, 3), (2, 3)]),
        (lambda s, x, y: (x * 2 if x.shape[0] == 1 else x) + y.sum(), [(1, 3), (2, 3)]),
        (lambda s, x, y: x.transpose(0, 1).reshape(-1) * (2 if x.shape[0] == 1 else 3) + y.sum(), [(1, 3), (2, 3)]),
    ],
)
def test_a_size_of_1_that_is_special_is_an_error(function, sizes) -> None:
    args = tuple(torch.randn(size) for size in sizes)
    with pytest.raises(aten2onnx.CaptureError) as caught:
        aten2onnx.export(Example(function).eval(), args, dynamic_shapes={"x": {0: "a"}, "y": {0: "b"}})
    assert "larger than 1" in caught.value.help and "leave the dimension out of `dynamic_shapes`" in caught.value.help
    # The ways out.
    larger = (torch.randn(2, 3), args[1])
    for example, shapes in ((larger, {"x": {0: "a"}, "y": {0: "a"}}), (args, {"x": None, "y": None})):
        program = aten2onnx.export(Example(function).eval(), example, dynamic_shapes=shapes, branches="example")
        torch.testing.assert_close(program(*example)[0], function(program, *example))
