"""What the first page says that a fault costs. Jobs 1 and 2 have 32 GPUs each; ports are read every 10 s."""

from dataclasses import replace

import pytest

from analytics.correlate.correlator import Correlator
from analytics.models.expected_share import EXPECTED_SHARE
from analytics.models.usual_load import USUAL_LOAD
from telemetry.findings import Evidence, Finding, FindingState
from telemetry.findings import FindingKind as K
from telemetry.incidents import Severity
from tests.unit.analytics.correlate.small_fabric import T0, Fabric, Run, S

LOST = "node1/mlx5_0", "leaf1/Ethernet0"
BEFORE_S = 10 / 3


def slowed(cluster: Fabric, share: float, onset_s: float) -> Finding:
    finding = cluster.find(K.JOB_SLOWED, "job:1", onset_s)
    return replace(finding, evidence=(Evidence("s", 1.0 - share, 1.0, "ratio"),))


def lost_by_hosts(cluster: Fabric) -> list[Finding]:
    return [cluster.find(K.LINK_DOWN, f"node{host}/mlx5_0") for host in range(1, 8)]


def stated(run: Run) -> float:
    """GPU-seconds by now, whether or not they were worth another version."""
    (track,) = run.correlator.state().head["tracks"]
    return float(track["gpu_seconds"])


def test_the_first_page_of_a_lost_link_states_what_its_job_lost_since(cluster: Fabric, run: Run) -> None:
    """Both ends were up 10 s before. The first of two readings comes a third of that after the cable was pulled."""
    run.tick(cluster.find(K.LINK_DOWN, LOST[0]), ticks=3)
    ((page, at_ns),) = [(page.incident, page.at_ns) for page in run.pager.pages]
    assert page.severity is Severity.CRITICAL
    assert page.gpu_seconds == pytest.approx(32 * (BEFORE_S + (at_ns - T0) / S), abs=0.001)
    assert "job 1 cut off: its 32 GPUs count as lost since" in " ".join(entry.text for entry in page.timeline)


def test_a_dead_leaf_is_seen_by_many(cluster: Fabric, run: Run) -> None:
    """Its 13 neighbours are read at 13 moments, of which the first comes soon, also where few have been read by now."""
    run.tick(cluster.find(K.LINK_DOWN, cluster.downlink(1, 1)), *lost_by_hosts(cluster), ticks=2)
    assert run.only.title.startswith("[CRIT] pod1: leaf1 down")
    assert stated(run) == pytest.approx(64 * (10 / 14 + 10), rel=0.01)


def test_a_job_that_goes_on_working_has_lost_nothing(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.LINK_DOWN, LOST[0]), ticks=4)
    assert run.only.gpu_seconds > 0
    run.tick(ticks=2)
    assert run.only.gpu_seconds == 0
    assert run.only.timeline[-1].text == "job 1 shows no loss: what it was expected to lose does not count"
    run.tick(ticks=10)
    assert run.only.gpu_seconds == 0


def test_what_a_job_shows_in_time_goes_on_from_what_was_expected(cluster: Fabric, run: Run) -> None:
    """Its first low bin is mostly from before: the link was lost at its end."""
    run.tick(cluster.find(K.LINK_DOWN, LOST[0]), ticks=2)
    run.tick(slowed(cluster, 0.3, 4), ticks=2)
    assert stated(run) == pytest.approx(32 * (BEFORE_S + 20))
    run.tick(replace(slowed(cluster, 0.9, 4), observed_ns=T0 + 24 * S), ticks=4)
    assert stated(run) == pytest.approx(32 * (BEFORE_S + 20 + 0.9 * 20), rel=0.15)


def test_what_is_expected_survives_a_restart(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.LINK_DOWN, LOST[0]), ticks=3)
    before = run.correlator.state()
    run.correlator = Correlator()
    run.correlator.restore(before)
    assert run.correlator.state().head == before.head
    run.tick(ticks=3)
    assert stated(run) == pytest.approx(0, abs=1e-9)


def test_a_job_that_loses_two_links_at_once_is_lost_once(cluster: Fabric, run: Run) -> None:
    """Two hosts of one job: two incidents, each pays half."""
    run.tick(cluster.find(K.LINK_DOWN, LOST[0]), cluster.find(K.LINK_DOWN, "node2/mlx5_4"), ticks=3)
    costs = [incident.gpu_seconds for incident in run.incidents.values()]
    assert len(costs) == 2
    assert sum(costs) == pytest.approx(32 * (BEFORE_S + 15), rel=0.05)


def test_a_port_that_was_down_when_it_was_first_seen_costs_nothing_by_itself(cluster: Fabric, run: Run) -> None:
    run.tick(replace(cluster.find(K.LINK_DOWN, LOST[0]), since_first_seen=True), ticks=3)
    assert stated(run) == 0


def test_a_mean_that_rises_counts_for_all_of_its_time(cluster: Fabric, run: Run) -> None:
    """The first low bin of a job is partly from before the fault; the next one says what that was worth."""
    run.tick(cluster.find(K.PFC_PAUSE_RECEIVED, cluster.facing(3, 2)), slowed(cluster, 0.2, 0), ticks=2)
    assert stated(run) == pytest.approx(32 * 0.2 * (10 + 10))
    run.tick(replace(slowed(cluster, 0.4, 0), observed_ns=run.now_ns))
    assert stated(run) == pytest.approx(32 * 0.4 * (10 + 15))


def test_what_passed_until_a_job_was_seen_to_work_again_does_not_count(cluster: Fabric, run: Run) -> None:
    pause, finding = cluster.find(K.PFC_PAUSE_RECEIVED, cluster.facing(3, 2)), slowed(cluster, 0.5, 0)
    run.tick(pause, finding, ticks=12)
    assert stated(run) == pytest.approx(32 * 0.5 * (10 + 60))
    run.tick(replace(finding, state=FindingState.CLEARED, observed_ns=run.now_ns))
    assert stated(run) == pytest.approx(32 * 0.5 * (10 + 60 - 20))


def test_a_hung_gpu_costs_since_the_value_before_the_first_that_shows_it(cluster: Fabric, run: Run) -> None:
    run.tick(replace(cluster.find(K.GPU_HUNG, cluster.gpu(1, 3)), cadence_s=30.0), ticks=2)
    assert stated(run) == pytest.approx(32 * (30 + 10))


def too_slow(cluster: Fabric, usual: float) -> Finding:
    """A link that is left with 100 of 400 Gb/s. usual: what is usually sent over it, in Gb/s."""
    evidence = (
        Evidence("speed", 1e11, 4e11, "bits_per_second"),
        Evidence(f"{USUAL_LOAD}{{}}", 1e9 * usual, None, "bits_per_second"),
    )
    return replace(cluster.find(K.LINK_SLOW, LOST[1]), evidence=evidence)


def test_a_link_that_is_busy_with_what_is_usually_sent_is_critical_at_once(cluster: Fabric, run: Run) -> None:
    """What took 40 % of the time of a step takes 160 %: of 2.2 steps 1.2 are lost."""
    run.tick(too_slow(cluster, 160))
    ((page, at_ns),) = [(page.incident, page.at_ns) for page in run.pager.pages]
    assert page.severity is Severity.CRITICAL
    assert page.gpu_seconds == pytest.approx(32 * 1.2 / 2.2 * (BEFORE_S + (at_ns - T0) / S), abs=0.001)
    (said,) = [entry.text for entry in page.timeline if "usually sends too much" in entry.text]
    assert "55 % of its 32 GPUs count as lost since" in said


def test_a_link_that_is_fast_enough_for_what_is_usually_sent_is_a_warning(cluster: Fabric, run: Run) -> None:
    run.tick(too_slow(cluster, 45), ticks=3)
    assert (run.only.severity, run.only.gpu_seconds) == (Severity.WARNING, 0.0)


def test_ports_that_are_read_rarely_make_nobody_expect_a_loss_for_longer(cluster: Fabric, run: Run) -> None:
    """A job that shows that it loses half is not taken to lose all of its time for three minutes."""
    run.tick(replace(cluster.find(K.LINK_DOWN, LOST[0]), cadence_s=60.0), slowed(cluster, 0.5, 0), ticks=5)
    before = stated(run)
    run.tick(ticks=4)
    assert stated(run) <= before + 32 * 0.5 * 20


def throttled(cluster: Fabric, share: float, cadence_s: float = 10.0) -> Finding:
    """A GPU of job 1 that has lost this share of its clock."""
    evidence = (
        Evidence("gpu_throttle_seconds_total{}", 0.95, 0.0, "ratio"),
        Evidence(f'{EXPECTED_SHARE}{{job_id="1"}}', share, None, "ratio"),
    )
    return replace(cluster.find(K.GPU_THROTTLED, cluster.gpu(1, 1)), evidence=evidence, cadence_s=cadence_s)


def test_a_job_is_expected_to_go_on_at_the_clock_of_its_slowest_gpu(cluster: Fabric, run: Run) -> None:
    run.tick(throttled(cluster, 0.4))
    ((page, at_ns),) = [(page.incident, page.at_ns) for page in run.pager.pages]
    assert page.severity is Severity.CRITICAL
    assert page.gpu_seconds == pytest.approx(32 * 0.4 * (5 + (at_ns - T0) / S), abs=0.001)
    (said,) = [entry.text for entry in page.timeline if "slowest GPU" in entry.text]
    assert said.startswith("job 1 goes on at the pace of its slowest GPU: 40 % of its 32 GPUs count as lost since")


def test_a_gpu_that_is_hardly_slower_is_a_warning(cluster: Fabric, run: Run) -> None:
    run.tick(throttled(cluster, 0.1))
    assert run.only.severity is Severity.WARNING


@pytest.mark.parametrize("cadence_s", [10.0, 30.0])
def test_a_job_that_shows_no_loss_beside_its_slow_gpu_has_none(cadence_s: float, cluster: Fabric, run: Run) -> None:
    """Its work is read as often as its GPU, so that shows within three readings."""
    run.tick(throttled(cluster, 0.1, cadence_s), ticks=round(2.5 * cadence_s / 5))
    assert stated(run) == 0
    run.tick(ticks=1)
    assert run.only.timeline[-1].text == "job 1 shows no loss: what it was expected to lose does not count"


def test_what_a_slowed_job_shows_takes_the_place_of_what_its_gpu_says(cluster: Fabric, run: Run) -> None:
    run.tick(throttled(cluster, 0.4), ticks=2)
    run.tick(slowed(cluster, 0.2, 4), ticks=12)
    assert stated(run) == pytest.approx(32 * (0.4 * 25 + 0.2 * 45), rel=0.15)
