"""Checks `dynamic_shapes` against the arguments of a call: torch.export ignores some wrong entries, and names others poorly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._errors import InputError

_SIZES = 'a name ("batch"), a Dim, Dim.AUTO, Dim.DYNAMIC or None'


def checked(arguments: Mapping[str, Any] | None, dynamic_shapes: Any, what: str = "dynamic_shapes") -> Any:
    """Returns dynamic shapes with an entry for each part of each argument, as torch.export wants them.

    Args:
        arguments: The arguments of the call by parameter; None if they are not known.
        dynamic_shapes: Their dynamic dimensions, by parameter or in order.
        what: The name of the parameter that gave them.

    Raises:
        InputError: An entry does not fit the arguments. The error names the first.
    """
    if arguments is None or dynamic_shapes is None or hasattr(dynamic_shapes, "dynamic_shapes"):
        return dynamic_shapes  # perhaps a ShapesCollection of torch.export
    if isinstance(dynamic_shapes, Mapping):
        unknown = [name for name in dynamic_shapes if name not in arguments]
        if unknown:
            raise _wrong(what, f"the call has no argument {unknown[0]!r}", f"its arguments are {_listed(arguments)}")
        missing = [name for name in arguments if name not in dynamic_shapes]
        if missing:
            raise _wrong(what, f"the argument {missing[0]!r} is missing", f"add `{missing[0]!r}: None` if all its dimensions are constant")
        return {name: _argument(arguments[name], axes, f"{what}[{name!r}]") for name, axes in dynamic_shapes.items()}
    if _is_sequence(dynamic_shapes):
        if len(dynamic_shapes) != len(arguments):
            raise _wrong(what, f"{_count(len(dynamic_shapes), 'entry')} for {_count(len(arguments), 'argument')}", f"the arguments are {_listed(arguments)}")
        return type(dynamic_shapes)(_argument(arguments[name], axes, f"{what}[{name!r}]") for name, axes in zip(arguments, dynamic_shapes))
    raise _wrong(what, f"{dynamic_shapes!r} is neither a dictionary nor a sequence", f"write the dimensions of each argument: {_listed(arguments)}")


def _argument(value: Any, axes: Any, place: str) -> Any:
    """Checks the entry of an argument, or of a part of it."""
    import torch

    if axes is None:
        return _constant(value)
    if isinstance(value, torch.Tensor):
        _tensor(value, axes, place)
    elif isinstance(value, Mapping):
        if not isinstance(axes, Mapping):
            raise _wrong(place, f"{axes!r} for a dictionary", f"write the dimensions by key: {_listed(value)}")
        unknown = [key for key in axes if key not in value]
        if unknown:
            raise _wrong(place, f"the argument has no key {unknown[0]!r}", f"its keys are {_listed(value)}")
        missing = [key for key in value if key not in axes]
        if missing:
            raise _wrong(place, f"the key {missing[0]!r} is missing", f"add `{missing[0]!r}: None` if all its dimensions are constant")
        return {key: _argument(value[key], part, f"{place}[{key!r}]") for key, part in axes.items()}
    elif type(value) in (list, tuple):
        if not _is_sequence(axes):
            raise _wrong(place, f"{axes!r} for a sequence of {len(value)}", "write a list with the dimensions of each element")
        if len(axes) != len(value):
            raise _wrong(place, f"{_count(len(axes), 'entry')} for a sequence of {len(value)}", "write `None` for elements whose dimensions are constant")
        return type(value)(_argument(element, part, f"{place}[{index}]") for index, (element, part) in enumerate(zip(value, axes)))
    elif isinstance(value, int) and not isinstance(value, bool):
        if not isinstance(axes, (Mapping, list, tuple)) or axes:
            _size(None, axes, place)
    # What else is in it is known by torch.export, such as the leaves of a dataclass.
    return axes


def _constant(value: Any) -> Any:
    """The entry of an argument without dynamic dimensions."""
    if type(value) is dict:
        return {key: _constant(part) for key, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_constant, value))
    return None


def _tensor(value: Any, axes: Any, place: str) -> None:
    rank = value.dim()
    if isinstance(axes, Mapping):
        for axis, size in axes.items():
            if isinstance(axis, bool) or not isinstance(axis, int):
                raise _wrong(place, f"{axis!r} is no axis", "write the number of the axis, from 0")
            if axis < 0 and axis + rank >= 0:
                raise _wrong(place, f"the axis {axis} is counted from the end", f"write {axis + rank}")
            if not 0 <= axis < rank:
                raise _wrong(place, f"there is no axis {axis}", f"the tensor has {_count(rank, 'dimension')}")
            _size(value.shape[axis], size, f"{place}[{axis}]")
    elif _is_sequence(axes):
        if len(axes) != rank:
            raise _wrong(place, f"{_count(len(axes), 'size')} for a tensor of {_count(rank, 'dimension')}", "write `None` for constant dimensions")
        for axis, size in enumerate(axes):
            _size(value.shape[axis], size, f"{place}[{axis}]")
    else:
        raise _wrong(place, f"{axes!r} for a tensor", 'write its dynamic dimensions by axis: `{0: "batch"}`')


def _size(known: int | None, size: Any, place: str) -> None:
    """Checks the size of an axis, which is known, or an int that is an argument."""
    from torch.export import Dim

    from ._shapes import dimension_type

    hint = type(Dim.AUTO)
    if isinstance(size, str):
        if not size.isidentifier():
            raise _wrong(place, f"{size!r} is no name for a dimension", "a name has letters, digits and `_`")
    elif isinstance(size, bool) or not (size is None or isinstance(size, (int, dimension_type(), hint))):
        raise _wrong(place, f"{size!r} is no size", f"write {_SIZES}")
    elif isinstance(size, int) and known is not None and size != known:
        raise _wrong(place, f"the constant size {size} is not that of the example, which is {known}", f"write {known}, {_SIZES}")


def _is_sequence(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _count(number: int, what: str) -> str:
    plural = what[:-1] + "ies" if what.endswith("y") else what + "s"
    return f"{number} {what if number == 1 else plural}"


def _listed(names: Any) -> str:
    return ", ".join(repr(name) for name in names) or "none"


def _wrong(place: str, message: str, help: str) -> InputError:
    return InputError(f"{place}: {message}", help=help)
