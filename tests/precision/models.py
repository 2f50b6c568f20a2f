"""The models of tests/precision: some of tests/models, and hazards, which break when everything is in half precision.

Each function returns (module, example inputs, inputs of other sizes, dynamic shapes). Of a hazard (`hazard`) PyTorch's own half precision may be
wrong or impossible. `opsets` are those that can hold it.
"""
import torch
import zoo
from torch import nn

BATCH = torch.export.Dim("batch", min=2, max=64)
LENGTH = torch.export.Dim("length", min=2, max=9000)


def hazard(build):
    build.hazard = True
    return build


class MaskedAttention(nn.Module):
    """A mask of the least float32 and of -1e9, and a row in which all is masked but one."""

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(16, 16) for _ in range(3))

    def forward(self, x, mask):
        scores = self.query(x) @ self.key(x).transpose(1, 2) / 4
        scores = scores.masked_fill(mask[:, None, :] == 0, -1e9)
        scores = scores + (1.0 - mask[:, None, :].float()) * torch.finfo(torch.float32).min
        return torch.softmax(scores, -1) @ self.value(x)


@hazard
def masks():
    mask = torch.ones(2, 7, dtype=torch.int64)
    mask[0, 1:] = 0
    other = torch.ones(3, 9, dtype=torch.int64)
    other[1, 3:] = 0
    shapes = {0: BATCH, 1: LENGTH}
    return MaskedAttention(), (torch.randn(2, 7, 16), mask), (torch.randn(3, 9, 16), other), (shapes, shapes)


class Norms(nn.Module):
    """Norms with tiny epsilons over small and over large numbers."""

    def __init__(self):
        super().__init__()
        self.layer = nn.LayerNorm(32, eps=1e-12)
        self.instance = nn.InstanceNorm1d(8, affine=True, eps=1e-8)
        self.group = nn.GroupNorm(2, 8, eps=1e-7)
        self.weight = nn.Parameter(torch.randn(32))

    def forward(self, x):
        tiny = self.layer(x * 1e-4)
        rms = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-9) * self.weight
        large = self.layer(x * 300)
        return tiny + self.instance(x) + self.group(x) + rms + large


@hazard
def norms():
    return Norms(), (torch.randn(2, 8, 32),), (torch.randn(5, 8, 32),), ({0: BATCH},)


class Rotary(nn.Module):
    """Angles of positions: at 8,000 half precision cannot tell one position from the next four."""

    def __init__(self):
        super().__init__()
        self.register_buffer("frequencies", 1.0 / 10000 ** (torch.arange(0, 8).float() / 8))
        self.project = nn.Linear(16, 16)

    def forward(self, x):
        positions = torch.arange(x.shape[1], device=x.device)[None, :, None].float()
        angles = positions @ self.frequencies[None, None, :]
        angles = torch.cat((angles, angles), -1)
        x = self.project(x)
        turned = torch.cat((-x[..., 8:], x[..., :8]), -1)
        return x * angles.cos() + turned * angles.sin()


@hazard
def rotary():
    return Rotary(), (torch.randn(2, 5, 16),), (torch.randn(3, 8000, 16),), ({0: BATCH, 1: LENGTH},)


class Sums(nn.Module):
    """Sums, sizes and squares beyond 65,504, whose results are small again."""

    def forward(self, x):
        mean = x.sum((1, 2)) / x[0].numel()
        norm = x.norm(dim=2) / 100
        largest = (x * x).mean() / 1e4
        return mean, norm, largest, torch.logsumexp(x, 2), torch.exp(x / 40).log()


@hazard
def sums():
    return Sums(), (torch.rand(2, 40, 64) * 400 + 100,), (torch.rand(3, 90, 64) * 400 + 100,), ({0: BATCH, 1: LENGTH},)


class Places(nn.Module):
    """Places in a picture and sizes that are computed in floats."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, x):
        x = self.conv(x)
        small = nn.functional.interpolate(x, scale_factor=0.5, mode="bilinear", align_corners=False)
        large = nn.functional.interpolate(small, size=x.shape[2:], mode="bilinear", align_corners=False)
        step = torch.linspace(-1, 1, 50)
        grid = torch.stack(torch.meshgrid(step, step, indexing="xy"), -1)[None].expand(x.shape[0], -1, -1, -1)
        taken = nn.functional.grid_sample(x, grid, align_corners=True)
        return large, taken


@hazard
def places():
    return Places(), (torch.rand(2, 3, 32, 40),), (torch.rand(3, 3, 32, 40),), ({0: BATCH},)


places.opsets = [16, 18, 23]


class Turns(nn.Module):
    """A loop whose state is carried in one precision, and a branch with different ones on its sides."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, x):
        def more(i, state, weight):
            return i < 4

        def turn(i, state, weight):
            return i + 1, torch.tanh(state @ weight) + torch.softmax(state, -1)

        _, state = torch.ops.higher_order.while_loop(more, turn, (torch.zeros((), dtype=torch.int64), x), (self.inner.weight,))
        return torch.cond(state.sum() > 0, lambda y: torch.exp(y / 8), lambda y: y * 2, (state,))


@hazard
def turns():
    return Turns(), (torch.randn(2, 8),), (torch.randn(5, 8),), ({0: BATCH},)


turns.opsets = [13, 18, 23]


class Own(nn.Module):
    """A model that chose half precision itself for a part, and float32 inside of that."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(16, 16), nn.Linear(16, 4)
        self.inner = nn.Linear(16, 16).half()

    def forward(self, x):
        x = self.inner(self.first(x).half())
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.last(torch.relu(wide))


@hazard
def own():
    return Own(), (torch.randn(2, 16),), (torch.randn(5, 16),), ({0: BATCH},)


class Large(nn.Module):
    """Weights that float16 does not hold, and a statistic that it does not either."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.norm = nn.BatchNorm1d(8)
        self.register_buffer("scale", torch.tensor(1e6))
        with torch.no_grad():
            self.layer.weight.mul_(1e6)

    def forward(self, x):
        x = self.layer(x)
        return torch.tanh(self.norm(x)) + x / self.scale


@hazard
def large():
    module = Large()
    return module, (torch.randn(4, 8),), (torch.randn(6, 8),), ({0: BATCH},)


class Tagger(nn.Module):
    """A recurrent layer in both directions, with an embedding."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(50, 16)
        self.layer = nn.LSTM(16, 12, bidirectional=True, batch_first=True)
        self.gates = nn.GRU(24, 8, batch_first=True)
        self.last = nn.Linear(8, 5)

    def forward(self, ids):
        return self.last(self.gates(self.layer(self.words(ids))[0])[0]).log_softmax(-1)


def tagger():
    ids = torch.randint(0, 50, (2, 6))
    return Tagger(), (ids,), (torch.randint(0, 50, (3, 6)),), ({0: BATCH},)


MODELS = [
    zoo.resnet18, zoo.mobilenet_v3, zoo.convnext, zoo.vit, zoo.bert, zoo.gpt2, zoo.llama,
    masks, norms, rotary, sums, places, turns, own, large, tagger,
]
