"""Models without data: on the meta device, fake tensors, or with weights in files. They are recorded without elements, and get the weights when the file is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import aten2onnx
import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

pytest.importorskip("safetensors")
from safetensors.torch import save_file  # noqa: E402

from tiers import by_turns  # noqa: E402


class Body(nn.Module):
    """A function of a layer's result, an input and a module with buffers."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.register_buffer("scale", torch.tensor([3.0]))
        self.function = function

    def forward(self, x):
        return self.function(self.layer(x), x, self)


def pair(function: Any) -> tuple[nn.Module, nn.Module]:
    """A module, and the same on the meta device."""
    torch.manual_seed(1)
    real = Body(function).eval()
    with torch.device("meta"):
        return real, Body(function).eval()


def exported(empty: nn.Module, real: nn.Module, *args: Any, **options: Any) -> Any:
    options.setdefault("dynamic_shapes", ({0: "n"},))
    options.setdefault("capture", "record")
    return aten2onnx.export(empty, args, weights=real.state_dict(), **options)


def same(program: Any, real: nn.Module, *others: Any) -> None:
    for other in others:
        (found,) = program(other)
        with torch.no_grad():
            torch.testing.assert_close(found, real(other), rtol=1e-4, atol=1e-5)


def numbers(n: int) -> torch.Tensor:
    return torch.linspace(-2, 3, 4 * n).reshape(n, 4)


def unfilled(y, x, _):
    """Writes results of the layer into a tensor of zeros, and chooses by them."""
    found = torch.zeros(x.shape[0], 4)
    found[:, 1:] = y[:, 1:]
    part = found[:, :2]
    part += y[:, 2:]
    return x[found.sum(1) > 0] * 2 + found[found.sum(1) > 0]


def viewed(y, x, _):
    """Writes through a view whose sizes are those of a result of the layer."""
    found = torch.zeros(x.shape[0], 4)
    found.view_as(y).add_(torch.ones(4))
    return x[: int(found.sum()) // 8] + y[0]


def sides(y, x, _):
    return torch.cond(y.sum() > 0, lambda a: a + 1, lambda a: a * 2, (y,))


def rounds(y, x, _):
    from torch._higher_order_ops.while_loop import while_loop

    return while_loop(lambda i, a: a.sum() < 20, lambda i, a: (i + 1, a * 1.5 + 1), (torch.tensor(0), y))[1]


@pytest.mark.parametrize(
    "function",
    [
        lambda y, x, _: y.reshape(x.shape[0] * 2, -1)[: int(x.shape[0] * 1.5)],
        lambda y, x, _: y[y.sum(1) > 0],
        lambda y, x, _: x[(y > 0).nonzero()[:, 0]].sum(0) * y.shape[0],
        lambda y, x, _: x[: int((y > 0).sum())] + 1,
        lambda y, x, _: torch.arange(int((y > 0).sum()) + 1) * 2,
        lambda y, x, module: y * module.scale,
        lambda y, x, _: y + torch.ones(4, device=y.device) * y.new_tensor([2.0]),
        lambda y, x, _: y[:, x.sum(0).argsort()],
        lambda y, x, module: y[:, module.layer.weight.sum(1) > 0],
        lambda y, x, module: y * (module.layer.weight > 0).nonzero().shape[0],
        unfilled,
        viewed,
        sides,
        rounds,
    ],
)
def test_a_module_on_the_meta_device_is_right_at_all_sizes(function) -> None:
    real, empty = pair(function)
    same(exported(empty, real, numbers(6)), real, numbers(6), numbers(9), numbers(3), numbers(1))


def test_the_arguments_may_be_on_the_meta_device_or_fake() -> None:
    real, empty = pair(lambda y, x, _: y * x.shape[0])
    same(exported(empty, real, numbers(6).to("meta")), real, numbers(7))
    with FakeTensorMode():
        fake, x = Body(empty.function).eval(), torch.empty(6, 4)
    same(exported(fake, real, x), real, numbers(7))


def test_an_example_of_size_1_is_another_size_in_the_runs() -> None:
    real, empty = pair(lambda y, x, _: y.expand(x.shape[0], 4) + x.mean(0))
    same(exported(empty, real, numbers(1)), real, numbers(1), numbers(5))


def counted(y, x, _):
    for _ in range(x.shape[0]):
        y = y + 1
    return y


def chosen(y, x, _):
    if x.shape[0] > 1:
        return y - y.mean()
    return y


def picked(y, x, _):
    if y.sum() > 0:
        return y + 1
    return y


def written(y, x, _):
    found = torch.zeros(4)
    found += y.sum(0)
    if found.sum() > 0:
        return y + 1
    return y


def scaled(y, x, module):
    return y * module.scale.item()


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (picked, r"needs an element of a tensor that has none.*if y.sum\(\) > 0"),
        (written, r"needs an element of a tensor that has none.*if found.sum\(\) > 0"),
        (scaled, "reads an element of a weight that has no data"),
    ],
)
def test_what_elements_decide_is_refused_with_its_line(function, message) -> None:
    real, empty = pair(function)
    with pytest.raises(aten2onnx.CaptureError, match=message) as error:
        exported(empty, real, numbers(6))
    assert f"in {function.__name__}" in str(error.value)


def test_what_sizes_decide_needs_no_elements() -> None:
    real, empty = pair(counted)
    same(exported(empty, real, numbers(6)), real, numbers(3), numbers(1), numbers(9))
    real, empty = pair(chosen)
    with pytest.warns(UserWarning, match="right only where `n >= 2`"):
        program = exported(empty, real, numbers(6))
    same(program, real, numbers(2), numbers(9))


def checked(y, x, _):
    assert (y == y).all()
    if y.isnan().any():
        raise ValueError("no number")
    return y


def test_checks_of_unknown_elements_are_left_out() -> None:
    real, empty = pair(checked)
    program = exported(empty, real, numbers(6))
    same(program, real, numbers(3))
    assert sum("checks its data" in note for note in program.report.notes) == 2


def test_elements_of_weights_that_come_from_elsewhere_are_not_those_of_the_module() -> None:
    real, _ = pair(scaled)
    other = Body(scaled).eval()
    with pytest.raises(aten2onnx.CaptureError, match="reads an element of a weight"):
        exported(other, real, numbers(6))


def test_real_weights_are_recorded_without_elements_on_request() -> None:
    """Large ones are; small buffers have their elements."""

    class Wide(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 2000)
            self.register_buffer("scale", torch.tensor([3.0]))

        def forward(self, x):
            y = self.layer(x) * self.scale.item()
            return y[y.sum(1) > 0]

    net = Wide().eval()
    program = aten2onnx.export(net, (numbers(6),), dynamic_shapes=({0: "n"},), capture="fake")
    same(program, net, numbers(6), numbers(4))
    program.verify()


def test_the_module_is_afterwards_as_before() -> None:
    real, empty = pair(lambda y, x, _: y)
    before = {name: tensor for name, tensor in [*empty.named_parameters(), *empty.named_buffers()]}
    exported(empty, real, numbers(6))
    after = {name: tensor for name, tensor in [*empty.named_parameters(), *empty.named_buffers()]}
    assert list(before) == list(after) and all(before[name] is after[name] for name in before)
    with pytest.raises(aten2onnx.CaptureError, match="division"):
        empty.function = lambda y, x, _: 1 // 0
        exported(empty, real, numbers(6))
    assert all(tensor.is_meta for tensor in empty.parameters())


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head, self.spare = nn.Embedding(30, 8), nn.Linear(8, 30, bias=False), nn.Linear(2, 2)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        return self.head(self.embed(ids))


def test_files_may_have_a_tied_weight_under_either_name(tmp_path: Path) -> None:
    real = Tied().eval()
    with torch.device("meta"):
        empty = Tied().eval()
    for name, other in (("embed.weight", "head.weight"), ("head.weight", "embed.weight")):
        save_file({key: value for key, value in real.state_dict().items() if key != other}, tmp_path / "m.safetensors")
        program = aten2onnx.export(empty, (torch.zeros(2, 3, dtype=torch.int64),), weights=tmp_path / "m.safetensors", capture="record")
        # Weights that the model has and does not read are no reason for a note.
        assert not program.report.notes and len(program.model_proto.graph.initializer) == 1, name
        same(program, real, torch.arange(6).reshape(2, 3))


@pytest.mark.parametrize("capture", ["record", "export"])
def test_weights_that_do_not_fit_are_named(tmp_path: Path, capture) -> None:
    real, empty = pair(lambda y, x, _: y)
    state = real.state_dict()
    file = tmp_path / "m.safetensors"

    def refused(weights: Any, message: str) -> None:
        for given in (weights, file):
            if given is file:
                save_file(weights, file)
            with pytest.raises(aten2onnx.InputError, match=message):
                aten2onnx.export(empty, (numbers(2),) if capture == "record" else (numbers(2).to("meta"),), weights=given, capture=capture)

    refused({name: value for name, value in state.items() if name != "layer.bias"}, "layer.bias")
    refused({**state, "layer.bias": torch.zeros(5)}, r"`layer.bias`.*\[5\]")
    refused({**state, "layer.bias": torch.zeros(4, dtype=torch.float64)}, "`layer.bias`.*float64")


class Tagger(nn.Module):
    """An LSTM over a sequence of any length."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.rnn, self.head = nn.Embedding(50, 8), nn.LSTM(8, 8, batch_first=True, bidirectional=True), nn.Linear(16, 5)

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


def vision() -> nn.Module:
    return pytest.importorskip("torchvision").models.resnet18(weights=None)


def text() -> nn.Module:
    transformers = pytest.importorskip("transformers")
    return transformers.BertModel(transformers.BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32))


def decoder() -> nn.Module:
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 32}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(vocab_size=50, **sizes))


def ids(batch: int, length: int) -> dict[str, Any]:
    return {"ids": (torch.arange(batch * length) * 7 % 50).reshape(batch, length)}


def masked(batch: int, length: int) -> dict[str, Any]:
    mask = torch.ones(batch, length, dtype=torch.int64)
    mask[0, -1] = 0
    return {"input_ids": ids(batch, length)["ids"], "attention_mask": mask}


def with_cache(batch: int, length: int) -> dict[str, Any]:
    from transformers import DynamicCache

    cache = DynamicCache()
    for layer in range(2):
        cache.update(torch.randn(batch, 1, 4, 8), torch.randn(batch, 1, 4, 8), layer)
    return {"input_ids": ids(batch, length)["ids"], "attention_mask": torch.ones(batch, length + 4, dtype=torch.int64), "past_key_values": cache}


WITHOUT_DATA = [
    (decoder, with_cache, "auto"),
    (Tagger, ids, {"ids": {0: "batch", 1: "length"}}),
    (vision, lambda batch, size: {"x": torch.randn(batch, 3, 8 * size, 8 * size)}, {"x": {0: "batch", 2: "h", 3: "w"}}),
    (text, masked, "auto"),
]


@pytest.mark.parametrize(("model", "how"), by_turns(WITHOUT_DATA, ("meta", "fake")), ids=lambda one: one if isinstance(one, str) else one[0].__name__)
def test_models_without_data(tmp_path: Path, model, how) -> None:
    """The weights come from a file, and buffers that are not in the state dict from a mapping."""
    build, inputs, shapes = model
    real = build().eval()
    save_file({name: tensor.clone() for name, tensor in real.state_dict().items()}, tmp_path / "m.safetensors")
    buffers = {name: tensor for name, tensor in real.named_buffers() if name not in real.state_dict()}
    with torch.device("meta") if how == "meta" else FakeTensorMode():
        empty = build().eval()
    weights = [tmp_path / "m.safetensors", buffers]
    program = aten2onnx.export(empty, kwargs=inputs(2, 5), dynamic_shapes=shapes, weights=weights, external_data="never", capture="record")
    assert all(tensor.is_meta for tensor in empty.parameters()) or how == "fake"
    for batch, length in ((2, 5), (1, 3), (3, 7)):
        torch.manual_seed(batch)
        given = inputs(batch, length)
        found = program(**given)
        torch.manual_seed(batch)
        with torch.no_grad():
            wanted = real(**inputs(batch, length))
        wanted = wanted if isinstance(wanted, torch.Tensor) else wanted[0]
        torch.testing.assert_close(found[0], wanted, rtol=1e-3, atol=1e-4)
