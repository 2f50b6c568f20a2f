"""A model with modules before and after it, as one module: `aten2onnx.export(model, (image,), before=.., after=..)`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import torch

from ._errors import ArgumentError


def around(model: Any, before: Any, after: Any) -> Around:
    """One module of several.

    Raises:
        ArgumentError: One of them is no module of PyTorch.
    """
    for name, module in (("model", model), ("before", before), ("after", after)):
        is_module = isinstance(module, torch.nn.Module) and not isinstance(module, torch.jit.ScriptModule)
        if not (is_module or module is None and name != "model"):
            raise ArgumentError(
                f"{name}: expected a torch.nn.Module, found an object of the class `{type(module).__name__}`",
                help="`before` and `after` take modules around a module; files are joined by `aten2onnx.join`",
            )
    return _with_arguments_of(model if before is None else before, Around)(model, before, after)


def _with_arguments_of(first: torch.nn.Module, kind: type[Any]) -> type[Any]:
    """The class with the arguments of the first module, for those who look at the signature."""
    own = list(inspect.signature(kind.forward).parameters.values())[:1]
    signature = inspect.signature(first.forward)

    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        return kind.forward(self, *args, **kwargs)

    forward.__signature__ = signature.replace(parameters=own + list(signature.parameters.values()))  # type: ignore[attr-defined]
    return type(kind.__name__, (kind,), {"forward": forward})


class Around(torch.nn.Module):
    """A model between two modules. What one returns is given to the next: a tuple as its arguments, a dictionary as arguments by name, and anything
    else as its only argument.

    The modules of the model keep their paths, and its weights their names: those of the others begin with `before` and `after`.
    """

    def __init__(self, model: torch.nn.Module, before: torch.nn.Module | None, after: torch.nn.Module | None) -> None:
        super().__init__()
        self.model = model
        taken = {name.split(".")[0] for name in [*dict(model.named_children()), *dict(model.named_parameters()), *dict(model.named_buffers())]}
        self._before, self._after = _unused("before", taken), _unused("after", taken)
        for name, module in ((self._before, before), (self._after, after)):
            if module is not None:
                self.add_module(name, module)
        self.training = any(module.training for module in (model, before, after) if module is not None)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the modules one after the other."""
        return _in_a_row(self.in_order(), args, kwargs)

    def in_order(self) -> list[torch.nn.Module]:
        """The modules in the order in which they are called."""
        modules = [self._modules.get(self._before), self._modules["model"], self._modules.get(self._after)]
        return [module for module in modules if module is not None]

    def named_modules(self, memo: set[torch.nn.Module] | None = None, prefix: str = "", remove_duplicate: bool = True) -> Iterator[tuple[str, torch.nn.Module]]:
        """The modules of the model by their own paths, then the others."""
        memo = set() if memo is None else memo
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        yield from self.model.named_modules(memo, prefix, remove_duplicate)
        for name in (self._before, self._after):
            module = self._modules.get(name)
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """The state of the model by its own names, then that of the others."""
        found = super().state_dict(*args, **kwargs)
        own = f"{kwargs.get('prefix', '')}model."
        return type(found)((key.replace(own, own[: -len("model.")], 1) if key.startswith(own) else key, value) for key, value in found.items())

    def plain(self) -> torch.nn.Module:
        """The same for torch.export, which looks for modules by the names of attributes: the model is at `model`."""
        return _with_arguments_of(self.in_order()[0], _Plain)(self)


class _Plain(torch.nn.Module):
    """Modules in a row, under the names of their attributes."""

    def __init__(self, around: Around) -> None:
        super().__init__()
        for name, module in around._modules.items():
            self.add_module(name, module)
        self._order = [name for name in (around._before, "model", around._after) if around._modules.get(name) is not None]
        self.training = around.training

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return _in_a_row([getattr(self, name) for name in self._order], args, kwargs)


def _in_a_row(modules: list[torch.nn.Module], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls modules one after the other."""
    first, *others = modules
    value = first(*args, **kwargs)
    for module in others:
        value = _called(module, value)
    return value


def _called(module: Any, value: Any) -> Any:
    if type(value) is tuple:
        return module(*value)
    if type(value) is dict:
        return module(**value)
    return module(value)


def _unused(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
