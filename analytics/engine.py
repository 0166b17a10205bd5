"""The pure step of the analytics stage: sample batches in, findings and incidents out, all of it in event time.

No clock, no randomness, no I/O. Results depend on what was observed and not on when, how fast or in which portions:
the same recording gives the same findings and incidents, byte for byte.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from analytics.config import EngineConfig
from analytics.detectors import detectors
from analytics.detectors.general.runs_out import runs_out
from analytics.detectors.lifecycle import FindingsBook
from analytics.detectors.spec import Detector, Verdicts
from analytics.jobs.activity import WorkBook
from analytics.jobs.starvation.ledger import Ledger
from analytics.models import baseline
from analytics.models.multivariate.stage import Multivariate
from analytics.models.peers import compare
from analytics.models.scoring.live import NO_SLOT, Scored
from analytics.models.trend.history import TrendBook
from analytics.state import quality, rates
from analytics.state.columns import Columns
from analytics.state.registry import Registry
from analytics.state.view import Selections, View
from analytics.window.tick import Tick, pack
from analytics.window.watermark import Counts, DropReason, Intake
from telemetry.changes import Change
from telemetry.findings import Finding
from telemetry.incidents import Incident
from telemetry.samples import SampleBatch
from telemetry.topology import Topology, TopologyFact

Output = Finding | Incident

_SERIES: dict[str, tuple[str, float, int]] = {
    **rates.LAYOUT,
    "baseline": ("f8", 0.0, baseline.WIDTH),
    "score": ("f8", np.nan, 1),
    "slot": ("i4", NO_SLOT, 1),
    "anomaly": ("f8", np.nan, 1),
    # Room for the detector that owns a metric: see ``link_flapping`` and ``storage_slow``.
    "memory": ("f8", 0.0, baseline.WIDTH),
    "peers": ("f4", 0.0, compare.WIDTH),  # place of a member in its group
}
_CHANGES_KEPT_NS = 24 * 3600 * 10**9
_EVICT_EVERY_TICKS = 64


class Correlator(Protocol):
    """Findings to incidents; see ``analytics.correlate``."""

    def step(
        self, now_ns: int, changed: Sequence[Finding], topology: Topology, changes: Sequence[Change]
    ) -> list[Incident]: ...

    def state(self) -> dict[str, Any]: ...

    def restore(self, state: dict[str, Any]) -> None: ...


class Engine:
    """All state of one analytics worker. ``correlator`` None: findings only."""

    def __init__(self, config: EngineConfig, correlator: Correlator | None = None) -> None:
        self.config, self.correlator = config, correlator
        self.intake = Intake(config)
        self.registry = Registry(config.series_max, config.detection.scored)
        self.series, self.targets = Columns(_SERIES), Columns(quality.LAYOUT)
        self.scored = Scored(config)
        self.book = FindingsBook()
        self.work = WorkBook()
        self.multivariate = Multivariate(config.multivariate, config.interval_ns)
        self.starvation = Ledger()
        self.trends = TrendBook()
        self.topology = Topology()
        self.trust_counts: dict[str, int] = {}  # series by state, as of the newest tick
        self.failures: list[tuple[str, Exception]] = []  # detectors that failed, and why; whoever runs it empties this
        self.changes: tuple[Change, ...] = ()
        self.waiting_facts: list[TopologyFact] = []
        self.waiting_changes: list[Change] = []
        self.detectors: tuple[Detector, ...] = (*detectors(config.detection), *runs_out(self.trends, config.detection))
        self._selections = Selections(self.registry)

    @property
    def counts(self) -> Counts:
        return self.intake.counts

    def observe(self, batch: SampleBatch) -> None:
        """Takes a batch; it is processed once its tick closes."""
        self.intake.put(batch)

    def learn(self, facts: Iterable[TopologyFact]) -> None:
        """Takes topology facts; they hold from the tick in which they were observed."""
        self.waiting_facts.extend(facts)

    def note(self, change: Change) -> None:
        """Takes a change; it counts from the tick in which it starts."""
        self.waiting_changes.append(change)

    def advance(self) -> list[Output]:
        """Closes every tick that is complete; returns the findings and incidents that changed, in event order."""
        outputs: list[Output] = []
        for end_ns, batches in self.intake.closed():
            outputs.extend(self._close(end_ns, batches))
        return outputs

    def _close(self, end_ns: int, batches: list[SampleBatch]) -> list[Output]:
        self._apply_facts(end_ns)
        tick = pack(batches, self.registry, self.counts)
        self.series.grow(len(self.registry))
        self.targets.grow(len(self.registry.targets))
        self._listen(min((batch.collection.collected_ns for batch in batches), default=end_ns))
        self._note_collections(tick, [batch.collection.up for batch in batches])
        self._process(self._without_repetitions(tick))
        view = View(
            end_ns,
            self.config,
            self.registry,
            self.series,
            self.targets,
            self._selections,
            self.topology,
            self.changes,
            self.work,
            self._watched(),
        )
        self.trends.step(view)
        findings = [
            finding
            for detector in self.detectors
            for verdicts in self._judged(detector, view)
            for finding in self.book.settle(detector, verdicts, view)
        ]
        self.trust_counts = view.trust_counts
        findings += self.multivariate.step(view, self.book, findings)
        self.starvation.step(view, self.book)
        incidents: list[Incident] = []
        if self.correlator is not None:
            incidents = self.correlator.step(end_ns, findings, self.topology, self.changes)
        self._evict(end_ns)
        return [*findings, *incidents]

    def _watched(self) -> NDArray[np.bool_]:
        watched = np.zeros(len(self.registry.objects), bool)
        numbers = (self.registry.objects.find(name) for name in self.book.objects())
        watched[[number for number in numbers if number is not None]] = True
        return watched

    def _judged(self, detector: Detector, view: View) -> list[Verdicts]:
        """A detector that fails abstains in this tick: a bug in one of them must not blind the others."""
        try:
            return detector.judge(view)
        except Exception as error:
            self.failures.append((detector.name, error))
            return []

    def _apply_facts(self, end_ns: int) -> None:
        due = [fact for fact in self.waiting_facts if fact.observed_ns < end_ns]
        if due:
            self.waiting_facts = [fact for fact in self.waiting_facts if fact.observed_ns >= end_ns]
            self.topology = self.topology.with_facts(sorted(due, key=lambda f: (f.observed_ns, f.entity.key, f.source)))
        begun = [change for change in self.waiting_changes if change.starts_ns < end_ns]
        if begun:
            self.waiting_changes = [change for change in self.waiting_changes if change.starts_ns >= end_ns]
            known = {change.id: change for change in (*self.changes, *begun)}
            recent = (c for c in known.values() if max(c.starts_ns, c.ends_ns) >= end_ns - _CHANGES_KEPT_NS)
            self.changes = tuple(sorted(recent, key=lambda change: (change.starts_ns, change.id)))

    def _listen(self, now_ns: int) -> None:
        targets, interval_ns = self.targets, self.config.interval_ns
        targets["quiet_ns"][:] = quality.listen_again(targets["quiet_ns"], targets["tried_ns"], now_ns, interval_ns)

    def _note_collections(self, tick: Tick, ups: list[bool]) -> None:
        columns = {
            name: self.targets[name]
            for name in ("first_ns", "seen_ns", "quiet_ns", "tried_ns", "down_ns", "down_count")
        }
        for target, collected_ns, up in zip(tick.targets.tolist(), tick.collected_ns.tolist(), ups, strict=True):
            quality.note_collection(columns, target, collected_ns, up)
        self.registry.columns["seen_ns"][tick.sids] = np.repeat(tick.collected_ns, np.diff(tick.starts))

    def _without_repetitions(self, tick: Tick) -> Tick:
        """The tick without collections that only repeat the one before; marks the targets that are frozen."""
        sizes = np.diff(tick.starts)
        moved = rates.segment_sums(rates.moved(self.series["raw"], tick.sids, tick.values), tick.starts)
        moved_ns, frozen = self.targets["moved_ns"], self.targets["frozen"]
        still: list[int] = []
        for batch in np.flatnonzero(sizes > 0).tolist():
            target, collected_ns = int(tick.targets[batch]), int(tick.collected_ns[batch])
            if moved[batch]:
                moved_ns[target], frozen[target] = collected_ns, False
            elif self._should_have_moved(tick, batch):
                still.append(batch)
        repeated = np.zeros(sizes.size, bool)
        if still:
            repeated[self._judge_still(tick, still)] = True
            self.counts.processed += int(sizes[repeated].sum())
            tick = tick.only(~repeated[tick.batch_of])
        return tick

    def _should_have_moved(self, tick: Tick, batch: int) -> bool:
        sids = tick.sids[tick.starts[batch] : tick.starts[batch + 1]]
        counter = self.registry.rules.counter[self.registry.columns["metric"][sids]]
        return int(np.count_nonzero(counter & (self.series["value"][sids] > 0))) >= quality.MOVERS_MIN

    def _judge_still(self, tick: Tick, still: list[int]) -> list[int]:
        """Which of the still batches are no news: within a refresh period, or of a frozen target."""
        limit_ns = round(quality.REPEAT_INTERVALS * self.config.interval_ns)
        within, suspects, rests = [], {}, self.registry.rules.rests
        for batch in still:
            target = int(tick.targets[batch])
            sids = tick.sids[tick.starts[batch] : tick.starts[batch + 1]]
            if tick.collected_ns[batch] - self.targets["moved_ns"][target] <= limit_ns:
                within.append(batch)
            elif quality.always_moving(self.series["streak"][sids[~rests[self.registry.columns["metric"][sids]]]]):
                suspects[batch] = self.registry.devices[target]
        answering = [d for d, down in zip(self.registry.devices, self.targets["down_count"], strict=True) if not down]
        believed = quality.believed_frozen(list(suspects.values()), answering, self.topology)
        frozen = [batch for batch, device in suspects.items() if device in believed]
        self.targets["frozen"][tick.targets[frozen]] = True
        return within + frozen

    def _process(self, tick: Tick) -> None:
        """Rates and baselines of one tick, in two compiled passes over all its samples."""
        values = np.empty(len(tick))
        status = np.empty(len(tick), np.uint8)
        rules, series = self.registry.rules, self.series
        rates.to_values(
            tick.starts,
            tick.collected_ns,
            tick.sids,
            tick.times_ns,
            tick.values,
            self.registry.columns["metric"],
            rules.counter,
            rules.modulus,
            rules.refresh_ns,
            series["raw"],
            series["raw_ns"],
            series["value"],
            series["value_ns"],
            series["valued_ns"],
            series["span_s"],
            series["status"],
            series["moved_ns"],
            series["highest"],
            series["streak"],
            values,
            status,
        )
        dropped = {DropReason.OUT_OF_ORDER: rates.OUT_OF_ORDER, DropReason.NOT_FINITE: rates.NOT_FINITE}
        tally = np.bincount(status, minlength=len(rates.Status))
        for reason, code in dropped.items():
            self.counts.drop(reason, int(tally[code]))
        self.counts.processed += len(tick) - sum(int(tally[code]) for code in dropped.values())
        self._note_resets(tick, status == rates.RESET)
        scores = np.empty(len(tick))
        rule = self.config.baseline
        baseline.score_and_learn(
            tick.sids, values, series["baseline"], rule.alpha, rule.warmup, rule.follow, scores, series["score"]
        )
        metrics = self.registry.columns["metric"]
        rows = np.flatnonzero(rules.scored[metrics[tick.sids]])
        if rows.size:
            sids, times_ns = tick.sids[rows], tick.times_ns[rows]
            self.scored.take(sids, times_ns, values[rows], metrics, series["slot"], series["anomaly"])

    def _note_resets(self, tick: Tick, reset: NDArray[np.bool_]) -> None:
        if not reset.any():
            return
        counts = rates.segment_sums(reset, tick.starts)
        counters = self.registry.rules.counter[self.registry.columns["metric"][tick.sids]]
        live = rates.segment_sums(counters & (reset | (tick.values > 0)), tick.starts)
        for batch in np.flatnonzero((counts >= quality.MOVERS_MIN) & (2 * counts >= live)).tolist():
            target = tick.targets[batch]
            self.targets["reset_ns"][target] = tick.collected_ns[batch]
            self.targets["reset_count"][target] = counts[batch]

    def _evict(self, end_ns: int) -> None:
        """Forgets silent series, at moments that only depend on event time."""
        if (end_ns // self.config.tick_ns) % _EVICT_EVERY_TICKS or not len(self.registry):
            return
        live = self.registry.columns["seen_ns"] >= end_ns - round(self.config.series_ttl_s * 1e9)
        if np.count_nonzero(~live) * 8 > live.size:
            self.series.keep(self.registry.forget(live))
            self.scored.keep(self.series["slot"])
