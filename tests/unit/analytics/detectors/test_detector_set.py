"""Detectors side by side: one that raises abstains and forgets that tick, the others go on."""

from dataclasses import dataclass

import numpy as np

from analytics.detectors.detector_set import DetectorSet
from analytics.detectors.lifecycle import FindingTracker
from analytics.detectors.spec import Detector, Verdicts
from analytics.state.memory import Memory, MemoryColumn
from analytics.view.tick_view import TickView
from telemetry.findings import FindingKind
from tests.unit.analytics.detectors.ticks import at_each_tick, collected
from tests.unit.analytics.small_cluster import batch, clockwork, port_key, table

METRIC = "fabric_port_up"
KEYS = [port_key(METRIC, f"Ethernet{n}") for n in range(2)]


@dataclass(frozen=True, kw_only=True)
class Counting(Detector):
    """Counts its ticks and breaches from the third on; raises in every ``raises``-th tick after it has counted."""

    raises: int = 0
    kind: FindingKind = FindingKind.LINK_DOWN
    memory: tuple[MemoryColumn, ...] = (MemoryColumn("ticks"),)

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        column = view.column(METRIC)
        rows = memory.rows(column.sids)
        memory["ticks"][rows] += 1.0
        if self.raises and int(memory["ticks"][rows].max(initial=1.0)) % self.raises == 0:
            raise RuntimeError(self.name)
        score = memory["ticks"][rows] / 3.0
        return [Verdicts(column.objects, np.full(rows.size, view.end_ns), score >= 1.0, score)]


def played(detectors: DetectorSet, ticks: int = 3) -> list[list[str]]:
    tracker = FindingTracker()

    def judged(view: TickView) -> list[str]:
        return [f"{finding.detector} {finding.object.name}" for finding in detectors.judge(view, tracker)]

    return at_each_tick(judged, collected(KEYS, [(1.0, 1.0)] * ticks))


def ticks_of(detectors: DetectorSet, name: str) -> list[float]:
    ticks: list[float] = detectors.blocks[f"detectors.{name}"].part.state().arrays["ticks"].tolist()
    return ticks


def test_each_detector_has_its_own_memory_and_findings() -> None:
    both = [["one leaf1/Ethernet0", "one leaf1/Ethernet1", "other leaf1/Ethernet0", "other leaf1/Ethernet1"]]
    assert played(DetectorSet([Counting(name="one"), Counting(name="other")]))[2:3] == both


def test_one_that_raises_abstains_and_its_memory_stays_as_it_was() -> None:
    detectors = DetectorSet([Counting(name="bad", raises=2), Counting(name="good")])
    published = [finding for tick in played(detectors) for finding in tick]
    assert {finding.partition(" ")[0] for finding in published} == {"good"}
    assert {name for name, _ in detectors.failures} == {"bad"}
    assert ticks_of(detectors, "bad") == [1.0, 1.0]  # the second count never stays


def test_series_that_are_dropped_are_forgotten_by_every_memory() -> None:
    detectors = DetectorSet([Counting(name="one"), Counting(name="other")])
    played(detectors)
    before = ticks_of(detectors, "one")
    detectors.keep(np.array([1]))
    assert len(before) == 2
    assert ticks_of(detectors, "one") == ticks_of(detectors, "other") == before[1:]


def test_a_restored_set_remembers_what_the_other_counted() -> None:
    first, second = DetectorSet([Counting(name="one")]), DetectorSet([Counting(name="one")])
    played(first)
    for name, block in second.blocks.items():
        block.part.restore(first.blocks[name].part.state())
    assert ticks_of(second, "one") == ticks_of(first, "one") != [0.0, 0.0]


def test_a_detector_is_asked_once_a_series_that_it_reads_has_come() -> None:
    """Which ones have something to read is kept while the series are the same."""
    detectors, tracker = DetectorSet([Counting(name="other", metrics=("fabric_port_flaps_total",))]), FindingTracker()
    ports = table("leaf1", KEYS)
    flaps = table("leaf1", [port_key("fabric_port_flaps_total", "Ethernet0")], "flaps")
    batches = [*(batch(ports, seq, (1.0, 1.0)) for seq in range(3)), batch(flaps, 3, (0.0,)), *clockwork(0, [4, 5])]
    asked: list[float] = []

    def judged(view: TickView) -> None:
        detectors.judge(view, tracker)
        asked.append(max(ticks_of(detectors, "other"), default=0.0))

    at_each_tick(judged, batches)
    first = asked.index(1.0)
    assert 0 < first < len(asked) - 1
    assert asked[first:] == [float(count) for count in range(1, len(asked) - first + 1)]
