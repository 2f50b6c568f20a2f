"""Compares results: the tensors of a structure, numbers within a tolerance, detections in any order of near-equal scores."""
import numpy as np
import torch


def leaves(value):
    """The tensors and numbers of a structure, as the exporter makes them results."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (bool, int, float)):
        return [torch.tensor(value)]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return [leaf for item in items for leaf in leaves(item)]


def array(tensor):
    tensor = tensor.detach()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).resolve_conj().numpy()


def close(found, wanted, tolerance):
    if found.shape != wanted.shape:
        return f"shape {found.shape} instead of {wanted.shape}"
    if found.dtype != wanted.dtype:
        return f"{found.dtype} instead of {wanted.dtype}"
    if found.dtype.kind in "biu":
        differing = int((found != wanted).sum())
        return f"{differing} of {found.size} integers differ" if differing else None
    if not found.size:
        return None
    kind = np.complex128 if found.dtype.kind == "c" else np.float64
    found, wanted = found.astype(kind), wanted.astype(kind)
    scale = max(1.0, float(np.nanmax(np.abs(wanted), initial=0, where=np.isfinite(wanted))))
    if np.allclose(found, wanted, tolerance, tolerance / 10 * scale, equal_nan=True):
        return None
    with np.errstate(invalid="ignore"):
        return f"differs by {np.nanmax(np.abs(found - wanted)):.2e}, the largest is {scale:.2e}"


def matched(found, wanted):
    """Detections of one image in the order of the wanted ones: near-equal scores may swap."""
    boxes, reference = found[0], wanted[0]
    if boxes.shape != reference.shape or boxes.ndim != 2 or not len(boxes):
        return found
    scores = [next(a for a in group if a.ndim == 1 and a.dtype.kind == "f") for group in (found, wanted)]
    labels = [next((a for a in group if a.ndim == 1 and a.dtype.kind == "i"), np.zeros(len(boxes))) for group in (found, wanted)]
    rows = [np.concatenate([b, 1e3 * s[:, None], 1e4 * l[:, None]], 1) for b, s, l in zip((boxes, reference), scores, labels)]
    order, free = [], set(range(len(boxes)))
    for row in rows[1]:
        best = min(free, key=lambda index: np.abs(rows[0][index] - row).max())
        free.remove(best)
        order.append(best)
    return [a[order] if len(a) == len(order) else a for a in found]


def copies(value):
    if isinstance(value, torch.Tensor):
        return value.clone()
    return type(value)(copies(item) for item in value)


def detections(value):
    """The list of dictionaries in what a detector gives."""
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], dict):
        return value[1]
    return value


def differs(found, expected, tolerance, image=None):
    """How lists of arrays differ; None if they do not. `image` is the number of results for an image of a detector."""
    if len(found) != len(expected):
        return f"{len(found)} results instead of {len(expected)}"
    if image:
        found = [a for at in range(0, len(found), image) for a in matched(found[at:at + image], expected[at:at + image])]
    for index, (a, b) in enumerate(zip(found, expected)):
        a = np.asarray(a)
        reason = close(a, b, 2e-2 if a.dtype.name == "float16" else tolerance)
        if reason:
            return f"result {index}: {reason}"
    return None
