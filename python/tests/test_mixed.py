"""Numbers that are integers at some sizes and real ones at others, as `max(n, 2.5)` is: right where only the value counts, and refused where a dtype follows from the class."""

from __future__ import annotations

from typing import Any

import aten2onnx
import pytest
import torch
from torch import nn
from torch.export import Dim

#: What may be computed with such a number, and is the same for an integer and a real number.
RIGHT: dict[str, Any] = {
    "times a float tensor": lambda x, n: x * max(n, 7.5),
    "an integer of it": lambda x, n: x[: int(max(n / 3, 1))] * int(min(n, 9.5)),
    "a float of it": lambda x, n: x.long() * float(max(n, 7.5)),
    "divided": lambda x, n: x.long() * (max(n, 7.5) / 2),
    "in a comparison": lambda x, n: x.long() * (max(n, 7.5) > 8),
    "with a dtype": lambda x, n: torch.tensor([max(n, 7.5)], dtype=torch.float64) + torch.full((2,), min(n, 7.5), dtype=torch.float32),
    "beside a real number": lambda x, n: torch.tensor([max(n, 7.5), 0.5]),
    "decided by the range": lambda x, n: x.long() * max(n, 1.5) + torch.tensor(min(n, 1000.5, 2000)),
    "of plain numbers": lambda x, n: x.long() * max(3, 2.5, n),
    "of booleans": lambda x, n: x * max(n > 3, n > 7) + min([n > 3, n > 7, n > 9]),
}
#: Where the dtype of the result is that of the class.
REFUSED: dict[str, Any] = {
    "times an integer tensor": lambda x, n: x.long() * max(n, 7.5),
    "full": lambda x, n: torch.full((2,), max(n, 7.5)),
    "tensor": lambda x, n: torch.tensor(min([n, 7.5, 9])),
    "sorted": lambda x, n: torch.tensor(sorted([n, 7.5, 12])[1]),
    "after arithmetic": lambda x, n: x.long() * (2 * max(n, 7.5) + n),
    "arange": lambda x, n: torch.arange(max(n, 7.5)),
    "a result": lambda x, n: (x, max(n, 7.5)),
}


class OfSize(nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x, x.shape[0])


def _exported(function: Any) -> Any:
    return aten2onnx.export(OfSize(function).eval(), (torch.randn(6, 3),), dynamic_shapes={"x": {0: Dim("n", min=2, max=40)}}, capture="record")


@pytest.mark.parametrize("name", RIGHT)
def test_a_number_whose_class_does_not_count_is_right(name):
    program = _exported(RIGHT[name])
    for n in (2, 4, 6, 7, 8, 9, 12, 40):
        x = torch.randn(n, 3) * 3
        (got,), want = program(x), RIGHT[name](x, n)
        assert got.dtype == want.dtype
        torch.testing.assert_close(got, want)


@pytest.mark.parametrize("name", REFUSED)
def test_a_number_whose_class_is_a_dtype_is_refused_with_its_line(name):
    with pytest.raises(aten2onnx.Error, match=r"(?s)an integer at some inputs and a real one at others.*test_mixed\.py"):
        _exported(REFUSED[name])
