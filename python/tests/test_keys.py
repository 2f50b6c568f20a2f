"""Numbers as keys of dictionaries and elements of sets, and text of numbers, held against PyTorch at other sizes and data."""

from __future__ import annotations

import collections

import pytest
import torch
from torch import nn

import aten2onnx


class InSet(nn.Module):
    def forward(self, x):
        if int(x[0].argmax()) in {1, 3}:
            return x * 2
        return x + 1


class Got(nn.Module):
    factors = {1: 2.0, 3: 5.0}

    def forward(self, x):
        return x * self.factors.get(int(x[0].argmax()), 0.5)


class SizeInSet(nn.Module):
    def forward(self, x):
        return x * 2 if x.shape[0] not in {3, 5, 7} else x + 1


class SizeGot(nn.Module):
    def forward(self, x):
        return x * {3: 2.0, 5: 5.0}.get(x.shape[0], 0.5)


class SizesGot(nn.Module):
    def forward(self, x):
        known = {(3, 4): 2.0, (5, 4): 3.0}
        return x * (known[x.shape[0], 4] if (x.shape[0], 4) in known else 0.5)


class Of(nn.Module):
    def forward(self, x):
        return x * {True: 2.0, False: 3.0}[x.shape[0] > 4]


class Place(nn.Module):
    def forward(self, x):
        n = x.shape[0]
        return [x * 2, x + 1][n > 4] * (n, 3)[n % 2 == 0 and n > 2]


class Remembered(nn.Module):
    """What a dictionary has is what the run has put there: no key is another one at other sizes."""

    def __init__(self):
        super().__init__()
        self.known = {}

    def forward(self, x):
        if x.shape[0] not in self.known:
            self.known[x.shape[0]] = torch.arange(x.shape[0])[:, None] * 1.0
        return x + self.known[x.shape[0]]


def check(model, example, others, **shapes):
    program = aten2onnx.export(model.eval(), example, capture="record", **shapes)
    assert not program.report.conditions
    for args in (example, *others):
        torch.testing.assert_close(program(*args)[0], model(*args))


def inputs():
    return [(torch.randn(n, 4) * sign,) for n in (1, 2, 3, 4, 5, 7, 9) for sign in (1, -1, 3)]


@pytest.mark.parametrize("kind", [InSet, Got, SizeInSet, SizeGot, SizesGot, Of, Place, Remembered])
def test_a_key_that_the_example_does_not_find_is_asked_for(kind) -> None:
    torch.manual_seed(0)
    check(kind(), (torch.randn(6, 4),), inputs(), dynamic_shapes={"x": {0: "n"}})


def test_keys_of_static_models() -> None:
    torch.manual_seed(0)
    others = [(x,) for x in torch.eye(4)[:, None].expand(4, 6, 4)]
    for kind in (InSet, Got):
        check(kind(), (torch.randn(6, 4),), others)


class Display(nn.Module):
    def forward(self, x):
        return x * len({int(x[0].argmax()), int(x[1].argmax())})


class OfSizes(nn.Module):
    def forward(self, x):
        return x * len({x.shape[0], 6})


class Made(nn.Module):
    def forward(self, x):
        return x * len(set([int(x[0].argmax()), int(x[1].argmax())]))


@pytest.mark.parametrize("kind", [Display, OfSizes, Made])
def test_sets_that_are_made_of_numbers_are_refused_with_their_line(kind) -> None:
    torch.manual_seed(0)
    for shapes in ({"x": {0: "n"}}, None) if kind is not OfSizes else ({"x": {0: "n"}},):
        with pytest.raises(aten2onnx.CaptureError, match=r"test_keys.py"):
            aten2onnx.export(kind(), (torch.randn(5, 4),), dynamic_shapes=shapes, capture="record")


class Counted(nn.Module):
    def forward(self, x):
        return x * collections.Counter(x.shape)[4]


class KeyOfOne(nn.Module):
    def forward(self, x):
        return x * {x.shape[0]: 1}.get(4, 7)


class NameOfSize(nn.Module):
    def forward(self, x):
        name = f"head{x.shape[0]}"
        return x * (5 if name in ("head3", "head9") else 1)


class Bits(nn.Module):
    """6 and 12 have the same number of bits that are set."""

    def forward(self, x):
        return x * bin(x.shape[0]).count("1")


class KeyOfData(nn.Module):
    def forward(self, x):
        counts = {}
        counts[int(x[0].argmax())] = 1
        return x * counts.get(3, 7)


@pytest.mark.parametrize("kind", [Counted, KeyOfOne, NameOfSize, Bits, KeyOfData])
def test_keys_and_text_that_meet_others_at_other_inputs_only_are_refused_with_their_line(kind) -> None:
    """At the example, and at twice and three times its size, none is equal to another."""
    torch.manual_seed(0)
    with pytest.raises(aten2onnx.CaptureError, match=r"(?s)(a key of a dictionary|plain number|new in a dictionary).*test_keys\.py"):
        aten2onnx.export(kind(), (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")


class Joined(nn.Module):
    """Python remembers all sides: no run with three other answers has the text."""

    def forward(self, x):
        text = "".join("1" if is_more else "0" for is_more in (x[0] > 0).tolist())
        return x * (5 if text == "1111" else 1)


def test_what_python_remembers_of_branches_without_calls_is_tried_out() -> None:
    with pytest.raises(aten2onnx.CaptureError, match="another program at other inputs"):
        aten2onnx.export(Joined(), (torch.tensor([[1.0, -1, -1, 1]]).repeat(6, 1),), dynamic_shapes={"x": {0: "n"}}, capture="record")


class Named(nn.Module):
    """Layers that are found by a name with a number in it."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({f"l{i}": nn.Linear(4, 4) for i in range(4)})


class ByFormat(Named):
    def forward(self, x):
        return self.layers[f"l{int(x[0].argmax())}"](x)


class ByTensor(Named):
    def forward(self, x):
        name = f"l{x[0].argmax()}"
        return self.layers[name](x)


class ByText(Named):
    def forward(self, x):
        return getattr(self.layers, "l" + str(int(x[0].argmax())))(x)


class Digits(nn.Module):
    def forward(self, x):
        return x * len(str(x.shape[0] * 3))


class Padded(nn.Module):
    """Names that a size chooses, with zeros before the number, beside others that no number makes."""

    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleDict({f"head{i:02d}_a": nn.Linear(4, 4) for i in range(3)} | {"head_a": nn.ReLU(), "head+1_a": nn.ReLU()})

    def forward(self, x):
        return self.heads[f"head{x.shape[0] % 3:02d}_a"](x)


class Scaled(nn.Module):
    """Parameters and buffers of a turn's own."""

    def __init__(self):
        super().__init__()
        self.scales = nn.ParameterDict({f"w_{i}": nn.Parameter(torch.randn(4)) for i in range(4)})
        self.register_buffer("shift0", torch.ones(4))
        self.register_buffer("shift1", torch.zeros(4) - 1)

    def forward(self, x):
        rows = []
        for i in range(x.shape[0]):
            rows.append(x[i] * self.scales[f"w_{x[i].argmax()}"] + getattr(self, "shift" + str(i % 2)))
        return torch.stack(rows)


@pytest.mark.parametrize("kind", [ByFormat, ByText, Padded, Scaled])
def test_what_is_found_by_text_of_a_number_is_chosen_by_the_number(kind) -> None:
    torch.manual_seed(0)
    model = kind().eval()
    program = aten2onnx.export(model, (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")
    for size in (1, 2, 3, 5, 7, 9):
        for _ in range(4):
            x = torch.randn(size, 4)
            torch.testing.assert_close(program(x)[0], model(x), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", [ByTensor, Digits])
def test_text_of_numbers_that_a_model_goes_on_with_is_refused_with_its_line(kind) -> None:
    with pytest.raises(aten2onnx.CaptureError, match=r"(?s)makes text of .*test_keys\.py"):
        aten2onnx.export(kind().eval(), (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")


class Told(nn.Module):
    def forward(self, x):
        where = f"{x.shape[0]} rows"
        print(f"{x.shape[0]} rows, the first is {x[0]}", x.sum(), int(x[0].argmax()))
        assert x.shape[1] == 4, f"{x.shape}"
        if x.dim() != 2:
            raise ValueError(f"{x.shape} of {where}")
        return x * 2


def test_messages_may_have_numbers_and_tensors() -> None:
    check(Told(), (torch.randn(6, 4),), inputs(), dynamic_shapes={"x": {0: "n"}})


class Reports(nn.Module):
    """Numbers in messages, with formats."""

    def forward(self, x):
        n = x.shape[0]
        print(f"{n:03d} rows, mean {x.mean().item():.3f}, largest {float(x.max()):>8.2e}, {x.sum():.1f}")
        if torch.isnan(x).any():
            raise ValueError(f"{n:d} rows, one is {x[0, 0].item():+.2f}")
        return x.softmax(0)


def test_messages_may_have_formats(capsys) -> None:
    program = aten2onnx.export(Reports().eval(), (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")
    assert "006 rows, mean " in capsys.readouterr().out
    x = torch.randn(3, 4)
    torch.testing.assert_close(torch.as_tensor(program(x)[0]), x.softmax(0))


class AtFewTurns(torch.nn.Module):
    """A text of a size that is another one where the loop makes two turns, which are too few to compare."""

    def forward(self, x):
        h = torch.zeros(4)
        for row in x:
            h = torch.tanh(h + row)
        return h * (5.0 if str(x.shape[0]) == "2" else 1.0)


def test_a_plain_number_where_a_loop_makes_few_turns() -> None:
    with pytest.raises(aten2onnx.CaptureError, match=r"(?s)another program at other inputs.*n=2.*test_keys\.py"):
        aten2onnx.export(AtFewTurns().eval(), (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")


class Apart(nn.Module):
    """One size is much larger than the other in no run that is made anyway."""

    def forward(self, x):
        rows, columns = (size.__index__() if isinstance(size, torch.SymInt) else size for size in x.shape)
        return x * max(1, (columns - rows) // 3)


def test_plain_numbers_that_are_compared_are_tried_far_apart() -> None:
    with pytest.raises(aten2onnx.CaptureError, match=r"(?s)plain number.*test_keys\.py"):
        aten2onnx.export(Apart().eval(), (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n", 1: "m"}}, capture="record")
