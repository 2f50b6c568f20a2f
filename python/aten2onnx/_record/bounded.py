"""Ends runs at other sizes that make many more calls than the one at the example: the turns of a loop may double with each row of its input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch.overrides import TorchFunctionMode

#: A run at other sizes may make so many calls, or so many times those of the first run.
_CALLS, _TIMES = 8_000, 20
#: So many more, where the limit is reached, before it is an error again.
_TO_LEAVE = 100


class TooManyCalls(RuntimeError):
    """A run that makes more calls than it may."""


class Reach:
    """How far runs at other sizes may go.

    Attributes:
        most: The calls that a run may make; None if there is no limit yet.
    """

    def __init__(self, most: int | None = None) -> None:
        self.most = most
        self._beyond: list[dict[str, int]] = []

    def start(self, calls: int) -> None:
        """Sets the limit by the calls of the first run."""
        self.most = max(_CALLS, _TIMES * calls)

    def note(self, error: BaseException, sizes: Mapping[str, int]) -> None:
        """Notes sizes at which a run failed, if it was for its calls."""
        if isinstance(error, TooManyCalls):
            self._beyond.append(dict(sizes))

    def is_beyond(self, sizes: Mapping[str, int]) -> bool:
        """Whether no dimension is smaller than in a run that made too many calls."""
        return any(all(sizes.get(symbol, 0) >= size for symbol, size in known.items()) for known in self._beyond)


class Bounded(TorchFunctionMode):
    """Ends a run of PyTorch's own after so many calls."""

    def __init__(self, most: int | None) -> None:
        super().__init__()
        self.most = most
        self.calls = 0

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls += 1
        most = self.most
        if most is not None and self.calls > most:
            # Blocks that the error leaves make calls too: `torch.no_grad` puts the mode of gradients back by one.
            self.most = self.calls + _TO_LEAVE
        check_calls(self.calls, most)
        return function(*args, **(kwargs or {}))


def check_calls(calls: int, most: int | None) -> None:
    """Compares the calls of a run with those that it may make.

    Raises:
        TooManyCalls: There are more.
    """
    if most is not None and calls > most:
        raise TooManyCalls(f"a run at other sizes makes more than {most} calls")


__all__ = ["Bounded", "Reach", "TooManyCalls", "check_calls"]
