"""LightGlue, exported as it is: it stops after the layer that is sure of all points, and drops points that have no match."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

import aten2onnx

def rotated(x):
    one, two = x.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack((-two, one), -1).flatten(-2)


class Positions(nn.Module):
    def __init__(self, width) -> None:
        super().__init__()
        self.Wr = nn.Linear(2, width // 2, bias=False)

    def forward(self, x):
        projected = self.Wr(x)
        return torch.stack([projected.cos(), projected.sin()], 0).unsqueeze(-3).repeat_interleave(2, dim=-1)


class Block(nn.Module):
    """Attention of points to others, and a network of what they find."""

    def __init__(self, width, heads) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))
        self.ffn = nn.Sequential(nn.Linear(2 * width, 2 * width), nn.LayerNorm(2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x, other, encodings=None):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in (self.q(x), self.k(other), self.v(other)))
        if encodings is not None:
            q, k = (t * encodings[0] + rotated(t) * encodings[1] for t in (q, k))
        if q.shape[-2] == 0 or k.shape[-2] == 0:
            found = q.new_zeros((*q.shape[:-1], v.shape[-1]))
        else:
            found = F.scaled_dot_product_attention(q, k, v)
        return x + self.ffn(torch.cat([x, self.out(found.transpose(1, 2).flatten(-2))], -1))


class Assignment(nn.Module):
    def __init__(self, width) -> None:
        super().__init__()
        self.matchability, self.final_proj, self.width = nn.Linear(width, 1), nn.Linear(width, width), width

    def forward(self, desc0, desc1):
        mdesc0, mdesc1 = self.final_proj(desc0) / self.width**0.25, self.final_proj(desc1) / self.width**0.25
        sim = torch.einsum("bmd,bnd->bmn", mdesc0, mdesc1)
        z0, z1 = self.matchability(desc0), self.matchability(desc1)
        b, m, n = sim.shape
        certainties = F.logsigmoid(z0) + F.logsigmoid(z1).transpose(1, 2)
        scores = sim.new_full((b, m + 1, n + 1), 0)
        scores[:, :m, :n] = F.log_softmax(sim, 2) + F.log_softmax(sim.transpose(-1, -2).contiguous(), 2).transpose(-1, -2) + certainties
        scores[:, :-1, -1] = F.logsigmoid(-z0.squeeze(-1))
        scores[:, -1, :-1] = F.logsigmoid(-z1.squeeze(-1))
        return scores

    def get_matchability(self, desc):
        return torch.sigmoid(self.matchability(desc)).squeeze(-1)


def filter_matches(scores, threshold):
    max0, max1 = scores[:, :-1, :-1].max(2), scores[:, :-1, :-1].max(1)
    m0, m1 = max0.indices, max1.indices
    indices0, indices1 = torch.arange(m0.shape[1])[None], torch.arange(m1.shape[1])[None]
    mutual0, mutual1 = indices0 == m1.gather(1, m0), indices1 == m0.gather(1, m1)
    exp0 = max0.values.exp()
    mscores0 = torch.where(mutual0, exp0, exp0.new_tensor(0))
    mscores1 = torch.where(mutual1, mscores0.gather(1, m1), exp0.new_tensor(0))
    valid0 = mutual0 & (mscores0 > threshold)
    valid1 = mutual1 & valid0.gather(1, m1)
    return torch.where(valid0, m0, -1), torch.where(valid1, m1, -1), mscores0, mscores1


class LightGlue(nn.Module):
    def __init__(self, width=8, heads=2, layers=3, depth_confidence=0.95, width_confidence=0.99, pruning_th=4) -> None:
        super().__init__()
        self.n_layers, self.depth_confidence, self.width_confidence, self.pruning_th = layers, depth_confidence, width_confidence, pruning_th
        self.posenc = Positions(width // heads)
        self.self_attn = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.cross_attn = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.log_assignment = nn.ModuleList(Assignment(width) for _ in range(layers))
        self.token_confidence = nn.ModuleList(nn.Sequential(nn.Linear(width, 1), nn.Sigmoid()) for _ in range(layers - 1))
        self.register_buffer("confidence_thresholds", torch.Tensor([min(max(0.8 + 0.1 * math.exp(-4.0 * i / layers), 0), 1) for i in range(layers)]))

    def check_if_stop(self, confidences0, confidences1, layer_index, num_points):
        confidences = torch.cat([confidences0, confidences1], -1)
        ratio_confident = 1.0 - (confidences < self.confidence_thresholds[layer_index]).float().sum() / num_points
        return ratio_confident > self.depth_confidence

    def get_pruning_mask(self, confidences, scores, layer_index):
        keep = scores > (1 - self.width_confidence)
        if confidences is not None:
            keep |= confidences <= self.confidence_thresholds[layer_index]
        return keep

    def forward(self, kpts0, kpts1, desc0, desc1):
        b, m, _ = kpts0.shape
        b, n, _ = kpts1.shape
        encoding0, encoding1 = self.posenc(kpts0), self.posenc(kpts1)
        ind0, ind1 = torch.arange(0, m)[None], torch.arange(0, n)[None]
        prune0, prune1 = torch.ones_like(ind0), torch.ones_like(ind1)
        token0, token1 = None, None
        for i in range(self.n_layers):
            if desc0.shape[1] == 0 or desc1.shape[1] == 0:
                break
            desc0, desc1 = self.self_attn[i](desc0, desc0, encoding0), self.self_attn[i](desc1, desc1, encoding1)
            desc0, desc1 = self.cross_attn[i](desc0, desc1), self.cross_attn[i](desc1, desc0)
            if i == self.n_layers - 1:
                continue
            token0, token1 = self.token_confidence[i](desc0).squeeze(-1), self.token_confidence[i](desc1).squeeze(-1)
            if self.check_if_stop(token0, token1, i, m + n):
                break
            if desc0.shape[-2] > self.pruning_th:
                keep0 = torch.where(self.get_pruning_mask(token0, self.log_assignment[i].get_matchability(desc0), i))[1]
                ind0, desc0, encoding0 = ind0.index_select(1, keep0), desc0.index_select(1, keep0), encoding0.index_select(-2, keep0)
                prune0[:, ind0] += 1
            if desc1.shape[-2] > self.pruning_th:
                keep1 = torch.where(self.get_pruning_mask(token1, self.log_assignment[i].get_matchability(desc1), i))[1]
                ind1, desc1, encoding1 = ind1.index_select(1, keep1), desc1.index_select(1, keep1), encoding1.index_select(-2, keep1)
                prune1[:, ind1] += 1
        if desc0.shape[1] == 0 or desc1.shape[1] == 0:
            m0, m1 = desc0.new_full((b, m), -1, dtype=torch.long), desc0.new_full((b, n), -1, dtype=torch.long)
            return m0, m1, desc0.new_zeros((b, m)), desc0.new_zeros((b, n)), i + 1, prune0, prune1
        m0, m1, mscores0, mscores1 = filter_matches(self.log_assignment[i](desc0, desc1), 0.01)
        m0_, m1_ = torch.full((b, m), -1), torch.full((b, n), -1)
        m0_[:, ind0] = torch.where(m0 == -1, -1, ind1.gather(1, m0.clamp(min=0)))
        m1_[:, ind1] = torch.where(m1 == -1, -1, ind0.gather(1, m1.clamp(min=0)))
        mscores0_, mscores1_ = torch.zeros((b, m)), torch.zeros((b, n))
        mscores0_[:, ind0], mscores1_[:, ind1] = mscores0, mscores1
        return m0_, m1_, mscores0_, mscores1_, i + 1, prune0, prune1


def matcher():
    """A small LightGlue whose random weights stop and drop at other layers for other data."""
    torch.manual_seed(0)
    model = LightGlue().eval()
    with torch.no_grad():
        for layer in model.token_confidence:
            layer[0].weight.mul_(20)
            layer[0].bias.fill_(4)
        for layer in model.log_assignment:
            layer.matchability.weight.mul_(30)
    return model


def points(m, n, scale=1.0):
    return torch.rand(1, m, 2), torch.rand(1, n, 2), torch.randn(1, m, 8) * scale, torch.randn(1, n, 8) * scale


def test_lightglue_stops_early_and_drops_points() -> None:
    model = matcher()
    torch.manual_seed(1)
    m, n = torch.export.Dim("m", min=2), torch.export.Dim("n", min=2)
    shapes = {"kpts0": {1: m}, "kpts1": {1: n}, "desc0": {1: m}, "desc1": {1: n}}
    program = aten2onnx.export(model, points(12, 9), dynamic_shapes=shapes, capture="record", max_runs=2)
    assert program.report.operators["If"] > 6 and not program.report.conditions
    depths, dropped = set(), 0
    for sizes in ((12, 9), (3, 3), (5, 2), (9, 20), (30, 24)):
        for scale in (0.1, 0.5, 1.0, 1.0, 2.0, 2.0, 4.0, 4.0):
            args = points(*sizes, scale)
            wanted = model(*args)
            depths.add(wanted[4])
            dropped += int((wanted[5] < wanted[4]).sum())
            for got, want in zip(program(*args), wanted, strict=True):
                torch.testing.assert_close(got, torch.as_tensor(want), atol=1e-4, rtol=1e-4)
    assert len(depths) > 1 and dropped > 10
