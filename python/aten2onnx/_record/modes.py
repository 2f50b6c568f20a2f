"""Text that a branch or a turn gives another value: `mode = "up"`. In the file it is a number, which stands for one of the texts that the model's code has there.

It may be compared, choose among names (`self.heads[mode]`), and stand in messages. Nothing else is done with it: the file has no text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch

from .numbers import plain
from .picked import picked_of
from .places import line_of_model
from .texts import is_told
from .turns import NoBothSides

#: Under this key the numbers of texts are kept, the same in all runs.
_KEY = ("texts", None)
_HELP = "compare the text (`if mode == \"up\"`), find something by it (`self.heads[mode]`), or use numbers in place of it"
#: Of more names than this none is chosen.
_MOST = 64


class Mode:
    """A text that a number of the file chooses.

    Attributes:
        number: The number of the text.
        codes: The numbers of all texts.
    """

    __slots__ = ("codes", "number")

    def __init__(self, number: Any, codes: dict[str, int]) -> None:
        self.number, self.codes = number, codes

    @property
    def now(self) -> str:
        """The text in this run."""
        code = plain(self.number)
        return next(text for text, known in self.codes.items() if known == code)

    def __eq__(self, other: Any) -> Any:
        if isinstance(other, (str, Mode)):
            return self.number == code_of(other, self.codes)
        return False

    def __ne__(self, other: Any) -> Any:
        if isinstance(other, (str, Mode)):
            return self.number != code_of(other, self.codes)
        return True

    def __bool__(self) -> bool:
        return bool(self != "")

    def __str__(self) -> str:
        if is_told():
            return self.now
        raise _refused("text is made of it")

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __repr__(self) -> str:
        return repr(str(self))

    def __hash__(self) -> int:
        raise _refused("it is a key of a dictionary or an element of a set")

    def __getattr__(self, name: str) -> Any:
        raise _refused(f"`{name}` of it is read")

    def _of_text(self, *_: Any) -> Any:
        raise _refused("it is taken apart or put together")

    __len__ = __iter__ = __getitem__ = __contains__ = __add__ = __radd__ = __mod__ = __mul__ = __lt__ = __le__ = __gt__ = __ge__ = _of_text


def _refused(what: str) -> NoBothSides:
    return NoBothSides(f"a text is another one on the other side of a branch, or in another turn, and {what}", line_of_model(), _HELP)


def is_text(value: Any) -> bool:
    return isinstance(value, (str, Mode))


def code_of(text: Any, codes: dict[str, int]) -> Any:
    """The number of a text."""
    return text.number if isinstance(text, Mode) else codes.setdefault(str(text), len(codes))


def codes_in(lengths: dict[Any, Any]) -> dict[str, int]:
    """The numbers of texts, in what all runs share."""
    return lengths.setdefault(_KEY, {})  # type: ignore[no-any-return]


def found_by(structure: Any, container: Any, mode: Mode) -> Any:
    """`container[mode]`."""
    if not isinstance(container, (Mapping, torch.nn.ModuleDict, torch.nn.ParameterDict)):
        return container[mode]
    return _chosen(structure, container.__getitem__, list(container), mode)


def found_or(structure: Any, container: Any, mode: Mode, otherwise: Any) -> Any:
    """`container.get(mode, otherwise)`."""
    known = [name for name in container if isinstance(name, str) and name in mode.codes]
    if len(known) > _MOST:
        raise _refused(f"it chooses among more than {_MOST} names")
    tests: list[Callable[[], Any]] = [partial(mode.__eq__, name) for name in known]
    return picked_of(structure, [*(container[name] for name in known), otherwise], tests)


def attribute_by(structure: Any, owner: Any, mode: Mode) -> Any:
    """`getattr(owner, mode)`."""
    return _chosen(structure, partial(getattr, owner), dir(owner), mode)


def _chosen(structure: Any, find: Callable[[str], Any], names: list[Any], mode: Mode) -> Any:
    """What a text finds among names. Texts that the code has not given it so far may be others."""
    known = [name for name in names if isinstance(name, str) and name in mode.codes]
    if len(known) > _MOST:
        raise _refused(f"it chooses among more than {_MOST} names")
    if mode.now not in known:
        return find(mode.now)
    tests: list[Callable[[], Any]] = [partial(mode.__eq__, name) for name in known]
    return picked_of(structure, [find(name) for name in known], tests)


__all__ = ["Mode", "attribute_by", "code_of", "codes_in", "found_by", "found_or", "is_text"]
