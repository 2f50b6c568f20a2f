"""Runs the turns of a loop of lowered code, and writes one of them down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from .alike import FewTurns
from .containers import makes_lists
from .grown import Grown
from .long import Compound, Long
from .loops import Walkable
from .lowered import OUT
from .modes import Mode, code_of
from .numbers import Number, number_of, operand, plain, symbolic
from .ragged import is_element, note_kind
from .slotted import Slotted
from .states import UNDEFINED, Place, Poison, Snapshot, Values, is_number, is_number_of, is_same, put, put_copies, value_at
from .tensors import Value, turn_value
from .turns import NoBothSides
from .written import ROLLED, Block, RawLoop, Again, Peel, OWN, Plan, TurnsOfLoop

if TYPE_CHECKING:
    from .structured import Structure


class Attempt:
    """Runs the turns of a loop, and writes one of them down."""

    def __init__(self, structure: Structure, turns: TurnsOfLoop, plan: Plan, before: Snapshot) -> None:
        self.structure, self.turns, self.plan, self.before = structure, turns, plan, before
        self.recorder = structure.recorder

    def run(self) -> None:
        structure, turns, plan = self.structure, self.turns, self.plan
        names = list(turns.get())
        in_order = lambda item: (names.index(item[0][0]), str(item[0][1:]))  # noqa: E731
        plan.carried, plan.lists = dict(sorted(plan.carried.items(), key=in_order)), dict(sorted(plan.lists.items(), key=in_order))
        self._make_lists()
        self._make_tensors()
        start = Snapshot(turns.get())
        first = None if turns.test is None else structure.condition(turns.test())
        if first is None and turns.is_left is not None:
            first = True
        done, has_turns = self._run_before()
        self._make_lists_again()
        self._make_tensors()
        now = Snapshot(turns.get())
        self._note_changes(start, now)
        params = self._give_params(now)
        index = turn_value(self.recorder.next_key())
        counter = symbolic(Number(done, "item", (index,), self.recorder.ask))
        entered, texts = Snapshot(turns.get()), len(structure.codes)
        block = Block()
        structure.turned += 1  # what the turn is given need not be what its data ask for
        try:
            with structure._written_to(block):
                turns.run(counter)
                again = self._again()
        except OWN:
            raise
        except Exception:  # whatever the model raises in a turn that its inputs do not ask for
            if has_turns:
                raise
            raise FewTurns(turns.line) from None
        finally:
            structure.turned -= 1
        after = Snapshot(turns.get())
        self._note_changes(entered, after)
        for text in (snapshot.at(place) for place in plan.carried for snapshot in (start, after)):
            if isinstance(text, str):
                code_of(text, structure.codes)
        if len(structure.codes) > texts:  # what texts choose earlier in the turn may be more
            raise Again
        self._run_rest(done, after, has_turns)
        self._make_lists_again()
        self._make_tensors()
        final = Snapshot(turns.get())
        self._note_changes(start, final)
        self._write(start, after, final if has_turns else start, params, index, first, again, block, has_turns)

    def _make_lists(self) -> None:
        """Makes rows of lists that turns make longer."""
        values = self.turns.get()
        self.structure.near = self.before.leaves
        changed = {}
        for place in self.plan.made:  # the model's order of keys
            value_at(values, place)
        for place, example in self.plan.lists.items():
            known = value_at(values, place)
            put(values, place, self.structure.as_list([] if known is UNDEFINED else known, example, self.turns.line, place))
            changed[place[0]] = values[place[0]]
        for place, example in self.plan.carried.items():
            # A turn that does not assign a name leaves it as it was: it is something before the first.
            if len(place) == 1 and values.get(place[0]) is UNDEFINED:
                changed[place[0]] = self.structure.dummy(example)
        self.turns.set(changed)

    def _make_lists_again(self) -> None:
        """Makes rows of lists that turns which are not written down have made anew."""
        values = self.turns.get()
        if any(values[place[0]] is not UNDEFINED and type(value_at(values, place)) is list for place in self.plan.lists):
            with self.structure._dry():
                self._make_lists()

    def _make_tensors(self) -> None:
        """Makes tensors of numbers that other turns have tensors in place of."""
        values, changed = self.turns.get(), {}
        for place, example in self.plan.tensors.items():
            known = value_at(values, place)
            if is_number_of(known, example):
                put(values, place, torch.scalar_tensor(known, dtype=example.dtype, device=example.device))
                changed[place[0]] = values[place[0]]
        self.turns.set(changed)

    def _run_before(self) -> tuple[int, bool]:
        """Runs the turns before the one that is written down. Returns how many, and whether the inputs ask for any turn."""
        structure, turns, plan = self.structure, self.turns, self.plan
        if plan.is_early:
            with structure._dry():
                return 0, structure._goes_on(turns, 0)
        with structure._dry():
            if structure._goes_on(turns, 0):
                turns.run(0)
                if structure._goes_on(turns, 1):
                    return 1, True
        plan.is_early = True
        raise Again

    def _note_changes(self, before: Snapshot, now: Snapshot) -> None:
        """Notes what turns have changed.

        Raises:
            Again: There is more than was known.
        """
        plan, structure = self.plan, self.structure
        plan.replaced |= {place for place, found in now.containers.items() if before.containers.get(place, found) is not found}
        is_new = False
        for place, length in now.lengths.items():
            is_made = place not in before.lengths and makes_lists(before.containers.get(place[:-1]))
            if not is_made and (place not in before.lengths or before.lengths[place] == length):
                continue
            values = value_at(now.values, place)
            if not all(is_element(value, lambda leaf: structure.kind(leaf) not in (None, str) and not isinstance(leaf, Long)) for value in values):
                self._peel(place)
            if is_made:
                plan.made.append(place)
            known = values or value_at(before.values, place)
            example = next((value for value in reversed(known) if type(value) is not list or value), None)
            if known and example is None:
                help = "give an example in which the first turns find something, or use a list of tensors"
                raise NoBothSides("all lists in a list that a loop makes longer are empty in its first turns", self.turns.line, help)
            plan.lists[place] = example
            is_new = True
        for place, found in now.containers.items():
            if isinstance(found, Compound) and place in before.lengths:
                self._note_list(place, found)
                is_new = True
            if isinstance(found, Slotted) and place in before.containers and _has_values(now, place) and not _has_values(before, place):
                self._note_list(place, found)
                is_new = True
        if is_new:
            raise Again
        for place, leaf in now.leaves.items():
            known = before.at(place)
            if before.is_container(place):
                if not isinstance(leaf, Grown):
                    self._peel(place)
                self._note_list(place, leaf)
                raise Again
            if place not in plan.tensors and is_number_of(known if known is not UNDEFINED else plan.carried.get(place), leaf):
                plan.tensors[place] = plan.carried[place] = leaf
                raise Again
            if place in plan.carried or is_same(known, leaf) or leaf is UNDEFINED:
                continue
            kind = structure.kind(leaf)
            if (kind is None or isinstance(leaf, str)) and (known is UNDEFINED or isinstance(leaf, (Walkable, Poison)) or callable(leaf)):
                continue
            if kind is None or (known is not UNDEFINED and structure.kind(known) != kind):
                self._peel(place)
            if known is UNDEFINED and before.is_in_leaf(place):
                if self._is_made_again(before, now, place[:-1]):
                    raise Again
                self._peel(place)
            plan.carried[place] = leaf
            is_new = True
        if self._note_moved(now) or is_new:
            raise Again

    def _is_made_again(self, before: Snapshot, now: Snapshot, place: Place) -> bool:
        """Whether a turn that was not written down has made a list anew, which is as long as a loop in it says: `row = [i]`, and then `row.append(..)`."""
        known, found = before.at(place), now.containers.get(place)
        if not isinstance(known, Grown) or type(found) is not list or not found or place in self.plan.lists:
            return False
        self.plan.lists[place] = found[-1]
        return True

    def _note_moved(self, now: Snapshot) -> bool:
        """Notes equal elements of lists of which turns change others: they may have changed places, as in a window of zeros that turns move. Whether there are more."""
        plan, found = self.plan, {}
        for parent in {place[:-1] for place in plan.carried if place[:-1] in now.lengths}:
            elements = [(place, leaf) for place, leaf in now.leaves.items() if place[:-1] == parent and self.structure.kind(leaf) not in (None, str)]
            for (place, leaf), (other, beside) in zip(elements, elements[1:]):
                if is_same(leaf, beside):
                    found.update({place: leaf, other: beside})
        new = {place: leaf for place, leaf in found.items() if place not in plan.carried}
        plan.carried.update(new)
        return bool(new)

    def _note_list(self, place: Place, found: Any) -> None:
        """Notes that turns have put a list that they made longer in the place of another one."""
        self.plan.lists[place] = found.example()
        note_kind(found, self.structure.key_of_list(self.turns.line, place), self.structure.turns.lengths)

    def _peel(self, place: Place) -> None:
        if self.turns.is_peeled:
            name = ".".join(map(str, place)).replace(OUT, "the list of a comprehension")
            raise NoBothSides(f"a value changes its type or rank in a turn of a loop: `{name}`,", self.turns.line)
        raise Peel

    def _give_params(self, now: Snapshot) -> dict[Place, Value]:
        """Gives names values of their own where turns change them."""
        params: dict[Place, Value] = {}
        values = self._own()
        for place in self.plan.carried:
            leaf = now.at(place)
            if leaf is UNDEFINED or self.structure.kind(leaf) is None:
                continue
            made, params[place] = self.structure.with_value(leaf)
            put(values, place, made)
        self.turns.set({place[0]: values[place[0]] for place in params})
        return params

    def _own(self) -> Values:
        """What names stand for, with containers of their own where turns put others in their places."""
        values = self.turns.get()
        if self.plan.replaced:
            put_copies(values, self.plan.replaced)
            self.turns.set({place[0]: values[place[0]] for place in self.plan.replaced if place[0] in values})
        return values

    def _again(self) -> Any:
        """Whether there is another turn, if not only the number of turns tells."""
        turns, structure = self.turns, self.structure
        if turns.test is None and turns.is_left is None:
            return None
        looks = [] if turns.is_left is None else [lambda: structure.negated(turns.is_left())]  # type: ignore[misc]
        looks += [] if turns.test is None else [turns.test]
        found = structure.every(*looks)
        number = number_of(found)
        return bool(found) if number is None else number

    def _run_rest(self, done: int, after: Snapshot, has_turns: bool) -> None:
        """Runs the turns after the one that was written down."""
        structure, turns, plan = self.structure, self.turns, self.plan
        values = turns.get()
        for place in plan.carried:
            leaf = after.at(place)
            if is_number(leaf):
                put(values, place, plain(leaf))
            elif isinstance(leaf, Mode):
                put(values, place, leaf.now)
        turns.set({place[0]: values[place[0]] for place in plan.carried if place[0] in values})
        if has_turns:
            with structure._dry():
                structure._run_dry(turns, done + 1)

    def _write(self, start: Snapshot, after: Snapshot, final: Snapshot, params: dict[Place, Value], index: Value, first: Any, again: Any, block: Block, has_turns: bool) -> None:
        structure, turns, plan = self.structure, self.turns, self.plan
        if not has_turns:
            start.restore(turns.get, turns.set)
        values = self._own()
        structure.near = self.before.leaves
        carried = []
        for place in plan.carried:
            following, init = after.at(place), start.at(place)
            if structure.kind(following) is None:
                continue
            if init is UNDEFINED or structure.kind(init) is None:
                init = structure.dummy(following)
            if structure.kind(init) != structure.kind(following):
                self._peel(place)
            now = final.at(place)
            made, result = structure.with_value(now if structure.kind(now) is not None else following)
            param = params.get(place)
            if param is None:
                param = structure.with_value(following)[1]
            carried.append((param, structure.reference(init), structure.reference(following), result))
            put(values, place, made)
        turns.set({place[0]: values[place[0]] for place in plan.carried})
        count = None
        if turns.count is not None:
            count = operand(turns.count)
        structure._mark(ROLLED, RawLoop(turns.line, index, count, first, again, carried, block), turns.line)


def _has_values(snapshot: Snapshot, place: Place) -> bool:
    """Whether something was written to a list of None at a place."""
    return any(leaf[: len(place) + 1] == (*place, "values") for leaf in snapshot.leaves)


__all__ = ["Attempt"]
