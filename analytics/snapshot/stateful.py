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


def restore_joined(parts: Mapping[str, Stateful], state: State) -> None:
    """Gives every part its own share of a state that ``joined`` made of the same parts."""
    for name, part in parts.items():
        prefix = f"{name}/"
        own = {key.removeprefix(prefix): array for key, array in state.arrays.items() if key.startswith(prefix)}
        part.restore(State(state.head[name], own))
