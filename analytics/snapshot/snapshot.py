"""The whole state of an engine in one file: arrays and JSON by block; see ``state_file``.

The bus offsets are in the same file as the state that they belong to: recovery is load, seek, continue. What does not
fit begins again alone; see ``fit``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel

from analytics.snapshot import state_file, version_15
from analytics.snapshot.block import Block, SavedBlock
from analytics.snapshot.fit import Cause, Changes, Misfit, changes, fitted, metric_definitions
from analytics.snapshot.stateful import State, joined, parted
from bus.base import Offsets
from bus.owner.fence import Epochs, RoleInPartition
from common.errors import BadInput

STATE_VERSION = 16  # of the head; what a block means has a number of its own
REMEDY = "analytics starts without history and reads what the bus still has"
_OLDER = f"{REMEDY}; delete the file to silence this warning"
_NEWER = f"{REMEDY}; to keep it, stop before the next snapshot and start the newer version again"


class Engine(Protocol):
    """blocks: what has state, by name, in the order in which it is restored. config: what blocks may depend on."""

    @property
    def blocks(self) -> dict[str, Block]: ...

    @property
    def config(self) -> BaseModel: ...

    def adopt(self, saved_settings: Mapping[str, Any], since: Changes) -> None:
        """After the blocks were restored: ends what the present settings and metrics have no place for."""
        ...


@dataclass(frozen=True)
class Mark:
    """offsets: up to which the engine has observed the bus. epoch_ns: when it began to count samples.

    epochs: the newest owners up to there.
    """

    offsets: Offsets
    epoch_ns: int
    epochs: Epochs = field(default_factory=dict)


@dataclass(frozen=True)
class Loaded:
    """mark: where to go on from. begun_again: blocks that the engine has and begins again. unknown: blocks that it has
    not, which are left out.
    """

    mark: Mark
    begun_again: Mapping[str, Misfit]
    unknown: tuple[str, ...]


def save(path: Path, engine: Engine, mark: Mark) -> None:
    """Writes the engine's state, and how far it has read; see ``state_file.write``."""
    blocks = engine.blocks
    state = joined({name: block.part for name, block in blocks.items()})
    head = {
        "version": STATE_VERSION,
        "config": engine.config.model_dump(mode="json"),
        "metrics": metric_definitions(),
        "offsets": [[topic, partition, offset] for (topic, partition), offset in sorted(mark.offsets.items())],
        "epoch_ns": mark.epoch_ns,
        "epochs": [[*place, epoch] for place, epoch in sorted(mark.epochs.items())],
        "blocks": {name: [block.rule.format, block.rule.definition] for name, block in blocks.items()},
        "parts": state.head,
    }
    state_file.write(path, head, state.arrays)


def load(path: Path, engine: Engine) -> Loaded:
    """Puts what fits of the state into a new engine.

    Raises FileNotFoundError, and BadInput (``checksum``, ``schema`` or ``version``) when nothing of it can be used.
    The engine is then no longer new, unless the reason is ``checksum`` or ``version``.
    """
    head, arrays = state_file.read(path)
    if head["version"] == version_15.VERSION:
        head, arrays = version_15.converted(head, arrays)
    elif head["version"] != STATE_VERSION:
        remedy = _NEWER if head["version"] > STATE_VERSION else _OLDER
        raise BadInput(f"snapshot of version {head['version']}, expected {STATE_VERSION}: {remedy}", "version")
    since = changes(head["config"], head["metrics"], engine.config)
    saved = _saved(head, arrays)
    blocks = engine.blocks
    found = {name: fitted(block, saved.get(name), since) for name, block in blocks.items()}
    begun_again = {name: state for name, state in found.items() if isinstance(state, Misfit)}
    for name, why in begun_again.items():
        if blocks[name].rule.essential:
            raise BadInput(f"snapshot without {name} ({why.text}): {REMEDY}", "version")
    for name, state in found.items():
        if isinstance(state, State):
            blocks[name].part.restore(state)
    engine.adopt(head["config"], since)
    offsets = {(topic, partition): offset for topic, partition, offset in head["offsets"]}
    # an earlier version keeps none
    epochs = {RoleInPartition(*place): epoch for *place, epoch in head.get("epochs", ())}
    mark = Mark(offsets, head["epoch_ns"], epochs)
    lost = {name: why for name, why in begun_again.items() if why.cause is not Cause.ABSENT}
    return Loaded(mark, lost, tuple(sorted(saved.keys() - blocks.keys())))


def _saved(head: Mapping[str, Any], arrays: state_file.Arrays) -> dict[str, SavedBlock]:
    states = parted(State(head["parts"], arrays))
    return {name: SavedBlock(number, text, states[name]) for name, (number, text) in head["blocks"].items()}
