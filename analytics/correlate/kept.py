"""What parts of families made, kept from step to step while what they were made of is the same."""

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class Kept:
    """Of this step and of the one before, so that what nobody asks for any more is forgotten. Nothing in it is state.

    A family that proposes a cause for each host or link of a storm makes most of them of the same findings as before.
    """

    def __init__(self) -> None:
        self._graph: object = None
        self._before: dict[tuple[Callable[..., Any], str], tuple[tuple[Any, ...], Any]] = {}
        self._now: dict[tuple[Callable[..., Any], str], tuple[tuple[Any, ...], Any]] = {}

    def begin(self, graph: object) -> None:
        """A new choice, which may rest on another graph."""
        self._before, self._now = self._now if graph is self._graph else {}, {}
        self._graph = graph

    def of(self, make: Callable[..., T], view: object, name: str, *args: Any) -> T:
        """What ``make`` gives for a view and these arguments, all of which, besides the graph and the settings, it must
        be made of. name: which one it is; another one of this name takes its place."""
        known = self._before.get((make, name))
        if known is None or known[0] != args:
            known = args, make(view, *args)
        self._now[make, name] = known
        found: T = known[1]
        return found
