"""Plants wrong results, and checks that no entry of the table of differences accepts them, and that the right entry accepts what it is there for."""
import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "../../src/examples/src"))

import numpy as np  # noqa: E402
import onnx  # noqa: E402

import differences  # noqa: E402
import judge  # noqa: E402

NAN, INF = np.nan, np.inf


def f32(*elements):
    return np.array(elements, np.float32)


def entry(op, inputs, want, have, **args):
    """The entry that accepts results of an operator of PyTorch whose first argument is `self`."""
    record = {"op": op, "args": [["self", {"tensor": 0}], *([name, {"int": value}] for name, value in args.items())]}
    return differences.excuse(record, inputs, want, have, judge.close, lambda others: judge.plain_results(record, others))


def orders():
    x = f32(1, 1, 2)
    want = [x, np.array([0, 1, 2])]
    assert entry("aten::sort", [x], want, [x, np.array([1, 0, 2])]) == "equal-elements"
    for positions in ([0, 0, 2], [2, 1, 0], [0, 1, 3], [0, -1, 2]):
        assert entry("aten::sort", [x], want, [x, np.array(positions)]) is None, positions
    assert entry("aten::sort", [x], want, [x + 1, np.array([1, 0, 2])]) is None
    assert entry("aten::kthvalue", [x], [f32(1)[0], np.array(0)], [f32(1)[0], np.array(1)], k=1) == "equal-elements"
    assert entry("aten::kthvalue", [x], [f32(1)[0], np.array(0)], [f32(1)[0], np.array(2)], k=1) is None
    # Equal elements beside a NaN: the one does not excuse the other.
    y = f32([1, NAN, 1], [1, 1, 0])
    want = [f32([NAN], [1]), np.array([[1], [0]])]
    assert entry("aten::topk", [y], want, [f32([1], [1]), np.array([[0], [1]])], k=1) == "nan-in-order"
    assert entry("aten::topk", [y], want, [f32([1], [1]), np.array([[0], [2]])], k=1) is None


def numbers_that_are_not_finite():
    y = f32([NAN, 1], [2, 3])
    assert entry("aten::max", [y[0]], [f32(NAN)[0]], [f32(1)[0]]) == "nan-in-order"
    rows = [f32(NAN, 3), np.array([0, 1])]
    assert entry("aten::max.dim", [y], rows, [f32(1, 3), np.array([1, 1])], dim=1) == "nan-in-order"
    assert entry("aten::max.dim", [y], rows, [f32(1, 4), np.array([1, 1])], dim=1) is None
    x = f32(INF, 1)
    assert entry("aten::gelu", [x], [f32(NAN, 0.8413)], [f32(INF, 0.8413)]) == "infinite-gelu"
    # A result without any number is wrong where PyTorch has some.
    for op in ("aten::gelu", "aten::var_mean", "aten::logsumexp", "aten::mm", "complex::exp", "aten::fft_fft", "aten::sinh"):
        assert entry(op, [x], [f32(0.5, 0.25)], [f32(NAN, NAN)]) is None, op


def matrices():
    zeros, identity = np.zeros((2, 2), np.float32), np.eye(2, dtype=np.float32)
    assert entry("aten::det", [zeros], [f32(0)[0]], [f32(1)[0]]) == "singular-matrices"
    both = np.stack([zeros, identity])
    assert entry("aten::det", [both], [f32(0, 1)], [f32(5, 1)]) == "singular-matrices"
    assert entry("aten::det", [both], [f32(0, 1)], [f32(0, 2)]) is None
    # Not of the operators that the entry is about.
    assert entry("aten::relu", [zeros], [zeros], [identity]) is None


def shapes():
    x = f32(1, 2)
    assert entry("aten::sort", [x], [x, np.array([0, 1])], [x]) is None
    assert judge.compared("aten::sort", [x, x], [x], False) == "1 outputs, wanted 2"
    assert entry("aten::relu", [x], [x], [x[:1]]) is None


def table():
    known = set(json.loads((HERE / "../../docs/verified.json").read_text()))
    known |= set(re.findall(r"`([^`]+)` \|", (HERE / "../../docs/operators.md").read_text()))
    known |= {name.partition(".")[0] for name in known}
    for one in differences.table():
        names = one.get("operators", [])
        assert not any("*" in name for name in names), one["id"]
        unknown = [name for name in names if name not in known and not onnx.defs.has(name)]
        assert not unknown, (one["id"], unknown)
        accept = "within" if one["accept"].startswith("within ") else one["accept"]
        assert accept in differences.ACCEPT and set(one.get("when", [])) <= set(differences.WHEN), one["id"]
        assert one["why"] and ("operators" in one or one.get("when")), one["id"]


for check in (orders, numbers_that_are_not_finite, matrices, shapes, table):
    check()
    print(check.__name__)
