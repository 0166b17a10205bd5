"""The catalogue's files: units, labels, and names that mean one thing."""

import csv
import re
from collections import defaultdict
from collections.abc import Iterator
from fnmatch import fnmatchcase

import pytest

from telemetry.catalogue import Kind, Metric, Origin, metrics, origins_of, source, source_names, sources
from tests.samples import SAMPLES

# sources.md §2, and what single groups of metrics add to it.
LABELS = {
    "device", "port", "priority", "queue", "pg", "pool", "direction", "lane", "gpu", "instance_profile", "instance_id",
    "link", "node", "fs", "target", "pool_name", "drive", "job_id", "user", "partition", "namespace", "pod",
    "container", "cast", "stage", "reset", "peer", "sensor", "fan", "psu", "channel", "index", "pci_bus_id", "model",
    "driver", "kind", "xid", "window", "severity", "persistence", "cause", "reason", "controller", "resource", "level",
    "op", "system", "side", "component", "version", "address", "algorithm", "bin", "class", "color", "communicator",
    "condition", "duplex", "effect", "engine", "event", "job_name", "key", "kubelet", "lid", "location", "mode",
    "mountpoint", "name", "nid", "nvswitch", "outcome", "owner", "owner_kind", "part", "peer_name", "peer_port", "pipe",
    "qp_type", "ranks", "row", "runtime", "serial", "size", "state", "sxid", "inlet", "outlet",
    "process", "gpus", "message", "message_id",
}  # fmt: skip
# The unit that ends a name; names without a unit count things or are states.
SUFFIXES = (
    "bytes_per_second", "bits_per_second", "bytes", "seconds", "celsius", "watts", "joules", "hertz", "ratio", "volts",
    "amperes", "rpm", "dbm", "ticks",
)  # fmt: skip

every_system = pytest.mark.parametrize("system", source_names())
every_metric = pytest.mark.parametrize("metric", metrics().values(), ids=lambda metric: metric.name)


def every_origin() -> Iterator[tuple[Metric, Origin]]:
    for system in source_names():
        yield from origins_of(system)


@every_metric
def test_unit_and_kind_agree_with_the_name(metric: Metric) -> None:
    stem = re.sub(r"_(total|sum|count)$", "", metric.name)
    suffix = next((unit for unit in SUFFIXES if stem.endswith("_" + unit)), None)
    if suffix is not None and not metric.name.endswith("_count"):
        assert metric.unit == suffix
    assert metric.name.endswith("_total") <= (metric.kind is Kind.COUNTER)
    if metric.kind is Kind.COUNTER:
        assert metric.name.endswith(("_total", "_sum", "_count"))
        assert metric.resets
    assert metric.name.endswith("_info") == (metric.kind is Kind.INFO)


@every_metric
def test_labels_are_known_and_begin_with_the_device(metric: Metric) -> None:
    assert metric.labels[0] == "device"
    assert set(metric.labels) <= LABELS
    assert metric.help.endswith(".")
    if metric.minimum is not None and metric.maximum is not None:
        assert metric.minimum < metric.maximum


@every_metric
def test_a_counter_is_never_below_zero(metric: Metric) -> None:
    assert metric.kind is not Kind.COUNTER or metric.minimum == 0


@every_system
def test_origins_fill_labels_of_their_metric_and_have_real_scales(system: str) -> None:
    for metric, origin in origins_of(system):
        assert set(origin.labels) <= set(metric.labels) - {"device"}
        assert origin.scale != 0


def test_every_metric_is_reported_by_some_system() -> None:
    assert set(metrics()) == {metric for source in sources().values() for metric in source.metrics}


def test_no_name_of_a_source_means_two_things() -> None:
    """Two origins of one name differ in what they take from it, or feed different metrics on purpose."""
    taken: dict[tuple[object, ...], list[str]] = defaultdict(list)
    for metric, origin in every_origin():
        where, labels = sorted(origin.where.items()), sorted(origin.labels.items())
        taken[origin.source, origin.name, origin.bit, origin.weight, *where, *labels].append(metric.name)
    twice = {(str(key[0]), str(key[1])): names for key, names in taken.items() if len(names) > 1}
    shared = {
        ("dcgm", name)
        for name in ("GPU_TEMP", "GPU_TEMP_CELSIUS", "GPU_UTIL", "GPU_UTIL_RATIO", "POWER_USAGE", "BOARD_POWER_WATTS")
    }
    allowed = {(source, f"DCGM_FI_DEV_{name}") for source, name in shared}
    allowed |= {("dcgm", "dcgm_gpu_temp"), ("amd", "gpu_package_power")}  # they feed gpu_info
    allowed |= {("telegraf", "nvidia_smi_memory_total")}  # so does this
    allowed |= {
        (source, name)
        for source, name in twice
        if any("duration_seconds_count" in metric or "duration_seconds_sum" in metric for metric in twice[source, name])
    }
    assert {key: names for key, names in twice.items() if key not in allowed} == {}


@pytest.mark.parametrize(
    ("metric", "refresh_s"),
    [
        ("fabric_port_pfc_pause_frames_total", 1),
        ("fabric_queue_ecn_marked_packets_total", 10),
        ("fabric_pg_dropped_packets_total", 10),
        ("fabric_queue_occupancy_peak_bytes", 60),
        ("gpu_throttle_seconds_total", 0),  # no page says how often, and it is unchanged for days
    ],
)
def test_the_refresh_periods_that_sonic_has_by_default(metric: str, refresh_s: float) -> None:
    assert metrics()[metric].refresh_s == refresh_s


def test_dcgm_names_exist_in_dcgm() -> None:
    config = SAMPLES / "dcgm" / "config"
    known = set(dcgm_fields())
    for file_name in ("default-counters.csv", "dcp-metrics-included.csv", "1.x-compatibility-metrics.csv"):
        known |= set(re.findall(r"^#? ?(\w+) ?,", (config / file_name).read_text(), re.MULTILINE))
    ours = {re.sub(r"\{\w+\}", "0", origin.name) for _, origin in origins_of("dcgm")}
    # FB_RESERVED is in the exporter's list; the clock reasons' name of 4.5 and earlier is a rename.
    assert ours - known == set()


def dcgm_fields() -> list[str]:
    """Every name that DCGM 4.6 knows, and every name that it replaced."""
    config = SAMPLES / "dcgm" / "config"
    with (config / "dcgm_fields_4.6.0.csv").open() as file:
        names = [row["field_name"] for row in csv.DictReader(file)]
    return names + list(dcgm_renames())


def dcgm_renames() -> dict[str, str]:
    with (SAMPLES / "dcgm" / "config" / "dcgm_field_renames_4.6.0.csv").open() as file:
        return {row["old_name"]: row["new_name"] for row in csv.DictReader(file)}


def dcgm_meanings(name: str) -> set[tuple[str, float, tuple[tuple[str, str], ...], int | None]]:
    """What the catalogue makes of a name: metrics, with scale, labels and bit."""
    return {
        (metric.name, origin.scale, tuple(sorted(origin.labels.items())), origin.bit)
        for metric, origin in origins_of("dcgm")
        if re.fullmatch(re.sub(r"\\\{\w+\\\}", "[0-9]+", re.escape(origin.name)), name)
    }


def test_each_field_of_dcgm_is_read_or_left_out_for_a_reason() -> None:
    left_out = [pattern for ignored in source("dcgm").ignored for pattern in ignored.names]
    fields = dcgm_fields()
    both = [any(fnmatchcase(name, pattern) for pattern in left_out) == bool(dcgm_meanings(name)) for name in fields]
    assert len(fields) == 974
    assert [name for name, wrong in zip(fields, both, strict=True) if wrong] == []


def test_both_names_of_a_renamed_field_mean_the_same() -> None:
    renames = dcgm_renames()
    assert renames["DCGM_FI_DEV_POWER_USAGE"] == "DCGM_FI_DEV_BOARD_POWER_WATTS"
    assert {old: dcgm_meanings(old) for old in renames} == {old: dcgm_meanings(new) for old, new in renames.items()}
