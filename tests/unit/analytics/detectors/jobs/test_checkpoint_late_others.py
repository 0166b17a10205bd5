"""A job of two hosts whose checkpoint takes far longer than usual, as others use the target that it waits for."""

from collections.abc import Sequence

import numpy as np
import pytest

from analytics.engine import Engine
from telemetry.findings import Evidence, Finding
from telemetry.series import series_key
from telemetry.topology import TopologyFact
from tests.unit.analytics.small_cluster import CONFIG, INTERVAL_S, SECOND, START_NS, batch, table, writing_job

HOSTS, TARGETS, GPUS = ("node0", "node1"), 3, 2
PERIOD_S, LASTS_S, LATE_S, END_S = 120, 20, 630, 760
STEP, PART, REST = 2e10, 1e9, 6e7  # bytes a second of a host: in a step, of a checkpoint, and from a busy target
OP = 2**20
USUAL, MOST = 1e9, 9e9  # bytes a second of a target that others use: as always, and as it can at most


def late(others: float, sent: Sequence[float] = (REST, REST)) -> list[Finding]:
    """Findings of a late checkpoint. others: what others move of one target meanwhile; sent: by each host."""
    engine, rng = Engine(CONFIG), np.random.default_rng(1)
    facts = [TopologyFact(entity, START_NS - SECOND, "inventory") for entity in writing_job(HOSTS, GPUS)]
    engine.add_facts(facts)
    names = ("read_bytes_total", "written_bytes_total", "operation_duration_seconds_sum")
    keys = [
        series_key(
            f"storage_{name}",
            {"device": "oss0", "system": "lustre", "fs": "scratch", "target": f"OST000{n}", "side": "server"}
            | ({"op": "write"} if name == names[2] else {}),
        )
        for n in range(TARGETS)
        for name in names
    ]
    stored, counters = table("oss0", keys), np.zeros((TARGETS, 3))
    total, found = dict.fromkeys(HOSTS, 1e9), list[Finding]()
    for seq in range(END_S // INTERVAL_S):
        at_s = seq * INTERVAL_S
        is_late = at_s >= LATE_S
        writes = is_late or (at_s >= 30 and (at_s - 30) % PERIOD_S < LASTS_S)
        waits = at_s >= LATE_S + INTERVAL_S  # the other targets have theirs by then
        rates = [sent[n] if waits else PART if writes else STEP for n in range(len(HOSTS))]
        for n in range(TARGETS):
            own = writes * (sum(rates) * (n == 1) if waits else sum(rates) / TARGETS)
            read = others if is_late and n == 1 else USUAL
            moved, seconds = read + own, 0.4 if is_late and n == 1 else 0.02
            counters[n] += INTERVAL_S * np.array([read, own, moved / OP * seconds])
        engine.observe(batch(stored, seq, counters.ravel().tolist()))
        for n, host in enumerate(HOSTS):
            total[host] += INTERVAL_S * rates[n]
            nic = series_key("ib_port_transmit_bytes_total", {"device": host, "port": "mlx5_0"})
            engine.observe(batch(table(host, [nic], "node"), seq, [total[host]]))
            busy = 0.02 if writes else 1.0
            gpus = [{"device": host, "gpu": f"GPU-{host}-{each}"} for each in range(GPUS)]
            metrics = ("gpu_tensor_active_ratio", "gpu_utilization_ratio")
            own_keys = [series_key(metric, gpu) for gpu in gpus for metric in metrics]
            active = [0.4 * busy * rng.normal(1, 0.02) for _ in gpus]
            engine.observe(batch(table(host, own_keys, "dcgm"), seq, [v for each in active for v in (each, busy)]))
        found += [output for output in engine.advance() if isinstance(output, Finding)]
    return [each for each in found if each.detector == "checkpoint_late"]


def share_of_others(found: Sequence[Finding]) -> list[Evidence]:
    return [each for each in found[0].evidence if each.series.startswith("storage_others_share")]


def test_a_late_checkpoint_says_that_others_keep_its_target_busy() -> None:
    (shown,) = share_of_others(late(MOST))
    assert shown.series == 'storage_others_share{job_id="7"}'
    assert shown.value == pytest.approx(MOST / (MOST + 2 * REST), rel=0.01)


@pytest.mark.parametrize(
    ("others", "sent"),
    [(MOST, (1e8, 1e5)), (USUAL, (REST, REST))],
    ids=["one member alone still writes", "the target moves no more than it always did"],
)
def test_a_checkpoint_is_late_for_other_reasons_beside_other_clients(others: float, sent: Sequence[float]) -> None:
    found = late(others, sent)
    assert found
    assert not share_of_others(found)
