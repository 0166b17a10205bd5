"""Pushed series give the canonical samples that a scrape of the same page gives, and every sample is counted."""

from collections import Counter

import numpy as np
import pytest
from pydantic import ValidationError

from ingest.collectors.admitted import Admitted
from ingest.collectors.exposition.decode.body import BodyReader
from ingest.collectors.exposition.decode.line import parse_line
from ingest.collectors.exposition.decode.mapping import Mapper
from ingest.collectors.pushed_rule import PushedRule
from ingest.collectors.pushed_series import PushedSeries
from ingest.collectors.pushed_targets import FORGET_NS
from ingest.ledger import DropReason, Ledger
from telemetry.catalogue import origins_of, sources
from telemetry.ledger import TargetAccount
from telemetry.samples import DownReason
from tests.ledgers import assert_accounted
from tests.samples import SAMPLES

NOW_NS = 1_780_000_000_000_000_000
S = 10**9
STALE = np.array([0x7FF0000000000002], np.uint64).view(np.float64)[0]
TEMP = "DCGM_FI_DEV_MEMORY_TEMP"
READS = "node_mountstats_nfs_total_read_bytes_total"


def pushed(*rules: PushedRule, series_max: int = 1000, targets_max: int = 100) -> PushedSeries:
    every = rules or (PushedRule(source="dcgm"),)
    return PushedSeries("prom", every, 7, series_max=series_max, targets_max=targets_max)


def push(series: PushedSeries, *samples: tuple[int, int, float], now_ns: int = NOW_NS) -> Admitted:
    """Samples as slot, seconds after NOW_NS, value."""
    slots, seconds, values = zip(*samples, strict=True)
    times_ns = NOW_NS + np.array(seconds, np.int64) * S
    return series.admit(np.array(slots, np.int64), times_ns, np.array(values, np.float64), now_ns)


def rows(admitted: Admitted) -> list[tuple[str, str, int, float]]:
    """Target, series, seconds after NOW_NS, value."""
    return [
        (batch.table.target, batch.table.keys[row], (time_ns - NOW_NS) // S, value)
        for batch in admitted.batches
        for row, time_ns, value in zip(
            batch.series.tolist(), batch.times_ns.tolist(), batch.values.tolist(), strict=True
        )
    ]


def gpu(number: int, instance: str = "node1:9400", **more: str) -> dict[str, str]:
    return {"job": "gpu", "instance": instance, "UUID": f"GPU-{number}", **more}


def temperature(number: int, device: str = "node1") -> str:
    return f'gpu_memory_temperature_celsius{{device="{device}",gpu="GPU-{number}"}}'


@pytest.mark.parametrize("path", sorted(SAMPLES.rglob("*.prom")), ids=lambda path: str(path.relative_to(SAMPLES)))
def test_a_page_that_is_pushed_gives_what_a_scrape_of_it_gives(path):
    if path.name == "format_verbs.prom":
        return  # nobody could push it
    name = "node_exporter" if "node_exporter" in path.parts else "lustre" if "lustre" in path.name else "dcgm"
    source, body = sources()[name], path.read_bytes()
    mapper = Mapper(source, {"device": "node1"}, origins_of(name))
    reader = BodyReader("t", "node1", mapper, sentinels=source.sentinels)
    scraped = reader.read(body, NOW_NS)
    expected = Counter(zip((scraped.table.keys[row] for row in scraped.series), scraped.values.tolist(), strict=True))
    lines = [(text, parse_line(text, 1, openmetrics=False)) for text in body.split(b"\n")]
    series = pushed(PushedRule(source=name), series_max=100_000)
    known: dict[str, int] = {}
    slots, values = [], []
    for text, line in lines:
        if line is not None:
            key = f"{line.name}{sorted(line.labels.items())}"
            if key not in known:
                known[key] = series.add(line.name, {**line.labels, "instance": "node1:9100"})
            slots.append(known[key])
            values.append(float(text[slice(*line.value_at)]))
    first = push(series, *((slot, 0, value) for slot, value in zip(slots, values, strict=True)))
    second = push(series, *((slot, 1, value) for slot, value in zip(slots, values, strict=True)))
    at_once = Counter((key, value) for _, key, at, value in rows(first) if at == 0)
    late_sums = Counter((key, value) for _, key, at, value in rows(second) if at == 0)
    assert at_once + late_sums == expected
    assert {target for target, _, _, _ in rows(first)} <= {"prom/node1:9100"}


def test_what_is_left_out_on_purpose_is_not_counted_as_unmapped():
    series = pushed()
    slots = [series.add(name, gpu(1)) for name in ("DCGM_FI_DEV_VGPU_LICENSE_STATUS", "unknown_total", TEMP)]
    found = push(series, *((slot, 0, 40.0) for slot in slots))
    assert (len(rows(found)), found.unmapped, found.dropped.total()) == (1, 1, 0)
    assert series.unmapped == {"unknown_total"}


def test_each_batch_says_how_many_series_of_its_target_are_none_of_the_catalogue():
    series = pushed(series_max=10, targets_max=2)
    names = ("DCGM_FI_DEV_VGPU_LICENSE_STATUS", "unknown_total", "other_total", TEMP)
    slots = [series.add(name, gpu(1)) for name in names]
    slots += [series.add(name, gpu(2, "node2:9400")) for name in (TEMP, "unknown_total")]
    series.add("unknown_total", {"job": "gpu"})  # nobody's
    found = push(series, *((slot, 0, 40.0) for slot in slots))
    shares = [(each.table.device, each.collection.unmapped, each.collection.left_out) for each in found.batches]
    assert shares == [("node1", 2, 1), ("node2", 1, 0)]
    later_ns = NOW_NS + FORGET_NS + S
    at = FORGET_NS // S
    push(series, (slots[0], at, 1.0), (slots[3], at, 40.0), now_ns=later_ns)
    moved = series.forget_silent(later_ns)
    assert moved is not None
    (batch,) = push(series, (moved[slots[3]], at + 1, 41.0), now_ns=later_ns).batches
    assert (batch.collection.unmapped, batch.collection.left_out) == (0, 1), "those that are silent are forgotten"


def test_what_nothing_maps_is_kept_under_its_own_name_when_that_is_asked_for():
    rule = PushedRule(source="dcgm", unmapped="keep", unmapped_series_max=2)
    series = pushed(rule, series_max=10, targets_max=2)
    own = {"job": "gpu", "instance": "node1:9400", "exported_job": "train"}
    slots = [series.add(name, own) for name in ("vendor_total", "vendor.load", "vendor_more", TEMP)]
    slots += [series.add(name, gpu(1)) for name in (TEMP, "gpu_power_watts")]
    found = push(series, *((slot, 0, 40.0) for slot in slots))
    labels = '{device="node1",exported_job="train",instance="node1:9400",job="gpu"}'
    assert [row[1] for row in rows(found)] == [f"vendor_total{labels}", f"vendor_load{labels}", temperature(1)]
    (batch,) = found.batches
    assert batch.collection.unmapped == 3, "one too many, one without its labels, and a name of the catalogue"
    assert series.unmapped == {"vendor_total", "vendor.load", "vendor_more", TEMP, "gpu_power_watts"}
    later_ns, at = NOW_NS + FORGET_NS + S, FORGET_NS // S
    push(series, *((slot, at, 1.0) for slot in slots[1:]), now_ns=later_ns)
    for number in range(4):
        series.add(TEMP, gpu(10 + number))
    assert series.forget_silent(later_ns) is not None
    new = series.add("vendor_new", own)
    found = push(series, (new, at + 1, 1.0), now_ns=later_ns)
    assert [row[1] for row in rows(found)] == [f"vendor_new{labels}"], "room comes from what is silent"


def test_each_device_has_its_batches_and_its_own_numbers_of_them():
    series = pushed()
    slots = [series.add(TEMP, gpu(n, f"node{n}:9400")) for n in (1, 2)] + [series.add("unknown_total", gpu(3))]
    for seq in range(2):
        found = push(series, *((slot, seq, 40.0 + slot) for slot in slots), now_ns=NOW_NS + seq)
        assert rows(found) == [
            ("prom/node1:9400", temperature(1, "node1"), seq, 40.0),
            ("prom/node2:9400", temperature(2, "node2"), seq, 41.0),
        ]
        assert [batch.collection.seq for batch in found.batches] == [seq, seq]
        assert [batch.collection.collected_ns for batch in found.batches] == [NOW_NS + seq] * 2
        assert (found.unmapped, found.received, found.dropped.total()) == (1, 2, 0)
    assert series.targets == (("prom/node1:9400", "node1"), ("prom/node2:9400", "node2"))
    assert series.unmapped == {"unknown_total"}


def test_what_was_pushed_before_is_dropped_and_what_comes_late_too():
    series = pushed()
    slot = series.add(TEMP, gpu(1))
    other = series.add(TEMP, gpu(1, pod="train-7"))  # the same GPU under other labels
    assert len(rows(push(series, (slot, 0, 40.0), (slot, 10, 41.0)))) == 2
    found = push(series, (slot, 0, 40.0), (slot, 10, 41.0), (other, 10, 41.0), (other, 20, 42.0))
    assert [row[2:] for row in rows(found)] == [(20, 42.0)]
    assert found.dropped == {DropReason.OUT_OF_ORDER: 1, DropReason.DUPLICATE: 2}
    assert found.received == 4


def test_values_that_are_no_sample_are_dropped_with_their_reason():
    series = pushed()
    slot = series.add(TEMP, gpu(1))
    bad = series.add_bad()
    found = push(
        series,
        (slot, 0, float("nan")),
        (slot, 0, float("inf")),
        (slot, 0, 9223372036854775794.0),
        (slot, -4000, 1.0),
        (slot, 400, 1.0),
        (slot, 1, STALE),
        (bad, 0, 1.0),
        (-1, 0, 1.0),
    )
    assert rows(found) == []
    assert found.dropped == {
        DropReason.NO_VALUE: 2,
        DropReason.OUT_OF_BOUNDS: 1,
        DropReason.EVENT_TIME: 2,
        DropReason.BAD_FORMAT: 1,
        DropReason.NEW_SERIES: 1,
    }


def nfs(export: str, mount: int) -> dict[str, str]:
    return {"job": "node", "instance": "node1:9100", "export": export, "mountaddr": str(mount)}


def test_a_sum_waits_for_its_parts_whatever_push_they_come_in():
    series = pushed(PushedRule(source="node_exporter"))
    a, b, c = (series.add(READS, nfs("/data", mount)) for mount in range(3))
    assert rows(push(series, (a, 0, 1.0), (b, 0, 2.0))) == [], "nobody knows how many parts there are"
    assert [row[2:] for row in rows(push(series, (a, 10, 10.0)))] == [(0, 3.0)]
    assert [row[2:] for row in rows(push(series, (b, 10, 20.0)))] == [(10, 30.0)]
    late = push(series, (c, 10, 5.0))
    assert (rows(late), late.dropped.total()) == ([], 0), "a third part begins"
    assert rows(push(series, (a, 20, 1.0), (b, 20, 1.0))) == []
    again = push(series, (b, 20, 1.0))
    assert again.dropped == {DropReason.DUPLICATE: 1}
    assert [row[2:] for row in rows(push(series, (c, 20, 1.0)))] == [(20, 3.0)]
    assert rows(push(series, (a, 30, 1.0), (b, 30, 1.0))) == []
    assert [row[2:] for row in rows(push(series, (c, 30, STALE)))] == [(30, 2.0)], "the third part has ended"
    assert push(series, (a, 30, 1.0)).dropped == {DropReason.DUPLICATE: 1}


def test_rules_choose_by_job_and_name_the_device():
    relabel = [
        {"source_labels": ["instance"], "regex": "([^:.]+).*", "target_label": "device"},
        {"source_labels": ["dc"], "regex": "(.+)", "target_label": "site", "replacement": "hall-$1"},
        {"source_labels": ["keep"], "regex": "no", "action": "drop"},
    ]
    series = pushed(
        PushedRule.model_validate({"job": "gpu.*", "source": "dcgm", "relabel_configs": relabel}),
        PushedRule(job="host", source="node_exporter", device_from=("host", "instance")),
    )
    labels = [
        gpu(1, "node1.example:9400", dc="3", job="gpu-a"),
        gpu(2, keep="no"),
        {"job": "host", "host": "node9", "instance": "x:1", "device": "mlx5_0", "port": "1", "UUID": "GPU-1"},
        {"job": "other", "instance": "node1:9400", "UUID": "GPU-1"},
        {"job": "gpu", "UUID": "GPU-1"},
        gpu(7, job="gpu" + "x" * 300),
    ]
    slots = [series.add(TEMP, each) for each in labels]
    boot = series.add("node_boot_time_seconds", labels[2])
    found = push(series, *((slot, 0, 40.0) for slot in [*slots, boot]))
    assert rows(found) == [
        (
            "prom/node1.example:9400",
            'gpu_memory_temperature_celsius{device="node1",gpu="GPU-1",site="hall-3"}',
            0,
            40.0,
        ),
        ("prom/node9", 'node_boot_time_seconds{device="node9"}', 0, 40.0),
    ]
    assert found.unmapped == 5


@pytest.mark.parametrize("action", ["labeldrop", "labelkeep"])
def test_a_rule_cannot_take_labels_away(action):
    """It would change nothing: a series keeps the labels that it came with."""
    with pytest.raises(ValidationError, match=f"action {action}: only of targets"):
        PushedRule.model_validate({"source": "dcgm", "relabel_configs": [{"action": action, "regex": "x"}]})


def test_a_label_that_prometheus_renamed_is_the_exporters():
    series = pushed(PushedRule(source="node_exporter", device_from=("device",)))
    labels = {"job": "n", "device": "node1", "exported_device": "mlx5_0", "port": "1"}
    slot = series.add("node_infiniband_port_data_received_bytes_total", labels)
    ((target, key, _, _),) = rows(push(series, (slot, 0, 1.0)))
    assert (target, 'device="node1"' in key, 'port="mlx5_0"' in key) == ("prom/node1", True, True)


def test_what_is_beyond_the_limits_is_refused_and_room_comes_from_what_is_silent():
    series = pushed(series_max=10, targets_max=2)
    slots = [series.add(TEMP, gpu(n, f"node{n}:9400")) for n in range(3)]
    found = push(series, *((slot, 0, 40.0) for slot in slots))
    assert (len(rows(found)), found.dropped) == (2, {DropReason.NEW_SERIES: 1})
    slots += [series.add(TEMP, gpu(n, "node0:9400")) for n in range(3, 10)]
    assert series.is_full
    assert series.add(TEMP, gpu(99, "node0:9400")) == -1
    push(series, *((slot, 1, 40.0) for slot in slots))
    moved = series.forget_silent(NOW_NS)
    assert moved is not None
    assert moved.tolist() == [0, 1, -1, *range(2, 9)], "one that was refused may try again"
    later_ns = NOW_NS + FORGET_NS + S
    push(series, (3, 2, 1.0), (1, 2, 1.0), now_ns=later_ns)
    moved = series.forget_silent(later_ns)
    assert moved is not None
    assert moved.tolist() == [-1, 0, -1, 1, *[-1] * 5]
    assert len(series) == 2
    assert series.targets == (("prom/node0:9400", "node0"), ("prom/node1:9400", "node1"))
    new = series.add(TEMP, gpu(50, "node1:9400"))
    at = 3 + FORGET_NS // S
    found = push(series, (0, at, 1.0), (1, at, 2.0), (new, at, 3.0), now_ns=later_ns)
    assert rows(found) == [
        ("prom/node1:9400", temperature(1, "node1"), at, 1.0),
        ("prom/node1:9400", temperature(50, "node1"), at, 3.0),
        ("prom/node0:9400", temperature(4, "node0"), at, 2.0),
    ]


def test_a_device_that_was_forgotten_begins_another_epoch_when_it_comes_back():
    series = pushed(series_max=2)
    for n in (1, 2):
        series.add(TEMP, gpu(n, f"node{n}:9400"))
    push(series, (0, 0, 1.0), (1, 0, 1.0))
    later_ns = NOW_NS + FORGET_NS + S
    push(series, (0, 3601, 1.0), now_ns=later_ns)
    assert series.forget_silent(later_ns) is not None
    back = push(series, (series.add(TEMP, gpu(2, "node2:9400")), 3601, 4.0), (0, 3602, 1.0), now_ns=later_ns)
    names = [(each.table.device, each.collection.epoch_ns, each.collection.seq) for each in back.batches]
    assert names == [("node1", 7, 2), ("node2", 8, 0)]


def test_a_device_that_is_silent_makes_room_for_another():
    series = pushed(series_max=1000, targets_max=1)
    first = series.add(TEMP, gpu(1, "node1:9400"))
    push(series, (first, 0, 1.0))
    refused = series.add(TEMP, gpu(2, "node2:9400"))
    assert push(series, (refused, 1, 1.0)).dropped == {DropReason.NEW_SERIES: 1}
    later_ns = NOW_NS + FORGET_NS + S
    assert series.forget_silent(later_ns) is not None
    new = series.add(TEMP, gpu(2, "node2:9400"))
    at = FORGET_NS // S
    assert [row[0] for row in rows(push(series, (new, at, 1.0), now_ns=later_ns))] == ["prom/node2:9400"]
    third = series.add(TEMP, gpu(3, "node3:9400"))
    push(series, (third, at, 1.0), now_ns=later_ns)
    assert series.forget_silent(later_ns + S) is None, "not each time"


def test_sums_go_on_after_silent_series_were_forgotten():
    series = pushed(PushedRule(source="node_exporter"), series_max=4)
    silent = [series.add(READS, nfs("/gone", mount)) for mount in range(2)]
    a, b = (series.add(READS, nfs("/data", mount)) for mount in range(2))
    push(series, *((slot, 0, 1.0) for slot in [*silent, a, b]))
    later = 2 + FORGET_NS // S
    push(series, (a, later, 1.0), (b, later, 1.0), now_ns=NOW_NS + later * S)
    moved = series.forget_silent(NOW_NS + later * S)
    assert moved is not None
    assert moved.tolist() == [-1, -1, 0, 1]
    assert [row[2:] for row in rows(push(series, (0, later + 1, 4.0), now_ns=NOW_NS + later * S))] == []
    found = push(series, (1, later + 1, 4.0), now_ns=NOW_NS + later * S)
    assert [row[2:] for row in rows(found)] == [(later + 1, 8.0)]


def test_a_device_with_many_samples_gets_several_batches():
    series = pushed()
    slot = series.add(TEMP, gpu(1))
    times_ns = NOW_NS + np.arange(250_000, dtype=np.int64) * 1_000_000
    found = series.admit(np.full(250_000, slot), times_ns, np.full(250_000, 40.0), NOW_NS)
    assert [len(batch) for batch in found.batches] == [100_000, 100_000, 50_000]
    assert [batch.collection.seq for batch in found.batches] == [0, 1, 2]


def test_a_silent_target_is_told_each_time_and_forgotten_after_an_hour():
    series = pushed()
    slot = series.add(TEMP, gpu(1))
    series.add(TEMP, gpu(2, "node2:9400"))
    push(series, (slot, 0, 40.0))
    assert series.silent(NOW_NS + 59 * S, 60 * S) == []
    (batch,) = series.silent(NOW_NS + 60 * S, 60 * S)
    assert (batch.table.device, batch.collection.down, batch.collection.seq) == ("node1", DownReason.SILENT, 1)
    assert batch.collection.epoch_ns == 7
    assert series.silent(NOW_NS + 61 * S, 60 * S) == []
    assert len(series.silent(NOW_NS + 120 * S, 60 * S)) == 1
    assert series.silent(NOW_NS + FORGET_NS + S, 60 * S) == []
    (after,) = push(series, (slot, 3700, 41.0), now_ns=NOW_NS + 3700 * S).batches
    assert after.collection.seq == 3


def test_what_is_dropped_is_counted_for_its_target():
    series = pushed(series_max=3)
    first, second = (series.add(TEMP, gpu(1, f"node{number}:9400")) for number in (1, 2))
    bad = series.add_bad()
    ledger = Ledger(0)
    admitted = push(
        series,
        *((first, 0, 30.0), (first, 0, 30.0), (first, -9000, 30.0)),
        *((second, 0, 30.0), (second, 1, np.nan), (second, 2, 1e9)),
        *((bad, 0, 1.0), (-1, 0, 1.0)),
    )
    admitted.count(ledger)
    assert ledger.account("prom/node1:9400") == TargetAccount(0, 3, dropped={"duplicate": 1, "event_time": 1}, held=0)
    found = ledger.account("prom/node2:9400")
    assert (found.received, found.dropped) == (3, {"no_value": 1, "out_of_bounds": 1})
    assert_accounted(ledger, admitted.batches, nobodys=2)


def test_a_sum_without_a_part_is_a_drop_of_its_target():
    series, ledger = pushed(PushedRule(source="node_exporter")), Ledger(0)
    labels = {"job": "node", "instance": "n1:9100"}
    slots = [series.add(READS, {**labels, "export": export}) for export in ("a:/x", "b:/y")]
    for values in ((1.0, np.nan), (2.0, 3.0)):
        push(series, *((slot, 0, value) for slot, value in zip(slots, values, strict=True))).count(ledger)
    assert ledger.drops.total() > 0
    assert sum(ledger.account("prom/n1:9100").dropped.values()) == ledger.drops.total()


@pytest.mark.parametrize(
    ("instance", "device"),
    [
        ("[fe80::1]:57400", "fe80::1"),
        ("fe80::1", "fe80::1"),
        ("[2001:db8::2]", "2001:db8::2"),
        ("10.0.0.1:9400", "10.0.0.1"),
        ("10.0.0.1", "10.0.0.1"),
    ],
)
def test_a_device_that_is_an_address_is_all_of_it_and_no_port(instance, device):
    series = pushed()
    (batch,) = push(series, (series.add(TEMP, gpu(1, instance)), 0, 30.0)).batches
    assert (batch.table.device, batch.table.target) == (device, f"prom/{instance}")
