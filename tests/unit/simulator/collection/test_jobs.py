"""Jobs as polls of Slurm see them."""

from functools import cache

from simulator.cluster import SimulatedCluster
from simulator.collection.config import CollectionConfig, Losses
from simulator.collection.jobs import ChangeFeed
from simulator.config import JobMix, SimulatorConfig
from simulator.direct import campaign
from telemetry.changes import Change, ChangeKind
from telemetry.topology import Job, TopologyFact

S = 1_000_000_000
START_NS = 1_700_000_000 * S
# A job of 17 s every 20 s, which computes and sends nothing
SHORT = SimulatorConfig(
    hosts=2,
    gpus_per_host=2,
    step_ms=50,
    jobs=JobMix(jobs=1, compute_s=60.0, lifetime_s=17.0, load_bytes=0.0, gap_s=3.0),
)


@cache
def known(collection: CollectionConfig | None, lasts_s: float = 180.0) -> tuple[list[TopologyFact], list[Change]]:
    ticks = list(campaign(SHORT, [], lasts_s, START_NS, parts=4, collection=collection))
    facts = [fact for tick in ticks for fact in tick.facts if isinstance(fact.entity, Job)]
    for tick in ticks:
        assert all(fact.observed_ns <= tick.now_ns for fact in tick.facts)
    return facts, [change for tick in ticks for change in tick.changes]


def test_jobs_between_two_polls_are_never_seen() -> None:
    true, _ = known(None)
    seen, changes = known(CollectionConfig(jobs_interval_s=(60.0,)))
    started = {fact.entity.key for fact in true if not fact.gone}
    found = {fact.entity.key for fact in seen if not fact.gone}
    assert found < started
    assert len(found) <= 4 < len(started)
    assert {change.objects[0].name for change in changes} <= {key.removeprefix("job/") for key in found}


def test_facts_have_the_time_of_their_poll() -> None:
    seen, changes = known(CollectionConfig(jobs_interval_s=(15.0,)))
    times = sorted({fact.observed_ns for fact in seen})
    assert {(later - times[0]) % (15 * S) for later in times} == {0}
    late_s = [(fact.observed_ns - fact.entity.started_ns) / S for fact in seen if not fact.gone]  # type: ignore[union-attr]
    assert min(late_s) >= 0
    assert 5.0 < max(late_s) < 15.0
    assert all(change.starts_ns % S == 0 for change in changes), "Slurm's times are whole seconds"


def test_a_change_has_the_time_at_which_it_happened() -> None:
    _, true = known(None)
    _, found = known(CollectionConfig(jobs_interval_s=(15.0,)))
    at = {change.id: change.starts_ns for change in true}
    assert {change.kind for change in found} == {ChangeKind.JOB_START, ChangeKind.JOB_END}
    assert all(0 <= at[change.id] - change.starts_ns < S for change in found)


def test_each_start_and_end_is_seen_once() -> None:
    facts, changes = known(CollectionConfig(jobs_interval_s=(5.0,)))
    keys = [(fact.entity.key, fact.gone) for fact in facts]
    assert len(set(keys)) == len(keys)
    assert len({change.id for change in changes}) == len(changes)
    assert all(not gone or (key, False) in keys[:at] for at, (key, gone) in enumerate(keys)), "an end follows a start"


def test_a_lost_poll_makes_the_next_one_later() -> None:
    losses = Losses(bad_share=0.5, burst_s=40.0)
    complete, _ = known(CollectionConfig(jobs_interval_s=(5.0,)))
    found, _ = known(CollectionConfig(jobs_interval_s=(5.0,), losses=losses))
    assert len({fact.entity.key for fact in found}) < len({fact.entity.key for fact in complete})


def test_a_job_that_runs_over_many_polls_is_one_fact() -> None:
    cluster = SimulatedCluster(SHORT, START_NS)
    feed = ChangeFeed(cluster, polled=True, maintenance_announced=True)
    cluster.advance(START_NS + 5 * S)
    assert feed.changes() == []
    facts, changes = feed.poll()
    assert [(fact.entity.key, fact.observed_ns) for fact in facts] == [("job/4711", START_NS + 5 * S)]
    assert [change.kind for change in changes] == [ChangeKind.JOB_START]
    assert feed.poll() == ([], [])


def test_nothing_is_known_of_jobs_where_nobody_asks_slurm() -> None:
    for polls in ((), (5.0,)):
        assert known(CollectionConfig(jobs_known=False, jobs_interval_s=polls)) == ([], [])
