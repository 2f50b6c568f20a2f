"""Higher-order operators when a model is recorded: both sides of torch.cond and the bodies of loops are in the file."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.map import map as mapped
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.utils import _pytree as pytree

import aten2onnx


class Sides(nn.Module):
    """Both sides read weights, and a value and a size from outside."""

    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Linear(4, 4)
        self.other = nn.Linear(4, 4)

    def forward(self, x):
        twice = x * 2
        return torch.cond(x.sum() > 0, lambda z: self.one(z) + twice, lambda z: self.other(z) * z.shape[0], (x,))


class SideBySize(nn.Module):
    def forward(self, x):
        return torch.cond(x.shape[0] > 4, lambda z: z.sin(), lambda z: z.cos(), (x,))


class Structured(nn.Module):
    def forward(self, x):
        made = torch.cond(x.mean() > 0, lambda z: {"a": z + 1, "b": (z * 2,)}, lambda z: {"a": z - 1, "b": (z * 3,)}, (x,))
        return made["a"], made["b"][0]


class Nested(nn.Module):
    def forward(self, x):
        w = x.exp()
        inner = lambda z: torch.cond(z.max() > 1, lambda q: q + w, lambda q: q - w, (z,))  # noqa: E731
        return torch.cond(x.sum() > 0, inner, lambda z: z * w, (x,))


class Written(nn.Module):
    """A side writes to a tensor of its own."""

    def forward(self, x):
        def first(z):
            own = z.clone()
            own[0] = 7.0
            return own

        return torch.cond(x.sum() > 0, first, lambda z: -z, (x,))


class While(nn.Module):
    def forward(self, x):
        most = x.abs().max()
        return while_loop(lambda i, v: i.sum() < 3, lambda i, v: (i + 1, v * 2 + most), (torch.zeros(1), x))


class Counted(nn.Module):
    """A loop that carries an integer."""

    def forward(self, x):
        count, value = while_loop(lambda i, v: i < x.shape[0], lambda i, v: (i + 1, v + i), (0, x))
        return value * count


class Scan(nn.Module):
    def forward(self, x):
        return scan(lambda c, v: (c + v.sum(-1, keepdim=True), c * v.mean()), torch.zeros(1), x)


class Map(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        return mapped(lambda v, w: self.linear(v).relu() + w[: v.shape[0]], x, x.sum(0))


class Associative(nn.Module):
    def forward(self, x):
        combine = lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1])  # noqa: E731
        return associative_scan(combine, (x.sin(), x), 0, combine_mode="generic")


class Flex(nn.Module):
    def forward(self, x):
        q = x[None, None]
        return flex_attention(q, q, q, score_mod=lambda score, b, h, i, j: torch.where(i >= j, score + 0.1 * (i - j), -float("inf")))


class Masked(nn.Module):
    def forward(self, x):
        q = x[None, None]
        mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, x.shape[0], x.shape[0], device="cpu")
        return flex_attention(q, q, q, block_mask=mask)


MODELS = [Sides, SideBySize, Structured, Nested, Written, While, Counted, Scan, Map, Associative, Flex, Masked]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
@pytest.mark.parametrize("dynamic", [True, False], ids=["dynamic", "static"])
def test_nested_functions_are_right_at_all_inputs(model, dynamic) -> None:
    torch.manual_seed(0)
    module = model().eval()
    program = aten2onnx.export(module, (torch.randn(5, 4),), dynamic_shapes=({0: "n"},) if dynamic else None, capture="record")
    for rows in (5, 2, 3, 9, 1) if dynamic else (5, 5, 5):
        for sign in (1, -1):
            x = torch.randn(rows, 4).abs() * sign
            with torch.no_grad():
                wanted = pytree.tree_leaves(module(x))
            for got, want in zip(pytree.tree_leaves(program(x)), wanted, strict=True):
                torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("length", [5, 300])
def test_the_blocks_of_a_mask_are_no_condition(length) -> None:
    """A mask holds for all lengths, of one block or of several."""
    module = Masked().eval()
    program = aten2onnx.export(module, (torch.randn(length, 4),), dynamic_shapes=({0: "n"},), capture="record")
    assert not program.report.conditions
    for rows in (1, 5, 128, 129, 300):
        x = torch.randn(rows, 4)
        torch.testing.assert_close(program(x)[0], module(x), rtol=1e-4, atol=1e-4)


class WritesOutside(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(4))

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda z: z + self.count.add_(1), lambda z: z - 1, (x,))


class OtherTypes(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda z: z + 1, lambda z: z.double(), (x,))


@pytest.mark.parametrize(
    ("model", "message"), [(WritesOutside, "writes to a tensor from outside"), (OtherTypes, "results of another type")], ids=["writes", "types"]
)
def test_what_no_function_may_do_is_refused_with_its_line(model, message) -> None:
    with pytest.raises(aten2onnx.CaptureError, match=message) as caught:
        aten2onnx.export(model().eval(), (torch.ones(5, 4),), capture="record")
    assert "test_record_nested.py" in str(caught.value)


def test_pytorch_is_afterwards_as_it_was() -> None:
    before = torch.compiler.is_dynamo_compiling, torch._ops.HigherOrderOperator.__call__
    aten2onnx.export(SideBySize().eval(), (torch.ones(5, 4),), capture="record")
    with pytest.raises(aten2onnx.CaptureError):
        aten2onnx.export(OtherTypes().eval(), (torch.ones(5, 4),), capture="record")
    assert before == (torch.compiler.is_dynamo_compiling, torch._ops.HigherOrderOperator.__call__)


class Unread(nn.Module):
    """Nobody reads what the operator returns, and its functions ask for sizes of their own values."""

    def forward(self, x):
        torch.cond(x.sum() > 0, lambda z: z[z > 0].repeat(2)[: z.shape[0]] + 1, lambda z: z[:1].expand(z.shape[0], 4)[:, 0] - 1, (x,))
        return x + 1


def test_what_nobody_reads_leaves_no_condition() -> None:
    program = aten2onnx.export(Unread().eval(), (torch.ones(5, 4),), dynamic_shapes=({0: "n"},), capture="record")
    assert program.report.operators == {"Add": 1}
    assert not program.report.conditions


class LoopThatWrites(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x):
        return while_loop(lambda i, v: i.sum() < 3, lambda i, v: (i + 1, v + self.count.add_(1)), (torch.zeros(1), x))


def test_a_refused_loop_leaves_the_model_as_it_was() -> None:
    """What a body may not do is found before its rounds run."""
    module = LoopThatWrites().eval()
    with pytest.raises(aten2onnx.CaptureError, match="writes to a tensor from outside"):
        aten2onnx.export(module, (torch.ones(5, 4),), capture="record")
    assert module.count.item() == 0
