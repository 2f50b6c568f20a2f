"""Makes the program of a run in which branches and loops were written down as such."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from .branches import Ask, Carried, Item, Path, Rolled, Step, made_in, with_values, written_by
from .join import Merger, _Join, _Private, like
from .numbers import Number
from .pruned import check_branches, without_unread
from .recorder import Call, Question, Recorder
from .references import values_in
from .tensors import Value
from .written import BRANCH, ONE_SIDE, ROLLED, Block, RawBranch, RawLoop

aten = torch.ops.aten


class Composer:
    """Makes items of what was written down.

    Attributes:
        failures: The errors of sides that could not be run, with their lines.
    """

    def __init__(self, merger: Merger, recorder: Recorder) -> None:
        self.merger, self.recorder = merger, recorder
        self.failures: list[tuple[Any, Exception]] = []

    def path(self, run: Any) -> Path:
        """The program of a run.

        Raises:
            NoBothSides: A turn has a branch with one side only.
        """
        recorder = self.recorder
        items = self.items(Block(recorder.calls, recorder.questions, recorder.open_splits))
        names = sorted(run.buffers)
        outputs = [recorder.reference(output) for output in (*run.outputs, *(run.buffers[name] for name in names))]
        for value in values_in(outputs):
            self.merger._note_source(recorder, value)
        items = without_unread(items, outputs, True)
        check_branches(items)
        return Path(items, outputs, names, run.tree)

    def items(self, block: Block) -> list[Item]:
        found: list[Item] = []
        questions = list(block.questions)
        for position, call in enumerate(block.calls):
            while questions and questions[0].calls <= position:
                found.append(Ask(questions.pop(0)))
            found += self._items(call, position in block.splits)
        return [*found, *map(Ask, questions)]

    def _items(self, call: Call, is_split: bool) -> list[Item]:
        if call.function is BRANCH:
            return self._branch(call.args[0])
        if call.function is ROLLED:
            return self._loop(call.args[0])
        if call.function is ONE_SIDE:
            question, failure = call.args[0]
            if getattr(failure, "is_asked", False):
                return []
            self.failures.append((question.line, failure))
            return [Ask(question, failure)]
        step = Step(call, is_split)
        for value in (*values_in(call.args), *values_in(call.kwargs), *values_in(call.results)):
            self._note(value)
        for value in values_in(call.results):
            self.merger.makers[id(value)] = step
            if value.again is not None and value.again in self.known:
                self.merger.again[id(value)] = self.known[value.again]
        return [step]

    known: dict[int, Value] = {}

    def _note(self, value: Value) -> None:
        self.known[value.key] = value
        self.merger._note_source(self.recorder, value)

    def _branch(self, raw: RawBranch) -> list[Item]:
        join = _Join.__new__(_Join)
        join.merger, join.question, join.copies_all = self.merger, raw.question, True
        join.sides = [self.items(block) for block in raw.sides]
        results = [(value, *(self._own(side, one, raw.question.line) for side, one in zip(join.sides, given))) for value, *given in raw.results]
        for value in values_in((raw.question.number, [(one, other) for _, one, other in raw.results])):
            self._note(value)
        join.results = {number: result for number, result in enumerate(results)}
        branch, writes = join._branch()
        if branch is not None:
            return [branch, *writes]
        asked = [side for side in join.sides if any(isinstance(item, Ask) and item.question.by_model for item in side)]
        return [item for side in asked for item in side]

    def _own(self, items: list[Item], reference: Any, line: Any) -> Any:
        """A result of a side or a turn, with memory of its own if it is from outside."""
        if not isinstance(reference, Value) or reference.device is None or id(self.merger.root(reference)) in {id(self.merger.canon(value)) for value in made_in(items)}:
            return reference
        copy = like(reference)
        step = Step(Call(aten.clone.default, (reference,), {}, copy, line, {}))
        self.merger.makers[id(copy)] = step
        items.append(step)
        return copy

    def _loop(self, raw: RawLoop) -> list[Item]:
        for value in values_in((raw.count, raw.first, raw.again, [(init, following) for _, init, following, _ in raw.carried])):
            self._note(value)
        carried = [Carried(*one) for one in raw.carried]
        items = self.items(raw.block)
        params = {id(one.param) for one in carried}
        for one in carried:
            if id(one.next) not in params:
                one.next = self._own(items, one.next, raw.line)
        loop = Rolled(raw.line, raw.index, raw.count, raw.first, raw.again, carried, [], items)
        return [loop, *self._own_memory(loop)]

    def _own_memory(self, loop: Rolled) -> list[Item]:
        """A loop that writes to memory from before it carries a copy of that, which is written back after it. Returns what writes it back."""
        merger = self.merger
        own = {id(merger.canon(value)) for value in made_in(loop.items)}
        params = {id(one.param): one for one in loop.carried}
        roots: dict[int, Value] = {}
        for item in _all_items(loop.items):
            for value in written_by(item.call) if isinstance(item, Step) else ():
                root = merger.root(value)
                if id(root) not in own:
                    roots[id(root)] = root
        if not roots:
            return []
        question = Question("bool", Number(True, "", (), lambda number, what: number.value), True, loop.line, True, 0)
        private = _Private(merger, question, loop.items, own, roots)
        loop.items, loop.again = private.items, private.reference(loop.again)
        for one in loop.carried:
            one.next = private.reference(one.next)
        writes: list[Item] = []
        for key, root in roots.items():
            if key in params:
                continue
            carried = Carried(like(root), root, private.copies[key], like(root))
            carried.param.ragged = carried.result.ragged = root.ragged
            change: Callable[[Value], Value] = lambda value, root=root, param=carried.param: param if value is root else value  # type: ignore[misc]
            loop.items = [with_values(item, change) for item in loop.items]
            loop.carried.append(carried)
            writes.append(Step(Call(aten.copy_.default, (root, carried.result), {}, like(root), loop.line, {})))
        return writes


def _all_items(items: list[Item]) -> Iterator[Item]:
    """Items that write: those of branches and loops in them were given copies, which are written back beside them."""
    yield from items


def composed(merger: Merger, run: Any) -> tuple[Path, list[tuple[Any, Exception]]]:
    """The program of a run, and the errors of sides that could not be run."""
    composer = Composer(merger, run.recorder)
    composer.known = {}
    return composer.path(run), composer.failures


__all__ = ["composed"]
