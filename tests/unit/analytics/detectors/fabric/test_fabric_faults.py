"""Faults of the fabric that show in several series together. One row a collection, ten seconds apart."""

import pytest

from analytics.engine import Engine, Output
from telemetry import objects
from telemetry.findings import Finding, FindingKind, FindingState
from telemetry.topology import Device, Entity, Link, Role, TopologyFact
from tests.unit.analytics.small_cluster import (
    CONFIG,
    INTERVAL_S,
    START_NS,
    batch,
    clockwork,
    judged,
    port_key,
    run,
    table,
)

SPEED, SPINES, ROUNDS = 400e9, 4, 30
PAUSED = port_key("fabric_port_pfc_pause_seconds_total", priority="3", direction="rx")
SENT = port_key("fabric_queue_transmit_bytes_total", queue="3")
FRAMES = port_key("fabric_port_pfc_pause_frames_total", priority="3", direction="tx")
FRAMES_IN = port_key("fabric_port_pfc_pause_frames_total", priority="3", direction="rx")
FILLED = port_key("fabric_queue_occupancy_bytes", queue="3")
MARKS = port_key("fabric_queue_ecn_marked_packets_total", queue="3")


def of_kind(outputs: list[Output], kind: FindingKind) -> list[Finding]:
    return [one for one in outputs if isinstance(one, Finding) and one.kind is kind]


def rates(*rows: tuple[float, ...]) -> list[list[float]]:
    """Counters that grow by these amounts a second."""
    values = [[0.0] * len(rows[0])]
    for row in rows:
        values.append([before + rate * INTERVAL_S for before, rate in zip(values[-1], row, strict=True)])
    return values


def test_a_queue_that_is_paused_all_the_time_and_sends_nothing_is_in_a_storm() -> None:
    found = of_kind(judged([PAUSED, SENT], rates((0.0, 1e9), (0.999, 0.0), (0.999, 0.0))), FindingKind.PAUSE_STORM)
    assert [finding.object for finding in found] == [objects.port("leaf1", "Ethernet0")]


def test_a_storm_that_is_over_clears() -> None:
    storm = [(0.0, 1e9), (0.999, 0.0), (0.999, 0.0), *[(0.0, 1e9)] * 6]
    found = of_kind(judged([PAUSED, SENT], rates(*storm)), FindingKind.PAUSE_STORM)
    assert [finding.state for finding in found] == [FindingState.ACTIVE, FindingState.CLEARED]


def test_a_queue_that_still_sends_is_in_no_storm() -> None:
    assert not of_kind(judged([PAUSED, SENT], rates((0.0, 1e9), (0.999, 1e8), (0.6, 0.0))), FindingKind.PAUSE_STORM)


@pytest.mark.parametrize(
    ("frames", "sent", "filled", "storm"),
    [
        (13_000.0, 0.0, 5e4, True),  # each stops 400 Gb/s for 84 us at most
        (11_000.0, 0.0, 5e4, False),
        (13_000.0, 1e8, 5e4, False),
        (13_000.0, 0.0, 0.0, False),  # nobody wants to send
    ],
)
def test_where_frames_are_counted_a_queue_that_holds_packets_and_sends_none_is_in_a_storm(
    frames: float, sent: float, filled: float, storm: bool
) -> None:
    counters = rates((0.0, 1e9), (frames, sent), (frames, sent))
    rows = [[*values, filled] for values in counters]
    found = of_kind(judged([FRAMES_IN, SENT, FILLED], rows), FindingKind.PAUSE_STORM)
    assert [finding.object for finding in found] == [objects.port("leaf1", "Ethernet0")] * storm


def test_what_is_known_of_pause_time_counts_before_frames() -> None:
    rows = [[*values, 5e4] for values in rates((0.0, 0.0, 1e9), *[(0.5, 50_000.0, 0.0)] * 2)]
    assert not of_kind(judged([PAUSED, FRAMES_IN, SENT, FILLED], rows), FindingKind.PAUSE_STORM)


def test_a_switch_that_pauses_and_does_not_mark_is_found_after_three_samples() -> None:
    found = of_kind(judged([FRAMES, MARKS], rates(*[(20_000, 1.0)] * 5)), FindingKind.PFC_WITHOUT_ECN)
    assert [finding.object for finding in found] == [objects.device("leaf1")]


def test_a_switch_that_marks_and_one_that_does_not_count_marks_are_not_found() -> None:
    assert not of_kind(judged([FRAMES, MARKS], rates(*[(20_000, 5_000.0)] * 5)), FindingKind.PFC_WITHOUT_ECN)
    assert not of_kind(judged([FRAMES], rates(*[(20_000,)] * 5)), FindingKind.PFC_WITHOUT_ECN)


def test_short_pauses_are_no_reason_to_mark_however_many_frames_they_take() -> None:
    time = port_key("fabric_port_pfc_pause_seconds_total", priority="3", direction="tx")
    assert not of_kind(judged([FRAMES, MARKS, time], rates(*[(20_000, 1.0, 0.04)] * 5)), FindingKind.PFC_WITHOUT_ECN)
    (found,) = of_kind(judged([FRAMES, MARKS, time], rates(*[(20_000, 1.0, 0.06)] * 5)), FindingKind.PFC_WITHOUT_ECN)
    (bound,) = of_kind(judged([FRAMES, MARKS], rates(*[(20_000, 1.0)] * 5)), FindingKind.PFC_WITHOUT_ECN)
    assert found.confidence > bound.confidence
    assert not of_kind(judged([FRAMES, MARKS], rates(*[(590, 1.0)] * 5)), FindingKind.PFC_WITHOUT_ECN)


def paused(*rows: tuple[float, ...], keys: list[str]) -> list[Finding]:
    return of_kind(judged(keys, rates(*rows)), FindingKind.PFC_PAUSE_SENT)


def test_frames_alone_say_how_long_a_port_paused_at_most() -> None:
    (found,) = paused(*[(2000,)] * 6, keys=[FRAMES])
    (evidence,) = found.evidence
    assert evidence.unit == "ratio at most"
    assert evidence.value == pytest.approx(2000 * 65535 * 512 / SPEED, rel=1e-5)
    assert evidence.normal is None


@pytest.mark.parametrize(
    ("frames", "moved", "kind"),
    [
        (FRAMES_IN, SENT, FindingKind.PFC_PAUSE_RECEIVED),
        (
            port_key("nic_pfc_pause_frames_total", priority="3", direction="rx"),
            port_key("nic_priority_bytes_total", priority="3", direction="tx"),
            FindingKind.PFC_PAUSE_RECEIVED,
        ),
        (
            port_key("nic_pfc_pause_frames_total", priority="3", direction="tx"),
            port_key("nic_priority_bytes_total", priority="3", direction="rx"),
            FindingKind.PFC_PAUSE_SENT,
        ),
    ],
)
def test_what_a_queue_sent_leaves_less_time_for_pauses_of_it(frames: str, moved: str, kind: FindingKind) -> None:
    """Ten thousand frames may stop 400 Gb/s for 0.84 of the time. A receiver that pauses for a moment now and then
    takes what comes at line rate, as in an incast; a slow one does not."""
    (found,) = of_kind(judged([frames, moved], rates(*[(10_000.0, 25e9)] * 6)), kind)
    assert found.evidence[0].value == pytest.approx(0.5, rel=1e-3)
    assert not of_kind(judged([frames, moved], rates(*[(10_000.0, 48.5e9)] * 6)), kind)


def test_what_another_priority_sends_says_nothing_about_a_pause() -> None:
    other = port_key("fabric_queue_transmit_bytes_total", queue="0")
    (found,) = of_kind(judged([FRAMES_IN, other], rates(*[(10_000.0, 48.5e9)] * 6)), FindingKind.PFC_PAUSE_RECEIVED)
    assert found.evidence[0].value == pytest.approx(10_000 * 65535 * 512 / SPEED, rel=1e-3)


def test_a_frame_that_ends_a_pause_pauses_nothing() -> None:
    """As many transitions to running as pauses: half of the frames are their ends."""
    ends = port_key("fabric_port_pfc_transitions_total", priority="3", direction="tx")
    (found,) = paused(*[(2000, 1000)] * 6, keys=[FRAMES, ends])
    assert found.evidence[0].value == pytest.approx(1000 * 65535 * 512 / SPEED, rel=1e-5)
    assert not paused(*[(1180, 590)] * 6, keys=[FRAMES, ends])
    # Fewer than two frames for each: the device does not count those that end a pause.
    (found,) = paused(*[(1180, 600)] * 6, keys=[FRAMES, ends])
    assert found.evidence[0].value == pytest.approx(1180 * 65535 * 512 / SPEED, rel=1e-5)


def test_a_port_that_reports_time_is_not_judged_by_its_frames() -> None:
    time = port_key("fabric_port_pfc_pause_seconds_total", priority="3", direction="tx")
    assert not paused(*[(1e6, 0.04)] * 6, keys=[FRAMES, time])


def test_the_onset_of_a_pause_is_its_first_sample_and_it_is_found_at_the_second() -> None:
    time = port_key("fabric_port_pfc_pause_seconds_total", priority="3", direction="tx")
    (found,) = paused((0.0,), (0.1,), (0.1,), (0.1,), keys=[time])
    assert ((found.onset_ns - START_NS) / 1e9, (found.observed_ns - START_NS) / 1e9) == (20, 30)


def uneven(*loads: float, up: tuple[float, ...] = (1, 1, 1, 1), usual: tuple[float, ...] = (0.3,) * SPINES) -> bool:
    """Whether a leaf with these loads of its uplinks, after an hour of the usual ones, is found."""
    engine = Engine(CONFIG)
    entities: list[Entity] = [Device("leaf1", Role.LEAF)]
    for s in range(SPINES):
        entities += [Device(f"spine{s}", Role.SPINE), Link("leaf1", f"Ethernet{s}", f"spine{s}", "Ethernet0", SPEED)]
    engine.add_facts(TopologyFact(entity, START_NS - 1, "test") for entity in entities)
    ports = [f"Ethernet{s}" for s in range(SPINES)]
    keys = [port_key(metric, p) for metric in ("fabric_port_transmit_bytes_total", "fabric_port_up") for p in ports]
    of, sent, batches = table("leaf1", keys), [0.0] * SPINES, []
    for seq in range(ROUNDS + 6):
        now = usual if seq < ROUNDS else loads
        sent = [before + load * SPEED / 8 * INTERVAL_S for before, load in zip(sent, now, strict=True)]
        batches.append(batch(of, seq, [*sent, *(up if seq >= ROUNDS else (1.0,) * SPINES)]))
    found = of_kind(run(engine, [*batches, *clockwork(0, range(ROUNDS + 6, ROUNDS + 8))]), FindingKind.ECMP_IMBALANCE)
    assert {finding.object for finding in found} <= {objects.device("leaf1")}
    return bool(found)


def test_one_uplink_with_most_of_the_load_is_an_imbalance() -> None:
    assert uneven(0.8, 0.2, 0.2, 0.2)


def test_even_loads_idle_uplinks_and_ones_that_are_down_are_none() -> None:
    assert not uneven(0.5, 0.45, 0.55, 0.5)
    assert not uneven(0.08, 0.01, 0.01, 0.01)
    assert not uneven(0.4, 0.4, 0.4, 0.0, up=(1, 1, 1, 0))


def test_a_leaf_that_is_always_uneven_is_not_found() -> None:
    assert not uneven(0.7, 0.2, 0.25, 0.25, usual=(0.6, 0.2, 0.2, 0.2))
