"""The engine whose snapshots are kept in ``tests/data/snapshots``.

``python -m tests.unit.analytics.snapshot.kept FILE`` writes one with the program of today.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

from analytics.config import EngineConfig
from analytics.engine import Engine, Output
from analytics.snapshot import snapshot
from analytics.snapshot.snapshot import Loaded, Mark
from analytics.worker import build_engine
from telemetry.samples import SampleBatch
from tests.conformance.detectors.eventful_cluster import CHANGES, FACTS, Cluster

SNAPSHOTS = Path(__file__).parents[3] / "data" / "snapshots"
NEWEST = SNAPSHOTS / "version-16.snapshot"
ROUNDS = 40  # ten of them with everything broken
TARGETS = 7
MARK = Mark({("fabricscope.samples.v1", 0): ROUNDS * TARGETS}, 123)


def batches(since: int, until: int) -> list[SampleBatch]:
    """The collections of these rounds."""
    return [each for each in Cluster(eventful=True).batches(until) if each.collection.seq >= since]


def observed(engine: Engine, of: Iterable[SampleBatch]) -> list[Output]:
    outputs: list[Output] = []
    for batch in of:
        engine.observe(batch)
        outputs.extend(engine.advance())
    assert not engine.detectors.failures
    return outputs


def loaded(path: Path, config: EngineConfig | None = None) -> tuple[Engine, Loaded]:
    """A new engine that goes on from a snapshot."""
    engine = build_engine(config or EngineConfig())
    return engine, snapshot.load(path, engine)


def open_incidents(engine: Engine) -> dict[str, str]:
    """Their kinds by id."""
    assert engine.correlator is not None
    tracks = engine.correlator.state().head["tracks"]
    return {track["id"]: track["cause"]["kind"] for track in tracks if track["id"]}


def begun() -> Engine:
    """A new engine that knows the cluster."""
    engine = build_engine(EngineConfig())
    engine.add_facts(FACTS)
    for change in CHANGES:
        engine.add_change(change)
    return engine


def main(path: Path) -> None:
    engine = begun()
    observed(engine, batches(0, ROUNDS))
    snapshot.save(path, engine, MARK)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
