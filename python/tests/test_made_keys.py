"""Keys of dictionaries that only some turns make, and loops over a size whose turns make no calls: exact, or refused with their line."""

from __future__ import annotations

import os
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import aten2onnx

sys.path.insert(0, os.path.dirname(__file__))
from called import Calls  # noqa: E402

pytest.importorskip("onnxruntime")


def exported(function: Callable[..., Any]) -> aten2onnx.ONNXProgram:
    torch.manual_seed(0)
    return aten2onnx.export(Calls(function).eval(), (torch.randn(3, 4),), dynamic_shapes={"x": {0: "n"}})


def got(x):
    counts = {}
    for value in x[:, 0]:
        kind = "large" if value > 1 else "small" if value > 0 else "none"
        counts[kind] = counts.get(kind, 0) + 1
    return x * counts.get("large", 0) + counts.get("small", 0) * 10 + counts.get("none", 0) * 100


def set_if_missing(x):
    sides = {}
    for row in x:
        sides.setdefault("p" if row[0] > 0 else "n", []).append(row)
    if "p" in sides:
        return torch.stack(sides["p"]).mean(0)
    return x.sum(0)


def in_default(x):
    sides = {}
    for row in x:
        sides.setdefault("p" if row[0] > 0 else "n", []).append(row)
    return sum(torch.stack(sides.get(side, [x[0] * 7])).sum(0) for side in ("p", "n"))


def of_numbers(x):
    sums = defaultdict(float)
    for value in x[:, 0]:
        sums["p" if value > 0 else "n"] += value.item()
    return x * sums["p"] - sums["n"]


def of_lists(x):
    sides = defaultdict(list)
    for row in x:
        sides["p" if row[0] > 0 else "n"].append(row)
    return torch.stack([*sides["p"], x[0]]).sum(0)


def counter(x):
    counts, state = Counter(), "idle"
    for row in x:
        if row[0] > 1:
            state = "busy"
        elif row[0] < 0:
            state = "idle"
        counts[state] += 1
    return x * counts["busy"]


def nested(x):
    counts = Counter()
    for row in x:
        for value in row:
            counts["a" if value > 1 else "b" if value > 0 else "c"] += 1
    return x * counts["a"] + counts["b"] * 10 + counts["c"] * 100


def in_a_turn(x):
    total = x[0] * 0
    for row in x:
        counts = {}
        for value in row:
            kind = "p" if value > 0 else "n"
            counts[kind] = counts.get(kind, 0) + 1
        total = total + row * counts.get("p", 0)
    return total


def table(x):
    weights, total = {"p": 2.0}, x[0] * 0
    for row in x:
        kind = "p" if row[0] > 0 else "n"
        total = total + row * weights.get(kind, 0.5)
    return total


@pytest.mark.parametrize("function", [got, set_if_missing, in_default, of_numbers, of_lists, counter, nested, in_a_turn, table])
def test_keys_that_only_some_turns_make(function: Callable[..., Any]) -> None:
    program = exported(function)
    for size in (1, 2, 3, 5, 9, 20):
        for x in (torch.randn(size, 4), torch.rand(size, 4) * 3, -torch.rand(size, 4), torch.zeros(size, 4), torch.randn(size, 4) * 9):
            np.testing.assert_allclose(program(x)[0], function(x), rtol=1e-3, atol=1e-4)


def rare(x):
    counts = {}
    for value in x[:, 0]:
        kind = "hot" if value > 25 else "cold"
        counts[kind] = counts.get(kind, 0) + 1
    return counts


def how_many(x):
    counts = {}
    for value in x[:, 0]:
        kind = "hot" if value > 25 else "cold"
        counts[kind] = counts.get(kind, 0) + 1
    return x * len(counts)


def is_in(x):
    counts = Counter()
    for value in x[:, 0]:
        counts["hot" if value > 25 else "cold"] += 1
    return x * 2 if "cold" in counts else x * 3


ASKED: dict[str, Callable[..., Any]] = {
    "how many here": how_many,
    "in here": is_in,
    "how many": lambda x: x * len(rare(x)),
    "in": lambda x: x * 2 if "cold" in rare(x) else x * 3,
    "a list": lambda x: x * 2 if "cold" in list(rare(x)) else x * 3,
    "another default": lambda x: x * rare(x).get("cold", 5),
    "values": lambda x: x * min(rare(x).values()),
    "a loop": lambda x: x * sum(1 for _ in rare(x)),
}


@pytest.mark.parametrize("function", ASKED.values(), ids=ASKED)
def test_whether_a_key_was_made_is_refused(function: Callable[..., Any]) -> None:
    # No data that the program is tried out with has a first column of more than 25 alone.
    with pytest.raises(aten2onnx.Error) as caught:
        exported(function)
    assert "test_made_keys.py" in str(caught.value)


def counted(x):
    number = 0
    for i in range(x.shape[0]):
        if i > 40:
            number = number + 1
    return x * number


def counted_rows(x):
    number = 0
    for i, _ in enumerate(x):
        number += i > 40
    return x * number


def listed(x):
    late = [i for i in range(x.shape[0]) if i * 3 > 120]
    return x * len(late)


def summed(x):
    number = sum(1 for i in range(x.shape[0]) if i > 40)
    return x * number


def any_of(x):
    is_late = any(i * i > 1800 for i in range(x.shape[0]))
    return x * 2 if is_late else x * 3


def last_text(x):
    kind = "early"
    for i, _ in enumerate(x):
        kind = "late" if i > 40 else "early"
    return x * 2 if kind == "late" else x * 3


@pytest.mark.parametrize("function", [counted, counted_rows, listed, summed, any_of, last_text])
def test_turns_that_make_no_calls_may_matter_at_larger_sizes(function: Callable[..., Any]) -> None:
    # All sizes that were tried were smaller: the file had what the turns give there, in silence.
    program = exported(function)
    for size in (1, 2, 5, 40, 41, 42, 43, 44, 70):
        x = torch.randn(size, 4)
        np.testing.assert_allclose(program(x)[0], function(x), rtol=1e-4, atol=1e-5)


def keyed(x):
    found = {}
    for i, row in enumerate(x):
        if i > 40:
            found["late"] = row
        else:
            found["early"] = row
    return x * len(found)


def test_such_turns_are_refused_if_they_make_no_loop() -> None:
    with pytest.raises(aten2onnx.Error, match="the turns of a loop over a size make no calls") as caught:
        exported(keyed)
    assert "test_made_keys.py" in str(caught.value)


def idle(x):
    places = []
    for i in range(x.shape[0]):
        places.append(i)
    return x * 2


def test_a_loop_without_effect_is_no_matter() -> None:
    program = exported(idle)
    assert "Loop" not in program.report.operators
    x = torch.randn(9, 4)
    np.testing.assert_allclose(program(x)[0], x * 2)
