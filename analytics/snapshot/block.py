"""A part of the engine's state that is kept, migrated or begun again alone, and what its numbers depend on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from analytics.snapshot.stateful import State, Stateful

Migration = Callable[[State], State]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """When the stored state of a block can be used.

    format: goes up when the same names and types mean something else. migrations: pure, by the format that each
    reads; it gives the next one. settings: paths in ``EngineConfig`` whose change gives the numbers another meaning;
    limits that are only compared with them are none. metrics: names of the catalogue that the block is about as a
    whole; series are compared one by one, see ``Engine.adopt``. definition: whatever else its rows and columns stand
    for, as text. essential: without it nothing of the snapshot is used, as the others or the offsets rest on it.
    """

    format: int = 1
    migrations: Mapping[int, Migration] = field(default_factory=dict)
    settings: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    definition: str = ""
    essential: bool = False


class Block(NamedTuple):
    """What has the state, and when a stored one fits it."""

    part: Stateful
    rule: Rule


class SavedBlock(NamedTuple):
    """definition: None where the snapshot does not say, and it is taken for today's."""

    format: int
    definition: str | None
    state: State
