"""What is being reported is not learned: a fault that lasts for longer than a new level takes is one finding."""

from collections.abc import Sequence

import pytest

from analytics.config import EngineConfig
from analytics.detectors import detectors
from analytics.detectors.detector_set import DetectorSet
from analytics.engine import Engine
from telemetry.findings import Finding, FindingKind, FindingState
from tests.unit.analytics.restart import restarted
from tests.unit.analytics.small_cluster import (
    CONFIG,
    INTERVAL_S,
    SECOND,
    START_NS,
    batch,
    clockwork,
    port_key,
    run,
    table,
)

QUIET, LONG = 30, 270  # intervals; half an hour is what a new level takes

PAUSED = port_key("fabric_port_pfc_pause_seconds_total", priority="3", direction="rx")
PAUSING = port_key("fabric_port_pfc_pause_frames_total", priority="3", direction="tx")
QUEUE = port_key("fabric_queue_occupancy_bytes", queue="3")
MARKED, SENT = (port_key(f"fabric_queue_{name}_packets_total", queue="3") for name in ("ecn_marked", "transmit"))

Rows = list[list[float]]


def counters(*rates: Sequence[float]) -> Rows:
    """Readings of counters with these rates a second, one list for each of them."""
    rows, total = [], [0.0] * len(rates)
    for values in zip(*rates, strict=True):
        total = [before + INTERVAL_S * value for before, value in zip(total, values, strict=True)]
        rows.append(total)
    return rows


def lasting(healthy: float, bad: float, long: int = LONG) -> list[float]:
    """Now and then a value of a fault is a healthy one."""
    return [healthy] * QUIET + [healthy if at % 50 == 30 else bad for at in range(long)] + [healthy] * QUIET


FAULTS = [
    ("a pause by time", FindingKind.PFC_PAUSE_RECEIVED, [PAUSED], counters(lasting(0.0, 0.3))),
    ("a pause by frames", FindingKind.PFC_PAUSE_SENT, [PAUSING], counters(lasting(0.0, 30_000.0))),
    ("a queue", FindingKind.QUEUE_CONGESTED, [QUEUE], [[value] for value in lasting(1e4, 7.5e6)]),
    (
        "marks",
        FindingKind.ECN_MARKING,
        [MARKED, SENT],
        counters(lasting(0.0, 3e5), [1e6] * (LONG + 2 * QUIET)),
    ),
]


def engine_of(kind: FindingKind, config: EngineConfig = CONFIG) -> Engine:
    """With the detectors of one kind alone."""
    engine = Engine(config)
    engine.detectors = DetectorSet(each for each in detectors(config.detection) if each.kind is kind)
    return engine


def of_kind(
    kind: FindingKind, keys: list[str], rows: Rows, config: EngineConfig = CONFIG, restart: int | None = None
) -> list[Finding]:
    """What the detectors of a kind find on one target with these values, one row a collection.

    restart: collections before a restart.
    """
    engine, of = engine_of(kind, config), table("leaf1", keys)
    batches = [batch(of, seq, row) for seq, row in enumerate(rows)]
    batches += clockwork(0, range(len(rows), len(rows) + 2))
    outputs = run(engine, batches[:restart])
    if restart is not None:
        outputs += run(restarted(engine, engine_of(kind, config)), batches[restart:])
    return [each for each in outputs if isinstance(each, Finding)]


@pytest.mark.parametrize(("kind", "keys", "rows"), [row[1:] for row in FAULTS], ids=[row[0] for row in FAULTS])
def test_a_fault_that_lasts_is_one_finding_until_it_ends(kind: FindingKind, keys: list[str], rows: Rows) -> None:
    found = of_kind(kind, keys, rows)
    assert len({each.id for each in found}) == 1
    assert [each.state for each in found].index(FindingState.CLEARED) == len(found) - 1
    over_s = (found[-1].observed_ns - START_NS) / SECOND - (QUIET + LONG) * INTERVAL_S
    assert 0 <= over_s <= 4 * INTERVAL_S


@pytest.mark.parametrize("before", [90, LONG])
def test_a_fault_is_found_again_soon_when_the_load_is_back(before: int) -> None:
    """Ten minutes in which the job of a paused port waits for something else."""
    rates = [0.0] * QUIET + [0.3] * before + [0.0] * 60 + [0.3] * 12
    found = of_kind(FindingKind.PFC_PAUSE_RECEIVED, [PAUSED], counters(rates))
    again = [each for each in found if each.observed_ns >= START_NS + (QUIET + before + 60) * INTERVAL_S * SECOND]
    assert again[0].state is FindingState.ACTIVE
    assert again[0].observed_ns - again[0].onset_ns <= 6 * INTERVAL_S * SECOND


def test_what_is_reported_for_longer_than_that_takes_is_learned() -> None:
    config = CONFIG.model_copy(update={"reported_follow_s": 1200.0})
    found = of_kind(FindingKind.PFC_PAUSE_RECEIVED, [PAUSED], counters(lasting(0.0, 0.3, 420)), config)
    first, last = found[0], found[-1]
    assert len({each.id for each in found}) == 1
    assert last.state is FindingState.CLEARED
    assert 1200 <= (last.observed_ns - first.onset_ns) / SECOND < 420 * INTERVAL_S


def test_a_restart_changes_nothing() -> None:
    kind, keys, rows = FAULTS[-1][1:]
    assert of_kind(kind, keys, rows, restart=QUIET + 220) == of_kind(kind, keys, rows)
