"""From names and labels to canonical series, with a source made for it."""

import math
import tracemalloc
from typing import Any

import pytest

from ingest.collectors.exposition.decode.mapping import Entry, Mapper
from ingest.collectors.exposition.decode.template import CLEAR, CONSTANT, PLAIN
from telemetry.catalogue import Ignored, Kind, Metric, Origin, Source, origins_of, source
from telemetry.series import series_key


def metric(*labels: str, **changed: Any) -> Metric:
    settings = {"kind": Kind.GAUGE, "unit": "", "help": "For a test.", **changed}
    return Metric("test_metric", labels=("device", *labels), **settings)


Options = dict[str, Any]


def mapper(of: Metric, origin: Options, source: Options) -> Mapper:
    """Of a source with one origin, for the device ``node1`` in rack ``r1``."""
    given = Origin(source="test", **{"name": "raw", **origin})
    return Mapper(Source("test", "For a test.", **source), {"device": "node1", "rack": "r1"}, [(of, given)])


def mapped(by: Mapper, name: str, labels: dict[str, str]) -> list[Entry]:
    """What becomes of a series that is not left out on purpose."""
    found = by.map(name, labels)
    assert found is not None
    return found


def key(**labels: str) -> str:
    return series_key("test_metric", {"device": "node1", "rack": "r1", **labels})


ANY_GPU, PORT = {"labels": {"gpu": ("{a}", "{b}")}}, {"parts": {"dev": "(?P<port>.+):1"}}
SPEAKS = {"labels": {"device": ("{guid}",)}}
WORDS = {"weight": "status", "states": {"OK": 1, "ERROR": 0}}
WEIGHTED = {"weight": "size", "scale": 2.0}


@pytest.mark.parametrize(
    ("of", "origin", "labels", "source", "expected"),
    [
        (metric(), {}, {}, {}, [key()]),
        (metric(), {}, {"any": "x"}, {}, [key()]),
        # a label of the same name, a rule of the source, a rule of the origin
        (metric("gpu"), {}, {"gpu": "0"}, {}, [key(gpu="0")]),
        (metric("gpu"), {}, {"UUID": "G"}, {"labels": {"gpu": ("{UUID}",)}}, [key(gpu="G")]),
        (metric("gpu"), {"labels": {"gpu": "{a}/{b}"}}, {"a": "1", "b": "2"}, {}, [key(gpu="1/2")]),
        (metric("side"), {"labels": {"side": "server"}}, {}, {}, [key(side="server")]),
        # the first rule whose labels are all present; an empty one at the end makes the label optional
        (metric("gpu"), {}, {"b": "2"}, ANY_GPU, [key(gpu="2")]),
        (metric("gpu"), {}, {"a": "1", "b": "2"}, ANY_GPU, [key(gpu="1")]),
        (metric("gpu"), {}, {}, {"labels": {"gpu": ("{a}", "")}}, [key()]),
        # a label that names the object and is missing or empty: no series
        (metric("gpu"), {}, {}, {}, []),
        (metric("gpu"), {}, {"gpu": ""}, {}, []),
        (metric("gpu"), {"labels": {"gpu": "{a}/{b}"}}, {"a": "1"}, {}, []),
        # identity overrides what the exporter sends
        (metric("rack"), {}, {"rack": "r9", "device": "x"}, {}, [key()]),
        # a source that speaks for other devices: what it does not name is the target's own
        (metric(), {}, {"guid": "0x5"}, SPEAKS, [series_key("test_metric", {"device": "0x5", "rack": "r1"})]),
        (metric(), {}, {"guid": ""}, SPEAKS, [key()]),
        (metric(), {}, {"device": "x"}, SPEAKS, [key()]),
        # parts of a label become labels
        (metric("port"), {}, {"dev": "mlx5_0:1"}, PORT, [key(port="mlx5_0")]),
        (metric("port"), {}, {"dev": "mlx5_0:2"}, PORT, []),
        # extras are added where they are present
        (metric(), {}, {"link": "3"}, {"extra": {"nvlink": "{link}"}}, [key(nvlink="3")]),
        (metric(), {}, {}, {"extra": {"nvlink": "{link}"}}, [key()]),
        # only samples with these values
        (metric(), {"where": {"op": "read|write"}}, {"op": "read"}, {}, [key()]),
        (metric(), {"where": {"op": "read|write"}}, {"op": "rea"}, {}, []),
        (metric(), {"where": {"op": "read"}}, {}, {}, []),
        (metric(), {"where": {"op": ""}}, {}, {}, [key()]),
    ],
)  # fmt: skip
def test_labels(of: Metric, origin: Options, labels: dict[str, str], source: Options, expected: list[str]) -> None:
    assert [entry.key for entry in mapped(mapper(of, origin, source), "raw", labels)] == expected


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("prio{priority}_pause", "prio3_pause", [key(priority="3")]),
        ("prio{priority}_pause", "prio12_pause", [key(priority="12")]),
        ("prio{priority}_pause", "priox_pause", []),
        ("prio{priority}_pause", "prio_pause", []),
        ("prio{priority}_pause", "prio3_pause_2", []),
        ("a.b{priority}", "axb3", []),
        ("raw", "raw2", []),
    ],
)
def test_digits_in_a_name_are_a_label(pattern: str, name: str, expected: list[str]) -> None:
    labels = ("priority",) if "{" in pattern else ()
    found = mapped(mapper(metric(*labels), {"name": pattern}, {}), name, {})
    assert [entry.key for entry in found] == expected


@pytest.mark.parametrize(
    ("of", "origin", "labels", "expected"),
    [
        (metric(), {}, {}, (1.0, PLAIN, -math.inf, math.inf, math.nan, False)),
        (metric(), {"scale": 0.001}, {}, (0.001, PLAIN, -math.inf, math.inf, math.nan, False)),
        (metric(minimum=0.0, maximum=5.0), {"scale": 10.0}, {}, (10.0, PLAIN, 0.0, 5.0, math.nan, False)),
        (metric(), {"bit": 3}, {}, (1.0, 3, -math.inf, math.inf, math.nan, False)),
        (metric(), {"bit": 3, "clear": True}, {}, (1.0, CLEAR - 3, -math.inf, math.inf, math.nan, False)),
        (metric(), {"sum": True}, {}, (1.0, PLAIN, -math.inf, math.inf, math.nan, True)),
        (metric(kind=Kind.INFO), {}, {}, (1.0, CONSTANT, -math.inf, math.inf, math.nan, False)),
        # a counter of 8 bits saturates at 255, in the canonical unit
        (metric(saturates=8), {}, {}, (1.0, PLAIN, -math.inf, math.inf, 255.0, False)),
        (metric(saturates=8), {"scale": 4.0}, {}, (4.0, PLAIN, -math.inf, math.inf, 1020.0, False)),
        # the weight of a bucket multiplies
        (metric(), WEIGHTED, {"size": "512"}, (1024.0, PLAIN, -math.inf, math.inf, math.nan, False)),
        # and so does the number that a word stands for
        (metric(), WORDS, {"status": "OK"}, (1.0, PLAIN, -math.inf, math.inf, math.nan, False)),
        (metric(), WORDS, {"status": "ERROR"}, (0.0, PLAIN, -math.inf, math.inf, math.nan, False)),
    ],
)  # fmt: skip
def test_values(of: Metric, origin: Options, labels: dict[str, str], expected: tuple[Any, ...]) -> None:
    (entry,) = mapped(mapper(of, origin, {}), "raw", labels)
    found = (entry.scale, entry.bit, entry.low, entry.high, entry.saturated, entry.adds)
    assert [str(part) for part in found] == [str(part) for part in expected]


@pytest.mark.parametrize("size", ["", "many", "inf", "nan", None])
def test_a_weight_that_is_no_number_makes_no_series(size: str | None) -> None:
    labels = {} if size is None else {"size": size}
    assert mapper(metric(), {"weight": "size"}, {}).map("raw", labels) == []


@pytest.mark.parametrize(
    ("name", "labels", "expected"),
    [
        ("raw", {}, [key()]),  # what is mapped is not kept beside it
        ("vendor_x", {}, ['vendor_x{device="node1",rack="r1"}']),
        ("job:rate5m", {"le": "+Inf"}, ['job:rate5m{device="node1",le="+Inf",rack="r1"}']),
        # labels of the target win, and the source's stand beside them, as in Prometheus
        ("vendor_x", {"device": "eth0"}, ['vendor_x{device="node1",exported_device="eth0",rack="r1"}']),
        ("vendor_x", {"a": ""}, ['vendor_x{device="node1",rack="r1"}']),
        # a name that means something else, and names that older stores cannot hold
        ("gpu_power_watts", {}, []),
        ("up", {}, []),
        ("fabricscope_incident", {}, []),
        ("vendor.x", {}, []),
        ("vendor_x", {"a.b": "1"}, []),
    ],
)
def test_what_nothing_maps_is_kept_under_its_own_name(name: str, labels: dict[str, str], expected: list[str]) -> None:
    origins = [(metric(), Origin("test", "raw"))]
    keeping = Mapper(Source("test", ""), {"device": "node1", "rack": "r1"}, origins, keep=True)
    found = mapped(keeping, name, labels)
    assert [entry.key for entry in found] == expected
    assert [entry.kept for entry in found] == [name != "raw" for _ in expected]
    assert keeping.unmapped == set() if name == "raw" else {name}
    dropping = Mapper(Source("test", ""), {"device": "node1", "rack": "r1"}, origins)
    assert [entry.key for entry in mapped(dropping, name, labels)] == (expected if name == "raw" else [])


@pytest.mark.parametrize("labels", [{}, {"status": ""}, {"status": "on fire"}, {"status": "1"}])
def test_a_word_that_stands_for_nothing_makes_no_series(labels: dict[str, str]) -> None:
    assert mapper(metric(), WORDS, {}).map("raw", labels) == []


def test_what_is_left_out_on_purpose_is_not_among_the_names_that_are_not_mapped() -> None:
    left_out = (Ignored(("go_*", "raw"), "of no use"), Ignored(("m[ae]x",), "a limit"))
    found = mapper(metric(), {"where": {"op": "read"}}, {"ignored": left_out})
    assert found.map("raw", {"op": "read"}) != []
    for name in ("raw", "go_threads", "max"):
        assert found.map(name, {"op": "write"}) is None
    for name in ("mox", "go", "a_go_b"):
        assert found.map(name, {"op": "write"}) == []
    assert found.unmapped == {"mox", "go", "a_go_b"}


def test_one_name_may_feed_several_metrics_in_the_order_of_the_catalogue() -> None:
    origins = [(metric(), Origin("test", "raw", bit=bit)) for bit in (2, 0, 1)]
    several = Mapper(Source("test", ""), {"device": "node1"}, origins)
    assert [entry.bit for entry in mapped(several, "raw", {})] == [2, 0, 1]
    assert several.map("other", {}) == []


def test_targets_of_one_system_share_what_was_made_of_its_names() -> None:
    """Else the names of node_exporter would take 100 KiB for each of thousands of hosts."""
    system = source("node_exporter")
    kept = [Mapper(system, {"device": "node0"}, origins_of("node_exporter"))]
    tracemalloc.start()
    kept += [Mapper(system, {"device": f"node{number}"}, origins_of("node_exporter")) for number in range(50)]
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert size / len(kept) < 10_000
