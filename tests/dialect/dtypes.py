"""Type promotion of tensors, 0-dim tensors and numbers, and dtypes that old opsets lack."""
import itertools

import torch
import torch.nn as nn

from cases import Case

DTYPES = [torch.bool, torch.uint8, torch.int8, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64]
OTHERS = [torch.uint16, torch.uint32, torch.uint64, torch.bfloat16, torch.complex64]
NUMBERS = [True, 3, 2.5]

OPERATORS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "true_divide": lambda a, b: a / b,
    "floor_divide": lambda a, b: a // b,
    "remainder": lambda a, b: a % b,
    "power": lambda a, b: a**b,
    "maximum": lambda a, b: torch.maximum(a, b),
    "less": lambda a, b: a < b,
    "equal": lambda a, b: a == b,
    "bitwise_and": lambda a, b: a & b,
    "where": lambda a, b: torch.where(torch.arange(len(a) if torch.is_tensor(a) and a.dim() else 3) > 1, a, b),
    "join": lambda a, b: torch.cat([a.reshape(-1), b.reshape(-1)]),
    "arctangent": lambda a, b: torch.atan2(a, b),
    "in_place": lambda a, b: a.clone().add_(b),
    "clamped": lambda a, b: a.clamp(max=b),
    "raised": lambda a, b: a.clamp(min=b),
    "filled": lambda a, b: torch.full_like(a, 2) + b,
    "summed": lambda a, b: (a + b).sum(),
}


def operands(dtype):
    values = torch.tensor([1, 2, 3])
    return values.to(dtype), values[1].to(dtype)


class Pairs(nn.Module):
    """Applies an operator to all given pairs of operands."""

    def __init__(self, operator, pairs):
        super().__init__()
        self.operator = operator
        # Each operand is made once: the time of torch.export goes by the number of calls.
        self.operands = {key(operand): operand for pair in pairs for operand in pair}
        self.pairs = [(key(a), key(b)) for a, b in pairs if possible(operator, a, b)]

    def forward(self, x):
        # An input-dependent 1 prevents constant folding.
        one = (x.sum() * 0 + 1).to(torch.int64)
        made = {key: live(operand, one) if torch.is_tensor(operand) else operand for key, operand in self.operands.items()}
        return [shown(self.operator(made[a], made[b])) for a, b in self.pairs]


def key(operand):
    """What tells operands apart."""
    if torch.is_tensor(operand):
        return operand.dtype, tuple(operand.shape), tuple(operand.flatten().tolist())
    return type(operand), operand


def live(operand, one):
    """Makes an operand depend on an input."""
    if operand.dtype == torch.bool:
        return torch.logical_and(operand, one > 0)
    return (operand.to(torch.int64) * one).to(operand.dtype)


def shown(t):
    """Returns an output in a type that NumPy and ONNX support."""
    return t.float() if t.dtype == torch.bfloat16 else t


def possible(operator, a, b):
    try:
        operator(a, b)
    except (RuntimeError, TypeError, NotImplementedError, AttributeError):
        return False
    return True


def pairs(first, second):
    for a, b in itertools.product(first, second):
        yield from itertools.product(operands(a), operands(b))


class To(nn.Module):
    def __init__(self, *dtypes):
        super().__init__()
        self.dtypes = dtypes

    def forward(self, x):
        return [x.to(dtype).to(torch.float32) for dtype in self.dtypes]


class Half(nn.Module):
    """Computes in a small integer or floating-point type."""

    def __init__(self, dtype):
        super().__init__()
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.LayerNorm(4)).to(dtype)
        self.dtype = dtype

    def forward(self, x):
        return self.net(x.to(self.dtype)).float()


class OfIntegers(nn.Module):
    """Floats that are made from integers have the default dtype."""

    def forward(self, i, x):
        made = torch.zeros(4) + i, torch.full((4,), 1.5) * i, torch.linspace(0, 1, 4), torch.scalar_tensor(3.0)
        computed = i * 0.1, i / 3, i.sin(), torch.where(i > 1, 0.1, 0.2), torch.cond(i.sum() > 2, lambda i: i * 0.5, lambda i: i / 4, (i,))
        # Values of a floating-point type keep it.
        return *made, *computed, x * 0.1, x + i, x.float() * 0.1, torch.view_as_real(i * 1j), i.double().sum().item() * 0.1


class Bits(nn.Module):
    """Views of memory as another dtype, which are written to."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x.clone())


def size_by_bits(x):
    bits = x.view(torch.int32)
    bits &= 0x7FFFFFFF
    return x, bits


def bytes_of(x):
    x.view(torch.uint8)[:, 3] = 64
    return x, x.view(torch.int16)


def joined(x):
    pairs = (x * 100).to(torch.int32).reshape(2, -1)
    whole = pairs.view(torch.int64)
    whole += 1 << 32
    return pairs, whole


BITS = {"size_by_bits": size_by_bits, "bytes_of": bytes_of, "joined": joined}


def cases():
    x = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
    for name, function in OPERATORS.items():
        # All operators share the promotion, so most of them are tested with a part of the pairs.
        part = 1 if name in ["add", "true_divide", "where"] else 5
        yield f"{name}_tensors", lambda f=function, n=part: Case(Pairs(f, [*pairs(DTYPES, DTYPES)][::n]), x, tolerance=2e-3)
        numbers = [(a, n) for dtype in DTYPES for a in operands(dtype) for n in NUMBERS]
        # torch.export and PyTorch disagree on a bool to the power of a bool.
        numbers += [(n, a) for a, n in numbers if name != "power" or a.dtype != torch.bool]
        numbers = [(a, n) for a, n in numbers if name != "power" or n is not True]
        if name not in ["maximum", "arctangent", "join"]:
            # ONNX Runtime simplifies `1 / x * x` of integers to 1. Mod at opset 9 contains this expression.
            oldest = 10 if name == "remainder" else 9
            yield f"{name}_numbers", lambda f=function, n=numbers, o=oldest: Case(Pairs(f, n), x, tolerance=2e-3, opset=o)
    for name in ["add", "mul", "equal", "where", "join"]:
        for dtype in OTHERS:
            # ONNX Runtime has few kernels for these, and Cast supports bfloat16 from opset 13 on.
            pool = [*pairs([dtype], [dtype, torch.int64, torch.float32]), *[(a, n) for a in operands(dtype) for n in NUMBERS]]
            yield f"{name}_{str(dtype).removeprefix('torch.')}", lambda f=OPERATORS[name], p=pool: Case(Pairs(f, p), x, opset=13)
    for name in ["add", "sub", "mul", "true_divide", "floor_divide", "remainder", "less", "equal", "bitwise_and", "where", "in_place", "clamped", "raised"]:
        wrapped = [(torch.tensor([0, 1, 100, 127]).to(dtype), n) for dtype in DTYPES[1:4] for n in [-1, 300, -300, 70000]]
        yield f"{name}_out_of_range", lambda f=OPERATORS[name], p=wrapped, o=10 if name == "remainder" else 9: Case(Pairs(f, p), x, opset=o)
    for dtype in [torch.float64, torch.float16, torch.bfloat16]:
        integers = torch.arange(4)
        others = {"opset": 13, "tolerance": 1e-2} if dtype == torch.bfloat16 else {"tolerance": 1e-9 if dtype == torch.float64 else 2e-3}
        yield f"default_{str(dtype).removeprefix('torch.')}", lambda d=dtype, o=others: Case(OfIntegers(), integers, torch.rand(4, dtype=d), default=d, **o)
    for name, function in BITS.items():
        for decomposed in (False, True):
            yield f"{name}{'_decomposed' * decomposed}", lambda f=function, d=decomposed: Case(Bits(f), x, decomposed=d)
    float8 = [torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz]
    yield "float8", lambda: Case(To(*float8), x, opset=19)
    yield "float8_too_old", lambda: Case(To(*float8), x, newest=18, refused="use `--opset 19`")
    yield "bfloat16", lambda: Case(Half(torch.bfloat16), x, opset=13, tolerance=2e-2)
    yield "bfloat16_too_old", lambda: Case(Half(torch.bfloat16), x, newest=12, refused="use `--opset 13`")
    yield "float16", lambda: Case(Half(torch.float16), x, tolerance=5e-3)
    yield "float64", lambda: Case(Half(torch.float64), x)
