"""The whole state of an engine in one file: arrays and JSON, versioned; see ``state_file``.

The bus offsets are in the same file as the state that they belong to: recovery is load, seek, continue.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel

from analytics.snapshot import state_file
from analytics.snapshot.stateful import State, Stateful
from bus.base import Offsets
from common.errors import BadInput

STATE_VERSION = 15  # goes up with every change of what the state means
REMEDY = "analytics starts without history and reads what the bus still has; delete the file to silence this warning"


class Engine(Stateful, Protocol):
    """parts: what has state, by name. config: all settings that change what the state means."""

    @property
    def parts(self) -> dict[str, Stateful]: ...

    @property
    def config(self) -> BaseModel: ...


@dataclass(frozen=True)
class Mark:
    """offsets: up to which the engine has observed the bus. epoch_ns: when it began to count samples."""

    offsets: Offsets
    epoch_ns: int


def save(path: Path, engine: Engine, mark: Mark) -> None:
    """Writes the engine's state, and how far it has read; see ``state_file.write``."""
    state = engine.state()
    head = {
        "version": STATE_VERSION,
        "config": engine.config.model_dump(mode="json"),
        "offsets": [[topic, partition, offset] for (topic, partition), offset in sorted(mark.offsets.items())],
        "epoch_ns": mark.epoch_ns,
        "parts": state.head,
    }
    state_file.write(path, head, state.arrays)


def load(path: Path, engine: Engine) -> Mark:
    """Puts the state into a new engine; returns where to go on from.

    Raises FileNotFoundError, and BadInput (``checksum``, ``schema``, ``version`` or ``config``) when it is not good
    for this engine, which is then untouched.
    """
    head, arrays = state_file.read(path)
    if head["version"] != STATE_VERSION:
        raise BadInput(f"snapshot of version {head['version']}, expected {STATE_VERSION}: {REMEDY}", "version")
    if head["config"] != engine.config.model_dump(mode="json"):
        raise BadInput(f"snapshot of another configuration: {REMEDY}", "config")
    if head["parts"].keys() != engine.parts.keys():
        raise BadInput(f"snapshot of an engine with other parts: {REMEDY}", "config")
    engine.restore(State(head["parts"], arrays))
    return Mark({(topic, partition): offset for topic, partition, offset in head["offsets"]}, head["epoch_ns"])
