"""Joins the paths on both sides of a branch: what lies between the branch and their common end becomes the sides of an If."""

from __future__ import annotations

from typing import Any

import torch

from .align import FAR, Alignment, Unlike, kind_of, zipped
from .branches import Ask, If, Item, Path, Step, Turn, made_by, made_in, replaced, with_values, written_by
from .loops import LEAVE, LOOP, TURN
from .expressions import name_of
from .numbers import Number
from .recorder import Call, Question, Recorder, Unrecorded
from .references import values_in
from .tensors import Value, scalar_value
from .turns import NoBothSides

aten = torch.ops.aten


class Merger:
    """Joins paths, whose values are made one where they are the same."""

    def __init__(self) -> None:
        self._same: dict[int, Value] = {}
        self._kept: list[Any] = []
        #: Of numbers, as `name_of` keeps them, until two values are found to be the same.
        self._names: dict[int, Any] = {}
        self._sources: dict[Any, Value] = {}
        #: The tensors of constants, and the calls that make values.
        self.constants: dict[int, torch.Tensor] = {}
        self.makers: dict[int, Step] = {}
        #: The value that a call was given and returns, for those that do.
        self.again: dict[int, Value] = {}
        #: The loops of the last path.
        self.rolled: list[Any] = []

    # Values.
    def canon(self, value: Value) -> Value:
        """The value that stands for all that are the same."""
        while id(value) in self._same:
            value = self._same[id(value)]
        return value

    def unite(self, one: Value, other: Value) -> None:
        """Notes that two values are the same: the second stands for both."""
        one, other = self.canon(one), self.canon(other)
        if one is not other:
            self._same[id(one)] = other
            self._names.clear()
            self._kept.append(one)

    def root(self, value: Value) -> Value:
        """The value whose memory a value shares."""
        value = self.canon(value)
        while value.base is not None:
            value = self.canon(value.base)
        return value

    def name(self, reference: Any) -> Any:
        """What references to the same have in common."""
        if isinstance(reference, Value):
            return id(self.canon(reference))
        if isinstance(reference, Number):
            return name_of(reference, self.name, self._names)
        return (type(reference), repr(reference))

    def is_same(self, a: Any, b: Any) -> bool:
        """Whether two references are to the same. Constants of equal elements are."""
        if self.name(a) == self.name(b):
            return True
        one, other = (self.constants.get(id(self.canon(value))) if isinstance(value, Value) else None for value in (a, b))
        if one is None or other is None or one.dtype != other.dtype or one.shape != other.shape or not torch.equal(one, other):
            return False
        self.unite(b, a)
        return True

    def begin(self, recorder: Recorder) -> None:
        """Takes the inputs of a run as those of all, also of runs that read others."""
        for value in recorder.inputs:
            self._note_source(recorder, value)

    # Paths.
    def path(self, run: Any, trees: dict[int, Any] | None = None) -> Path:
        """The program of a run. `trees` has turns of its loops with all ways through their branches."""
        recorder: Recorder = run.recorder
        items = self._items(recorder)
        names = sorted(run.buffers)
        outputs = [recorder.reference(output) for output in (*run.outputs, *(run.buffers[name] for name in names))]
        if recorder.loops is not None and recorder.loops.found:
            items, outputs = self._rolled(recorder, items, outputs, trees)
        for value in values_in(outputs):
            self._note_source(recorder, value)
        return Path(items, outputs, names, run.tree)

    def turn(self, run: Any, number: int) -> tuple[Path, Any]:
        """The program of a run up to the end of the turn that stands for all of a loop, whose results are what names stand for then. And that turn, as a way through
        its branches."""
        from .branched import Way, after_of, turns_of
        from .alike import FewTurns, Unalike
        from .loops import CHOSEN
        from .roll import Roller

        recorder: Recorder = run.recorder
        loop = recorder.loops.found[number]  # type: ignore[union-attr]
        items = self._items(recorder)
        marks = [place for place, item in enumerate(items) if isinstance(item, Step) and item.call.function in (TURN, LEAVE) and item.call.args[0] is loop]
        if len(marks) < CHOSEN + 2:
            raise FewTurns(loop.line)
        roller = Roller(self, recorder)
        try:
            begin = next(place for place, item in enumerate(items) if isinstance(item, Step) and item.call.function is LOOP and item.call.args[0] is loop)
            turns = roller._turns(loop, items[begin + 1 : marks[-1]])
            flat = turns[CHOSEN].items
            after = after_of(roller, loop, CHOSEN)
            way = Way(flat, after, loop, turns_of(roller, loop, turns))
        except Unalike as error:
            raise NoBothSides(f"a loop in the turns of a loop: {error}", error.line or loop.line) from None
        self._kept.append((run, roller, way))
        return Path([*items[: marks[CHOSEN] + 1], *flat], list(after.values()), [], tuple(after)), way

    def _items(self, recorder: Recorder) -> list[Item]:
        """The calls and questions of a run, in order."""
        items: list[Item] = []
        questions = list(enumerate(recorder.questions))
        for position, call in enumerate(recorder.calls):
            while questions and questions[0][1].calls <= position:
                items.append(_question(recorder, *questions.pop(0)))
            step = Step(call, position in recorder.open_splits)
            items.append(step)
            for value in values_in(call.results):
                self.makers[id(value)] = step
        items += [_question(recorder, *question) for question in questions]
        self._note_values(recorder)
        return items

    def _rolled(self, recorder: Recorder, items: list[Item], outputs: list[Any], trees: dict[int, Any] | None = None) -> tuple[list[Item], list[Any]]:
        """The items and results with loops in place of their turns."""
        from .alike import Unalike
        from .pruned import check_branches, without_unread
        from .roll import Roller

        roller = Roller(self, recorder, trees)
        try:
            found = roller.items(items)
            roller.new = []
            outputs = [roller.reference(output) for output in outputs]
        except Unalike as error:
            loops = recorder.loops.found if recorder.loops is not None else []
            raise NoBothSides(f"a loop: {error}", error.line or next((loop.line for loop in loops), None)) from None
        self.rolled = roller.rolled
        self._kept.append(roller)
        found = without_unread([*found, *roller.new], outputs)
        check_branches(found)
        return found, outputs

    def _note_values(self, recorder: Recorder) -> None:
        by_key: dict[int, Value] = {}
        for call in recorder.calls:
            for value in (*values_in(call.args), *values_in(call.kwargs), *values_in(call.results)):
                by_key[value.key] = value
                self._note_source(recorder, value)
            for value in values_in(call.results):
                if value.again in by_key:
                    self.again[id(value)] = by_key[value.again]
        for question in recorder.questions:
            for value in values_in(question.number):
                self._note_source(recorder, value)

    def _note_source(self, recorder: Recorder, value: Value) -> None:
        if value.base is not None and value.base is not value:
            self._note_source(recorder, value.base)
        if value.source is None:
            return
        if value.source[0] == "constant":
            self.constants.setdefault(id(value), recorder.constants[value.source[1]])
            self._kept.append(value)
        elif value.source[0] in ("input", "weight"):
            known = self._sources.setdefault(value.source, value)
            if known is not self.canon(value):
                self.unite(value, known)

    def weight_of(self, name: str) -> Value | None:
        return self._sources.get(("weight", name))

    def joined(self, index: int, mine: Path, other: Path) -> Path:
        """Two paths as one, which part at a branch. What they have in common has the sizes of the first."""
        at_mine, at_other = place_of(mine, index), place_of(other, index)
        question: Question = mine.items[at_mine].question  # type: ignore[union-attr]
        if mine.tree != other.tree:
            raise NoBothSides("the sides of a branch in Python return results of another form", question.line)
        self.unite_before(index, mine, other)
        found = self.all_outputs(mine, other)
        if found is None:
            raise NoBothSides("a buffer that only one side of a branch replaces, and nothing reads", question.line)
        outputs, names = found
        tails = mine.items[at_mine + 1 :], other.items[at_other + 1 :]
        try:
            alignment = Alignment(*tails, outputs, self)
        except Unlike:
            raise NoBothSides("the sides of a branch in Python return results of another type or rank", question.line) from None
        return _Join(self, alignment, question, tails).path(mine.items[:at_mine], outputs, names, mine.tree)

    def unite_before(self, index: int, mine: Path, other: Path) -> None:
        """Notes that what two paths compute before a branch is the same."""
        before, others = mine.items[: place_of(mine, index)], other.items[: place_of(other, index)]
        question: Question = mine.items[len(before)].question  # type: ignore[union-attr]
        calls = [[item for item in items if not isinstance(item, Ask)] for items in (before, others)]
        if len(calls[0]) != len(calls[1]) or any(len(made_by(a)) != len(made_by(b)) for a, b in zip(*calls)):
            raise Unrecorded("the model makes other calls when it runs again", question.line)
        for a, b in zip(*calls):
            for x, y in zip(made_by(a), made_by(b)):
                self.unite(y, x)
            if isinstance(a, Step) and isinstance(b, Step):
                for x, y in zip((v for v in values_in((a.call.args, a.call.kwargs)) if v.source), (v for v in values_in((b.call.args, b.call.kwargs)) if v.source)):
                    if x.source[0] == y.source[0] == "constant":  # type: ignore[index]
                        self.is_same(x, y)

    def all_outputs(self, one: Path, other: Path) -> tuple[tuple[list[Any], list[Any]], list[str]] | None:
        """The results of both paths, with the buffers that only one of them replaces; None if it replaces one that nothing reads."""
        names = sorted({*one.buffers, *other.buffers})
        old = {name: self.weight_of(name) for name in names}
        found = []
        for path in (one, other):
            count = len(path.outputs) - len(path.buffers)
            new = dict(zip(path.buffers, path.outputs[count:]))
            if any(name not in new and old[name] is None for name in names):
                return None
            found.append([*path.outputs[:count], *(new.get(name, old[name]) for name in names)])
        return (found[0], found[1]), names


def fitting(one: Path, other: Path, merger: Merger) -> tuple[Path, Path]:
    """Two ways through a turn, with the names that stand for something of the same type after both."""
    mine, theirs = dict(zip(one.tree, one.outputs)), dict(zip(other.tree, other.outputs))
    names = []
    for name, a in mine.items():
        b = theirs.get(name, _question)
        if (kind_of(a) is not None and kind_of(a) == kind_of(b)) or (a is None and b is None):
            names.append(name)
    return Path(one.items, [mine[name] for name in names], [], tuple(names)), Path(other.items, [theirs[name] for name in names], [], tuple(names))


def _question(recorder: Recorder, place: int, question: Question) -> Item:
    turned = recorder.turns.asked.get(place) if recorder.turns is not None else None
    if turned is None or recorder.turns is None:
        return Ask(question)
    return Turn(list(recorder.turns.asked).index(place), question)


def place_of(path: Path, index: int) -> int:
    """Where a branch is in the items of a path.

    Raises:
        NoBothSides: The run did not ask it again.
    """
    found = next((place for place, item in enumerate(path.items) if isinstance(item, Turn) and item.index == index), None)
    if found is None:
        raise NoBothSides("a branch is not asked again in a run that answers it otherwise", None)
    return found


class _Join:
    """Makes the joined path of an alignment."""

    #: Whether a side that does not write gives a copy as well: then no result shares memory with what is written back.
    copies_all = False

    def __init__(self, merger: Merger, alignment: Alignment, question: Question, tails: tuple[list[Item], list[Item]]) -> None:
        #: The first side is the one that the question has the answer of.
        self.merger = merger
        self.alignment = alignment
        self.question = question
        self.common = alignment.common()
        first = [[*self.common[0][side].before, self.common[0][side].item][0] if self.common else None for side in (0, 1)]
        self.sides = [tail if start is None else tail[: next(i for i, item in enumerate(tail) if item is start)] for tail, start in zip(tails, first)]
        self.results: dict[Any, tuple[Value, Any, Any]] = {}

    def path(self, before: list[Item], outputs: tuple[list[Any], list[Any]], names: list[str], tree: Any) -> Path:
        after: list[Item] = []
        for one, other in self.common:
            entry = self.alignment.both(one, other, self._leaf)
            self._follow(one.item, entry.item)
            for x, y in zip(made_by(one.item), made_by(other.item)):
                self.merger.unite(y, x)
            after += [*entry.before, entry.item, *entry.after]
        found = zipped(*outputs, self._leaf, True)
        branch, writes = self._branch()
        # Questions count although their side has no results.
        asked = [side for side in self.sides if any(isinstance(item, Ask) and item.question.by_model for item in side)]
        middle: list[Item] = [item for side in asked for item in side] if branch is None else [branch, *writes]
        return Path([*before, *middle, *after], found, names, tree)

    def _leaf(self, a: Any, b: Any, in_results: bool) -> Any:
        """The value that stands for what both sides have in one place."""
        merger = self.merger
        if isinstance(a, Value) and isinstance(b, Value):
            a, b = merger.canon(a), merger.canon(b)
            if self.alignment.far[0].get(id(a), (FAR, 0))[0] <= self.alignment.length:
                return a
        if merger.is_same(a, b):
            return a
        key = (merger.name(a), merger.name(b))
        if key not in self.results:
            self.results[key] = (self._new_result(a), a, b)
        value = self.results[key][0]
        return value if isinstance(a, Value) else Number(_known(a), "item", (value,), _no_question)

    def _new_result(self, a: Any) -> Value:
        if not isinstance(a, Value) or a.device is None:
            return scalar_value(0, kind_of(a))
        value = like(a)
        value.key, value.ragged = 0, True
        return value

    def _follow(self, before: Item, now: Item) -> None:
        """A view of a result shares the memory of that."""
        if not isinstance(before, Step) or not isinstance(now, Step):
            return
        merger = self.merger
        read = list(zip(values_in((before.call.args, before.call.kwargs)), values_in((now.call.args, now.call.kwargs))))
        for value in made_by(now):
            merger.makers[id(value)] = now
            if value.base is not None:
                root = merger.root(value)
                value.base = next((merger.root(new) for old, new in read if merger.root(old) is root), root)

    def _branch(self) -> tuple[If | None, list[Item]]:
        """The branch, and what gives the memory that its sides write to the new elements."""
        made = [{id(value) for value in made_in(side)} for side in self.sides]
        written: dict[int, Value] = {}
        for side, own in zip(self.sides, made):
            for item in side:
                for value in written_by(item.call) if isinstance(item, Step) else ():
                    root = self.merger.root(value)
                    if id(root) not in own:
                        written[id(root)] = root
        sides, copies = [], []
        for side, own in zip(self.sides, made):
            private = _Private(self.merger, self.question, side, own, written)
            sides.append(private)
            copies.append(private.copies)
        results = [(value, sides[0].result(yes, written), sides[1].result(no, written)) for value, yes, no in self.results.values()]
        writes: list[Item] = []
        for key, root in written.items():
            value = self._new_result(root)
            kept = [side.result(root, written) if self.copies_all and key not in copy else root for copy, side in zip(copies, sides)]
            results.append((value, copies[0].get(key, kept[0]), copies[1].get(key, kept[1])))
            written_back = self._new_result(root)
            writes.append(Step(_call(self.question, aten.copy_.default, (root, value), written_back), stands_for=((written_back, root),)))
        if not results:
            return None, []
        if not self.question.answer:
            sides.reverse()
            results = [(value, second, first) for value, first, second in results]
        return If(self.question, sides[0].items, sides[1].items, results), writes


class _Private:
    """A side that writes to copies of the memory from outside of it. `copies` are these, as they are in the end."""

    def __init__(self, merger: Merger, question: Question, items: list[Item], own: set[int], written: dict[int, Value]) -> None:
        self.merger = merger
        self.own = own
        self.items: list[Item] = []
        self.copies: dict[int, Value] = {}
        self.question = question
        writes = {id(merger.root(value)) for item in items if isinstance(item, Step) for value in written_by(item.call)}
        for key, root in written.items():
            if key in writes:
                copy = like(root)
                self.items.append(Step(_call(question, aten.clone.default, (root,), copy), stands_for=((copy, root),)))
                self.copies[key] = copy
        self.views: dict[int, Value] = {}
        if not self.copies:
            self.items += items
            return
        for item in items:
            # What must be viewed again stands before the item.
            made = with_values(item, self._value)
            for value in made_by(made):
                base = self.copies.get(id(merger.root(value))) if value.base is not None else None
                if base is not None:
                    value.base = base
            self.items.append(made)

    def reference(self, reference: Any) -> Any:
        return replaced(reference, self._value) if self.copies else reference

    def result(self, reference: Any, written: dict[int, Value]) -> Any:
        """A result, which shares no memory with what the branch writes to."""
        if isinstance(reference, Value) and reference.device is not None and id(self.merger.root(reference)) in written:
            copy = like(reference)
            self.items.append(Step(_call(self.question, aten.clone.default, (self.reference(reference),), copy), stands_for=((copy, reference),)))
            return copy
        return self.reference(reference)

    def _value(self, value: Value) -> Value:
        value = self.merger.canon(value)
        if id(value) in self.own:
            return value
        root = self.merger.root(value)
        copy = self.copies.get(id(root))
        if copy is None:
            return value
        if value is root:
            return copy
        return self.views.get(id(value)) or self._view(value, copy)

    def _view(self, value: Value, copy: Value) -> Value:
        """A view of the copy in place of one of the memory from outside."""
        maker = self.merger.makers.get(id(value))
        if maker is None or written_by(maker.call):
            raise NoBothSides("a side of a branch in Python writes to a view that cannot be made again", self.question.line)
        call = maker.call._replace(args=replaced(maker.call.args, self._value), kwargs=replaced(maker.call.kwargs, self._value))

        def fresh(old: Value) -> Value:
            new = like(old)
            new.base = copy
            self.views[id(self.merger.canon(old))] = new
            return new

        results = replaced(call.results, fresh)
        stands_for = tuple(zip(values_in(results), values_in(call.results)))
        self.items.append(Step(call._replace(results=results), maker.is_split, stands_for))
        return self.views[id(value)]


def like(value: Value) -> Value:
    """A new value of the same type."""
    made = Value.__new__(Value)
    for name in Value.__slots__:
        setattr(made, name, getattr(value, name))
    made.source, made.node, made.again, made.base, made.fixed, made.sizes, made.is_turn = None, None, None, None, False, None, False
    return made


def _call(question: Question, function: Any, args: tuple[Any, ...], results: Any) -> Call:
    return Call(function, args, {}, results, question.line, {})


def _known(reference: Any) -> Any:
    return reference.value if isinstance(reference, Number) else reference


def _no_question(number: Number, what: str) -> Any:
    return number.value
