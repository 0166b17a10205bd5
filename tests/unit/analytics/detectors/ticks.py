"""Calls a function with the view of every tick, as a detector gets it, without any detector around."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from analytics.config import EngineConfig
from analytics.detectors.detector_set import DetectorSet
from analytics.detectors.spec import Detector, Verdicts
from analytics.engine import Engine
from analytics.state.memory import Memory
from analytics.view.tick_view import TickView
from telemetry.findings import FindingKind
from telemetry.samples import SampleBatch
from telemetry.topology import Entity, TopologyFact
from tests.unit.analytics.small_cluster import CONFIG, START_NS, batch, clockwork, run, table

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class _Probe(Detector):
    work: Callable[[TickView], Any]
    name: str = "probe"
    kind: FindingKind = FindingKind.DEVIATION

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        self.work(view)
        return []


def at_each_tick(
    work: Callable[[TickView], T],
    batches: Iterable[SampleBatch],
    entities: Iterable[Entity] = (),
    config: EngineConfig = CONFIG,
) -> list[T]:
    """What ``work`` returns at each tick of half an interval, in order."""
    found: list[T] = []
    engine = Engine(config)
    engine.detectors = DetectorSet([_Probe(work=lambda view: found.append(work(view)))])
    engine.add_facts(TopologyFact(entity, START_NS - 1, "test") for entity in entities)
    run(engine, batches)
    return found


def collected(keys: Sequence[str], rows: Sequence[Sequence[float]], device: str = "leaf1") -> list[SampleBatch]:
    """One collection of one target a row, and a clock that closes the last tick."""
    of = table(device, keys)
    return [*(batch(of, seq, row) for seq, row in enumerate(rows)), *clockwork(0, [len(rows), len(rows) + 1])]
