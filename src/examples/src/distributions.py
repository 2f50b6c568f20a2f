"""Compares random results: what PyTorch gives in many runs with what a model gives, by position and in sum."""
import numpy as np

# How often both sides run.
RUNS = 512
# Samples of one distribution are so far apart once in a billion pairs: the bound of Kolmogorov and Smirnov.
FURTHEST = np.sqrt(-np.log(5e-10) / RUNS)
# Positions of a result that are compared. Its sum and the number of its zeros show whether positions depend on each other.
POSITIONS = 32


def difference(want, have):
    """Why lists of results of runs are of different distributions, or None."""
    for i, (w, h) in enumerate(zip(zip(*want), zip(*have))):
        w, h = columns(w), columns(h)
        near = 1e-2 if want[0][i].dtype.itemsize < 4 else 1e-3
        for at in range(w.shape[1]):
            far = distance(w[:, at], h[:, at], near)
            if far > FURTHEST:
                place = f"element {at}" if at < w.shape[1] - 2 else ("the sum", "the number of elements other than 0")[at - w.shape[1]]
                return f"output {i}: {place} is random in another way: the distributions of {RUNS} runs are {far:.2f} apart"
    return None


def columns(runs):
    """A row for each run: the first elements, the sum of all, and how many are not 0."""
    rows = np.stack([np.asarray(x).astype(np.float64).ravel() for x in runs])
    with np.errstate(all="ignore"):
        return np.concatenate([rows[:, :POSITIONS], rows.sum(1, keepdims=True), (rows != 0).sum(1, keepdims=True)], 1)


def distance(want, have, near):
    """How far two samples are apart: the largest difference of their distribution functions, as far as it is no rounding."""
    finite = np.abs(want[np.isfinite(want)])
    step = near * float(finite.max()) if finite.size else 0.0
    want, have = (np.sort(np.where(np.isnan(x), np.inf, x)) for x in (want, have))
    places = np.concatenate([want, have])

    def share(sample, up_to):
        return np.searchsorted(sample, up_to, side="right") / len(sample)
    return max(np.max(share(a, places) - share(b, places + step)) for a, b in ((want, have), (have, want)))
