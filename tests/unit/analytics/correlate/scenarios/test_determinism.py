"""The same telemetry gives the same incidents: in any order within a tick, and across a restart at any tick."""

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analytics.correlate.config import CorrelateConfig
from analytics.correlate.correlator import Correlator
from analytics.snapshot.stateful import State
from telemetry.codec.records import encode_record
from telemetry.findings import Finding, FindingState
from telemetry.findings import FindingKind as K
from telemetry.objects import ObjectRef
from telemetry.topology import Intent, Job, Link, NodeState, TopologyFact
from tests.unit.analytics.correlate.small_fabric import T0, TICK, Fabric, Run, S

KINDS = [kind for kind in K if kind is not K.JOB_STALLED]


def story(cluster: Fabric, seed: int, ticks: int = 14) -> Iterator[list[Finding]]:
    """Findings of many kinds all over the cluster, that come, change and clear."""
    dice = random.Random(seed)
    links = [fact.entity for fact in cluster.topology.facts.values() if isinstance(fact.entity, Link)]
    ports = sorted(ref.name for link in links for ref in link.ports)
    devices = [f"leaf{n}" for n in range(1, 9)] + [f"node{n}" for n in range(1, 9)] + ["spine1", "spine2"]
    open_findings: list[Finding] = []
    for tick in range(ticks):
        changed = []
        for _ in range(dice.randrange(6)):
            kind = dice.choice(KINDS)
            about: str | ObjectRef = dice.choice(ports)
            if kind.startswith(("gpu", "straggler")):
                about = cluster.gpu(dice.randrange(1, 9), dice.randrange(8))
            elif kind.startswith(("target", "device")):
                about = dice.choice(devices)
            elif kind.startswith("storage"):
                about = f"storage_target:scratch/OST000{dice.randrange(4)}"
            elif kind.startswith("checkpoint"):
                about = f"job:{dice.randrange(1, 3)}"
            changed.append(cluster.find(kind, about, tick * 5 + dice.random(), score=1 + 4 * dice.random()))
        changed = list({finding.id: finding for finding in changed}.values())
        for finding in [finding for finding in open_findings if dice.random() < 0.2]:
            open_findings.remove(finding)
            at = finding.observed_ns + 3600 * 10**9
            if all(finding.id != other.id for other in changed):
                changed.append(replace(finding, state=FindingState.CLEARED, observed_ns=at))
        open_findings += [finding for finding in changed if finding.state is FindingState.ACTIVE]
        yield changed


def published(run: Run, changed: list[Finding]) -> list[bytes]:
    return [encode_record(incident) for incident in run.tick(*changed)]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), shuffle=st.randoms(use_true_random=False))
def test_order_within_a_tick_does_not_matter(
    cluster: Fabric, start: type[Run], seed: int, shuffle: random.Random
) -> None:
    one, other = start(cluster), start(cluster)
    for changed in story(cluster, seed):
        shuffled = list(changed)
        shuffle.shuffle(shuffled)
        assert published(one, changed) == published(other, shuffled)
    assert orjson.dumps(one.correlator.state().head) == orjson.dumps(other.correlator.state().head)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), at=st.integers(0, 13))
def test_restored_at_any_tick_it_continues_seamlessly(cluster: Fabric, start: type[Run], seed: int, at: int) -> None:
    whole, parted = start(cluster), start(cluster)
    for tick, changed in enumerate(story(cluster, seed)):
        if tick == at:
            snapshot = orjson.loads(orjson.dumps(parted.correlator.state().head))
            parted.correlator = Correlator()
            parted.correlator.restore(State(snapshot, {}))
            assert parted.correlator.state().head == snapshot
        assert published(whole, changed) == published(parted, changed)
    for _ in range(20):
        assert published(whole, []) == published(parted, [])


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_a_finding_belongs_to_at_most_one_open_incident(cluster: Fabric, start: type[Run], seed: int) -> None:
    run = start(cluster)
    for changed in story(cluster, seed):
        run.tick(*changed)
        owned = [
            found
            for track in run.correlator.state().head["tracks"]
            for found in (*track["primary"], *track["symptoms"])
        ]
        assert len(owned) == len(set(owned))


def test_ids_depend_on_the_telemetry_alone(cluster: Fabric, start: type[Run]) -> None:
    ids = set()
    for silence in (0, 3):
        run = start(cluster)
        run.tick(ticks=silence)
        run.tick(cluster.find(K.LINK_DOWN, cluster.uplink(1, 1), 30))
        run.tick(ticks=3)
        ids.add(run.only.id)
    assert len(ids) == 1


def racks_go_away(cluster: Fabric) -> Iterator[list[Finding]]:
    """Several causes with one root rest on the same findings."""
    for node in range(1, 9):
        at = 1 if node < 5 else 240
        yield [cluster.find(K.LINK_DOWN, cluster.facing(leaf, node), at) for leaf in range(1, 9)]
    yield from ([], [])


@pytest.mark.parametrize("told", ["story(cluster, 7)", "racks_go_away(cluster)"])
def test_another_process_gives_the_same_bytes(told: str) -> None:
    """Sets of strings have another order in every process: nothing may depend on that."""
    program = (
        "import hashlib\n"
        "from tests.unit.analytics.correlate.small_fabric import Fabric, Run\n"
        "from tests.unit.analytics.correlate.scenarios.test_determinism import published, racks_go_away, story\n"
        "cluster = Fabric()\n"
        "run = Run(cluster)\n"
        f"print(hashlib.sha256(b''.join(b for c in {told} for b in published(run, c))).hexdigest())\n"
    )
    root = Path(__file__).parents[5]
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=root,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_what_is_kept_from_step_to_step_changes_nothing(cluster: Fabric, start: type[Run], seed: int) -> None:
    """Against a correlator that makes everything again in every step."""
    config = CorrelateConfig(correlated_findings_max=12, device_findings_max=10, changed_findings_max=10)
    for limits in (None, config):
        one, other = start(cluster, limits), start(cluster, limits)
        for changed in (*story(cluster, seed), [], [], [], []):
            other.correlator._forget()
            assert published(one, changed) == published(other, changed)
            assert one.correlator.state() == other.correlator.state()


def outages(cluster: Fabric, seed: int, ticks: int = 40) -> Iterator[tuple[list[Finding], list[TopologyFact]]]:
    """Hosts that go and come back, drained or not, with a job that may end; GPUs; many quiet ticks."""
    dice = random.Random(seed)
    gone: dict[str, list[Finding]] = {}
    ended = Job("1", tuple(f"node{n}" for n in range(1, 5)), started_ns=T0 - 7200 * S)
    ends_in = dice.choice([1, dice.randrange(2, ticks), ticks])  # before everything, meanwhile, or never
    for tick in range(1, ticks):
        if tick == ends_in:
            yield [], [TopologyFact(ended, T0 + tick * TICK, "slurm", gone=True)]
            continue
        at_ns, node = T0 + tick * TICK, dice.randrange(1, 9)
        name, at_s = f"node{node}", tick * TICK / S
        event = dice.randrange(6)
        if event == 0:
            state = NodeState(name, "", dice.choice([*Intent, ""]), since_ns=at_ns)
            yield [], [TopologyFact(state, at_ns, "slurm")]
        elif event == 1 and name in gone:
            yield [replace(each, state=FindingState.CLEARED, observed_ns=at_ns) for each in gone.pop(name)], []
        elif event == 1:
            gone[name] = [cluster.find(K.LINK_DOWN, cluster.facing(leaf, node), at_s) for leaf in range(1, 9)]
            gone[name].append(cluster.find(K.TARGET_SILENT, name, at_s))
            yield gone[name], []
        elif event == 2:
            kind = dice.choice([K.GPU_HUNG, K.STRAGGLER, K.GPU_LOST])
            yield [cluster.find(kind, cluster.gpu(node, 1), at_s)], []
        else:
            yield [], []


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_what_is_kept_knows_of_nodes_and_waves(cluster: Fabric, start: type[Run], seed: int) -> None:
    one, other = start(cluster), start(cluster)
    for changed, facts in outages(cluster, seed):
        for run in (one, other):
            run.topology = run.topology.with_facts(facts)
        other.correlator._forget()
        assert published(one, changed) == published(other, changed)
        assert one.correlator.state() == other.correlator.state()
