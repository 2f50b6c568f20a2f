"""Programs with branches, loops and scans."""
import torch
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.map import map as map_over
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim

from cases import Case, Function

ROWS = {0: Dim("rows", min=2, max=64)}


def x(rows=4, seed=1):
    return torch.randn(rows, 3, generator=torch.Generator().manual_seed(seed))


def branches(m, a):
    return torch.cond(a.sum() > 0, lambda a: a @ m.w, lambda a: a - 1, (a,))


def branch_on_size(m, a):
    return torch.cond(a.shape[0] > 5, lambda a: a.sin() + a.shape[0], lambda a: a.cos(), (a,))


def bits_of_size(m, a):
    n = a.shape[0]
    return a * (n & 3) + (n | 1) - (n << 1)


def branches_of_numbers(m, a):
    return torch.zeros(torch.cond(a.sum() > 0, lambda a: 3, lambda a: 4, (a,))) + 1


def two_results(m, a):
    b, c = torch.cond(a.sum() > 0, lambda a: (a + 1, a[:1].clone()), lambda a: (a * m.w[0], a[1:2].clone()), (a,))
    return b, c * 2


def writes_inside(m, a):
    def yes(a):
        b = a.clone()
        b.view(-1).add_(1)
        return b
    return torch.cond(a.max() > 1, yes, lambda a: (a * 2).relu_(), (a,))


def nested_branches(m, a):
    def inner(a):
        return torch.cond(a.max() > 1, lambda b: b @ m.w, lambda b: b - 1, (a,))
    return torch.cond(a.sum() > 0, inner, lambda a: a.exp(), (a,))


def counted_loop(m, a):
    _, b = while_loop(lambda i, b: i < 3, lambda i, b: (i + 1, torch.tanh(b @ m.w)), (m.steps.clone(), a))
    return b


def loop_until(m, a):
    return while_loop(lambda b: b.abs().sum() < 100, lambda b: (b * 2,), (a,))


def loop_over_size(m, a):
    return while_loop(lambda i, b: i < a.shape[0], lambda i, b: (i + 1, b * 2 + a.shape[0]), (m.steps.clone(), a))


def loop_in_branch(m, a):
    def yes(a):
        return while_loop(lambda i, b: i < 3, lambda i, b: (i + 1, b + 1), (torch.zeros((), dtype=torch.int64), a))[1]
    return torch.cond(a.sum() > 0, yes, lambda a: a.clone(), (a,))


def branch_in_loop(m, a):
    def body(i, b):
        return i + 1, torch.cond(b.sum() > 0, lambda b: b - 1, lambda b: b * 2, (b,))
    return while_loop(lambda i, b: i < 4, body, (m.steps.clone(), a))[1]


def loop_in_loop(m, a):
    def body(i, b):
        return i + 1, while_loop(lambda j, c: j < 2, lambda j, c: (j + 1, c * 1.5 + i), (torch.zeros((), dtype=torch.int64), b))[1]
    return while_loop(lambda i, b: i < 3, body, (m.steps.clone(), a))[1]


def running_sum(m, a):
    return scan(lambda c, a: (c + a, c * a.sum()), torch.zeros(3), a)


def cell(m, a):
    def step(carry, inputs):
        h, c = carry
        u, v = inputs
        h = torch.tanh(h @ m.w + u)
        c = c * 0.5 + v
        return (h, c), (h + c, u - v)
    return scan(step, (torch.zeros(3), torch.ones(3)), (a, a * 2))


def backwards(m, a):
    return scan(lambda c, a: (c + a, c * 1.0), torch.zeros(3), a, reverse=True)


def mapped(m, a):
    return map_over(lambda row, bias: row @ m.w + bias, a, torch.ones(3))


def mapped_writes(m, a):
    return map_over(lambda row: row.clone().add_(1), a)


def map_of_branches(m, a):
    return map_over(lambda row: torch.cond(row.sum() > 0, lambda r: r * 2, lambda r: r - 1, (row,)), a)


def associative(m, a):
    return associative_scan(lambda p, q: p * 0.5 + q, a, 0, combine_mode="generic")


def associative_of_two(m, a):
    return associative_scan(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (a.sigmoid(), a), 0, combine_mode="generic")


def vectorised(m, a):
    return torch.vmap(lambda row: (row @ m.w).softmax(0) + row.sum())(a)


def vectorised_twice(m, a):
    return torch.vmap(lambda row: torch.vmap(lambda x: x * row.sum() + x.exp())(row))(a)


def carried_size(m, a):
    return while_loop(lambda n, b: n > 0, lambda n, b: (n - 1, b * 0.5 + n), (a.shape[0], a))[1]


def captured_size(m, a):
    n = a.shape[0]
    return torch.cond(a.sum() > 0, lambda a: a * n + torch.arange(n)[:, None], lambda a: a - n, (a,))


def branch_in_loop_in_branch(m, a):
    def yes(a):
        def body(i, b):
            return i + 1, torch.cond(b.sum() > 0, lambda b: b @ m.w, lambda b: b + 1, (b,))
        return while_loop(lambda i, b: i < 3, body, (torch.zeros((), dtype=torch.int64), a))[1]
    return torch.cond(a.sum() > 0, yes, lambda a: a.sin(), (a,))


def branch_in_scan(m, a):
    def step(c, row):
        return torch.cond(row.sum() > 0, lambda c, r: c + r, lambda c, r: c - r @ m.w, (c, row)), c * 1.0
    return scan(step, torch.zeros(3), a)


def without_gradients(m, a):
    with torch.no_grad():
        b = a @ m.w
        with torch.enable_grad():
            c = b + 1
    return b, c * 2


def checkpointed(m, a):
    return torch.utils.checkpoint.checkpoint(lambda b: (b @ m.w).relu(), a, use_reentrant=False)


@torch.compiler.nested_compile_region
def region(y, w):
    return torch.relu(y @ w)


def region_twice(m, a):
    return region(region(a, m.w), m.w)


def cases():
    dynamic = {"others": [(x(7, 3),)], "shapes": ((ROWS,),)}
    both = [branches, two_results, writes_inside, branches_of_numbers, counted_loop, loop_until, loop_over_size, running_sum,
            cell, backwards, mapped, mapped_writes, map_of_branches, branch_in_loop, loop_in_loop, nested_branches, loop_in_branch, vectorised, vectorised_twice, branch_in_scan,
            branch_in_loop_in_branch, without_gradients, checkpointed, region_twice]
    for function in both:
        yield function.__name__, lambda f=function: Case(Function(f), x())
        yield function.__name__ + "_otherwise", lambda f=function: Case(Function(f), -x(4, 2).abs())
    for function in both + [branch_on_size, bits_of_size]:
        yield function.__name__ + "_dynamic", lambda f=function: Case(Function(f), x(), **dynamic)
        # torch cannot decompose this function.
        if function is not loop_over_size:
            yield function.__name__ + "_decomposed", lambda f=function: Case(Function(f), x(), decomposed=True, **dynamic)
    for function in [associative, associative_of_two]:
        for decomposed in [False, True]:
            name = f"{function.__name__}{'_decomposed' * decomposed}"
            yield name, lambda f=function, d=decomposed: Case(Function(f), x(), decomposed=d)
            yield f"{name}_dynamic", lambda f=function, d=decomposed: Case(Function(f), x(5), decomposed=d, shapes=(({0: Dim.DYNAMIC},),))
