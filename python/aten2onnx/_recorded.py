"""Captures a module by recording it, and gives the recording to the native library."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from ._branches import OpenBranch, branch_notes, check_branch_inputs, both_sides_of, explain, loops_of, refuses
from ._decided import RANGE, branch_error, check_walked, is_right_at_one, take_branches
from ._empty import Emptied, asked_by_branch, asked_by_choices
from ._errors import CaptureError, Error, InputError
from ._live import LiveProgram, absent
from ._native import Program, Rules
from ._ones import HELP
from ._serialized import output_names
from ._tried_out import another, try_far, try_guesses, try_out
from ._weights import OutsideWeights

_log = logging.getLogger(__name__)

#: So many sizes at which a program is another one are among those of the runs.
MORE_SIZES = 2
#: Loops of at least so many turns become a Loop if their branches are too many otherwise.
ROLLED = 8
#: The results of a decomposition may need another one.
ROUNDS = 8

#: So many inputs are tried for both sides of branches, and so many runs find them, where dimensions are left to the model: with all of them, and with some.
TRIES_OF_ALL, TRIES, RUNS = 8, 2, 16

_ONES = f"a dynamic dimension has the size 1 in the example: {HELP}"


class NotRecorded(Exception):
    """The recorder cannot follow a model; another way of capture may.

    Attributes:
        line: The line of the model, if it is known.
        is_of_model: Whether PyTorch or the model has raised it, and not the recorder.
        is_final: Whether no other way of capture can be right.
    """

    def __init__(self, message: str, line: Any = None, is_of_model: bool = False, is_final: bool = False) -> None:
        super().__init__(message)
        self.line = line
        self.is_of_model = is_of_model
        self.is_final = is_final


class RecordedProgram(LiveProgram):
    """A recorded program and the tensors whose memory it reads."""

    is_recorded = True

    def __init__(self, recorded: Any, name: str, rules: Rules, outside: OutsideWeights | None = None) -> None:
        self.exported = recorded
        self.outside = outside or OutsideWeights()
        self._tensors = []
        state = self._lent(recorded.state_dict)
        if self.outside.paths:  # files have tensors of them, which is no reason for a note
            state |= {name: absent(tensor) for name, tensor in recorded.unread.items()}
        constants = self._lent(recorded.constants)
        self.native = _native(name, recorded, state, constants, rules, self.outside.source())


def _native(name: str, recorded: Any, state: Any, constants: Any, rules: Rules, source: str) -> Program:
    from torch._export.serde.schema import SCHEMA_VERSION

    major, minor = SCHEMA_VERSION
    seen = {
        "inputs": recorded.inputs,
        "bounds": list(recorded.bounds.items()),
        "runs": recorded.observed,
        "from_data": recorded.from_data,
    }
    return Program.recorded(name, recorded, seen, output_names(recorded), (major, minor), state, constants, rules, source)


@dataclass
class Captured:
    """A recording, and notes for the user.

    Attributes:
        live: The program.
        decomposed: The operators that PyTorch decomposed.
        has_conditions: Whether it is right at some sizes only.
        loops: The number of loops that became a Loop.
    """

    live: RecordedProgram
    notes: list[str]
    decomposed: list[str]
    has_conditions: bool = False
    loops: int = 0


@dataclass
class Wanted:
    """What is recorded of a module.

    Attributes:
        args: The example.
        kwargs: The same by name.
        dynamic_shapes: The dynamic dimensions, checked. `Dim.AUTO` leaves one to the model.
        branches: What becomes of branches in Python.
        examples: Other arguments, for the runs at other sizes.
        branch_inputs: Arguments with which both sides of the branch in a line can be run, by `model.py:12`.
        keep_results: Whether the results of the runs are kept.
        is_fake: Whether the user asks for runs without elements.
        outside: Where the weights are, if not in the module.
        max_branches: So many branches may become an If.
        max_runs: So many runs may be made at one choice of sizes, to take both sides of branches.
        max_tries: So many inputs are tried at which both sides of all branches can run.
        empty: Dimensions of which the user gives no least size, and that may be empty because the model asks for it.
        may_be_empty: Whether there may be more of them.
        forgets: Whether the runs begin without what the model remembers of earlier calls.
        roll: Loops of at least so many turns become a Loop, though their number is fixed; None if they never do.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    dynamic_shapes: Any
    branches: str = "both"
    examples: list[tuple[tuple[Any, ...], dict[str, Any]]] = field(default_factory=list)
    branch_inputs: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = field(default_factory=dict)
    keep_results: bool = False
    is_fake: bool = False
    outside: OutsideWeights = field(default_factory=OutsideWeights)
    max_branches: int = 32
    max_runs: int = 64
    max_tries: int = 16
    empty: frozenset[str] = frozenset()
    may_be_empty: bool = True
    forgets: bool = False
    roll: int | None = None


def capture(model: Any, name: str, wanted: Wanted, rules: Rules, opset: int) -> Captured:
    """Records a module. Dimensions that are left to the model are dynamic as far as that is possible.

    Raises:
        CaptureError: The model takes a branch that depends on a size or on data, and nothing decides it.
        NotRecorded: Another way of capture may do.
    """
    from ._record import capture as recording

    # PyTorch looks for each kernel again after a change: so there is one for all runs.
    with recording.composites_kept(_known(tuple(rules.names()))):
        try:
            found = _capture_widest(model, name, wanted, rules, opset)
        except (Error, NotRecorded) as error:
            other = _capture_forgetful(model, name, wanted, rules, opset)
            if other is None:
                raise error from error.__cause__
            return other
        other = _capture_forgetful(model, name, wanted, rules, opset) if found.has_conditions else None
        return found if other is None or other.has_conditions else other


def _capture_forgetful(model: Any, name: str, wanted: Wanted, rules: Rules, opset: int) -> Captured | None:
    """Records a module that remembers something of earlier calls without that; None if there is no such thing, or it does not do."""
    from ._record import capture as recording

    if wanted.branches != "both" or not recording.remembers(model):
        return None
    try:
        found = _capture_widest(model, name, replace(wanted, forgets=True), rules, opset)
    except (Error, NotRecorded) as error:
        _log.debug("not recorded without what it remembers: %s", error)
        return None
    found.notes.append("The model keeps results of earlier calls, which hold for other sizes: they are computed anew in the file.")
    return found


def _capture_widest(model: Any, name: str, wanted: Wanted, rules: Rules, opset: int) -> Captured:
    """Records a module with as many dynamic dimensions as possible.

    Raises:
        CaptureError: The model takes a branch that depends on a size or on data, and nothing decides it.
        NotRecorded: Another way of capture may do.
    """
    from ._record import free

    def with_tries(tries: int, wanted: Wanted) -> Callable[..., Captured]:
        wanted = replace(wanted, max_tries=tries)
        return lambda shapes, sums, branches=wanted.branches: _capture(model, name, replace(wanted, dynamic_shapes=shapes, branches=branches), sums, rules, opset)

    if not free.is_open(wanted.dynamic_shapes):
        return with_tries(wanted.max_tries, wanted)(wanted.dynamic_shapes, {})
    wanted = replace(wanted, max_runs=min(wanted.max_runs, RUNS))
    # Each choice of dimensions is recorded anew.
    whole, record = with_tries(TRIES_OF_ALL, wanted), with_tries(TRIES, wanted)
    choice = free.choice(model, wanted.args, wanted.kwargs, wanted.dynamic_shapes, _fakes(model, wanted))
    has_given = any(not free._is_auto(size) for axes in choice.shapes for _, size in free._shapes.items(axes))
    # A branch on a dimension that the user named ends the export.
    in_range = None if has_given or wanted.branches == "example" else lambda shapes, sums: record(shapes, sums, RANGE)
    found, notes = free.widest(choice, whole, record, (CaptureError, NotRecorded, InputError), in_range)
    found.notes += notes
    return found


def _capture(model: Any, name: str, wanted: Wanted, sums: dict[str, tuple[str, str]], rules: Rules, opset: int) -> Captured:
    """Records a module whose dynamic dimensions are known. One that is at least 1 only because the user says nothing of it may be empty, if the model asks for that:
    if the file is right then, too.

    Raises:
        CaptureError: The model takes a branch that depends on a size or on data, and nothing decides it.
        NotRecorded: Another way of capture may do.
    """
    try:
        return _capture_bounded(model, name, wanted, sums, rules, opset)
    except Emptied as asked:
        symbols = asked.symbols
    found = None
    try:
        found = _capture(model, name, replace(wanted, empty=wanted.empty | symbols), sums, rules, opset)
    except (Error, NotRecorded) as error:
        _log.debug("not with empty dimensions %s: %s", sorted(symbols), error)
    if found is not None and not found.has_conditions:
        return found
    other = _capture(model, name, replace(wanted, may_be_empty=False), sums, rules, opset)
    return other if found is None or not other.has_conditions else found


def _capture_bounded(model: Any, name: str, wanted: Wanted, sums: dict[str, tuple[str, str]], rules: Rules, opset: int) -> Captured:
    """Records a module. Branches that matter are found one after the other, and recorded on both sides.

    Raises:
        CaptureError: The model takes a branch that depends on a size or on data, and nothing decides it.
        NotRecorded: Another way of capture may do.
    """
    from ._record.paths import Both

    if wanted.roll is not None and wanted.branches == "both":
        rolled = _capture_rolled(model, name, wanted, sums, rules, opset)
        if rolled is not None:
            return rolled
        found = _capture_bounded(model, name, replace(wanted, roll=None), sums, rules, opset)
        found.notes.append(f"no loop of at least {wanted.roll} turns does the same in each: `roll={wanted.roll}` changes nothing")
        return found
    both = Both(frozenset(), frozenset(), wanted.max_branches, wanted.max_runs, max_tries=wanted.max_tries)
    try:
        return _capture_either(model, name, wanted, sums, rules, opset, both)
    except OpenBranch as error:
        if not error.is_unlikely:
            raise
        both.is_patient = True
        return _capture_either(model, name, wanted, sums, rules, opset, both)


def _capture_either(model: Any, name: str, wanted: Wanted, sums: dict[str, tuple[str, str]], rules: Rules, opset: int, both: Any) -> Captured:
    """Records a module whose branches are answered in other ways in other runs, or, where that does not do, lowered.

    Raises:
        CaptureError: The model takes a branch that depends on a size or on data, and nothing decides it.
        NotRecorded: Another way of capture may do.
    """
    try:
        found = _capture_turned(model, name, wanted, sums, rules, opset, both)
        if not (found.has_conditions and (both.lines or both.loops)):
            return found
        # Perhaps it is right at all inputs in the other form.
        lowered = _capture_lowered(model, name, wanted, sums, rules, opset, both, None)
        return found if lowered is None or lowered.has_conditions else lowered
    except (Error, NotRecorded) as error:
        if wanted.branches != "both" or not (both.lines or both.loops or _spots_of(error)):
            raise
        other = _capture_lowered(model, name, wanted, sums, rules, opset, both, error)
        if other is not None:
            return other
        lowered = getattr(error, "lowered", None)
        if wanted.roll is None and any(getattr(one, "is_limit", False) for one in (error, lowered)):
            rolled = _capture_rolled(model, name, replace(wanted, roll=ROLLED), sums, rules, opset)
            if rolled is not None:
                rolled.notes.append(f"loops of at least {ROLLED} turns became a Loop, as with `roll={ROLLED}`: unrolled, they have more branches than `max_branches` allows")
                return rolled
        says_inputs = getattr(lowered, "is_another", False) and not getattr(error, "is_unlikely", False)
        says_more = getattr(lowered, "is_explained", False) and (getattr(error, "few", None) is not None or not getattr(error, "is_explained", False))
        if isinstance(lowered, Exception) and (says_inputs or says_more):
            raise lowered from None
        if isinstance(error, NotRecorded) and isinstance(lowered, OpenBranch) and lowered.at not in (None, error.line):
            raise NotRecorded(lowered.message, lowered.at) from None  # what ended the other way is no matter there
        raise


def _capture_rolled(model: Any, name: str, wanted: Wanted, sums: dict[str, tuple[str, str]], rules: Rules, opset: int) -> Captured | None:
    """Records a module whose loops of a fixed number of turns become a Loop; None if there are none, or it cannot be recorded so."""
    from ._record.fixed import loop_spots
    from ._record.paths import Both

    before = Both(loops=loop_spots(model, wanted.args, wanted.kwargs, _fakes(model, wanted)), max_branches=wanted.max_branches, max_runs=wanted.max_runs)
    found = _capture_lowered(model, name, wanted, sums, rules, opset, before, None)
    return found if found is not None and found.loops else None


def _capture_lowered(model: Any, name: str, wanted: Wanted, sums: dict[str, tuple[str, str]], rules: Rules, opset: int, before: Any, error: Exception | None) -> Captured | None:
    """Records a module whose branches or loops do not go together as runs with other answers: their functions are lowered. None if that does not do, either."""
    from ._record.paths import Both
    from ._record.attributes import track_seen
    from ._record.ragged import wish_ragged
    from ._record.swapped import can_swap

    spots = before.lines | before.loops | (frozenset() if error is None else _spots_of(error))
    both = Both(frozenset(), frozenset(), wanted.max_branches, wanted.max_runs, max_tries=wanted.max_tries, lowered=frozenset(filter(can_swap, spots)), roll=wanted.roll)
    while both.lowered:
        lengths = {key: list(known) if isinstance(known, list) else known for key, known in both.lengths.items()}
        try:
            return _capture_once(model, name, wanted, sums, rules, opset, both)
        except (Error, NotRecorded) as other:
            _log.debug("not recorded as lowered code: %s", other, exc_info=True)
            if error is not None:
                error.lowered = other  # type: ignore[attr-defined]
            new = frozenset(filter(can_swap, _spots_of(other))) - both.lowered
            if getattr(other, "is_another", False):
                wish_ragged(both.lengths)
            track_seen(both.lengths)
            is_tried = _add_sizes(both, getattr(other, "at_sizes", None))
            if not new and both.lengths == lengths and not is_tried:
                return None
            both.lowered |= new
    return None


def _add_sizes(both: Any, sizes: dict[str, int] | None) -> bool:
    """Adds sizes at which a program is another one to those of the runs, which know it then; whether they are new."""
    if not sizes or sizes in both.sizes or len(both.sizes) >= MORE_SIZES:
        return False
    both.sizes.append(sizes)
    return True


def _spots_of(error: Exception) -> frozenset[tuple[str, int]]:
    """The lines of branches and loops that an error is about."""
    lines = [*getattr(error, "lines", ()), *getattr(error, "loops", ()), getattr(error, "line", None)]
    return frozenset(line.place for line in lines if line is not None)


def _capture_turned(model: Any, name: str, wanted: Wanted, sums: dict[str, tuple[str, str]], rules: Rules, opset: int, both: Any) -> Captured:
    """Records a module whose branches are answered in other ways in other runs.

    Raises:
        CaptureError: The model takes a branch that depends on a size or on data, and nothing decides it.
        NotRecorded: Another way of capture may do.
    """
    from ._record.places import is_in_loop

    few: dict[tuple[str, int], OpenBranch] = {}
    while True:
        try:
            return _capture_once(model, name, wanted, sums, rules, opset, both)
        except OpenBranch as error:
            if error.few is not None and {error.few} < both.loops:
                # A loop over the images of a batch, beside those over what is found in them: it may have a fixed number of turns.
                few[error.few] = error
                both.loops -= {error.few}
                continue
            if error.is_idle:  # only lowered code knows what numbers of Python's do in a turn that no run makes
                raise
            new, loops = both_sides_of(error.lines) - both.lines, loops_of(error) - both.loops - set(few)
            if few and not (new or loops) and (error.at is None or any(is_in_loop(error.at.place, place) for place in few)):
                raise next(iter(few.values())) from None
            natural = both_sides_of(error.lines) & both.lines if error.was_taken else frozenset()
            if wanted.branches != "both" or not (new or loops or natural - both.natural):
                explain(error, both)
                raise
            both.lines |= new
            both.natural |= natural
            both.sizes += [sizes for sizes in error.sizes if sizes not in both.sizes]
            both.loops |= loops


def _capture_once(model: Any, name: str, wanted: Wanted, sums: dict[str, tuple[str, str]], rules: Rules, opset: int, both: Any) -> Captured:
    """Records a module, with both sides of some branches.

    Raises:
        CaptureError: The model takes a branch that depends on a size or on data, and nothing decides it.
        NotRecorded: Another way of capture may do.
    """
    from ._record import capture as recording
    from ._record.recorder import Unrecorded
    from ._record.same import Parted
    from ._record.turns import NoBothSides, Unlikely

    args, kwargs, branches = wanted.args, wanted.kwargs, wanted.branches
    inputs = list(wanted.branch_inputs.values())
    given = recording.Given(args, kwargs, wanted.dynamic_shapes, sums, wanted.examples, inputs, wanted.keep_results, _fakes(model, wanted), both, wanted.empty, wanted.forgets)
    known = _known(tuple(rules.names()))
    done: list[str] = []
    for _ in range(ROUNDS):
        try:
            recorded, arguments, runs = recording.capture(model, given, known, done, branches in ("example", RANGE))
        except Parted as parted:
            _log.debug("the runs part", exc_info=True)
            raise _parted(parted, both if branches == "both" else None) from None
        except (CaptureError, InputError):
            raise
        except NoBothSides as error:
            _log.debug("not on both sides", exc_info=True)
            refused = branch_error(str(error), error.line, [error.branch] if error.branch is not None else ())
            refused.help, refused.is_explained = error.help or refused.help, error.help is not None
            refused.few, refused.is_unlikely, refused.is_limit = error.few, isinstance(error, Unlikely), error.is_limit
            raise refused from None
        except Exception as error:  # PyTorch passes on whatever the model raises.
            _log.debug("not recorded: %s", error, exc_info=True)
            raise NotRecorded(_reason(error), _line(error), not isinstance(error, Unrecorded), getattr(error, "is_final", False)) from error
        lacking = [operator for operator in _operators(recorded) if operator not in known]
        live = None
        recorded.example_inputs = (args, kwargs)
        has_ones = any(size <= 1 for size in arguments.sizes.values())
        if has_ones or arguments.is_changed or ((both.lines or both.loops or both.lowered) and runs[0].sizes != arguments.sizes):
            _add_example(recorded, model, arguments, args, kwargs, None if has_ones else both)
        if not lacking:
            try:
                live = _live(recorded, name, rules, has_ones, wanted.outside)
            except NotRecorded as error:
                walked = [line for line in runs[0].recorder.walked if line.place not in both.loops]
                if branches == "both" and walked:
                    raise branch_error(str(error), walked[0], (), walked) from None
                raise
            lacking = [blocker["operator"] for blocker in live.native.blockers(rules, opset)]
        new = [operator for operator in lacking if operator not in done and _is_replaced(operator)]
        if not new:
            break
        done += new
    if live is None:
        raise NotRecorded(f"there is no rule for {', '.join(f'`{operator}`' for operator in lacking)}")
    try:
        turned = lambda sizes, leaves_few=False: recording.is_same(model, arguments, runs[0], sizes, known, done, leaves_few)  # noqa: E731
        before = len(recorded.observed)
        empty_notes = _ask_for_empty(live, recorded, wanted, frozenset(arguments.unstated) - wanted.empty, turned, both)
        check_walked([run.recorder.turns_made for run in runs], both, branches)
        kept, notes = take_branches(live, recorded, branches, turned, lambda symbol: is_right_at_one(recorded, model, arguments, runs[0], symbol), both)
        if len(recorded.observed) > before:
            live = _live(recorded, name, rules, True, wanted.outside)  # holds the sizes at 1 against its own
        if kept:
            live.native = live.native.under_conditions(kept)
    except CaptureError as error:
        if has_ones and not isinstance(error, OpenBranch):
            error.help = _ONES
        raise
    if both.lowered or both.lines or both.rolled or runs[0].recorder.array_lines:  # branches without results, too: what Python remembers of them may be many
        try_out(recorded, model, arguments, runs[0], both, kept)
        try_far(recorded, model, arguments, runs[0], both, live.native.open_conditions(kept) if kept else [])
    elif runs[0].recorder.guessed or runs[0].recorder.doubts or arguments.asked_classes or wanted.forgets:
        try_guesses(recorded, model, arguments, runs[0], kept, live.native.open_conditions(kept) if kept else [])
    if wanted.keep_results and not arguments.has_fakes:
        recorded.checks = [(run.sizes, arguments, run.results) for run in runs if run.results]
        recorded.checks += recording.checks_of_sides(model, arguments, known, done) if both.made else []
    check_branch_inputs(wanted.branch_inputs, both)
    notes += _later_notes(model, arguments)
    notes += empty_notes + branch_notes(both) + _caught_notes(runs[0].recorder.calls) + _ranked_notes(runs[0].recorder.ranked)
    return Captured(live, notes, done, bool(kept), len(both.rolled))


def _later_notes(model: Any, arguments: Any) -> list[str]:
    """A note on attributes that a call changes and later calls read."""
    from ._record.held import is_another_later

    if not arguments.changed or not is_another_later(model, arguments):
        return []
    shown = ", ".join(f"`{name}`" for name in sorted(arguments.changed))
    what = f"the model changes its attributes {shown}, and its next call gives other results"
    return [f"{what}; the exported model does what a call does now (make the attribute an input and a result)"]


def _caught_notes(calls: list[Any]) -> list[str]:
    """A note on each line whose operators may raise an error that the model catches: no file has that."""
    from ._record.caught import is_caught

    lines = dict.fromkeys(call.line for call in calls if call.line is not None and is_caught(*call.line.place, ("RuntimeError",)))
    return [f"The model catches errors of `{line.text}` ({line}): the file is right only where PyTorch raises none there." for line in lines]


def _ranked_notes(lines: list[Any]) -> list[str]:
    """A note on each branch one side of which is an empty tensor of another rank, which the file has as one of the rank of the other side."""
    what = "one side of `{}` ({}) is a tensor of size [0]: the file has an empty one with as many dimensions as on the other side."
    return [what.format(line.text, line) for line in dict.fromkeys(line for line in lines if line is not None)]


def _add_example(recorded: Any, model: Any, arguments: Any, args: tuple[Any, ...], kwargs: dict[str, Any], both: Any) -> None:
    """Adds a run of the program at the example, which was recorded at larger sizes than 1, or at those where all sides of branches run. The native library holds its
    sizes against them.

    Raises:
        CaptureError: The program gives other results than the model.
    """
    from ._record.held import Differs, sizes_seen

    try:
        recorded.observed.append((dict(arguments.sizes), sizes_seen(recorded, model, args, kwargs, arguments)))
    except Differs as error:
        if both is not None:
            raise another(f"at the example: {error}", both) from error
        raise CaptureError(f"the model was recorded with larger sizes in place of 1, and is another one at the example: {error}", help=_ONES) from error


def _fakes(model: Any, wanted: Wanted) -> Callable[[str, Any], bool] | None:
    """Which parameters and buffers have no elements in the runs: those that come from elsewhere, or all, if the user asks for it. By default those without data."""
    from ._record.fakes import SMALL, is_unknown

    outside = wanted.outside
    if wanted.is_fake:
        return lambda name, tensor: is_unknown(tensor) or name in outside.tensors or tensor.numel() >= SMALL
    if outside.paths:
        saved = set(model.state_dict())
        return lambda name, tensor: is_unknown(tensor) or name in saved or name in outside.tensors
    return (lambda name, tensor: is_unknown(tensor) or name in outside.tensors) if outside.tensors else None


def _live(recorded: Any, name: str, rules: Rules, has_ones: bool, outside: OutsideWeights) -> RecordedProgram:
    try:
        return RecordedProgram(recorded, name, rules, outside)
    except (Error, NotImplementedError, RuntimeError) as error:
        if has_ones and "in a run that had" in str(error) or "in one run and" in str(error):
            raise CaptureError(f"the model treats a size of 1 in another way: {error}", help=_ONES) from error
        if isinstance(error, InputError):
            raise
        raise NotRecorded(str(error)) from error


@lru_cache(maxsize=4)
def _known(rules: tuple[str, ...]) -> tuple[str, ...]:
    """The operators that have a rule. Some have one for complex numbers alone, as `aten::_conj` has."""
    return tuple(dict.fromkeys((*rules, *("aten::" + name.removeprefix("complex::") for name in rules if name.startswith("complex::")))))


def _operators(recorded: Any) -> list[str]:
    import torch

    graphs = [module.graph for module in recorded.graph_module.modules() if isinstance(module, torch.fx.GraphModule)]
    targets = {node.target for graph in graphs for node in graph.nodes if isinstance(node.target, torch._ops.OpOverload)} - {torch.ops.aten.sym_size.int}
    # What writes has other operators' rules, and what returns nothing only checks.
    return sorted(target.name().removesuffix(".default") for target in targets if not target._schema.is_mutable and target._schema.returns)


def _is_replaced(operator: str) -> bool:
    from ._decompose import table

    return bool(table([operator]))


def _line(error: BaseException) -> Any:
    """The line of the model that an error comes from."""
    from ._record.free import line_of

    found = getattr(error, "line", None) or line_of(error)
    return found if found is not None or error.__cause__ is None else line_of(error.__cause__)


def _reason(error: Exception) -> str:
    line = _line(error)
    text = (str(error).splitlines() or [type(error).__name__])[0]
    return text if line is None else f"{text} ({line})"


def _parted(parted: Any, both: Any) -> Exception:
    """The error of a model that is another one at other sizes. `both` has the loops that are noted turn by turn."""
    branch = parted.branch
    lines = [line for line in parted.loop_lines if line is not None and both is not None and line.place not in both.loops]
    if lines and (branch is None or not branch.by_model or branch.is_plain):
        return branch_error(str(parted), lines[0], (), lines)
    if branch is None or not branch.by_model:
        return NotRecorded(_reason(parted), parted.line)
    if branch.is_plain and branch.line is not None:
        return branch_error(f"a plain number is made of a size, such as the number of turns of a loop: `{branch.line.text}`", branch.line, (), [branch.line])
    sizes = [parted.sizes] if parted.sizes else []
    error = branch_error(f"the model takes another branch at other sizes: `{branch.line.text}`" if branch.line else str(parted), branch.line, sizes=sizes)
    error.was_taken = bool(sizes)
    return error


def _ask_for_empty(live: RecordedProgram, recorded: Any, wanted: Wanted, unstated: Iterable[str], turned: Callable[[dict[str, int]], bool | None], both: Any) -> list[str]:
    """Notes on numbers that are others where a dimension is empty, and the file has none for.

    Raises:
        Emptied: The code of the model asks whether a dimension is empty of which the user says nothing.
    """
    asked: set[str] = set()
    choices = asked_by_choices(live, recorded, unstated, turned)
    if wanted.may_be_empty:
        asked |= choices
        if wanted.branches == "both":
            asked |= asked_by_branch(live, recorded, unstated, turned, lambda line: refuses(both, line))
    if asked:
        raise Emptied(frozenset(asked))
    where = " and ".join(f"{symbol} >= 1" for symbol in sorted(choices))
    return [f"The file is right only where {where}: a comparison of sizes gives something else at 0."] if choices else []
