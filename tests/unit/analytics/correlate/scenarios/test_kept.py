"""What a step keeps of the step before changes no byte, and what nothing changed about is left alone."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analytics.correlate.claim import Claim
from analytics.correlate.config import CorrelateConfig
from analytics.correlate.correlator import Correlator
from analytics.correlate.cover import choose
from analytics.correlate.texts import report
from telemetry.changes import Change, ChangeKind
from telemetry.codec.records import encode_record
from telemetry.findings import Evidence, Finding, FindingState
from telemetry.findings import FindingKind as K
from telemetry.objects import ObjectRef, device, job
from telemetry.topology import Device, Intent, Job, Link, NodeState, TopologyFact
from tests.unit.analytics.correlate.small_fabric import T0, TICK, Fabric, Run, S

FEW = CorrelateConfig(correlated_findings_max=12, device_findings_max=10, changed_findings_max=10)
DEVICES = [f"leaf{n}" for n in range(1, 9)] + [f"node{n}" for n in range(1, 9)] + ["spine1", "spine2", "oss1"]
OF_JOBS = (ChangeKind.JOB_START, ChangeKind.JOB_END)
CHANGES = (ChangeKind.MAINTENANCE, ChangeKind.FIRMWARE, *OF_JOBS)


class Tick(NamedTuple):
    changed: Sequence[Finding]
    facts: Sequence[TopologyFact] = ()
    changes: Sequence[Change] = ()
    often: Mapping[str, float] | None = None  # None: as before


def busy(cluster: Fabric, seed: int, ticks: int = 30) -> Iterator[Tick]:
    """Findings of any kinds that come, are seen again, change and clear, in a cluster that changes meanwhile."""
    dice = random.Random(seed)
    links = [fact.entity for fact in cluster.topology.facts.values() if isinstance(fact.entity, Link)]
    kinds = dice.sample(list(K), dice.randrange(4, len(K)))
    active: dict[str, Finding] = {}
    for tick in range(ticks):
        changed: dict[str, Finding] = {}
        at_ns = T0 + tick * TICK
        for _ in range(dice.choice([0, dice.randrange(1, 9)])):
            finding = _finding(cluster, dice, dice.choice(kinds), dice.choice(links), at_ns)
            changed[finding.id] = finding
        for found in sorted(active.keys() - changed.keys()) if changed else ():
            match dice.randrange(10):
                case 0:
                    changed[found] = replace(active[found], state=FindingState.CLEARED, observed_ns=at_ns)
                case 1:
                    changed[found] = replace(active[found], observed_ns=at_ns)
                case 2:
                    changed[found] = replace(active[found], observed_ns=at_ns, score=1 + 4 * dice.random())
        for finding in changed.values():
            active[finding.id] = finding
            if finding.state is FindingState.CLEARED:
                del active[finding.id]
        often = None if dice.randrange(4) else _often(cluster, dice)
        yield Tick(list(changed.values()), _facts(dice, links, at_ns), _changes(dice, at_ns), often)
    yield from [Tick(())] * 14  # long enough for incidents to end


def _finding(cluster: Fabric, dice: random.Random, kind: K, link: Link, at_ns: int) -> Finding:
    about: str | ObjectRef = dice.choice(link.ports)
    if kind.startswith(("gpu", "straggler", "deviation")):
        about = cluster.gpu(dice.randrange(1, 9), dice.randrange(8))
    elif kind is K.STORAGE_WAIT:
        about = f"node{dice.randrange(1, 9)}"
    elif kind.startswith(("target", "device", "software", "tcp", "bgp")):
        about = dice.choice(DEVICES)
    elif kind.startswith("storage"):
        about = f"storage_target:scratch/OST000{dice.randrange(4)}"
    elif kind.startswith(("checkpoint", "job")):
        about = f"job:{dice.randrange(1, 3)}"
    finding = cluster.find(kind, about, (at_ns - T0) / S + dice.random(), score=1 + 4 * dice.random())
    if kind is K.STORAGE_WAIT:
        finding = replace(finding, evidence=(Evidence('storage_seconds{fs="scratch"}', 0.5, 0.1, "seconds"),))
    return replace(finding, confidence=dice.choice([0.2, 0.5, 0.9]), cadence_s=dice.choice([0.0, 1.0, 5.0, 10.0, 30.0]))


def _facts(dice: random.Random, links: Sequence[Link], at_ns: int) -> Sequence[TopologyFact]:
    gone = dice.random() < 0.5
    match dice.randrange(30):
        case 0:
            return [TopologyFact(dice.choice(links), at_ns, "lldp", gone=gone)]
        case 1:
            nodes = tuple(f"node{n}" for n in range(1, 5))
            return [TopologyFact(Job(str(dice.randrange(1, 3)), nodes, started_ns=T0), at_ns, "slurm", gone=gone)]
        case 2:
            state = NodeState(f"node{dice.randrange(1, 9)}", "", dice.choice([*Intent, ""]), since_ns=at_ns)
            return [TopologyFact(state, at_ns, "slurm")]
    return ()


def _often(cluster: Fabric, dice: random.Random) -> Mapping[str, float]:
    """Devices that are read more often than once an interval: all, all but a few, or none."""
    names = [each.name for each in cluster.topology.entities(Device)]
    return dict.fromkeys(dice.sample(names, len(names) - dice.choice([0, 1, 3, len(names)])), 5.0)


def _changes(dice: random.Random, at_ns: int) -> Sequence[Change]:
    if dice.randrange(30):
        return ()
    kind = dice.choice(CHANGES)
    about = job("1") if kind in OF_JOBS else device(dice.choice(DEVICES))
    return [Change(f"change{at_ns}", kind, (about,), at_ns, at_ns + 20 * S, "", "")]


def tick(run: Run, one: Tick) -> list[bytes]:
    run.topology = run.topology.with_facts(one.facts)
    run.changes += one.changes
    run.read_every_s = run.read_every_s if one.often is None else one.often
    return [encode_record(incident) for incident in run.step(*one.changed)]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 100_000), few=st.booleans())
def test_a_step_gives_what_choosing_everything_gives(
    cluster: Fabric, start: type[Run], seed: int, *, few: bool
) -> None:
    kept, whole = (start(cluster, FEW if few else None) for _ in range(2))
    for one in busy(cluster, seed):
        whole.correlator._forget()  # nothing is left but the state
        assert tick(kept, one) == tick(whole, one)
        assert kept.correlator.state() == whole.correlator.state()


def two_broken_gpus(cluster: Fabric) -> list[Finding]:
    return [cluster.find(K.GPU_ECC, cluster.gpu(1, 0)), cluster.find(K.GPU_ROW_REMAP, cluster.gpu(6, 3))]


def test_what_was_only_seen_again_is_not_chosen_again(run: Run, cluster: Fabric) -> None:
    chosen = 0

    def counted(*given: Any) -> list[Claim]:
        nonlocal chosen
        chosen += 1
        return choose(*given)

    run.correlator = Correlator(chooser=counted)
    found = two_broken_gpus(cluster)
    run.tick(*found)
    run.tick(ticks=3)
    before = chosen
    run.tick(*(replace(finding, observed_ns=run.now_ns) for finding in found))
    assert chosen == before
    run.tick(replace(found[0], observed_ns=run.now_ns, score=9.0))
    assert chosen == before + 1


@pytest.fixture
def aged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the roots of the incidents to which a step adds what time alone adds."""
    names: list[str] = []

    def accrue(view: Any, track: Any, *others: Any) -> None:
        names.append(track.cause.root.name)
        accrue_before(view, track, *others)

    accrue_before = report.accrue
    monkeypatch.setattr(report, "accrue", accrue)
    return names


def test_only_incidents_that_cost_something_are_aged(run: Run, cluster: Fabric, aged: list[str]) -> None:
    one, other = two_broken_gpus(cluster)
    run.tick(one, other, cluster.find(K.JOB_STALLED, "job:1", 1))
    run.tick(ticks=3)
    aged.clear()
    run.tick()
    assert aged == [one.object.name]


def test_of_a_storm_only_what_a_finding_concerns_is_looked_at(run: Run, cluster: Fabric, aged: list[str]) -> None:
    one, other = two_broken_gpus(cluster)
    run.tick(one, other)
    run.tick(ticks=3)
    aged.clear()
    run.tick(cluster.find(K.GPU_PCIE, one.object, 15))
    assert aged == [one.object.name]


def test_an_incident_that_was_left_alone_still_ends(run: Run, cluster: Fabric) -> None:
    one, other = two_broken_gpus(cluster)
    run.tick(one, other)
    run.tick(ticks=10)
    run.clear(one)
    run.tick(ticks=14)
    states = {incident.root: incident.state for incident in run.incidents.values()}
    assert states == {one.object: "resolved", other.object: "firing"}


def test_an_incident_that_was_left_alone_says_what_a_job_loses(run: Run, cluster: Fabric) -> None:
    one, other = two_broken_gpus(cluster)
    run.tick(one, other)
    run.tick(ticks=10)
    run.tick(cluster.find(K.JOB_STALLED, "job:1", 55))
    run.tick(ticks=3)
    costly = [incident.root for incident in run.incidents.values() if incident.gpu_seconds]
    assert costly == [one.object]


def test_an_incident_of_which_only_a_rival_changed_is_compared_and_not_aged(
    run: Run, cluster: Fabric, aged: list[str]
) -> None:
    run.tick(cluster.find(K.LINK_ERRORS, "leaf1/Ethernet1"))
    run.tick(ticks=3)
    (track,) = run.correlator._memory.tracks
    before = track.against
    aged.clear()
    run.tick(cluster.find(K.LINK_FLAPPING, "leaf5/Ethernet1", 15, score=5.0))
    assert track.against != before
    assert track.cause.root.name not in aged
