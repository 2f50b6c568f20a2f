"""Graphs are no larger than they must be: which nodes some common programs become, and what is written of their weights."""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
import pytest
import torch
from torch import nn

import aten2onnx


def exported(tmp_path, model, args, shapes=None, opset=18, others=()):
    """The graph of a model, whose file gives PyTorch's numbers for the arguments and for others."""
    import onnxruntime

    path = tmp_path / "model.onnx"
    model = model.eval()
    aten2onnx.export(model, args, path, dynamic_shapes=shapes, opset_version=opset)
    session = onnxruntime.InferenceSession(path)
    for given in (args, *others):
        feeds = {put.name: value.numpy() for put, value in zip(session.get_inputs(), given)}
        want = torch.utils._pytree.tree_leaves(model(*[value.clone() for value in given]))
        for got, wanted in zip(session.run(None, feeds), want):
            torch.testing.assert_close(torch.from_numpy(np.asarray(got)), wanted, rtol=1e-4, atol=1e-4)
    return onnx.load(path).graph


def operators(graph) -> Counter:
    return Counter(node.op_type for node in graph.node)


def weight_bytes(graph) -> int:
    return sum(len(tensor.raw_data) for tensor in graph.initializer)


def of(function, *modules):
    """A module that calls a function with modules and arguments."""

    class Of(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.ModuleList(modules)

        def forward(self, *args):
            return function(*self.inner, *args)

    return Of()


@pytest.mark.parametrize("second", [(2, 5, 64), (5, 64)], ids=["stacks", "a stack and a matrix"])
def test_a_weight_that_two_calls_read_is_written_once(tmp_path, second):
    model = of(lambda linear, x, y: (linear(x), linear(y).relu()), nn.Linear(64, 64))
    graph = exported(tmp_path, model, (torch.randn(2, 3, 64), torch.randn(*second)))
    assert weight_bytes(graph) < 1.1 * 64 * 65 * 4
    assert "Transpose" not in operators(graph)


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 3, 2, 1), nn.BatchNorm2d(4)
        self.norm.running_mean.normal_(), self.norm.running_var.uniform_(0.5, 2)

    def forward(self, x):
        y = self.norm(self.conv(x))
        b, d, h, w = y.shape
        return y.flatten(2).transpose(1, 2).softmax(-1).transpose(1, 2).reshape(b, d, h, w)


def test_who_asks_for_sizes_does_not_keep_a_normalization(tmp_path):
    shapes = {"x": {0: "b", 2: "h", 3: "w"}}
    graph = exported(tmp_path, Tower(), (torch.randn(2, 3, 32, 64),), shapes, others=[(torch.randn(1, 3, 16, 48),)])
    found = operators(graph)
    assert found["Conv"] == 1 and not found["BatchNormalization"]
    assert sum(found.values()) <= 7, found


NORMED = nn.utils.parametrizations.weight_norm


@pytest.mark.parametrize(
    "layer, x",
    [
        (NORMED(nn.Conv1d(4, 4, 3)), (1, 4, 9)),
        (NORMED(nn.Conv1d(128, 128, 7)), (1, 128, 9)),
        (NORMED(nn.Linear(300, 200), dim=None), (5, 300)),
        (nn.utils.parametrizations.spectral_norm(nn.Conv2d(32, 64, 5)), (1, 32, 9, 9)),
    ],
    ids=["small", "large", "of the whole weight", "spectral"],
)
def test_arithmetic_on_weights_leaves_one_node(tmp_path, layer, x):
    graph = exported(tmp_path, layer, (torch.randn(*x),))
    assert sum(operators(graph).values()) <= 2 and set(operators(graph)) <= {"Conv", "Gemm", "MatMul", "Add"}
    # The norm, and the vectors that it is computed with, are not there any more.
    weights = layer.parametrizations.weight
    stored = max((weights.original1 if hasattr(weights, "original1") else weights.original).numel(), 16)
    assert weight_bytes(graph) <= 4 * stored + 4 * 256


@pytest.mark.parametrize("opset", [9, 10, 11, 13, 16, 18])
def test_sums_into_rows_have_no_tensor_of_rows_and_updates(tmp_path, opset):
    model = of(lambda x, i: torch.zeros(400, 64).index_add(0, i, x))
    args = lambda n: (torch.randn(n, 64), torch.randint(0, 400, (n,)))  # noqa: E731
    shapes = {"args": ({0: "n"}, {0: "n"})}
    graph = exported(tmp_path, model, args(4000), shapes, opset, [args(50), args(1)])
    found = operators(graph)
    # ONNX Runtime's threads lose updates of one element in ScatterND.
    assert not found["ScatterND"] and found["ScatterElements" if opset >= 11 else "Scatter"] == 1
    # Below opset 11, a loop sorts by bits and one counts, without a tensor of all pairs of updates, and without a turn for each.
    loops = {9: 3, 10: 3, 11: 1, 13: 1}.get(opset, 0)
    assert (found["Loop"], found["Scan"], found["ArgMax"]) == (loops, 0, 0)
    assert opset >= 16 or not (found["ReduceSum"] or found["Range"] > 1)


@pytest.mark.parametrize("opset", [11, 13])
@pytest.mark.parametrize("reduce", ["sum", "prod", "amax", "amin", "mean"])
def test_reductions_into_rows_at_old_opsets(tmp_path, opset, reduce):
    model = of(lambda x, i: torch.ones(20, 3).scatter_reduce(0, i.unsqueeze(1).expand_as(x), x, reduce))
    args = lambda n: (torch.randn(n, 3), torch.randint(0, 20, (n,)))  # noqa: E731
    exported(tmp_path, model, args(300), {"args": ({0: "n"}, {0: "n"})}, opset, [args(7), (args(9)[0], torch.zeros(9, dtype=torch.int64))])


def test_infinities_reach_only_their_row(tmp_path):
    model = of(lambda x, i: torch.zeros(50, 40).index_add(0, i, x))
    x = torch.randn(60, 40)
    x[3], x[4, 1] = torch.inf, -torch.inf
    exported(tmp_path, model, (x, torch.randint(0, 5, (60,))), None, 13)


@pytest.mark.parametrize(
    "function, most",
    [
        (lambda x: torch.logaddexp(torch.zeros(()), x), {"Clip": 1, "Exp": 1, "Add": 1, "Log": 1, "Max": 1}),
        (lambda x: torch.logaddexp(x, torch.full((), 2.0)), {"Clip": 1, "Exp": 1, "Add": 1, "Log": 1, "Max": 1}),
        (lambda x: torch.logaddexp(torch.tensor(0.0, dtype=x.dtype), x), {"Clip": 1, "Exp": 1, "Add": 1, "Log": 1, "Max": 1}),
        (lambda x: torch.logaddexp(x[:2], x[-2:]), {"Slice": 2, "Max": 1, "Min": 1, "Clip": 1, "Sub": 1, "Exp": 1, "Add": 2, "Log": 1}),
        (lambda x: torch.fft.fft2(x).abs(), None),
        (lambda x: x.mean(0), {"ReduceMean": 1}),
        (lambda x: x.flatten(0), {"Reshape": 1}),
        (lambda x: x.flatten(0).argmax(0), {"Reshape": 1, "IsNaN": 1, "Where": 1, "ArgMax": 1}),
        (lambda x: torch.linalg.inv(x[:3, :3] @ x[:3, :3].T + torch.eye(3)), None),
    ],
    ids=["beside 0", "beside a number", "beside a tensor of a number", "two tensors", "transforms", "a mean", "flatten", "argmax", "an inverse"],
)
def test_few_nodes(tmp_path, function, most):
    shapes = {"args": ({0: "n", 1: "m"},)}
    graph = exported(tmp_path, of(function), (torch.randn(6, 7),), shapes, others=[(torch.randn(3, 5) * 50,)])
    found = operators(graph)
    assert most is None or found == most
    assert found["Cast"] <= 2, "numbers are rounded between two transforms"
    assert not found["Loop"]


LSTM = nn.LSTM(4, 3)
POOL = nn.functional.max_pool2d


@pytest.mark.parametrize("opset", [11, 18, 23])
@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize(
    "op, function, x, modules",
    [
        ("Unique", lambda x: (*torch.unique(x, return_inverse=True), *torch.unique(x, return_counts=True)), torch.randint(0, 4, (3, 4)), ()),
        ("Unique", lambda x: (torch.unique(x, return_counts=True)[1], torch.unique(x, return_inverse=True)[1]), torch.randint(0, 4, (3, 4)), ()),
        ("Unique", lambda x: (torch.unique(x, dim=0), torch.unique(x, dim=0, return_counts=True)[1]), torch.randint(0, 2, (6, 2)), ()),
        ("LSTM", lambda m, x: (m(x)[1][1], m(x)[0], m(x)[1][0]), torch.randn(5, 2, 4), (LSTM,)),
        ("MaxPool", lambda x: (POOL(x, 2), POOL(x, 2, return_indices=True)[1]), torch.randn(1, 2, 4, 4), ()),
    ],
    ids=["inverse and counts", "counts and inverse", "rows", "states", "indices"],
)
def test_calls_that_return_other_parts_of_the_same_are_one_node(tmp_path, op, function, x, modules, optimize, opset):
    """ONNX Runtime merges such nodes itself, and takes what one of them does not return for a result of the other: it could not load the model."""
    import onnxruntime

    if modules and not optimize:
        pytest.skip("each call has nodes of its own that prepare its weights")
    model = of(function, *modules).eval()
    program = aten2onnx.export(model, (x,), opset_version=opset, optimize=optimize)
    assert operators(program.model_proto.graph)[op] == 1 or not optimize
    session = onnxruntime.InferenceSession(program.model_bytes)
    for got, want in zip(session.run(None, {session.get_inputs()[0].name: x.numpy()}), model(x), strict=True):
        torch.testing.assert_close(torch.from_numpy(np.asarray(got)), want.detach())


def test_groups_of_one_channel_are_one_node(tmp_path):
    shapes = {"args": ({0: "b", 2: "h", 3: "w"},)}
    model = of(lambda norm, x: norm(x), nn.GroupNorm(3, 3))
    graph = exported(tmp_path, model, (torch.randn(2, 3, 4, 5),), shapes, others=[(torch.randn(1, 3, 2, 9),)])
    assert operators(graph) == {"InstanceNormalization": 1}
    model = of(lambda norm, x: norm(x), nn.GroupNorm(2, 4))
    graph = exported(tmp_path, model, (torch.randn(2, 4, 4, 5),), shapes, others=[(torch.randn(1, 4, 2, 9),)])
    assert sum(operators(graph).values()) <= 6  # as many as torch.onnx.export writes


def test_recurrent_layers_start_from_nothing(tmp_path):
    model = of(lambda layer, x: layer(x)[0], nn.LSTM(8, 4, batch_first=True, bidirectional=True))
    graph = exported(tmp_path, model, (torch.randn(2, 40, 8),), {"args": ({0: "b"},)}, others=[(torch.randn(3, 40, 8),)])
    assert operators(graph) == {"LSTM": 1, "Transpose": 2, "Reshape": 1}
    model = of(lambda layer, x: layer(x)[0], nn.GRU(8, 4, num_layers=2, batch_first=True))
    graph = exported(tmp_path, model, (torch.randn(2, 40, 8),), {"args": ({0: "b"},)}, others=[(torch.randn(3, 40, 8),)])
    assert operators(graph) == {"GRU": 2, "Transpose": 2, "Squeeze": 2}
    # A first state that is no zero stays.
    model = of(lambda layer, x, h: layer(x, h)[0], nn.GRU(8, 4, batch_first=True))
    graph = exported(tmp_path, model, (torch.randn(2, 5, 8), torch.randn(1, 2, 4)))
    assert graph.node[1].op_type == "GRU" and graph.node[1].input[5]


def masked(d, n):
    d, m = d.clone(), n < d
    d[m] = n[m]
    d[d < -1] = 0.0
    return d


def masked_rows(d, n):
    d, m = d.clone(), n[:, 0] > 0
    d[m] = n[m]
    return d


def masked_by_another(d, n):
    d = d.clone()
    d[n < 0] = n.flip(0)[n < 0]
    return d


@pytest.mark.parametrize("function, wheres", [(masked, 2), (masked_rows, 1), (masked_by_another, 1)])
def test_masked_writes_are_choices(tmp_path, function, wheres):
    args = lambda b: (torch.randn(b, 4), torch.randn(b, 4))  # noqa: E731
    graph = exported(tmp_path, of(function), args(3), {"args": ({0: "b"}, {0: "b"})}, others=[args(5)])
    found = operators(graph)
    assert found["Where"] == wheres and not (found["ScatterND"] or found["NonZero"] or found["Compress"]), found


def test_what_another_mask_chose_is_not_taken_for_it(tmp_path):
    def swapped(d, n):
        d = d.clone()
        d[d > 0] = n[d > 0].flip(0)
        return d

    x = torch.tensor([[1.0, -1, 2], [3, -4, 5]])
    graph = exported(tmp_path, of(swapped), (x, torch.randn(2, 3)))
    assert not operators(graph)["Where"]


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_small_matrices_have_no_loop(tmp_path, n):
    model = of(lambda a, b: (torch.linalg.inv(a), torch.linalg.solve(a, b), torch.linalg.det(a)))
    args = lambda b: (torch.randn(b, n, n) + 3 * torch.eye(n), torch.randn(b, n, 2))  # noqa: E731
    graph = exported(tmp_path, model, args(5), {"args": ({0: "b"}, {0: "b"})}, others=[args(2)])
    assert not operators(graph)["Loop"]


def test_a_variance_of_unknown_sizes(tmp_path):
    model = of(lambda x: x.var((1, 2)))
    shapes = {"args": ({0: "b", 1: "h", 2: "w"},)}
    large = 1000 + torch.rand(1, 800, 800)
    graph = exported(tmp_path, model, (torch.randn(2, 4, 5),), shapes, others=[(large,), (torch.randn(3, 1, 2),)])
    # torch.onnx.export writes as many, without the digits of the large one.
    assert sum(operators(graph).values()) <= 11


def test_an_empty_dimension_is_asked_for(tmp_path):
    model = of(lambda x: x.flatten(1) + 1)
    shapes = {"args": ({0: torch.export.Dim("n", min=0)},)}
    exported(tmp_path, model, (torch.randn(2, 3, 4),), shapes, others=[(torch.randn(0, 3, 4),)])
