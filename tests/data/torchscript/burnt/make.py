"""Makes the traces of this folder: models that have sizes of their example as numbers, and one that has none."""

import warnings
from pathlib import Path

import torch
from torch import nn

warnings.filterwarnings("ignore")
HERE = Path(__file__).parent


class Flattened(nn.Module):
    """The batch is a number beside `-1`: right for one batch only, and no operator contradicts."""

    def forward(self, x):
        return x.reshape(2, -1).sum(1)


class Grouped(nn.Module):
    """The same with a number after `-1`."""

    def forward(self, x):
        y = x.reshape(2, -1, 8)
        return y * x.reshape(x.shape[0], 4, 8)


class Viewed(nn.Module):
    """All sizes are numbers."""

    def forward(self, x):
        return x.view(8, 8)


class Single(nn.Module):
    """The example has one row."""

    def forward(self, x):
        return torch.relu(x.view(1, -1))


class Token(nn.Module):
    """A class token is expanded to the batch of the example, and joined with the rest."""

    def __init__(self):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(1, 1, 8))

    def forward(self, x):
        return torch.cat([self.token.expand(2, -1, -1), x], 1)


class Zeros(nn.Module):
    """Zeros of the example's size are added."""

    def forward(self, x):
        return x + torch.zeros(2, 4, 8)


class Positions(nn.Module):
    """As many positions as the example has."""

    def forward(self, x):
        return x.sum((1, 2)), torch.arange(2)


class Halved(nn.Module):
    """A number that Python computed of a size."""

    def forward(self, x):
        half = int(x.shape[0]) // 2
        return x.reshape(half, -1).sum(1)


class Sliced(nn.Module):
    """The end of a slice is the example's size."""

    def forward(self, x):
        return x[:2] * 2


class Clean(nn.Module):
    """Sizes are taken from tensors, and other numbers are no sizes."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x):
        y = self.linear(x)
        y = y.view(x.shape[0], 4, 2, 4).transpose(1, 2)
        y = y.reshape(-1, 2, 16) + torch.ones(2, 1)
        return y.flatten(1).reshape(-1, 4, 8) * 2 + x[:, :2].sum(1, keepdim=True)


BATCH = {"single": 1, "halved": 4, "clean": 3}
MODELS = [Flattened, Grouped, Viewed, Single, Token, Zeros, Positions, Halved, Sliced, Clean]

if __name__ == "__main__":
    torch.manual_seed(0)
    for model in MODELS:
        name = model.__name__.lower()
        example = torch.randn(BATCH.get(name, 2), 4, 8)
        torch.jit.trace(model().eval(), example).save(HERE / f"{name}.pt")
