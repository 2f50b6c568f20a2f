"""NumPy in the code of models: arrays of sizes and of what tensors hold, held against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy import float32, linspace
from torch import nn

import aten2onnx


class OfSizes(nn.Module):
    """Arrays that are as long as a size says."""

    def forward(self, x):
        n = x.shape[0]
        ramp = torch.from_numpy(np.linspace(0, 1, n, dtype=np.float32))
        back = np.arange(n)[::-1].copy()
        signs = np.where(np.arange(n) % 2 == 0, 1.0, -1.0).astype(np.float32)
        table = np.zeros((n, n), dtype="float32")
        table[:, 0] = 1
        return x * ramp[:, None], x[back], x * torch.as_tensor(signs)[:, None], torch.tensor(table) @ x


class Windows(nn.Module):
    def forward(self, x):
        n = x.shape[0]
        window = torch.tensor(np.hanning(n + 2)[1:-1], dtype=torch.float32)
        return x * window[:, None], x * torch.blackman_window(n)[:, None], x * torch.hamming_window(n, False)[:, None], torch.hann_window(n)


class Grids(nn.Module):
    def forward(self, x):
        n, m = x.shape
        grid = np.stack(np.meshgrid(np.arange(n), np.arange(m), indexing="ij"), -1).astype(np.float32)
        later = np.triu(np.ones((n, n)), k=1).astype("bool")
        return x * torch.from_numpy(grid)[..., 0], (x @ x.T).masked_fill(torch.from_numpy(later), 0.0)


class Names(nn.Module):
    """Functions that are imported by name."""

    def forward(self, x):
        n = x.shape[0]
        return x * torch.from_numpy(linspace(-1, 1, n, dtype=float32))[:, None]


class Limits(nn.Module):
    """Numbers that stay sizes."""

    def forward(self, x):
        n = x.shape[0]
        half = np.array([n, n + 1]) * 0.5
        return x[: int(np.maximum(n // 2, 1))], x[: int(np.clip(n, 2, 5))], x[: int(half[1])], x[int(np.minimum(n - 1, 3)) :]


class Normed(nn.Module):
    def forward(self, x):
        a = x.detach().cpu().numpy()
        mean, deviation = a.mean(axis=1, keepdims=True), a.std(axis=1, keepdims=True)
        return torch.from_numpy((a - mean) / (deviation + 1e-5)), torch.from_numpy(np.maximum(a, 0) * 2), torch.from_numpy(np.concatenate([a, a[::-1]]))


class Numbers(nn.Module):
    """Numbers of arrays beside tensors keep the dtype of the tensors."""

    def forward(self, x):
        a = x.numpy()
        row = a.sum(1).argmax()
        return x[row], x * a.max(), torch.tensor(a.mean()), a.max(axis=0), x.long() + int(a.shape[0]), x.long() * a.astype("float64").max()


class Chosen(nn.Module):
    def forward(self, x):
        a = x.numpy()
        order = np.argsort(-a[:, 0])
        scores = np.take_along_axis(a, np.argmax(a, axis=-1)[:, None], axis=-1)[:, 0]
        return torch.as_tensor(a[a[:, 0] > 0]), x[order], torch.from_numpy(scores)


class Boxes(nn.Module):
    """The box around what is larger than a threshold, as those who write postprocessing do it."""

    def forward(self, x):
        ys, xs = np.where((x > 0.5).numpy())
        if len(xs) == 0:
            return torch.zeros(4)
        return torch.tensor([xs.min(), ys.min(), xs.max(), ys.max()], dtype=torch.float32)


class Counted(nn.Module):
    def forward(self, x):
        ids = (x[:, 0] * 2).long().clamp(0, 3).numpy()
        kinds = np.unique(ids)
        return torch.from_numpy(np.bincount(ids, minlength=4)), torch.from_numpy(kinds), torch.tensor(len(kinds))


class Turns(nn.Module):
    def forward(self, x):
        sums = x.sum(1).numpy()
        doubled, kept = [], []
        for total in sums:
            doubled.append(float(total) * 2)
        for i, number in enumerate((x.sum(1) * 3).long().numpy()):
            if number > 0:
                kept.append(x[i])
        return torch.tensor(doubled), torch.stack(kept) if kept else x[:0]


class Rows(nn.Module):
    def forward(self, x):
        rows = []
        for row in x.numpy():
            rows.append(row * 2)
        return torch.from_numpy(np.stack(rows))


class Summed(nn.Module):
    def forward(self, x):
        total = np.zeros(5, dtype=np.float32)
        for row in x.numpy():
            total = total + row
        return torch.from_numpy(total)


class Padded(nn.Module):
    def forward(self, x):
        lengths = (x > 0).sum(1).numpy()
        mask = np.zeros((len(lengths), lengths.max()), dtype=np.int64)
        for i, length in enumerate(lengths):
            mask[i, :length] = 1
        return torch.from_numpy(mask)


class Branch(nn.Module):
    def forward(self, x):
        a = x.numpy()
        if a.sum() > 0:
            a = a * 2
        i = 0
        while i < len(a) and a[i].sum() < 2:
            i += 1
        return torch.from_numpy(a), torch.from_numpy(a[:i])


class Written(nn.Module):
    """An array shares its memory with the tensor."""

    def forward(self, x):
        x = x * 1
        a = x.numpy()
        a[:, 0] = 0
        a += 1
        return x + 1


MODELS = (OfSizes, Windows, Grids, Names, Limits, Normed, Numbers, Chosen, Boxes, Counted, Turns, Rows, Summed, Padded, Branch, Written)


@pytest.mark.parametrize("model", MODELS)
def test_arrays(model, tmp_path):
    torch.manual_seed(0)
    module, names = model().eval(), {"x": {0: "n"}}
    program = aten2onnx.export(module, (torch.randn(6, 5),), tmp_path / "model.onnx", dynamic_shapes=names, capture="record")
    for n, scale in ((6, 1), (2, 1), (3, -1), (9, 3), (17, 1), (5, 0)):
        x = torch.randn(n, 5) * scale
        want = module(x.clone())
        want = want if isinstance(want, tuple) else (want,)
        for got, one in zip(program(x), want, strict=True):
            one = torch.as_tensor(one)
            assert torch.as_tensor(got).dtype == one.dtype
            torch.testing.assert_close(torch.as_tensor(got), one, atol=1e-5, rtol=1e-5)


def test_at_one_size(tmp_path):
    """Without dynamic dimensions, elements of arrays are data, too."""
    module = Normed()
    program = aten2onnx.export(module, (torch.randn(6, 5),), tmp_path / "model.onnx", capture="record")
    x = torch.randn(6, 5)
    for got, want in zip(program(x), module(x), strict=True):
        torch.testing.assert_close(torch.as_tensor(got), want)


class Interpolated(nn.Module):
    def forward(self, x):
        return torch.from_numpy(np.interp(x[:, 0].numpy(), [0.0, 1.0], [0.0, 2.0]))


class Handed(nn.Module):
    def forward(self, x):
        return torch.tensor(memoryview(np.asarray(list(map(float, HANDED(x.numpy()))))))


def HANDED(array):  # noqa: N802
    """What another library does with an array."""
    import array as arrays

    return arrays.array("f", getattr(array, "__array__")().ravel())


class Drawn(nn.Module):
    """A run of a model whose arrays have other types than its tensors."""

    def forward(self, x):
        return x * np.float64(2.0), x.long() * np.float32(1.5)


@pytest.mark.parametrize(("model", "message"), ((Interpolated, "the model computes with `np.interp`, which PyTorch does not have"), (Handed, "gives an array of what it has computed to another library")))
def test_what_only_numpy_can_do_is_refused(model, message, tmp_path):
    with pytest.raises(aten2onnx.CaptureError, match=message) as caught:
        aten2onnx.export(model(), (torch.randn(6, 5),), tmp_path / "model.onnx", dynamic_shapes={"x": {0: "n"}}, capture="record")
    assert "test_arrays.py" in str(caught.value)
    assert not (tmp_path / "model.onnx").exists()


def test_numbers_of_numpy(tmp_path):
    program = aten2onnx.export(Drawn(), (torch.randn(6, 5),), tmp_path / "model.onnx", dynamic_shapes={"x": {0: "n"}}, capture="record")
    x = torch.randn(3, 5) * 4
    for got, want in zip(program(x), Drawn()(x), strict=True):
        torch.testing.assert_close(torch.as_tensor(got), want)


def test_what_stands_for_numpy_goes_with_the_run(tmp_path):
    from torch._numpy import ndarray

    before = dict(vars(ndarray))
    aten2onnx.export(Normed(), (torch.randn(6, 5),), tmp_path / "model.onnx", dynamic_shapes={"x": {0: "n"}})
    with pytest.raises(aten2onnx.CaptureError):
        aten2onnx.export(Interpolated(), (torch.randn(6, 5),), tmp_path / "other.onnx", dynamic_shapes={"x": {0: "n"}}, capture="record")
    assert dict(vars(ndarray)) == before
    assert np.linspace is linspace
    assert isinstance(torch.from_numpy(np.zeros(2)), torch.Tensor)


class Median(nn.Module):
    def forward(self, x):
        values = x.numpy()
        return torch.tensor(values.max() - np.median(values))


def test_a_function_that_is_another_one_in_pytorch_is_refused_with_its_line() -> None:
    with pytest.raises(aten2onnx.CaptureError, match="(?s)NumPy, which is recorded as torch._numpy and gives something else.*test_arrays.py"):
        aten2onnx.export(Median().eval(), (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")
