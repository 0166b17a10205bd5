"""The one shape of everything that outlives a restart."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from numpy.typing import NDArray


class State(NamedTuple):
    """head: JSON values. arrays: by name; views are enough, the snapshot writes them before anything changes."""

    head: Any
    arrays: Mapping[str, NDArray[Any]]


class Stateful(Protocol):
    """A part with memory. ``restore`` goes on from a ``state`` as if nothing had happened in between."""

    def state(self) -> State: ...

    def restore(self, state: State) -> None: ...


def joined(parts: Mapping[str, Stateful]) -> State:
    """The states of several parts as one: heads by name, arrays by ``part/array``."""
    states = {name: part.state() for name, part in parts.items()}
    arrays = {f"{name}/{key}": array for name, state in states.items() for key, array in state.arrays.items()}
    return State({name: state.head for name, state in states.items()}, arrays)


def parted(state: State) -> dict[str, State]:
    """The states again that ``joined`` has made one of, by the name of their part, which has no slash."""
    arrays: dict[str, dict[str, NDArray[Any]]] = {name: {} for name in state.head}
    for key, array in state.arrays.items():
        name, _, own = key.partition("/")
        arrays[name][own] = array
    return {name: State(head, arrays[name]) for name, head in state.head.items()}


def restore_joined(parts: Mapping[str, Stateful], state: State) -> None:
    """Gives every part its own share of a state that ``joined`` made of the same parts."""
    states = parted(state)
    for name, part in parts.items():
        part.restore(states[name])


class Joined:
    """Several parts that are kept or begun again together."""

    def __init__(self, parts: Mapping[str, Stateful]) -> None:
        self._parts = parts

    def state(self) -> State:
        return joined(self._parts)

    def restore(self, state: State) -> None:
        restore_joined(self._parts, state)
