"""Pages of comma-separated values: as UFM Telemetry writes them, as a plain parser reads them, and what is none."""

import csv
import io
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import BadInput
from common.units import NS_PER_S
from ingest.collectors.exposition.decode.body import BodyReader, BodySamples
from ingest.collectors.exposition.decode.csv_page import CsvReader
from ingest.collectors.exposition.decode.mapping import Mapper
from ingest.ledger import DropReason
from telemetry.catalogue import origins_of, source
from telemetry.series import series_key

NOW_NS = 1_760_000_000 * NS_PER_S
NOW_US = NOW_NS // 1000
PRIMARY = f"""\
timestamp,source_id,tag,node_guid,port_guid,port_num,PortXmitDataExtended,PortRcvPktsExtended,Normalized_CBW,hist15,novel
{NOW_US - 5_000_000},0x1,,0x1,0x1,1,1000,7,25,0,3
{NOW_US - 4_000_000},0x1,,0x1,0x1,2,2000,,,1,
""".encode()


def reader_of(name: str = "ufm", *, series_max: int = 50_000, keep: bool = False, kept_max: int = 0) -> CsvReader:
    origins = origins_of(name)
    mapper = Mapper(source(name), {"device": "ufm1"}, origins, keep=keep)
    return CsvReader("t", "ufm1", mapper, source(name), origins, series_max=series_max, kept_max=kept_max)


def values(found: BodySamples) -> dict[str, float]:
    return dict(zip((found.table.keys[row] for row in found.series), found.values.tolist(), strict=True))


def read(page: str | bytes, name: str = "ufm") -> BodySamples:
    return reader_of(name).read(page.encode() if isinstance(page, str) else page, NOW_NS)


def key(metric: str, port: int | str = "", **labels: str) -> str:
    return series_key(metric, {"device": "0x1", **labels} | ({"port": str(port)} if port else {}))


def test_a_row_for_each_port_and_a_column_for_each_counter() -> None:
    found = read(PRIMARY)
    assert values(found) == {
        key("ib_port_transmit_bytes_total", 1): 4000.0,
        key("ib_port_transmit_bytes_total", 2): 8000.0,
        key("ib_port_receive_packets_total", 1): 7.0,
        key("ib_port_congested_bandwidth_ratio", 1): 0.25,
        key("fabric_port_fec_codewords_total", 1, bin="15"): 0.0,
        key("fabric_port_fec_codewords_total", 2, bin="15"): 1.0,
    }
    assert found.unmapped == 1, "the cell of novel that is not empty"
    assert found.dropped == {}, "an empty cell is no sample"


def test_each_row_has_the_time_that_it_states() -> None:
    found = read(PRIMARY)
    times = {found.table.keys[row]: time for row, time in zip(found.series, found.times_ns.tolist(), strict=True)}
    assert times[key("ib_port_transmit_bytes_total", 1)] == NOW_NS - 5 * NS_PER_S
    assert times[key("ib_port_transmit_bytes_total", 2)] == NOW_NS - 4 * NS_PER_S


@pytest.mark.parametrize("spelled", [str.lower, str.upper, str.title])
def test_the_case_of_the_header_differs_between_versions(spelled: object) -> None:
    header, rows = PRIMARY.split(b"\n", 1)
    assert callable(spelled)
    assert values(read(spelled(header.decode()).encode() + b"\n" + rows)) == values(read(PRIMARY))


def test_the_secondary_telemetry() -> None:
    found = read(
        "Node_GUID,node_description,lid,Port_Number,phy_state,Total_Raw_BER,Effective_BER,Symbol_BER,Module_Temperature,"
        "Link_Down\n"
        '0x1,"MF0;leaf, first:MQM8700/U1",12,1,5,1.5e-8,1e-254,0,48,2\n'
        "0x1,,,2,N/A,nan,,,,\n"
    )
    assert values(found) == {
        key("ib_device_info", name="MF0;leaf, first:MQM8700/U1", lid="12"): 1.0,
        key("ib_port_physical_state", 1): 5.0,
        key("ib_port_bit_error_ratio", 1, stage="raw"): 1.5e-8,
        key("ib_port_bit_error_ratio", 1, stage="effective"): 1e-254,
        key("ib_port_bit_error_ratio", 1, stage="symbol"): 0.0,
        key("fabric_transceiver_temperature_celsius", 1): 48.0,
        key("ib_port_link_downed_total", 1): 2.0,
    }
    assert found.dropped == {DropReason.NO_VALUE: 2}
    assert set(found.times_ns.tolist()) == {NOW_NS}, "a page without times was read now"


@pytest.mark.parametrize(
    ("cells", "expected", "dropped"),
    [
        (["61", "61", "61"], 61.0, {}),
        (["", "61", ""], 61.0, {}),  # no sample that was dropped: there was none
        (["", "61", "62"], 61.0, {DropReason.DUPLICATE: 1}),
        (["N/A", "61", "N/A"], 61.0, {DropReason.NO_VALUE: 2}),
        (["", "N/A", ""], None, {DropReason.NO_VALUE: 1}),
        (["N/A", "", "N/A"], None, {DropReason.NO_VALUE: 2}),
        (["", "", ""], None, {}),
        (["", "9000", "61"], None, {DropReason.OUT_OF_BOUNDS: 1, DropReason.DUPLICATE: 1}),
    ],
)
def test_the_temperature_of_a_chip_that_the_row_of_each_port_states(
    cells: list[str], expected: float | None, dropped: dict[DropReason, int]
) -> None:
    rows = [f"{NOW_US - port * 1_000_000},0x1,{port},{cell}\n" for port, cell in enumerate(cells, 1)]
    other = f"{NOW_US},0x2,1,40\n"
    page = "timestamp,Node_GUID,Port_Number,Chip_Temp\n" + "".join([*rows, other])
    reader = reader_of()
    chip = key("fabric_device_temperature_celsius", sensor="chip")
    for _ in range(2):  # of an unknown page, and of a known one
        found = reader.read(page.encode(), NOW_NS)
        assert values(found).get(chip) == expected
        assert values(found)[chip.replace("0x1", "0x2")] == 40.0
        assert found.dropped == dropped
        assert found.received == len(found.values) + sum(dropped.values())
    if expected is not None:
        times = {found.table.keys[row]: time for row, time in zip(found.series, found.times_ns.tolist(), strict=True)}
        assert times[chip] == NOW_NS - (1 + cells.index("61")) * NS_PER_S


def test_values_that_are_no_sample_are_dropped_with_their_reason() -> None:
    found = read(
        "timestamp,node_guid,port_num,PortXmitDataExtended,Normalized_CBW\n"
        f"{NOW_US},0x1,1,-5,200\n"
        f"{NOW_US},0x1,1,7,\n"
        "17,0x1,2,8,\n"
        "99999999999999999999,0x1,3,8,\n"
        "x,0x1,4,8,\n"
    )
    assert found.dropped == {DropReason.OUT_OF_BOUNDS: 2, DropReason.DUPLICATE: 1, DropReason.EVENT_TIME: 2}
    assert values(found) == {key("ib_port_transmit_bytes_total", 4): 32.0}
    assert found.received == 6


def test_ports_that_come_and_go_and_a_header_that_changes() -> None:
    reader = reader_of()
    header, one, two, _ = PRIMARY.split(b"\n")
    other = two.replace(b",2,2000", b",9,9000")
    for rows in ([one], [one, two], [two, other], [other, one], []):
        page = b"\n".join([header, *rows, b""])
        assert values(reader.read(page, NOW_NS)) == values(read(page))
    assert values(reader.read(b"node_guid,port_num,QP1DroppedExtended\n0x1,1,5\n", NOW_NS)) == {
        key("ib_port_qp1_dropped_total", 1): 5.0
    }


def test_the_same_ports_have_the_same_table() -> None:
    reader = reader_of()
    first = reader.read(PRIMARY, NOW_NS)
    second = reader.read(PRIMARY.replace(b",1000,", b",1001,"), NOW_NS)
    assert first.table is second.table
    assert values(second)[key("ib_port_transmit_bytes_total", 1)] == 4004.0


def test_what_nothing_maps_is_kept_when_asked_and_counted_otherwise() -> None:
    page = b"node_guid,port_num,tag,novel,odd\n0x1,1,7,3,x\n0x1,2,,4,5\n"
    found = reader_of(keep=True, kept_max=10).read(page, NOW_NS)
    assert {name for name in values(found) if name.startswith("novel")} == {
        'novel{device="ufm1",node_guid="0x1",port_num="1"}',
        'novel{device="ufm1",node_guid="0x1",port_num="2"}',
    }
    reader = reader_of()
    assert reader.read(page, NOW_NS).unmapped == 4
    assert reader.read(page, NOW_NS).unmapped == 4, "each time"


def test_it_reads_what_the_text_format_reads() -> None:
    """The same series of the same system in both formats."""
    origins = [origin for _, origin in origins_of("ufm") if "{" not in origin.name and origin.name != "lid"]
    names = list(dict.fromkeys(origin.name for origin in origins))
    page = f"node_guid,port_num,{','.join(names)}\n0x1,1,{','.join('1' for _ in names)}\n"
    text = "".join(f'{name.replace(".", "_")}{{node_guid="0x1",port_num="1"}} 1\n' for name in names)
    plain = BodyReader("t", "ufm1", Mapper(source("ufm"), {"device": "ufm1"}, origins_of("ufm")))
    assert values(read(page)) == values(plain.read(text.encode(), NOW_NS))


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        ("", "not_exposition"),
        ("<html><body>a,b</body></html>", "not_exposition"),
        ('{"a": 1, "b": 2}', "not_exposition"),
        ("Endpoint not found", "not_exposition"),
        ('"a,b\n1,2\n', "not_exposition"),
        ("node_guid,port_num\n1,2,3\n", "bad_format"),
        ('node_guid,port_num\n"1,2\n', "bad_format"),
        ("node_guid,port_num,tag\n1,2\n1,2,3\n", "bad_format"),
        (",".join("a" * 4000) + "\n" + "," * 3999 + "\n" * 3_000_000 + "1", "bad_format"),
        (b"node_guid,port_num\n\xff,2\n", "bad_format"),
        (b"\xff,port_num\n1,2\n", "not_exposition"),
        (",".join("a" * 5000) + "\n", "too_large"),
        ("a," * 1_000_000, "too_large"),
        ("node_guid,port_num,PortRcvPktsExtended\n" + "0x1,1,1\n" * 50_001, "too_many_series"),
    ],
)
def test_what_is_no_such_page(page: str | bytes, reason: str) -> None:
    with pytest.raises(BadInput) as raised:
        read(page)
    assert raised.value.reason == reason


def test_a_page_that_is_refused_changes_nothing() -> None:
    reader = reader_of()
    before = values(reader.read(PRIMARY, NOW_NS))
    for broken in (b"node_guid,port_num,PortRcvPktsExtended\n1,2,3,4\n", b"<html>"):
        with pytest.raises(BadInput):
            reader.read(broken, NOW_NS)
    assert values(reader.read(PRIMARY, NOW_NS)) == before


CELLS = st.one_of(
    st.just(""), st.integers(0, 2**64).map(str), st.floats(0, 1e18).map(repr), st.sampled_from(["N/A", "-1"])
)
ROWS = st.lists(st.tuples(st.integers(1, 5).map(str), CELLS, CELLS), max_size=8, unique_by=lambda row: row[0])


@given(ROWS)
def test_any_page_is_read_as_a_plain_parser_reads_it(rows: list[tuple[str, str, str]]) -> None:
    page = "node_guid,port_num,PortXmitDataExtended,hist3\n" + "".join(f"0x1,{','.join(row)}\n" for row in rows)
    expected: dict[str, float] = {}
    for row in csv.DictReader(io.StringIO(page)):
        port = int(row["port_num"])
        for name, canonical, scale in (
            ("PortXmitDataExtended", key("ib_port_transmit_bytes_total", port), 4.0),
            ("hist3", key("fabric_port_fec_codewords_total", port, bin="3"), 1.0),
        ):
            number = math.nan if row[name] in ("", "N/A") else float(row[name])
            if number >= 0:
                expected[canonical] = number * scale
    found = read(page)
    assert values(found) == expected
    stated = sum(cell != "" for row in rows for cell in row[1:])
    assert found.received == stated
    assert found.times_ns.dtype == np.int64
