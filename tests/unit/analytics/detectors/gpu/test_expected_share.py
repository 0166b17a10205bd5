"""What a GPU that got slow says of its job: the part of its time that it will lose."""

from collections.abc import Sequence

import pytest

from analytics.engine import Engine
from analytics.models.expected_share import EXPECTED_SHARE
from telemetry.findings import Finding, FindingKind
from telemetry.samples import SampleBatch
from telemetry.series import series_key
from telemetry.topology import Entity, Gpu, Job, TopologyFact
from tests.unit.analytics.small_cluster import CONFIG, INTERVAL_S, START_NS, batch, clockwork, run, table

HOSTS, GPUS, WORKS, BROKEN = ("node1", "node2"), 4, 20, 6
FULL = 1.98e9  # hertz
NVLINK = 70e9  # bytes a second
METRICS: Sequence[tuple[str, dict[str, str]]] = (
    ("gpu_sm_clock_hertz", {}),
    ("gpu_utilization_ratio", {}),
    ("gpu_sm_active_ratio", {}),
    ("gpu_tensor_active_ratio", {}),
    ("gpu_throttle_seconds_total", {"reason": "hw_thermal"}),
    ("gpu_xid_last", {}),
    ("gpu_nvlink_bytes_per_second", {"direction": "tx"}),
    ("gpu_nvlink_bytes_per_second", {"direction": "rx"}),
)


def stated(
    kind: FindingKind, *, clock: float = FULL, xid: float = 0.0, nvlink: float = NVLINK, together: bool = True
) -> list[float]:
    """The shares that findings about GPU 1 of node2 have in their first version. together: all GPUs work in steps."""
    engine, batches = Engine(CONFIG), list[SampleBatch]()
    entities: list[Entity] = [Gpu(host, f"GPU-{g}", g) for host in HOSTS for g in range(GPUS)]
    engine.add_facts(TopologyFact(each, START_NS - 1, "test") for each in [*entities, Job("7", HOSTS)])
    for number in range(WORKS + BROKEN):
        for place, host in enumerate(HOSTS):
            keys = [
                series_key(metric, {"device": host, "gpu": f"GPU-{g}", **labels})
                for g in range(GPUS)
                for metric, labels in METRICS
            ]
            values: list[float] = []
            for g in range(GPUS):
                broken = number >= WORKS and (host, g) == ("node2", 1)
                phase = 0.1 * (-1.0) ** (number if together else number // (1 + g))
                throttled_s = INTERVAL_S * max(0, number - WORKS + 1) if broken and clock < FULL else 0.0
                values += [clock if broken else FULL, 1.0, 0.6 + phase, 0.4 + phase, throttled_s]
                values += [xid if broken else 0.0, *[nvlink if broken else NVLINK] * 2]
            batches.append(batch(table(host, keys, "dcgm"), number, values, at_s=number * INTERVAL_S + place))
    outputs = run(engine, [*batches, *clockwork(0, range(WORKS + BROKEN, WORKS + BROKEN + 2))])
    found: dict[str, Finding] = {}
    for each in outputs:
        if isinstance(each, Finding) and each.kind is kind and each.object.name == "node2/GPU-1":
            found.setdefault(each.id, each)
    assert found
    shown = (one for each in found.values() for one in each.evidence)
    return [one.value for one in shown if one.series == f'{EXPECTED_SHARE}{{job_id="7"}}']


def test_a_throttled_gpu_costs_its_job_the_clock_that_is_missing() -> None:
    assert stated(FindingKind.GPU_THROTTLED, clock=0.6 * FULL) == [pytest.approx(0.4)]


def test_it_costs_nothing_where_nobody_waits_for_it() -> None:
    assert stated(FindingKind.GPU_THROTTLED, clock=0.6 * FULL, together=False) == []


def test_a_gpu_without_nvlinks_exchanges_over_pcie() -> None:
    """70 GB in a second take 70 / 63 of a second more."""
    (share,) = stated(FindingKind.GPU_XID, xid=74.0, nvlink=0.0)
    assert share == pytest.approx((70 / 63) / (1 + 70 / 63), rel=0.01)


@pytest.mark.parametrize(("xid", "nvlink"), [(74.0, 0.8 * NVLINK), (79.0, 0.0)], ids=["some are left", "another error"])
def test_other_errors_say_nothing_of_what_they_cost(xid: float, nvlink: float) -> None:
    assert stated(FindingKind.GPU_XID, xid=xid, nvlink=nvlink) == []
