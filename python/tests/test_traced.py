"""A program whose FX graph is read gives the same model as what PyTorch's serializer writes of it."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import aten2onnx
import pytest
import torch
from aten2onnx import _live
from aten2onnx._support import rules
from tiers import one_in
from torch import nn
from torch._export.wrappers import allow_in_pre_dispatch_graph
from torch.export import Dim

REPOSITORY = Path(__file__).resolve().parents[2]
OPTIONS = {"output": {"opset": 21}, "provenance": "full", "keep_mutations": True, "keep_assertions": True}
THEMES = ["control_flow", "symbolic", "mutations", "signature", "dtypes", "vectors"]


class Serialized:
    """In place of the native class: does not read graphs."""

    live = staticmethod(_live.Program.live)

    @staticmethod
    def traced(*_: Any) -> Any:
        raise NotImplementedError("not here")


def result(exported: Any) -> tuple[str, Any]:
    """The model and a description of the program, or the error."""
    try:
        native = _live.LiveProgram(exported, "net").native
        return native.inspect(rules(()))[0], native.export(rules(()), json.dumps(OPTIONS)).serialized()
    except aten2onnx.Error as error:
        return str(error), None


def both(exported: Any, monkeypatch: pytest.MonkeyPatch, *, reads: bool = True) -> tuple[str, Any]:
    """The result of both ways, which is the same. With `reads`, the graph must be read without the serializer."""
    asked = []
    document = _live._serialized.document

    def noted(exported: Any) -> bytes:
        asked.append(exported)
        return document(exported)

    monkeypatch.setattr(_live._serialized, "document", noted)
    found = result(exported)
    assert bool(asked) is not reads, "PyTorch's serializer was asked" if asked else "the serializer was not asked"
    with monkeypatch.context() as patched:
        patched.setattr(_live, "Program", Serialized)
        assert result(exported) == found
    return found


def module(path: str) -> Any:
    """A module of the tests of the whole. PyTorch imports it by its name when it reads code."""
    file = REPOSITORY / path
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))
    return importlib.import_module(file.stem)


# Their programs are no programs of PyTorch 2.13 alone: archives of several, and one of a tensor subclass.
OTHERS = {"multi_model", "pickled_weight"}


def samples() -> Iterator[Any]:
    for name, make in module("tests/data/pt2/make.py").SAMPLES.items():
        if name not in OTHERS:
            yield pytest.param(make, id=name)


@pytest.mark.parametrize("make", [*samples()])
def test_the_sample_archives(make, monkeypatch) -> None:
    both(make(), monkeypatch)


def zoo() -> Iterator[Any]:
    for make in module("tests/models/zoo.py").MODELS:
        yield pytest.param(make, id=make.__name__)


@pytest.mark.parametrize("make", one_in(3, [*zoo()]))
def test_whole_models(make, monkeypatch) -> None:
    net, args, _, shapes = make()
    _, model = both(torch.export.export(net.eval(), args, dynamic_shapes=shapes), monkeypatch)
    assert model is not None


def cases() -> Iterator[Any]:
    for theme in THEMES:
        for name, build in module(f"tests/dialect/{theme}.py").cases():
            if name.endswith("_decomposed"):
                continue  # the same program in other words
            yield pytest.param(build, id=f"{theme}-{name}")


# The end-to-end tests take each sixth, from the first one on.
@pytest.mark.parametrize("build", one_in(6, [*cases()], 3))
def test_programs_of_the_dialect(build, monkeypatch) -> None:
    case = build()
    torch.set_default_dtype(case.default)
    try:
        with torch.no_grad():
            exported = torch.export.export(case.module, case.inputs, case.kwargs, dynamic_shapes=case.shapes, strict=case.strict)
            exported = exported.run_decompositions({}) if case.decomposed else exported
        both(exported, monkeypatch)
    finally:
        torch.set_default_dtype(torch.float32)


class Function(nn.Module):
    """A module that calls a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function
        self.linear = nn.Linear(3, 3)
        self.register_buffer("steps", torch.zeros(3))
        self.register_buffer("table", torch.arange(3.0), persistent=False)

    def forward(self, *args: Any) -> Any:
        return self.function(self, *args)


@torch.library.custom_op(
    "aten2onnx_traced::scaled",
    mutates_args=(),
    schema="(Tensor x, float[] factors, str[] names, str mode='sum', Tensor? other=None, bool flag=False) -> Tensor",
)
def scaled(x, factors, names, mode="sum", other=None, flag=False):
    return x * sum(factors)


@scaled.register_fake
def _(x, factors, names, mode="sum", other=None, flag=False):
    return torch.empty_like(x)


@torch.library.custom_op("aten2onnx_traced::several", mutates_args=(), schema="(Tensor x, SymInt size) -> (Tensor, Tensor[], int)")
def several(x, size):
    return x.clone(), [x + 1, x + 2], 7


@several.register_fake
def _(x, size):
    return torch.empty_like(x), [torch.empty_like(x), torch.empty_like(x)], 7


def of_everything(m, x, y, scale):
    """Dtypes, devices, layouts, memory formats, strings, lists and numbers as arguments."""
    made = torch.zeros(x.shape[0], 3, dtype=torch.float64, device="cpu", layout=torch.strided).to(x)
    image = x.reshape(1, -1, 3, 1).contiguous(memory_format=torch.channels_last).clone(memory_format=torch.preserve_format)
    halves = nn.functional.interpolate(image, scale_factor=[2.0, 1.0], mode="nearest")
    rows = torch.tensor_split(x, [1, 2])
    product = torch.einsum("ij,kj->ik", x, y) * scale
    picked = x[:, None, torch.tensor([0, 2])]
    return made, halves, rows, torch.cat([x, y, m.steps[None]]), product, None, picked, torch.div(x, 2, rounding_mode="floor"), 3, "text"


def of_sizes(m, x, n):
    rows, columns = x.shape
    wide = torch.zeros(rows * 2 + 1, max(columns, n) // 2 + n % 3)
    return wide, rows + n, (rows * n) / 2, x.reshape(-1)[: rows + 1], torch.sym_max(rows, n), x.expand(n, rows, columns)


def of_data(m, x):
    positive = (x > 0).nonzero()
    count = (x > 0).sum().item()
    torch._check(count >= 0)
    return positive, torch.zeros(count), x.sum().item() * 2.0, x.masked_select(x > 0)


def of_lists(m, x):
    values, indices = x.sort(dim=1)
    first, *_ = x.split(1)
    top, _ = x.max(dim=0)
    return values, first, [t + 1 for t in x.unbind(1)], top, torch.meshgrid([x[0], x[:, 0]], indexing="ij")


def of_complex(m, x):
    z = torch.complex(x, x) * (1 + 2j) + 1j
    return torch.view_as_real(z), z.abs(), (z * 2.0).real


def of_operators(m, x):
    scaled_ = torch.ops.aten2onnx_traced.scaled(x, [1.0, float("inf")], ["a", "b"], other=x)
    bare = torch.ops.aten2onnx_traced.scaled(x, [], [], flag=True)
    one, (two, _), size = torch.ops.aten2onnx_traced.several(x, x.shape[0])
    return scaled_ + bare, one + two, size


def of_state(m, x):
    m.steps.add_(x[0])
    x.mul_(2)
    return m.linear(x) + m.table + torch.tensor([1.0, float("nan"), -float("inf")])


def of_assertions(m, x):
    torch._assert(x.shape[0] > 1, "few rows")
    torch._check(x.shape[1] == 3, lambda: "not three columns")
    return x.to(torch.bfloat16), x.to(torch.float8_e4m3fn).to(torch.float16), x.to(torch.int8), x.to(torch.bool), x.to(torch.uint16)


def of_branches(m, x, n):
    def loop(i, x):
        return i + 1, torch.cond(x.sum() > 0, lambda x: m.linear(x), lambda x: x * n, (x,))

    return torch._higher_order_ops.while_loop(lambda i, x: i < 3, loop, (torch.tensor(0), x))


def of_autocast(m, x):
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        y = m.linear(x)
    return y, torch.vmap(lambda row: row * 2)(x)


def of_layers(m, x):
    @torch.compiler.nested_compile_region
    def layer(x):
        return m.linear(x).relu()

    return layer(layer(x))


def of_quantized(m, x):
    q = torch.ops.quantized_decomposed.quantize_per_tensor.default(x, 0.1, 3, -128, 127, torch.int8)
    return torch.ops.quantized_decomposed.dequantize_per_tensor.default(q, 0.1, 3, -128, 127, torch.int8)


def of_symbolic(m, x):
    return torch.onnx.ops.symbolic(
        "custom::Op", (x, None), {"i": 1, "f": 2.0, "s": "t", "ints": [1, 2], "floats": [1.0], "strings": ["a"]}, dtype=torch.float32, shape=x.shape, version=1
    )


X = torch.randn(4, 3)
ROWS, OTHER = Dim("rows", min=4, max=64), Dim("other", min=2)
PROGRAMS = [
    (of_everything, (X, torch.randn(5, 3), 0.5), ({0: ROWS}, {0: OTHER}, None)),
    (of_sizes, (X, 5), ({0: ROWS, 1: Dim.AUTO}, Dim.DYNAMIC)),
    (of_data, (X,), ({0: ROWS},)),
    (of_lists, (X,), None),
    (of_complex, (X,), ({0: ROWS},)),
    (of_operators, (X,), ({0: ROWS},)),
    (of_state, (X,), ({0: ROWS},)),
    (of_assertions, (X,), ({0: ROWS},)),
    (of_branches, (X, 3), ({0: ROWS}, Dim.DYNAMIC)),
    (of_autocast, (X,), None),
    (of_layers, (X,), None),
    (of_quantized, (X,), ({0: ROWS},)),
    (of_symbolic, (X,), ({0: ROWS},)),
]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("function", "args", "shapes"), [pytest.param(*program, id=program[0].__name__) for program in PROGRAMS])
def test_arguments_and_results(function, args, shapes, strict, monkeypatch) -> None:
    if function is of_quantized:
        pytest.importorskip("torch.ao.quantization.fx._decomposed")
    shapes = {"args": shapes} if shapes is not None else None
    try:
        exported = torch.export.export(Function(function).eval(), args, dynamic_shapes=shapes, strict=strict)
    except Exception:
        if strict:
            pytest.skip("the strict mode does not capture it")
        raise
    both(exported, monkeypatch)
    both(exported.run_decompositions(), monkeypatch)


def test_what_is_not_known_goes_through_the_serializer(monkeypatch) -> None:
    exported = torch.export.export(Function(lambda m, x: x.relu()), (X,))
    relu = next(node for node in exported.graph.nodes if node.name == "relu")
    relu.meta["nn_module_stack"] = {"L__self__": ("", Function)}  # a class in place of its name
    with monkeypatch.context() as patched:
        found = both(exported, patched, reads=False)
    assert found[0].startswith("PyTorch cannot serialize this program: Failed serializing node relu: expected ty to be str, got type")


class Doubled(torch.autograd.Function):
    """A function with a gradient of its own that torch.export records as a call."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, factors):
        return x * factors[0] + factors[1]

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @classmethod
    @allow_in_pre_dispatch_graph
    def apply(cls, *args, **kwargs):
        return super().apply(*args, **kwargs)


def of_function(m, x):
    return Doubled.apply(x, [x.sum(1, keepdim=True), x[:1]]).relu()


def of_function_in_vmap(m, x):
    return torch.vmap(lambda row: Doubled.apply(row, [row.sum(), x[0]]))(x)


def of_function_in_branches(m, x):
    return torch.cond(x.sum() > 0, lambda x: Doubled.apply(x, [x, x]), lambda x: x - 1, (x,))


@pytest.mark.parametrize("function", [of_function, of_function_in_vmap, of_function_in_branches])
def test_recorded_autograd_functions_are_their_forward_pass(function) -> None:
    exported = torch.export.export(Function(function).eval(), (X,), dynamic_shapes={"args": ({0: ROWS},)})
    flat_apply = torch.ops.higher_order.flat_apply
    graphs = [part.graph for part in exported.graph_module.modules() if hasattr(part, "graph")]
    assert any(graph.find_nodes(op="call_function", target=flat_apply) for graph in graphs) is (function is not of_function_in_branches)
    program = aten2onnx.export(exported)
    for rows in (4, 9):
        x = torch.randn(rows, 3)
        torch.testing.assert_close(program(x)[0], function(None, x))


def test_an_autograd_function_that_cannot_be_imported_is_an_error() -> None:
    class Inner(Doubled):
        pass

    exported = torch.export.export(Function(lambda m, x: Inner.apply(x, [x, x])), (X,))
    with pytest.raises(aten2onnx.UnsupportedError, match="the program calls .*test_an_autograd_function.*Inner") as caught:
        aten2onnx.export(exported)
    assert "level of its module" in str(caught.value) and "test_traced.py" in str(caught.value)


def test_a_list_that_is_used_as_a_whole_is_an_error(monkeypatch) -> None:
    exported = torch.export.export(Function(lambda m, x: x.split(1)[0]), (X,))
    split = next(node for node in exported.graph.nodes if node.name == "split")
    with exported.graph.inserting_after(split):
        exported.graph.call_function(torch.ops.aten.cat.default, (split,)).meta["val"] = split.meta["val"][0]
    message, model = both(exported, monkeypatch, reads=False)
    assert model is None and "cat_default is not a getitem node" in message


def test_elements_that_are_taken_twice_are_one_value(monkeypatch) -> None:
    exported = torch.export.export(Function(lambda m, x: x.split(1)[0] + 1), (X,))
    first = next(node for node in exported.graph.nodes if node.name == "getitem")
    add = next(node for node in exported.graph.nodes if node.name == "add")
    with exported.graph.inserting_before(add):
        again = exported.graph.call_function(first.target, first.args)
        again.meta = dict(first.meta)
    add.args = (again, first)
    add.target = torch.ops.aten.add.Tensor
    _, model = both(exported, monkeypatch)
    assert model is not None


def test_a_condition_as_an_output_needs_no_serializer() -> None:
    exported = torch.export.export(Function(lambda m, x: (x.shape[0] > 5, x.relu())), (X,), dynamic_shapes={"args": ({0: ROWS},)})
    program = aten2onnx.export(exported)
    for rows in (4, 9):
        longer, relu = program(torch.randn(rows, 3))
        assert longer.item() is (rows > 5) and relu.shape == (rows, 3)
