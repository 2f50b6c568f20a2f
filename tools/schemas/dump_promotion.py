"""Writes promotion.txt: PyTorch's type promotion as data.

    pip install torch==2.13.0
    python tools/schemas/dump_promotion.py            # write the file
    python tools/schemas/dump_promotion.py --check    # fail if the file differs from the installed torch

The script first checks with all combinations that torch.result_type follows the rule at the head of the file.
"""

import itertools
import warnings

import torch

from snapshot import finish

TORCH = "2.13.0"

# The dtypes that can be promoted. Others (quantized, bits, packed) are not in the file.
DTYPES = [
    "bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64",
    "float16", "bfloat16", "float32", "float64", "complex32", "complex64", "complex128",
    "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
]  # fmt: skip

NUMBERS = {"bool": True, "int": 1, "float": 1.0, "complex": 1j}

HEADER = f"""\
# PyTorch's type promotion: torch {TORCH}. Refresh: python tools/schemas/dump_promotion.py
#
#   promote A B -> C    torch.promote_types(A, B), in either order. Pairs without a line are errors in PyTorch.
#   combine A B -> C    the dtype of an operation on operands of two categories, A being of the higher one.
#   number KIND -> C    the dtype of a Python number (if torch.float32 is the default dtype).
#
# The rule of torch.result_type: operands belong to three categories, from high to low: tensors with dimensions, tensors without
# dimensions, and Python numbers. Operands of the same category are promoted. Then the result is
# combine(dimensions, combine(no dimensions, numbers)), without empty categories.
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
    # An operator with three operands, two of which are of the same category.
    for a, b, c in itertools.product(["int32", "float16", "float64"], ["uint8", "int64", "float32"], ["int16", "bfloat16"]):
        result = torch.addcmul(dims[a], none[b], none[c])
        assert name(result.dtype) == combine[a, promote[b, c]], (a, b, c)
    return promote, combine, numbers


def main():
    assert torch.__version__.split("+")[0] == TORCH, f"expected torch {TORCH}, found {torch.__version__}"
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
