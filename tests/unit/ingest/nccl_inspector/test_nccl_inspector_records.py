"""Lines of NCCL Inspector's files to columns of operations, in all forms that it has written them in."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.collectors.nccl_inspector.operation import Operation, Origin
from ingest.collectors.nccl_inspector.records import Context, Found, Records, Refusal, end, read_lines
from ingest.collectors.nccl_inspector.windows import add_up, windows_of
from tests.samples import SAMPLES
from tests.unit.ingest.nccl_inspector.written import Record, collective, context, dump, lines, transfer, verbose

T_NS = 1_780_000_000_000_000_000
PLAIN = Origin("node1", "7", "DP", "4", "2", "0")
ALL_REDUCE = Operation(PLAIN, "coll", "AllReduce", "1-2GB", "RING_SIMPLE")
SEND = Operation(PLAIN, "p2p", "Send", "64-65MB", "")


class Reader:
    """One file, and the operations that it has."""

    def __init__(self, *, is_inside: bool = False) -> None:
        self.context = Context("7", is_inside=is_inside)
        self.found = Found()
        self.operations: list[Operation] = []

    def read(self, data: bytes) -> Records:
        read_lines(data, self.context, self._number, self.found)
        return self.found.take()

    def _number(self, operation: Operation) -> int:
        if operation not in self.operations:
            self.operations.append(operation)
        return self.operations.index(operation)


@pytest.mark.parametrize("version", ["v4.0", "v4.2", "v4.3"])
def test_each_version_is_read(version: str) -> None:
    reader = Reader()
    records = reader.read(dump(T_NS, collective(400.0, 50_000), transfer(40.0, 2_000), version=version, lost=5))
    own = PLAIN._replace(comm_name="") if version == "v4.0" else PLAIN
    assert reader.operations == [ALL_REDUCE._replace(origin=own), SEND._replace(origin=own)]
    assert records.busbw.tolist() == [400.0, 40.0]
    assert records.exec_us.tolist() == [50_000.0, 2_000.0]
    assert records.dumped_ns.tolist() == records.ended_ns.tolist() == [T_NS, T_NS]
    assert not reader.found.refused
    assert reader.found.lost.total() == (0 if version == "v4.0" else 5)


def test_the_documents_records_are_read() -> None:
    """The first one is of v4.0 as it was at first, the second one verbose."""
    reader = Reader()
    records = reader.read(lines(json.loads((SAMPLES / "nccl" / "inspector_records.json").read_bytes())))
    assert [one.name for one in reader.operations] == ["AllReduce", "ReduceScatter"]
    assert [one.size for one in reader.operations] == ["16-17GB", "2-3GB"]
    assert reader.operations[0].labels() == {
        "node": "example-hostname",
        "slurm_job_id": "7",
        "nranks": "8",
        "n_nodes": "1",
        "rank": "2",
        "collective": "AllReduce",
        "message_size": "16-17GB",
    }
    assert records.busbw.tolist() == [485.119099, 366.134533]
    assert records.dumped_ns.tolist() == [1748030377748202000, 1752867229276385000]
    assert records.ended_ns.tolist() == [1748030377748202000, 1752867229275811000]


@pytest.mark.parametrize(
    ("stops_us", "ended_us"),
    [((-900, -300, -500), -300), ((0,), 0), ((1,), 0), ((-900, 60_000_000), 0), ((), 0)],
    ids=["the last channel counts", "at the dump", "never recorded", "after the dump", "no channel"],
)
def test_a_verbose_record_says_when_it_ended(stops_us: tuple[int, ...], ended_us: int) -> None:
    stops = [T_NS // 1000 + us if us != 1 else 0 for us in stops_us]
    records = Reader().read(dump(T_NS, verbose(collective(), *stops)))
    assert records.ended_ns.tolist() == [T_NS + 1000 * ended_us]


def test_markers_and_records_may_come_in_pieces() -> None:
    whole = dump(T_NS, collective(), transfer()) + dump(T_NS + 5, collective(), rank=1, name="TP")
    expected = Reader().read(whole)
    reader = Reader()
    pieces = [reader.read(line + b"\n") for line in whole.splitlines()]
    for column, parts in zip(expected, zip(*pieces, strict=True), strict=True):
        np.testing.assert_array_equal(column, np.concatenate(parts))
    assert not reader.found.refused


@pytest.mark.parametrize(
    "record",
    [
        [],
        7,
        {},
        {"other_perf": {}},
        {"coll_perf": collective(), "header": {}, "metadata": {}},
        {"coll_perf": [], **context(T_NS, version="v4.0")},
        {"dump_stats": {"coll_records": -1}, **context(T_NS, version="v4.3")},
        {"dump_stats": 1, **context(T_NS, version="v4.3")},
        {"dump_stats": {"coll_records": 1}},
        *(
            {"coll_perf": collective() | {name: value}, **context(T_NS, version="v4.0")}
            for name, value in [
                ("coll", ""),
                ("coll", None),
                ("coll", "A" * 300),
                ("coll_msg_size_bytes", 1.5),
                ("coll_msg_size_bytes", True),
                ("coll_msg_size_bytes", 1 << 60),
                ("coll_busbw_gbs", "fast"),
                ("coll_busbw_gbs", -1.0),
                ("coll_busbw_gbs", 1e300),
                ("coll_exec_time_us", None),
                ("coll_algo", 3),
            ]
        ),
    ],
)
def test_what_is_no_record_is_counted_and_the_next_one_read(record: object) -> None:
    reader = Reader()
    data = json.dumps(record).encode() + b"\n"
    assert reader.read(data + dump(T_NS, collective(), version="v4.0")).operation.size == 1
    assert reader.found.refused == {Refusal.MALFORMED: 1}


@pytest.mark.parametrize("text", [b"{", b"\0", b'{"coll_perf":{"coll_busbw_gbs":inf}}', b"\xff", b"{" * 5000])
def test_lines_that_are_no_json_are_counted(text: bytes) -> None:
    reader = Reader()
    assert not reader.read(text + b"\n").operation.size
    assert reader.found.refused == {Refusal.MALFORMED: 1}


def test_a_bandwidth_that_is_none_leaves_the_time() -> None:
    records = Reader().read(dump(T_NS, collective(), collective(0.0), transfer(busbw="nan")))  # type: ignore[arg-type]
    assert records.busbw.tolist() == [400.0, 0.0, 0.0]


@pytest.mark.parametrize("source", ["kernel_cpu", "collective_cpu", "unknown", 3])
def test_what_the_cpu_timed_is_no_measurement(source: object) -> None:
    reader = Reader()
    assert not reader.read(dump(T_NS, collective(coll_timing_source=source))).operation.size
    assert reader.found.refused == {Refusal.CPU_TIMING: 1}
    assert reader.found.written.total() == 1


def test_a_record_without_a_marker_is_of_nobody() -> None:
    orphans = lines([{"coll_perf": collective()}])
    reader = Reader()
    reader.read(orphans + dump(T_NS, collective()) + orphans)
    assert reader.found.refused == {Refusal.NO_CONTEXT: 2}


def test_what_precedes_the_first_marker_of_a_file_read_from_within_is_history() -> None:
    orphans = lines([{"coll_perf": collective()}])
    reader = Reader(is_inside=True)
    assert reader.read(orphans + orphans + dump(T_NS, collective()) + orphans).operation.size == 1
    assert reader.found.refused == {Refusal.HISTORY: 2, Refusal.NO_CONTEXT: 1}


def test_announced_records_that_do_not_come_are_counted_once() -> None:
    whole = dump(T_NS, *(collective() for _ in range(5)))
    marker, *records = whole.splitlines(keepends=True)
    reader = Reader()
    reader.read(marker + records[0] + records[1][:50] + b"\n" + records[2] + dump(T_NS + 1, collective()))
    assert reader.found.refused == {Refusal.MALFORMED: 1, Refusal.MISSING: 2}
    reader.read(marker + records[0])
    end(reader.context, reader.found)
    end(reader.context, reader.found)
    assert reader.found.refused == {Refusal.MALFORMED: 1, Refusal.MISSING: 2 + 4}


def test_steps_of_the_proxy_are_passed_over() -> None:
    reader = Reader()
    data = dump(T_NS, collective(), proxies=3) + dump(T_NS + 1, collective())
    assert reader.read(data).operation.size == 2
    assert not reader.found.refused


def test_beyond_the_limit_records_are_refused() -> None:
    found = Found()
    read_lines(dump(T_NS, collective(), transfer()), Context("7"), lambda _: -1, found)
    assert found.refused == {Refusal.QUOTA: 2}
    assert not found.take().operation.size


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 200), st.floats(0, 1000), st.integers(1, 9999))))
def test_windows_are_the_same_however_records_are_divided(rows: list[tuple[int, int, float, int]]) -> None:
    """And hold the means that Inspector's textfile states."""
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    times = np.array(columns[1], np.int64)
    records = Records(np.array(columns[0], np.int64), times, times, np.array(columns[2]), np.array(columns[3], float))
    whole = add_up([windows_of(records, 30)])
    half = len(rows) // 2
    parts = [records.only(np.arange(len(rows)) < half), records.only(np.arange(len(rows)) >= half)]
    divided = add_up([add_up([windows_of(part, 30)]) for part in parts])
    for one, other in zip(whole, divided, strict=True):
        np.testing.assert_allclose(one, other)
    exec_us, busbw = whole.means()
    for n, (operation, window) in enumerate(zip(whole.operation.tolist(), whole.window.tolist(), strict=True)):
        own = [row for row in rows if row[0] == operation and row[1] // 30 == window]
        known = [row[2] for row in own if row[2] > 0]
        assert exec_us[n] == pytest.approx(np.mean([row[3] for row in own]))
        assert busbw[n] == pytest.approx(np.exp(np.mean(np.log(known))) if known else np.nan, nan_ok=True)
        assert whole.ended_ns[n] == max(row[1] for row in own)


def test_a_record_of_the_documents_has_these_fields_alone() -> None:
    """What the tests write is what the documents show."""
    shown: list[Record] = json.loads((SAMPLES / "nccl" / "inspector_records.json").read_bytes())
    assert set(shown[1]["coll_perf"]) == set(verbose(collective(), 1)) - {"coll_algo", "coll_proto"}
    assert set(shown[1]["metadata"]) == set(context(T_NS, version="v4.0")["metadata"])
