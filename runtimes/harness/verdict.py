"""Compares outputs with the expected ones: `right`, `wrong`, or `nonfinite` (only infinities and NaN differ)."""
import numpy as np

RELATIVE = {"float16": 1e-2, "bfloat16": 5e-2}
# What some runtimes compute in place of a dtype. It is right if the numbers are.
NARROWER = {"int64": "int32", "float64": "float32"}


def compare(got, want, rtol=1e-3, atol=1e-4, errors=(), computes=None):
    """Returns the verdict and a reason or note. `errors` are what rounding alone changes in each output; `computes` is the dtype in which
    the runtime computes all floats, if it has only one."""
    if len(got) != len(want):
        return "wrong", f"{len(got)} outputs instead of {len(want)}"
    found, notes = "right", []
    for index, (mine, expected) in enumerate(zip(got, want)):
        rounding = 10 * (errors[index] or 0.0) if index < len(errors) else 0.0
        verdict, note = compare_one(mine, np.asarray(expected), rtol, atol, rounding, computes)
        if verdict == "wrong":
            return verdict, f"output {index}: {note}"
        if note:
            notes.append(f"output {index}: {note}")
        if verdict == "nonfinite":
            found = verdict
    return found, "; ".join(notes)


def in_order(got, want):
    """The outputs with their rows in the order of the wanted ones: each wanted row takes the nearest that is left. Outputs whose rows do not
    belong together stay as they are.

    This is for detections, which models sort by scores: those with near-equal scores may swap.
    """
    shapes = [np.shape(array) for array in want]
    if [np.shape(array) for array in got] != shapes or not shapes or any(not shape or shape[0] != shapes[0][0] for shape in shapes):
        return got
    mine, wanted = (np.concatenate([np.reshape(array, (len(array), -1)).astype("float64") for array in arrays], axis=1) for arrays in (got, want))
    free, order = np.ones(len(mine), bool), []
    for row in wanted:
        distances = np.where(free, np.abs(np.nan_to_num(mine - row)).sum(axis=1), np.inf)
        order.append(int(distances.argmin()))
        free[order[-1]] = False
    return [array[order] for array in got]


def compare_one(got, want, rtol, atol, rounding, computes):
    is_narrower = NARROWER.get(want.dtype.name) == got.dtype.name
    if got.dtype != want.dtype and not is_narrower:
        return "wrong", f"{got.dtype.name} instead of {want.dtype.name}"
    if got.shape != want.shape:
        return "wrong", f"shape {list(got.shape)} instead of {list(want.shape)}"
    verdict, note = compare_floats(got, want, rtol, atol, rounding, computes) if want.dtype.kind in "fcV" else compare_exactly(got, want)
    return verdict, note or (f"{got.dtype.name} instead of {want.dtype.name}" if is_narrower else "")


def compare_exactly(got, want):
    differing = np.count_nonzero(got != want)
    return ("wrong", f"{differing} of {want.size} values differ") if differing else ("right", "")


def compare_floats(got, want, rtol, atol, rounding, computes):
    coarse = max(RELATIVE.get(want.dtype.name, 0.0), RELATIVE.get(computes, 0.0))
    rtol = coarse or rtol
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    mine, expected = got.astype(wide), want.astype(wide)
    if computes:
        # What is too large for the dtype is infinite.
        beyond = (np.abs(expected) > np.finfo(computes).max) & (np.isinf(mine)) & (np.sign(mine) == np.sign(expected))
        mine[beyond] = expected[beyond]
    finite = np.isfinite(expected)
    largest = np.abs(expected[finite]).max(initial=0.0)
    atol = max(max(atol, 1e-2 if coarse else 0.0) * min(1.0, largest or 1.0), rounding)
    differ = ~np.isclose(mine, expected, rtol=rtol, atol=atol, equal_nan=True)
    if not differ.any():
        return "right", ""
    count = f"{np.count_nonzero(differ)} of {want.size} values differ"
    if not (differ & finite).any():
        return "nonfinite", f"{count}, where infinity or NaN is expected"
    with np.errstate(invalid="ignore"):
        error = np.abs(mine - expected)[differ & finite].max()
    return "wrong", f"{count}, by up to {error:.3g}"
