"""Says which differences between a model and PyTorch are accepted. The table is differences.toml, which lies in the same folder."""
import fnmatch
import functools
import pathlib

import ml_dtypes
import numpy as np

HALVES = (np.float16, ml_dtypes.bfloat16)


@functools.cache
def table():
    import tomllib
    return tomllib.loads((pathlib.Path(__file__).parent / "differences.toml").read_text())["difference"]


def excuse(record, inputs, want, have, close):
    """The entry of the table that accepts the results `have` in place of `want`, or None. `close(want, have, scale)` tells which elements are
    within the usual tolerance, times a scale."""
    if len(want) != len(have) or any(w.shape != h.shape or w.dtype != h.dtype for w, h in zip(want, have)):
        return None
    for entry in table():
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


WHEN = {
    "nan": lambda record, inputs, want: any(np.isnan(x).any() for x in floats(inputs)),
    "infinite": is_infinite,
    "singular": is_singular,
    "half": lambda record, inputs, want: any(x.dtype in HALVES for x in [*inputs, *want]),
    "falling": falls,
    "unsorted": lambda record, inputs, want: ["sorted", {"bool": False}] in record["args"],
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
        return np.all(close(w, h, 1) | ~np.isfinite(w) | ~np.isfinite(h))
    return all(accepted(parts(w), parts(h)) for w, h in zip(want, have))


def parts(array):
    array = np.stack([array.real, array.imag], -1) if np.iscomplexobj(array) else array
    return array.astype(np.float64) if array.dtype in HALVES else array


def within(record, inputs, want, have, close, number):
    return all(w.size == 0 or np.abs(w.astype(np.float64) - h.astype(np.float64)).max() <= float(number) for w, h in zip(want, have))


ACCEPT = {
    "equals": equals,
    "any order": any_order,
    "not finite": not_finite,
    "rounding": lambda record, inputs, want, have, close, _: all(np.all(close(w, h, 8)) for w, h in zip(want, have)),
    "within": within,
    "anything": lambda *_: True,
}
