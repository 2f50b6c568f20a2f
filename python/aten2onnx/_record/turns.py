"""Answers branches of a model in a chosen way while it is recorded, so that a run takes a side that its inputs do not take."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from .expressions import name_of
from .numbers import Number, is_from_data, numbers_in
from .places import frame_of_model, nodes_of

if TYPE_CHECKING:
    from .recorder import Question

#: A branch of a run: the file and the number of its line, and how many times it was asked before.
Place = tuple[str, int, int]

#: So many branches are answered in one run: more are a loop.
_MOST = 200


#: A function that calls itself is recorded so many calls deep: a side that inputs do not take may have no end.
_DEEP = 32


class NoBothSides(Exception):
    """A branch whose sides cannot both be in a file: why, its line, and the way out, if it is another one than that of all branches."""

    def __init__(self, message: str, line: Any, help: str | None = None) -> None:
        text = f": `{line.text}`" if line is not None else ""
        super().__init__(message + text)
        self.line = line
        self.help = help
        #: The line of a branch that may have both sides.
        self.branch: Any = None
        #: The place of a loop that makes too few turns to compare them.
        self.few: tuple[str, int] | None = None
        #: Whether there are more branches or runs than are allowed.
        self.is_limit = False


class Unlikely(NoBothSides):
    """Programs that are not likely to end, or to be the same. It is cheaper to lower the model than to find out."""


def check_depth(line: Any) -> None:
    """Compares how many calls of the function that asks are within one another.

    Raises:
        NoBothSides: There are too many.
    """
    frame = asking = frame_of_model()
    count = 0
    while frame is not None and asking is not None:
        count += frame.f_code is asking.f_code
        frame = frame.f_back
    if count > _DEEP:
        raise NoBothSides(f"a function calls itself more than {_DEEP} times, as a size or data ask", line)


class Turns:
    """The answers of one run.

    Attributes:
        lines: The lines, each a file and a number, whose branches are answered.
        forced: The answers to the first of them.
        wanted: Answers to those after them, by their line and how many times it has asked before. All others have the answers of their numbers.
        loops: The lines whose loops are noted turn by turn.
        without: The number of a loop that makes no turn.
        more: So many turns are added to each `while` on data.
        lowered: The lines whose functions are lowered.
        lengths: Sizes of inputs that sizes of tensors which are not there yet may be, by their lines.
        asked: The questions that were answered, by their place among all questions of the run.
        given: Their answers, by their line.
    """

    def __init__(
        self,
        lines: frozenset[tuple[str, int]],
        forced: tuple[bool, ...] = (),
        is_static: Callable[[Any, int], bool] = lambda value, axis: False,
        wanted: Mapping[Place, bool] | None = None,
        loops: frozenset[tuple[str, int]] = frozenset(),
        without: int | None = None,
        more: int = 0,
        changing: dict[Any, Any] | None = None,
        least: int = 0,
        lowered: frozenset[tuple[str, int]] = frozenset(),
        lengths: dict[Any, Any] | None = None,
        roll: int | None = None,
    ) -> None:
        #: Whether loops may make no turn on sides that the inputs do not take.
        self.may_have_none = False
        #: The least and the largest size of a dimension of a value; None where there is none.
        self.range_of: Callable[[Any, int], tuple[int | None, int | None]] = lambda value, axis: (0, None)
        self.roll = roll
        self.lowered = lowered
        self.lengths: dict[Any, Any] = {} if lengths is None else lengths
        self.is_static = is_static
        self.wanted = dict(wanted or {})
        #: Whether an answer is another one because it was wanted.
        self.follows = False
        self._times: dict[tuple[str, int], int] = {}
        self._asking: dict[tuple[str, int], int] = {}
        self.given: dict[Place, bool] = {}
        self.lines = lines
        self.forced = forced
        self.loops = loops
        self.without = without
        self.more = more
        self.changing = changing
        self.least = least
        #: For each question that was answered the number of the outermost loop that it is in; None outside of loops.
        self.within: list[int | None] = []
        self.asked: dict[int, Question] = {}
        self._answers: dict[Any, bool] = {}

    def is_turned(self, question: Question) -> bool:
        """Whether a question is a branch that has both sides."""
        line = question.line
        if question.what != "bool" or not question.by_model or line is None or line.place not in self.lines:
            return False
        return not (self._is_static(question.number) or _is_about_one(question.number))

    def decides(self, number: Any) -> bool:
        """Whether the ranges of the sizes in a condition leave it one answer: it has no other side."""
        from .intervals import decided

        return not is_from_data(number) and decided(number, self.range_of) is not None

    def turned(self, question: Question, place: int, loop: int | None = None, default: bool | None = None) -> Question | None:
        """The question with the answer of this run; None if the same was asked before.

        Args:
            loop: The number of the loop that it is in.
            default: Its answer, if none is forced.
        """
        line = question.line
        if line is not None and self._is_often(line):
            check_depth(line)
        if line is None or not self.is_turned(question):
            return question
        key = key_of(question.number)
        if key in self._answers:
            return None
        index = len(self.asked)
        if index >= _MOST:
            raise NoBothSides(f"a branch in Python is asked more than {_MOST} times in a run", line)
        at = self._place(line)
        answer = self.forced[index] if index < len(self.forced) else self.wanted.get(at, question.answer if default is None else default)
        self.follows = self.follows or (index >= len(self.forced) and at in self.wanted and answer is not question.answer)
        self.within.append(loop)
        question = question._replace(answer=answer)
        self.asked[place] = question
        self._answers[key] = self.given[at] = answer
        return question

    def _is_often(self, line: Any) -> bool:
        """Whether a line has asked a good many times since this was said last."""
        self._asking[line.place] = count = self._asking.get(line.place, 0) + 1
        return count % _DEEP == 0

    def _place(self, line: Any) -> Place:
        count = self._times.get(line.place, 0)
        self._times[line.place] = count + 1
        return (*line.place, count)

    def all_wanted(self) -> dict[Place, bool]:
        """The answers of this run, and those that were wanted and not asked for."""
        return {**self.wanted, **self.given}

    def _is_static(self, number: Any) -> bool:
        """Whether a number is the same at all inputs, because it is of dimensions of inputs that are."""
        return all(self.is_static(*one.operands) if one.function == "size" else one.function not in ("item", "input") for one in numbers_in(number))

    def known(self, number: Number) -> bool:
        """The answer that a branch had before."""
        return self._answers[key_of(number)]

    @property
    def answers(self) -> dict[Any, bool]:
        """The answers that branches had, by what equal conditions have in common."""
        return self._answers


#: Comparisons with a number that tell 1 from all larger sizes.
_ONE = {("eq", 1), ("ne", 1), ("gt", 1), ("le", 1), ("lt", 2), ("ge", 2)}


def _is_about_one(number: Number) -> bool:
    """Whether a branch goes another way only where a size is 1. PyTorch treats that in another way, so no run at another size has the calls of that side."""
    if len(number.operands) != 2:
        return False
    a, b = number.operands
    return isinstance(a, Number) and a.function == "size" and (number.function, b) in _ONE


def key_of(number: Any) -> Any:
    """What equal expressions of the same values have in common."""
    return name_of(number, key_of_operand)


def key_of_operand(operand: Any) -> Any:
    """What equal operands that are no numbers have in common."""
    key = getattr(operand, "key", None)
    return (type(operand), operand) if key is None else ("value", key)


@lru_cache(maxsize=1024)
def is_loop(file: str, number: int) -> bool:
    """Whether a line is in the condition of a `while`."""
    return any(_has_line(node.test, number) for node in nodes_of(file, ast.While))


@lru_cache(maxsize=1024)
def is_series(file: str, number: int) -> bool:
    """Whether a line is in the condition of a `while` that asks several: `a and b`."""
    return any(_has_line(node.test, number) and any(isinstance(inner, (ast.BoolOp, ast.IfExp)) for inner in ast.walk(node.test)) for node in nodes_of(file, ast.While))


@lru_cache(maxsize=1024)
def is_unpacked(file: str, number: int) -> bool:
    """Whether a line gives the elements of what a call returns a name each, so that their number is known: `one, two = x.unbind(1)`."""
    found = [node for node in nodes_of(file, ast.Assign) if _has_line(node, number)]
    targets = [target for node in found if isinstance(node.value, ast.Call) for target in node.targets if isinstance(target, (ast.Tuple, ast.List))]
    return any(not any(isinstance(name, ast.Starred) for name in target.elts) for target in targets)


@lru_cache(maxsize=1024)
def raises(file: str, number: int) -> bool:
    """Whether a line is in a `raise` or `assert`."""
    return any(_has_line(node, number) for node in nodes_of(file, ast.Raise, ast.Assert))


@lru_cache(maxsize=1024)
def is_in_while(file: str, number: int) -> bool:
    """Whether a line is in the body of a `while`."""
    return any(node.body[0].lineno <= number <= (node.body[-1].end_lineno or node.body[-1].lineno) for node in nodes_of(file, ast.While))


def _has_line(node: Any, number: int) -> bool:
    return node.lineno <= number <= (node.end_lineno or node.lineno)
