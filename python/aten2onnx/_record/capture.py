"""Captures a model by recording it: the example, other sizes, and what they have in common."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache, partial
from itertools import islice
from typing import Any, NamedTuple

import torch
from torch.utils import _pytree as pytree

from .alike import FewTurns
from .arguments import arguments_of, example_of
from .bounded import Bounded
from .fakes import IsFake, NoElements, run_plainly
from .graph import Recorded, program_of
from .keep import composites, kept_whole
from .memos import caches_of, clear, memos_of
from .numbers import is_from_data
from .paths import Both, GapAtEmpty, recorded_both
from .recorder import Unrecorded
from .runs import Arguments, Run, first_sizes, recorded as run_once, sizes_apart, sizes_to_try, sizes_together, summed
from .same import Parted, same_but_for_copies, takes_other_side, united
from .shadows import asked_for_classes, shadows_of
from .steady import check_steady, kept_generators
from .turns import NoBothSides, Turns
from .work import is_heavy, is_long

_log = logging.getLogger(__name__)

#: So many runs at other sizes are held against the first.
_OTHERS = 2
#: So many sizes of one kind are tried before those of the next kind.
_FEW = 4


class Given(NamedTuple):
    """The call of a model.

    Attributes:
        args: The example.
        kwargs: The same by name.
        dynamic_shapes: The dynamic dimensions, checked.
        sums: Dimensions that are the sum of two others, by name.
        examples: Other arguments, for the runs at other sizes.
        branch_inputs: Other arguments, with which both sides of branches can be run.
        keep_results: Whether the runs keep their results.
        is_fake: Whether a parameter or buffer, by its name, has no elements in the runs. By default these are those that have no data.
        both: The branches that are recorded on both sides.
        empty: Dimensions of which the user gives no least size, and that may be empty all the same.
        forgets: Whether the runs begin without what the model remembers of earlier calls.
    """

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    dynamic_shapes: Any
    sums: Mapping[str, tuple[str, str]] = {}
    examples: Sequence[tuple[tuple[Any, ...], dict[str, Any]]] = ()
    branch_inputs: Sequence[tuple[tuple[Any, ...], dict[str, Any]]] = ()
    keep_results: bool = False
    is_fake: IsFake | None = None
    both: Both | None = None
    empty: frozenset[str] = frozenset()
    forgets: bool = False


def capture(
    model: torch.nn.Module,
    given: Given,
    rules: tuple[str, ...],
    decomposed: Iterable[str] = (),
    keep_side: bool = False,
) -> tuple[Recorded, Arguments, list[Run]]:
    """Returns the program of a model, its arguments, and the runs that it was recorded in.

    Args:
        model: The module.
        given: The example and its dynamic dimensions.
        rules: The operators that have a rule. Those among them that PyTorch would take apart stay whole.
        decomposed: Operators that PyTorch replaces by others.
        keep_side: Whether branches keep the side of the example. Otherwise the runs must take the same.

    Raises:
        Unrecorded: The recorder cannot follow the model.
        Parted: The model is not the same at other sizes.
        Exception: What the model raises at the example.
    """
    arguments = arguments_of(model, given.args, given.kwargs, given.dynamic_shapes, given.empty)
    arguments.both = given.both
    arguments.sums, arguments.keep_results, arguments.is_fake = dict(given.sums), given.keep_results, given.is_fake
    arguments.examples = [example_of(model, (given.args, given.kwargs), arguments, *example) for example in given.examples]
    arguments.branch_inputs = [example_of(model, (given.args, given.kwargs), arguments, *example, "branch_inputs") for example in given.branch_inputs]
    arguments.shadows = shadows_of(model)
    arguments.asked_classes = asked_for_classes(arguments.shadows)
    arguments.caches = caches_of(model, [names for names, _, _ in arguments.shadows])
    if given.forgets:
        clear(arguments.caches)
        arguments.memos = memos_of(model)
    kept = _composites(rules)
    replace = _replacements(decomposed)
    with kept_generators(model) as is_used:
        first = _first_run(model, arguments, kept, replace)
        _check_exits(first)
        check = lambda: check_steady(first, lambda is_light: _again(model, arguments, first, kept, replace, is_light), is_used())  # noqa: E731
        try:
            with nullcontext() if given.both is None else given.both.kept():
                others = _united(model, arguments, first, kept, replace, keep_side) if arguments.sizes else []
        except Parted as parted:
            is_explained = parted.branch is not None or parted.loop_lines
            if (is_used() or not is_explained) and not _has_both(arguments):
                check()
            raise
        if (not arguments.sizes or is_used()) and not _has_both(arguments):
            check()
    if not arguments.sizes:
        others = _runs_with_more_turns(model, arguments, first, kept, replace)
        united(first, others)
    for run in (first, *others) if arguments.keep_results else ():
        if run.recorder.loops is not None and run.recorder.loops.is_forced:
            run.results = _plain_results(model, arguments, run)
    return program_of(model, arguments, [first, *others]), arguments, [first, *others]


def remembers(model: torch.nn.Module) -> bool:
    """Whether a model keeps something of earlier calls that it makes anew in others."""
    return bool(memos_of(model)) or any(cache.cache_info().currsize for cache in caches_of(model, [names for names, _, _ in shadows_of(model)]))


def _plain_results(model: torch.nn.Module, arguments: Arguments, run: Run) -> list[Any]:
    """What a model returns at the sizes of a run whose loops made other turns than their data ask for."""
    try:
        return list(pytree.tree_leaves(run_plainly(model, arguments.at(run.sizes), arguments.tree, arguments.is_fake)))
    except Exception as error:  # whatever the model raises
        _log.debug("the model does not run at %s: %s", run.sizes, error)
        return []


def _united(model: torch.nn.Module, arguments: Arguments, first: Run, kept: list[Any], replace: Any, keep_side: bool) -> list[Run]:
    """Other runs, whose numbers are those of the first. Runs without elements are made again with them if they are not the same."""
    others = _other_runs(model, arguments, first, kept, replace, keep_side)
    calls, tied = list(first.recorder.calls), first.recorder.tied
    try:
        united(first, others)
    except Parted as parted:
        if not any(_is_in_doubt(run, parted) for run in others):
            raise
        _log.debug("runs without elements part: %s", parted)
        first.recorder.calls, first.recorder.tied = calls, tied
        arguments.may_be_light = False
        others = _other_runs(model, arguments, first, kept, replace, keep_side)
        united(first, others)
    return others


def _is_in_doubt(run: Run, parted: Parted) -> bool:
    """Whether a run parts from the first perhaps only because it is without elements: PyTorch may take other ways then. The model's own branches are on sizes."""
    return run.is_light and not (parted.branch is not None and parted.branch.by_model)


def _another(model: torch.nn.Module, arguments: Arguments, first: Run, sizes: dict[str, int], kept: list[Any], replace: Any) -> Run:
    """A run at other sizes, without elements if that is likely to take less and it does not need them."""
    if arguments.may_be_light and not _has_both(arguments) and not arguments.keep_results and is_heavy(first, sizes):
        try:
            return run_once(model, arguments, sizes, kept, replace, is_light=True)
        except Exception as error:  # whatever the model raises
            _log.debug("not recorded without elements at %s: %s", sizes, error)
    return recorded(model, arguments, sizes, kept, replace)


def _again(model: torch.nn.Module, arguments: Arguments, first: Run, kept: list[Any], replace: Any, may_be_light: bool) -> Run:
    """Another run at the same sizes, without elements if that is likely to take less."""
    if may_be_light and arguments.may_be_light and is_heavy(first, first.sizes):
        try:
            return run_once(model, arguments, first.sizes, kept, replace, is_light=True)
        except Exception as error:  # whatever the model raises
            _log.debug("not recorded again without elements: %s", error)
    return run_once(model, arguments, first.sizes, kept, replace)


def _with_more_turns(model: torch.nn.Module, arguments: Arguments, first: Run, sizes: dict[str, int], kept: list[Any], replace: Any, more: int) -> Run:
    """A run at other sizes. Each `while` on data makes more turns, if the model runs then: so what depends on their number is another one."""
    both = arguments.both
    if both is None or not both.loops:
        return _another(model, arguments, first, sizes, kept, replace)
    try:
        both.more = more
        return _another(model, arguments, first, sizes, kept, replace)
    except (Unrecorded, NoBothSides):
        raise
    except Exception as error:  # whatever the model raises in more turns
        _log.debug("no more turns at %s: %s", sizes, error)
    finally:
        both.more = 0
    return _another(model, arguments, first, sizes, kept, replace)


def _runs_with_more_turns(model: torch.nn.Module, arguments: Arguments, first: Run, kept: list[Any], replace: Any) -> list[Run]:
    """A run of a model without dynamic dimensions in which each `while` on data makes more turns."""
    both = arguments.both
    if both is None or not both.rolled:
        return []
    with both.kept():
        return [_with_more_turns(model, arguments, first, first.sizes, kept, replace, 1)]


def _has_both(arguments: Arguments) -> bool:
    """Whether branches are recorded on both sides."""
    return arguments.both is not None and bool(arguments.both.lines or arguments.both.loops or arguments.both.lowered)


def recorded(model: torch.nn.Module, arguments: Arguments, sizes: dict[str, int], kept: list[Any], replace: Any) -> Run:
    """Runs a model at these sizes: once, or once for each way through the branches that are recorded on both sides."""
    if not _has_both(arguments):
        return run_once(model, arguments, sizes, kept, replace)
    arguments.both.is_static = lambda value, axis: value.source is not None and value.source[0] == "input" and axis not in arguments.axes[value.source[1]]

    def record(turns: Turns) -> Run:
        run = run_once(model, arguments, sizes, kept, replace, turns=turns)
        if arguments.reach.most is None:  # with other answers a `while` may have no end
            arguments.reach.start(run.recorder.made)
        return run

    return recorded_both(record, arguments.both)


def checks_of_sides(model: torch.nn.Module, arguments: Arguments, rules: tuple[str, ...], decomposed: Iterable[str]) -> list[Any]:
    """Sizes, arguments and results for inputs that take the sides of branches by themselves."""
    from .sides import checks_of_sides as found

    kept, replace = _composites(rules), _replacements(decomposed)
    return found(lambda given, sizes, turns: run_once(model, given, sizes, kept, replace, turns=turns), arguments, arguments.both)


def _first_run(model: torch.nn.Module, arguments: Arguments, kept: list[Any], replace: Any) -> Run:
    """The run that the program is made of: at the example, or at sizes or data at which both sides of all branches can be run, if there are any."""
    both, tried = arguments.both, False
    if _has_both(arguments):
        both.ends_if_empty = True
    try:
        first = _with_turns(model, arguments, kept, replace)
    except GapAtEmpty as gap:
        tried, both.ends_if_empty = True, False
        run = _with_other_inputs(model, arguments, gap.run, kept, replace)
        if run is not None:
            return run
        first = _with_turns(model, arguments, kept, replace)
    finally:
        if both is not None:
            both.ends_if_empty = False
    if not _has_both(arguments) or not both.has_gaps:
        return first
    failures, made = both.failures, both.made
    run = None if tried else _with_other_inputs(model, arguments, first, kept, replace)
    if run is not None:
        return run
    both.failures, both.made = failures, made
    return first


def _with_other_inputs(model: torch.nn.Module, arguments: Arguments, first: Run, kept: list[Any], replace: Any) -> Run | None:
    """The run at other sizes or data at which both sides of all branches can be run; None if none is found."""
    for leaves, sizes in islice(_inputs_to_try(arguments, first), arguments.both.max_tries):
        run = _gapless(model, arguments, leaves, sizes, kept, replace)
        if run is not None:
            return run
    if not first.recorder.has_empty_masks:
        return None
    arguments.is_filled = True
    run = _gapless(model, arguments, arguments.leaves, first_sizes(arguments), kept, replace)
    arguments.is_filled, arguments.is_changed = run is not None, arguments.is_changed or run is not None
    return run


def _gapless(model: torch.nn.Module, arguments: Arguments, leaves: list[Any], sizes: dict[str, int], kept: list[Any], replace: Any) -> Run | None:
    """The run at sizes and data at which both sides of all branches can be run; None if they are not. The arguments keep the data."""
    both, before = arguments.both, arguments.leaves
    if arguments.reach.is_beyond(sizes):
        return None
    arguments.leaves, both.ends_at_gap = leaves, True
    try:
        run = recorded(model, arguments, sizes, kept, replace)
    except Exception as error:  # whatever the model raises at sizes or data that it does not take
        _log.debug("the model does not run at %s: %s", sizes, error)
        arguments.reach.note(error, sizes)
        arguments.leaves = before
        return None
    finally:
        both.ends_at_gap = False
    arguments.is_changed = leaves is not before
    return run


def _inputs_to_try(arguments: Arguments, first: Run) -> Iterator[tuple[list[Any], dict[str, int]]]:
    """Leaves and sizes at which both sides of a branch may run: those of the user, other sizes, and other data."""
    from .sides import CHANGES

    yield from ((leaves, sizes) for sizes, leaves in arguments.branch_inputs)
    yield from ((arguments.leaves, sizes) for sizes, _ in arguments.examples)
    of_sides, equal = _sizes_of_sides(arguments), _equal_sizes(arguments)
    yield from ((arguments.leaves, sizes) for sizes in (*of_sides[:_FEW], *equal[:_FEW], *of_sides[_FEW:], *equal[_FEW:]))
    yield from (([change(leaf) for leaf in arguments.leaves], first_sizes(arguments)) for change in CHANGES)
    yield from ((arguments.leaves, sizes) for sizes in _short_sizes(arguments, first))


def _short_sizes(arguments: Arguments, first: Run) -> list[dict[str, int]]:
    """Sizes to try at which a run does not take long."""
    return [sizes for sizes in sizes_to_try(arguments) if not is_long(first, sizes)] if arguments.sizes else []


def _sizes_of_sides(arguments: Arguments) -> list[dict[str, int]]:
    """Sizes at which branches go the other way by themselves."""
    return [summed(arguments, {**first_sizes(arguments), **sizes}) for sizes in arguments.both.sizes]


def _equal_sizes(arguments: Arguments) -> list[dict[str, int]]:
    """Sizes at which a dimension that turns a branch is as large as another one: a comparison of two dimensions may take either side there."""
    first = first_sizes(arguments)
    turning = dict.fromkeys(symbol for sizes in arguments.both.sizes for symbol, size in sizes.items() if size != first.get(symbol, size))
    found = [summed(arguments, {**first, symbol: first[other]}) for symbol in turning for other in first if first[other] != first[symbol]]
    return [sizes for index, sizes in enumerate(found) if sizes not in found[:index]]


def _with_turns(model: torch.nn.Module, arguments: Arguments, kept: list[Any], replace: Any) -> Run:
    """The run at the example, or at sizes at which its loops make enough turns."""
    try:
        run = recorded(model, arguments, first_sizes(arguments), kept, replace)
        arguments.reach.start(run.recorder.made)
        return run
    except FewTurns as known:
        few = known
    arguments.reach.start(0)
    for sizes in sizes_to_try(arguments) if arguments.sizes else ():
        if arguments.reach.is_beyond(sizes):
            continue
        try:
            return recorded(model, arguments, sizes, kept, replace)
        except (Unrecorded, NoBothSides):
            raise
        except Exception as failure:  # whatever the model raises at sizes that it does not take
            _log.debug("the model does not run at %s: %s", sizes, failure)
            arguments.reach.note(failure, sizes)
    found = _with_other_data(model, arguments, kept, replace) or _without_turns_of_sides(model, arguments, kept, replace)
    if found is not None:
        return found
    error = NoBothSides(
        "a loop makes too few turns at all sizes that were tried to compare them", few.line, "give an example for which it makes at least three turns: a larger size, or data in which the model finds something"
    )
    error.few = None if few.line is None else few.line.place
    raise error


def _without_turns_of_sides(model: torch.nn.Module, arguments: Arguments, kept: list[Any], replace: Any) -> Run | None:
    """The run at the example, if loops make too few turns on other sides of branches only: none."""
    both = arguments.both
    if both is None or both.may_have_none:
        return None
    both.may_have_none = True
    try:
        run = recorded(model, arguments, first_sizes(arguments), kept, replace)
    except FewTurns:
        both.may_have_none = False
        return None
    arguments.reach.start(run.recorder.made)
    return run


def _with_other_data(model: torch.nn.Module, arguments: Arguments, kept: list[Any], replace: Any) -> Run | None:
    """The run with other data, with which loops make enough turns; None if there is none. The arguments keep the data."""
    from .sides import CHANGES

    before = arguments.leaves
    for change in CHANGES:
        arguments.leaves = [change(leaf) for leaf in before]
        try:
            run = recorded(model, arguments, first_sizes(arguments), kept, replace)
        except Exception as error:  # whatever the model raises for data that it does not take
            _log.debug("the model does not run with other data: %s", error)
            continue
        arguments.is_changed = True
        return run
    arguments.leaves = before
    return None


@lru_cache(maxsize=4)
def _composites(rules: tuple[str, ...]) -> list[Any]:
    return composites(rules)


def composites_kept(rules: tuple[str, ...]) -> AbstractContextManager[None]:
    """While the block runs, operators that have a rule stay whole in all recordings."""
    return kept_whole(_composites(rules))


def _replacements(names: Iterable[str]) -> Callable[[Any], Callable[..., Any] | None]:
    from .._decompose import table

    found = table(list(names))
    return found.get


def _check_exits(run: Run) -> None:
    """Raises an error if an element of a tensor became a plain number: nothing would tell it from a constant."""
    for question in run.recorder.questions:
        if question.what != "bool" and is_from_data(question.number):
            raise Unrecorded("the model makes a plain number of an element of a tensor", question.line)


def is_same(
    model: torch.nn.Module, arguments: Arguments, first: Run, sizes: dict[str, int], rules: tuple[str, ...], decomposed: Iterable[str], leaves_few: bool = False
) -> bool | None:
    """Whether a run at other sizes makes the same calls as the first; None if the model does not run at them, or, with `leaves_few`, if its loops make too few turns
    there to tell: the program is tried out at such sizes later."""
    sizes = summed(arguments, {**first.sizes, **sizes})
    both = arguments.both
    try:
        with nullcontext() if both is None else both.kept():
            run = _another(model, arguments, first, sizes, _composites(rules), _replacements(decomposed))
            if both is not None and both.has_gaps:
                return False
    except Exception as error:  # whatever the model raises at sizes that it does not take
        _log.debug("not recorded at %s: %s", sizes, error)
        if leaves_few and isinstance(error, FewTurns) and not arguments.has_fakes:
            arguments.few.append(sizes)
            return None
        return False if _runs_plainly(model, arguments, sizes) else None
    asked, before = ([(line, what) for line, what, _ in _asked_by_model(one)] for one in (run, first))
    if asked != before and not (arguments.has_fakes and _is_steady(model, arguments, run, rules, decomposed)):
        return False  # as in `a or b`: where `a` does not hold, `b` decides, and the first run did not ask it
    calls, tied = list(first.recorder.calls), first.recorder.tied
    try:
        united(first, [run])
        # A number that only this run shows to depend on sizes is a constant in the program.
        return all(before is now for before, now in zip(calls, first.recorder.calls))
    except Parted as parted:
        _log.debug("at %s %s", sizes, parted)
        first.recorder.calls, first.recorder.tied = calls, tied
        if same_but_for_copies(first, run):
            return True
        if not _is_in_doubt(run, parted):
            return False
        arguments.may_be_light = False
        return is_same(model, arguments, first, sizes, rules, decomposed, leaves_few)
    finally:
        first.recorder.calls, first.recorder.tied = calls, tied


def _asked_by_model(run: Run) -> list[tuple[Any, str, Any]]:
    """What the model's own code asked, in order: the lines, the kinds of the questions, and the answers."""
    return [(question.line, question.what, question.answer) for question in run.recorder.questions if question.by_model]


def _is_steady(model: torch.nn.Module, arguments: Arguments, run: Run, rules: tuple[str, ...], decomposed: Iterable[str]) -> bool:
    """Whether a run asks the same with the same answers where the dimensions that are not 1 are larger. Where weights have no elements, results cannot be compared instead."""
    larger = summed(arguments, {symbol: size if size == 1 else 2 * size + 1 for symbol, size in run.sizes.items()})
    try:
        other = run_once(model, arguments, larger, _composites(rules), _replacements(decomposed))
    except Exception as error:  # whatever the model raises at sizes that it does not take
        _log.debug("not recorded at %s: %s", larger, error)
        return False
    return _asked_by_model(run) == _asked_by_model(other)


def _runs_plainly(model: torch.nn.Module, arguments: Arguments, sizes: dict[str, int]) -> bool:
    """Whether PyTorch itself runs the model at these sizes."""
    try:
        with Bounded(arguments.reach.most):
            run_plainly(model, arguments.at(sizes), arguments.tree, arguments.is_fake)
    except NoElements:
        return True  # it may run: nobody knows
    except Exception:  # whatever the model raises at sizes that it does not take
        return False
    return True


def _other_runs(model: torch.nn.Module, arguments: Arguments, first: Run, kept: list[Any], replace: Any, keep_side: bool) -> list[Run]:
    """Runs at other sizes. If the side of the example is kept, those that take it."""
    failure: Exception | None = None
    tried = [first.sizes]

    def some(proposals: Iterable[dict[str, int]], whole: bool = False) -> list[Run]:
        nonlocal failure
        runs: list[Run] = []
        left = list(proposals)
        while left:
            sizes = left.pop(0)
            if sizes in tried or len(runs) == _OTHERS or arguments.reach.is_beyond(sizes):
                continue
            tried.append(sizes)
            try:
                with nullcontext() if not whole else arguments.both.ending_at_gaps():
                    run = _with_more_turns(model, arguments, first, sizes, kept, replace, len(runs) + 1)
            except (Unrecorded, NoBothSides):
                raise
            except Exception as error:  # whatever the model raises at sizes that it does not take
                _log.debug("the model does not run at %s: %s", sizes, error)
                arguments.reach.note(error, sizes)
                failure = failure or error
                if whole:
                    left.sort(key=partial(_distance, first.sizes))
                continue
            if whole and arguments.both.has_gaps:
                left.sort(key=partial(_distance, first.sizes))
                continue
            if not (keep_side and takes_other_side(first, run)):
                runs.append(run)
        return runs

    if arguments.examples:
        runs = some(sizes for sizes, _ in arguments.examples)
        if not runs:
            raise Unrecorded(f"the model runs at none of `examples`: {_first_line(failure) or 'they have the sizes of the example'}") from failure
        return runs
    if _has_both(arguments) and not arguments.both.has_gaps:
        runs = some((*_sizes_of_sides(arguments), *_short_sizes(arguments, first)), whole=True)
        if runs:
            return runs
    runs = some(sizes_apart(arguments))
    if not runs and _unite_equal(model, arguments, first, kept, replace):
        return _other_runs(model, arguments, first, kept, replace, keep_side)
    runs = runs or some(sizes_together(arguments))
    if not runs:
        raise Unrecorded(f"the model runs at no other sizes: {_first_line(failure) or 'no other sizes take the same branches'}") from failure
    return runs


def _distance(known: Mapping[str, int], sizes: Mapping[str, int]) -> tuple[bool, int]:
    """How far sizes are from those at which both sides of all branches can be run: so they can rather be run at near ones, and at no smaller ones."""
    steps = [size - known.get(symbol, size) for symbol, size in sizes.items()]
    return any(step < 0 for step in steps), sum(map(abs, steps))


def _first_line(error: Exception | None) -> str:
    return "" if error is None else (str(error).splitlines() or [type(error).__name__])[0]


def _unite_equal(model: torch.nn.Module, arguments: Arguments, first: Run, kept: list[Any], replace: Any) -> bool:
    """Gives dimensions that the model takes only if they are equal one name, with a warning; whether there are any."""
    united = False
    symbols = list(arguments.sizes)
    for index, one in enumerate(symbols):
        for other in symbols[index + 1 :]:
            if arguments.sizes.get(one) != arguments.sizes.get(other) or one not in arguments.sizes:
                continue
            both = {symbol: size * 2 if symbol in (one, other) else size for symbol, size in first.sizes.items()}
            apart = {**first.sizes, one: first.sizes[one] * 2, other: first.sizes[other] * 3}
            if _runs(model, arguments, first, both, kept, replace) and not _runs(model, arguments, first, apart, kept, replace):
                warnings.warn(f"the dimensions `{one}` and `{other}` are always equal: both are named `{one}`", stacklevel=10)
                arguments.rename(other, one)
                first.sizes.pop(other, None)
                united = True
    return united


def _runs(model: torch.nn.Module, arguments: Arguments, first: Run, sizes: dict[str, int], kept: list[Any], replace: Any) -> bool:
    try:
        _another(model, arguments, first, sizes, kept, replace)
    except Exception:  # whatever the model raises at sizes that it does not take
        return False
    return True


__all__ = ["Parted", "Unrecorded", "capture"]
