"""Runs without the elements of floats: calls have results of the type that they have in a run with elements."""

from __future__ import annotations

from typing import Any

import aten2onnx
import pytest
import torch
from aten2onnx._record import capture as capturing
from aten2onnx._record.lights import Lights
from aten2onnx._record.result_shapes import _ELEMENTWISE, shape_of_result
from aten2onnx._record.tensors import place_of
from torch.utils import _pytree as pytree

aten = torch.ops.aten
X, ROWS = torch.randn(2, 6, 9, 8), torch.randn(3, 5, 8)
IMAGES, SOUND, VOLUME = torch.randn(4, 6, 3, 3), torch.randn(4, 6, 3), torch.randn(4, 6, 3, 3, 3)
SIX = torch.ones(6)
CALLS: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
    (aten.linear.default, (ROWS, torch.randn(7, 8), torch.randn(7)), {}),
    (aten.linear.default, (ROWS.transpose(0, 1), torch.randn(7, 8)), {}),
    (aten.linear.default, (torch.randn(8), torch.randn(7, 8)), {}),
    (aten.layer_norm.default, (ROWS, [8], torch.ones(8), torch.zeros(8), 1e-5), {}),
    (aten.layer_norm.default, (ROWS.transpose(0, 1), [8], torch.ones(8), torch.zeros(8), 1e-5), {}),
    (aten.batch_norm.default, (X, SIX, SIX, SIX, SIX, False, 0.1, 1e-5, True), {}),
    (aten.batch_norm.default, (X.contiguous(memory_format=torch.channels_last), SIX, SIX, SIX, SIX, False, 0.1, 1e-5, True), {}),
    (aten.group_norm.default, (X, 3, SIX, SIX, 1e-5, True), {}),
    (aten.instance_norm.default, (X, SIX, SIX, None, None, True, 0.1, 1e-5, True), {}),
    (aten.group_norm.default, (X.contiguous(memory_format=torch.channels_last), 3, SIX, SIX, 1e-5, True), {}),
    (aten.instance_norm.default, (X.contiguous(memory_format=torch.channels_last), SIX, SIX, None, None, True, 0.1, 1e-5, True), {}),
    (aten.conv2d.default, (X, IMAGES, None, [2, 1], [1, 2], [1, 3]), {}),
    (aten.conv2d.default, (X, IMAGES, torch.randn(4)), {}),
    (aten.conv2d.default, (X, torch.randn(4, 3, 3, 3), None, [1], [1], [1], 2), {}),
    (aten.conv2d.default, (X.contiguous(memory_format=torch.channels_last), IMAGES), {}),
    (aten.conv2d.default, (X, IMAGES.contiguous(memory_format=torch.channels_last)), {}),
    (aten.hardswish_.default, (X.contiguous(memory_format=torch.channels_last),), {}),
    (aten.conv2d.padding, (X, IMAGES, None, [1, 1], "same"), {}),
    (aten.conv1d.default, (torch.randn(2, 6, 9), SOUND, None, [2]), {}),
    (aten.conv3d.default, (torch.randn(2, 6, 5, 5, 5), VOLUME, None, [2, 2, 2]), {}),
    (aten.max_pool2d.default, (X, [2, 2]), {}),
    (aten.slice.Tensor, (X, 1, 1, 4), {}),
    (aten.add.Tensor, (X, X[:1]), {}),
    (aten.embedding.default, (torch.randn(9, 4), torch.tensor([1, 2, 8])), {}),
    (aten.new_zeros.default, (X, [3]), {"dtype": torch.int64, "device": torch.device("cpu")}),
    (aten._to_copy.default, (X,), {"dtype": torch.float16, "device": torch.device("cpu")}),
    (aten.scaled_dot_product_attention.default, (X, X, X), {}),
    *((function, (X.clone(), *([0.1, 0.9] if "clamp" in function.name() else [])), {}) for function in sorted(_ELEMENTWISE, key=str)),
    *((function, (X.transpose(1, 2),), {}) for function in (aten.gelu.default, aten.hardswish.default)),
]


def types(out: Any) -> list[Any]:
    return [(one.shape, one.dtype, place_of(one)) for one in pytree.tree_leaves(out) if isinstance(one, torch.Tensor)]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0].name())
def test_a_call_without_elements_has_the_type_of_one_with_them(call: Any) -> None:
    function, args, kwargs = call
    lights = Lights(3, torch.device("cpu"))
    given = pytree.tree_map_only(torch.Tensor, lights.of, args)
    with torch.no_grad():
        light = lights.call(function, given, kwargs)
        real = function(*args, **kwargs)
    assert types(light) == types(real) and light.is_meta
    if function is not aten.scaled_dot_product_attention.default:  # the kernel decides what order its result has
        assert light.stride() == real.stride()
    assert (light is given[0]) == (real is args[0])


def test_what_cannot_be_told_from_shapes_is_left_to_pytorch() -> None:
    assert shape_of_result(aten.conv2d.default, (X, torch.randn(4, 5, 3, 3)), {}) is None  # an error in PyTorch
    assert shape_of_result(aten.linear.default, (ROWS, torch.randn(7, 9)), {}) is None
    assert shape_of_result(aten.batch_norm.default, (X, SIX, SIX, SIX, SIX, True, 0.1, 1e-5, True), {}) is None
    assert shape_of_result(aten.sigmoid.default, (torch.arange(3),), {}) is None  # a float comes of it
    assert shape_of_result(aten.gelu.default, (X.transpose(1, 2),), {}) is None


def test_memory_is_shared_as_with_elements() -> None:
    lights = Lights(3, torch.device("cpu"))
    whole = torch.randn(4, 6)
    one, other = lights.of(whole), lights.of(whole[1])
    assert one.untyped_storage()._cdata == other.untyped_storage()._cdata and other.storage_offset() == 6
    view = lights.call(aten.select.int, (one, 0, 1), {})
    assert view.untyped_storage()._cdata == one.untyped_storage()._cdata


def test_a_call_that_the_meta_device_has_not_is_made_on_fake_tensors() -> None:
    lights = Lights(3, torch.device("cpu"))
    given = lights.of(torch.randn(4, 6))
    found = lights.call(aten.nonzero.default, (given,), {})
    assert found.is_meta and found.shape == (3, 2) and place_of(found).type == "cpu" and "mode" in vars(lights)


class Images(torch.nn.Module):
    """A model whose runs take long, and whose code asks where tensors are and writes numbers into them."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = torch.nn.Conv2d(3, 64, 3, padding=1)
        self.body = torch.nn.Sequential(torch.nn.BatchNorm2d(64), torch.nn.Hardswish(), torch.nn.Conv2d(64, 64, 3, padding=1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        assert x.device == self.stem.weight.device and not x.is_meta
        y = self.body(self.stem(x))
        mask = y.new_zeros((x.shape[2], x.shape[3]))
        for index, rows in enumerate((slice(0, -4), slice(-4, -2), slice(-2, None))):
            mask[rows, 1:] = index
        return torch.as_tensor(y.mean(dim=1) + mask + torch.ones(1, device=self.stem.weight.device))


def test_a_long_run_is_without_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    inner = capturing.run_once

    def run_once(*args: Any, **kwargs: Any) -> Any:
        run = inner(*args, **kwargs)
        seen.append(run.is_light)
        if run.is_light:
            assert "mode" not in vars(run.recorder.fakes), "a call was made on fake tensors"
        return run

    monkeypatch.setattr(capturing, "run_once", run_once)
    torch.manual_seed(0)
    model, x = Images().eval(), torch.randn(2, 3, 96, 96)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    program = aten2onnx.export(model, (x,), dynamic_shapes={"x": {0: "n", 2: "h"}}, capture="record")
    assert seen[0] is False and seen[1:3] == [True, True]
    other = torch.randn(3, 3, 50, 96)
    torch.testing.assert_close(program(other)[0], model(other), rtol=1e-4, atol=1e-4)
    assert all(torch.equal(tensor, before[name]) and not tensor.is_meta for name, tensor in model.state_dict().items())
