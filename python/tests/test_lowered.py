"""Branches and loops that no runs with other answers find: the code of the model is lowered, and they are written down as such."""

from __future__ import annotations

import ast
import operator
import os
import sys

import pytest
import torch
from torch import nn
from torch.utils import _pytree as pytree

import aten2onnx

sys.path.insert(0, os.path.dirname(__file__))
import programs  # noqa: E402
from tiers import IS_ALL  # noqa: E402


class NestedBranch(nn.Module):
    """A branch in a loop in a loop, with few turns."""

    def forward(self, x):
        h = x.sum(0)
        for i in range(x.shape[0]):
            for j in range(i + 1):
                if x[j].sum() > h.mean():
                    h = h * 0.5 + x[j]
                else:
                    h = torch.tanh(h - x[i] * j)
        return h


class NestedReturn(nn.Module):
    def forward(self, x):
        k = 0
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                k += 1
                if x[i, j] > 1.5:
                    return x[i] * k
        return x.sum(0)


class Series(nn.Module):
    """A `while` with an element of a tensor that grows."""

    def forward(self, x):
        tokens = (x[:1, 0].abs() * 3).long()
        while len(tokens) < 9 and tokens[-1] != 3:
            tokens = torch.cat([tokens, ((tokens[-1] * 3 + tokens.sum()) % 7).reshape(1)])
        return tokens


class Either(nn.Module):
    def forward(self, x):
        t = 0
        while x.abs().max() > 1 or t < 2:
            x = x * 0.5
            t += 1
        return x * t


class Forever(nn.Module):
    def forward(self, x):
        t, h = 0, x[0]
        while True:
            h = h * 0.5 + x[t % x.shape[0]] * 0.1
            t += 1
            if h.abs().sum() < 2 or t >= x.shape[0]:
                break
        return h * t


class Else(nn.Module):
    def forward(self, x):
        h = x.sum(0)
        for i in range(x.shape[0]):
            if x[i].min() < -1:
                h = x[i] * 2
                break
        else:
            h = h + 3
        return h


class Pieces(nn.Module):
    """Pieces of other lengths, which are joined."""

    def forward(self, x):
        parts = []
        for i in range(x.shape[0]):
            parts.append(x[i, : i % 3 + 1])
        return torch.cat(parts)


class Chosen(nn.Module):
    def forward(self, x):
        found = {"yes": [x[0]], "no": [x[0] * 2]}
        for row in x:
            if row.sum() > 0:
                found["yes"].append(row)
            else:
                found["no"].append(row * 0.5)
        return torch.stack(found["yes"]), torch.stack(found["no"]), len(found["yes"])


class Comprehended(nn.Module):
    def forward(self, x):
        kept = [row * 2 for row in x if row.max() > 0 and row.min() < 0]
        h = torch.stack(kept).sum(0) if kept else x[0] * 0
        if any(row.sum() > 3 for row in x):
            h = h + 1
        return h + sum(row * i for i, row in enumerate(x))


class Recursive(nn.Module):
    def halved(self, x, depth):
        if x.shape[0] <= 3 or depth > 3:
            return x * 2
        return self.halved(x[: x.shape[0] // 2], depth + 1) + 1

    def forward(self, x):
        return self.halved(x, 0)


class Early(nn.Module):
    def forward(self, x):
        best, where = None, 0
        for i, row in enumerate(x):
            score = row.sum()
            if best is None or score > best:
                best, where = score, i
            if score > 6:
                return row * 2, where + 0
        return x[where] + best, where + 0


class Super(nn.Linear):
    """A method that calls that of its base, and writes to an attribute."""

    def __init__(self) -> None:
        super().__init__(4, 4, bias=False)
        self.steps = 0

    def forward(self, x):
        self.steps = 0
        while x.abs().max() > 0.3:
            x = super().forward(x) * 0.4
            self.steps += 1
        return x * self.steps


class Sorted(nn.Module):
    def forward(self, x):
        low, high = sorted((x.shape[0], 5))
        return x * low + high


class Nearest(nn.Module):
    """Adaptive depth: points that are sure are dropped, layer by layer, as LightGlue does."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

    def forward(self, x):
        depth = 0
        for layer in self.layers:
            x = torch.relu(layer(x)) + x
            depth += 1
            if x.abs().mean() < 0.4:
                break
            keep = x.norm(dim=1) > 0.5
            if keep.sum() > 1:
                x = x[keep]
        return x, depth


class Imported(nn.Module):
    """One side of a branch that nothing decides in a run imports what the other gives another value."""

    def forward(self, x):
        if x.shape[1] > 3:
            from torch.nn.functional import softplus as last
        else:
            last = None
        kept = x[0]
        for i in range(x.shape[0]):
            for row in x[i:]:
                if row.sum() > kept.sum():
                    kept = row
        return last(kept) if last is not None else kept


MODELS = [NestedBranch, NestedReturn, Series, Either, Forever, Else, Pieces, Chosen, Comprehended, Recursive, Early, Super, Sorted, Nearest, Imported]


def inputs():
    torch.manual_seed(0)
    for n in (2, 3, 4, 5, 6, 7, 9, 13):
        for scale in (0.02, 1.0, 4.0):
            yield torch.randn(n, 4) * scale


def check(program, model) -> None:
    compared = 0
    for x in inputs():
        try:
            wanted = [torch.as_tensor(value) for value in pytree.tree_leaves(model(x.clone()))]
        except Exception:
            continue
        compared += 1
        for got, want in zip(program(x), wanted, strict=True):
            assert got.dtype == want.dtype and got.shape == want.shape, (x.shape, got.shape, want.shape)
            torch.testing.assert_close(got, want, atol=1e-4, rtol=1e-4, equal_nan=True)
    assert compared >= 12


@pytest.mark.parametrize("kind", MODELS, ids=lambda kind: kind.__name__)
def test_what_is_lowered_is_right(kind) -> None:
    torch.manual_seed(3)
    model, before = kind().eval(), kind.forward.__code__
    program = aten2onnx.export(model, (torch.linspace(-1, 2, 24).reshape(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")
    assert not program.report.conditions
    assert kind.forward.__code__ is before and "_a2o" not in kind.forward.__globals__  # the code of a model is afterwards as before
    check(program, model)


def test_what_differs_on_both_sides_and_is_read_is_refused_with_its_line() -> None:
    class Differs(nn.Module):
        def forward(self, x):
            for row in x:
                if row.sum() > 0:
                    kept = row
                else:
                    kept = row.long()
            return x * kept

    with pytest.raises(aten2onnx.CaptureError) as caught:
        aten2onnx.export(Differs().eval(), (torch.linspace(-1, 2, 24).reshape(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")
    assert "test_lowered.py" in str(caught.value)


def test_a_fault_in_what_a_side_gives_is_found(monkeypatch) -> None:
    from aten2onnx._record.joined_sides import JoinedSides

    merged = JoinedSides._result
    monkeypatch.setattr(JoinedSides, "_result", lambda self, mine, theirs: merged(self, mine, mine))
    with pytest.raises(aten2onnx.CaptureError):
        aten2onnx.export(NestedBranch().eval(), (torch.linspace(-1, 2, 24).reshape(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")


CODE = """
def f(x, n):
    total, seen = 0, []
    if x > 30:
        import os.path
        from math import floor as rounded
    else:
        rounded = os = None
    for i in range(n):
        if i % 3 == 2:
            continue
        for j in range(i):
            if i * j > x:
                return total, seen
            if j > 3:
                break
            total += j
        else:
            seen.append(i)
        if total > 20 and not i < 5 or i == 11:
            break
    while total > 3:
        total -= 2 if total % 2 else 3
        if total == 7:
            break
    else:
        seen = [s * 2 for s in seen if s > 1]
    counts, table = [0] * 3, {0: "zero", 1: "one"}
    for s in sorted([*seen, 1, *range(2)], key=lambda s: -s if s % 2 else s):
        counts[s % 3] += 1
        counts[-(s % 2)] *= 2
        match s % 5:
            case 0 if s > 4:
                counts[s % 2] = s
            case 1 | 3:
                if s > 20:
                    return seen, x
                counts[0] -= 1
            case other:
                counts[1] += other
    seen.extend(counts)
    seen += list(map(lambda s: s + 1 if s > 2 else s, seen))
    seen.sort(reverse=True)
    total += (2 if n not in (3, 5, 7) and x in {0, 7, 14} else 1) + len(table[n % 2]) + next((s for s in seen if s < 9), 0)
    return total, seen, any(s > 4 for s in seen), sum(s for s in seen), 1 < len(seen) < 4, rounded(2.5) if rounded is not None else os
"""


def test_lowered_code_does_what_python_does() -> None:
    """Where nothing depends on tensors, the calls in place of branches and loops run what they are given."""
    from aten2onnx._record import lowered
    from aten2onnx._record.placed import IN_PLACE

    class Plain:
        seen = staticmethod(lambda look: None)
        chosen = staticmethod(lambda test, yes, no: yes() if test else no())
        negated = staticmethod(lambda test: not test)
        every = staticmethod(lambda *looks: all(look() for look in looks))
        some = staticmethod(lambda *looks: any(look() for look in looks))
        same = staticmethod(lambda one, other: one is other)
        other = staticmethod(lambda one, other: one is not other)
        listed = staticmethod(lambda kind, values: kind(values))
        item = staticmethod(operator.getitem)
        added = staticmethod(operator.iadd)
        repeated_list = staticmethod(operator.mul)
        sort_in = staticmethod(lambda values, **kwargs: values.sort(**kwargs))
        contained = staticmethod(lambda value, container: value in container)
        attribute = staticmethod(getattr)
        set_at = staticmethod(operator.setitem)
        returned = staticmethod(lambda value: value)
        whole = staticmethod(lambda container: container)
        got = staticmethod(lambda container, *given: container.get(*given))

        @staticmethod
        def change_at(container, index, operation, value):
            container[index] = IN_PLACE[operation](container[index], value())

        @staticmethod
        def extended(values, others):
            values.extend(others)
            return values

        @staticmethod
        def branch(test, yes, no, get, set_):
            (yes if test else no)()

        @staticmethod
        def walked(values, is_left, body, get, set_):
            for value in values:
                body(value)
                if is_left is not None and is_left():
                    break

        @staticmethod
        def repeated(test, is_left, body, get, set_):
            while test():
                body()
                if is_left is not None and is_left():
                    break

    tree = ast.parse(CODE)
    before: dict = {}
    exec(compile(tree, "f", "exec"), before)
    tree.body = [lowered.lowered(tree.body[0], None)]
    after = {lowered.NAME: Plain}
    exec(compile(ast.fix_missing_locations(tree), "f", "exec"), after)
    found = {(x, n): after["f"](x, n) for x in range(0, 60, 7) for n in range(16)}
    assert found == {(x, n): before["f"](x, n) for x in range(0, 60, 7) for n in range(16)}
    assert len({len(result) for result in found.values()}) == 2


@pytest.mark.parametrize("seed", range(6 if IS_ALL else 3))
def test_random_programs_of_pieces_are_right_or_refused(seed) -> None:
    found, text = programs.verdict(seed, mixed=True, capture="record")
    assert found != "wrong", f"{text}\n{programs.source(seed, mixed=True)}"
