"""Keys of dictionaries that only some turns of a loop make, in lowered code: `counts[kind] += 1` of a `defaultdict(int)`, `sides.setdefault(side, []).append(row)`.

Which keys there are follows from data then, and no file has that. So all texts that the key may be are keys from before the loop on, with what a missing one stands for. Who
asks whether a key is there, or how many there are, ends the export with the line, but for lists that something was appended to; what else may show it is found where the program is tried out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from .containers import DICTIONARIES
from .long import Long
from .lowered import NAME
from .modes import Mode
from .places import kind_of_frame, line_of_frame, line_of_model
from .recorder import Recorder
from .states import Snapshot, is_number
from .turns import NoBothSides
from .written import Again

#: Of more texts than this none becomes a key.
_MOST = 64
_HELP = 'write all keys before the loop, as in `{"p": 0, "n": 0}`, and ask whether the value is more than that'


class Keys:
    """The keys that are made for texts which a number of the file chooses."""

    def __init__(self) -> None:
        self._around: list[Snapshot] = []
        self._wanted: list[tuple[Any, dict[str, Callable[[], Any]]]] = []
        #: Those of them that were not there, by the number of the dictionary.
        self._made: set[tuple[int, str]] = set()
        #: Dictionaries whose made keys are there where their list is not empty: they are only made to append something to it.
        self._appended: dict[int, bool] = {}
        #: What a missing key stands for in a dictionary that is asked by `get`, with the dictionary.
        self._defaults: dict[int, tuple[Any, Any]] = {}

    @contextmanager
    def within(self, before: Snapshot) -> Iterator[None]:
        """While the block runs, the turns of a loop are: what names stood for before it."""
        self._around.append(before)
        try:
            yield
        finally:
            self._around.pop()

    def put(self, before: Snapshot) -> None:
        """Puts the keys into dictionaries that were there before a loop."""
        for container, keys in self._wanted:
            if _is_in(container, before):
                self._put(container, keys)

    def _put(self, container: Any, keys: dict[str, Callable[[], Any]]) -> None:
        for key, make in keys.items():
            if key not in container:
                container[key] = make()
                self._made.add((id(container), key))

    def note_default(self, container: Any, value: Any) -> None:
        """Notes what a missing key stands for: `counts.get(kind, 0)`."""
        if is_number(value) or (type(value) is list and not value):
            self._defaults[id(container)] = container, value

    def need(self, container: Any, index: Any, otherwise: Callable[[], Any] | None = None, appends: bool = False) -> None:
        """Sees to it that a dictionary has all texts that an index may be, if it is known what a missing one stands for.

        Raises:
            Again: It had them not before the loop, whose turns are run again.
        """
        if not isinstance(index, Mode) or len(index.codes) > _MOST or all(text in container for text in index.codes):
            return
        self._appended[id(container)] = appends and self._appended.get(id(container), True)
        make = self._maker(container, otherwise)
        if make is None:
            return
        keys = dict.fromkeys(index.codes, make)
        if not any(_is_in(container, before) for before in self._around):
            self._put(container, keys)
            return
        known = next((known for one, known in self._wanted if one is container), None)
        if known is None:
            self._wanted.append((container, known := {}))
        known.update(keys)
        raise Again

    def _maker(self, container: Any, otherwise: Callable[[], Any] | None) -> Callable[[], Any] | None:
        """What makes the value of a missing key."""
        if otherwise is not None:
            self.note_default(container, otherwise())
        elif type(container) is Counter:
            return int
        elif type(container) is defaultdict and container.default_factory is not None:
            return container.default_factory
        known = self._defaults.get(id(container))
        if known is None:
            return None
        return list if type(known[1]) is list else lambda: known[1]

    def is_there(self, container: Any, key: Any) -> Any:
        """Whether a made key is in a dictionary; None if it is none that was made.

        Raises:
            NoBothSides: That is not known.
        """
        if isinstance(key, str) and (id(container), key) in self._made and self._appended[id(container)] and isinstance(container[key], list):
            found = container[key]
            return found.count != 0 if isinstance(found, Long) else bool(found)
        self.check(container, key)
        return None

    def stands_for(self, container: Any, key: Any, default: Any = None) -> bool:
        """Whether a key that is asked for with a default is none that was made, or the default is what it stands for if it is missing."""
        if not isinstance(key, str) or (id(container), key) not in self._made:
            return True
        make = self._maker(container, None)
        value = None if make is None else make()
        return type(value) is type(default) and (is_number(value) or type(value) is list) and bool(value == default)

    def check_returned(self, value: Any, frame: FrameType | None) -> None:
        """Ends the export if a dictionary with made keys goes to code that is not lowered, of which nothing is seen here. That code is lowered then, if it can be.

        Raises:
            NoBothSides: It does.
        """
        values = value if isinstance(value, (list, tuple)) else [value]
        if not self._made or not any(type(one) in DICTIONARIES and self._names_of(one) for one in values):
            return
        while frame is not None and kind_of_frame(frame) != "model":
            frame = frame.f_back
        if frame is None or NAME not in (*frame.f_code.co_names, *frame.f_code.co_freevars, *frame.f_code.co_cellvars):
            raise NoBothSides("a dictionary is returned whose keys follow from data", line_of_frame(frame) or line_of_model(), _HELP)

    def _names_of(self, container: Any) -> list[str]:
        """The keys of a dictionary that were made."""
        return [name for number, name in self._made if number == id(container) and name in container]

    def check(self, container: Any, key: Any = None) -> None:
        """Ends the export if a dictionary has made keys, or this one is made, and the model asks for that.

        Raises:
            NoBothSides: It does.
        """
        made = self._names_of(container)
        if made and (key is None or isinstance(key, Mode) or (isinstance(key, str) and key in made)):
            raise NoBothSides("whether a key is in a dictionary follows from data", line_of_model(), _HELP)


def check_keys(container: Any) -> None:
    """Ends the export if the model asks which keys a dictionary has, and some of them are made.

    Raises:
        NoBothSides: It does.
    """
    structure = Recorder.current.structure if Recorder.current is not None and isinstance(container, dict) else None
    if structure is not None:
        structure.keys.check(container)


def _is_in(container: Any, before: Snapshot) -> bool:
    """Whether a dictionary was there before a loop."""
    return any(known is container for known in before.containers.values())


__all__ = ["Keys", "check_keys"]
