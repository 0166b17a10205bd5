"""The whole state of an engine in one file: arrays and JSON, versioned; see ``state_file``.

The bus offsets stand in the same file as the state that they belong to: recovery is load, seek, go on.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from pydantic import TypeAdapter

from analytics.engine import Engine
from analytics.snapshot import state_file
from bus.base import Offsets
from common.errors import BadInput
from telemetry.changes import Change
from telemetry.topology import Topology, TopologyFact

STATE_VERSION = 14  # goes up with every change of what the state means
_facts = TypeAdapter(list[TopologyFact])
_changes = TypeAdapter(list[Change])


@dataclass(frozen=True)
class Mark:
    """offsets: up to which the engine has observed the bus. epoch_ns: when it began to count samples."""

    offsets: Offsets
    epoch_ns: int


def save(path: Path, engine: Engine, mark: Mark) -> None:
    """Writes the engine's state, and how far it has read; see ``state_file.write``."""
    state_file.write(path, *_state(engine, mark))


def _state(engine: Engine, mark: Mark) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    registry_head, registry_arrays = engine.registry.state()
    intake_head, intake_arrays = engine.intake.state()
    multivariate_head, multivariate_arrays = engine.multivariate.state()
    starvation_head, starvation_arrays = engine.starvation.state()
    trends_head, trends_arrays = engine.trends.state()
    head = {
        "version": STATE_VERSION,
        "config": engine.config.model_dump(mode="json"),
        "offsets": [[topic, partition, offset] for (topic, partition), offset in sorted(mark.offsets.items())],
        "epoch_ns": mark.epoch_ns,
        "registry": registry_head,
        "intake": intake_head,
        "book": engine.book.state(),
        "work": engine.work.state(),
        "multivariate": multivariate_head,
        "starvation": starvation_head,
        "trends": trends_head,
        "topology": [fact for _, fact in sorted(engine.topology.facts.items())],
        "changes": engine.changes,
        "waiting_facts": engine.waiting_facts,
        "waiting_changes": engine.waiting_changes,
        "correlator": engine.correlator.state() if engine.correlator else None,
    }
    arrays = {f"registry.{name}": array for name, array in registry_arrays.items()}
    arrays |= {f"series.{name}": array for name, array in engine.series.state().items()}
    arrays |= {f"scored.{name}": array for name, array in engine.scored.state().items()}
    arrays |= {f"targets.{name}": array for name, array in engine.targets.state().items()}
    arrays |= {f"intake.{name}": array for name, array in intake_arrays.items()}
    arrays |= {f"multivariate.{name}": array for name, array in multivariate_arrays.items()}
    arrays |= {f"starvation.{name}": array for name, array in starvation_arrays.items()}
    arrays |= {f"trends.{name}": array for name, array in trends_arrays.items()}
    return head, arrays


def load(path: Path, engine: Engine) -> Mark:
    """Puts the state into a new engine; returns where to go on from.

    Raises FileNotFoundError, and BadInput (``checksum``, ``schema``, ``version`` or ``config``) when it is not good
    for this engine, which is then untouched.
    """
    head, arrays = state_file.read(path)
    if head["version"] != STATE_VERSION:
        raise BadInput(f"snapshot of version {head['version']}: expected {STATE_VERSION}", "version")
    if head["config"] != engine.config.model_dump(mode="json"):
        raise BadInput("snapshot of another configuration: its state would not fit", "config")
    if (head["correlator"] is None) != (engine.correlator is None):
        raise BadInput("snapshot with and engine without a correlator, or the other way round", "config")
    _fill(engine, head, arrays)
    offsets = {(topic, partition): offset for topic, partition, offset in head["offsets"]}
    return Mark(offsets, head["epoch_ns"])


def _fill(engine: Engine, head: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    def of(prefix: str) -> dict[str, NDArray[Any]]:
        return {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}

    engine.registry.restore(head["registry"], of("registry."))
    engine.series.restore(of("series."))
    engine.scored.restore(of("scored."))
    engine.targets.restore(of("targets."))
    engine.intake.restore(head["intake"], of("intake."))
    engine.book.restore(head["book"])
    engine.work.restore(head["work"])
    engine.multivariate.restore(head["multivariate"], of("multivariate."))
    engine.starvation.restore(head["starvation"], of("starvation."))
    engine.trends.restore(head["trends"], of("trends."))
    engine.topology = Topology().with_facts(_facts.validate_python(head["topology"]))
    engine.changes = tuple(_changes.validate_python(head["changes"]))
    engine.waiting_facts = _facts.validate_python(head["waiting_facts"])
    engine.waiting_changes = _changes.validate_python(head["waiting_changes"])
    if engine.correlator is not None:
        engine.correlator.restore(head["correlator"])
