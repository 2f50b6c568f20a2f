"""Branches in Python: both sides are in the file, and are right at inputs that take them."""

from __future__ import annotations

import itertools
import os
import sys

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils import _pytree as pytree

import aten2onnx

sys.path.insert(0, os.path.dirname(__file__))
import programs  # noqa: E402


class OnData(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            y = x * 2
        else:
            y = x - 1
        return y + 1


class OnItem(nn.Module):
    def forward(self, x):
        n = x.sum().item()
        return x * n if n > 1.5 else x - n


class OnTensor(nn.Module):
    def forward(self, x):
        if (x > 0.5).any():
            return x.relu()
        return x.sigmoid()


class OnSize(nn.Module):
    def forward(self, x):
        if x.shape[0] > 5:
            x = x[:5] * 2
        return x + 1


class Ternary(nn.Module):
    def forward(self, x):
        k = 3 if x.shape[0] > 6 else 2
        return x[:k] * (x.shape[0] if x.shape[0] % 2 == 0 else 7)


class Nested(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            if x.shape[0] > 4:
                x = x + 10
            else:
                x = x.exp()
            x = x * 3
        else:
            if x.min() < -2:
                return x - 100
        return x.sin()


class Early(nn.Module):
    """Layers with exits."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
        self.heads = nn.ModuleList(nn.Linear(4, 2) for _ in range(3))

    def forward(self, x):
        for layer, head in zip(self.layers, self.heads):
            x = layer(x).tanh()
            y = head(x).softmax(-1)
            if y.max() > 0.7:
                return y
        return y * 2


class Chain(nn.Module):
    def forward(self, x):
        n = x.shape[0]
        if n < 3:
            y = x + 1
        elif n < 6:
            y = x * 2
        elif n < 9:
            y = x[:2]
        else:
            y = x.flip(0)
        return y.abs()


class AndOr(nn.Module):
    def forward(self, x):
        n, m = x.shape
        if n > 4 and x.sum() > 0:
            x = x * 2
        if n > 7 or m == 4 and x.min() < -1.5:
            x = x - 1
        if 3 < n < 8:
            x = x.cos()
        return x


class Sizes(nn.Module):
    """The sides have results of other sizes, which later sizes are computed from."""

    def forward(self, x):
        y = x[1:] if x.mean() > 0 else torch.cat([x, x])
        return y * y.shape[0], y.sum(0), y[: y.shape[0] // 2]


class Written(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(4))

    def forward(self, x):
        x = x.clone()
        top = x[0]
        if x.sum() > 0:
            x[1:] = 0.5
            top.mul_(3)
        y = x * 2
        if x.shape[0] > 4:
            x.add_(1)
        return x, y, top + 1


class Buffer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.ones(4))

    def forward(self, x):
        if x.sum() > 0:
            self.count.add_(x[0])
        return x * self.count


class Aliased(nn.Module):
    """A side returns a value itself, and it is written to afterwards."""

    def forward(self, x):
        x = x * 1
        y = x if x.sum() > 0 else x * 2
        y += 1
        z = x[0] if x.shape[0] > 4 else x[1] * 1
        x.mul_(5)
        return x, y, z


class Residual(nn.Module):
    """The same value is read as it was before the branch, and as it is after it."""

    def forward(self, x):
        y = x
        if x.sum() > 0:
            y = y * 2
        if x.shape[0] > 4:
            y = y + x
        return y + x


class Raises(nn.Module):
    def forward(self, x):
        if x.shape[0] > 100:
            raise ValueError("too long")
        return self.checked(x)

    def checked(self, x):
        if x.isnan().any():
            message = "not a number"
            raise ValueError(message)
        if x.sum() > 0:
            return x * 2
        return x


class Same(nn.Module):
    """The same condition twice: what the first makes the second reads."""

    def forward(self, x):
        n = x.shape[0]
        if n > 4:
            extra = x * 2
        y = x.exp()
        if n > 4:
            y = y + extra
        return y.log()


class Flags(nn.Module):
    """A flag of Python's carries the decision."""

    def forward(self, x):
        flag, scale = False, 1
        if x.sum() > 0:
            flag, scale = True, 3
        x = x.sin() * scale
        if flag:
            x = x + 5
        return x


class Padded(nn.Module):
    def forward(self, x):
        n = x.shape[0]
        if n % 4 != 0:
            x = F.pad(x, (0, 0, 0, 4 - n % 4))
        return x.reshape(-1, 4, x.shape[1]).sum(1)


class Parts(nn.Module):
    """Views that are made before the branch, and written on a side."""

    def forward(self, x):
        x = x + 0
        a, b = x[:, :2], x[:, 2:]
        if a.sum() > b.sum():
            a.copy_(b)
        else:
            b[0] = a[1]
        return x, a * 2, b


class Draws(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            x = x + torch.rand_like(x) * 0
        return x * 2


class Number(nn.Module):
    """A number is a result of the branch."""

    def forward(self, x):
        k = x.shape[0] // 2 if x.sum() > 0 else x.shape[0] - 1
        return x[:k], k


class Breaks(nn.Module):
    def forward(self, x):
        for i in range(4):
            x = x * 1.5
            if x.abs().max() > 3:
                break
        return x + i


class Whole(nn.Module):
    """A whole number of the data decides, and is computed with on both sides."""

    def forward(self, x):
        k = int(x.sum().item())
        if k > 3:
            return x * (k * 2 + 1)
        return x.new_zeros(max(k * 3, 2), 4) + x[:1] - k // 2


MODELS = [OnData, OnItem, OnTensor, OnSize, Ternary, Nested, Early, Chain, AndOr, Sizes, Written, Buffer, Aliased, Residual, Raises, Same, Flags, Padded, Parts, Draws, Number, Breaks, Whole]


def inputs():
    torch.manual_seed(0)
    for n in (2, 3, 4, 5, 6, 7, 8, 9, 12):
        for scale in (0.3, 1.0, 4.0):
            x = torch.randn(n, 4) * scale
            yield x
            yield x.abs()
            yield -x.abs()


def check(program, model) -> None:
    import copy

    for x in inputs():
        wanted = [torch.as_tensor(value) for value in pytree.tree_leaves(copy.deepcopy(model)(x.clone()))]
        for got, want in zip(program(x), wanted, strict=True):
            assert got.dtype == want.dtype and got.shape == want.shape, (x.shape, got.shape, want.shape)
            torch.testing.assert_close(got, want, atol=1e-5, rtol=1e-4, equal_nan=True)


@pytest.mark.parametrize("kind", MODELS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("opset", [18, 11])
def test_both_sides_are_right(kind, opset):
    torch.manual_seed(3)
    model = kind().eval()
    program = aten2onnx.export(model, (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record", opset_version=opset, verify=True)
    check(program, model)


N = {"x": {0: "n"}}
X = torch.linspace(-1, 2, 24).reshape(6, 4)


def export(kind, **options):
    return aten2onnx.export(kind().eval(), (X,), dynamic_shapes=N, capture="record", **options)


@pytest.mark.parametrize("opset", [9, 10])
def test_old_opsets_have_both_sides_too(opset) -> None:
    for kind in (OnData, OnSize, Nested, Early):
        torch.manual_seed(3)
        model = kind().eval()
        program = aten2onnx.export(model, (X,), dynamic_shapes=N, capture="record", opset_version=opset)
        assert program.report.operators["If"] >= 1
        check(program, model)


def test_the_report_has_the_line_the_calls_and_the_sides_that_no_input_took() -> None:
    class Rare(nn.Module):
        def forward(self, x):
            if (x == 12345.0).all():
                return x.sin().cos()
            return x * 2

    program = export(Rare, verify=True)
    (note,) = [note for note in program.report.notes if "Both sides" in note]
    assert "if (x == 12345.0).all():" in note and "test_branches.py" in note
    assert "2 calls where it holds, 1 where it does not; no input that was tried takes the side where it holds" in note
    (note,) = [note for note in export(OnData, verify=True).report.notes if "Both sides" in note]
    assert "no input" not in note


def swap_a_side(monkeypatch) -> None:
    """Plants a fault: the other side of each branch gives an input in place of its results."""
    from aten2onnx._record import paths

    written = paths._Writer._if

    def swapped(self, item):
        item.no[:] = [step for step in item.no if not isinstance(step, paths.Step)]
        item.results[:] = [(value, yes, self.first.recorder.inputs[0]) for value, yes, _ in item.results]
        written(self, item)

    monkeypatch.setattr(paths._Writer, "_if", swapped)


def test_verification_takes_both_sides(monkeypatch) -> None:
    """A side that is wrong is found, though the example takes the other one."""
    from aten2onnx import _recorded

    monkeypatch.setattr(_recorded, "try_out", lambda *args: None)
    swap_a_side(monkeypatch)
    assert X.sum() > 0
    with pytest.raises(aten2onnx.VerificationError):
        export(OnData, verify=True)


def test_a_program_that_gives_other_results_at_other_data_is_refused(monkeypatch) -> None:
    """The same without verification: the program is held against the model before there is a file."""
    swap_a_side(monkeypatch)
    with pytest.raises(aten2onnx.CaptureError, match="another program at other inputs"):
        export(OnData)


class Many(nn.Module):
    def forward(self, x):
        for i in range(40):
            if x.sum() > i:
                return x + i
        return x


def test_limits_say_which_was_reached(monkeypatch) -> None:
    from aten2onnx import _recorded

    assert export(Many, max_branches=5).report.operators["Loop"] == 1
    monkeypatch.setattr(_recorded, "_capture_rolled", lambda *args: None)  # loops whose turns are not the same
    too_many = r"(?s)more than 5 branches .*max_branches.*help: allow them with `max_branches=40`"
    for limits, message in (({"max_branches": 5}, too_many), ({"max_runs": 6}, "more than 32 branches")):
        with pytest.raises(aten2onnx.CaptureError, match=message) as caught:
            export(Many, **limits)
        assert "test_branches.py" in str(caught.value)
    with pytest.raises(aten2onnx.CaptureError, match="more than 31 deep"):
        export(Many, max_branches=40)
    monkeypatch.setattr(_recorded, "_capture_lowered", lambda *args: None)
    with pytest.raises(aten2onnx.CaptureError, match=r"(?s)more than 6 times .*max_runs.*test_branches\.py"):
        export(Many, max_runs=6)


def test_a_branch_can_be_refused_or_kept_as_in_the_example() -> None:
    with pytest.raises(aten2onnx.CaptureError, match="depends on the elements of a tensor: .*if x.sum"):
        export(OnData, branches="refuse")
    program = export(OnData, branches="example")
    assert "If" not in program.report.operators and any("right only where the branch" in note for note in program.report.notes)


class Empty(nn.Module):
    """The side of the example has no elements, with which the other one cannot run."""

    def forward(self, x):
        found = x[x[:, 0] > 0.5]
        if found.numel() == 0:
            return torch.zeros(1, 4)
        return found / found.max()


@pytest.mark.parametrize("shapes", [N, None], ids=["dynamic", "static"])
def test_a_side_that_the_data_of_the_example_cannot_take_is_recorded_with_other_data(shapes) -> None:
    model = Empty().eval()
    program = aten2onnx.export(model, (torch.full((6, 4), 0.2),), dynamic_shapes=shapes, capture="record")
    assert program.report.operators["If"] == 1 and not program.report.conditions
    for size in (6,) if shapes is None else (2, 6, 9):
        for x in (torch.rand(size, 4) + 0.2, torch.zeros(size, 4), torch.randn(size, 4)):
            torch.testing.assert_close(program(x)[0], model(x))


class Product(nn.Module):
    """A write to what a side has made of several tensors: `einsum` of one would be a view of it."""

    def forward(self, x):
        y = x * 1
        if x.sum() > 0:
            z = torch.einsum("ij,kj->ik", (x, x)).transpose(0, 1)
            z[0] = -5.0
            y = y + z.sum(-1, keepdim=True)
        return y


class Window(nn.Module):
    """Padding to a multiple, where the model checks the side that the example does not take."""

    def forward(self, x):
        padding = (4 - x.shape[0] % 4) % 4
        if padding > 0:
            x = torch.nn.functional.pad(x, (0, 0, 0, padding))
        if x.shape[0] % 4:
            raise ValueError("no multiple of 4")
        return x.view(x.shape[0] // 4, 4, 4).sum(1)


@pytest.mark.parametrize("kind", [Product, Window], ids=lambda kind: kind.__name__)
def test_sides_as_models_have_them(kind) -> None:
    model = kind().eval()
    program = export(kind)
    assert not program.report.conditions  # the check of a side is a condition of that side
    for size in (2, 3, 4, 5, 6, 8, 9, 12):
        for sign in (1, -1):
            x = torch.randn(size, 4).abs() * sign
            torch.testing.assert_close(program(x)[0], model(x), atol=1e-5, rtol=1e-4)


class Positions(nn.Module):
    """A table that is used as it is where it has as many entries as there are tokens, and resized elsewhere, as DINOv2 has it."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.linspace(-1, 1, 48).reshape(12, 4))

    def forward(self, x):
        tokens = x.flatten(0, 1)
        if tokens.shape[0] == self.table.shape[0] and x.shape[0] < x.shape[1]:
            return tokens + self.table
        return tokens + torch.nn.functional.interpolate(self.table.T[None], size=tokens.shape[0], mode="linear")[0].T


def test_sizes_at_which_a_side_can_run_are_found() -> None:
    model = Positions().eval()
    program = aten2onnx.export(model, (torch.randn(6, 4, 4),), dynamic_shapes={"x": {0: "h", 1: "w"}}, capture="record")
    for sizes in ((6, 4), (3, 4), (4, 3), (2, 6), (6, 2), (5, 5), (8, 3)):
        x = torch.randn(*sizes, 4)
        torch.testing.assert_close(program(x)[0], model(x), atol=1e-5, rtol=1e-4)


class Row(nn.Module):
    """Branches one after the other."""

    def forward(self, x, c):
        for i in range(len(c)):
            if c[i] > 0:
                x = x * 2 + i
            else:
                x = (x - i).tanh()
        return x


class Modified(nn.Module):
    """Sides that change nothing, and one that reads what an earlier one has made of the same tensor."""

    def forward(self, x, c):
        y = x
        if c[0] > 0:
            y = x + 1
        if c[1] > 0:
            x = x.relu()
        if c[2] > 0:
            x = x - y
        else:
            x = x * y * 3
        if c[3] > 0:
            x = x + y
        return x


class Flag(nn.Module):
    """What a branch leaves behind is a plain value of Python, which a later one reads."""

    def forward(self, x, c):
        k = 1
        for i in range(3):
            if c[i] > 0:
                k = k + i
                x = x + 1
            else:
                x = x - 1
        return x * k if c[3] > 0 else x


class Unread(nn.Module):
    """A value that a side has made, and only one side of a later branch reads."""

    def forward(self, x, c):
        y = x + 1 if c[0] > 0 else x * 2
        if c[1] > 0:
            x = x + y
        if c[2] > 0:
            x = x.relu()
        return x


class Written(nn.Module):
    def forward(self, x, c):
        x = x.clone()
        if c[0] > 0:
            x[:, 0] = 1
        if c[1] > 0:
            x[:, 1] += x[:, 0]
        else:
            x[0] = c[1]
        if c[2] > 0:
            x.mul_(3)
        return x + 1


class Gathered(nn.Module):
    """Lists of other lengths."""

    def forward(self, x, c):
        found = [x * i for i in range(len(c)) if c[i] > 0]
        return torch.stack(found).sum(0) if found else x


@pytest.fixture
def runs(monkeypatch) -> list[int]:
    """The numbers of runs of each recording of both sides."""
    from aten2onnx._record.explorer import Explorer

    counts: list[int] = []
    path = Explorer.path
    monkeypatch.setattr(Explorer, "path", lambda self, run: [path(self, run), counts.append(self.runs)][0])
    return counts


def at_all_answers(program, model, count: int) -> None:
    """Holds a file against its model at all answers to its branches."""
    for number, answers in enumerate(itertools.product((1.0, -1.0), repeat=count)):
        x, c = torch.randn(2 + number % 4, 4), torch.tensor(answers)
        torch.testing.assert_close(program(x, c)[0], model(x, c), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(("kind", "count", "most"), [(Row, 8, 9), (Modified, 4, 16), (Flag, 4, 16), (Unread, 3, 5), (Written, 3, 8), (Gathered, 4, 16)])
@pytest.mark.parametrize("start", [1.0, -1.0])
def test_branches_in_a_row(kind, count, most, start, runs) -> None:
    model = kind().eval()
    program = aten2onnx.export(model, (torch.randn(3, 4), torch.full((count,), start)), dynamic_shapes={"x": {0: "n"}, "c": {}}, capture="record")
    at_all_answers(program, model, count)
    assert 1 < max(runs) <= most, runs


def test_branches_that_depend_on_one_another_are_found(monkeypatch) -> None:
    """Without the runs that hold the program, what `Flag` leaves behind is lost."""
    from aten2onnx import _recorded
    from aten2onnx._record import paths

    monkeypatch.setattr(_recorded, "try_out", lambda *args: None)
    monkeypatch.setattr(paths, "holds", lambda path, explorer: True)
    model = Flag().eval()
    program = aten2onnx.export(model, (torch.randn(3, 4), -torch.ones(4)), dynamic_shapes={"x": {0: "n"}, "c": {}}, capture="record")
    with pytest.raises(AssertionError):
        at_all_answers(program, model, 4)


def test_combinations_have_any_answers_of_any_three() -> None:
    from aten2onnx._record.follow import combinations

    places = [("a.py", number, 0) for number in range(7)]
    rows = [dict.fromkeys(places, True), *combinations(places, [dict.fromkeys(places, True)])]
    for chosen in itertools.combinations(places, 3):
        assert len({tuple(row[place] for place in chosen) for row in rows}) == 8
    assert len(rows) <= 20


def test_a_long_row_takes_a_run_for_each_branch(runs) -> None:
    program = aten2onnx.export(Row().eval(), (torch.randn(3, 4), torch.ones(20)), dynamic_shapes={"x": {0: "n"}, "c": {}}, capture="record")
    assert program.report.operators["If"] == 20 and set(runs) <= {1, 21}


@pytest.mark.parametrize("names", [{}, {"__name__": "__main__"}, {"__name__": "some.module"}])
@pytest.mark.parametrize("file", ["<string>", "<stdin>"])
def test_code_without_a_file_is_the_model_s(names, file) -> None:
    """`python -c`, `exec` and a prompt have branches, too."""
    names = dict(names)
    text = """
import torch
class Prompted(torch.nn.Module):
    def forward(self, x):
        y = x * 2 if x.shape[0] > 4 else x + 1
        if x.sum() > 0:
            y = y.relu()
        return y[:int(x.shape[0] / 2)]
"""
    exec(compile(text, file, "exec"), names)
    model = names["Prompted"]().eval()
    program = aten2onnx.export(model, (X,), dynamic_shapes=N, capture="record")
    for size in (2, 4, 5, 9):
        for sign in (1, -1):
            x = torch.randn(size, 4).abs() * sign
            torch.testing.assert_close(program(x)[0], model(x))
    with pytest.raises(aten2onnx.CaptureError, match="depends on"):
        aten2onnx.export(model, (X,), dynamic_shapes=N, branches="refuse")


def test_a_loop_in_code_without_a_file_is_refused_and_says_so() -> None:
    names: dict = {}
    exec("import torch\nclass Looped(torch.nn.Module):\n    def forward(self, x):\n        while x.sum() > 1:\n            x = x / 2\n        return x\n", names)
    with pytest.raises(aten2onnx.CaptureError) as caught:
        aten2onnx.export(names["Looped"]().eval(), (X,), dynamic_shapes=N)
    assert 'File "<string>", line 4' in str(caught.value) and "put the code of the model into a file" in caught.value.help and "``" not in str(caught.value)


class Lists(nn.Module):
    def forward(self, x):
        return (x, x * 2) if x.sum() > 0 else (x,)


class Ranks(nn.Module):
    def forward(self, x):
        return x.sum(0) if x.sum() > 0 else x


class Fails(nn.Module):
    """A side that no other inputs of the export can take."""

    def forward(self, x):
        if x.sum() > 1e6:
            return x @ torch.ones(5, 2)
        return x


@pytest.mark.parametrize(
    ("kind", "message"),
    [(Lists, "results of another form"), (Ranks, "another type or rank"), (Fails, "its other side fails at the inputs that were tried")],
)
def test_sides_that_do_not_go_together_are_refused_with_their_line(kind, message) -> None:
    with pytest.raises(aten2onnx.CaptureError, match=message) as caught:
        export(kind)
    assert "test_branches.py" in str(caught.value) and 'branches="example"' in caught.value.help


def test_the_model_is_as_before_after_its_sides_were_taken() -> None:
    model = Buffer().eval()
    aten2onnx.export(model, (X,), dynamic_shapes=N, capture="record")
    assert torch.equal(model.count, torch.ones(4))


def test_the_sides_of_a_branch_change_a_buffer() -> None:
    import onnxruntime

    program = export(Buffer, keep_mutations=True)
    session = onnxruntime.InferenceSession(program.model_bytes)
    names = [value.name for value in session.get_inputs()]
    for x in (X, -X):
        result, count = session.run(None, dict(zip(names, (x.numpy(), torch.ones(4).numpy()), strict=True)))
        wanted = torch.ones(4) + x[0] if x.sum() > 0 else torch.ones(4)
        torch.testing.assert_close(torch.from_numpy(count), wanted)
        torch.testing.assert_close(torch.from_numpy(result), x * wanted)


@pytest.mark.parametrize("seed", [*range(12), 3051])
def test_random_programs_with_branches_are_right_or_refused(seed) -> None:
    found, text = programs.verdict(seed, branches=True, capture="record")
    assert found != "wrong", f"{text}\n{programs.source(seed, True)}"


class Cheap(nn.Module):
    """Sides that compute element by element."""

    def forward(self, x):
        if x.sum() > 0:
            y = torch.exp(-x.abs()) * 2
        else:
            y = x + x.mean()
        return y.sin()


class Costly(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return self.layer(x) if x.sum() > 0 else -x


class Whole(nn.Module):
    """A division of integers, which is not taken where it fails."""

    def forward(self, x):
        k = x.long()
        return k // k if k.abs().min() > 0 else k


def test_a_runtime_without_if_gets_both_sides_and_where():
    model, x = Cheap().eval(), torch.randn(2, 4)
    program = aten2onnx.export(model, (x,), target="rknn-2.5")
    kinds = program.report.operators
    assert "If" not in kinds and kinds["Where"] == 1
    assert any("both sides of a branch run each time" in note for note in program.report.notes)
    for sign in (1, -1):
        torch.testing.assert_close(program(sign * x.abs())[0], model(sign * x.abs()), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("kind", "words"), [(Costly, "`Gemm` may be slow"), (Whole, "may divide by zero")])
def test_a_runtime_without_if_refuses_sides_that_may_fail(kind, words):
    with pytest.raises(aten2onnx.UnsupportedError, match=f"no If, and Where cannot take its place, because .*{words}"):
        aten2onnx.export(kind().eval(), (torch.full((2, 4), 2.0),), target="rknn-2.5")
