"""Dimensions that may be empty because the code of a model asks for it: a least size that the user has not written decides no branch of the user's code."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

#: Whether the model makes the same calls at other sizes; None if it does not run there.
Turned = Callable[[dict[str, int]], "bool | None"]


class Emptied(Exception):
    """A model asks whether dimensions are empty, of which the user says nothing.

    Attributes:
        symbols: The dimensions.
    """

    def __init__(self, symbols: frozenset[str]) -> None:
        super().__init__(f"the model asks whether {', '.join(sorted(symbols))} may be 0")
        self.symbols = symbols


def asked_by_branch(live: Any, recorded: Any, unstated: Iterable[str], turned: Turned, refuses: Callable[[Any], bool]) -> set[str]:
    """The dimensions of which branches of the model ask whether they are empty, if the model runs and does something else then.

    Branches of libraries are left out: they are there for all models. So is one whose other side only raises an error.
    """
    from ._record.places import is_installed, only_stops

    chosen = []
    for branch in recorded.branches:
        line = branch.line
        if not branch.by_model or branch.from_data or line is None or is_installed(line.file):
            continue
        if branch.is_caught or (not only_stops(line.file, line.number, branch.answer) and not refuses(line)):
            chosen.append(branch.condition if branch.answer else f"not {branch.condition}")
    return {symbol for symbol in _decided_by_nothing(live, chosen, unstated) if turned({symbol: 0}) is False}


def asked_by_choices(live: Any, recorded: Any, unstated: Iterable[str], turned: Turned) -> set[str]:
    """The dimensions at whose size of 0 a number is another one, as `max(n, 1)` is, if the model runs then."""
    return {symbol for symbol in _decided_by_nothing(live, recorded.choices, unstated) if turned({symbol: 0}) is not None}


def _decided_by_nothing(live: Any, conditions: list[str], unstated: Iterable[str]) -> set[str]:
    """The dimensions whose least size, which the user has not written, decides a condition."""
    if not conditions or not unstated:
        return set()
    told = live.native.open_conditions(conditions)
    empty = live.native.without_empty(conditions)
    return {symbol for text, symbols in zip(told, empty) if text is None for symbol in symbols} & set(unstated)


__all__ = ["Emptied", "asked_by_branch", "asked_by_choices"]
