"""Findings about targets themselves: silent, frozen, rebooted; and that silence resolves nothing."""

from collections.abc import Sequence

import numpy as np
import pytest

from analytics.engine import Engine
from telemetry.findings import Finding, FindingKind, FindingState
from telemetry.samples import Collection, DownReason, SampleBatch
from telemetry.series import series_key
from telemetry.topology import Device, Role, TopologyFact
from tests.unit.analytics.small_cluster import (
    CONFIG,
    INTERVAL_S,
    SECOND,
    START_NS,
    batch,
    clockwork,
    down,
    port_key,
    run,
    table,
)

PAUSED = port_key("fabric_port_pfc_pause_seconds_total", priority="3", direction="rx")
LEAF = table("leaf1", [PAUSED])
BYTES = [port_key("fabric_port_receive_bytes_total", f"Ethernet{n}") for n in range(0, 32, 4)]
BUSY = table("leaf1", BYTES)


def of_kind(outputs: Sequence[object], kind: FindingKind) -> list[Finding]:
    return [output for output in outputs if isinstance(output, Finding) and output.kind is kind]


def interleaved(*streams: list[SampleBatch]) -> list[SampleBatch]:
    return sorted((each for stream in streams for each in stream), key=lambda each: each.collection.collected_ns)


def test_two_failed_collections_are_silence_that_begins_with_the_first() -> None:
    stream = [batch(LEAF, 0, [0]), batch(LEAF, 1, [0]), down(LEAF, 2), down(LEAF, 3)]
    found = of_kind(run(Engine(CONFIG), interleaved(stream, clockwork(1, range(6)))), FindingKind.TARGET_SILENT)
    assert {str(finding.object) for finding in found} == {"device:leaf1"}
    assert len({finding.id for finding in found}) == 1
    assert found[0].onset_ns == START_NS + 2 * INTERVAL_S * SECOND
    assert found[0].evidence[0].series == 'up{device="leaf1",target="gnmi/leaf1"}'


def test_no_collection_at_all_is_silence_too_and_an_answer_ends_it() -> None:
    stream = [batch(LEAF, 0, [0]), batch(LEAF, 1, [0]), batch(LEAF, 6, [0]), batch(LEAF, 7, [0])]
    found = of_kind(run(Engine(CONFIG), interleaved(stream, clockwork(1, range(10)))), FindingKind.TARGET_SILENT)
    assert found[0].state is FindingState.ACTIVE
    assert [finding.state for finding in found].index(FindingState.CLEARED) == len(found) - 1


def test_missing_data_never_resolves() -> None:
    stream = [batch(LEAF, seq, [max(0, seq - 2) * 5.0]) for seq in range(6)]
    outputs = run(Engine(CONFIG), interleaved(stream, clockwork(1, range(60))))
    found = of_kind(outputs, FindingKind.PFC_PAUSE_RECEIVED)
    assert found
    assert {finding.state for finding in found} == {FindingState.ACTIVE}


def test_a_target_that_repeats_itself_is_frozen_and_gives_no_false_zero() -> None:
    moving = [batch(BUSY, seq, [1e9 * seq + n for n in range(8)]) for seq in range(16)]
    still = [batch(BUSY, seq, [1e9 * 15 + n for n in range(8)]) for seq in range(16, 24)]
    engine = Engine(CONFIG)
    found = of_kind(run(engine, interleaved(moving, still, clockwork(1, range(26)))), FindingKind.TARGET_FROZEN)
    assert {str(finding.object) for finding in found} == {"device:leaf1"}
    assert engine.series.columns["value"][1:9].min() == 1e8  # the last true rate, not 0


def test_what_changed_before_a_target_froze_and_is_read_afterwards_does_not_move_it() -> None:
    """Counters are read every interval, a level every eighth time: it was last read five intervals before."""
    of = table("leaf1", [*BUSY.keys, port_key("fabric_transceiver_temperature_celsius", "E0")])
    stream = []
    for seq in range(48):
        shown, at_ns = min(seq, 35), START_NS + seq * INTERVAL_S * SECOND
        rows = np.arange(9 if seq % 8 == 0 else 8, dtype=np.uint32)
        values = np.array([*(1e9 * shown + n for n in range(8)), 40.0 + shown])[rows]
        stream.append(SampleBatch(of, Collection(START_NS, seq, at_ns, 0.1), np.full(rows.size, at_ns), rows, values))
    engine = Engine(CONFIG)
    found = of_kind(run(engine, interleaved(stream, clockwork(1, range(50)))), FindingKind.TARGET_FROZEN)
    assert (found[0].onset_ns - START_NS) // (INTERVAL_S * SECOND) == 36
    values = engine.series.columns["value"][engine.registry.rows(of)]
    assert values.tolist() == [1e8] * 8 + [40.0 + 35]  # the last true rates, not 0, and the level that is new


def test_a_target_that_is_idle_now_and_then_is_not_frozen() -> None:
    rows = [[1e9 * (seq // 8) + n for n in range(8)] for seq in range(40)]
    stream = [batch(BUSY, seq, row) for seq, row in enumerate(rows)]
    outputs = run(Engine(CONFIG), interleaved(stream, clockwork(1, range(42))))
    assert of_kind(outputs, FindingKind.TARGET_FROZEN) == []


@pytest.mark.parametrize(("at_rest", "frozen"), [(range(1, 9), set()), (range(3, 4), {"device:leaf3"})])
def test_work_that_pauses_freezes_no_target_wherever_in_the_interval_each_is_read(
    at_rest: range, frozen: set[str]
) -> None:
    """Eight leaves, an eighth of an interval apart; what rests stands still from the 20th interval on."""
    engine = Engine(CONFIG)
    engine.add_facts([TopologyFact(Device(f"leaf{n}", Role.LEAF), START_NS, "test") for n in range(1, 9)])
    streams = []
    for leaf in range(1, 9):
        of = table(
            f"leaf{leaf}", [port_key("fabric_port_receive_bytes_total", f"E{n}", f"leaf{leaf}") for n in range(8)]
        )
        times_s = [INTERVAL_S * (seq + leaf / 8) for seq in range(40)]
        moved_s = [min(at_s, 20.0 * INTERVAL_S) if leaf in at_rest else at_s for at_s in times_s]
        counters = zip(times_s, moved_s, strict=True)
        streams.append(
            [batch(of, seq, [1e8 * moved + n for n in range(8)], at_s=at) for seq, (at, moved) in enumerate(counters)]
        )
    found = of_kind(run(engine, interleaved(*streams)), FindingKind.TARGET_FROZEN)
    assert {str(finding.object) for finding in found} == frozen


def test_counters_that_start_again_together_are_a_reboot() -> None:
    before = [batch(BUSY, seq, [1e9 * (seq + 1)] * 8) for seq in range(4)]
    after = [batch(BUSY, seq, [1e6 * (seq - 3)] * 8) for seq in range(4, 8)]
    found = of_kind(
        run(Engine(CONFIG), interleaved(before, after, clockwork(1, range(9)))), FindingKind.DEVICE_REBOOTED
    )
    assert len({finding.id for finding in found}) == 1
    assert found[0].onset_ns == START_NS + 4 * INTERVAL_S * SECOND


@pytest.mark.parametrize(("boots", "reboots"), [([0.0, 0.0, 1.0, 0.0, -2.0, 17.0], 0), ([0.0, 0.0, 25.0, 26.0], 1)])
def test_a_boot_time_that_follows_a_clock_is_no_reboot(boots: list[float], reboots: int) -> None:
    host = table("node1", [series_key("node_boot_time_seconds", {"device": "node1"})], "node_exporter")
    stream = [batch(host, seq, [START_NS / SECOND - 9e5 + moved]) for seq, moved in enumerate(boots)]
    found = of_kind(run(Engine(CONFIG), interleaved(stream, clockwork(1, range(9)))), FindingKind.DEVICE_REBOOTED)
    assert len({finding.id for finding in found}) == reboots


def test_a_gpu_without_series_is_lost() -> None:
    keys = [series_key("gpu_power_watts", {"device": "node1", "gpu": f"GPU-{n}"}) for n in range(2)]
    host = table("node1", keys, "dcgm")
    stream = [batch(host, seq, [500.0 + seq, 510.0 + seq]) for seq in range(4)]
    for seq in range(4, 8):
        at_ns = START_NS + seq * INTERVAL_S * SECOND
        only = np.zeros(1, np.uint32)
        collection = Collection(START_NS, seq, at_ns, 0.1)
        stream.append(SampleBatch(host, collection, np.full(1, at_ns), only, np.array([500.0 + seq])))
    found = of_kind(run(Engine(CONFIG), interleaved(stream, clockwork(1, range(9)))), FindingKind.GPU_LOST)
    assert [str(finding.object) for finding in found[:1]] == ["gpu:node1/GPU-1"]


GPU_KEYS = [
    series_key(metric, {"device": "node1", "gpu": f"GPU-{n}"})
    for n in range(2)
    for metric in ("gpu_power_watts", "gpu_sm_clock_hertz")
]


@pytest.mark.parametrize(
    ("rows", "found_after_s"),
    [
        ([0, 1], [0]),  # all of one GPU is missing
        ([0, 1, 3], [10]),  # its clock is still there
        ([1, 3], [10, 10]),  # both have lost their power
    ],
)
def test_one_collection_without_one_whole_gpu_is_enough(rows: list[int], found_after_s: list[int]) -> None:
    host = table("node1", GPU_KEYS, "dcgm")
    stream = [batch(host, seq, [500.0 + seq, 1e9, 510.0 + seq, 1e9]) for seq in range(6)]
    for seq in range(6, 10):
        at_ns = START_NS + seq * INTERVAL_S * SECOND
        some = np.array(rows, np.uint32)
        collection = Collection(START_NS, seq, at_ns, 0.1)
        stream.append(SampleBatch(host, collection, np.full(some.size, at_ns), some, np.full(some.size, 500.0 + seq)))
    found = of_kind(run(Engine(CONFIG), interleaved(stream, clockwork(1, range(12)))), FindingKind.GPU_LOST)
    first = {finding.id: finding for finding in reversed(found)}.values()
    assert [(finding.observed_ns - finding.onset_ns) // SECOND for finding in first] == found_after_s


def test_a_time_without_any_collection_is_no_silence_of_a_target() -> None:
    seqs = [0, 1, 2, 20, 21, 22]  # the collectors were away for seventeen intervals
    leaf = [batch(LEAF, seq, [0]) for seq in seqs]
    found = of_kind(run(Engine(CONFIG), interleaved(leaf, clockwork(1, seqs))), FindingKind.TARGET_SILENT)
    assert found == []


def test_a_target_that_stays_away_when_the_others_return_is_silent() -> None:
    leaf = [batch(LEAF, seq, [0]) for seq in (0, 1, 2)]
    others = clockwork(1, [0, 1, 2, *range(20, 26)])
    found = of_kind(run(Engine(CONFIG), interleaved(leaf, others)), FindingKind.TARGET_SILENT)
    assert {str(finding.object) for finding in found} == {"device:leaf1"}
    assert found[0].onset_ns > START_NS + 20 * INTERVAL_S * SECOND


def at_times(name: str, times_s: Sequence[float], failed_from_s: float = 1e9) -> list[SampleBatch]:
    """Collections of one port of a target; those from ``failed_from_s`` on fail."""
    of = table(name, [port_key("fabric_port_receive_bytes_total", device=name)])
    found = []
    for seq, at_s in enumerate(times_s):
        up = at_s < failed_from_s
        at_ns = START_NS + round(at_s * SECOND)
        collection = Collection(START_NS, seq, at_ns, 0.1, None if up else DownReason.TIMEOUT)
        rows = np.zeros(int(up), np.uint32)
        found.append(SampleBatch(of, collection, np.full(rows.size, at_ns), rows, np.full(rows.size, 1e9 * seq)))
    return found


@pytest.mark.parametrize("interval_s", [30, 60, 120])
def test_a_target_that_is_collected_rarely_is_not_silent_in_between(interval_s: int) -> None:
    stream = at_times("leaf1", range(0, 1200, interval_s))
    outputs = run(Engine(CONFIG), interleaved(stream, clockwork(1, range(120))))
    assert of_kind(outputs, FindingKind.TARGET_SILENT) == []


@pytest.mark.parametrize(("interval_s", "within_s"), [(1, 25), (15, 55), (60, 165)])
def test_a_target_that_dies_is_silent_within_two_and_a_half_of_its_own_intervals(
    interval_s: int, within_s: float
) -> None:
    """And the tick in which that is, and what a tick waits for."""
    stream = at_times("leaf1", range(0, 600, interval_s))
    engine, found_s = Engine(CONFIG), []
    for each in interleaved(stream, clockwork(1, range(120))):
        engine.observe(each)
        if of_kind(engine.advance(), FindingKind.TARGET_SILENT):
            found_s.append((each.collection.collected_ns - START_NS) / SECOND - 600)
    assert 0 < found_s[0] <= within_s


def test_a_target_that_often_loses_a_few_collections_is_not_silent_after_two_of_them() -> None:
    """Three in a row are lost every five minutes: after some of that it is normal, and a minute without any is not."""
    lost = {seq + n for seq in range(30, 720, 30) for n in range(3)}
    stream = [batch(LEAF, seq, [0]) for seq in range(720) if seq not in lost]
    outputs = run(Engine(CONFIG), interleaved(stream, clockwork(1, range(900))))
    found = of_kind(outputs, FindingKind.TARGET_SILENT)
    late = [one for one in found if one.onset_ns > START_NS + 1200 * SECOND]
    assert {one.onset_ns for one in late} == {START_NS + 7200 * SECOND}, "only the end of it all"
    assert late[0].observed_ns - late[0].onset_ns <= 300 * SECOND


@pytest.mark.parametrize("used_bytes", [0.0, 60e9])
def test_silence_of_a_host_says_what_its_gpus_had_in_use_when_it_was_last_heard_of(used_bytes: float) -> None:
    keys = [series_key("gpu_memory_used_bytes", {"device": "node1", "gpu": f"GPU-{n}"}) for n in range(2)]
    gpus = table("node1", keys, "dcgm")
    other = table("node2", [series_key("gpu_memory_used_bytes", {"device": "node2", "gpu": "GPU-9"})], "dcgm")
    engine = Engine(CONFIG)
    here = [batch(gpus, seq, [1e6, used_bytes]) for seq in range(3)] + [down(gpus, seq) for seq in range(3, 6)]
    outputs = run(engine, interleaved(here, [batch(other, seq, [70e9]) for seq in range(8)]))
    shown = of_kind(outputs, FindingKind.TARGET_SILENT)[0].evidence[1]
    assert (shown.series, shown.value, shown.unit) == (
        'busiest_gpu_memory{device="node1"}',
        max(1e6, used_bytes),
        "bytes",
    )
