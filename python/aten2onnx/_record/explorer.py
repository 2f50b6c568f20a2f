"""Runs a model on both sides of its branches, and joins the paths. A branch that comes after the sides of another have met again is turned once, and not
once for each of them."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

from .align import Alignment, Unlike
from .branched import Tree, Way
from .branches import Ask, Item, Path, Step, Turn, made_by
from .copies import Copy, OnOneSide
from .join import Merger, fitting, place_of
from .loops import CHOSEN, TURN
from .numbers import Number, is_from_data
from .recorder import Question, Unrecorded
from .rolling import Rolling
from .runs import Run
from .turns import NoBothSides, Place, Turns, Unlikely, is_in_while
from .without import is_same_without

_log = logging.getLogger(__name__)

#: So many runs find the ways through the turns of loops. Turns with more ways through them are written down as such after that.
_MOST_IN_TURNS = 8

#: So many times more than the run that inputs take may a side ask a line in a `while`.
_MORE_TIMES = 8

#: Runs the model with these answers.
Record = Callable[[Turns], Run]


class _Other(NamedTuple):
    """The other side of a branch: the program of all paths that take it, or the error that the model ends with."""

    path: Path | None
    error: Exception | None = None


class _Way(NamedTuple):
    """A run with its path, and the other sides of its branches that are known so far, the last one first."""

    run: Run
    raw: Path
    others: dict[int, _Other]


class _Common(NamedTuple):
    """What two runs have in common after a branch that they answer differently.

    Attributes:
        values: For values of the first run those of the second that correspond to them.
        branches: For branches of the second run the same of the first, by number.
    """

    values: list[tuple[Any, Any]]
    branches: dict[int, int]


class Care(Enum):
    """When a side of a branch is taken over from a run that answered an earlier branch otherwise. What is taken over wrongly is found later."""

    #: If what it reads has one counterpart each in the other run.
    LEAST = 0
    #: And if it reads nothing from before the earlier branch that has another counterpart: `y = x` on one side of that.
    SOME = 1
    #: Never: each way through the branches is a run.
    MOST = 2


class Explorer:
    """Finds the paths of a model.

    Attributes:
        runs: The number of runs that were made.
        is_shortened: Whether a side of a branch was taken over from a run that had answered an earlier branch otherwise.
    """

    def __init__(self, record: Record, turns: Callable[..., Turns], max_runs: int, care: Care, compares: bool = True, is_patient: bool = False) -> None:
        self.compares = compares
        self.is_patient = is_patient
        #: How many times each line asks in the run that inputs take.
        self.times: Counter[tuple[str, int]] = Counter()
        #: Lines of loops that were compared with a run without their turns, and whether that is the same.
        self.compared: dict[tuple[str, int], bool] = {}
        self.record = record
        self.turns = turns
        self.max_runs = max_runs
        self.merger = Merger()
        self.care = care
        self.runs = 0
        #: Those among them that answer a branch in a turn of a loop otherwise.
        self.runs_in_turns = 0
        self.is_shortened = False
        #: The answers of the runs.
        self.answers: list[dict[Place, bool]] = []
        #: The errors of sides, with their lines.
        self.failures: list[tuple[Any, Exception]] = []
        #: Whether such an error ends the exploration.
        self.ends_at: Callable[[Any, Exception], bool] = lambda line, error: False

    def recorded(self, turns: Turns, line: Any = None) -> Run:
        """A run.

        Raises:
            NoBothSides: There are more than are allowed.
            Exception: What the model raises.
        """
        if self.runs >= self.max_runs:
            raise self._too_many(self.max_runs, line)
        self.runs += 1
        run = self.record(turns)
        self.answers.append(run.recorder.turns.given)  # type: ignore[union-attr]
        return run

    @staticmethod
    def _too_many(runs: int, line: Any) -> NoBothSides:
        error = NoBothSides(f"the model has to run more than {runs} times to take both sides of its branches (`max_runs`)", line)
        error.is_limit = True
        return error

    def path(self, run: Run) -> Path:
        """The program of all paths, one of which is that of a run.

        Raises:
            NoBothSides: The sides of a branch do not go together, or there are more runs than are allowed.
            Unrecorded: A side cannot be recorded.
        """
        self.times = Counter(place[:2] for place in run.recorder.turns.given)  # type: ignore[union-attr]
        return self._path(run, self._raw(run), 0, lambda index: None)

    def _check_times(self, run: Run, index: int) -> None:
        """Compares how often the line of a branch has asked with the run that inputs take. A `while` that no data end asks once more in each run.

        Raises:
            Unlikely: It has asked far more often.
        """
        file, number, times = list(run.recorder.turns.given)[index]  # type: ignore[union-attr]
        if not self.is_patient and times >= self.times[file, number] + _MORE_TIMES and is_in_while(file, number):
            raise Unlikely(f"a branch in a `while` asks {times} times", _question(run, index).line)

    def _raw(self, run: Run) -> Path:
        """The path of a run. Its loops are compared with what the model does without their turns. Where that is something else, the path has a condition.

        Raises:
            NoBothSides: Data decide whether there is a turn.
        """
        path = self.merger.path(run, self._trees(run))
        turns: Turns = run.recorder.turns  # type: ignore[assignment]
        answers = tuple(question.answer for question in turns.asked.values())
        for rolling in self.merger.rolled if self.compares else []:
            loop = rolling.loop
            if rolling.depth or rolling.first:
                continue
            if loop.line.place not in self.compared:
                self.compared[loop.line.place] = self._is_same_without(rolling, path, answers)
            if self.compared[loop.line.place]:
                continue
            count = rolling.item.count
            if not isinstance(count, Number) or is_from_data(count):
                raise NoBothSides("the model does something else if a loop makes no turn", loop.line)
            question = Question("bool", Number(True, "ge", (count, 1), count.ask), True, loop.line, False, 0)
            path.items.insert(path.items.index(rolling.item), Ask(question))
        return path

    def _trees(self, run: Run) -> dict[int, Tree]:
        """The turns of loops with all ways through their branches, by the numbers of the loops."""
        turns: Turns = run.recorder.turns  # type: ignore[assignment]
        found: dict[int, Tree] = {}
        for index, number in enumerate(turns.within):
            if number is not None and number not in found:
                ways: list[Way] = []
                path = self._ways(run, number, index, ways)
                begin = next(place for place, item in enumerate(path.items) if _is_chosen(item, ways[0].loop))
                found[number] = Tree(path.items[begin + 1 :], dict(zip(path.tree, path.outputs)), ways)
        return found

    def _ways(self, run: Run, number: int, first: int, ways: list[Way]) -> Path:
        """All ways through the turn that stands for those of a loop which begin with the answers of a run."""
        path, way = self.merger.turn(run, number)
        ways.append(way)
        turns: Turns = run.recorder.turns  # type: ignore[assignment]
        answers = [question.answer for question in turns.asked.values()]
        for index in reversed([index for index, loop in enumerate(turns.within) if loop == number and index >= first]):
            line = _question(run, index).line
            self.runs_in_turns += 1
            if self.runs_in_turns >= _MOST_IN_TURNS:
                raise self._too_many(_MOST_IN_TURNS, line)
            try:
                other = self.recorded(self.turns((*answers[:index], not answers[index])), line)
                other_path = self._ways(other, number, index + 1, ways)
            except (NoBothSides, Unrecorded):
                raise
            except Exception as error:  # whatever the model raises on a side that its inputs do not take
                _log.debug("the other side of %s: %s", line, error)
                path = self._one_side(path, index, error)
                continue
            path = self.merger.joined(index, *fitting(path, other_path, self.merger))
        return path

    def _is_same_without(self, rolling: Rolling, path: Path, answers: tuple[bool, ...]) -> bool:
        """Whether the program does what the model does if a loop makes no turn. A model that raises an error then does nothing."""
        try:
            run = self.recorded(self.turns(answers, None, rolling.loop.number), rolling.loop.line)
            other = self.merger.path(run, self._trees(run))
        except NoBothSides:
            raise
        except Exception as error:  # whatever the model raises without a turn
            _log.debug("without a turn of %s: %s", rolling.loop.line, error)
            return True
        return is_same_without(rolling, path, other)

    def _path(self, run: Run, raw: Path, first: int, known: Callable[[int], _Other | None]) -> Path:
        """The program of all paths that have the answers of a run to its first branches. `known` gives other sides for which no run is needed."""
        return self._joined(self._explored(run, raw, first, known, lambda way, place: None), first)

    def _explored(self, run: Run, raw: Path, first: int, known: Callable[[int], _Other | None], instead: Callable[[_Way, int], _Other | None]) -> _Way:
        """A run with the other sides of its branches. `instead` gives other sides that cannot be run.

        Raises:
            Exception: What the model raises on a side without which the exploration ends.
        """
        way = _Way(run, raw, {})
        within: list[int | None] = run.recorder.turns.within  # type: ignore[union-attr]
        for index in reversed(range(first, len(within))):
            if within[index] is not None:
                continue
            other = known(index) or self._other(way, index)
            way.others[index] = other if other.path is not None else instead(way, index) or other
        for index, other in way.others.items():
            if other.error is not None and self.ends_at(_question(run, index).line, other.error):
                raise other.error
        return way

    def _joined(self, way: _Way, first: int) -> Path:
        """The program of all paths that a run and the other sides of its branches from a place on make."""
        path = way.raw
        for index, other in way.others.items():
            if index >= first:
                path = self._one_side(path, index, other.error) if other.path is None else self.merger.joined(index, path, other.path)  # type: ignore[arg-type]
        return path

    def _other(self, way: _Way, index: int) -> _Other:
        """The other side of a branch. Sides of later branches that could not be run are taken from it, if it has them."""
        run, raw, later = way
        self._check_times(run, index)
        try:
            other = self._turned(run, index)
        except (NoBothSides, Unrecorded):
            raise
        except Exception as error:  # whatever the model raises on a side that its inputs do not take
            _log.debug("the other side of %s: %s", _question(run, index).line, error)
            return _Other(None, error)
        path = self._raw(other)
        self.merger.unite_before(index, raw, path)
        common = _Common([], {}) if self.care is Care.MOST else self._common(raw, path, index)

        def known(place: int) -> _Other | None:
            return self._taken_over(raw, path, common, place, index, later)

        found = self._explored(other, path, index + 1, known, lambda taker, place: self._side_of_other(way, taker, index, place))
        for place, side in later.items():
            if side.path is None:
                later[place] = self._side_of_other(found, way, index, place) or side
        return _Other(self._joined(found, index + 1))

    def _side_of_other(self, giver: _Way, taker: _Way, index: int, place: int) -> _Other | None:
        """The other side of a branch that `taker` asks at a place, if `giver` has it: with the values of `taker`. The two runs part at an earlier branch."""
        at = _same_place(giver.run, taker.run, place)
        if at is None or at <= index:
            return None
        questions = [_question(way.run, end) for way, end in ((giver, at), (taker, place))]
        known = giver.others.get(at)
        given = self._joined(giver, at + 1) if questions[0].answer != questions[1].answer else known.path if known is not None else None
        if given is None:
            return None
        segments = [path.items[place_of(path, index) + 1 : place_of(path, end)] for path, end in ((given, at), (taker.raw, place))]
        try:
            values = Alignment(segments[0], segments[1], ([questions[0].number], [questions[1].number]), self.merger).corresponding()
        except Unlike:
            return None
        private = [value for item in given.items[place_of(given, index) :] for value in made_by(item)]
        copy = Copy(self.merger, values, private, self.care is not Care.LEAST, is_seen=False)
        try:
            items, outputs = copy.items(given.items[place_of(given, at) + 1 :]), copy.reference(given.outputs)
        except OnOneSide:
            return None
        self.is_shortened = True
        return _Other(Path([*taker.raw.items[: place_of(taker.raw, place) + 1], *items], outputs, given.buffers, given.tree))

    def _turned(self, run: Run, index: int) -> Run:
        """A run with another answer to one branch. Those before it have the same answers, and those after it as far as possible."""
        turns: Turns = run.recorder.turns  # type: ignore[assignment]
        question = _question(run, index)
        answers = [question.answer for question in turns.asked.values()]
        forced = (*answers[:index], not question.answer)
        if self.care is Care.MOST:
            return self.recorded(self.turns(forced), question.line)
        following = self.turns(forced, turns.all_wanted())
        try:
            return self.recorded(following, question.line)
        except (NoBothSides, Unrecorded):
            raise
        except Exception as error:  # whatever the model raises: perhaps because of these answers
            if not following.follows:
                raise
            _log.debug("with the same answers as before: %s", error)
            return self.recorded(self.turns(forced), question.line)

    def _common(self, raw: Path, other: Path, index: int) -> _Common:
        """What two runs have in common after a branch."""
        tails = [path.items[place_of(path, index) + 1 :] for path in (raw, other)]
        found = self.merger.all_outputs(raw, other)
        if found is None or raw.tree != other.tree:
            return _Common([], {})
        try:
            alignment = Alignment(tails[0], tails[1], found[0], self.merger)
        except Unlike:
            return _Common([], {})
        turns = [(one.item, two.item) for one, two in alignment.common()]
        branches = {two.index: one.index for one, two in turns if isinstance(one, Turn) and isinstance(two, Turn)}
        return _Common(alignment.corresponding(), branches)

    def _taken_over(self, raw: Path, path: Path, common: _Common, place: int, index: int, later: dict[int, _Other]) -> _Other | None:
        """The other side of a branch after the sides of an earlier one have met again: that of the first run, with the values of the second."""
        other = later.get(common.branches.get(place, -1))
        if other is None:
            return None
        if other.path is None:
            return other
        private = [value for item in raw.items[place_of(raw, index) :] for value in made_by(item)]
        copy = Copy(self.merger, common.values, private, self.care is Care.SOME)
        tail = other.path.items[place_of(other.path, common.branches[place]) + 1 :]
        try:
            items = copy.items(tail)
            outputs = copy.reference(other.path.outputs)
        except OnOneSide:
            return None
        self.is_shortened = True
        before = path.items[: place_of(path, place) + 1]
        return _Other(Path([*before, *items], outputs, other.path.buffers, other.path.tree))

    def _one_side(self, path: Path, index: int, error: Exception) -> Path:
        """A path with a branch that stays a question."""
        items: list[Item] = []
        for item in path.items:
            if isinstance(item, Turn) and item.index == index and item.question.line is not None:
                self.failures.append((item.question.line, error))
                item = Ask(item.question, error)
            items.append(item)
        return Path(items, path.outputs, path.buffers, path.tree)


def _is_chosen(item: Item, loop: Any) -> bool:
    """Whether a turn begins that stands for all of a loop."""
    return isinstance(item, Step) and item.call.function is TURN and item.call.args[0] is loop and item.call.results is loop.counters[CHOSEN]


def _same_place(run: Run, other: Run, index: int) -> int | None:
    """The branch of a run that another run asks in the same place of the model."""
    place = list(other.recorder.turns.given)[index]  # type: ignore[union-attr]
    places = list(run.recorder.turns.given)  # type: ignore[union-attr]
    return places.index(place) if place in places else None


def _question(run: Run, index: int) -> Any:
    return list(run.recorder.turns.asked.values())[index]  # type: ignore[union-attr]


__all__ = ["Care", "Explorer", "Record"]
