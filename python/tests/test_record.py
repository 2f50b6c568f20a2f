"""Modules that are recorded while they run: numbers that remember, branches, and what a run leaves behind."""

from __future__ import annotations

import functools
import math

import aten2onnx
import numpy as np
import pytest
import torch
from torch import nn

import programs


class Example(nn.Module):
    """A module that calls a function."""

    def __init__(self, function) -> None:
        super().__init__()
        self.function = function
        self.linear = nn.Linear(4, 4)
        self.register_buffer("seen", torch.zeros(4))
        self.kept: list = []

    def forward(self, *args):
        return self.function(self, *args)


def recorded(function, *args, **options):
    return aten2onnx.export(Example(function).eval(), args, capture="record", **options)


@functools.lru_cache
def doubled(n: int) -> int:
    return 2 * n


def same(program, function, *others) -> None:
    for args in others:
        model = Example(function).eval()
        model.load_state_dict({"linear.weight": torch.eye(4), "linear.bias": torch.zeros(4), "seen": torch.zeros(4)})
        wanted = function(model, *args)
        for got, want in zip(program(*args), wanted if isinstance(wanted, tuple) else [wanted], strict=True):
            torch.testing.assert_close(got, torch.as_tensor(want))


@pytest.mark.parametrize(
    "function",
    [
        lambda s, x: x[: int(np.ceil(x.shape[0] / 2))],
        lambda s, x: x * math.floor(math.sqrt(x.shape[0])),
        lambda s, x: torch.cat([x, x.new_zeros((-len(x)) % 4, 4)]),
        lambda s, x: x[: min(len(x), 5)] * max(x.shape[0], 3),
        lambda s, x: x * torch.as_tensor(x.shape[0]),
        lambda s, x: x + torch.tensor([float(x.shape[0]), 1.0, 2.0, 3.0]),
        lambda s, x: x / (x.shape[0] - 0.5) ** 0.5,
        lambda s, x: x[: x.size(0)] + x.shape[0] // 2,
        lambda s, x: x[-3:],
        lambda s, x: x[: round(x.shape[0] / 2)] * round(-x.shape[0] / 4),
        lambda s, x: x[: round(x.shape[0] * 0.3)] * round(x.shape[0] ** 0.5),
        lambda s, x: x.view(x.shape[0], 2, 2).sum(-1),
        lambda s, x: torch.arange(x.shape[0] * 2)[:, None] + x[:1],
        lambda s, x: torch.full((int(x.shape[0] * 0.5) + 1, 2), 0.5) + x[:1, :2],
        lambda s, x: x if isinstance(x.shape[0], int) else x * 0,
        lambda s, x: torch.nn.functional.pad(x, (0, 0, x.shape[0] % 3, 0)),
        lambda s, x: x * x.shape.numel() + x.shape[:1].numel(),
        lambda s, x: x.sum() / x.nelement() + x.size().numel() // 3 + x.nbytes,
        lambda s, x: torch.tensor(list(range(x.shape[0]))[::-1])[:, None] + x,
        lambda s, x: torch.tensor(range(x.shape[0] + 1)).sum() + x,
        lambda s, x: torch.tensor(list(range(1, 2 * x.shape[0], 2)), dtype=torch.float32)[:, None] * x,
        lambda s, x: x * len(list(range(x.shape[0]))) + list(range(x.shape[0]))[-1],
        lambda s, x: torch.cat([x, x.new_zeros(x.shape[0] & 3, 4)]) * (x.shape[0] | 1),
        lambda s, x: x[: x.shape[0] & -x.shape[0]] + (x.shape[0] ^ 5) / 2,
        lambda s, x: x[: x.shape[0] >> 1 << 1 | 1] + (7 & x.shape[0] - 1),
    ],
)
def test_arithmetic_on_sizes_is_exact_at_all_sizes(function) -> None:
    program = recorded(function, torch.randn(6, 4), dynamic_shapes=(({0: "n"},),))
    same(program, function, *[(torch.randn(n, 4),) for n in (1, 2, 3, 5, 8, 9, 13, 30)])
    assert not program.report.conditions


def written(s, x):
    x = x.clone()
    x[x.shape[0] // 2] = 1.0
    x[x.shape[0] // 3, 1:] += 3
    return x


@pytest.mark.parametrize(
    "function",
    [
        lambda s, x: torch.stack([x[i % x.shape[0]] * i for i in range(4)]),
        lambda s, x: x[x.shape[0] // 2] + x[-(x.shape[0] // 2)],
        lambda s, x: torch.arange(90.0).view(30, 3)[x.shape[0]] + s.seen[x.shape[0] % 4] + x[..., :3],
        lambda s, x: (x[int(x.sum(1).argmax())], x[:, None, x.argmax() % 3], x[[0, 1], x.argmax() % 3], x[x[:, 0] > -9, x.shape[0] % 2]),
        lambda s, x: x[int(x[0, 0].abs() * 0), ..., x.shape[0] % 3],
        written,
    ],
)
def test_a_row_that_a_number_chooses(function) -> None:
    program = recorded(function, torch.randn(6, 4), dynamic_shapes=(({0: "n"},),))
    same(program, function, *[(torch.randn(n, 4),) for n in (2, 3, 4, 6, 9, 17)])


def test_numbers_out_of_tensors_are_values_of_the_file() -> None:
    function = lambda s, x, n: x[:n] * int(n)  # noqa: E731
    program = recorded(function, torch.randn(6, 4), torch.tensor(3))
    same(program, function, *[(torch.randn(6, 4), torch.tensor(n)) for n in (1, 2, 4, 6)])


def test_elements_of_constants_are_plain_numbers() -> None:
    def function(s, x):
        for index, on in enumerate(torch.tensor([1, 0, 1])):
            if on:
                x = x + index
        return x * 2 if s.seen[0] == 0 else x

    same(recorded(function, torch.randn(3, 4)), function, (torch.randn(3, 4),))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda s, x: x * 2 if x.shape[0] < 8 else x * 3, "takes another branch at other sizes"),
        (lambda s, x: x * 2 if x.shape[0] % 5 else x * 3, "a branch in Python depends on a size"),
        (lambda s, x: sum(x[i] for i in range(min(x.shape[0], 3))), "the number of turns of a loop"),
        (lambda s, x: x * 2 if x.sum() > 0 else x * 3, "depends on the elements of a tensor"),
        (lambda s, x: torch.where(x > 0, x, x * (2 if torch.equal(x, x * 1) else 3)), "depends on the elements of a tensor"),
        (lambda s, x: x * torch.tensor([float(i) for i in range(x.shape[0])])[:, None], "another one at other sizes"),
        (lambda s, x: torch.from_numpy(np.interp(x.numpy(), [0.0, 1.0], [0.0, 2.0])), "computes with `np.interp`"),
        (lambda s, x: s.half()(x), "replaces the data of a tensor"),
    ],
)
def test_what_cannot_be_followed_is_refused_with_its_line(function, message) -> None:
    with pytest.raises(aten2onnx.CaptureError, match=message) as caught:
        recorded(function, torch.randn(6, 4), dynamic_shapes=(({0: "n"},),), branches="refuse")
    assert "test_record.py" in str(caught.value) and len(str(caught.value).splitlines()) <= 20


def test_a_branch_that_does_not_matter_is_dropped() -> None:
    function = lambda s, x: x + 1 if x.shape[0] == 1 else 1 + x  # noqa: E731
    program = recorded(function, torch.randn(6, 4), dynamic_shapes=(({0: "n"},),))
    assert not program.report.conditions
    same(program, function, (torch.randn(1, 4),), (torch.randn(9, 4),))


def test_a_range_decides_a_branch() -> None:
    function = lambda s, x: x * 2 if x.shape[0] < 8 else x * 3  # noqa: E731
    n = torch.export.Dim("n", min=2, max=7)
    assert not recorded(function, torch.randn(6, 4), dynamic_shapes=(({0: n},),)).report.conditions


def test_the_side_of_the_example_is_kept_on_request() -> None:
    with pytest.warns(UserWarning, match="right only where `n <= 7`"):
        program = recorded(lambda s, x: x * 2 if x.shape[0] < 8 else x * 3, torch.randn(6, 4), dynamic_shapes=(({0: "n"},),), branches="example")
    assert program.report.conditions == ["n <= 7"]


def test_checks_on_data_are_left_out_with_their_lines() -> None:
    def function(s, x):
        assert (x > -100).all(), "too small"
        if x.max() > 100:
            raise ValueError("too large")
        return x + 1

    notes = recorded(function, torch.randn(3, 4)).report.notes
    assert sum("checks its data" in note and "test_record.py" in note for note in notes) == 2


def test_gradients_and_recurrent_layers_of_any_length() -> None:
    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
            self.rnn = nn.GRU(4, 3, batch_first=True)

        def forward(self, x):
            with torch.enable_grad():
                y = x.detach().requires_grad_()
                energy = self.net(y).sum()
                force = torch.autograd.grad(energy, y)[0]
            return force, self.rnn(x[None, ::2])[0]

    model = Both().eval()
    program = aten2onnx.export(model, (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")
    for n in (2, 5, 11):
        x = torch.randn(n, 4)
        for got, want in zip(program(x), model(x)):
            torch.testing.assert_close(got, want.detach(), rtol=1e-4, atol=1e-5)


def test_a_run_leaves_the_model_as_it_was() -> None:
    def function(s, x):
        s.table = torch.arange(4.0)
        s.seen += x[0]
        s.kept.append(x)
        return x + s.table + s.seen + doubled(x.shape[0])

    model = Example(function).eval()
    torch.manual_seed(3)
    state, waiting = torch.get_rng_state(), len(torch.cuda._queued_calls)
    program = aten2onnx.export(model, (torch.ones(6, 4),), dynamic_shapes=(({0: "n"},),), capture="record")
    assert torch.equal(state, torch.get_rng_state())
    # What CUDA does when somebody uses it for the first time: an export adds nothing to it.
    assert len(torch.cuda._queued_calls) == waiting
    assert not hasattr(model, "table") and model.kept == [] and torch.equal(model.seen, torch.zeros(4))
    assert isinstance(math.sqrt(4), float) and int is type(3) and "int" not in globals()
    x = torch.randn(3, 4)
    found = program(x)[0]
    torch.testing.assert_close(found, function(model, x))


def test_a_failure_leaves_the_model_as_it_was() -> None:
    def function(s, x):
        s.seen += 1
        s.extra = 1
        raise RuntimeError("no")

    model = Example(function).eval()
    with pytest.raises(aten2onnx.CaptureError, match="cannot be recorded: no"):
        aten2onnx.export(model, (torch.ones(6, 4),), capture="record")
    assert torch.equal(model.seen, torch.zeros(4)) and not hasattr(model, "extra")


def test_the_message_of_auto_names_both_ways() -> None:
    with pytest.raises(aten2onnx.CaptureError) as caught:
        listed = lambda s, x: x * torch.tensor([float(i) for i in range(x.shape[0])])[:, None]  # noqa: E731
        aten2onnx.export(Example(listed).eval(), (torch.ones(6, 4),), dynamic_shapes=(({0: "n"},),), branches="refuse")
    assert "this model cannot be captured: the model makes a tensor" in str(caught.value) and "\ntorch.export: " in str(caught.value)


def test_unknown_ways_are_errors() -> None:
    with pytest.raises(aten2onnx.Error, match="capture: expected 'auto', 'record', .* found 'tape'"):
        aten2onnx.export(Example(lambda s, x: x).eval(), (torch.ones(2, 4),), capture="tape")
    with pytest.raises(aten2onnx.Error, match="branches: expected .* found 'all'"):
        aten2onnx.export(Example(lambda s, x: x).eval(), (torch.ones(2, 4),), branches="all")


def test_structured_arguments_and_results_keep_their_names() -> None:
    class Nested(nn.Module):
        def forward(self, pair, *, scale):
            return {"total": pair[0] + pair[1]["b"] * scale, "parts": (pair[0],)}

    args = (torch.randn(3), {"b": torch.randn(3)})
    program = aten2onnx.export(Nested().eval(), (args,), kwargs={"scale": torch.tensor(2.0)}, dynamic_shapes={"pair": ({0: "n"}, {"b": {0: "n"}}), "scale": None}, capture="record")
    assert [name for name, _ in program.report.inputs] == ["pair_0", "pair_1_b", "scale"]
    torch.testing.assert_close(program(args, scale=torch.tensor(2.0))[0], args[0] + args[1]["b"] * 2)


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_are_right_or_refused(seed) -> None:
    found, text = programs.verdict(seed, capture="record")
    assert found != "wrong", f"{text}\n{programs.source(seed)}"
    if found == "refused":
        assert "program_" in text or "cannot be recorded" in text


def test_a_wrong_program_is_found(monkeypatch) -> None:
    """Without the conditions on plain numbers, the loops of random programs are unrolled for the example alone."""
    from aten2onnx import _recorded

    monkeypatch.setattr(_recorded, "take_branches", lambda *_: ([], []))
    assert "wrong" in {programs.verdict(seed, capture="record")[0] for seed in range(40)}


def test_a_plain_run_leaves_the_model_as_it_was() -> None:
    from aten2onnx._record.state import untouched

    model = Example(lambda s, x: x + s.seen.add_(1)).eval()
    with torch.no_grad(), untouched(model):
        model(torch.ones(1, 4))
    assert torch.equal(model.seen, torch.zeros(4))


def test_sizes_that_data_decides_are_not_those_of_the_example() -> None:
    """Without dynamic dimensions, too."""

    def positive_ones(model, x):
        found = x[x > 0]
        return found.sum() / found.shape[0], found.reshape(1, -1).expand(3, found.shape[0])

    program = recorded(positive_ones, torch.randn(3, 4))
    same(program, positive_ones, (torch.tensor([[1.0, -2, 3, 4], [-5, -6, -7, -8], [9, 1, 2, 3]]),))


def test_linspace_windows_and_pools_take_sizes() -> None:
    def sized(model, x):
        n = x.shape[0]
        return (
            torch.linspace(0, 1, n),
            x.unfold(0, n // 2, 1).sum(-1),
            torch.nn.functional.avg_pool1d(x.t(), n),
            torch.nn.functional.max_pool1d(x.t()[None], n),
        )

    same(recorded(sized, torch.randn(6, 4), dynamic_shapes=(({0: "n"},),)), sized, *[(torch.randn(n, 4),) for n in (6, 2, 3, 9)])


def at_one(other):
    """A function with another side where a dimension is 1."""
    return lambda model, x: other(x) if x.shape[0] == 1 else x * 2


def test_another_side_for_a_size_of_1_is_dropped_if_the_results_are_the_same() -> None:
    function = at_one(lambda x: x.expand(1, 4) * 2)
    program = recorded(function, torch.rand(3, 4), dynamic_shapes=(({0: "n"},),))
    same(program, function, (torch.randn(1, 4),), (torch.randn(5, 4),))
    assert not program.report.conditions


@pytest.mark.parametrize("other", [lambda x: x.abs() * 2, lambda x: x[0] * 2, lambda x: x.expand(1, 4) * 2 + 1], ids=["sign", "shape", "values"])
def test_another_side_for_a_size_of_1_is_a_condition_if_the_results_differ(other) -> None:
    """The example has no negative number, so that the sign alone shows at other data."""
    function = at_one(other)
    with pytest.warns(UserWarning, match="right only where `n >= 2`"):
        program = recorded(function, torch.rand(3, 4), dynamic_shapes=(({0: "n"},),))
    same(program, function, (torch.randn(2, 4),), (torch.randn(5, 4),))
    assert program.report.conditions == ["n >= 2"]
    with pytest.raises(aten2onnx.CaptureError, match="was taken where n >= 2"):
        recorded(function, torch.rand(3, 4), dynamic_shapes=(({0: "n"},),), branches="refuse")


class Trained(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.norm(x), self.drop(torch.ones_like(x))


def test_a_module_in_training_mode_draws_and_updates_in_the_file() -> None:
    import copy

    module = Trained().train()
    before = copy.deepcopy(module.state_dict())
    with pytest.warns(UserWarning, match="training mode"):
        program = aten2onnx.export(module, (torch.randn(6, 4),), dynamic_shapes=({0: "n"},), capture="record", keep_mutations=True)
    torch.testing.assert_close(dict(module.state_dict()), dict(before))
    x = torch.randn(50, 4)
    found = program(x)
    torch.testing.assert_close(found[0], module(x)[0], rtol=1e-4, atol=1e-5)
    assert set(found[1].unique().tolist()) == {0.0, 2.0}
    updated = [buffer for name, buffer in module.named_buffers() if "running" in name]
    for want in updated:
        assert any(got.shape == want.shape and torch.allclose(got, want, 1e-4, 1e-5) for got in found[2:])


class Scaled(torch.Tensor):
    """A weight in int8 with a scale for each row, as libraries of quantization have it."""

    @staticmethod
    def __new__(cls, data, scale):
        return torch.Tensor._make_wrapper_subclass(cls, data.shape, dtype=scale.dtype)

    def __init__(self, data, scale) -> None:
        self.data_int8, self.scale = data, scale

    def __tensor_flatten__(self):
        return ["data_int8", "scale"], None

    @staticmethod
    def __tensor_unflatten__(inner, context, size, stride):
        return Scaled(inner["data_int8"], inner["scale"])

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        if function is torch.ops.aten.detach.default:
            return Scaled(args[0].data_int8.detach(), args[0].scale.detach())
        plain = [arg.data_int8.to(arg.scale.dtype) * arg.scale if isinstance(arg, Scaled) else arg for arg in args]
        return function(*plain, **(kwargs or {}))


def test_weights_of_other_classes_are_what_they_hold() -> None:
    module = nn.Sequential(nn.Linear(4, 3), nn.ReLU()).eval()
    scaled = Scaled(torch.randint(-9, 9, (3, 4), dtype=torch.int8), torch.rand(3, 1))
    module[0].weight = nn.Parameter(scaled, requires_grad=False)
    program = aten2onnx.export(module, (torch.randn(2, 4),), dynamic_shapes=({0: "n"},), capture="record", optimize=False)
    x = torch.randn(5, 4)
    torch.testing.assert_close(program(x)[0], module(x))
    assert any(initializer.data_type == 3 for initializer in program.model_proto.graph.initializer)


@pytest.mark.parametrize(
    "function",
    [
        lambda s, x: x.split(x.shape[0] // 2)[0] * 2,
        lambda s, x: x.split(4)[0] * 2,
        lambda s, x: x.split(2, 1)[1],
        lambda s, x: x * len(x.split(4)),
    ],
    ids=["half", "first", "columns", "count"],
)
def test_parts_of_a_split_are_right_at_all_sizes(function) -> None:
    program = recorded(function, torch.randn(6, 4), dynamic_shapes=(({0: "n"},),))
    same(program, function, *[(torch.randn(n, 4),) for n in (2, 3, 7, 12, 13)])
    assert not program.report.conditions


def test_as_many_parts_as_sizes_ask_for_are_refused_with_their_line() -> None:
    with pytest.raises(aten2onnx.CaptureError, match="such as the number of turns of a loop"):
        recorded(lambda s, x: torch.cat(x.split((x.shape[0] + 1) // 2)[::-1]), torch.randn(6, 4), dynamic_shapes=(({0: "n"},),))


AUTO = {"dynamic_shapes": "auto"}


def test_a_branch_limits_a_dimension_that_is_left_to_the_model_to_a_range() -> None:
    function = lambda s, x: x * 2 if x.shape[0] <= 64 else x * 3  # noqa: E731
    program = recorded(function, torch.randn(12, 4), **AUTO, branches="refuse")
    same(program, function, *[(torch.randn(n, 4),) for n in (2, 9, 12, 64)])
    assert program.report.conditions
    assert any("right only where" in note and "<= 64" in note and "test_record.py" in note for note in program.report.notes), program.report.notes


def test_a_branch_that_the_other_runs_take_limits_the_dimension_too() -> None:
    function = lambda s, x: x * 2 if x.shape[0] <= 13 else x.relu()  # noqa: E731
    program = recorded(function, torch.randn(12, 4), **AUTO, branches="refuse")
    same(program, function, *[(torch.randn(n, 4),) for n in (2, 9, 12, 13)])
    assert program.report.conditions


def test_a_loop_over_a_dimension_makes_it_constant_and_is_named() -> None:
    def turns(s, x):
        return torch.stack([x[i] * 2 for i in range(x.shape[0])])

    def rows(s, x):
        return torch.stack([row * 2 for row in x])

    def pieces(s, x):
        # With one piece there is nothing to join: a size at which the model does not run says nothing about others.
        found = [x[start : start + 2] for start in range(0, x.shape[0], 2)]
        return torch.cat([*found[:-1], found[-1].relu()]) if len(found) > 1 else x.new_zeros(0).max(dim=0)[0]

    for function in (turns, rows, pieces):
        program = recorded(function, torch.randn(6, 4), **AUTO, branches="refuse")
        assert program.report.inputs == [("args_0", "float32[6, args_0_1]")], (function, program.report.inputs)
        assert any("is always 6" in note and "test_record.py" in note for note in program.report.notes), program.report.notes


def test_each_dimension_that_is_refused_is_named_and_the_others_are_dynamic() -> None:
    def function(s, x, y, z):
        first = torch.cat(x.split((x.shape[0] + 1) // 2)[::-1])
        second = torch.stack([y[:, i] * float(str(i)) for i in range(y.shape[1])])
        return first.sum(0), second, z * 2

    args = torch.randn(6, 4), torch.randn(3, 5), torch.randn(2, 7)
    program = recorded(function, *args, **AUTO)
    assert [kind.count("[6, ") + kind.count(", 5]") for _, kind in program.report.inputs] == [1, 1, 0], program.report.inputs
    for size in (6, 5):
        assert any(f"is always {size}: " in note and "test_record.py" in note for note in program.report.notes), program.report.notes
    others = torch.randn(6, 9), torch.randn(8, 5), torch.randn(5, 3)
    for got, want in zip(program(*others), function(program, *others), strict=True):
        torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)


def test_three_dimensions_that_only_grow_together_are_one() -> None:
    def function(s, x, y, z):
        return torch.nn.functional.grid_sample(x, torch.stack([y, z], -1), align_corners=True)

    make = lambda b, h, w: (torch.rand(b, 3, h, w), torch.rand(b, 5, w), torch.rand(b, 5, w))  # noqa: E731
    program = recorded(function, *make(2, 6, 7), **AUTO)
    batch = {kind.removeprefix("float32[").split(",")[0] for _, kind in program.report.inputs}
    assert len(batch) == 1 and not batch & {"2"}, program.report.inputs
    same(program, function, make(2, 6, 7), make(1, 4, 9), make(5, 8, 3))


@pytest.mark.parametrize("dim", [torch.export.Dim("n"), 2 * torch.export.Dim("n"), torch.export.Dim("n", max=100)])
def test_dimensions_without_a_maximum_are_recorded(dim) -> None:
    function = lambda s, x: x * x.shape[0]  # noqa: E731
    program = recorded(function, torch.randn(6, 4), dynamic_shapes=(({0: dim},),))
    same(program, function, *[(torch.randn(n, 4),) for n in (2, 6, 10)])


def test_strides_of_sizes_are_expressions() -> None:
    def overlapping(s, x):
        y = x * 2
        return y.as_strided((y.shape[0] - 1, 2, y.shape[1]), (y.stride(0), y.stride(0), y.stride(1)))

    def halves(s, x):
        y = (x * 2).view(-1, x.shape[1] // 2, 2)
        return y.as_strided((y.shape[0], 2, y.shape[1]), (y.stride(0), 1, 2))

    def transposed(s, x):
        y = (x * 2).t()
        return y.as_strided(tuple(y.shape), y.stride()) + 1

    def chunks(s, x):
        # As longformer makes its windows: the reshape copies.
        x = x.view(x.shape[0], 2, -1).transpose(0, 1).reshape(2 * x.shape[0], -1)
        x = x.view(torch.div(x.shape[0], 4, rounding_mode="trunc"), 4, x.shape[1])
        size, stride = list(x.shape), list(x.stride())
        return x.as_strided((size[0] * 2 - 1, *size[1:]), (stride[0] // 2, *stride[1:]))

    def windows(s, x):
        # The same where the reshape does not copy, although that is not known: what is read is in another order.
        y = (x * 2).view(x.shape[0], 2, -1).transpose(0, 1)
        y = y.reshape(2, torch.div(x.shape[0], 2, rounding_mode="trunc"), 2, y.shape[2])
        size, stride = list(y.shape), list(y.stride())
        return y.as_strided((size[0], size[1] * 2 - 1, *size[2:]), (stride[0], stride[1] // 2, *stride[2:]))

    for function in (overlapping, halves, transposed, chunks, windows):
        program = recorded(function, torch.randn(4, 8), dynamic_shapes=(({0: 2 * torch.export.Dim("n"), 1: 4 * torch.export.Dim("m")},),))
        same(program, function, *[(torch.randn(n, m),) for n in (4, 6, 10) for m in (4, 8, 12)])


def test_a_write_to_a_part_of_an_expanded_tensor_changes_all_that_it_repeats() -> None:
    def one(s, x):
        y = x * 1
        z = y[:1].expand(y.shape[0], y.shape[1])
        z[0, 0] = 5
        return y, z

    def last(s, x):
        y = x * 1
        z = y[:1].expand(y.shape[0], y.shape[1])
        z[-1:].add_(1)
        return y, z

    def repeated(s, x):
        y = x * 1
        z = y.unsqueeze(0).expand(3, *y.shape)
        z[0].mul_(2)
        return y, z

    for function in (one, last, repeated):
        program = recorded(function, torch.randn(4, 3), dynamic_shapes=(({0: "n"},),))
        same(program, function, *[(torch.randn(n, 3),) for n in (2, 4, 7)])


class Positions(nn.Module):
    """Adds a part of a table, as long as the input is."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.arange(12.0).reshape(1, 12))

    def forward(self, x):
        return x + self.table[:, : x.shape[1]]


def test_a_slice_of_a_weight_may_take_everything_in_a_run() -> None:
    """At 4 columns the other runs have 8 and 12: one takes the whole table."""
    module = Positions().eval()
    program = aten2onnx.export(module, (torch.ones(2, 4),), dynamic_shapes=({1: torch.export.Dim("n", max=12)},), capture="record")
    for n in (4, 7, 12):
        assert torch.equal(program(torch.ones(2, n))[0], module(torch.ones(2, n)))


def copied(_, x):
    if x.shape[0] >= 64:
        x = x.contiguous()
    return x.transpose(0, 1) * 2


def copied_otherwise(_, x):
    y = x.contiguous() if x.shape[0] < 64 else x * 2
    return y.transpose(0, 1) * 2


def copied_and_written(_, x):
    y = x * 1
    if x.shape[0] >= 64:
        z = y.contiguous().clone()
    else:
        z = y
    z += 1
    return y + z


def test_a_branch_that_only_copies_a_tensor_is_dropped() -> None:
    program = recorded(copied, torch.ones(6, 4), dynamic_shapes=[[{0: "n"}]])
    same(program, copied, (torch.rand(6, 4),), (torch.rand(70, 4),))
    assert not program.report.conditions
    for function in (copied_otherwise, copied_and_written):
        with pytest.raises(aten2onnx.CaptureError, match="n <= 63"):
            recorded(function, torch.ones(6, 4), dynamic_shapes=[[{0: "n"}]], branches="refuse")


def test_positions_of_cpmant_from_a_list_of_a_range() -> None:
    """`torch.tensor(list(range(seqlen - self.prompt_length))[::-1])` is `arange`, whatever the length."""
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    sizes = {"vocab_size": 32, "hidden_size": 8, "num_attention_heads": 2, "dim_head": 4, "dim_ff": 8, "num_hidden_layers": 1, "prompt_length": 4, "segment_types": 8, "prompt_types": 4}
    model = transformers.CpmAntModel(transformers.CpmAntConfig(**sizes, position_bias_num_buckets=8)).eval()
    ids = lambda batch, length: torch.randint(1, 30, (batch, length))  # noqa: E731
    program = aten2onnx.export(model, (), kwargs={"input_ids": ids(2, 12)}, dynamic_shapes={"input_ids": {0: "b", 1: "s"}}, capture="record")
    for batch, length in ((1, 7), (3, 20)):
        given = ids(batch, length)
        torch.testing.assert_close(program(given)[0], model(input_ids=given)[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "function",
    [
        lambda s, x: torch.view_as_complex(x) == torch.view_as_complex(x).conj(),
        lambda s, x: torch.view_as_complex(x).conj().imag + 1,
        lambda s, x: torch.view_as_real(torch.view_as_complex(x) * torch.conj_physical(torch.view_as_complex(x))),
    ],
)
def test_an_operator_that_has_a_rule_for_complex_numbers_alone(function) -> None:
    # `aten::_conj` was thought to have none, and the model was left to torch.export.
    program = recorded(function, torch.randn(3, 2), dynamic_shapes={"args": ({0: "n"},)})
    assert not program.report.conditions
    same(program, function, (torch.randn(3, 2),), (torch.randn(1, 2),), (torch.randn(7, 2),))


@pytest.mark.parametrize("first, last", [(0, 1), (1, 5), (1.0, 2.0)])
def test_a_constant_that_a_number_has_been_by_chance_in_all_runs(first, last) -> None:
    # All runs were at even sizes, with one step: the end of the line was taken for the number of steps.
    function = lambda s, x: torch.linspace(first, last, steps=x.shape[0] % 2 + 1)  # noqa: E731
    program = recorded(function, torch.randn(6, 4), dynamic_shapes={"args": ({0: "n"},)})
    same(program, function, *((torch.randn(n, 4),) for n in (1, 2, 3, 4, 7)))


def test_a_constant_of_a_call_may_be_the_number_that_was_asked_for() -> None:
    # Both the size and the step are 1 in all runs: nothing tells which is the constant.
    function = lambda s, x: torch.ops.aten.unfold.default(x, 0, 1, x.shape[0] % 2 + 1)  # noqa: E731
    program = recorded(function, torch.randn(6, 4), dynamic_shapes={"args": ({0: "n"},)})
    assert program.report.conditions == ["n % 2 + 1 == 1"]
    same(program, function, (torch.randn(4, 4),), (torch.randn(8, 4),))


@pytest.mark.parametrize("function", [lambda s, x: x.unfold(0, 1, x.shape[0] % 2 + 1), lambda s, x: x.unfold(0, 1, int(x.shape[0] % 2 + 1))])
def test_windows_have_the_numbers_that_they_are_given(function) -> None:
    program = recorded(function, torch.randn(6, 4), dynamic_shapes={"args": ({0: "n"},)})
    assert not program.report.conditions
    same(program, function, (torch.randn(4, 4),), (torch.randn(8, 4),), (torch.randn(5, 4),))
