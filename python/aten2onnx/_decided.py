"""Decides what becomes of the branches that a recorded model took: dropped, both sides, a condition of the file, or an error with their line."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from typing import Any

from ._branches import OpenBranch, is_new, refuses

_log = logging.getLogger(__name__)

#: So many times a model is run again to find out whether a branch matters.
TURNS = 24
#: So many times in all where a plain number is made of a size, as long as there are no more calls than that; and the largest size that is tried because the code has it.
TURNS_OF_PLAIN, CALLS_OF_PLAIN, LARGEST = 64, 10_000, 64
#: Text of a size is tried with up to so many digits.
DIGITS = 4

_WAYS = (
    "give the dimensions a range in which the branch is always the same (`Dim(\"n\", min=8)`), keep the side of the example with `branches=\"example\"`, "
    "or write both sides with torch.where or torch.cond"
)

_NO_TEXT = "put the code of the model into a file: this code has none, as at a prompt or with `exec`, and loops are read from the code"

#: The condition of a branch that goes the other way where a dimension is 1, and nowhere else.
_ONLY_AT_ONE = re.compile(r"(\w+) (?:>= 2|> 1|!= 1)")

#: What becomes of branches on dimensions that are left to the model, if they cannot be dynamic otherwise: a range in which the branch is the same.
RANGE = "range"


def _ways(line: Any) -> str:
    """What to do about a branch."""
    from ._record.places import calling_itself

    name = None if line is None else calling_itself(*line.place)
    return _WAYS if name is None else f"`{name}` calls itself, and a file has no such function: if a size or data decide how often, write a loop in place of the calls; otherwise {_WAYS}"


def branch_error(message: str, line: Any, lines: Any = None, loops: Any = (), sizes: Any = ()) -> OpenBranch:
    """The error of a branch. `lines` are those of all branches that both sides may be recorded of, `loops` those of loops that may be recorded turn by turn, and
    `sizes` those at which it goes the other way."""
    place = [str(line)] if line is not None else []
    has_text = line is None or bool(line.text)
    error = OpenBranch(message if has_text else message.replace(": ``", ""), place=place, help=_ways(line) if has_text else _NO_TEXT, source_line=place[0] if place else None)
    error.lines = ([] if line is None else [line]) if lines is None else list(lines)
    error.loops = [line for line in loops if line is not None]
    error.sizes, error.was_taken = list(sizes), False
    error.at = line
    return error


def take_branches(
    live: Any, recorded: Any, choice: str, turned: Callable[..., bool | None], holds_at_one: Callable[[str], bool], both: Any = None
) -> tuple[list[str], list[str]]:
    """Decides what becomes of the branches that were taken: dropped if nothing else can happen, refused, or a condition of the file. Returns these conditions
    and notes.

    `turned` says whether the model makes the same calls at other sizes, where a branch goes the other way: then the branch does not matter.
    `both` has the errors of sides that could not be run.
    `holds_at_one` says whether the program is right where a dimension is 1: models ask for that to broadcast, and ONNX does so by itself.
    """
    from ._record.places import only_stops

    conditions = [branch.condition if branch.answer else f"not {branch.condition}" for branch in recorded.branches]
    told = live.native.open_conditions(conditions) if conditions else []
    empty = live.native.without_empty(conditions) if conditions else []
    others = live.native.other_sizes(conditions) if conditions else []
    known: dict[tuple[Any, ...], bool | None] = {}
    kept: list[str] = []
    notes: list[str] = []
    singles: dict[str, bool] = {}
    ranges: set[str] = set()
    refused: list[OpenBranch] = []
    for branch, condition, text, positive, other in zip(recorded.branches, conditions, told, empty, others):
        if text is None and not branch.from_data:
            notes += _empty_note(branch, positive)
            continue
        stops = branch.line is not None and not branch.is_caught and (only_stops(branch.line.file, branch.line.number, branch.answer) or refuses(both, branch.line))
        if branch.from_data:
            try:
                notes += _data_branch(branch, stops, choice)
            except OpenBranch as error:
                refused.append(error)
            continue
        if other and not stops:
            choices = other if not branch.is_plain else [*other, *_sizes_of_code(recorded, other, branch.line)]
            same, was_tried = _at_other_sizes(choices, turned, known, branch.is_plain)
            if same and branch.is_plain and is_idle_loop(branch.line, both, choice):
                refused.append(_idle_error(branch.line))
                continue
            if same:
                continue
            zeros = sorted({symbol for sizes in other for symbol, size in sizes.items() if size == 0})
            if was_tried and same is None and all(0 in sizes.values() for sizes in other):
                notes += _empty_note(branch, zeros)  # the model takes no empty dimension there
                continue
            # Where the model does not run, no file has to be right. It may run at others where a plain number is another one.
            stops = was_tried and same is None and not branch.is_plain
            if stops and choice == "both" and _ONLY_AT_ONE.fullmatch(text or "") is None and is_new(branch, both):
                refused.append(branch_error("a branch in Python depends on a size", branch.line, sizes=other))
                continue
        if not other and (not branch.by_model or (branch.is_inside and stops)):
            continue  # a check of PyTorch's own that no size fails
        single = _ONLY_AT_ONE.fullmatch(text or "")
        if single is not None and not stops:
            symbol = single.group(1)
            if symbol not in singles:
                singles[symbol] = holds_at_one(symbol)
            if singles[symbol]:
                continue
            if choice == "both":
                kept.append(condition)  # no run at another size has the calls of that side
                continue
        if branch.by_model and not stops and choice == RANGE and text is not None and _is_range(text, branch):
            if text not in ranges:  # the first line is where the model decides, others go on with it
                notes.append(f"The file is right only where {text}: `{branch.line.text}` ({branch.line}) goes another way elsewhere.")
            ranges.add(text)
        elif branch.by_model and not stops and choice != "example":
            what = f"`{branch.line.text}`" if branch.line is not None else "a line of the model"
            if branch.is_plain:
                refused.append(branch_error(f"a plain number is made of a size, such as the number of turns of a loop, a key of a dictionary, or text: {what}, where {text}", branch.line, (), [branch.line]))
            else:
                refused.append(branch_error(f"a branch in Python depends on a size: {what} was taken where {text}", branch.line, sizes=other))
            continue
        kept.append(condition)
    if refused:
        refused[0].lines = [line for error in refused for line in error.lines]
        refused[0].sizes = [sizes for error in refused for sizes in error.sizes]
        refused[0].loops = [line for error in refused for line in error.loops]
        raise refused[0]
    return kept, notes


def check_walked(turns: list[list[tuple[Any, int]]], both: Any, choice: str) -> None:
    """Looks for loops over tensors that are in no run noted turn by turn, though the number of their turns follows from a size: it is another one in the runs. `turns`
    has the lines of loops with their turns for each run.

    Raises:
        OpenBranch: There are some.
    """
    counts: list[dict[Any, list[int]]] = [{} for _ in turns]
    for found, made in zip(counts, turns):
        for line, count in made:
            found.setdefault(line, []).append(count)
    for line, mine in counts[0].items():
        if any(other.get(line) != mine for other in counts[1:]) and is_idle_loop(line, both, choice):
            raise _idle_error(line)


def _idle_error(line: Any) -> OpenBranch:
    error = branch_error(f"the turns of a loop over a size make no calls, and what they compute may matter at others: `{line.text}`", line, (), [line])
    error.is_idle = True
    return error


def is_idle_loop(line: Any, both: Any, choice: str) -> bool:
    """Whether a line of the user's code walks through what has a size, and may still be recorded as a loop."""
    from ._record.places import is_choosing_walk, is_installed

    if choice != "both" or both is None or line is None or is_installed(line.file):
        return False
    return is_choosing_walk(*line.place) and line.place not in both.loops | both.lowered


def _at_other_sizes(
    choices: list[dict[str, int]], turned: Callable[..., bool | None], known: dict[tuple[Any, ...], bool | None], is_plain: bool
) -> tuple[bool | None, bool]:
    """Whether the model makes the same calls at sizes where a branch goes the other way, and whether that was tried. None if it runs at none of these sizes. A branch
    has one other side; a plain number is another one at each size."""
    was_tried = False
    same = None
    for sizes in choices:
        key = (is_plain, *sorted(sizes.items()))
        if key not in known and sum(one[0] == is_plain for one in known) < (TURNS_OF_PLAIN if is_plain else TURNS):
            known[key] = turned(sizes, is_plain)
        was_tried = was_tried or key in known
        if known.get(key) is None:
            continue
        same = known[key]
        if not (is_plain and same):
            break
    return same, was_tried


def _sizes_of_code(recorded: Any, choices: list[dict[str, int]], line: Any) -> list[dict[str, int]]:
    """Sizes that the code of the model may compare a plain number with: its constants, small numbers, and the other sizes of the inputs."""
    from ._record.places import numbers_in
    from ._record.texts import TEXTS

    changing = [symbol for symbol in choices[0] if len({sizes.get(symbol) for sizes in choices}) > 1]
    sizes = [size for given in recorded.inputs.values() for size in given if type(size) is int] + list(choices[0].values())
    wanted = dict.fromkeys([*sizes, *range(1, 9), *(() if line is None else numbers_in(line.file))])
    is_text = line is not None and line in TEXTS  # it is longer where there are more digits
    most = 10 ** (DIGITS - 1) if is_text else LARGEST
    wanted.update(dict.fromkeys(10**digits for digits in range(1, DIGITS) if is_text))
    found = list(_orders(recorded, choices[0], changing))
    for symbol in changing:
        low, high = recorded.bounds.get(symbol, (1, None))
        found += [{**choices[0], symbol: size} for size in wanted if max(low, 1) <= size <= (most if high is None else min(high, most))]
    return found[: CALLS_OF_PLAIN // max(len(recorded.graph.nodes), 1)]


def _orders(recorded: Any, sizes: dict[str, int], changing: list[str]) -> Iterator[dict[str, int]]:
    """Sizes of which one is much smaller, or much larger, than all others: what compares two plain numbers may have the same answer wherever one of them changes a little."""
    most = max(sizes.values())
    limit = max(LARGEST, most)
    for symbol in changing if len(sizes) > 1 else ():
        for one, others in ((2, 2 * most + 3), (1, most), (4 * most + 1, 2)):
            wanted = {other: one if other == symbol else others for other in sizes}
            if all(max(low, 1) <= wanted[other] <= (limit if high is None else min(high, limit)) for other, (low, high) in recorded.bounds.items() if other in wanted):
                yield wanted


def _is_range(text: str, branch: Any) -> bool:
    """Whether a condition leaves more than one size."""
    return not branch.is_plain and branch.line is not None and " == " not in text


def is_right_at_one(recorded: Any, model: Any, arguments: Any, first: Any, symbol: str) -> bool:
    """Whether the program gives the model's results where a dimension is 1. If so, the sizes of its tensors there are noted."""
    from ._record.held import sizes_at_one

    try:
        found = sizes_at_one(recorded, model, arguments, first, symbol)
    except Exception as error:  # whatever the model raises
        _log.debug("not the same where %s is 1: %s", symbol, error)
        return False
    known = recorded.observed[0][1] if recorded.observed else {}
    for _, sizes in found:
        # The program has the same calls there, and `squeeze` drops a dimension, which no file can do by size.
        if any(name in known and len(known[name]) != len(shape) for name, shape in sizes.items()):
            _log.debug("another number of dimensions where %s is 1", symbol)
            return False
    recorded.observed += found
    return True


def _empty_note(branch: Any, positive: list[str]) -> list[str]:
    """A note on a branch that goes the other way for dimensions of size 0, which no file is made for unless they are declared so."""
    if not positive or not branch.by_model or branch.line is None:
        return []
    where = " and ".join(f"{symbol} >= 1" for symbol in positive)
    return [f"The file is right only where {where}: `{branch.line.text}` ({branch.line}) goes another way at 0."]


def _data_branch(branch: Any, stops: bool, choice: str) -> list[str]:
    """Notes on a branch that elements of tensors decide."""
    if not branch.by_model:
        return []
    where = f"`{branch.line.text}` ({branch.line})" if branch.line is not None else "a branch"
    if stops:
        return [f"The model checks its data with {where}: the file does not."]
    if choice == "example":
        return [f"The file is right only where the branch {where} goes as in the example: it depends on data."]
    raise branch_error(f"a branch in Python depends on the elements of a tensor: {where}", branch.line)


__all__ = ["RANGE", "branch_error", "is_right_at_one", "take_branches"]
