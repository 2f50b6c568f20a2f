"""Writes down the calls of a run, and what was asked of its numbers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from .bounded import check_calls
from .caught import is_caught_in
from .chunks import CHUNKS, count_of_chunks, is_only_at_one
from .fakes import Fakes, NoElements, is_unknown
from .filled import fill_mask, is_empty_mask
from .intervals import decided
from .layouts import ERROR, add_questions, note_identity
from .loops import CHOSEN, Loops
from .mixed import check_dtypes
from .numbers import Number, is_from_data, is_of_turn, number_of, numbers_in, plain, symbolic
from .places import Line, Modules, frame_of_model, is_asked_by_model, is_branch_of_torch, line_of_model, only_stops
from .tensors import QUERIES, Tracked, Value, has_foreign, named_tensors, scalar_value, sizes_of, symbolic_item
from .turns import NoBothSides, Turns, is_loop, is_unpacked, key_of

aten = torch.ops.aten
add_questions()


class Unrecorded(Exception):
    """A model that cannot be recorded: why, and the line of the model. `is_final` says that no other way of capture can be right, either."""

    def __init__(self, message: str, line: Line | None = None, is_final: bool = False) -> None:
        super().__init__(message)
        self.line = line
        self.is_final = is_final


class Call(NamedTuple):
    """A call of an operator. Tensors are `Value`, symbolic numbers are `Number`."""

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    results: Any
    line: Line | None
    modules: dict[str, tuple[str, Any]]


class Question(NamedTuple):
    """A plain number that was asked for: a branch ("bool"), or an "int" or "float" that Python or C++ goes on with."""

    what: str
    number: Number
    answer: Any
    line: Line | None
    by_model: bool
    calls: int
    #: The branches that it is asked on a side of, if sizes decide them: their conditions and the sides.
    sides: tuple[tuple[Number, bool], ...] = ()
    #: Whether the model goes on if its code raises an error there.
    is_caught: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether a plain number of it is at large in the code of the model or of PyTorch."""
        return self.what != "bool"


#: Operators that return their argument: PyTorch marks tensors with them that are made from Python's data.
_LIFTS = (aten.lift_fresh.default, aten.lift.default)
#: Operators whose result has no dimension where that of their argument is 1.
_DROP_ONES = {f"aten::{name}" for name in ("squeeze", "squeeze_", "squeeze_copy", "cov", "corrcoef")}
#: Operators that read an element of a tensor.
_ITEMS = (aten._local_scalar_dense.default, aten.item.default)
#: Operators that return a number which follows from dtypes and ranks, or by which gradients in forward mode check themselves.
_FACTS = {f"aten::{name}" for name in ("result_type", "promote_types", "can_cast", "is_floating_point", "is_complex", "is_signed", "is_inference", "is_conj", "is_neg", "dim", "get_device", "is_same_size", "_has_same_storage_numel", "_has_compatible_shallow_copy_type")}


class Recorder(TorchDispatchMode):
    """The recording of one run.

    Attributes:
        dynamic: Whether sizes may differ at other inputs. Otherwise they are plain numbers, but for those that elements of tensors decide.
        decomposed: Operators that are replaced by what PyTorch makes of them.
        fakes: What makes fake tensors, if the weights have no elements.
        made: The calls so far, with those that are not written down.
        most: The calls that the run may make; None for any number.
    """

    current: Recorder | None = None

    def __init__(self, model: torch.nn.Module, *, dynamic: bool, replace: Callable[[Any], Callable[..., Any] | None], fakes: Fakes | None = None) -> None:
        super().__init__()
        self.fakes = fakes
        self.dynamic = dynamic
        self.replace = replace
        self.calls: list[Call] = []
        self.made = 0
        self.most: int | None = None
        self.questions: list[Question] = []
        self.modules = Modules(model)
        self.inputs: list[Value] = []
        self.names: dict[int, str] = {}
        self._known: dict[int, Value] = {}
        self._kept: list[Any] = []
        #: Tensors that are kept so that no other one gets their id.
        self._alive: list[torch.Tensor] = []
        #: The numbers of constants by their memory, until a call writes to it.
        self._constants: dict[int, list[int]] = {}
        self._written: dict[int, tuple[Any, Any]] = {}
        self._dirty: set[int] = set()
        #: The memory of real tensors whose elements are unknown: such were written to them, or the run does without.
        self._unknown: set[int] = set()
        self._count = 0
        #: The number of functions that higher-order operators have called.
        self.bodies = 0
        #: The memory that was made in the function of a higher-order operator that is running; None outside.
        self._inner: dict[int, torch.Tensor] | None = None
        #: The positions of splits into as many parts as sizes ask for.
        self.open_splits: set[int] = set()
        #: Numbers that an operator asked for as plain ones, by their id: the call has them.
        self.tied: set[int] = set()
        #: The lines of calls whose numbers were found by their values alone.
        self.guessed: list[Line | None] = []
        #: The lines that ask something which may be another one at other sizes, and what they ask.
        self.doubts: list[tuple[Line, str]] = []
        #: The lines of loops that make whole numbers which may need more bits than a file has.
        self.wide: list[Line] = []
        #: Branches that are answered as this says; None if each has the answer of its number.
        self.turns: Turns | None = None
        #: The lines that take a tensor apart along a dimension that may have another size.
        self.walked: list[Line] = []
        #: These lines, with the number of turns in this run.
        self.turns_made: list[tuple[Line, int]] = []
        #: The lines that make arrays of what was computed.
        self.array_lines: list[Line | None] = []
        #: Whether a number is an integer at some inputs and a real one at others.
        self.has_mixed = False
        self.has_empty_masks = False
        self.fills = False
        #: Lines of branches with a tensor of size [0] on one side, and one of more dimensions on the other.
        self.ranked: list[Any] = []
        #: Loops that are noted turn by turn; None if none are.
        self.loops: Loops | None = None
        #: What lowered code calls in place of branches and loops; None if no code is lowered.
        self.structure: Any = None
        for name, tensor in named_tensors(model):
            self.names.setdefault(id(tensor), name)

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # otherwise the first call imports torch._dynamo, which takes seconds

    def __enter__(self) -> Recorder:
        Recorder.current = self
        self.modules.__enter__()
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        try:
            super().__exit__(*error)
        finally:
            self.modules.__exit__()
            Recorder.current = None

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.call(function, args, kwargs or {})

    def take_as_unknown(self, tensors: list[torch.Tensor]) -> None:
        """Takes these tensors of the model as if they had no elements."""
        self._unknown.update(map(_memory, tensors))

    # Values and numbers.
    def input(self, tensor: torch.Tensor, number: int, fixed_sizes: bool = False) -> Tracked:
        """An input of the model."""
        value = self.new_value(tensor, False, ("input", number))
        self.inputs.append(value)
        return Tracked(tensor, value, self)

    def number_input(self, given: Any, name: str) -> Any:
        """An int, float or bool that is an input of the model."""
        return symbolic(Number(given, "input", (name,), self.ask))

    def ask(self, number: Number, what: str) -> Any:
        """Answers with the value of a number, and writes the question down."""
        if what == "bool" and is_of_turn(number) and decided(number, Number.range_of) is not None:
            return number.value
        line, by_model = line_of_model(), is_asked_by_model()
        if what == "bool" and not by_model and is_from_data(number):
            by_model = is_branch_of_torch(number.value)
        question = Question(what, number, number.value, line, by_model, len(self.calls), (), by_model and is_caught_in(sys._getframe(1), line))
        if self.fakes is not None and _reads(number, self.fakes.made_up):
            question = question._replace(answer=self._answer(question))
        elif self.loops is not None and self._inner is None and self._is_of_while(question):
            frame = frame_of_model()
            return question.answer if frame is None else self.loops.condition(self, question, frame)
        elif self.turns is not None and self._inner is None:
            turned = self._turned(question, self.turns)
            if type(turned) is bool:
                return turned
            question = turned
        self.questions.append(question)
        return question.answer

    def _turned(self, question: Question, turns: Turns) -> Any:
        """A question with the answer of this run, or its answer if the same was asked before."""
        loops = self.loops
        if turns.is_turned(question) and turns.decides(question.number):
            return bool(question.answer)
        if loops is None or not loops.running:
            found = turns.turned(question, len(self.questions))
            return turns.known(question.number) if found is None else found
        if not turns.is_turned(question):
            return self._as_before(question, turns)
        if not loops.is_chosen(CHOSEN):
            found = loops.answered(question, key_of(question.number))
            if found is None:
                key = key_of(question.number)
                return loops.running[-1].answers[key] if key in loops.running[-1].answers else loops.running[-1].known[key]
            return found
        if len(loops.running) > 1:
            raise NoBothSides("a branch in a loop that is in another loop", question.line)
        leaving = loops.leaving(question)
        found = turns.turned(question, len(self.questions), loops.running[0].number, None if leaving is None or not turns.least else not leaving)
        return turns.known(question.number) if found is None else found

    def _as_before(self, question: Question, turns: Turns) -> Any:
        """A question in a turn, or the answer of a branch with the same condition in it."""
        loops = self.loops
        if loops is None or question.what != "bool" or not question.by_model:
            return question
        key = key_of(question.number)
        answers = turns.answers if loops.is_chosen(CHOSEN) else loops.running[-1].answers
        return answers.get(key, question)

    def _is_of_while(self, question: Question) -> bool:
        """Whether a question is the condition of a `while` whose turns are noted."""
        line = question.line
        return question.what == "bool" and question.by_model and line is not None and self.loops is not None and line.place in self.loops.lines and is_loop(*line.place)

    def _answer(self, question: Question) -> bool:
        """The answer to a branch on an element that is unknown, if the other side only raises an error or warns."""
        line = question.line
        if question.what == "bool" and question.by_model and line is not None and not question.is_caught:
            for answer in (True, False):
                if only_stops(line.file, line.number, answer):
                    return answer
        text = f": `{line.text}`" if line is not None else ""
        raise Unrecorded(f"the model needs an element of a tensor that has none, because weights have no data{text}", line)

    def next_key(self) -> int:
        """A key that no value has."""
        self._count += 1
        return self._count

    def new_value(self, tensor: torch.Tensor, fixed: bool, source: tuple[str, Any] | None = None) -> Value:
        """A value of the type of a tensor."""
        return Value(self.next_key(), tensor, fixed, source)

    def is_in_turn(self) -> bool:
        """Whether a turn of a loop is running, or a function that an operator calls."""
        return self._inner is not None or (self.loops is not None and bool(self.loops.running))

    @contextmanager
    def inside(self) -> Iterator[None]:
        """While the block runs, calls are those of the function of a higher-order operator: they write to no memory but their own."""
        before, self._inner = self._inner, {}
        try:
            yield
        finally:
            self._inner = before

    def is_fixed(self, tensor: Tracked) -> bool:
        """Whether the elements of a value are the same at all inputs."""
        return tensor.value.fixed and self._memory(tensor.actual) not in self._dirty

    def _memory(self, tensor: torch.Tensor) -> int:
        """What tensors with the same memory have in common, and fake tensors that stand for them."""
        found = _memory(tensor)
        return found if self.fakes is None else self.fakes.memory.get(found, found)

    def plain_value(self, tensor: torch.Tensor) -> Value:
        """The value of a tensor that no call has made: a weight of the model, or a constant."""
        found = self._known.get(id(tensor))
        if found is None:
            name = self.names.get(id(tensor))
            if name is None and is_unknown(tensor):
                raise Unrecorded("the model reads a tensor that has no data, and is no parameter or buffer of it", line_of_model())
            source = ("constant", len(self._kept)) if name is None else ("weight", name)
            found = self._known[id(tensor)] = self.new_value(tensor, True, source)
            if name is None:
                self._constants.setdefault(self._memory(tensor), []).append(len(self._kept))
            self._kept.append(tensor)  # so that no other tensor gets its id
        return found

    @property
    def constants(self) -> list[torch.Tensor]:
        """Tensors that no call has made, by the number in the source of their values."""
        return self._kept

    # Calls.
    def call(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Runs an operator on the real tensors, and writes it down."""
        self.made += 1
        check_calls(self.made, self.most)
        if self.loops is not None and self.loops.running:
            self.loops.check_left(self)
        query = QUERIES.get(function)
        if query is not None and isinstance(args[0], Tracked):
            return query(*args, **kwargs)
        if query is not None and is_unknown(args[0]):
            return function(*args, **kwargs)
        if has_foreign((*args, *kwargs.values())):
            return NotImplemented  # the class says what the call is
        if isinstance(function, torch._ops.HigherOrderOperator):
            raise Unrecorded(f"the operator `{function}` calls other functions", line_of_model())
        if function is aten._efficientzerotensor.default:
            function = aten.zeros.default  # gradients in forward mode have zeros without memory, which a call here would read
        if function is aten.equal.default:
            return self._equal(*args)
        if function is aten.allclose.default:
            return self._all_close(*args, **kwargs)
        if any(isinstance(arg, torch.Generator) for arg in (*args, *kwargs.values())):
            return self._drawn(function, args, kwargs)
        if function._schema.name in _DROP_ONES and isinstance(args[0], Tracked):
            self._ask_for_ones(*args, **kwargs)
        if function in _LIFTS:
            return self.lifted(args[0])
        if function is aten.split.Tensor and isinstance(args[0], Tracked):
            self._count_parts(*args, **kwargs)
        if function in CHUNKS and isinstance(args[0], Tracked):
            self._count_chunks(*args, **kwargs)
        if function is aten.contiguous.default and isinstance(args[0], Tracked):
            note_identity(args[0])
        replacement = self.replace(function)
        if replacement is not None:
            with self:
                return replacement(*args, **kwargs)
        seen = _Seen(self)
        real_args = [seen.argument(arg) for arg in args]
        real_kwargs = {name: seen.argument(arg) for name, arg in kwargs.items()}
        if seen.is_unknown:
            real_args, real_kwargs = [seen.faked(arg) for arg in real_args], {name: seen.faked(arg) for name, arg in real_kwargs.items()}
        if function._schema.is_mutable:
            self._back_up(function, real_args, real_kwargs, seen.fixed)
        with torch._C._DisablePythonDispatcher(), torch._C.DisableTorchFunction():  # type: ignore[attr-defined]
            try:
                out = function(*real_args, **real_kwargs) if not seen.is_unknown else self._faked(function, real_args, real_kwargs)
            except (RuntimeError, IndexError, ValueError):
                self._note_error(seen)
                raise
            if not seen.is_unknown and not seen.fixed and is_empty_mask(function, out):
                self.has_empty_masks = True
                if self.fills:
                    fill_mask(out)
        if self.has_mixed and not seen.is_unknown:
            check_dtypes(function, real_args, real_kwargs, (args, kwargs), out)
        return self._recorded(function, args, kwargs, seen, out)

    def _note_error(self, seen: _Seen) -> None:
        """Notes that an operator raises an error which the model catches: it may not raise it at other sizes, or with other data."""
        line = line_of_model()
        if line is not None and not seen.fixed and is_caught_in(sys._getframe(1), line):
            self.doubts.append((line, ERROR))

    def _faked(self, function: Any, args: Any, kwargs: Any) -> Any:
        """The result of a call with tensors that have no elements."""
        if self.fakes is None:
            raise Unrecorded("the model reads a tensor that has no data, and is no parameter or buffer of it", line_of_model())
        try:
            return self.fakes.call(function, args, kwargs)
        except NoElements as error:
            raise Unrecorded(str(error), line_of_model()) from error

    def _equal(self, one: torch.Tensor, other: torch.Tensor) -> bool:
        """Whether two tensors are equal, as a branch on their elements."""
        if one.shape != other.shape:
            return False
        same = self.call(aten.all.default, (self.call(aten.eq.Tensor, (one, other), {}),), {})
        return bool(self.call(_ITEMS[0], (same,), {}))

    def _all_close(self, one: torch.Tensor, other: torch.Tensor, *given: Any, **named: Any) -> bool:
        """Whether two tensors are close, as a branch on their elements."""
        near = self.call(aten.isclose.default, (one, other, *given), named)
        return bool(self.call(_ITEMS[0], (self.call(aten.all.default, (near,), {}),), {}))

    def _ask_for_ones(self, tensor: Tracked, dim: Any = None, **_: Any) -> None:
        """Asks whether dimensions are 1 that an operator drops if they are: the rank of its result depends on it."""
        rank = tensor.actual.dim()
        axes = range(rank) if dim is None else [dim] if isinstance(dim, int) else dim
        for axis in axes if rank else ():
            self.require(number_of(sizes_of(tensor)[axis] == 1), "bool", line_of_model(), False)

    def _count_parts(self, tensor: Tracked, size: Any, dim: int = 0) -> None:
        """Notes the number of parts of a tensor as a condition, if its sizes decide it."""
        whole = sizes_of(tensor)[dim] if tensor.actual.dim() > 0 else 1
        number = number_of((whole + size - 1) // size) if plain(size) > 0 else None
        if number is not None:
            self.require(number, "int", line_of_model(), True)
            self.open_splits.add(len(self.calls))

    def _count_chunks(self, tensor: Tracked, chunks: Any, dim: int = 0) -> None:
        """Notes the number of chunks as a condition, if its sizes decide it. Code that gives each a name raises an error where there are others."""
        line = line_of_model()
        whole = sizes_of(tensor)[dim]
        if line is not None and is_unpacked(*line.place):
            return
        if is_only_at_one(chunks):
            self.require(number_of(whole != 1), "bool", line, False)
        elif type(chunks) is not int or chunks > 1:
            self.require(number_of(count_of_chunks(whole, chunks)), "int", line, True)

    def require(self, number: Number | None, what: str, line: Any, by_model: bool) -> None:
        """Notes a number as a condition; None if it is always the same."""
        if number is not None:
            self.questions.append(Question(what, number, number.value, line, by_model, len(self.calls)))

    def _recorded(self, function: Any, args: Any, kwargs: Any, seen: _Seen, out: Any) -> Any:
        seen.is_item = function in _ITEMS
        if type(out) in (int, float, bool) and not seen.is_item:
            if seen.fixed or function._schema.name in _FACTS:
                return out
            raise Unrecorded(f"`{function}` makes a plain number of a tensor", line_of_model())
        fixed = seen.fixed and torch.Tag.nondeterministic_seeded not in function.tags
        if seen.is_item and fixed:
            if seen.is_unknown:
                raise Unrecorded("the model reads an element of a weight that has no data", line_of_model())
            return out
        decides = decides_sizes(function)
        fixed = fixed and not (decides and seen.is_unknown)
        seen.is_ragged = seen.is_ragged or decides
        found, results = self._results(out, fixed, seen)
        references = tuple(self.reference(arg) for arg in args)
        named = {name: self.reference(arg) for name, arg in kwargs.items()}
        self.calls.append(Call(function, references, named, results, line_of_model(), self.modules.current))
        return found

    def _results(self, out: Any, fixed: bool, seen: _Seen) -> tuple[Any, Any]:
        """What a call returns, and its references."""
        if isinstance(out, torch.Tensor):
            known = seen.tensors.get(id(out))
            if known is not None:
                return known, self._again(known)
            value = self.new_value(out, fixed)
            value.ragged = seen.is_ragged
            value.base = seen.base_of(out)
            if value.base is None:
                self._note_new(out)
            if self._inner is not None and all(self._memory(out) != self._memory(_actual(tensor)) for tensor in seen.tensors.values()):
                self._inner[self._memory(out)] = out
            return Tracked(out, value, self), value
        if isinstance(out, (list, tuple)):
            both = [self._results(item, fixed, seen) for item in out]
            kind = type(out) if type(out) in (list, tuple) else tuple
            return kind(found for found, _ in both), kind(reference for _, reference in both)
        if type(out) in (int, float, bool) and seen.is_item:
            value = scalar_value(self.next_key(), type(out), fixed=fixed)
            if seen.is_unknown and self.fakes is not None:
                self.fakes.made_up.add(value.key)
            return symbolic_item(out, value, self.ask), value
        return out, None

    def _note_new(self, tensor: torch.Tensor) -> None:
        """Forgets what was written to memory that is another tensor's now."""
        memory = self._memory(tensor)
        self._dirty.discard(memory)
        if not is_unknown(tensor) and memory not in self._outside:
            self._unknown.discard(memory)

    def _again(self, tensor: torch.Tensor) -> Value:
        """The result of a call that returns its argument."""
        inner = tensor.actual if isinstance(tensor, Tracked) else tensor
        value = self.new_value(inner, self.is_fixed(tensor) if isinstance(tensor, Tracked) else True)
        value.ragged = isinstance(tensor, Tracked) and tensor.value.ragged
        value.again = tensor.value.key if isinstance(tensor, Tracked) else self.plain_value(tensor).key
        return value

    def reference(self, arg: Any) -> Any:
        """An argument without its tensors."""
        if isinstance(arg, Tracked):
            self._own(arg)
            return arg.value
        if isinstance(arg, torch.Tensor):
            return self.plain_value(arg)
        if isinstance(arg, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            number = number_of(arg)
            return arg if number is None else number.operand()
        if isinstance(arg, (list, tuple)):
            return type(arg)(self.reference(item) for item in arg) if type(arg) in (list, tuple) else tuple(self.reference(item) for item in arg)
        return arg

    def _own(self, tensor: Tracked) -> None:
        """A value of an earlier run, which the model has kept, is a constant if it is the same at all inputs."""
        if tensor.recorder is not self:
            if not tensor.value.fixed:
                raise Unrecorded("the model has kept a value of an earlier call that depends on its inputs", line_of_model())
            tensor.recorder, tensor.value = self, self.plain_value(tensor.actual)

    def _drawn(self, function: Any, args: Any, kwargs: Any) -> Any:
        """What is drawn from a generator of the model's own. A model that seeds it in each call draws the same each time: a constant."""
        if any(isinstance(arg, (Tracked, torch.SymInt, torch.SymFloat)) for arg in pytree.tree_leaves((args, kwargs))):
            what = "the model draws numbers from a generator of its own that depend on a size or a tensor, and no file has this generator"
            raise Unrecorded(f"{what}: draw them without `generator=`, or pass them as an input", line_of_model())
        with torch._C._DisablePythonDispatcher(), torch._C.DisableTorchFunction(), _disable_current_modes():  # type: ignore[attr-defined]
            found = function(*args, **kwargs)
        return self.lifted(found)

    def lifted(self, tensor: Any) -> Any:
        """A tensor as a value of the recording."""
        if isinstance(tensor, Tracked):
            return tensor
        return Tracked(tensor, self.plain_value(tensor), self)

    def _back_up(self, function: Any, args: Any, kwargs: Any, fixed: bool) -> None:
        """Keeps a copy of a tensor of the model before the first write to it."""
        for index, parameter in enumerate(function._schema.arguments):
            if parameter.alias_info is None or not parameter.alias_info.is_write:
                continue
            given = args[index] if index < len(args) else kwargs.get(parameter.name)
            for tensor in given if isinstance(given, (list, tuple)) else [given]:
                if not isinstance(tensor, torch.Tensor):
                    continue
                if self.structure is not None:
                    self.structure.note_write(tensor)
                memory = self._memory(tensor)
                if is_unknown(tensor):
                    self._unknown.add(memory)
                if self._inner is not None and memory not in self._inner:
                    raise Unrecorded("a function of a higher-order operator writes to a tensor from outside of it", line_of_model())
                if not fixed:
                    self._dirty.add(memory)
                self._keep_constants(self._constants.pop(memory, []))
                if memory in self._outside and memory not in self._written:
                    whole = self._outside[memory]
                    self._written[memory] = (whole, whole.detach().clone())

    def _keep_constants(self, numbers: list[int]) -> None:
        """Keeps the elements that constants have before the first write to them: the recording writes it down."""
        for number in numbers:
            tensor = self._kept[number]
            self._alive.append(tensor)
            self._kept[number] = tensor.detach().clone()

    _outside: dict[int, torch.Tensor] = {}

    def watch(self, tensors: list[torch.Tensor]) -> None:
        """Tensors from outside the run, whose elements come back afterwards."""
        self._outside = {_memory(tensor): tensor for tensor in tensors if tensor.layout is torch.strided and not is_unknown(tensor)}

    def restore(self) -> None:
        """Gives tensors from outside the run their elements back."""
        with torch.no_grad():
            for tensor, copy in self._written.values():
                tensor.data.copy_(copy)
        self._written.clear()


#: Operators whose results have sizes that elements of tensors decide, though PyTorch does not say it of them.
_DECIDING = frozenset(
    """aten::where aten::nonzero_numpy aten::repeat_interleave.self_Tensor aten::_pack_padded_sequence aten::_pad_packed_sequence
    torchvision::nms""".split()
)


def decides_sizes(function: Any) -> bool:
    """Whether elements of tensors decide the sizes of what an operator returns."""
    return torch.Tag.dynamic_output_shape in function.tags or function.name() in _DECIDING


class _Seen:
    """The arguments of a call as real tensors and plain numbers."""

    __slots__ = ("fixed", "is_item", "is_ragged", "is_unknown", "recorder", "tensors")

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.fixed = True
        self.is_item = False
        self.is_ragged = False
        #: Whether a tensor among them has no elements: then all are fake.
        self.is_unknown = False
        self.tensors: dict[int, torch.Tensor] = {}

    def base_of(self, out: torch.Tensor) -> Value | None:
        """The value among the arguments that a result shares its memory with."""
        memory = self.recorder._memory(out)
        for tensor in self.tensors.values():
            if self.recorder._memory(_actual(tensor)) == memory:
                value = tensor.value if isinstance(tensor, Tracked) else self.recorder.plain_value(tensor)
                return value.base or value
        return None

    def argument(self, arg: Any) -> Any:
        if isinstance(arg, Tracked):
            self.fixed = self.fixed and self.recorder.is_fixed(arg)
            self.is_ragged = self.is_ragged or arg.value.ragged
            self.tensors[id(arg.actual)] = arg
            self._note_unknown(arg.actual)
            return arg.actual
        if isinstance(arg, torch.Tensor):
            if id(arg) not in self.recorder._known and self.recorder._memory(arg) not in self.recorder._outside:
                self.recorder._note_new(arg)  # a constant that no call has seen
            self.fixed = self.fixed and self.recorder._memory(arg) not in self.recorder._dirty
            self.tensors[id(arg)] = arg
            self._note_unknown(arg)
            return arg
        if isinstance(arg, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            self.fixed = False
            self.is_ragged = True
            return plain(arg)
        if isinstance(arg, (list, tuple)):
            made = [self.argument(item) for item in arg]
            return made if isinstance(arg, list) else tuple(made)
        return arg

    def _note_unknown(self, tensor: torch.Tensor) -> None:
        self.is_unknown = self.is_unknown or is_unknown(tensor) or bool(self.recorder._unknown) and self.recorder._memory(tensor) in self.recorder._unknown

    def faked(self, arg: Any) -> Any:
        """An argument with fake tensors in place of real ones."""
        if isinstance(arg, torch.Tensor):
            fakes = self.recorder.fakes
            made = arg if fakes is None else fakes.of(arg)
            self.tensors[id(made)] = self.tensors[id(arg)]
            return made
        if isinstance(arg, (list, tuple)):
            return type(arg)(self.faked(item) for item in arg) if type(arg) in (list, tuple) else tuple(self.faked(item) for item in arg)
        return arg


def _reads(number: Any, keys: set[int]) -> bool:
    """Whether an element with one of these keys is in a number."""
    return any(one.function == "item" and one.operands[0].key in keys for one in numbers_in(number))


def _actual(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.actual if isinstance(tensor, Tracked) else tensor


def _memory(tensor: torch.Tensor) -> int:
    """What tensors with the same memory have in common."""
    if tensor.layout is not torch.strided:
        return id(tensor)
    return int(tensor.untyped_storage()._cdata)
