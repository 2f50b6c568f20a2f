"""What Python keeps from turn to turn besides tensors and numbers: text, places of lists and dictionaries that data choose, lists of lists, and what layers and methods keep
in attributes."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest
import torch
from torch import nn

import aten2onnx


class States(nn.Module):
    """A machine whose states have names."""

    def forward(self, x):
        state, h = "start", x[0] * 0
        for row in x:
            if state in ("start", "idle"):
                h = h + row
                if row[0] > 0:
                    state = "run"
            elif state == "run":
                h = h * 0.5
                if row[1] > 0:
                    state = "idle"
                elif row[2] > 1:
                    state = "stop"
            else:
                break
        return h, 1 if state == "stop" else 0


class Heads(nn.Module):
    """A layer that is found by a text."""

    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleDict({name: nn.Linear(4, 4) for name in "abc"})

    def forward(self, x):
        name, out = "a", []
        for row in x:
            out.append(self.heads[name](row))
            name = "b" if row.sum() > 0 else "a"
            print("next is", name)
        return torch.stack(out)


class Circle(nn.Module):
    """Each text leads to another one, most of which the first turns do not see."""

    def forward(self, x):
        following, factor = {"a": "b", "b": "c", "c": "d", "d": "a"}, {"a": 1.0, "b": 2.0, "c": 3.0, "d": 5.0}
        weights = {"first": 10.0, "later": 1.0}
        name, turn, h = "a", "first", x[0] * 0
        for row in x:
            h = h + row * factor[name] * weights[turn]
            if row.sum() > 0:
                name = following[name]
            turn = "later"
        return h


class Matched(nn.Module):
    def forward(self, x):
        mode, h = "up", x[0] * 0
        for row in x:
            match mode:
                case "up" if row[3] > 0:
                    h = h + row
                case "up" | "down":
                    h = h - row
                case "left":
                    if h.sum() > 3:
                        return h * 2
                case other:
                    h = h * (2 if other == "flat" else 3)
            mode = "up" if row.sum() > 1 else "flat" if row.sum() > 0 else "left" if row[0] > 0 else "down"
        return h


class Counts(nn.Module):
    def forward(self, x):
        signs, places = {"pos": 0, "neg": 0}, [0, 0, 0, 0]
        last = [x[0] * 0, x[0]]
        for row in x:
            signs["pos" if row.sum() > 0 else "neg"] += 1
            places[int(row.argmax())] += 2
            last[int(row[0] > 0) - 2] = row
        return x * signs["pos"] - signs["neg"], places[0] + places[3], last[0] - last[1]


class Neighbours(nn.Module):
    """Lists of lists of numbers, each of another length."""

    def forward(self, x):
        near = [[j for j in range(i + 1)] for i in range(x.shape[0])]
        return torch.stack([x[torch.tensor(places)].mean(0) * len(places) for places in near])


class Average(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.kept, self.count = None, 0

    def reset(self):
        self.kept, self.count = torch.zeros(4), 0

    def forward(self, row):
        self.kept = self.kept * 0.9 + self.linear(row) * 0.1
        self.count += 1
        if row.sum() > 0:
            self.kept = self.kept + 1
        return self.kept * self.count


class Stateful(nn.Module):
    """A layer with a state of its own, which only some turns call."""

    def __init__(self):
        super().__init__()
        self.average = Average()

    def forward(self, x):
        self.average.reset()
        h = x[0] * 0
        for row in x:
            if row.max() > 0.5:
                h = h + self.average(row)
        return h * self.average.count


class Queued(nn.Module):
    """A deque in an attribute, which a method changes."""

    def __init__(self):
        super().__init__()
        self.queue = deque([torch.zeros(4)], maxlen=2)

    def push(self, row):
        if row.sum() > 0:
            self.queue.append(row)
        return self.queue[0] - self.queue[-1]

    def forward(self, x):
        self.queue.clear()
        self.queue.append(torch.zeros(4))
        return torch.stack([self.push(row) for row in x])


class Arrays(nn.Module):
    """A list of arrays that only some turns make longer."""

    def forward(self, x):
        found = []
        for row in x:
            if row.max() > 0.5:
                found.append(np.sort(row.numpy()))
        return (torch.from_numpy(np.stack(found, axis=1)), torch.from_numpy(np.concatenate(found))) if found else (x.T, x[0])


@pytest.mark.parametrize("kind", [Arrays, States, Heads, Circle, Matched, Counts, Neighbours, Stateful, Queued])
def test_what_turns_change_is_carried(kind) -> None:
    torch.manual_seed(0)
    model = kind().eval()
    program = aten2onnx.export(model, (torch.randn(4, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")
    assert not program.report.conditions
    if isinstance(model, Queued):  # it is as before
        assert isinstance(model.queue, deque) and len(model.queue) == 1 and torch.equal(model.queue[0], torch.zeros(4))
    for size in (1, 2, 3, 5, 9):
        for change in (lambda x: x, torch.abs, lambda x: -x.abs()):
            x = change(torch.randn(size, 4))
            wanted = model(x)
            for got, want in zip(program(x), wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
                torch.testing.assert_close(got, torch.as_tensor(want), atol=1e-4, rtol=1e-4)


class Mixed(nn.Module):
    def forward(self, x):
        mode, h = "a", x[0] * 0
        for row in x:
            if row.sum() > 0:
                mode = mode + "b"
            h = h + row
        return h * len(mode)


class NewKeys(nn.Module):
    def forward(self, x):
        found = {}
        for row in x:
            if row.sum() > 0:
                found.setdefault("p", []).append(row)
            else:
                found.setdefault("q", []).append(row)
        return sum(torch.stack(rows).sum(0) for rows in found.values())


class Grows(nn.Module):
    """An inner list that gets longer after it was put into the outer one."""

    def forward(self, x):
        out = []
        for i in range(x.shape[0]):
            out.append([x[i]])
            for j in range(x.shape[0]):
                if x[j].sum() > 0:
                    out[i].append(x[j])
        return torch.stack([torch.stack(rows).sum(0) for rows in out])


@pytest.mark.parametrize(("kind", "way_out"), [(Mixed, "compare the text"), (NewKeys, "give the dictionary all of its keys before"), (Grows, "make the inner list whole before")])
def test_what_has_no_form_is_refused_with_a_way_out(kind, way_out) -> None:
    torch.manual_seed(0)
    with pytest.raises(aten2onnx.CaptureError, match=rf"(?s)test_modes\.py.*{way_out}"):
        aten2onnx.export(kind().eval(), (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")


class TwoTypes(nn.Module):
    """A loop that only lowered code has, and then a value that no file has."""

    def forward(self, x):
        h = x[0] * 0
        for k in range(int((x.abs() > 1e30).sum())):
            h = h + x[k]
        for row in x:
            h = h.half() if row.sum() > 0 else h.float()
        return h


def test_the_error_is_about_what_neither_way_of_recording_takes() -> None:
    with pytest.raises(aten2onnx.CaptureError, match=r"a result of another type .*h\.half"):
        aten2onnx.export(TwoTypes().eval(), (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")
