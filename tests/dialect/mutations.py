"""Modules that write to their buffers, parameters and inputs. They are called once, or several times with their state passed on."""
import torch
import torch.nn as nn
from torch.export import Dim

from cases import Case

ROWS = ({0: Dim("rows", min=2, max=64)},)


def x(rows=4, columns=3, seed=1):
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed))


class State(nn.Module):
    """A module with many kinds of buffers that calls a function."""

    def __init__(self, function):
        super().__init__()
        torch.manual_seed(0)
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("cache", torch.zeros(2, 8, 3))
        self.register_buffer("count", torch.tensor(0))
        self.register_buffer("window", torch.randn(5, 3), persistent=False)
        self.register_buffer("narrow", torch.randn(3).half())
        self.register_buffer("turned", torch.randn(3, 4).t())
        self.weight = nn.Parameter(torch.randn(3), requires_grad=False)
        self.function = function

    def forward(self, *args):
        return self.function(self, *args)


def running_mean(m, a):
    m.mean.mul_(0.9).add_(a.mean(0), alpha=0.1)
    m.count += 1
    return a - m.mean


def cache_at(m, a):
    """Writes keys and values to the next slot of a cache."""
    m.cache.index_copy_(1, m.count.reshape(1), a[:2, None])
    m.count.add_(1)
    seen = torch.arange(8) < m.count
    return torch.where(seen[None, :, None], m.cache, 0.0).sum(1)


def cache_in_slice(m, a):
    m.cache[:, 2:4] = a[:2, None]
    m.cache[0, -1] += a[0]
    return m.cache.mean(1)


def cache_by_index(m, a):
    m.cache.index_put_((torch.tensor([0, 1]), m.count.expand(2)), a[:2], accumulate=True)
    m.count.copy_((m.count + 1) % 8)
    return m.cache.amax(1)


def sliding_window(m, a):
    m.window.copy_(torch.cat([m.window[1:], a[:1]]))
    return m.window * 1.0, m.window.mean(0)


def through_a_view(m, a):
    flat = m.window.view(-1)
    flat[::4].add_(1)
    flat.unflatten(0, (5, 3))[1].copy_(a[0])
    return m.window.sum(), flat[:2] * 2


def state_is_an_output(m, a):
    m.mean.add_(a[0])
    return m.mean, m.mean[:2], a


def half_precision(m, a):
    m.narrow.copy_(a[0])
    m.narrow.mul_(2)
    return m.narrow.float() + a


def transposed_state(m, a):
    m.turned[:, 0].copy_(a[0, 0].expand(4))
    m.turned.add_(1)
    return m.turned.sum(1)


def parameter(m, a):
    m.weight.mul_(0.5)
    return a * m.weight


def windows(m, a):
    """Writes to windows that do not overlap, for any number of windows. (torch's decomposition sets elements outside of all windows to 0.)"""
    state = m.cache.flatten() + a.sum()
    state.unfold(0, 4, 4).mul_(2)
    b = a.clone()
    b.unfold(0, 1, 1).add_(1)
    m.mean.add_(b.mean(0))
    return state.sum() + b


def inputs(m, a, b):
    a.add_(1)
    b[0].zero_()
    m.count += 1
    return a * b


def input_is_an_output(m, a):
    a.relu_()
    return a, a * 2


def lists(m, a):
    """Calls operators on lists of tensors, some of which are views of others."""
    tensors = [m.mean, m.cache[0], a.clone()]
    torch._foreach_add_(tensors, 1)
    torch._foreach_mul_(tensors, [0.5, 2.0, 3.0])
    torch._foreach_add_(tensors[1:2], [m.cache[1]], alpha=2)
    torch._foreach_clamp_min_(tensors, -0.5)
    torch._foreach_addcmul_(tensors[:1], [a[0]], [a[1]], value=2)
    torch._foreach_lerp_(tensors[2:], [a], 0.25)
    torch._foreach_copy_([m.narrow], [a[0]])
    roots = torch._foreach_sqrt(torch._foreach_abs(tensors))
    return roots, torch._foreach_norm(tensors), torch._foreach_pow(tensors, 2), torch._foreach_maximum(tensors, 0.25)


def created_in_an_argument(m, a):
    """Calls operators that create tensors with `out=`, which decides the dtype."""
    torch.arange(0.5, 3.5, out=m.mean)
    torch.zeros(8, 3, out=m.cache[1])
    torch.full((3,), 2.5, out=m.narrow)
    torch.eye(5, 3, out=m.window)
    whole = torch.linspace(0.9, 2.2, 4, out=torch.empty(4, dtype=torch.int64))
    return a * m.mean, m.cache + 1, m.window * 2, whole, torch.logspace(0, 2, 3, out=torch.empty(0))


def nothing_is_written(m, a):
    return a * m.mean.clone().add_(1)


def asserted(m, a):
    torch._assert(a.shape[0] > 1, "too few rows")
    n = (a > 0).sum().item()
    torch._check(n < 100, lambda: "too many positive elements")
    return a * n


class Normed(nn.Module):
    """A normalization in training mode, with its statistics."""

    def __init__(self, norm, reads=False):
        super().__init__()
        self.norm, self.reads = norm, reads

    def forward(self, a):
        b = self.norm(a)
        return b * self.norm.running_var if self.reads else b


class Cell(nn.Module):
    """A recurrent cell that keeps its state in a buffer."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.cell = nn.LSTMCell(3, 5)
        self.register_buffer("h", torch.zeros(1, 5))
        self.register_buffer("c", torch.zeros(1, 5))

    def forward(self, a):
        h, c = self.cell(a[:1], (self.h, self.c))
        self.h.copy_(h)
        self.c.copy_(c)
        return h


class Tied(nn.Module):
    """A buffer with two names."""

    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.ones(3))
        self.register_buffer("b", self.a)

    def forward(self, x):
        self.a.add_(1)
        return x * self.b


def cases():
    functions = [running_mean, cache_at, cache_in_slice, cache_by_index, sliding_window, through_a_view, state_is_an_output,
                 half_precision, transposed_state, parameter, lists, input_is_an_output, created_in_an_argument, nothing_is_written, windows]
    for function in functions:
        for kind, others in [("", {}), ("_dynamic", {"shapes": (ROWS,), "others": [(x(6, seed=2),), (x(3, seed=3),)]}), ("_decomposed", {"decomposed": True})]:
            yield f"{function.__name__}{kind}", lambda f=function, o=others: Case(State(f), x(), steps=3, tolerance=tolerance(f), **o)
        yield f"{function.__name__}_dropped", lambda f=function: Case(State(f), x(), says=says(f), tolerance=tolerance(f))
    yield "inputs", lambda: Case(State(inputs), x(), x(seed=2), steps=2, outputs_are=["mul", "count_out", "args_0_out", "args_1_out"])
    yield "inputs_dropped", lambda: Case(State(inputs), x(), x(seed=2), says=["writes to its input `args_0`", "buffer or parameter `count`"], outputs_are=["mul"])
    yield "cell", lambda: Case(Cell(), x(), steps=4, inputs_are=["a", "h", "c"])
    yield "tied", lambda: Case(Tied(), x(), steps=0)
    yield "tied_kept", lambda: Case(Tied(), x(), steps=2, outputs_are=["mul", "a_out"], inputs_are=["x", "a"])
    for kind in ["", "_decomposed"]:
        decomposed = bool(kind)
        for reads in [False, True]:
            name = f"batch_norm{'_read' * reads}{kind}"
            yield name, lambda r=reads, d=decomposed: Case(Normed(nn.BatchNorm1d(3), r), x(), shapes=((ROWS[0],)), others=[(x(7, seed=3),)], steps=3, decomposed=d)
            yield f"{name}_dropped", lambda r=reads, d=decomposed: Case(Normed(nn.BatchNorm1d(3), r), x(), decomposed=d, says=["`norm.running_mean`"])
        yield f"batch_norm_2d{kind}", lambda d=decomposed: Case(Normed(nn.BatchNorm2d(3, affine=False, momentum=0.3)), torch.randn(2, 3, 4, 5), steps=2, decomposed=d)
        yield f"batch_norm_without_state{kind}", lambda d=decomposed: Case(Normed(nn.BatchNorm1d(3, track_running_stats=False)), x(), decomposed=d)
        yield f"instance_norm_dropped{kind}", lambda d=decomposed: Case(Normed(nn.InstanceNorm1d(3, track_running_stats=True)), torch.randn(2, 3, 5), decomposed=d, says=["`norm.running_mean`"])
        for rank, layer in [(1, nn.InstanceNorm1d), (2, nn.InstanceNorm2d)]:
            yield f"instance_norm_{rank}d{kind}", lambda r=rank, n=layer, d=decomposed: Case(Normed(n(3, track_running_stats=True, momentum=0.3)), torch.randn(2, 3, *[4] * r), steps=3, decomposed=d)
    yield "asserted", lambda: Case(State(asserted), x(), flags=["--keep-assertions"], says=["does not check", "_assert_scalar"])


def says(function):
    if function is nothing_is_written:
        return []
    return ["the exported model does not change it"]


def tolerance(function):
    """Returns the tolerance: ONNX Runtime computes float16 in float32."""
    return 2e-3 if function is half_precision else 1e-4
