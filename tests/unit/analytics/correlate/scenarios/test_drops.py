"""A lossless queue that drops while its switch pauses nobody is set up in another way than the others."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from telemetry.findings import Evidence, Finding
from telemetry.findings import FindingKind as K
from telemetry.incidents import IncidentKind as I
from telemetry.incidents import Severity
from tests.unit.analytics.correlate.small_fabric import Fabric, Run

ROOTS = ["uplink", "downlink", "facing"]


def port(cluster: Fabric, which: str) -> str:
    return {"uplink": cluster.uplink(3, 1), "downlink": cluster.downlink(1, 3), "facing": cluster.facing(3, 2)}[which]


def drops(cluster: Fabric, where: str, score: float = 200.0) -> Finding:
    return cluster.find(K.LOSSLESS_DROPS, where, score=score)


def repeats(cluster: Fabric, adapters: Sequence[str], at: float) -> list[Finding]:
    """What was dropped is sent once more."""
    found = []
    for name in adapters:
        series = f'rdma_packet_sequence_errors_total{{device="{name.partition("/")[0]}"}}'
        evidence = (Evidence(series, 2000.0, 0.0, "packets/s"),)
        found.append(replace(cluster.find(K.DEVIATION, name, at), evidence=evidence))
    return found


@pytest.mark.parametrize("which", ROOTS)
def test_a_queue_that_drops_where_others_pause_is_named_within_a_quarter_of_a_minute(
    which: str, cluster: Fabric, run: Run
) -> None:
    root = port(cluster, which)
    run.tick(drops(cluster, root), ticks=2)
    run.tick(cluster.find(K.JOB_SLOWED, "job:1", 5), *repeats(cluster, ["node1/mlx5_2", "node3/mlx5_2"], 6))
    assert run.pages == [f"congestion {root}"]
    assert f"lossless queue of {root} drops" in run.only.title
    assert "compare buffer profile and PFC" in " ".join(run.only.because) + run.only.timeline[-1].text
    run.tick(ticks=20)
    assert (len(run.incidents), run.only.severity) == (1, Severity.CRITICAL)  # the repeats are no incident


def test_while_no_job_waits_for_it_nobody_is_paged(cluster: Fabric, run: Run) -> None:
    run.tick(drops(cluster, cluster.uplink(3, 1)), ticks=20)
    assert (run.only.kind, run.only.severity, run.pages) == (I.CONGESTION, Severity.INFO, [])


@pytest.mark.parametrize("which", ROOTS)
def test_a_job_that_sends_again_what_was_dropped_waits_for_it(which: str, cluster: Fabric, run: Run) -> None:
    """Go-back-N repeats a window for every drop; its work shows later what that costs, or never, where it is little."""
    root = port(cluster, which)
    run.tick(drops(cluster, root), *repeats(cluster, ["node1/mlx5_2", "node3/mlx5_2"], 2), ticks=3)
    assert run.only.severity is Severity.INFO  # the next bin of the job's work may say what it costs
    run.tick(ticks=2)
    assert (run.pages, run.only.severity) == ([f"congestion {root}"], Severity.WARNING)
    assert run.only.title.endswith("32 GPUs, job 1 sends again what is dropped")
    run.tick(cluster.find(K.JOB_SLOWED, "job:1", 5), ticks=20)
    assert (len(run.pages), run.only.severity) == (1, Severity.CRITICAL)
    assert "job 1 stalled" in run.only.title  # by its own work, as soon as that is known


def test_what_the_job_s_work_shows_later_counts_from_its_begin(cluster: Fabric, run: Run) -> None:
    other, found = Run(cluster), [drops(cluster, cluster.facing(3, 2)), *repeats(cluster, ["node1/mlx5_2"], 2)]
    for each, first in ((run, found), (other, found[:1])):
        each.tick(*first, ticks=12)
        each.tick(cluster.find(K.JOB_SLOWED, "job:1", 5), ticks=4)
    assert run.only.gpu_seconds == other.only.gpu_seconds > 1000.0


def test_what_other_jobs_send_again_is_no_reason_for_a_page(cluster: Fabric, run: Run) -> None:
    run.tick(drops(cluster, cluster.facing(3, 2)), *repeats(cluster, ["node5/mlx5_2"], 2), ticks=20)
    assert (run.pages, run.of_kind(I.CONGESTION).severity) == ([], Severity.INFO)


def test_less_traffic_is_no_proof_that_anything_is_sent_again(cluster: Fabric, run: Run) -> None:
    evidence = (Evidence('rdma_transmit_bytes_total{device="node1"}', 2e9, 2e10, "bytes/s"),)
    less = replace(cluster.find(K.DEVIATION, "node1/mlx5_2", 2), evidence=evidence)
    run.tick(drops(cluster, cluster.facing(3, 2)), less, ticks=20)
    assert not run.pages


def test_several_queues_of_a_switch_are_one_incident(cluster: Fabric, run: Run) -> None:
    run.tick(drops(cluster, cluster.uplink(3, 1)), drops(cluster, cluster.uplink(3, 2), 300.0), ticks=4)
    assert run.only.root.name == cluster.uplink(3, 2)
    assert "2 lossless queues of leaf3 drop" in run.only.title


@pytest.mark.parametrize("which", ROOTS)
def test_packets_that_a_link_loses_on_its_way_down_are_of_the_link(which: str, cluster: Fabric, run: Run) -> None:
    root = port(cluster, which)
    run.tick(drops(cluster, root))
    run.tick(cluster.find(K.LINK_DOWN, root, 1), cluster.find(K.JOB_SLOWED, "job:1", 2), ticks=20)
    assert run.only.kind is I.LINK_DOWN


def test_what_is_dropped_beside_a_link_that_flaps_is_of_that_link(cluster: Fabric, run: Run) -> None:
    """Its traffic takes other ways meanwhile, each for a moment."""
    run.tick(cluster.find(K.LINK_FLAPPING, cluster.uplink(1, 2)), ticks=3)
    later = [drops(cluster, where) for where in (cluster.downlink(3, 1), cluster.downlink(2, 5), cluster.uplink(1, 4))]
    run.tick(*later, ticks=20)
    assert run.only.kind is I.LINK_FLAPPING


def test_a_switch_that_pauses_its_senders_drops_for_want_of_room(cluster: Fabric, run: Run) -> None:
    """An incast beyond the headroom: nothing is wrong with the queue."""
    root = cluster.facing(3, 2)
    pauses = [cluster.find(K.PFC_PAUSE_SENT, cluster.facing(3, node), 1) for node in (1, 4)]
    run.tick(drops(cluster, root), cluster.find(K.QUEUE_CONGESTED, root), *pauses)
    run.tick(cluster.find(K.JOB_SLOWED, "job:1", 2), ticks=20)
    assert (run.only.kind, run.only.root.name) == (I.INCAST, root)


def test_a_few_packets_are_no_reason(cluster: Fabric, run: Run) -> None:
    run.tick(drops(cluster, cluster.uplink(3, 1), 1.05), ticks=4)
    assert not run.incidents
