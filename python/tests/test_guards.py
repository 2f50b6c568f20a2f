"""Random models with arithmetic and branches on sizes: each file is right wherever it says that it is.

The conditions and ranges of a file are Python, so that they can be evaluated at sizes that no example had.
"""

from __future__ import annotations

import itertools
import math
import random
import re
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.export import Dim

import aten2onnx

from tiers import IS_ALL

onnxruntime = pytest.importorskip("onnxruntime")

#: Sizes and the integer in Python, in the order in which examples have them.
NAMES = ("a", "b", "c", "d", "n")


def number(rng: random.Random, depth: int = 2) -> str:
    """A random integer in sizes."""
    if depth == 0 or rng.random() < 0.25:
        return rng.choice(NAMES) if rng.random() < 0.75 else str(rng.randint(1, 9))
    left, right = number(rng, depth - 1), number(rng, depth - 1)
    return rng.choice(
        [
            f"({left} + {right})",
            f"({left} - {right})",
            f"({left} * {right})",
            f"({left} // {rng.randint(2, 6)})",
            f"({left} % {rng.randint(2, 6)})",
            f"max({left}, {right})",
            f"min({left}, {right})",
            f"({rng.choice(NAMES)} ** 2)",
            f"int({rng.choice(NAMES)} / {rng.randint(2, 4)})",
        ]
    )


def condition(rng: random.Random, example: dict[str, int], depth: int = 1) -> str:
    """A random truth value in sizes. Equations hold at the example more often than by chance."""
    if depth > 0 and rng.random() < 0.3:
        left, right = condition(rng, example, depth - 1), condition(rng, example, depth - 1)
        return rng.choice([f"({left} and {right})", f"({left} or {right})", f"not {left}"])
    left = number(rng)
    if rng.random() < 0.2:
        return f"({left} / {rng.randint(2, 5)} {rng.choice('<>')} {rng.randint(1, 8)}.5)"
    relation = rng.choice(["<", "<=", ">", ">=", "==", "!="])
    if rng.random() < 0.6:
        return f"({left} {relation} {eval(left, {}, dict(example)) + rng.choice([0, 0, 1, -1])})"
    return f"({left} {relation} {number(rng, 1)})"


def source(rng: random.Random, example: dict[str, int]) -> str:
    lines = [
        "def forward(self, x, rest, *, table, n):",
        "    a, b = x.shape",
        "    c, d = rest[1].shape[0], table['t'][0].shape[1]",
        "    y = rest[1].sum() + table['t'][0].sum()",
    ]
    for step in range(rng.randint(1, 4)):
        lines += [f"    if {condition(rng, example)}:", f"        x = x * {step + 2}"]
        if rng.random() < 0.6:
            lines += ["    else:", f"        x = x - {step + 1}.5"]
    if rng.random() < 0.5:
        lines.append(f"    x = x * ({number(rng)} % 7 + 1)")
    if rng.random() < 0.3:
        lines.append(f"    x = x[:, : max(1, {rng.choice(NAMES)} // 2)]")
    return "\n".join([*lines, "    return x + n * 0.25, y"])


def model(text: str) -> nn.Module:
    space: dict[str, Any] = {}
    exec(text, space)
    return type("Random", (nn.Module,), {"forward": space["forward"]})().eval()


def arguments(sizes: dict[str, int]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    a, b, c, d, n = (sizes[name] for name in NAMES)
    return (torch.randn(a, b), [torch.ones(2), torch.randn(c)]), {"table": {"t": (torch.randn(3, d),)}, "n": n}


AUTO = Dim.AUTO
DIMENSIONS = {"x": {0: AUTO, 1: AUTO}, "rest": [None, {0: AUTO}], "table": {"t": ({1: AUTO},)}, "n": AUTO}
NAMED = {"x": {0: "a", 1: "b"}, "rest": [None, {0: "c"}], "table": {"t": ({1: "d"},)}, "n": AUTO}


def bound(session: Any, feeds: dict[str, np.ndarray]) -> dict[str, int] | None:
    """The names of the file with their values for these inputs; None if the file does not take them."""
    names: dict[str, int] = {}
    derived = []
    for value in session.get_inputs():
        feed = feeds[value.name]
        if feed.ndim == 0:
            names[value.name] = int(feed)
        for size, found in zip(value.shape, feed.shape):
            if isinstance(size, int) or size is None:
                if size is not None and size != found:
                    return None
            elif size.isidentifier():
                if names.setdefault(size, found) != found:
                    return None
            else:
                derived.append((size, found))
    # `2*s77`: the values of its symbols are tried, as a user would solve it.
    for text, found in derived:
        symbols = [symbol for symbol in set(re.findall(r"[A-Za-z_]\w*", text)) if symbol not in names]
        for symbol in symbols[:1]:
            fitting = [value for value in range(64) if eval(text, {}, {**names, symbol: value}) == found]
            names.update({symbol: fitting[0]} if fitting else {})
        try:
            if eval(text, {}, dict(names)) != found:
                return None
        except NameError:
            return None
    return names


def claims(program: aten2onnx.ONNXProgram) -> list[str]:
    """What the file says of sizes."""
    entries = {entry.key: entry.value for entry in program.model_proto.metadata_props}
    return [line for key in ("aten2onnx.conditions", "aten2onnx.ranges") for line in entries.get(key, "").splitlines()]


def agrees(session: Any, net: nn.Module, args: Any, kwargs: Any, feeds: dict[str, np.ndarray]) -> bool:
    want = net(*args, **kwargs)
    try:
        got = session.run(None, feeds)
    except Exception:  # ONNX Runtime has no base class of its errors
        return False
    return all(
        torch.tensor(found).shape == wanted.shape and torch.allclose(torch.tensor(found), wanted, rtol=1e-4, atol=1e-4)
        for found, wanted in zip(got, want, strict=True)
    )


def exported(net: nn.Module, args: Any, kwargs: Any, way: str, path: Any) -> aten2onnx.ONNXProgram:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if way == "live":
            return aten2onnx.export(net, args, kwargs=kwargs, dynamic_shapes=NAMED)
        try:
            program = torch.export.export(net, args, kwargs, dynamic_shapes=DIMENSIONS, strict=way == "strict")
            torch.export.save(program, path)
        except Exception as error:  # PyTorch's own assertions fail for some
            raise aten2onnx.CaptureError(str(error)) from error
        return aten2onnx.export(path)


@pytest.mark.parametrize("way", ["live", "file", "strict"])
def test_a_file_is_right_where_it_says_so(way, tmp_path) -> None:
    rng = random.Random(f"guards {way}")
    right = excluded = needed = refused = 0
    count = 24 if IS_ALL else 12
    for index in range(count):
        example = {name: rng.randint(3, 12) for name in NAMES}
        text = source(rng, example)
        net = model(text)
        torch.manual_seed(index)
        args, kwargs = arguments(example)
        try:
            program = exported(net, args, kwargs, way, tmp_path / "model.pt2")
        except aten2onnx.CaptureError:
            refused += 1
            continue
        stated = claims(program)
        session = onnxruntime.InferenceSession(program.model_bytes)
        candidates = [example] + [{name: rng.randint(2, 16) for name in NAMES} for _ in range(40)]
        # Sizes near the example are allowed more often.
        candidates += [{**example, name: value} for name, value in itertools.product(NAMES, (2, 3, 5, 8, 13, 16))]
        for sizes in candidates:
            values, named = arguments(sizes)
            names = ("x", "rest_0", "rest_1", "table_t_0", "n")
            tensors = (values[0], *values[1], named["table"]["t"][0], torch.tensor(named["n"]))
            feeds = {name: tensor.numpy() for name, tensor in zip(names, tensors)}
            feeds = {value.name: feeds[value.name] for value in session.get_inputs()}
            if "n" not in feeds and sizes["n"] != example["n"]:
                continue
            known = bound(session, feeds)
            holds = known is not None and all(eval(claim, {"math": math}, dict(known)) for claim in stated)
            assert holds or sizes is not example, f"{text}\n{stated} excludes the example {example}"
            fine = agrees(session, net, values, named, feeds)
            assert fine or not holds, f"{text}\nis wrong at {sizes}, exported at {example}; the file says {stated}"
            right += holds
            excluded += not holds
            needed += not fine and known is not None
    # The sizes are on both sides of the conditions, and without these some results would be wrong.
    assert refused <= count // 3, refused
    assert right > 10 * count and excluded > 10 * count and needed > 2 * count, (right, excluded, needed)
