"""A job of four hosts that writes a checkpoint every five minutes, and one host of it that once writes slowly."""

from collections.abc import Callable

import numpy as np
import pytest

from analytics.engine import Engine
from telemetry import objects
from telemetry.findings import Finding, FindingKind, FindingState
from telemetry.series import series_key
from telemetry.topology import TopologyFact
from tests.unit.analytics.small_cluster import CONFIG, INTERVAL_S, SECOND, START_NS, batch, table, writing_job

HOSTS = ("node0", "node1", "node2", "node3")
GPUS, PERIOD_S, LASTS_S, LATE_S, END_S = 2, 300, 80, 1050, 1300
STEP, PART, SLOW, BEAT = 2e10, 5e8, 2e7, 1e6  # bytes a second of a NIC: in a step, of a checkpoint, and of heartbeats
Sent = Callable[[str, float], float]  # host, seconds since the checkpoint began


def all_alike(host: str, since_s: float) -> float:
    return PART


def unequal(host: str, since_s: float) -> float:
    """Files lie on targets of unequal load; two hosts are done long before the others."""
    done = host in ("node0", "node1") and since_s > 40
    return BEAT if done else {"node0": 3.0, "node1": 1.5, "node2": 0.8, "node3": 0.6}[host] * PART


def one_writes_for_all(host: str, since_s: float) -> float:
    return PART if host == "node0" else BEAT


def all_but_one(host: str, since_s: float) -> float:
    return BEAT if host == "node3" else PART


def findings(
    usual: Sent, late: Sent, *, lockstep: bool = True, read_every_s: int = INTERVAL_S, others_write: bool = False
) -> list[Finding]:
    """late: what hosts send in the checkpoint at ``LATE_S``, which takes until the end."""
    engine, rng = Engine(CONFIG), np.random.default_rng(1)
    facts = [TopologyFact(entity, START_NS - SECOND, "inventory") for entity in writing_job(HOSTS, GPUS)]
    engine.add_facts(facts)
    ost = {"device": "oss0", "system": "lustre", "fs": "scratch", "target": "OST0000", "side": "server"}
    stored = table("oss0", [series_key("storage_written_bytes_total", ost)])
    written, sent, read = 1e9, dict.fromkeys(HOSTS, 1e9), dict[str, list[float]]()
    found: list[Finding] = []
    for seq in range(END_S // INTERVAL_S):
        at_s = float(seq * INTERVAL_S)
        since_s = at_s - LATE_S if at_s >= LATE_S else (at_s - 150.0) % PERIOD_S
        stands = at_s >= LATE_S or (at_s >= 150.0 and since_s < LASTS_S)
        written += INTERVAL_S * (others_write * PART + PART * stands)
        engine.observe(batch(stored, seq, [written]))
        for host in HOSTS:
            share = (late if at_s >= LATE_S else usual)(host, since_s)
            sent[host] += INTERVAL_S * (share if stands else STEP)
            nic = series_key("ib_port_transmit_bytes_total", {"device": host, "port": "mlx5_0"})
            engine.observe(batch(table(host, [nic], "node"), seq, [sent[host]]))
            if host not in read or at_s % read_every_s == 0.0:
                busy = 0.02 if stands else 1.0
                active = [
                    0.4 * busy * (rng.normal(1, 0.02) if lockstep else rng.uniform(0.2, 2.0)) for _ in range(GPUS)
                ]
                read[host] = [value for each in active for value in (each, busy)]
            metrics = ("gpu_tensor_active_ratio", "gpu_utilization_ratio")
            gpus = [{"device": host, "gpu": f"GPU-{host}-{n}"} for n in range(GPUS)]
            keys = [series_key(metric, gpu) for gpu in gpus for metric in metrics]
            engine.observe(batch(table(host, keys, "dcgm"), seq, read[host]))
        found += [output for output in engine.advance() if isinstance(output, Finding)]
    return [each for each in found if each.detector == "checkpoint_member"]


def slow(host: str, since_s: float) -> float:
    return SLOW if host == "node2" else unequal(host, since_s)


@pytest.mark.parametrize("read_every_s", [INTERVAL_S, 30])
def test_a_member_that_writes_far_slower_than_the_others_is_late_before_the_checkpoint_is(read_every_s: int) -> None:
    found = findings(all_alike, slow, read_every_s=read_every_s, others_write=True)
    assert {(each.kind, each.object) for each in found} == {(FindingKind.CHECKPOINT_LATE, objects.job("7"))}
    assert found[0].observed_ns <= START_NS + (LATE_S + read_every_s + 3 * INTERVAL_S) * SECOND
    assert found[0].evidence[0].series == 'checkpoint_sent{device="node2",job_id="7"}'
    assert found[0].evidence[0].value == pytest.approx(SLOW)
    assert {each.state for each in found} == {FindingState.ACTIVE}  # it lasts until the job goes on


def test_members_that_differ_and_those_that_are_done_are_not_late() -> None:
    assert findings(unequal, unequal) == []


def slow_target(host: str, since_s: float) -> float:
    """Soon all write to one target alone, as others use it. node2 is read late: its value has less of the begin."""
    if since_s > INTERVAL_S:
        return SLOW
    return 0.1 * PART if host == "node2" else PART


def test_a_member_that_writes_as_much_as_the_others_is_not_late() -> None:
    assert findings(all_alike, slow_target) == []


def test_where_one_rank_writes_for_all_the_others_are_not_late() -> None:
    assert findings(one_writes_for_all, one_writes_for_all) == []


def test_a_member_that_has_never_written_its_part_is_not_late() -> None:
    assert findings(all_but_one, all_but_one) == []


def test_without_an_earlier_checkpoint_nothing_is_known_of_a_member() -> None:
    assert findings(one_writes_for_all, slow) == []


def test_nobody_waits_for_a_member_where_every_gpu_works_for_itself() -> None:
    assert findings(all_alike, slow, lockstep=False) == []
