"""Models whose weights are quantized: products in both forms, convolutions, lookups, tied weights, loops and branches."""
import torch
from torch import nn


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 96))
        self.head = nn.Linear(96, 40)

    def forward(self, x):
        return self.head(torch.relu(self.body(x)))


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.depth = nn.Conv2d(3, 48, 3, padding=1), nn.Conv2d(48, 48, 5, padding=2, groups=48)
        self.norm, self.point = nn.BatchNorm2d(48), nn.Conv2d(48, 64, 1)
        self.up, self.line = nn.ConvTranspose2d(64, 32, 2, stride=2), nn.Conv1d(32, 48, 3)

    def forward(self, x):
        y = self.up(torch.relu(self.point(self.norm(self.depth(torch.relu(self.stem(x)))))))
        return self.line(y.mean(2)), y


class Tied(nn.Module):
    """A language model whose head has the elements of its embedding."""

    def __init__(self):
        super().__init__()
        self.embed, self.position = nn.Embedding(300, 64), nn.Embedding(32, 64)
        self.mix, self.norm, self.head = nn.Linear(64, 64, bias=False), nn.LayerNorm(64), nn.Linear(64, 300, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        x = self.embed(ids) + self.position(torch.arange(ids.shape[1]))
        return self.head(self.norm(x + self.mix(x)))


class Columns(nn.Module):
    """Weights that are multiplied as they are, as in GPT-2, moved on their way, or of an odd number of rows."""

    def __init__(self):
        super().__init__()
        self.plain, self.moved = nn.Parameter(torch.empty(64, 96)), nn.Parameter(torch.empty(8, 12, 96))
        self.odd, self.batched = nn.Linear(96, 75), nn.Parameter(torch.empty(3, 75, 48))
        self.last = nn.Linear(75, 32)

    def forward(self, x):
        x = torch.relu(x @ self.plain)
        x = x + torch.tanh(x) @ self.moved.permute(2, 0, 1).reshape(96, 96)
        y = torch.relu(self.odd(x))
        return self.last(y), y.unsqueeze(0) @ self.batched


class Loops(nn.Module):
    """Weights that are read in the body of a loop and on both sides of a branch."""

    def __init__(self):
        super().__init__()
        self.step, self.left, self.right = nn.Linear(64, 64), nn.Linear(64, 32), nn.Linear(64, 32)

    def forward(self, x):
        def again(i, h, x, weight):
            return i < 3

        def turn(i, h, x, weight):
            return i + 1, torch.tanh(h @ weight.T) + x

        start, weights = torch.zeros((), dtype=torch.int64), (self.left.weight, self.right.weight)
        _, h = torch.ops.higher_order.while_loop(again, turn, (start, x), (x, self.step.weight))
        return torch.ops.higher_order.cond(h.abs().sum() > 0, lambda h, left, right: h @ left.T, lambda h, left, right: h @ right.T, (h, *weights))


class Left(nn.Module):
    """Weights that stay: one that something else reads, one with a NaN, and small ones."""

    def __init__(self):
        super().__init__()
        self.shared, self.odd, self.plain, self.small = nn.Linear(64, 64), nn.Linear(64, 64), nn.Linear(64, 64), nn.Linear(64, 4)

    def forward(self, x):
        y = self.plain(x) + self.shared(x) @ torch.sin(self.shared.weight)
        return self.small(y), self.odd(x).nan_to_num(0.0)


def batch(n, *sizes):
    return torch.randn(n, *sizes)


def ids(n):
    return torch.randint(0, 300, (n, 7))


BATCH = torch.export.Dim("batch", min=2, max=4096)
# The name, the module, inputs at two sizes, dynamic dimensions.
MODELS = {
    "perceptron": (Perceptron, lambda n: (batch(n, 64),), ({0: BATCH},)),
    "convolutions": (Convolutions, lambda n: (batch(n, 3, 8, 8),), ({0: BATCH},)),
    "tied": (Tied, lambda n: (ids(n),), ({0: BATCH},)),
    "columns": (Columns, lambda n: (batch(n, 64),), ({0: BATCH},)),
    "loops": (Loops, lambda n: (batch(n, 64),), ({0: BATCH},)),
    "left": (Left, lambda n: (batch(n, 64),), ({0: BATCH},)),
}
