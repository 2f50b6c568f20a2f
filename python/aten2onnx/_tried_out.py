"""Holds a recorded program against the model at other sizes and data, and says what is another one there."""

from __future__ import annotations

import math
import re
from typing import Any

from ._branches import OpenBranch
from ._decided import branch_error
from ._errors import CaptureError

#: Two results without elements, the first of the file.
_EMPTY_OF_ANOTHER_TYPE = re.compile(r"is torch\.(\w+)\[0\], and torch\.(\w+)\[0\]")


def try_out(recorded: Any, model: Any, arguments: Any, first: Any, both: Any, conditions: list[str]) -> None:
    """Compares a program with branches or loops with the model at other sizes and data.

    Raises:
        OpenBranch: It gives other results.
    """
    from ._record.tried import difference

    found = difference(recorded, model, arguments, first, bool(conditions))
    if found is None:
        return
    error = another(found, both)
    if error.place:
        raise error
    if first.recorder.doubts:
        raise _doubt_error(found, first.recorder.doubts)
    lines = [line for line in first.recorder.array_lines if line is not None]
    raise _array_error(found, lines) if lines else error


def try_far(recorded: Any, model: Any, arguments: Any, first: Any, both: Any, told: list[str | None]) -> None:
    """Compares a program whose loops make whole numbers larger and larger with the model where these may need more bits than a file has, and where the conditions
    `told` hold.

    Raises:
        CaptureError: It gives other results there.
    """
    from ._record.tried import far_difference

    lines = [*first.recorder.wide, *(loop.line for loop in both.rolled if loop.grows)]
    if not lines:
        return
    found = far_difference(recorded, model, arguments, first, lambda sizes: all(_holds(text, sizes) for text in told))
    if found is None:
        return
    symbol = next(name for name, size in found.sizes.items() if size != arguments.sizes[name] and name not in arguments.sums)
    message = f"a whole number that a loop makes needs more than the 64 bits that a file has for it: `{lines[0].text}` ({found})"
    most = found.sizes[symbol] - 1
    help = f'take the remainder in each turn (`k = k * i % m`), compute with floats, or declare that the dimension is no larger: `Dim("{symbol}", max={most})`'
    error = CaptureError(message, place=[str(line) for line in dict.fromkeys(lines)], source_line=str(lines[0]), help=help)
    error.is_explained = True  # type: ignore[attr-defined]
    raise error


def try_guesses(recorded: Any, model: Any, arguments: Any, first: Any, conditions: list[str], told: list[str | None]) -> None:
    """Compares a program with numbers that were found by their values alone, or whose model asks for classes or for its memory, with the model, where the
    conditions of the program hold: `told` has them in Python.

    Raises:
        CaptureError: It gives other results.
    """
    from ._record.tried import difference

    found = difference(recorded, model, arguments, first, bool(conditions), lambda sizes: all(_holds(text, sizes) for text in told))
    if found is None:
        return
    lines = [line for line in first.recorder.guessed if line is not None]
    place = [str(line) for line in lines[:1]]
    if not lines and first.recorder.doubts:
        raise _doubt_error(found, first.recorder.doubts)
    if lines:
        message, help = f"how a number is computed was not recorded: `{lines[0].text}` ({found})", "compute it with Python's operators, or with functions of `math`"
    else:
        place = arguments.asked_classes[:1]
        message = f"the model asks for the class of a value, or compares it by `is`, and does something else for that of a recording ({found})"
        help = "ask with `isinstance`, or with `type(x) is int`; leave `is True` out"
    raise CaptureError(message, place=place, source_line=place[0] if place else None, help=help)


def _holds(text: str | None, sizes: dict[str, int]) -> bool:
    """Whether a condition on sizes holds. One that is on something else says nothing of them."""
    if text is None:
        return True
    try:
        return bool(eval(text, {"math": math, "min": min, "max": max, "abs": abs, "int": int, "float": float, "__builtins__": {}}, dict(sizes)))  # noqa: S307
    except (NameError, SyntaxError, TypeError, ZeroDivisionError, ValueError, OverflowError):
        return True


def _doubt_error(found: str, doubts: list[Any]) -> CaptureError:
    """The error of a program whose model asks something that is another one at other sizes."""
    line, what = doubts[0]
    place = [str(one) for one in dict.fromkeys(one for one, _ in doubts)]
    message = f"the model asks {what}, which is another one at other sizes or data: `{line.text}` ({found})"
    help = "do the same in both cases, or declare sizes at which the answer is always the same (`Dim(\"n\", min=2)`)"
    return CaptureError(message, place=place, source_line=place[0], help=help)


def _array_error(found: str, lines: list[Any]) -> CaptureError:
    """The error of a program without branches or loops whose arrays are not those of NumPy."""
    place = [str(line) for line in dict.fromkeys(lines)]
    message = f"the model computes with NumPy, which is recorded as torch._numpy and gives something else here: `{lines[0].text}` ({found})"
    return CaptureError(message, place=place, source_line=place[0], help="compute with tensors: functions of torch in place of those of NumPy")


def another(found: str, both: Any) -> OpenBranch:
    """The error of a program with branches or loops that gives other results than the model."""
    lines = [made.line for made in (*both.rolled, *both.made)]
    error = branch_error(f"the branches and loops of the model are another program at other inputs ({found})", lines[0] if lines else None, ())
    error.is_another, error.at_sizes = True, getattr(found, "sizes", None)  # type: ignore[attr-defined]
    kinds = _EMPTY_OF_ANOTHER_TYPE.search(found)
    if kinds is not None and kinds[1] != kinds[2]:
        error.help = f"PyTorch gives a tensor of an empty list the type {kinds[2]}: write the type where the list becomes a tensor, as in `torch.tensor(places, dtype=torch.{kinds[1]})`"
    return error


__all__ = ["another", "try_far", "try_guesses", "try_out"]
