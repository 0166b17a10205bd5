"""What a campaign loses on the way, and what correlation gets again without a detector."""

from dataclasses import replace

import numpy as np

from common.units import NS_PER_S
from evaluation.campaigns.plan import FAILED, LOST, Plan
from evaluation.campaigns.run_plan import CampaignRun, CorrelatorInput, _Losses, muted
from simulator.config import SimulatorConfig
from telemetry.findings import Finding, FindingKind, FindingState
from telemetry.objects import device
from telemetry.samples import Collection, DownReason, SampleBatch
from telemetry.series import SeriesTable
from telemetry.topology import Topology
from tests.unit.evaluation.campaigns.incidents import incident

TARGETS = [SeriesTable(f"node/{k}", f"node{k}", (f'node_load_1m{{device="node{k}"}}',)) for k in range(10)]


def collected(seq: int) -> list[SampleBatch]:
    at_ns = seq * 10 * NS_PER_S
    one = np.zeros(1, np.uint32)
    return [
        SampleBatch(table, Collection(0, seq, at_ns, 0.01), np.full(1, at_ns), one, np.ones(1)) for table in TARGETS
    ]


def arrived(seed: int, intervals: int) -> list[list[SampleBatch]]:
    losses = _Losses(seed)
    return [list(losses.arrived(collected(seq))) for seq in range(intervals)]


def test_some_collections_are_lost_and_some_fail() -> None:
    found = [batch for batches in arrived(1, 4000) for batch in batches]
    failed = [batch for batch in found if batch.collection.down is DownReason.TIMEOUT]
    assert {len(batch) for batch in failed} == {0}
    assert 1 - len(found) / 40_000 == np.clip(1 - len(found) / 40_000, 0.8 * LOST, 1.2 * LOST)
    assert len(failed) / 40_000 == np.clip(len(failed) / 40_000, 0.7 * FAILED, 1.3 * FAILED)


def test_a_target_never_misses_two_in_a_row() -> None:
    before: set[str] = set()
    for batches in arrived(2, 4000):
        here = {batch.table.target for batch in batches if batch.collection.down is None}
        missing = {table.target for table in TARGETS} - here
        assert not missing & before
        before = missing


def test_the_seed_decides_what_is_lost() -> None:
    def keys(seed: int) -> list[tuple[str, int, bool]]:
        found = [batch for batches in arrived(seed, 500) for batch in batches]
        return [(batch.table.target, batch.collection.seq, batch.collection.up) for batch in found]

    assert keys(3) == keys(3) != keys(4)


def test_the_first_version_that_costs_time_is_kept() -> None:
    run = CampaignRun(Plan(SimulatorConfig(hosts=2), (), 60.0, 1))
    versions = [
        incident(device("spine1"), fired_ns=k * NS_PER_S, gpu_seconds=cost) for k, cost in enumerate((0.0, 3.0, 9.0))
    ]
    for version in versions:
        run.add(version)
    (key,) = run.first
    assert (run.first[key], run.newest[key], run.costs_ns) == (versions[0], versions[2], {key: NS_PER_S})


def finding(detector: str, name: str) -> Finding:
    return Finding(
        id=f"{detector}/{name}",
        kind=FindingKind.TARGET_SILENT,
        object=device(name),
        detector=detector,
        state=FindingState.ACTIVE,
        onset_ns=10 * NS_PER_S,
        observed_ns=20 * NS_PER_S,
        score=2.0,
        confidence=0.9,
        evidence=(),
    )


def test_muting_removes_the_findings_of_one_detector_before_correlation() -> None:
    given = [
        CorrelatorInput(k * 10 * NS_PER_S, (finding("silent", "node1"), finding("other", "node2")), Topology(), ())
        for k in range(2, 12)
    ]
    run = CampaignRun(Plan(SimulatorConfig(hosts=2), (), 120.0, 1), inputs=given, series=7)
    without = muted(run, "other")
    assert [[one.detector for one in each.changed] for each in without.inputs] == [["silent"]] * 10
    assert [(each.now_ns, each.topology, each.changes) for each in without.inputs] == [
        (each.now_ns, each.topology, each.changes) for each in given
    ]
    assert run.inputs is given, "the campaign itself is unchanged"
    assert without.series == 7
    roots = {one.root for one in without.newest.values()}
    assert roots == {device("node1")}
    assert {one.root for one in muted(replace(run, inputs=given), "nobody").newest.values()} > roots
