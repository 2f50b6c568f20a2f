"""Writes promotion.txt: PyTorch's type promotion as data.

    pip install torch==2.13.0
    python mappings/schemas/dump_promotion.py            # refresh
    python mappings/schemas/dump_promotion.py --check    # fail if the file is not what this torch says

Before it writes, it checks on all combinations that the rule at the head of the file is what torch.result_type does.
"""

import itertools
import warnings

import torch

from snapshot import finish

TORCH = "2.13.0"

# The dtypes that promote with at least themselves; the others (quantized, bits, packed) are not in the file.
DTYPES = [
    "bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64",
    "float16", "bfloat16", "float32", "float64", "complex32", "complex64", "complex128",
    "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
]  # fmt: skip

NUMBERS = {"bool": True, "int": 1, "float": 1.0, "complex": 1j}

HEADER = f"""\
# PyTorch's type promotion: torch {TORCH}. Refresh: python mappings/schemas/dump_promotion.py
#
#   promote A B -> C    torch.promote_types(A, B), in either order. Where there is no line, PyTorch refuses.
#   combine A B -> C    the dtype of an operation on operands of two ranks of priority, A of the higher one.
#   number KIND -> C    the dtype of a Python number (with torch.float32 as the default dtype).
#
# The rule of torch.result_type: operands fall in three ranks, tensors with dimensions over tensors without over Python
# numbers. Within a rank, promote. Then combine(dimensions, combine(none, numbers)), leaving out empty ranks.
"""


def name(dtype):
    return str(dtype).removeprefix("torch.")


def attempt(function, *args):
    try:
        return name(function(*args))
    except RuntimeError:
        return None


def tables():
    dtypes = {n: getattr(torch, n) for n in DTYPES}
    dims = {n: torch.empty(1, dtype=d) for n, d in dtypes.items()}
    none = {n: torch.empty((), dtype=d) for n, d in dtypes.items()}
    promote, combine = {}, {}
    for a, b in itertools.product(DTYPES, repeat=2):
        promote[a, b] = attempt(torch.promote_types, dtypes[a], dtypes[b])
        combine[a, b] = attempt(torch.result_type, dims[a], none[b])
    numbers = {kind: name(torch.result_type(value, value)) for kind, value in NUMBERS.items()}

    for a, b in itertools.product(DTYPES, repeat=2):
        assert promote[a, b] == promote[b, a], (a, b)
        assert attempt(torch.result_type, dims[a], dims[b]) == promote[a, b], (a, b)
        assert attempt(torch.result_type, none[a], none[b]) == promote[a, b], (a, b)
        assert attempt(torch.result_type, none[b], dims[a]) == combine[a, b], (a, b)
    for a, kind in itertools.product(DTYPES, NUMBERS):
        expected = combine[a, numbers[kind]]
        assert attempt(torch.result_type, dims[a], NUMBERS[kind]) == expected, (a, kind)
        assert attempt(torch.result_type, none[a], NUMBERS[kind]) == expected, (a, kind)
    # Within a rank of two, and across ranks: an operator of three operands.
    for a, b, c in itertools.product(["int32", "float16", "float64"], ["uint8", "int64", "float32"], ["int16", "bfloat16"]):
        result = torch.addcmul(dims[a], none[b], none[c])
        assert name(result.dtype) == combine[a, promote[b, c]], (a, b, c)
    return promote, combine, numbers


def main():
    assert torch.__version__.split("+")[0] == TORCH, f"this is torch {torch.__version__}"
    assert torch.get_default_dtype() == torch.float32
    warnings.filterwarnings("ignore", "ComplexHalf support is experimental")
    promote, combine, numbers = tables()
    lines = []
    for a, b in itertools.combinations_with_replacement(DTYPES, 2):
        if promote[a, b]:
            lines.append(f"promote {a} {b} -> {promote[a, b]}")
    for a, b in itertools.product(DTYPES, repeat=2):
        if combine[a, b]:
            lines.append(f"combine {a} {b} -> {combine[a, b]}")
    lines += [f"number {kind} -> {dtype}" for kind, dtype in numbers.items()]
    finish(__doc__, {"promotion.txt": HEADER + "\n" + "\n".join(lines) + "\n"})


if __name__ == "__main__":
    main()
