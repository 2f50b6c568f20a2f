"""Uses of singular vectors and eigenvectors that depend neither on their signs nor on LAPACK."""
import torch

from cases import Case, Function


def kabsch(_, p, q):
    """The rotation and the translation that move points onto others."""
    inner = (p - p.mean(-2, keepdim=True)).mT @ (q - q.mean(-2, keepdim=True))
    u, _, vh = torch.linalg.svd(inner)
    turn = torch.sign(torch.det(vh.mT @ u.mT))[..., None]
    rotation = vh.mT @ (torch.cat([torch.ones_like(turn), torch.ones_like(turn), turn], -1)[..., None] * u.mT)
    return rotation, q.mean(-2) - (rotation @ p.mean(-2)[..., None])[..., 0]


def procrustes(_, a, b):
    u, s, v = torch.svd(a.mT @ b)
    return u @ v.mT, s.sum()


def whitening(_, x):
    centred = x - x.mean(0)
    values, vectors = torch.linalg.eigh(centred.T @ centred / (x.shape[0] - 1))
    return centred @ vectors @ torch.diag((values + 1e-3).rsqrt()) @ vectors.T, values


def main_components(_, x):
    centred = x - x.mean(0)
    _, s, vh = torch.linalg.svd(centred, full_matrices=False)
    return centred @ vh[:2].T @ vh[:2], s[:2]


def cases():
    batch = torch.export.Dim("batch", min=4)
    points = torch.randn(2, 8, 3), torch.randn(2, 8, 3)
    yield "kabsch", lambda: Case(Function(kabsch), *points)
    yield "kabsch_of_a_plane", lambda: Case(Function(kabsch), points[0] * torch.tensor([1.0, 1.0, 0.0]), points[1])
    yield "procrustes", lambda: Case(
        Function(procrustes), torch.randn(9, 4, dtype=torch.float64), torch.randn(9, 4, dtype=torch.float64), says=["has several correct results"])
    yield "whitening", lambda: Case(Function(whitening), torch.randn(20, 5), others=[(torch.randn(30, 5),)], shapes=(({0: batch},),))
    yield "main_components", lambda: Case(Function(main_components), torch.randn(20, 5), others=[(torch.randn(30, 5),)], shapes=(({0: batch},),))
