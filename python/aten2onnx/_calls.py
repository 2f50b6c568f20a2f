"""Lets torch.export see a call of a model as named tensors, when its arguments or results are objects that torch.export does not know."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from . import _caches, _dimensions, _shapes
from ._errors import InputError
from ._objects import Builder, is_number, is_structured, take_apart


@dataclass(frozen=True)
class Auto:
    """A value of `dynamic_shapes` that leaves dimensions to torch.export. The text "auto" means all.

    Attributes:
        static: Inputs with an axis that stays as it is.
    """

    static: Mapping[str, int] = field(default_factory=dict)


def is_auto(dynamic_shapes: Any) -> bool:
    """Whether dimensions are left to torch.export."""
    return isinstance(dynamic_shapes, Auto) or (isinstance(dynamic_shapes, str) and dynamic_shapes == "auto")


def is_needed(model: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether torch.export would refuse the arguments or the results of this model, or call them by other names than runtimes do."""
    if any(map(is_structured, [*args, *kwargs.values()])):
        return True
    return _caches.is_model(model) and not _unnamed(inspect.signature(model.forward))


def has_unknown_result(model: Any, error: Exception) -> bool:
    """Whether torch.export failed because the model returns an object that it does not know, such as a dataclass."""
    return "in output, which is not a known type" in str(error) and not _unnamed(inspect.signature(model.forward))


def _unnamed(signature: inspect.Signature) -> list[str]:
    """The parameters whose arguments have no names."""
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.POSITIONAL_ONLY)
    return [name for name, parameter in signature.parameters.items() if parameter.kind in kinds]


class Call:
    """A call of a model, as torch.export sees it.

    Attributes:
        kwargs: The arguments by name. Objects are dictionaries of named tensors.
        dynamic_shapes: The dynamic dimensions of `kwargs`, in the form of torch.export.
        input_names: The names of the tensors of `kwargs`, in order.
        output_names: The names of the results, in order, once the model has been traced.
    """

    def __init__(self, model: Any, args: Sequence[Any], kwargs: Mapping[str, Any], dynamic_shapes: Any) -> None:
        self._signature = inspect.signature(model.forward)
        self._model = model
        self._builders: dict[str, Builder] = {}
        self._recurrent = _caches.recurrent_states(model)
        self.output_names: list[str] = []
        self._numbers: set[str] = set()
        arguments = self._bound(args, kwargs)
        self.kwargs: dict[str, Any] = {}
        self.input_names: list[str] = []
        for name, value in arguments.items():
            found: dict[str, Any] = {}
            self._builders[name] = take_apart(value, name, found)
            if found:
                self.kwargs[name] = found if is_structured(value) or isinstance(value, (list, tuple, dict)) else found[name]
                self.input_names += [self._public(key) for key in found]
        self.dynamic_shapes = self._axes(dynamic_shapes, list(arguments))
        tensors = {name: tensor for name, tensor in self._flat(self.kwargs).items() if hasattr(tensor, "shape")}
        self._equal = _dimensions.equal(tensors) if is_auto(dynamic_shapes) else []

    def arranged(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the arguments of another call in the form of `kwargs`."""
        arguments = self._bound(args, kwargs)
        missing = [name for name in self.kwargs if name not in arguments]
        if missing:
            raise InputError(f"expected the arguments of the export ({', '.join(self.kwargs)}), found {', '.join(arguments)}")
        arranged = {}
        for name, known in self.kwargs.items():
            found: dict[str, Any] = {}
            take_apart(arguments[name], name, found)
            if isinstance(known, dict) and list(found) != list(known):
                raise InputError(f"`{name}`: expected the tensors {', '.join(known)}, found {', '.join(found)}")
            arranged[name] = found if isinstance(known, dict) else arguments[name]
        return arranged

    @contextmanager
    def traced(self) -> Iterator[None]:
        """Makes the model take `kwargs` and return a dictionary of named tensors."""
        original, own = self._model.forward, "forward" in vars(self._model)

        def forward(**tensors: Any) -> dict[str, Any]:
            self._relate(self._flat(tensors))
            arguments = {name: build(self._parts(name, tensors)) for name, build in self._builders.items()}
            found = outputs(original(**arguments), self._numbers)
            self.output_names = [self._result(key) for key in found]
            return found

        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        forward.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in self.kwargs])  # type: ignore[attr-defined]
        with ExitStack() as stack:
            stack.enter_context(_caches.traceable())
            self._model.forward = forward
            try:
                yield
            finally:
                if own:
                    self._model.forward = original
                else:
                    del self._model.forward

    def _relate(self, tensors: Mapping[str, Any]) -> None:
        """Tells torch.export which sizes are equal, because it only finds out what the model compares."""
        import torch

        for first, second, one, other in self._equal:
            torch._check(tensors[first].shape[one] == tensors[second].shape[other])

    @staticmethod
    def _flat(kwargs: Mapping[str, Any]) -> dict[str, Any]:
        flat: dict[str, Any] = {}
        for name, value in kwargs.items():
            flat |= value if isinstance(value, dict) else {name: value}
        return flat

    def _public(self, name: str) -> str:
        """The name of a tensor in the ONNX model."""
        return re.sub(r"^(past|present)_recurrent\.", rf"\1_{self._recurrent}.", name)

    def results(self, result: Any) -> dict[str, Any]:
        """Returns the tensors in a result of the model, by their names in the ONNX model."""
        return {self._result(name): value for name, value in outputs(result, self._numbers).items()}

    def _result(self, name: str) -> str:
        """The name of a result in the ONNX model, where inputs and outputs need different names."""
        public = self._public(name)
        return f"output.{public}" if public in self.input_names else public

    def _parts(self, name: str, tensors: Mapping[str, Any]) -> Mapping[str, Any]:
        value = tensors.get(name, {})
        return value if isinstance(value, dict) else {name: value}

    def _bound(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        try:
            bound = self._signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise InputError(f"the model does not take these arguments: {error}") from error
        arguments: dict[str, Any] = {}
        for name, value in bound.items():
            kind = self._signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_KEYWORD:
                arguments |= value
            elif name in _unnamed(self._signature):
                raise InputError(
                    f"the arguments of `{name}` have no names", help="wrap the model in a module whose `forward` names its arguments"
                )
            else:
                arguments[name] = value
        return arguments

    def _axes(self, dynamic_shapes: Any, order: list[str]) -> Any:
        """Brings `dynamic_shapes` into the form of `kwargs`."""
        if dynamic_shapes is None:
            return None
        if is_auto(dynamic_shapes):
            return automatic(self.kwargs, getattr(dynamic_shapes, "static", {}))
        if not isinstance(dynamic_shapes, Mapping):
            if len(dynamic_shapes) != len(order):
                raise InputError(f"dynamic_shapes: {len(dynamic_shapes)} entries for {len(order)} arguments", help=f"the arguments are {', '.join(order)}")
            dynamic_shapes = dict(zip(order, dynamic_shapes))
        unknown = [name for name in dynamic_shapes if name not in order]
        if unknown:
            raise InputError(f"dynamic_shapes: no argument `{unknown[0]}` in this call; its arguments are {', '.join(order)}")
        return {name: self._argument_axes(name, dynamic_shapes.get(name)) for name in self.kwargs}

    def _argument_axes(self, name: str, axes: Any) -> Any:
        tensors = self.kwargs[name]
        if axes is None or not isinstance(tensors, dict):
            return axes
        if isinstance(axes, Mapping) and axes and all(isinstance(axis, int) for axis in axes):
            most = max((tensor.dim() for tensor in tensors.values()), default=0)
            wrong = [axis for axis in axes if isinstance(axis, bool) or not 0 <= axis < most]
            if wrong:
                raise InputError(f"dynamic_shapes[{name!r}]: there is no axis {wrong[0]!r}", help=f"its tensors have up to {most} dimensions, counted from 0")
            return {key: {axis: size for axis, size in axes.items() if axis < tensor.dim()} for key, tensor in tensors.items()}
        if isinstance(axes, Mapping) and set(axes) <= set(tensors):
            return {key: axes.get(key) for key in tensors}
        flat = _shapes.axes_of(axes)
        if len(flat) != len(tensors):
            raise InputError(
                f"dynamic_shapes: `{name}` has {len(tensors)} tensors, found dimensions for {len(flat)}",
                help=f"give the dimensions of all of them at once, `{{0: \"batch\"}}`, or by name: {', '.join(list(tensors)[:2])}, ...",
            )
        return dict(zip(tensors, flat))


def outputs(result: Any, numbers: set[str] | None = None) -> dict[str, Any]:
    """Returns the tensors in the result of a model by name.

    `numbers` has the names of numbers that the file computes, and gets those that a tracer follows. All others are left out.
    """
    import torch

    found: dict[str, Any] = {}
    if isinstance(result, torch.Tensor):
        return {"output": result}
    if isinstance(result, (tuple, list)) and not hasattr(result, "_fields"):
        for index, part in enumerate(result):
            name = "past_key_values" if _caches.is_cache(part) else f"output_{index}"
            take_apart(part, name, found, past="present")
    else:
        take_apart(result, "", found, past="present")
    if numbers is not None:
        numbers |= {name for name, value in found.items() if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool))}
    return {name: value for name, value in found.items() if not is_number(value) or name in (numbers or ())}


def automatic(arguments: Mapping[str, Any], static: Mapping[str, int] | None = None) -> Any:
    """Returns `dynamic_shapes` that leave each dimension to torch.export: it is dynamic if the model allows it."""
    import torch
    from torch.export import Dim
    from torch.utils import _pytree as pytree

    def axes(name: str, value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return None
        kept = (static or {}).get(name)
        return {axis: Dim.AUTO for axis in _dimensions.may_vary(name, value) if axis != kept}

    found = {}
    for name, value in arguments.items():
        if isinstance(value, dict):  # the tensors of an object have names of their own
            found[name] = {key: axes(key, part) for key, part in value.items()}
        else:
            found[name] = pytree.tree_map(functools.partial(axes, name), value)
    return found
