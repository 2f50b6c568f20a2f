"""Says which differences between a model and PyTorch are accepted. The table is differences.toml, which lies in the same folder."""
import fnmatch
import functools
import itertools
import pathlib

import ml_dtypes
import numpy as np

HALVES = (np.float16, ml_dtypes.bfloat16)
# What is accepted of numbers that are computed. A model that only moves data rounds nothing.
ROUNDINGS = ("rounding", "as halves")


@functools.cache
def table():
    import tomllib
    return tomllib.loads((pathlib.Path(__file__).parent / "differences.toml").read_text())["difference"]


def excuse(record, inputs, want, have, close):
    """The entry of the table that accepts the results `have` in place of `want`, or None. `close(want, have, scale)` tells which elements are
    within the usual tolerance, times a scale."""
    if len(want) != len(have) or any(w.ndim != h.ndim or w.dtype != h.dtype for w, h in zip(want, have)):
        return None
    same = all(w.shape == h.shape for w, h in zip(want, have))
    for entry in table():
        if not same and entry["accept"] != "any shape" or record.get("distinct") and entry["accept"] in ROUNDINGS:
            continue
        if not any(fnmatch.fnmatchcase(record["op"], operator) for operator in entry["operators"]):
            continue
        if not all(WHEN[when](record, inputs, want) for when in entry.get("when", [])):
            continue
        accept, _, number = entry["accept"].partition(" ") if entry["accept"].startswith("within") else (entry["accept"], "", "")
        if ACCEPT[accept](record, inputs, want, have, close, number):
            return entry["id"]
    return None


def floats(arrays):
    """The arrays of floats and complex numbers, as float64 or complex128."""
    for array in arrays:
        if np.iscomplexobj(array):
            yield array.astype(np.complex128)
        elif array.dtype in HALVES or array.dtype.kind == "f":
            yield array.astype(np.float64)


def numbers(record):
    """The numbers among the arguments."""
    def inside(value):
        (kind, x), = value.items()
        if kind == "list":
            for item in x:
                yield from inside(item)
        elif kind == "float":
            yield float(x)
    for _, value in record["args"]:
        yield from inside(value)


def whole_numbers(record):
    """The integers among the arguments."""
    return [value["int"] for _, value in record["args"] if "int" in value]


def is_infinite(record, inputs, want):
    return any(not np.isfinite(x).all() for x in floats(inputs)) or any(not np.isfinite(x) for x in numbers(record))


def is_singular(record, inputs, want):
    for x in floats(inputs):
        if x.ndim < 2 or 0 in x.shape or not np.isfinite(x).all():
            continue
        precision = np.finfo(np.float32).eps if max(a.dtype.itemsize for a in inputs) <= 8 else np.finfo(np.float64).eps
        values = np.linalg.svd(x, compute_uv=False)
        if (values[..., -1] <= values[..., 0] * precision * 32 * max(x.shape[-2:])).any():
            return True
    return False


def falls(record, inputs, want):
    """Whether the offsets do not rise."""
    places = [value["tensor"] for name, value in record["args"] if name == "offsets" and "tensor" in value]
    return any((np.diff(inputs[place]) < 0).any() for place in places)


def is_indefinite(record, inputs, want):
    """Whether a matrix has no Cholesky factor."""
    for x in floats(inputs):
        if x.ndim > 1 and x.shape[-1] == x.shape[-2] and x.size and np.isfinite(x).all():
            whole = np.tril(x) + np.swapaxes(np.tril(x, -1), -1, -2).conj()
            other = np.triu(x) + np.swapaxes(np.triu(x, 1), -1, -2).conj()
            if any((np.linalg.eigvalsh(a) <= 1e-6 * np.abs(a).max()).any() for a in (whole, other)):
                return True
    return False


def keeps_a_size(record, inputs, want):
    """Whether a factor other than 1 keeps a size."""
    factors = next((list(numbers({"args": [argument]})) for argument in record["args"] if argument[0] == "scale_factors"), [])
    sizes = zip(inputs[0].shape[-len(factors):], want[0].shape[-len(factors):], factors) if factors else []
    return any(old == new and factor != 1 for old, new, factor in sizes)


def becomes_narrow(record, inputs, want):
    """Whether an image of another height becomes one of width 1."""
    return want[0].ndim == 4 and want[0].shape[-1] == 1 and want[0].shape[-2] != inputs[0].shape[-2]


def is_constant(record, inputs, want):
    """Whether the first tensor may have groups of equal elements."""
    x = inputs[0]
    return 1 in x.shape or x.ndim < 3 or any((np.diff(x.astype(np.float64), axis=axis) == 0).any() for axis in range(x.ndim))


def has_near_vectors(record, inputs, want):
    """Whether a vector of one tensor is nearly one of another tensor. Vectors lie along the last dimension."""
    rows = [x.reshape(-1, x.shape[-1]) for x in floats(inputs) if x.ndim and x.size and np.isfinite(x).all()]
    pairs = [(x, y) for x, y in itertools.combinations(rows, 2) if x.shape[-1] == y.shape[-1]]
    return any((np.abs(x[:, None] - y).max(axis=-1) <= 1e-2 * max(np.abs(x).max(), np.abs(y).max())).any() for x, y in pairs)


WHEN = {
    "nan": lambda record, inputs, want: any(np.isnan(x).any() for x in floats(inputs)),
    "infinite": is_infinite,
    "singular": is_singular,
    "half": lambda record, inputs, want: any(x.dtype in HALVES for x in [*inputs, *want]),
    "falling": falls,
    "unsorted": lambda record, inputs, want: ["sorted", {"bool": False}] in record["args"],
    "complex": lambda record, inputs, want: any(np.iscomplexobj(x) for x in inputs),
    "large": lambda record, inputs, want: any(x.dtype.kind in "iu" and (np.abs(x.astype(np.float64)) >= 2 ** 31 - 1).any() for x in inputs)
    or any(abs(x) >= 2 ** 31 - 1 for x in whole_numbers(record)),
    "indefinite": is_indefinite,
    "kept": keeps_a_size,
    "narrow": becomes_narrow,
    "constant": is_constant,
    "integers": lambda record, inputs, want: inputs[0].dtype.kind in "iu",
    "empty": lambda record, inputs, want: any(x.size == 0 for x in inputs),
    "no products": lambda record, inputs, want: any(["alpha", {kind: 0}] in record["args"] for kind in ("int", "float")),
    "near": has_near_vectors,
    "bytes": lambda record, inputs, want: any(x.dtype == np.uint8 for x in inputs),
}


def axis_of(record, x):
    dim = next((value["int"] for name, value in record["args"] if name == "dim" and "int" in value), -1)
    return dim % x.ndim


def elements_at(x, positions, axis):
    """The elements of a tensor at positions along an axis; None if there are no such positions."""
    if positions.size and (positions.min() < 0 or positions.max() >= x.shape[axis]):
        return None
    return np.take_along_axis(x, positions if positions.ndim == x.ndim else np.expand_dims(positions, axis), axis)


def equals(record, inputs, want, have, close, _):
    """Positions may differ where the elements are equal."""
    x = np.atleast_1d(inputs[0])
    for w, h in zip(want, have):
        if np.all(close(w, h, 1)):
            continue
        if w.dtype != np.int64:
            return False
        w, h = (elements_at(x, np.atleast_1d(a), axis_of(record, x)) for a in (w, h))
        if h is None or not np.all((w == h) | (w != w) & (h != h)):
            return False
    return True


def any_order(record, inputs, want, have, close, _):
    """The first result has elements, the second their positions, which all differ."""
    x = np.atleast_1d(inputs[0])
    axis = axis_of(record, x)
    want, (have, positions) = np.atleast_1d(want[0]), (np.atleast_1d(a) for a in have)
    there = elements_at(x, positions, axis)
    used = np.sort(positions, axis)
    return there is not None and np.array_equal(there, have) and np.array_equal(np.sort(want, axis), np.sort(have, axis)) \
        and not np.any(np.diff(used, axis=axis) == 0)


def not_finite(record, inputs, want, have, close, _):
    def accepted(w, h):
        return np.all(close(w, h, scale) | ~is_finite(w) | ~is_finite(h))
    # Beside infinity there are large numbers, whose sums round.
    scale = 8
    return all(accepted(w, h) for w, h in zip(want, have))


def is_finite(array):
    return np.isfinite(array.astype(np.float64) if array.dtype in HALVES else array)


def within(record, inputs, want, have, close, number):
    def accepted(w, h):
        return np.all(close(w, h, 1) | (np.abs(w.astype(np.float64) - h.astype(np.float64)) <= float(number)))
    with np.errstate(all="ignore"):
        return all(accepted(w, h) for w, h in zip(want, have))


def as_halves(record, inputs, want, have, close, _):
    """The coarsest dtype of 16 bits decides."""
    half = ml_dtypes.bfloat16 if any(x.dtype == ml_dtypes.bfloat16 for x in inputs) else np.float16

    def accepted(w, h):
        if w.dtype.kind not in "fV" and w.dtype not in HALVES:
            return np.all(close(w, h, 1))
        return np.all(close(w.astype(half), h.astype(half), 8))
    with np.errstate(all="ignore"):
        return all(accepted(w, h) for w, h in zip(want, have))


ACCEPT = {
    "equals": equals,
    "any order": any_order,
    "not finite": not_finite,
    "rounding": lambda record, inputs, want, have, close, _: all(np.all(close(w, h, 8)) for w, h in zip(want, have)),
    "within": within,
    "as halves": as_halves,
    "first": lambda record, inputs, want, have, close, _: bool(np.all(close(want[0], have[0], 1))),
    "integers": lambda record, inputs, want, have, close, _: all(w.dtype.kind not in "biu" or np.array_equal(w, h) for w, h in zip(want, have)),
    "any shape": lambda *_: True,
    "anything": lambda *_: True,
}
