"""Results of nccl-tests in text and JSON: what is read of them, and for which reason one is refused."""

from collections.abc import Callable, Sequence

import orjson
import pytest

from common.errors import BadInput
from ingest.collectors.canonical_samples import TargetSamples, Values
from ingest.collectors.nccl_tests.folder import parse_file
from ingest.collectors.nccl_tests.result import Refusal, Result
from tests.samples import SAMPLES

TEXT = (SAMPLES / "nccl" / "all_reduce_and_sendrecv_perf.txt").read_text()
JSON = (SAMPLES / "nccl" / "reduce_scatter_perf.json").read_bytes()
ROWS_MAX = 100


def read(text: str | bytes, name: str = "result") -> Sequence[Result | BadInput]:
    return parse_file(text.encode() if isinstance(text, str) else text, ROWS_MAX, name)


def only(text: str | bytes, name: str = "result") -> Result:
    (found,) = read(text, name)
    assert isinstance(found, Result), found
    return found


def why(text: str | bytes, name: str = "result") -> list[str]:
    return [test.reason for test in read(text, name) if isinstance(test, BadInput)]


def series(result: Result) -> dict[str, float]:
    return TargetSamples("nccl-tests", "node9", "nccl_tests", 0).read(Values.of(result.samples({}))).by_series()


def table(
    *rows: str, columns: str = "size count type redop root time algbw busbw #wrong time algbw busbw #wrong"
) -> str:
    """One test of two ranks on one host."""
    devices = [f"#  Rank {rank:2} Group  0 Pid  40{rank} on node7 device {rank:2} [0000:1b:00] GPU" for rank in (0, 1)]
    head = ["# Collective test starting: all_gather_perf", "# nThread 1 nGpus 2 minBytes 8 maxBytes 8 step: 2(factor)"]
    return "\n".join([*head, *devices, f"#  {columns}", *rows, "# Out of bounds values : 0 OK", ""])


ROW = "  16384  2048  float  none  -1  21.50  0.76  0.38  0  22.30  0.73  0.37  0"


def test_each_test_of_a_text_is_read() -> None:
    found = [test for test in read(TEXT) if isinstance(test, Result)]
    assert [(test.operation, test.ranks, test.nodes, test.host, len(test.rows), test.malformed) for test in found] == [
        ("AllReduce", 4, 2, "node1", 4, 0),
        ("Send", 4, 2, "node1", 4, 0),
    ]


def test_the_series_are_those_of_nccl_inspector_in_bytes_and_seconds() -> None:
    first, second = (test for test in read(TEXT) if isinstance(test, Result))
    labels = (
        'buffers="{}",bytes="1073741824",communicator="nccl-tests",device="node1",element="float",nodes="2",op="{}",'
        'ranks="4",{}size="1-2GB"'
    )
    reduced = labels.format("in_place", "AllReduce", 'reduction="sum",')
    of_first, of_second = series(first), series(second)
    assert of_first[f"nccl_bus_bandwidth_bytes_per_second{{{reduced}}}"] == 65_490_000_000
    assert of_first[f"nccl_collective_duration_seconds{{{reduced}}}"] == 0.0245931
    assert of_first[f"nccl_wrong_elements{{{reduced}}}"] == 3
    sent = labels.format("out_of_place", "Send", "")
    assert of_second[f"nccl_p2p_bandwidth_bytes_per_second{{{sent}}}"] == 43_660_000_000
    assert of_second[f"nccl_p2p_duration_seconds{{{sent}}}"] == 0.0245923


def test_the_size_is_what_one_rank_gives_to_a_call_as_for_inspector() -> None:
    result = only(JSON)
    assert (result.operation, result.ranks, result.host) == ("ReduceScatter", 4, "node1")
    assert [row.message_bytes for row in result.rows] == [1024, 524_288, 268_435_456]
    assert any('size="256-257MB"' in key for key in series(result))


@pytest.mark.parametrize(
    "tag",
    ["[1,0]<stdout>:", "[1,0]<stdout>: ", "0: ", " 0: "],
    ids=["mpirun", "mpirun, spaced", "srun", "srun, padded"],
)
def test_tags_of_mpirun_and_srun_are_taken_off(tag: str) -> None:
    tagged = "\n".join(f"{tag}{line}" for line in table(ROW).splitlines())
    assert only(tagged) == only(table(ROW))


def test_old_releases_and_further_columns_are_read() -> None:
    old = "size count type redop time algbw busbw error time algbw busbw error"
    blank = "  16384  2048  float        21.50  0.76  0.38  N/A  22.30  0.73  0.37  2e-07"
    (row,) = only(table(blank, columns=old)).rows
    assert (row.reduction, row.root, row.buffers["in_place"].wrong) == ("", "", None)
    assert row.buffers["in_place"].bus_bytes_per_second == 370_000_000
    more = (
        "size count type redop root time algbw busbw #wrong i_min i_max time algbw busbw #wrong i_min i_max timestamp"
    )
    late = (
        "  16384  2048  half  sum  3  21.50  0.76  0.38  0  20  30  22.30  0.73  0.37  5  20  31  2026-11-20 10:00:00"
    )
    (row,) = only(table(late, columns=more)).rows
    assert (row.message_bytes, row.root, row.buffers["in_place"].wrong) == (4096, "3", 5)


def test_the_time_of_the_cpu_is_no_duration() -> None:
    columns = "size count type redop root cputime algbw busbw #wrong cputime algbw busbw #wrong"
    (row,) = only(table(ROW, columns=columns)).rows
    assert row.buffers["out_of_place"].duration_s is None
    assert row.buffers["out_of_place"].bus_bytes_per_second == 380_000_000


def test_what_was_not_checked_has_no_count_of_wrong_elements() -> None:
    unchecked = only(table(ROW.replace("  0  22", "  N/A  22")))
    assert [key for key in series(unchecked) if "wrong" in key and "out_of_place" in key] == []


@pytest.mark.parametrize(
    "torn",
    [
        "  16384  2048  float  none  -1  21.50  0.7node7:4100 NCCL INFO Connected all rings",
        "  16384  2048  float  none  -1  21.50",
        ROW + ROW,
        ROW.replace("0.38", "0.3x"),
        ROW.replace("float", "complex"),
    ],
    ids=["a line of NCCL within", "cut", "two in one line", "no number", "unknown type"],
)
def test_a_torn_row_is_counted_and_the_others_are_read(torn: str) -> None:
    result = only(table(ROW, torn))
    assert (len(result.rows), result.malformed) == (1, 1)


def test_rows_of_no_bytes_say_nothing() -> None:
    empty = ROW.replace("16384  2048", "0  0")
    assert (len(only(table(empty, ROW)).rows), only(table(empty, ROW)).malformed) == (1, 0)


def twice(text: str) -> str:
    """As two processes write that know nothing of each other: line by line."""
    return "\n".join(line for line in text.splitlines() for _ in range(2))


CUT = table(ROW).partition("# Out of bounds")[0]


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        (CUT, [Refusal.TRUNCATED]),
        (CUT + table(ROW), [Refusal.TRUNCATED]),
        (twice(table(ROW)), [Refusal.TRUNCATED, Refusal.INTERLEAVED]),
        (table(ROW) + "# Out of bounds values : 0 OK\n", [Refusal.INTERLEAVED]),
        (table(ROW).replace("all_gather_perf", "all_the_gathers_perf"), [Refusal.NO_OPERATION]),
        (table(ROW).replace("# Collective test starting: all_gather_perf", "#"), [Refusal.NO_OPERATION]),
        (table(ROW).replace("Rank  1", "Rank  2"), [Refusal.NO_RANKS]),
        (table(ROW).replace("#  Rank", "#  Device"), [Refusal.NO_RANKS]),
        (table(ROW, columns="size count type redop root time bandwidth time bandwidth"), [Refusal.UNKNOWN_COLUMNS]),
        (table(ROW, columns="size count bytes time algbw busbw time algbw busbw"), [Refusal.UNKNOWN_COLUMNS]),
        (table(), [Refusal.NO_ROWS]),
        (table(*[ROW] * (ROWS_MAX + 1)), [Refusal.TOO_LARGE]),
        ("Segmentation fault (core dumped)\n", [Refusal.BAD_FORMAT]),
        ("", [Refusal.BAD_FORMAT]),
    ],
)
def test_a_text_that_is_no_result_is_refused(text: str, reasons: list[Refusal]) -> None:
    assert why(text) == reasons


def test_a_test_that_was_cut_off_does_not_hide_the_next_one() -> None:
    assert [type(test) for test in read(CUT + table(ROW))] == [BadInput, Result]


@pytest.mark.parametrize(
    ("before", "name"),
    [("+ mpirun -np 2 /opt/nccl-tests/build/all_gather_perf -b 8\n", "result"), ("", "node7-all_gather_perf.log")],
)
def test_old_releases_name_their_test_in_the_command_or_the_file(before: str, name: str) -> None:
    unnamed = table(ROW).replace("# Collective test starting: all_gather_perf", "#")
    assert only(before + unnamed, name).operation == "AllGather"


def changed(change: Callable[[dict[str, object]], object]) -> bytes:
    document = orjson.loads(JSON)
    change(document)
    return orjson.dumps(document)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (JSON[:500], Refusal.TRUNCATED),
        (changed(lambda document: document.pop("end_time")), Refusal.TRUNCATED),
        (changed(lambda document: document.update(args=[])), Refusal.BAD_FORMAT),
        (changed(lambda document: document.update(args=["x_perf"])), Refusal.NO_OPERATION),
        (changed(lambda document: document["config"].update(ngpus=3)), Refusal.NO_RANKS),  # type: ignore[attr-defined]
        (changed(lambda document: document["config"].update(devices=[])), Refusal.NO_RANKS),  # type: ignore[attr-defined]
        (changed(lambda document: document.update(results=[])), Refusal.NO_ROWS),
        (changed(lambda document: document.update(results=[{}])), Refusal.BAD_FORMAT),
        (changed(lambda document: document.update(results=[{}] * (ROWS_MAX + 1))), Refusal.TOO_LARGE),
        (b"{]}", Refusal.BAD_FORMAT),
        (b"{}", Refusal.TRUNCATED),
    ],
)
def test_a_json_that_is_no_result_is_refused(body: bytes, reason: Refusal) -> None:
    assert why(body) == [reason]


@pytest.mark.parametrize("number", ["9e307", "1e999", "-0.38"])
def test_a_bandwidth_that_nothing_reaches_is_no_row(number: str) -> None:
    result = only(table(ROW, ROW.replace("0.38", number)))
    assert (len(result.rows), result.malformed) == (1, 1)


@pytest.mark.parametrize("number", [1e305, -2.5])
def test_a_bandwidth_that_nothing_reaches_refuses_json(number: float) -> None:
    document = orjson.loads(JSON)
    document["results"][0]["in_place"]["bus_bw"] = number
    (refusal,) = read(orjson.dumps(document))
    assert isinstance(refusal, BadInput)
    assert (refusal.reason, str(refusal).endswith(f"expected 0 to 1e+12, got {number:g}")) == ("bad_format", True)
