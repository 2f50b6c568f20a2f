"""Branches of a model in Python: which of them both sides are recorded of, and what the user is told of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ._errors import CaptureError, InputError


class OpenBranch(CaptureError):
    """A branch that nothing decides, in the code of the model.

    Attributes:
        lines: The lines of branches that may be recorded on both sides.
        loops: The lines of loops that may be recorded turn by turn.
        sizes: Choices of sizes at which branches go the other way by themselves.
        was_taken: Whether the model ran at these sizes.
        few: The place of a loop that makes too few turns to compare them.
        at: The line.
        is_explained: Whether the help is about this error, and not about branches of all kinds.
        is_limit: Whether there are more branches or runs than are allowed.
        is_idle: Whether it is about a loop whose turns make no difference at all sizes that were tried.
        is_unlikely: Whether not all was tried, because lowered code is cheaper and more likely to do.
    """

    lines: list[Any]
    loops: list[Any]
    sizes: list[dict[str, int]]
    was_taken: bool
    few: tuple[str, int] | None = None
    at: Any = None
    is_explained: bool = False
    is_limit: bool = False
    is_unlikely: bool = False
    is_idle: bool = False


def both_sides_of(lines: Iterable[Any]) -> frozenset[tuple[str, int]]:
    """The files and numbers of lines whose branches can have both sides. A loop has no second side: it has any number of turns."""
    from ._record.turns import is_loop

    return frozenset(line.place for line in lines if line is not None and not is_loop(*line.place))


#: What a line has that makes a loop of a size.
_LOOPS = re.compile(r"\bfor\b|\bwhile\b|\b(range|unbind|split|tolist|chunk|zip|enumerate|reversed|list|tuple)\(")


def loops_of(error: OpenBranch) -> frozenset[tuple[str, int]]:
    """The files and numbers of the lines of loops."""
    from ._record.turns import is_loop, is_series

    conditions = [line for line in error.lines if line is not None and is_loop(*line.place) and not is_series(*line.place)]
    return frozenset(line.place for line in conditions + [line for line in error.loops if _LOOPS.search(line.text)])


def is_new(branch: Any, both: Any) -> bool:
    """Whether both sides of a branch of the model could be recorded, and it was not tried."""
    return not both.lowered and branch.by_model and not branch.is_plain and branch.line is not None and bool(both_sides_of([branch.line]) - both.lines)


def refuses(both: Any, line: Any) -> bool:
    """Whether the model raises an error of its own on the other side of a branch."""
    from ._record.paths import is_refusal

    error = None if both is None else both.failures.get(line.place)
    return error is not None and is_refusal(error)


def explain(error: OpenBranch, both: Any) -> None:
    """Says in an error why the other side of a branch was not recorded, if it was tried."""
    for line in error.lines:
        failure = both.failures.get(line.place)
        if failure is not None:
            error.message += f"; its other side fails at the inputs that were tried: {(str(failure).splitlines() or [type(failure).__name__])[0]}"
            error.help = (
                f"give inputs that take the other side (`branch_inputs={{\"{Path(line.file).name}:{line.number}\": (x2,)}}`), a range in which the branch is always the same (`Dim(\"n\", min=8)`), "
                "or keep the side of the example with `branches=\"example\"`"
            )
            return


def check_branch_inputs(given: Iterable[str], both: Any) -> None:
    """Checks that there is a branch in each line that `branch_inputs` names.

    Raises:
        InputError: There is none that became an If or a Loop.
    """
    known = {made.line.place for made in (*both.made, *both.rolled)} | both.lowered
    for name in given:
        if not any(is_at(name, place) for place in known):
            lines = ", ".join(f"`{Path(file).name}:{number}`" for file, number in sorted(known))
            raise InputError(f"branch_inputs: no branch at `{name}` has both sides in the file", help=f"branches with both sides are at {lines}" if lines else "the model has none: leave it out")


def is_at(name: str, place: tuple[str, int]) -> bool:
    """Whether a name as `model.py:12`, or with folders before, is that of a line."""
    file, number = place
    path, _, wanted = name.rpartition(":")
    parts = Path(path).parts
    return wanted == str(number) and bool(parts) and Path(file).parts[-len(parts) :] == parts


def branch_notes(both: Any) -> list[str]:
    """A note on each branch that has both sides in the file."""
    notes: dict[str, None] = {}
    for made in both.made:
        yes, no = made.calls
        untaken = [what for answer, what in ((True, "holds"), (False, "does not hold")) if (*made.line.place, answer) not in both.taken]
        told = f"; no input that was tried takes the side where it {untaken[0]}" if untaken else ""
        notes[f"Both sides of `{made.line.text}` ({made.line}) are in the file, as an If: {yes} calls where it holds, {no} where it does not{told}."] = None
    for loop in both.rolled:
        notes[f"The loop `{loop.line.text}` ({loop.line}) is in the file, as a Loop: {loop.calls} calls in a turn; it carries {loop.carried or 'nothing'}."] = None
    return list(notes)
