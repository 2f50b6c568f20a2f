"""Real models whose number of turns or whose way depends on sizes, exported as they are: Mamba's scan, the sampling of PointNet++, DINOv2's positions."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import aten2onnx

transformers = pytest.importorskip("transformers")


def check(program, model, examples) -> None:
    for args in examples:
        wanted = model(*args)
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        for got, want in zip(program(*args), wanted, strict=True):
            torch.testing.assert_close(got, want, atol=1e-4, rtol=1e-4)


class Language(nn.Module):
    def __init__(self, model) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids):
        return self.model(input_ids=ids, use_cache=False).last_hidden_state


def test_the_sequential_scan_of_mamba_at_any_length() -> None:
    config = transformers.MambaConfig(vocab_size=29, hidden_size=16, state_size=4, num_hidden_layers=1, conv_kernel=3, expand=2, time_step_rank=2, use_cache=False)
    model = Language(transformers.MambaModel(config)).eval()
    program = aten2onnx.export(model, (torch.randint(0, 29, (2, 7)),), dynamic_shapes={"ids": {0: "batch", 1: "n"}}, capture="record")
    assert program.report.operators["Loop"] == 1 and not program.report.conditions
    check(program, model, [(torch.randint(0, 29, sizes),) for sizes in ((1, 1), (1, 2), (3, 5), (2, 40), (1, 133))])


class Seen(nn.Module):
    def __init__(self, model) -> None:
        super().__init__()
        self.model = model

    def forward(self, pixels):
        return self.model(pixels).last_hidden_state


@pytest.mark.parametrize("sizes", [(16, 16), (20, 24)])
def test_the_positions_of_dinov2_are_interpolated_unless_the_sizes_are_those_of_training(sizes) -> None:
    config = transformers.Dinov2Config(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, image_size=16, patch_size=4)
    config._attn_implementation = "eager"
    model = Seen(transformers.Dinov2Model(config)).eval()
    program = aten2onnx.export(model, (torch.randn(1, 3, *sizes),), dynamic_shapes={"pixels": {0: "batch", 2: "h", 3: "w"}}, capture="record")
    assert program.report.operators["If"] >= 1 and not program.report.conditions
    others = [(1, 16, 16), (2, 16, 20), (1, 24, 24), (1, 12, 20), (3, 8, 32), (1, 32, 8), (1, 17, 16), (2, 18, 21)]
    check(program, model, [(torch.randn(batch, 3, h, w),) for batch, h, w in others])


def points_at(points, index):
    batch = points.shape[0]
    shape, repeats = [batch, *[1] * (index.dim() - 1)], [1, *index.shape[1:]]
    return points[torch.arange(batch).view(shape).repeat(repeats), index, :]


def farthest_points(xyz, count):
    batch, n, _ = xyz.shape
    centroids = torch.zeros(batch, count, dtype=torch.long)
    distance = torch.ones(batch, n) * 1e10
    farthest = torch.zeros(batch, dtype=torch.long)
    batches = torch.arange(batch, dtype=torch.long)
    for i in range(count):
        centroids[:, i] = farthest
        centroid = xyz[batches, farthest, :].view(batch, 1, 3)
        found = torch.sum((xyz - centroid) ** 2, -1)
        mask = found < distance
        distance[mask] = found[mask]
        farthest = torch.max(distance, -1)[1]
    return centroids


def ball_points(radius, count, xyz, centers):
    batch, n, _ = xyz.shape
    index = torch.arange(n, dtype=torch.long).view(1, 1, n).repeat([batch, centers.shape[1], 1])
    index[torch.sum((centers[:, :, None] - xyz[:, None]) ** 2, -1) > radius**2] = n
    index = index.sort(dim=-1)[0][:, :, :count]
    first = index[:, :, 0].view(batch, -1, 1).repeat([1, 1, count])
    mask = index == n
    index[mask] = first[mask]
    return index


class SetAbstraction(nn.Module):
    """A layer of PointNet++: centers are sampled, and the points in a ball around each go through a network."""

    def __init__(self, count: int | None) -> None:
        super().__init__()
        self.network = nn.Sequential(nn.Conv2d(6, 8, 1), nn.BatchNorm2d(8), nn.ReLU())
        self.count = count

    def forward(self, xyz):
        batch, n, _ = xyz.shape
        count = n // 2 if self.count is None else self.count
        centers = points_at(xyz, farthest_points(xyz, count))
        grouped = points_at(xyz, ball_points(0.8, 4, xyz, centers))
        grouped = torch.cat([grouped - centers.view(batch, count, 1, 3), grouped], -1)
        return centers, torch.max(self.network(grouped.permute(0, 3, 2, 1)), 2)[0]


@pytest.mark.parametrize(("count", "loops"), [(None, 1), (8, 0)])
def test_sampling_and_grouping_of_pointnet(count, loops) -> None:
    model = SetAbstraction(count).eval()
    program = aten2onnx.export(model, (torch.randn(2, 20, 3),), dynamic_shapes={"xyz": {0: "batch", 1: "n"}}, capture="record")
    assert program.report.operators.get("Loop", 0) == loops
    check(program, model, [(torch.randn(*sizes, 3) * scale,) for sizes in ((1, 10), (2, 15), (3, 33), (1, 64)) for scale in (0.3, 1.0, 3.0)])
