"""The pure step of the analytics stage: sample batches in, findings and incidents out, all of it in event time.

No clock, no randomness, no I/O. Results depend on what was observed and not on when, how fast or in which portions:
the same recording gives the same findings and incidents, byte for byte.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from analytics.config import EngineConfig
from analytics.derived.job_activity import JobActivity
from analytics.derived.trend_history import TrendHistory
from analytics.derived.working_gpus import WorkingGpus
from analytics.detectors import detectors
from analytics.detectors.detector_set import DetectorSet
from analytics.detectors.lifecycle import FindingTracker
from analytics.detectors.multivariate.stage import Multivariate
from analytics.detectors.spec import Scope
from analytics.snapshot.stateful import State, Stateful, joined, restore_joined
from analytics.starvation.ledger import StarvationLedger
from analytics.state import rates
from analytics.state.cluster_records import ClusterRecords
from analytics.state.columns import ReadOnlyColumns
from analytics.state.registry import Registry
from analytics.state.series_state import SeriesState
from analytics.state.target_state import TargetState
from analytics.state.tick import Tick, pack
from analytics.state.topology_index import TopologyIndex, index_topology
from analytics.view.derived import Derived
from analytics.view.tick_data import SelectionCache, TickData
from analytics.view.tick_view import TickView
from analytics.window.watermark import DropReason, SampleCounts, TickWindow
from telemetry.changes import Change
from telemetry.findings import Finding
from telemetry.incidents import Incident
from telemetry.samples import SampleBatch
from telemetry.topology import Topology, TopologyFact

Output = Finding | Incident
ALL_SCOPES = frozenset(Scope)
_EVICT_EVERY_TICKS = 64
_DROPPED = {DropReason.OUT_OF_ORDER: rates.OUT_OF_ORDER, DropReason.NOT_FINITE: rates.NOT_FINITE}


class Correlator(Stateful, Protocol):
    """Findings to incidents; see ``analytics.correlate``."""

    def step(
        self, now_ns: int, changed: Sequence[Finding], topology: Topology, changes: Sequence[Change]
    ) -> list[Incident]: ...


class Engine:
    """All state of one analytics worker: ``parts``, each with a memory of its own and the same shape.

    correlator: None for findings only. scopes: of the detectors that it runs. A worker that owns some devices needs
    those of ``Scope.DEVICE``; what compares devices needs the series of all and runs once.
    """

    def __init__(
        self, config: EngineConfig, correlator: Correlator | None = None, scopes: Collection[Scope] = ALL_SCOPES
    ) -> None:
        self.config, self.correlator = config, correlator
        self.window = TickWindow(config)
        self.registry = Registry(config.series_max, config.detection.scored)
        self.series, self.targets = SeriesState(config), TargetState(config.interval_ns)
        self.cluster = ClusterRecords()
        self.activity, self.working, self.trends = JobActivity(), WorkingGpus(), TrendHistory()
        self.detectors = DetectorSet(each for each in detectors(config.detection) if each.scope in scopes)
        self.findings = FindingTracker()
        self._compares = Scope.CLUSTER in scopes
        self.multivariate = Multivariate(config.multivariate, config.interval_ns)
        self.starvation = StarvationLedger()
        self.quality_counts: dict[str, int] = {}  # series by quality, as of the newest tick
        self._selections = SelectionCache(self.registry)
        self._indexed: tuple[int, Topology | None, TopologyIndex] = (-1, None, TopologyIndex())

    @property
    def parts(self) -> dict[str, Stateful]:
        """Everything that outlives a restart, by name."""
        always: dict[str, Stateful] = {
            "window": self.window,
            "registry": self.registry,
            "series": self.series,
            "targets": self.targets,
            "cluster": self.cluster,
            "trends": self.trends,
            "detectors": self.detectors,
            "findings": self.findings,
        }
        compares: dict[str, Stateful] = {
            "activity": self.activity,
            "working": self.working,
            "multivariate": self.multivariate,
            "starvation": self.starvation,
        }
        correlator = {"correlator": self.correlator} if self.correlator else {}
        return {**always, **(compares if self._compares else {}), **correlator}

    def state(self) -> State:
        return joined(self.parts)

    def restore(self, state: State) -> None:
        restore_joined(self.parts, state)

    @property
    def counts(self) -> SampleCounts:
        return self.window.counts

    def observe(self, batch: SampleBatch) -> None:
        """Adds a batch; it is processed once its tick closes."""
        self.window.add(batch)

    def add_facts(self, facts: Iterable[TopologyFact]) -> None:
        """Adds topology; each fact holds from the tick in which it was observed."""
        self.cluster.add_facts(facts)

    def add_change(self, change: Change) -> None:
        """Adds a change; it counts from the tick in which it starts."""
        self.cluster.add_change(change)

    def advance(self) -> list[Output]:
        """Closes every tick that is complete; returns the findings and incidents that changed, in event order."""
        outputs: list[Output] = []
        for end_ns, batches in self.window.pop_closed():
            outputs.extend(self._close(end_ns, batches))
        return outputs

    def _close(self, end_ns: int, batches: list[SampleBatch]) -> list[Output]:
        self.cluster.update(end_ns)
        self._process(end_ns, batches)
        view = self.view(end_ns)
        view = view.with_derived(self._derived(view))
        findings = self.detectors.judge(view, self.findings)
        self.quality_counts = view.quality_counts
        if self._compares:
            findings += self.multivariate.update(view, self.findings, findings)
            self.starvation.update(view, self.findings)
        incidents: list[Incident] = []
        if self.correlator is not None:
            incidents = self.correlator.step(end_ns, findings, self.cluster.topology, self.cluster.changes)
        self._evict(end_ns)
        return [*findings, *incidents]

    def _process(self, end_ns: int, batches: list[SampleBatch]) -> None:
        """The samples of a tick into the state of their series and targets; each of them is counted."""
        tick = pack(batches, self.registry, self.counts)
        self.registry.intern_devices()
        series, targets = self.series.columns, self.targets.columns
        series.grow(len(self.registry))
        targets.grow(len(self.registry.targets))
        began_ns = min((batch.collection.collected_ns for batch in batches), default=end_ns)
        self.targets.update(tick, [batch.collection.up for batch in batches], began_ns)
        self.registry.update_seen(tick.sids, np.repeat(tick.collected_ns, np.diff(tick.starts)))
        repeated = self.targets.repetitions(tick, series, self.registry, self.cluster.topology)
        if repeated.any():
            self.counts.processed += int(np.diff(tick.starts)[repeated].sum())
            tick = tick.only(~repeated[tick.batch_of])
        status = self.series.process(tick, self.registry)
        self._count(tick, status)
        self.targets.update_resets(tick, status == rates.RESET, self.registry)

    def _count(self, tick: Tick, status: NDArray[np.uint8]) -> None:
        tally = np.bincount(status, minlength=len(rates.Status))
        for reason, code in _DROPPED.items():
            self.counts.drop(reason, int(tally[code]))
        self.counts.processed += len(tick) - sum(int(tally[code]) for code in _DROPPED.values())

    def view(self, end_ns: int) -> TickView:
        """What is known at a time, to be read."""
        data = TickData(
            end_ns,
            self.config,
            index=self.registry,
            series=ReadOnlyColumns(self.series.columns),
            targets=ReadOnlyColumns(self.targets.columns),
            topology=self.cluster.topology,
            topology_index=self._topology_index(),
            changes=self.cluster.changes,
            selections=self._selections,
        )
        watched = np.zeros(len(self.registry.objects), bool)
        numbers = (self.registry.objects.get(name) for name in self.findings.objects())
        watched[[number for number in numbers if number is not None]] = True
        return TickView(data, watched)

    def _topology_index(self) -> TopologyIndex:
        version, topology, index = self._indexed
        if version != self.registry.version or topology is not self.cluster.topology:
            index = index_topology(self.registry, self.cluster.topology)
            self._indexed = (self.registry.version, self.cluster.topology, index)
        return index

    def _derived(self, view: TickView) -> Derived:
        """What detectors share, each by a part of its own."""
        forecasts = self.trends.update(view)
        if not self._compares:
            return Derived(forecasts=forecasts)
        return Derived(self.activity.update(view), self.working.update(view), forecasts)

    def _evict(self, end_ns: int) -> None:
        """Forgets silent series, at moments that only depend on event time."""
        if (end_ns // self.config.tick_ns) % _EVICT_EVERY_TICKS or not len(self.registry):
            return
        live = self.registry.columns["seen_ns"] >= end_ns - round(self.config.series_ttl_s * 1e9)
        if np.count_nonzero(~live) * 8 > live.size:
            kept = self.registry.forget(live)
            self.series.keep(kept)
            self.detectors.keep(kept)
            self.working.keep(kept)
