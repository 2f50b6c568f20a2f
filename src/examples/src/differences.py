"""Says which differences between a model and PyTorch are accepted. The table is differences.toml, which lies in the same folder."""
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


def is_about(entry, op):
    """Whether an entry is about an operator: all, or those that it names, with all overloads or with one."""
    return "operators" not in entry or op in entry["operators"] or op.partition(".")[0] in entry["operators"]


def excuse(record, inputs, want, have, close, again=None):
    """The entry of the table that accepts the results `have` in place of `want`, or None. `close(want, have, scale)` tells which elements are
    within the usual tolerance, times a scale; `again(inputs)` what the operator gives for other inputs."""
    if len(want) != len(have) or any(w.ndim != h.ndim or w.dtype != h.dtype for w, h in zip(want, have)):
        return None
    same = all(w.shape == h.shape for w, h in zip(want, have))
    given, parts = have, []
    for entry in table():
        if not same and entry["accept"] != "other than nan" or record.get("distinct") and entry["accept"] in ROUNDINGS:
            continue
        when = entry.get("when", [])
        if not is_about(entry, record["op"]) or not all(WHEN[one](record, inputs, want) for one in when):
            continue
        accept, _, number = entry["accept"].partition(" ") if entry["accept"].startswith("within") else (entry["accept"], "", "")
        case = Case(record, inputs, want, have, close, number, when, again)
        case.given = given
        if accept == "equals":
            # The entries below are about what is left.
            have = case.have = with_equal_positions(case)
        if ACCEPT[accept](case):
            return entry["id"]
        if case.touched:
            parts.append((entry["id"], case))
    # A matrix of a batch may be infinite, and another one indefinite.
    together = [np.logical_or.reduce(elements) for elements in zip(*(case.touched for _, case in parts))]
    return parts[0][0] if len(parts) > 1 and covers(parts[0][1], together) else None


class Case:
    """Results that differ, and the entry that may accept them."""

    def __init__(self, record, inputs, want, have, close, number, when, again):
        self.record, self.inputs, self.want, self.have, self.close = record, inputs, want, have, close
        self.number, self.when, self.again = number, when, again
        # The results before positions were replaced by those of equal elements.
        self.given = have
        # The elements of each result that may differ, if the entry names some.
        self.touched = []

    def pairs(self):
        return zip(self.want, self.have)

    def argument(self, name):
        """An argument: a tensor as an array, anything else as it is in the record; None if it is left out."""
        (kind, value), = next((value for own, value in self.record["args"] if own == name), {"none": None}).items()
        return self.inputs[value] if kind == "tensor" else value


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
    "infinite matrix": is_infinite,
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


def axis_of(case, x):
    dim = case.argument("dim")
    return (dim if isinstance(dim, int) else -1) % x.ndim


def elements_at(x, positions, axis):
    """The elements of a tensor at positions along an axis; None if there are no such positions."""
    if positions.size and (positions.min() < 0 or positions.max() >= x.shape[axis]):
        return None
    return np.take_along_axis(x, positions if positions.ndim == x.ndim else np.expand_dims(positions, axis), axis)


def all_differ(positions, x, axis):
    """Whether no position along the axis is there twice."""
    return positions.ndim < x.ndim or not np.any(np.diff(np.sort(positions, axis), axis=axis) == 0)


def with_equal_positions(case):
    """The results with PyTorch's position in place of one of an equal element."""
    x = np.atleast_1d(case.inputs[0])
    axis = axis_of(case, x)
    return [with_equal_position(x, axis, w, h) if w.dtype == np.int64 else h for w, h in case.pairs()]


def with_equal_position(x, axis, w, h):
    rows, others = np.atleast_1d(w), np.atleast_1d(h)
    wanted, there = (elements_at(x, a, axis) for a in (rows, others))
    if not all_differ(others, x, axis) or wanted is None or there is None:
        return h
    same = (wanted == there) | (wanted != wanted) & (there != there)
    return np.where(same.reshape(rows.shape), rows, others).reshape(h.shape)


def equals(case):
    """Positions may differ where the elements are equal: `with_equal_positions` has replaced these."""
    return all(np.all(case.close(w, h, 1)) for w, h in case.pairs())


def any_order(case):
    """The first result has elements, the second their positions, which all differ."""
    x = np.atleast_1d(case.inputs[0])
    axis = axis_of(case, x)
    want, (have, positions) = np.atleast_1d(case.want[0]), (np.atleast_1d(a) for a in case.given)
    there = elements_at(x, positions, axis)
    return there is not None and np.array_equal(there, have, equal_nan=True) and all_differ(positions, x, axis) \
        and np.array_equal(np.sort(want, axis), np.sort(have, axis), equal_nan=True)


def not_finite(case):
    # Beside infinity there are large numbers, whose sums round.
    return all(np.all(case.close(w, h, 8) | ~is_finite(w)) for w, h in case.pairs())


def lines(case):
    """Elements may differ beside one that is not finite in PyTorch, along the last two dimensions: the parts of complex numbers are the last."""
    def beside(w):
        axes = tuple(range(max(w.ndim - 2, 0), w.ndim))
        return np.broadcast_to((~is_finite(w)).any(axis=axes, keepdims=True), w.shape)
    return all(np.all(case.close(w, h, 8) | beside(w)) for w, h in case.pairs())


def images(case):
    """Elements of images may differ that have an element that is not finite: the dimensions after the first two of the first tensor."""
    x = case.inputs[0]
    named = (~is_finite(x)).any(axis=tuple(range(2, x.ndim)))

    def beside(w):
        own = named if named.shape == w.shape[:2] else named.any()
        return np.broadcast_to(np.reshape(own, own.shape + (1,) * (w.ndim - own.ndim)), w.shape)
    return all(np.all(case.close(w, h, 8) | ~is_finite(w) | beside(w)) for w, h in case.pairs())


def is_finite(array):
    return np.isfinite(array.astype(np.float64) if array.dtype in HALVES else array)


def named_elements(case, x):
    """Which elements of an input a condition of the entry names: infinite ones, NaN, large integers, singular matrices."""
    named = np.zeros(x.shape, bool)
    is_float = x.dtype in HALVES or x.dtype.kind in "fc"
    plain = x.astype(np.float64) if x.dtype in HALVES else x
    if is_float and "nan" in case.when:
        named |= np.isnan(plain)
    if is_float and "infinite" in case.when:
        named |= ~np.isfinite(plain)
    if x.dtype.kind in "iu" and "large" in case.when:
        named |= np.abs(x.astype(np.float64)) >= 2 ** 31 - 1
    whole = next((MATRICES[one] for one in case.when if one in MATRICES), None)
    if whole and is_float and x.ndim > 1 and x.size:
        for place in np.ndindex(x.shape[:-2]):
            named[place] |= whole(plain[place])
    return named


# Conditions that name matrices as a whole.
MATRICES = {
    "singular": lambda matrix: is_singular(None, [matrix], None),
    "indefinite": lambda matrix: is_indefinite(None, [matrix], None),
    "infinite matrix": lambda matrix: not np.isfinite(matrix).all(),
}


def replaced(x, named, turn):
    """A tensor with other elements in place of the named ones: 0, 1, more and less than all others; matrices positive definite."""
    x = x.copy()
    if not named.any():
        return x
    if x.ndim > 1 and named.all(axis=(-2, -1)).any():
        x[named] = np.broadcast_to((turn + 1) * (np.eye(*x.shape[-2:]) + 0.1), x.shape)[named].astype(x.dtype)
        return x
    rest = x[~named].astype(np.float64) if not np.iscomplexobj(x) else np.abs(x[~named])
    low, high = (rest.min(), rest.max()) if rest.size else (0, 0)
    x[named] = np.array([0, 1, high + 1, low - 1 if x.dtype.kind != "u" else 0])[turn].astype(x.dtype)
    return x


def touched_elements(case):
    """Which elements of each result depend on what the conditions name: they change if that is replaced, by four things in turn. None if PyTorch
    takes none of the replacements. What a condition names is a number, not an element, touches all."""
    named = [named_elements(case, x) for x in case.inputs]
    if not any(one.any() for one in named):
        return [np.ones(w.shape, bool) for w in case.want]
    results = []
    for turn in range(4):
        try:
            found = case.again([replaced(x, one, turn) for x, one in zip(case.inputs, named)])
        except Exception:
            continue
        if [f.shape for f in found] == [w.shape for w in case.want]:
            results.append(found)
    if not results:
        return None
    touched = []
    for i, w in enumerate(case.want):
        others = [found[i] for found in results]
        changes = [(other != w) & ~((other != other) & (w != w)) for other in others]
        touched.append(np.any(changes, axis=0) | ~is_finite(w) if w.dtype.kind not in "biuOUS" else np.any(changes, axis=0))
    return [own | of_infinite_matrices(case, named, own.shape) for own in touched]


def of_infinite_matrices(case, named, shape):
    """Which elements of a result belong to a matrix that is not finite, if the condition is this: pivots and vectors need not change with it."""
    found = np.zeros(shape, bool)
    for x, own in zip(case.inputs, named):
        batch = x.shape[:-2]
        if "infinite matrix" in case.when and x.ndim > 1 and shape[:len(batch)] == batch:
            found |= np.reshape(own.any(axis=(-2, -1)), batch + (1,) * (len(shape) - len(batch)))
    return found


def touched(case, whole_numbers=True):
    elements = touched_elements(case) if case.again else None
    if elements is None:
        return False
    if "nan" in case.when:
        elements = [along_order(case, own) for own in elements]
    case.touched = [own if whole_numbers or w.dtype.kind not in "biu" else np.zeros_like(own) for w, own in zip(case.want, elements)]
    return covers(case, case.touched)


def covers(case, elements):
    """Whether all other elements are those of PyTorch."""
    return all(np.all(case.close(w, h, 8) | own) for (w, h), own in zip(case.pairs(), elements))


def along_order(case, elements):
    """With all elements of a line that is put in order, or of which a running maximum is taken: a NaN may stand anywhere in it."""
    is_order = any(entry["accept"] == "equals" and is_about(entry, case.record["op"]) for entry in table())
    if elements.ndim == 0 or elements.ndim != case.inputs[0].ndim or not is_order and case.argument("dim") is None:
        return elements
    return np.broadcast_to(elements.any(axis=axis_of(case, elements), keepdims=True), elements.shape)


def within(case):
    def accepted(w, h):
        return np.all(case.close(w, h, 1) | (np.abs(w.astype(np.float64) - h.astype(np.float64)) <= float(case.number)))
    with np.errstate(all="ignore"):
        return all(accepted(w, h) for w, h in case.pairs())


def moved(case):
    """Each element differs by at most twice the largest of the result and of the first tensor."""
    x = case.inputs[0].astype(np.float64)

    def accepted(w, h):
        w, h = w.astype(np.float64), h.astype(np.float64)
        largest = max((np.abs(a[np.isfinite(a)]).max(initial=0) for a in (w, x)), default=0)
        return np.all((np.abs(w - h) <= 2 * largest) | ~np.isfinite(w))
    with np.errstate(all="ignore"):
        return all(np.all(case.close(w, h, 1)) or accepted(w, h) for w, h in case.pairs())


def uncertain(case):
    """Elements at which the first tensor, a probability, is less than 1 are 0 or 1; others agree."""
    x = case.inputs[0].astype(np.float64)
    return all(w.shape == x.shape and np.all(case.close(w, h, 1) | (x < 1) & ((h == 0) | (h == 1))) for w, h in case.pairs())


def bags_before(case):
    """The bags before the first one whose offset falls agree."""
    offsets = case.argument("offsets")
    first = max(int(np.argmax(np.diff(offsets) < 0)), 0)
    return bool(np.all(case.close(case.want[0][:first], case.have[0][:first], 1)))


def written_paths(case):
    """The first result agrees, and of the second the times before the length of each sequence."""
    lengths = case.argument("input_lengths")
    lengths = lengths if isinstance(lengths, np.ndarray) else [next(iter(one.values())) for one in lengths or []]
    if len(case.want) < 2 or not np.all(case.close(case.want[0], case.have[0], 1)) or len(lengths) != case.want[1].shape[0]:
        return False
    targets = case.argument("target_lengths")
    targets = targets if isinstance(targets, np.ndarray) else [next(iter(one.values())) for one in targets or []]
    rows = zip(case.want[1], case.have[1], lengths, targets)
    return all(np.all(case.close(w[:time, :2 * count + 1], h[:time, :2 * count + 1], 1)) for w, h, time, count in rows)


def other_than_nan(case):
    """The elements of the first result that are no NaN agree, in their order."""
    w, h = (a[0].astype(np.float64).reshape(-1) for a in (case.want, case.have))
    w, h = w[~np.isnan(w)], h[~np.isnan(h)]
    return w.shape == h.shape and bool(np.all(case.close(w, h, 1)))


def as_halves(case):
    """The coarsest dtype of 16 bits decides."""
    half = ml_dtypes.bfloat16 if any(x.dtype == ml_dtypes.bfloat16 for x in case.inputs) else np.float16

    def accepted(w, h):
        if w.dtype.kind not in "fV" and w.dtype not in HALVES:
            return np.all(case.close(w, h, 1))
        return np.all(case.close(w.astype(half), h.astype(half), 8))
    with np.errstate(all="ignore"):
        return all(accepted(w, h) for w, h in case.pairs())


ACCEPT = {
    "equals": equals,
    "any order": any_order,
    "not finite": not_finite,
    "lines": lines,
    "images": images,
    "rounding": lambda case: all(np.all(case.close(w, h, 8)) for w, h in case.pairs()),
    "within": within,
    "as halves": as_halves,
    "touched": touched,
    "touched floats": lambda case: touched(case, whole_numbers=False),
    "moved": moved,
    "uncertain": uncertain,
    "bags before": bags_before,
    "written paths": written_paths,
    "other than nan": other_than_nan,
}
