"""Runs of models whose weights have no elements: they are on the meta device, fake tensors, or elsewhere. What depends on them has a type and sizes, and no elements.

All else is real: masks and positions that follow from ids alone have their elements. A size that unknown elements decide is a number that the run makes up;
the native library gives it a symbol, as it does for real elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeAlias

import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensor, FakeTensorMode, UnsupportedFakeTensorException
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from .._calls import outputs
from .._verify import results
from .gradients import called
from .state import untouched
from .tensors import named_tensors

aten = torch.ops.aten

#: What the elements of a tensor are asked for with.
ITEMS = (aten._local_scalar_dense.default, aten.item.default)
#: Questions that a fake tensor answers itself.
_QUERIES = (torch.ops.prim.device.default, torch.ops.prim.layout.default)
#: Whether a parameter or buffer, by its name, has no elements in a run.
IsFake: TypeAlias = Callable[[str, Any], bool]
#: Real tensors of a model with fewer elements stay real if the user asks for fake ones: they cost nothing, and models branch on them.
SMALL = 4096


class NoElements(Exception):
    """An operator whose result needs elements that are unknown."""


def is_unknown(tensor: Any) -> bool:
    """Whether a tensor has no elements."""
    return isinstance(tensor, FakeTensor) or (isinstance(tensor, torch.Tensor) and tensor.is_meta)


def plain_sizes(tensor: torch.Tensor) -> tuple[list[int], list[int]]:
    """The sizes and strides of a tensor as plain numbers: those of a fake one may be symbols."""
    return [int(size) for size in tensor.shape], [int(step) for step in tensor.stride()]


def without_elements(leaf: Any) -> Any:
    """A fake input as one of the meta device, which can be cut and repeated."""
    if not isinstance(leaf, FakeTensor):
        return leaf
    sizes, strides = plain_sizes(leaf)
    return torch.empty_strided(sizes, strides, dtype=leaf.dtype, device="meta")


class Fakes:
    """Makes the fake tensors of a run.

    Attributes:
        count: The size that a run makes up where unknown elements decide one.
        made_up: The keys of the numbers that a run has made up in place of an unknown element.
    """

    def __init__(self, count: int, device: torch.device) -> None:
        self.count = count
        self.device = device
        self.made_up: set[int] = set()
        #: The fake tensor of a tensor by its identity, with that tensor, so that no other gets its identity.
        self._known: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        #: The memory that a fake tensor stands for.
        self.memory: dict[int, int] = {}

    @cached_property
    def mode(self) -> FakeTensorMode:
        """What PyTorch makes fake tensors in."""
        from torch.fx.experimental.symbolic_shapes import ShapeEnv

        return FakeTensorMode(allow_non_fake_inputs=True, shape_env=ShapeEnv(allow_dynamic_output_shape_ops=True, allow_scalar_outputs=True))

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        """The fake tensor of a tensor."""
        if isinstance(tensor, FakeTensor) and tensor.fake_mode is self.mode:
            return tensor
        found = self._known.get(id(tensor))
        if found is None or found[1].shape != tensor.shape:  # a call such as `squeeze_` changes it
            found = self._known[id(tensor)] = (tensor, self._made(tensor))
        return found[1]

    def _made(self, tensor: torch.Tensor) -> torch.Tensor:
        if not is_unknown(tensor):
            made: torch.Tensor = self.mode.from_tensor(tensor.detach(), static_shapes=True)
            if tensor.layout is torch.strided:
                self.memory.setdefault(int(made.untyped_storage()._cdata), int(tensor.untyped_storage()._cdata))
            return made
        sizes, strides = plain_sizes(tensor)
        with self.mode:
            made = torch.empty_strided(sizes, strides, dtype=tensor.dtype, device=self.device if tensor.is_meta else tensor.device)
        if isinstance(tensor, torch.nn.Parameter):
            made.requires_grad_(tensor.requires_grad)
            made._is_param = True  # type: ignore[attr-defined]
        return made

    def call(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Runs an operator on fake tensors.

        Raises:
            NoElements: Its result needs elements.
        """
        if function in ITEMS:
            return self._item(args[0])
        try:
            return pytree.tree_map(lambda out: self._plain(out, args), function(*args, **kwargs))
        except (DataDependentOutputException, DynamicOutputShapeException, UnsupportedFakeTensorException) as error:
            raise NoElements(f"`{function}` needs elements of a tensor that has none, because weights have no data") from error

    def _item(self, tensor: torch.Tensor) -> Any:
        if tensor.dtype is torch.bool:
            return True
        return self.count + 0.5 if tensor.dtype.is_floating_point else self.count

    def _plain(self, out: Any, args: Any) -> Any:
        """A result with numbers in place of symbols."""
        if isinstance(out, torch.Tensor):
            sizes, strides = ([self._number(size, args) for size in part] for part in (out.shape, out.stride()))
            if all(type(size) is int for size in (*out.shape, *out.stride())):
                return out
            with self.mode:
                return torch.empty_strided(sizes, strides, dtype=out.dtype, device=out.device)
        if isinstance(out, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            raise NoElements("an operator returns a number that depends on elements which are unknown")
        return out

    def _number(self, size: Any, args: Any) -> int:
        if type(size) is int:
            return size
        most = min((leaf.numel() for leaf in pytree.tree_leaves(args) if isinstance(leaf, torch.Tensor)), default=self.count)
        made_up = min(self.count, max(1, most))
        expression = size.node.expr
        return int(expression.subs(dict.fromkeys(expression.free_symbols, made_up)))

    def put_into(self, model: torch.nn.Module, is_fake: IsFake) -> None:
        """Makes tensors of a model fake. Whoever calls this puts the attributes back."""
        made: dict[int, Any] = {}
        for path, module in model.named_modules():
            for tensors in (module._parameters, module._buffers):
                for name, tensor in list(tensors.items()):
                    full = f"{path}.{name}" if path else name
                    if tensor is None or (id(tensor) not in made and not is_fake(full, tensor)):
                        continue
                    if id(tensor) not in made:
                        made[id(tensor)] = self._whole(tensor)
                    tensors[name] = made[id(tensor)]

    def _whole(self, tensor: Any) -> Any:
        """The fake tensor of a parameter or buffer, which may be of a class of its own that holds others."""
        if type(tensor) in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer, FakeTensor) or not hasattr(tensor, "__tensor_flatten__"):
            return self.of(tensor)
        inner, context = tensor.__tensor_flatten__()
        made = {name: self._whole(getattr(tensor, name)) for name in inner}
        return type(tensor).__tensor_unflatten__(made, context, tensor.shape, tensor.stride())


class _Plain(TorchDispatchMode):
    """Runs a model that nobody records: calls with a fake tensor have fake results."""

    def __init__(self, fakes: Fakes) -> None:
        super().__init__()
        self.fakes = fakes

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if function in _QUERIES or not any(map(is_unknown, pytree.tree_leaves((args, kwargs)))):
            return function(*args, **kwargs)
        args, kwargs = pytree.tree_map_only(torch.Tensor, self.fakes.of, (args, kwargs))
        return self.fakes.call(function, args, kwargs)


def is_computed_with(_: str, tensor: Any) -> bool:
    """Whether a parameter or buffer takes part in what makes a run long: models read small buffers of numbers, and compute with parameters."""
    return isinstance(tensor, torch.nn.Parameter) or is_unknown(tensor) or tensor.numel() >= SMALL


def without_floats(leaf: Any) -> Any:
    """An input without its elements, if these are not ids or masks."""
    return leaf.detach().to("meta") if isinstance(leaf, torch.Tensor) and (leaf.is_floating_point() or leaf.is_complex()) else leaf


def lent(model: torch.nn.Module, leaves: list[Any], is_fake: IsFake | None, count: int = 3) -> tuple[Fakes | None, list[Any]]:
    """Gives a model fake tensors in place of those that have no elements. Returns what makes them, and the leaves of the call."""
    tensors = [tensor for _, tensor in named_tensors(model)]
    if is_fake is None and not any(map(is_unknown, tensors + leaves)):
        return None, leaves
    fakes = Fakes(count, device_of(leaves + tensors))
    fakes.put_into(model, is_fake or (lambda _, tensor: is_unknown(tensor)))
    return fakes, [fakes.of(leaf) if is_unknown(leaf) else leaf for leaf in leaves]


def run_plainly(model: torch.nn.Module, leaves: list[Any], tree: Any, is_fake: IsFake | None) -> Any:
    """Runs a model without recording it. It is afterwards as before.

    Raises:
        NoElements: It needs elements that are unknown.
        Exception: What the model raises.
    """
    with untouched(model):
        fakes, leaves = lent(model, leaves, is_fake)
        args, kwargs = pytree.tree_unflatten(leaves, tree)
        with nullcontext() if fakes is None else _Plain(fakes):
            return called(lambda: model(*args, **kwargs))


def sizes_of_program(recorded: Any, model: torch.nn.Module, leaves: list[Any], is_fake: IsFake | None) -> tuple[list[Any], list[Any], dict[str, list[int]]]:
    """The results of a model and of its program as fake tensors, and the sizes of all tensors of the program."""
    sizes: dict[str, list[int]] = {}
    wanted = list(outputs(run_plainly(model, leaves, recorded.tree, is_fake)).values())
    fakes = Fakes(3, device_of(leaves))
    state = {name: fakes.of(tensor) for name, tensor in recorded.state_dict.items()}
    given = [fakes.of(leaf) if is_unknown(leaf) else leaf for leaf in leaves]
    with _Plain(fakes):
        found, _ = results(replace(recorded, state_dict=state), given, lambda node, value: sizes.update({node.name: list(value.shape)}))
    return wanted, found, sizes


def device_of(tensors: Iterable[Any]) -> torch.device:
    """Where a model without data would be: with the first tensor that is somewhere."""
    for tensor in tensors:
        if isinstance(tensor, torch.Tensor) and not tensor.is_meta:
            return tensor.device
    return torch.device("cpu")
