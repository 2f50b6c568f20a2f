"""What is unique in the results of operators that have several correct results. Singular and eigenvectors are unique up to their signs or
phases, and up to a rotation where values are equal; what they multiply to is unique."""
import numpy as np


def transposed(x):
    return np.conj(np.swapaxes(x, -1, -2))


def singular(u, s, vh):
    if u.ndim < 2:
        return {"S": s}
    n = s.shape[-1]
    return {
        "S": s,
        "U S Vh": u[..., :n] * s[..., None, :] @ vh[..., :n, :],
        "Uh U": transposed(u) @ u,
        "Vh V": vh @ transposed(vh),
    }


def eigen(values, vectors):
    if vectors.ndim < 2:
        return {"L": values}
    return {"L": values, "V L Vh": vectors * values[..., None, :] @ transposed(vectors), "Vh V": transposed(vectors) @ vectors}


UNIQUE = {
    "aten::linalg_svd": singular,
    "aten::_linalg_svd": singular,
    "prims::svd": singular,
    "aten::svd": lambda u, s, v: singular(u, s, transposed(v)),
    "aten::linalg_eigh": eigen,
    "aten::_linalg_eigh": eigen,
}


def has(op):
    """Whether the results of an operator are not unique."""
    return as_real(op) in UNIQUE


def as_real(op):
    """Rules for complex numbers have a namespace of their own."""
    return op.replace("complex::", "aten::")


def parts(op, want, have):
    """What is unique in the results: names with what PyTorch and a model give for it."""
    find = UNIQUE[as_real(op)]
    # Models have the parts of complex numbers in a last dimension.
    whole = [h[..., 0] + 1j * h[..., 1] if np.iscomplexobj(w) else h for w, h in zip(want, have)]
    if any(np.isnan(w).any() for w in want):
        # LAPACK got infinities or NaN, for which it has no defined results.
        return []
    wanted, found = find(*want), find(*whole)
    return [(name, w, apart(found[name].astype(w.dtype))) for name, w in wanted.items()]


def apart(x):
    """Complex numbers as models give them."""
    return np.stack([x.real, x.imag], -1) if np.iscomplexobj(x) else x
