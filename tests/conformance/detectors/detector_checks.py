"""What every detector must keep to, whatever it looks for.

The checks run the whole engine on a synthetic cluster, because what a detector must not touch is the engine around it.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson

from analytics.config import EngineConfig
from analytics.detectors.detector_set import DetectorSet
from analytics.detectors.spec import Detector, Verdicts
from analytics.engine import Engine
from analytics.snapshot.stateful import State, joined
from analytics.state.memory import Memory
from analytics.view.tick_view import TickView
from telemetry.codec.records import encode_record
from telemetry.findings import Finding
from telemetry.samples import SampleBatch
from tests.conformance.detectors.eventful_cluster import CHANGES, FACTS
from tests.unit.analytics.restart import restarted

Detectors = Callable[[], Sequence[Detector]]
"""Makes new ones, as a restarted process does."""
Published = dict[str, list[bytes]]
"""Detector -> its findings as they are published, in order."""
STATE_EVERY_TICKS = 12


def engine_of(detectors: Iterable[Detector], interval_s: float = 10) -> Engine:
    engine = Engine(EngineConfig(interval_s=interval_s))
    engine.detectors = DetectorSet(detectors)
    engine.add_facts(FACTS)
    for change in CHANGES:
        engine.add_change(change)
    return engine


def published(engine: Engine, batches: Sequence[SampleBatch], chunk: int = 1) -> Published:
    """What its detectors publish; ``chunk`` batches are observed at once."""
    by_detector: Published = {detector.name: [] for detector in engine.detectors.detectors}
    for start in range(0, len(batches), chunk):
        for batch in batches[start : start + chunk]:
            engine.observe(batch)
        for output in engine.advance():
            if isinstance(output, Finding) and output.detector in by_detector:
                by_detector[output.detector].append(encode_record(output))
    return by_detector


def differing(one: Published, other: Published) -> set[str]:
    """The detectors that do not publish the same in both; one that publishes in one of them only is left out."""
    return {name for name in one.keys() & other.keys() if one[name] != other[name]}


@dataclass(frozen=True, kw_only=True)
class Inspected(Detector):
    """A detector judged twice in every tick; ``problems`` lists what it did that it may not."""

    inner: Detector
    engine: Callable[[], Engine]
    problems: list[str] = field(default_factory=list)
    breached: list[int] = field(default_factory=list)

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        before = self._everything(view)
        first = memory.draft()
        try:
            twice = self.inner.judge(view, first), self.inner.judge(view, memory)
        except Exception as error:
            self.problems.append(f"raises {error!r}")
            raise
        if not all(map(_same, *twice)):
            self.problems.append("judges the same tick in two ways")
        if not _same_state(first.state(), memory.state()):
            self.problems.append("remembers the same tick in two ways")
        if self._everything(view) != before:
            self.problems.append("changes the engine, or itself")
        if len(memory) > (len(view.index) if self.memory else 0):
            self.problems.append("remembers more series than there are")
        for verdicts in twice[1]:
            self.problems.extend(_misshapen(verdicts))
            self.breached.append(int(np.count_nonzero(verdicts.breached)))
        return twice[1]

    def _everything(self, view: TickView) -> bytes:
        """All that it can reach but its memory; not in every tick, as that takes long."""
        if view.end_ns // view.config.tick_ns % STATE_EVERY_TICKS:
            return b""
        head, arrays = joined({name: block.part for name, block in self.engine().blocks.items()})
        own = repr(vars(self.inner)).encode()
        return b"".join([own, orjson.dumps(head), *(array.tobytes() for array in arrays.values())])


def _same(one: Verdicts, other: Verdicts) -> bool:
    def columns(verdicts: Verdicts) -> list[Any]:
        evidence = [value for each in verdicts.evidence for value in (each.sids, each.values, each.normals)]
        return [verdicts.objects, verdicts.times_ns, verdicts.breached, verdicts.score, verdicts.confidence, *evidence]

    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(columns(one), columns(other), strict=True))


def _same_state(one: State, other: State) -> bool:
    return all(np.array_equal(array, other.arrays[name], equal_nan=True) for name, array in one.arrays.items())


def _misshapen(verdicts: Verdicts) -> Iterable[str]:
    n = verdicts.objects.size
    if np.unique(verdicts.objects).size != n:
        yield "gives an object several verdicts"
    sizes = {verdicts.times_ns.size, verdicts.breached.size, verdicts.score.size}
    sizes.update(size for each in verdicts.evidence for size in (each.sids.size, each.values.size, each.normals.size))
    if sizes != {n}:
        yield "gives columns of several lengths"
    elif np.isnan(verdicts.score).any() or (verdicts.breached < (verdicts.score >= 1.0)).any():
        yield "does not breach at its limit"


def inspected(detectors: Detectors, batches: Sequence[SampleBatch]) -> dict[str, Inspected]:
    """All detectors after one run over ``batches``, with what is wrong with them."""
    wrapped = [_inspect(detector, lambda: engine) for detector in detectors()]
    engine = engine_of(wrapped)
    published(engine, batches)
    return {detector.name: detector for detector in wrapped}


def _inspect(inner: Detector, engine: Callable[[], Engine]) -> Inspected:
    return Inspected(**_shape(inner), inner=inner, engine=engine)


def reversed_order(detectors: Detectors, batches: Sequence[SampleBatch]) -> Published:
    return published(engine_of(reversed(detectors())), batches)


def restarted_after(detectors: Detectors, batches: Sequence[SampleBatch], cut: int) -> Published:
    """Of a process that goes on from the snapshot that another made after ``cut`` batches."""
    engine = engine_of(detectors())
    before = published(engine, batches[:cut])
    after = published(restarted(engine, engine_of(detectors())), batches[cut:])
    return {name: before[name] + after[name] for name in before}


@dataclass(frozen=True, kw_only=True)
class Raising(Detector):
    """Scribbles over its memory and raises, in every second tick."""

    inner: Detector

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        if view.end_ns // view.config.tick_ns % 2 == 0:
            return self.inner.judge(view, memory)
        for column in self.memory:
            memory[column.name][:] = 1
        raise RuntimeError("a bug")


def beside_raising(detectors: Detectors, batches: Sequence[SampleBatch], raising: Collection[str]) -> Published:
    """Of the others when these raise."""
    got = published(engine_of(_raise(each) if each.name in raising else each for each in detectors()), batches)
    return {name: findings for name, findings in got.items() if name not in raising}


def _raise(inner: Detector) -> Raising:
    return Raising(**_shape(inner), inner=inner)


def _shape(detector: Detector) -> dict[str, Any]:
    return {name: getattr(detector, name) for name in Detector.__dataclass_fields__}


def found_in_health(detectors: Detectors, batches: Iterable[SampleBatch], interval_s: float) -> list[bytes]:
    """What they find where nothing happens."""
    engine = engine_of(detectors(), interval_s)
    return [finding for batch in batches for found in published(engine, [batch]).values() for finding in found]
