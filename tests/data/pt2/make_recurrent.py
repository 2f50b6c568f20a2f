"""Creates the samples `vNN_lstm`, `vNN_gru` and `vNN_rnn` with the torch that runs it: 2.6, 2.8 and 2.10 in the repository.

    python make_recurrent.py

Beside each sample are the results at batches 1, 2 and 5, as `.results.json`: old versions of torch are not there when tests run. Versions to 2.11 or so
record the states of an LSTM with a dynamic batch as [1, N, batch, hidden] in place of [N, batch, hidden].
"""

import json
import sys
from pathlib import Path

import torch
from torch import nn

HERE = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
VERSION = "v" + "".join(torch.__version__.split(".")[:2])


class Reads(nn.Module):
    """A recurrent layer, and what reads its states."""

    def __init__(self, kind):
        super().__init__()
        self.layer = kind(3, 4, batch_first=True)

    def forward(self, x):
        out, states = self.layer(x)
        first = states[0] if isinstance(states, tuple) else states
        return out, first, first * 2 + 1, states


def flat(value):
    return [value] if isinstance(value, torch.Tensor) else [leaf for part in value for leaf in flat(part)]


for name, kind in {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}.items():
    torch.manual_seed(0)
    model = Reads(kind).eval()
    shapes = {"x": {0: torch.export.Dim("batch")}}
    program = torch.export.export(model, (torch.randn(2, 5, 3),), dynamic_shapes=shapes, strict=True)
    path = HERE / f"{VERSION}_{name}.pt2"
    torch.export.save(program, path)
    results = []
    for batch in (1, 2, 5):
        x = torch.randn(batch, 5, 3)
        with torch.no_grad():
            outputs = flat(model(x))
        results.append({"x": x.tolist(), "outputs": [output.tolist() for output in outputs]})
    path.with_suffix(".results.json").write_text(json.dumps(results) + "\n")
