"""One GPU of a host whose heat sink loses contact: warmer at the same power, until heat slows it."""

import pytest

from analytics.engine import Engine
from telemetry.findings import Finding, FindingKind, FindingState
from telemetry.series import series_key
from telemetry.topology import Device, Role, TopologyFact
from tests.unit.analytics.small_cluster import CONFIG, START_NS, batch, clockwork, run, table

USUAL_ROUNDS, ROUNDS = 30, 6
METRICS = ("gpu_temperature_celsius", "gpu_power_watts", "gpu_power_limit_watts")


def hot(
    celsius: float,
    watts: float = 540.0,
    *,
    limit: float = 700.0,
    gpus: int = 8,
    warm: int = 1,
    rounds: int = ROUNDS,
    apart: float = 1.0,
) -> list[Finding]:
    """Findings once so many of the GPUs of a host have gone from 57 C to this, at the same power. apart: kelvin between
    the readings of one GPU meanwhile."""
    engine = Engine(CONFIG)
    engine.add_facts([TopologyFact(Device("node1", Role.HOST), START_NS - 1, "test")])
    keys = [series_key(metric, {"device": "node1", "gpu": f"GPU-{g}"}) for g in range(gpus) for metric in METRICS]
    batches = []
    for seq in range(USUAL_ROUNDS + ROUNDS):
        broken = USUAL_ROUNDS <= seq < USUAL_ROUNDS + rounds
        wobble = 0.5 * apart * (seq % 3)
        values = [
            value
            for g in range(gpus)
            for value in ((celsius if broken and g < warm else 57.0) + wobble, watts + 0.5 * (seq % 3), limit)
        ]
        batches.append(batch(table("node1", keys, "dcgm"), seq, values))
    ends = USUAL_ROUNDS + ROUNDS
    outputs = run(engine, [*batches, *clockwork(0, range(ends, ends + 2))])
    return [one for one in outputs if isinstance(one, Finding) and one.kind is FindingKind.GPU_HOT]


def test_a_gpu_that_heat_would_slow_at_its_power_limit_is_found_before_it_does() -> None:
    found = hot(78.0)
    assert [str(one.object) for one in found] == ["gpu:node1/GPU-0"]
    temperature, at_limit = found[0].evidence
    assert temperature.value == pytest.approx(78.0, abs=1.1)
    assert temperature.normal == pytest.approx(57.5, abs=1.5)
    air = 57.5 - 0.055 * 540.0
    (more,) = (each.evidence[1] for each in hot(78.0, limit=800.0))
    assert more.value - at_limit.value == pytest.approx((temperature.value - air) * 100.0 / 540.0, abs=0.5)


@pytest.mark.parametrize(
    "quiet",
    [
        pytest.param(lambda: hot(68.0), id="far from slowing down at its power limit"),
        pytest.param(lambda: hot(78.0, limit=560.0), id="far from it where it may draw no more"),
        pytest.param(lambda: hot(78.0, rounds=1), id="one value"),
        pytest.param(lambda: hot(78.0, warm=8), id="the whole host: its air"),
        pytest.param(lambda: hot(72.0, apart=8.0), id="no further than its readings lie apart at the same power"),
        pytest.param(lambda: hot(78.0, gpus=2), id="too few beside it to know the air"),
        pytest.param(lambda: hot(78.0, watts=150.0), id="hardly works, so its neighbours may have warmed it"),
    ],
)
def test_others_are_not(quiet: object) -> None:
    assert callable(quiet)
    assert quiet() == []


@pytest.mark.parametrize(("watts", "state"), [(72.0, FindingState.ACTIVE), (540.0, FindingState.CLEARED)])
def test_a_gpu_that_waits_shows_no_repair_and_one_that_works_does(watts: float, state: FindingState) -> None:
    """At 72 W it is no warmer than the others, whatever its sink is like."""
    engine, idle = Engine(CONFIG), 30
    engine.add_facts([TopologyFact(Device("node1", Role.HOST), START_NS - 1, "test")])
    keys = [series_key(metric, {"device": "node1", "gpu": f"GPU-{g}"}) for g in range(8) for metric in METRICS]
    batches = []
    for seq in range(USUAL_ROUNDS + ROUNDS + idle):
        now, air = 540.0 if seq < USUAL_ROUNDS + ROUNDS else watts, 57.0 - 0.055 * 540.0 + 0.5 * (seq % 3)
        hot = 21.0 if USUAL_ROUNDS <= seq < USUAL_ROUNDS + ROUNDS else 0.0
        of = [
            value for g in range(8) for value in (air + 0.055 * now + (0.0 if g else hot), now + 0.5 * (seq % 3), 700.0)
        ]
        batches.append(batch(table("node1", keys, "dcgm"), seq, of))
    outputs = run(engine, [*batches, *clockwork(0, range(len(batches), len(batches) + 2))])
    found = [one for one in outputs if isinstance(one, Finding) and one.kind is FindingKind.GPU_HOT]
    assert (found[-1].state, bool(found[-1].unloaded_since_ns)) == (state, state is FindingState.ACTIVE)


def test_a_line_that_was_learned_while_a_gpu_idled_is_not_held_against_its_work() -> None:
    """Idle, its temperature fell as its power rose, by what its neighbours do. Its sink is that of the others."""
    engine, idle = Engine(CONFIG), 150
    engine.add_facts([TopologyFact(Device("node1", Role.HOST), START_NS - 1, "test")])
    keys = [series_key(metric, {"device": "node1", "gpu": f"GPU-{g}"}) for g in range(8) for metric in METRICS]
    batches = []
    for seq in range(idle + ROUNDS):
        up = seq % 2
        first = [33.0 - 4.0 * up, 60.0 + 20.0 * up] if seq < idle else [66.0, 600.0]
        others = [value for _ in range(7) for value in (61.0 + up, 600.0 + up, 1200.0)]
        batches.append(batch(table("node1", keys, "dcgm"), seq, [*first, 1200.0, *others]))
    ends = idle + ROUNDS
    outputs = run(engine, [*batches, *clockwork(0, range(ends, ends + 2))])
    assert [one for one in outputs if isinstance(one, Finding) and one.kind is FindingKind.GPU_HOT] == []
