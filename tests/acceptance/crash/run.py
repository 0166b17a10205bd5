"""One run on one bus: kills, then quiet until everything has arrived, then what there is to judge."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass

from tests.acceptance.crash.evidence.batches import RawBatch, read_batches
from tests.acceptance.crash.evidence.recording import read_recording
from tests.acceptance.crash.evidence.records import RawRecord
from tests.acceptance.crash.judge import Evidence, SampleVerdict, judge_samples, recovery_s
from tests.acceptance.crash.judge_pages import IncidentOnTheBus, Notification, PageVerdict, judge_pages
from tests.acceptance.crash.plan import Strike
from tests.acceptance.crash.samples import Sample, sample_of
from tests.acceptance.crash.site import RECEIVERS, Site
from tests.acceptance.crash.stages import Report, StagesVerdict, judge_stages, newest_reports, rows
from tests.acceptance.crash.state import StateVerdict, compare_with_a_replay

FAULTS = ("slow-receiver", "link-down", "slow-storage-target", "incast", "spine-down", "straggler-gpu")
FAULT_S = 60
FAULT_EVERY_S = 75.0  # each resolves before the next of its kind
SAMPLES, INCIDENTS = "fabricscope.samples.v1", "fabricscope.incidents.v1"
DEAD_LETTERS = "fabricscope.deadletter.v1"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of everything on one bus. recovery_s: see ``judge.recovery_s``."""

    engine: str
    samples: SampleVerdict
    pages: PageVerdict
    stages: StagesVerdict
    state: StateVerdict
    recovery_s: list[float]

    @property
    def passed(self) -> bool:
        parts = (self.samples, self.pages, self.stages, self.state)
        return all(part.passed for part in parts) and max(self.recovery_s, default=0.0) < float("inf")


def run(site: Site, strikes: list[Strike], say: Callable[[str], None]) -> Verdict:
    """Within ``with site``."""
    kills = _strike(site, strikes, say)
    say("no more kills: waiting until everything has arrived")
    _settle(site)
    records = site.records()
    bus = _batches(records, SAMPLES)
    recorded = read_recording(site.folder / "recording") if "recorder" in site.programs else bus
    evidence = _evidence(site, [at for at, victim in kills if victim == "ingest"])
    evidence.bus, evidence.recorded = _identified(bus), _identified(recorded)
    evidence.set_aside = frozenset(_samples(_batches(records, DEAD_LETTERS)))
    return Verdict(
        engine=site.engine,
        samples=judge_samples(evidence),
        pages=judge_pages(_incidents(records), _notifications(site), RECEIVERS if "alerts" in site.programs else ()),
        stages=judge_stages(newest_reports(records), bus, recorded),
        state=compare_with_a_replay(site.folder, records) if "analytics" in site.programs else StateVerdict(),
        recovery_s=recovery_s([at for at, _ in kills], evidence, [(at, sample) for at, _, sample in _written(site)]),
    )


def _strike(site: Site, strikes: list[Strike], say: Callable[[str], None]) -> list[tuple[float, str]]:
    """When each victim was killed."""
    kills: list[tuple[float, str]] = []
    next_fault_at, faults, total = time.monotonic(), 0, sum(len(strike.victims) for strike in strikes)
    for strike in strikes:
        if site.is_simulated and time.monotonic() >= next_fault_at:
            site.inject(FAULTS[faults % len(FAULTS)], FAULT_S)
            next_fault_at, faults = time.monotonic() + FAULT_EVERY_S, faults + 1
        time.sleep(strike.pause_s)
        at = time.monotonic()
        site.kill(strike.victims)
        kills += [(at, victim) for victim in strike.victims]
        say(f"{site.engine}: killed {len(kills)} of {total}: {' and '.join(strike.victims)}")
    return kills


def _settle(site: Site) -> None:
    """Waits until each stage has done what the bus has; what has not come by then is what the judge will say."""
    after = time.monotonic()
    site.wait_for(lambda: any(sent_at >= after for sent_at in _sent_of_arrived(site)))
    site.programs["ingest"].stop()
    records = site.records()
    batches = _batches(records, SAMPLES)
    expected = _samples(batches) - _samples(_batches(records, DEAD_LETTERS))
    site.wait_for(lambda: expected <= {sample for _, _, sample in _written(site)})
    if "analytics" in site.programs:
        site.wait_for(lambda: _used_by_analytics(site) >= rows(batches))
        site.programs["analytics"].stop()
    if "alerts" in site.programs:
        site.wait_for(lambda: _all_notified(site))
    for name in ("alerts", "export", "recorder", "api"):
        if name in site.programs:
            site.programs[name].stop()


def _evidence(site: Site, ingest_kills: list[float]) -> Evidence:
    """All but what the bus and the recording have."""
    pages = site.pages.lines()
    return Evidence(
        sent={(target, number): at for kind, at, target, number in (line for line in pages if line[0] == "sent")},
        read=frozenset((line[1], line[2]) for line in pages if line[0] == "read"),
        written=[(time_ms, sample) for _, time_ms, sample in _written(site)],
        ingest_kills=ingest_kills,
    )


def _written(site: Site) -> list[tuple[float, int, Sample]]:
    """When it came, its time in ms, and what it is, of each sample at the remote-write receiver."""
    lines = site.writes.lines()
    return [(at, time_ms, sample_of(device, port, value)) for at, device, port, time_ms, value in lines]


def _sent_of_arrived(site: Site) -> set[float]:
    """When the pages were sent of which the remote-write receiver has a sample."""
    sent = _evidence(site, []).sent
    return {sent[sample.page] for _, _, sample in _written(site) if sample.page in sent}


def _batches(records: list[RawRecord], topic: str) -> list[RawBatch]:
    """Of the samples on a topic; dead letters keep the bytes of the record that they were."""
    return read_batches(one for one in records if one.topic == topic and (one.value or b"").startswith(b"FSB2"))


def _samples(batches: list[RawBatch]) -> set[Sample]:
    return {sample for batch in batches for sample in batch.samples}


def _identified(batches: list[RawBatch]) -> list[tuple[str, Sample]]:
    return [(batch.identity, sample) for batch in batches for sample in batch.samples]


def _used_by_analytics(site: Site) -> int:
    return newest_reports(site.records()).get("analytics", Report()).used


def _incidents(records: list[RawRecord]) -> list[IncidentOnTheBus]:
    values = {one.key: json.loads(one.value) for one in records if one.topic == INCIDENTS and one.value}
    return [
        IncidentOnTheBus(one["id"], one["severity"], one["fired_ns"] > 0, one["state"] == "resolved")
        for one in values.values()
    ]


def _notifications(site: Site) -> list[Notification]:
    return [Notification(*line) for line in site.notifications.lines()]


def _all_notified(site: Site) -> bool:
    return not judge_pages(_incidents(site.records()), _notifications(site), RECEIVERS).missing
