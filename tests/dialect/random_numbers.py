"""Random numbers have PyTorch's distribution and differ in each run.

    random_numbers.py PATH-OF-aten2onnx

A Kolmogorov-Smirnov test compares the samples. Samples of the same distribution fail it once in 10^9 tests. Values are rounded first,
because dropped elements all have the same value, which may differ in its last bit. The test takes elements for independent: of those that follow
from one drawn number a case gives one.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from scipy.stats import ks_2samp

from judge import array, session

CHANCE = 1e-9
MANY = torch.linspace(-2, 2, 60_000).reshape(100, 600)
IMAGES = torch.rand(200, 50, 2, 2) + 1


class Called(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class Layers(nn.Module):
    """Two layers with dropout in between."""

    def __init__(self, kind):
        super().__init__()
        torch.manual_seed(0)
        self.layers = kind(4, 8, num_layers=2, dropout=0.4)

    def forward(self, x):
        return self.layers(x)[0][-1, :, 0]


def attention(x):
    q = x.reshape(100, 6, 10, 10)
    return F.scaled_dot_product_attention(q, q, q, dropout_p=0.5)[..., 0]


CASES = {
    "dropout": (Called(lambda x: F.dropout(x, 0.3, True)), MANY),
    "dropout_of_all": (Called(lambda x: F.dropout(x, 1.0, True)), MANY),
    "dropout_in_float16": (Called(lambda x: F.dropout(x, 0.3, True)), MANY.half()),
    "alpha_dropout": (Called(lambda x: F.alpha_dropout(x, 0.3, True)), MANY),
    "dropout2d": (Called(lambda x: F.dropout2d(x, 0.3, True).sum((2, 3))), IMAGES),
    "feature_alpha_dropout": (Called(lambda x: F.feature_alpha_dropout(x, 0.3, True).sum((2, 3))), IMAGES),
    "attention": (Called(attention), MANY),
    "lstm": (Layers(nn.LSTM), MANY.reshape(5, 3000, 4)),
    "gru": (Layers(nn.GRU), MANY.reshape(5, 3000, 4)),
    "rand": (Called(lambda x: torch.rand_like(x) + 0 * x), MANY),
    "randn": (Called(lambda x: torch.randn_like(x) + 0 * x), MANY),
    "bernoulli": (Called(lambda x: torch.bernoulli((x + 2) / 4)), MANY),
    "randint": (Called(lambda x: torch.randint_like(x, -3, 9)), MANY),
    "uniform_": (Called(lambda x: torch.empty_like(x).uniform_(-3, 5)), MANY),
    "normal": (Called(lambda x: torch.normal(x, 2.0)), MANY),
    "multinomial": (Called(lambda x: torch.multinomial(x.exp(), 3)), MANY),
    "multinomial_again": (Called(lambda x: torch.multinomial(x.exp(), 3, True)), MANY),
    "randperm": (Called(lambda x: torch.randperm(600).float() * x[0]), MANY),
    "exponential_": (Called(lambda x: torch.empty_like(x).exponential_(0.7)), MANY),
    "gumbel_softmax": (Called(lambda x: F.gumbel_softmax(x, 0.5)), MANY),
    "cauchy_": (Called(lambda x: torch.empty_like(x).cauchy_(1, 2).arctan()), MANY),
    "log_normal_": (Called(lambda x: torch.empty_like(x).log_normal_(0, 0.5)), MANY),
    "geometric_": (Called(lambda x: torch.empty_like(x).geometric_(0.3)), MANY),
    "random_": (Called(lambda x: torch.empty_like(x).random_() / 2**24), MANY),
    "random_ to": (Called(lambda x: torch.empty_like(x).random_(9)), MANY),
    "bernoulli_": (Called(lambda x: torch.empty_like(x).bernoulli_((x + 2) / 4)), MANY),
    "rrelu": (Called(lambda x: F.rrelu(x, training=True)), MANY),
}


def differs(module, x, model):
    """Returns what is wrong with the numbers of the model, or None."""
    name = model.get_inputs()[0].name
    draw = lambda: model.run(None, {name: array(x)})[0]  # noqa: E731
    with torch.no_grad():
        wanted, again = array(module(x)), array(module(x))
    got = draw()
    if got.dtype != wanted.dtype or got.shape != wanted.shape:
        return f"{got.dtype}{list(got.shape)}, wanted {wanted.dtype}{list(wanted.shape)}"
    chance = ks_2samp(*(np.round(values.ravel().astype(float), 3) for values in (got, wanted))).pvalue
    if chance < CHANCE:
        return f"the chance of such a difference is {chance:.1e}"
    if (draw() == got).all() and not (wanted == again).all():
        return "the same on each run"
    return None


def main():
    binary, wrong = sys.argv[1], 0
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        pt2, onnx = Path(folder, "model.pt2"), Path(folder, "model.onnx")
        for case, (module, x) in CASES.items():
            torch.export.save(torch.export.export(module, (x,)), pt2)
            for opset in ("9", "18", "23"):
                done = subprocess.run([binary, "export", pt2, "-o", onnx, "--opset", opset], capture_output=True, text=True, check=False)
                found = done.stderr.strip() if done.returncode else differs(module, x, session(str(onnx)))
                if found:
                    print(f"WRONG {case} at {opset}: {found}")
                    wrong += 1
    print(f"{len(CASES)} random operators, {wrong} wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
