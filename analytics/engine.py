"""The pure step of the analytics stage: sample batches in, findings and incidents out, all of it in event time.

No clock, no randomness, no I/O. Results depend on what was observed and not on when, how fast or in which portions:
the same recording gives the same findings and incidents, byte for byte.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from analytics.config import DetectionConfig, EngineConfig
from analytics.derived.flaps import Flaps
from analytics.derived.job_activity import REPORTED_BY, JobActivity
from analytics.derived.job_memory import JobMemory
from analytics.derived.job_traffic import IMPOSED_BY, JobTraffic
from analytics.derived.slow_storage import holding_up
from analytics.derived.trend_history import TrendHistory
from analytics.derived.working_gpus import WorkingGpus
from analytics.detectors import detectors
from analytics.detectors.detector_set import DetectorSet
from analytics.detectors.lifecycle import FindingTracker
from analytics.detectors.multivariate.device_model import DeviceModel
from analytics.detectors.multivariate.stage import Multivariate
from analytics.detectors.spec import Detector, Scope
from analytics.events.event_log import EventLog
from analytics.inference.entities import Inference
from analytics.models.flap_comparison import FlapComparison
from analytics.models.jobs.sending import WATCHDOG_NS
from analytics.models.scoring.live import NO_SLOT
from analytics.snapshot.block import Block
from analytics.snapshot.fit import Changes
from analytics.snapshot.rules import RULES
from analytics.snapshot.stateful import Joined, Stateful
from analytics.starvation.ledger import StarvationLedger
from analytics.state import rates
from analytics.state.cluster_records import ClusterRecords
from analytics.state.columns import ReadOnlyColumns
from analytics.state.registry import Registry
from analytics.state.series_state import SeriesState
from analytics.state.target_state import TargetState
from analytics.state.tick import Tick, pack
from analytics.state.topology_index import TopologyIndexer
from analytics.uncorrelated import Attempt, Correlator, Scored, Uncorrelated, always
from analytics.view.cadence import devices_read_often
from analytics.view.derived import Derived
from analytics.view.quality import counts
from analytics.view.reported import ReportedSeries
from analytics.view.tick_data import SelectionCache, TickData
from analytics.view.tick_view import LightView, TickView
from analytics.window.watermark import DropReason, SampleCounts, TickWindow
from telemetry.changes import Change
from telemetry.findings import Finding
from telemetry.incidents import Incident
from telemetry.objects import parse_object
from telemetry.samples import SampleBatch
from telemetry.topology import Topology, TopologyFact

Output = Finding | Incident
ALL_SCOPES = frozenset(Scope)
_EVICT_EVERY_TICKS = 64
_DROPPED = {DropReason.OUT_OF_ORDER: rates.OUT_OF_ORDER, DropReason.NOT_FINITE: rates.NOT_FINITE}


def _detectors_of(saved_settings: Mapping[str, Any]) -> tuple[Detector, ...]:
    """None where another version had settings that this one does not know."""
    try:
        return detectors(DetectionConfig.model_validate(saved_settings["detection"]))
    except ValidationError:
        return ()


class Engine:
    """All state of one analytics worker: ``parts``, each with a memory of its own and the same shape.

    correlator: None for findings only. scopes: of the detectors that it runs. A worker that owns some devices needs
    those of ``Scope.DEVICE``; what compares devices needs the series of all and runs once.
    workers: train multivariate models; None: a thread of its own.
    attempt: entered for each tick with its end, as ``tick`` and then as ``correlation``. Where it gives False, that is
    left out: the samples are dropped as ``crashed``, or what the tick found is not correlated until it is found again.
    """

    attempt: Attempt = staticmethod(always)

    def __init__(
        self,
        config: EngineConfig,
        correlator: Correlator | None = None,
        scopes: Collection[Scope] = ALL_SCOPES,
        workers: Executor | None = None,
    ) -> None:
        self.config, self.correlator, self._workers = config, correlator, workers
        self._scopes, self._compares = frozenset(scopes), Scope.CLUSTER in scopes
        self.window = TickWindow(config)
        self.cluster = ClusterRecords()
        self.times_gone_back = 0  # since the process began
        self._closed: list[Output] = []
        self._scored = Uncorrelated()
        self.events = EventLog()  # not begun again: what has ended is still due
        self._begin()

    def _begin(self) -> None:
        """The parts whose memory rests on the time of samples."""
        config = self.config
        self.registry = Registry(config.series_max, config.detection.scored)
        self.series, self.targets = SeriesState(config), TargetState(config)
        self.activity, self.working, self.trends = JobActivity(), WorkingGpus(), TrendHistory()
        self.job_memory, self.traffic, self.flaps = JobMemory(), JobTraffic(), Flaps()
        self.detectors = DetectorSet(each for each in detectors(config.detection) if each.scope in self._scopes)
        self.findings, self.starvation = FindingTracker(), StarvationLedger()
        self.multivariate = Multivariate(config.multivariate, config.interval_ns, self._workers)
        self._quality = np.zeros(0, np.uint8)  # of each series, as of the newest tick
        self._selections = SelectionCache(self.registry)
        self._reported_series = ReportedSeries(self.registry, self._selections)
        self._inference, self._indexer = Inference(), TopologyIndexer()

    @property
    def blocks(self) -> dict[str, Block]:
        """Everything that outlives a restart, by name. No tick may wait for its correlation."""
        assert not self._scored, "correlate first"
        always: dict[str, Stateful] = {
            "window": self.window,
            "registry": self.registry,
            **self.series.parts,
            "targets": self.targets.parts["targets"],
            "cadence": Joined({"series": self.series.gaps, "targets": self.targets.parts["cadence"]}),
            "cluster": self.cluster,
            "trends": self.trends,
            "findings": self.findings,
            "events": self.events,
        }
        compares: dict[str, Stateful] = {
            "activity": self.activity,
            "working": self.working,
            "job_memory": self.job_memory,
            "traffic": self.traffic,
            "multivariate": self.multivariate,
            "starvation": self.starvation,
            "flaps": self.flaps,
        }
        correlator = {"correlator": self.correlator} if self.correlator else {}
        parts = {**always, **(compares if self._compares else {}), **correlator}
        found = {name: Block(part, RULES[name]) for name, part in parts.items()}
        return found | self.detectors.blocks | (self.multivariate.blocks if self._compares else {})

    def adopt(self, saved_settings: Mapping[str, Any], since: Changes) -> None:
        """After the blocks were restored: ends what the present settings and metrics have no place for.

        saved_settings: JSON of the ones before.
        """
        models = self.multivariate.models if self._compares else ()
        everything: list[Detector | DeviceModel] = [*self.detectors.detectors, *models]
        by_metrics = {each.name for each in everything if not since.metrics.isdisjoint(each.metrics)}
        by_settings = self.detectors.other_than(_detectors_of(saved_settings)) if since.settings else set()
        self.findings.adopt({each.name for each in everything}, by_metrics | by_settings)
        metric_of, rules = self.registry.columns["metric"], self.registry.rules
        names = self.registry.metrics.names
        changed = np.array([name in since.metrics for name in names], bool)
        idle = (self.series.columns["slot"] != NO_SLOT) & ~rules.scored[metric_of]
        if idle.any() or changed.any():
            self.series.forget_scores(np.flatnonzero(idle), np.flatnonzero(changed | ~rules.scored))
        if changed.any():
            self.trends.forget(since.metrics)
            self._forget(~changed[metric_of])

    @property
    def quality_counts(self) -> dict[str, int]:
        """Series by quality, as of the newest tick; empty before it. Counted when it is asked for."""
        return counts(self._quality) if self._quality.size else {}

    @property
    def topology(self) -> Topology:
        """The facts as of the newest tick, and what follows for devices without any: see ``analytics.inference``."""
        return self._inference.topology(self.registry, self.cluster.topology)

    @property
    def inferred(self) -> Mapping[str, int]:
        """How many entities of each kind are inferred, as of the newest tick."""
        return self._inference.counts

    @property
    def counts(self) -> SampleCounts:
        return self.window.counts

    def observe(self, batch: SampleBatch, appended_ns: int | None = None) -> None:
        """Adds a batch; it is processed once its tick closes.

        appended_ns: when the bus took it; None where that says nothing about event time.
        """
        self.window.add(batch, appended_ns)
        if self.window.went_back:
            self._go_back()

    def add_facts(self, facts: Iterable[TopologyFact]) -> None:
        """Adds topology; each fact holds from the tick in which it was observed."""
        self.cluster.add_facts(facts)

    def add_change(self, change: Change) -> None:
        """Adds a change; it counts from the tick in which it starts."""
        self.cluster.add_change(change)

    def advance(self) -> list[Output]:
        """Closes every tick that is complete; returns the findings and incidents that changed, in event order."""
        outputs, self._closed = self._closed, []
        outputs += self._correlate_all()
        for end_ns, batches in self.window.pop_closed():
            outputs += self._close(end_ns, batches)
            outputs += self._correlate_all()
        return outputs

    def score(self) -> list[Output]:
        """Closes every tick that is complete; returns the findings that changed. ``correlate`` does the rest.

        Together they give what ``advance`` gives, however far correlation is behind. Nothing is left to correlate
        when ``state`` is asked for.
        """
        outputs, self._closed = self._closed, []
        for end_ns, batches in self.window.pop_closed():
            outputs += self._close(end_ns, batches)
        return outputs

    @property
    def ticks_uncorrelated(self) -> int:
        """Ticks that ``score`` closed and ``correlate`` has still to take."""
        return len(self._scored)

    def correlate(self) -> list[Incident]:
        """Correlates the oldest tick that waits for it; returns the incidents that changed."""
        assert self.correlator is not None
        return self._scored.correlate(self.correlator, self.attempt)

    def _correlate_all(self) -> list[Incident]:
        return [incident for _ in range(len(self._scored)) for incident in self.correlate()]

    def _go_back(self) -> None:
        """A wrong time was believed, and is over: nothing that was learned can be compared with what comes."""
        self._closed = self.advance()
        if self.correlator is not None:
            self._closed += self.correlator.close(self.window.watermark_ns, self.topology)
        self.times_gone_back += 1
        self.window.begin_again()
        self.events.end(self.registry, np.arange(len(self.registry)))
        self.events.keep(np.zeros(0, np.int64))
        self._begin()

    def _close(self, end_ns: int, batches: list[SampleBatch]) -> list[Finding]:
        with self.attempt("tick", end_ns) as allowed:
            if allowed:
                return self._judge(end_ns, batches)
        self.counts.drop(DropReason.CRASHED, sum(map(len, batches)))
        return []

    def _judge(self, end_ns: int, batches: list[SampleBatch]) -> list[Finding]:
        self.cluster.update(end_ns)
        moved = {old for old, new in self.cluster.moved.items() if self.registry.move_target(old, new)}
        reported = self._process(end_ns, batches)
        findings = self._forget_targets(self.cluster.left - moved)
        if findings or len(reported) != len(self.registry):
            reported = self._reported(end_ns)
        light = end_ns % self.config.tick_ns > 0
        flaps: Sequence[FlapComparison] = ()
        if light:
            view = LightView(self._data(end_ns))
            findings += self.detectors.judge_light(view, self.findings)
            self.events.notice(view)
        else:
            found, flaps = self._judge_whole(end_ns, reported)
            findings += found
        if self.correlator is not None:
            often = devices_read_often(self._data(end_ns))
            self._scored.append(Scored(end_ns, findings, self.topology, self.cluster.changes, light, flaps, often))
        if not light:
            self._evict(end_ns)
        return findings

    def _judge_whole(self, end_ns: int, reported: NDArray[np.bool_]) -> tuple[list[Finding], Sequence[FlapComparison]]:
        view = self._view(end_ns, reported)
        if self._compares:
            view = view.with_topology_index(self.job_memory.at_work(view))
        view = view.with_derived(self._derived(view))
        findings = self.detectors.judge(view, self.findings)
        findings += self.findings.end_unjudged(view)
        self._quality = view.quality
        self.events.update(view)
        if not self._compares:
            return findings, ()
        findings += self.multivariate.update(view, self.findings, findings)
        self.starvation.update(view, self.findings)
        return findings, self.flaps.update(view)

    def _process(self, end_ns: int, batches: list[SampleBatch]) -> NDArray[np.bool_]:
        """The samples of a tick into the state of their series and targets; each of them is counted.

        Returns which series have active findings.
        """
        tick = pack(batches, self.registry, self.counts)
        self.registry.intern_devices()
        series, targets = self.series.columns, self.targets.columns
        series.grow(len(self.registry))
        targets.grow(len(self.registry.targets))
        began_ns = min((batch.collection.collected_ns for batch in batches), default=end_ns)
        self.targets.update(tick, [batch.collection for batch in batches], began_ns)
        self.registry.update_seen(tick.sids, np.repeat(tick.collected_ns, np.diff(tick.starts)))
        repeated = self.targets.repetitions(tick, series, self.registry, self.topology)
        if repeated.any():
            self.counts.processed += int(repeated.sum())
            tick = tick.only(~repeated)
        reported = self._reported(end_ns)
        status = self.series.process(tick, self.registry, reported)
        self._count(tick, status)
        self.targets.update_resets(tick, status == rates.RESET, self.registry)
        return reported

    def _count(self, tick: Tick, status: NDArray[np.uint8]) -> None:
        tally = np.bincount(status, minlength=len(rates.Status))
        for reason, code in _DROPPED.items():
            self.counts.drop(reason, int(tally[code]))
        self.counts.processed += len(tick) - sum(int(tally[code]) for code in _DROPPED.values())

    def view(self, end_ns: int) -> TickView:
        """What is known at a time, to be read."""
        return self._view(end_ns, self._reported(end_ns))

    def _view(self, end_ns: int, reported: NDArray[np.bool_]) -> TickView:
        watched = np.zeros(len(self.registry.objects), bool)
        numbers = (self.registry.objects.get(name) for name in self.findings.objects())
        watched[[number for number in numbers if number is not None]] = True
        return TickView(self._data(end_ns), watched, reported)

    def _reported(self, end_ns: int) -> NDArray[np.bool_]:
        """bool[series]: those with active findings, but not with what has been so for ``reported_follow_s``."""
        active = self.findings.active_by_detector(self.config.reported_since_ns(end_ns))
        known = self.detectors.detectors
        return self._reported_series.about((each.metrics, active.get(each.name, ())) for each in known)

    def _data(self, end_ns: int) -> TickData:
        topology = self.topology
        return TickData(
            end_ns,
            self.config,
            index=self.registry,
            series=ReadOnlyColumns(self.series.columns),
            targets=ReadOnlyColumns(self.targets.columns),
            topology=topology,
            topology_index=self._indexer.index(self.registry, topology),
            changes=self.cluster.changes,
            selections=self._selections,
        )

    def _derived(self, view: TickView) -> Derived:
        """What detectors share, each by a part of its own."""
        forecasts = self.trends.update(view)
        if not self._compares:
            return Derived(forecasts=forecasts)
        working_job, classes = self.working.update(view)
        since_ns = self.config.reported_since_ns(view.end_ns)
        active = self.findings.active_about
        jobs = self.activity.update(view, {parse_object(job).name for job in active(REPORTED_BY, since_ns=since_ns)})
        imposing = active(*IMPOSED_BY, since_ns=view.end_ns - WATCHDOG_NS)
        traffic = self.traffic.update(view, jobs, imposing)
        return Derived(jobs, working_job, classes, forecasts, traffic, holding_up(view, active, since_ns))

    def _evict(self, end_ns: int) -> None:
        """Forgets silent series, at moments that only depend on event time."""
        if (end_ns // self.config.tick_ns) % _EVICT_EVERY_TICKS or not len(self.registry):
            return
        live = self.registry.columns["seen_ns"] >= end_ns - round(self.config.series_ttl_s * 1e9)
        if np.count_nonzero(~live) * 8 > live.size:
            self._forget(live)

    def _forget(self, live: NDArray[np.bool_]) -> None:
        """Keeps these series, and renumbers them."""
        self.events.end(self.registry, np.flatnonzero(~live))
        self._keep(self.registry.forget(live))

    def _forget_targets(self, names: Collection[str]) -> list[Finding]:
        """Forgets targets that are not collected any more; the findings that end with them."""
        index = self.registry
        left = np.array([name in names for name in index.targets.names], bool)
        if not left.any():
            return []
        gone = left[index.columns["target"]]
        objects = set(index.objects.names)
        about = {index.objects.names[number] for number in np.unique(index.columns["object"][gone]).tolist()}
        self.events.end(index, np.flatnonzero(gone))
        kept, targets = index.forget_targets(names)
        self._keep(kept)
        self.targets.columns.keep(targets)
        return self.findings.end_about(objects - set(index.objects.names), about)

    def _keep(self, kept: NDArray[np.int64]) -> None:
        """Only these series, which have been renumbered in the order given."""
        self.series.keep(kept)
        self.detectors.keep(kept)
        self.events.keep(kept)
        self.working.keep(kept)
        self.job_memory.keep(kept)
