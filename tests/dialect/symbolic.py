"""Programs that compute with sizes and with numbers that depend on data. Each also runs on inputs of other sizes.

torch 2.13 makes constants of `math.sqrt` of a size and of `int` of a float, and cannot save `torch.sym_sum` and `math.ceil`.
"""
import math

import torch
import torch.nn.functional as F
from torch.export import Dim

from cases import Case, Function

BOTH = {0: Dim.DYNAMIC, 1: Dim.DYNAMIC}


def tensor(rows=6, columns=4, seed=0):
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed))


# ------------------------------------------------------------ integers computed from sizes

INTEGERS = {
    "sum": lambda a, b: a + b + 1,
    "difference": lambda a, b: 3 * a - 1,
    "product": lambda a, b: a * b,
    "floor_division": lambda a, b: a // 2,
    "floor_division_by_size": lambda a, b: (a * 3) // b,
    "floor_division_of_negative": lambda a, b: 20 + (1 - a) // 2,
    "modulo": lambda a, b: a % 3 + 1,
    "modulo_by_size": lambda a, b: (a * 7) % b + 1,
    "power": lambda a, b: a**2,
    "power_of_two": lambda a, b: 2 ** (a % 3) + 1,
    "maximum": lambda a, b: max(a, 5),
    "minimum": lambda a, b: min(a, b),
    "sym_max": lambda a, b: torch.sym_max(a, 2 * b),
    "sym_min": lambda a, b: torch.sym_min(a, 7),
    "sym_ite": lambda a, b: torch.sym_ite(a > 6, a, b),
    "sym_not": lambda a, b: torch.sym_ite(torch.sym_not(a > 6), a, b),
    "sym_and": lambda a, b: torch.sym_ite((a > 6) & (b > 4), a, b),
    "sym_or": lambda a, b: torch.sym_ite((a > 6) | (b > 4), a, b),
    "negation": lambda a, b: -(-a),
    "shift_left": lambda a, b: a << 1,
    "shift_right": lambda a, b: a >> 1,
    "bit_and": lambda a, b: (a & 6) + 1,
    "bit_or": lambda a, b: a | 9,
    "truncated": lambda a, b: math.trunc(a * 1.5),
    "truncated_division": lambda a, b: torch.sym_int(a / 2) + 1,
    "truncated_by_function": lambda a, b: math.trunc(a / 3) + 1,
    "sym_int": lambda a, b: torch.sym_int(torch.sym_float(a) * 0.5),
    "square_root": lambda a, b: torch.sym_int(a**0.5),
    "sym_sqrt": lambda a, b: torch.sym_int(torch.sym_sqrt(a)),
    "next_multiple": lambda a, b: (a + 7) // 8 * 8,
    "left_over": lambda a, b: 8 - a % 8,
    "halves": lambda a, b: a // 2 + (a - a // 2),
    "of_division_by_many": lambda a, b: (a * b) // (a + b) + 1,
}


def of_size(integer):
    """Uses the number as a size, as an element and as an output."""
    def function(m, x):
        n = integer(x.shape[0], x.shape[1])
        return torch.ones(n, 2) * x.sum(), torch.arange(n), n
    return function


FLOATS = {
    "division": lambda a, b: a / b,
    "times": lambda a, b: a * 0.3 + 1,
    "difference": lambda a, b: 1.5 - a,
    "power": lambda a, b: a**-0.5,
    "power_of_float": lambda a, b: (a * 0.5) ** 2.0,
    "sym_sqrt": lambda a, b: torch.sym_sqrt(a),
    "sym_float": lambda a, b: torch.sym_float(a) / 7,
    "maximum": lambda a, b: torch.sym_max(a * 0.5, 2.2),
}


def of_float(number):
    """Uses the number in arithmetic with a tensor, as a tensor and as an output."""
    def function(m, x):
        f = number(x.shape[0], x.shape[1])
        return x * f, torch.full((2,), f), f
    return function


# ------------------------------------------------------------ sizes as arguments

CALLS = {
    "first_half": lambda m, x: x[: x.shape[0] // 2],
    "last_half": lambda m, x: x[-(x.shape[0] // 2):],
    "middle": lambda m, x: x[x.shape[0] // 4: -1, 1:: 2],
    "last_row": lambda m, x: x[x.shape[0] - 1],
    "narrowed": lambda m, x: x.narrow(0, x.shape[0] - 3, 2),
    "flattened": lambda m, x: x.reshape(-1),
    "viewed": lambda m, x: x.view(x.shape[0] * x.shape[1]),
    "rows_doubled": lambda m, x: torch.cat([x, x]).view(2, x.shape[0], -1),
    "repeated": lambda m, x: x.repeat(2, x.shape[0]),
    "expanded": lambda m, x: x[:1].expand(x.shape[1], -1),
    "tiled": lambda m, x: torch.tile(x, (x.shape[1],)),
    "padded": lambda m, x: F.pad(x, (0, 8 - x.shape[1] % 8)),
    "rolled": lambda m, x: x.roll(x.shape[0] // 2, 0),
    "joined": lambda m, x: torch.cat([x, x[1:], x[:, :1].expand_as(x)]),
    "ranged": lambda m, x: torch.arange(x.shape[0], x.shape[0] * 2, 2),
    "ranged_float": lambda m, x: torch.arange(0, x.shape[0] * 0.5, 0.5),
    "mean": lambda m, x: x.sum() / x.numel() + x.var(0),
    "scaled": lambda m, x: x / x.shape[-1] ** 0.5,
    "causal": lambda m, x: torch.ones(x.shape[0], x.shape[0], dtype=torch.bool).tril(),
    "masked": lambda m, x: torch.full((x.shape[0], x.shape[0]), float("-inf")).triu(1) + x @ x.T,
    "looked_up": lambda m, x: torch.arange(100).view(50, 2)[: x.shape[0]],
    "split_in_two": lambda m, x: x.split(x.shape[0] // 2 + 1),
    "chunked": lambda m, x: x.chunk(2),
    "chunked_again": lambda m, x: [part.relu() for part in torch.cat([x, x], 1).chunk(2, -1)],
    "split_by_sizes": lambda m, x: x.split([2, x.shape[0] - 2]),
    "tensor_split": lambda m, x: x.tensor_split(3),
    "unfolded": lambda m, x: x.unfold(0, 2, 2),
    "strided": lambda m, x: x.as_strided((x.shape[0] - 1, 2), (x.shape[1], 1), 1),
    "pooled_by_mean": lambda m, x: F.avg_pool1d(x, 3, stride=2, padding=1),
    "convolved": lambda m, x: F.conv1d(x[None], torch.ones(1, 1, 3).expand(2, x.shape[0], 3), stride=2, padding=1),
    "convolved_back": lambda m, x: F.conv_transpose1d(x[:, None], torch.ones(1, 2, 3), stride=2),
    "resized": lambda m, x: F.interpolate(x[None], scale_factor=1.5),
    "resized_to": lambda m, x: F.interpolate(x[None, None], size=(x.shape[0] * 2, 5), mode="bilinear"),
    "attended": lambda m, x: F.scaled_dot_product_attention(x[None, None], x[None, None], x[None, None], is_causal=True),
    "one_hot": lambda m, x: F.one_hot(torch.arange(x.shape[0]) % 3, 3),
    "written": lambda m, x: x.clone().index_fill_(0, torch.tensor([1]), 0.0)[: x.shape[0] - 1].add_(x.shape[0]),
    "written_part": lambda m, x: written_part(x),
    "slice_scatter": lambda m, x: x.slice_scatter(torch.zeros_like(x[2: x.shape[0] - 1]), 0, 2, x.shape[0] - 1),
    "slice_scatter_of_nothing": lambda m, x: x.slice_scatter(x[:0], 0, x.shape[0] - 1, x.shape[0] - 3),
    "select_scatter": lambda m, x: x.select_scatter(x[0] * 2, 0, x.shape[0] - 1),
    "diagonal": lambda m, x: x.diagonal(1),
    "as_tensor": lambda m, x: torch.tensor(x.shape[0]) + torch.tensor([x.shape[1], 2]),
    "scalar_tensor": lambda m, x: x * torch.scalar_tensor(x.shape[0] * 0.5),
    "compared": lambda m, x: (x > x.shape[0] / 10, torch.arange(9) < x.shape[1]),
    "stride": lambda m, x: (x.stride(0) + x.T.stride(1), x[1:].storage_offset()),
    "numel": lambda m, x: torch.zeros(x.numel() // 2),
    "stacked": lambda m, x: torch.stack([x, x]).flatten(0, 1).unflatten(0, (2, x.shape[0])),
    "grid": lambda m, x: torch.meshgrid(torch.arange(x.shape[0]), torch.arange(x.shape[1]), indexing="ij"),
    "sorted": lambda m, x: x.sort(0).values[x.shape[0] // 2],
    "top": lambda m, x: x.flatten().topk(x.shape[0] // 2).values,
    "gathered": lambda m, x: x.gather(0, torch.arange(x.shape[0]).flip(0)[:, None].expand_as(x)),
    "normalised": lambda m, x: F.layer_norm(x, (x.shape[1],)),
    "summed_by_name": lambda m, x: torch.einsum("ij,kj->ik", x, x[1:]),
    "padded_between_transposes": lambda m, x: F.pad(x.cos().t()[None, :, :, None], (0, 0, 2, 1)).squeeze(-1).transpose(1, 2).sin(),
    "resized_between_transposes": lambda m, x: resized_channels_last(x, size=(7, 5), mode="bilinear"),
    "enlarged_between_transposes": lambda m, x: resized_channels_last(x, scale_factor=2.0, mode="nearest"),
    "convolved_row_by_row": lambda m, x: F.conv1d(x[None], x[:, None, :3].exp(), x[:, 0], padding=1, groups=x.shape[0]),
    "convolved_back_row_by_row": lambda m, x: F.conv_transpose1d(x[None], x[:, None, :3], stride=2, groups=x.shape[0]),
    "branch_by_size": lambda m, x: torch.cond(x.shape[0] > 7, lambda x: x + x.shape[1], lambda x: x - x.shape[0], (x,)),
}


def resized_channels_last(x, **how):
    image = torch.stack([x, x.cos()], -1)[None].permute(0, 3, 1, 2)
    return F.interpolate(image.relu(), **how).relu().permute(0, 2, 3, 1)


def written_part(x):
    y = torch.zeros(x.shape[0] + 2, x.shape[1])
    y[1: x.shape[0] + 1] = x
    y[:, -1] += x.shape[1]
    return y


# ------------------------------------------------------------ sizes and numbers that depend on data


def nonzero_again(m, x):
    found = (x > 0).nonzero()
    return found[: found.shape[0] // 2], torch.zeros(found.shape[0] * 2 + 1)


def item_as_size(m, x):
    n = (x > 0).sum().item()
    torch._check(n >= 0)
    torch._check(n <= x.shape[0] * x.shape[1])
    return torch.arange(n), x.flatten()[:n] * n


def item_of_float(m, x):
    f = x.max().item()
    return x * f, torch.full((2,), f), f


def item_of_bool(m, x):
    return torch.where(x > 0, x, torch.full_like(x, (x.sum() > 0).item()))


def items_of_list(m, x):
    a, b = (x > 0).sum(1)[:2].tolist()
    torch._check(a >= 0)
    torch._check(b >= 0)
    return torch.zeros(a + 1, b + 2)


DATA = {
    "nonzero": lambda m, x: x.nonzero(),
    "nonzero_as_tuple": lambda m, x: (x > 0).nonzero(as_tuple=True),
    "nonzero_again": nonzero_again,
    "masked": lambda m, x: x[x > 0] * 2,
    "masked_select": lambda m, x: torch.masked_select(x, x > 0).sum() + x.shape[0],
    "unique": lambda m, x: torch.unique(x.round()),
    "unique_inverse": lambda m, x: torch.unique(x.round(), return_inverse=True, return_counts=True),
    "item_as_size": item_as_size,
    "item_of_float": item_of_float,
    "item_of_bool": item_of_bool,
    "items_of_list": items_of_list,
    "repeated": lambda m, x: x.repeat_interleave((x[:, 0] > 0).long() + 1, 0),
}

def cases():
    def case(function, **others):
        return lambda: Case(Function(function), tensor(), others=[(tensor(9, 5, 1),), (tensor(12, 3, 2),)], shapes=((BOTH,),), **others)
    found = {f"integer_{name}": of_size(function) for name, function in INTEGERS.items()}
    found |= {f"float_{name}": of_float(function) for name, function in FLOATS.items()}
    found |= {f"call_{name}": function for name, function in CALLS.items()}
    found |= {f"data_{name}": function for name, function in DATA.items()}
    for name, function in found.items():
        yield name, case(function)
        yield f"{name}_decomposed", case(function, decomposed=True)
