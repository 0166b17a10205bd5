"""Indexes, scales, ports and counters of SNMP tables."""

import pytest

from ingest.collectors.snmp.counters import WideCounters, restarted
from ingest.collectors.snmp.decode import Texts, decode
from ingest.collectors.snmp.objects import Oid, Table, tables
from ingest.collectors.snmp.ports import port_of
from ingest.collectors.snmp.walk import Counter32, Rows
from telemetry.catalogue import origins_of, source

V6 = (2, 16, *bytes.fromhex("20010db8000000000000000000000001"))
INTERFACES = {
    "etp1": "Ethernet0",
    "Ethernet0": "Ethernet0",
    "Ethernet49/1": "Ethernet49/1",
    "Ethernet1/1": "Ethernet1/1",
}


@pytest.mark.parametrize(
    ("index", "suffix", "expected"),
    [
        (("ifIndex",), (7,), ("7",)),
        (("ifIndex",), (), None),
        (("ifIndex",), (7, 1), None),
        (("ifIndex", "queue from_one"), (7, 1), ("7", "0")),
        (("peer ipv4",), (10, 0, 0, 1), ("10.0.0.1",)),
        (("peer ipv4",), (10, 0, 0), None),
        (("peer ipv4",), (10, 0, 0, 256), None),
        (("instance", "peer inet"), (1, 1, 4, 10, 0, 0, 1), ("1", "10.0.0.1")),
        (("instance", "peer inet"), (1, *V6), ("1", "2001:db8::1")),
        (("peer inet",), (1, 16, 10, 0, 0, 1), None),
        (("peer inet",), (16, 3, 1, 2, 3), None),
        (("peer inet",), (1,), None),
    ],
)
def test_the_index_of_a_row(index: tuple[str, ...], suffix: tuple[int, ...], expected: tuple[str, ...] | None) -> None:
    assert Table("t", "1.1", index).index_of(suffix) == expected


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ("DOM RX Power Sensor for etp1/2", ("Ethernet0", "2")),
        ("DOM Temperature Sensor for Ethernet49/1", ("Ethernet49/1", "")),
        ("DOM RX Power Sensor for Ethernet49/1/3", ("Ethernet49/1", "3")),
        ("Ethernet1/1 Lane 2 Transceiver Receive Power Sensor", ("Ethernet1/1", "2")),
        ("Ethernet1/1 Transceiver Temperature Sensor", ("Ethernet1/1", "")),
        ("Temperature sensor for PSU 1", None),
        ("etp1", ("Ethernet0", "")),
        ("", None),
    ],
)
def test_the_port_of_a_sensor(description: str, expected: tuple[str, str] | None) -> None:
    assert port_of(description, INTERFACES) == expected


@pytest.mark.parametrize(
    ("raw", "scale", "precision", "expected"),
    [(3345, 8, 2, 0.03345), (12, 9, 0, 12), (5, 10, 0, 5000), (1, 9, -2, 100), (7, 99, 0, None), (7, 9, 99, None)],
)
def test_sensors_are_scaled_as_their_rows_say(raw: int, scale: int, precision: int, expected: float | None) -> None:
    (table,) = (one for one in tables() if one.name == "entPhySensorTable")
    texts = Texts()
    described = {"entPhySensorType": 5, "entPhySensorScale": scale, "entPhySensorPrecision": precision}
    texts.add(table, {table.column(name): {(1,): value} for name, value in described.items()})
    rows: Rows = {table.column("entPhySensorValue"): {(1,): raw}, table.column("entPhySensorOperStatus"): {(1,): 1}}
    (reading,) = decode(table, rows, texts, {}).readings
    assert reading.value == (None if expected is None else pytest.approx(expected))


def test_a_row_without_its_scale_has_no_value_yet() -> None:
    (table,) = (one for one in tables() if one.name == "entPhySensorTable")
    rows: Rows = {table.column("entPhySensorValue"): {(1,): 5}, table.column("entPhySensorOperStatus"): {(1,): 1}}
    texts = Texts()
    texts.add(table, {})
    decoded = decode(table, rows, texts, {})
    assert ([reading.value for reading in decoded.readings], decoded.unknown) == ([None], True)


def test_numbers_that_come_as_texts() -> None:
    (table,) = (one for one in tables() if one.name == "st4OutletMonitorTable")
    values: dict[Oid, int | bytes] = {(1, 1, 1): b"402", (1, 1, 2): b"", (1, 1, 3): b"N/A", (1, 1, 4): b"nan"}
    rows: Rows = {table.column("st4OutletActivePower"): values}
    assert [one.value for one in decode(table, rows, Texts(), {}).readings] == [402, None, None, None]


def test_counters_go_on_after_they_wrap_and_begin_again_after_a_restart() -> None:
    counters = WideCounters()

    def widened(value: int, since: int | None = None) -> int:
        found = counters.widen("s", value, since)
        counters.collected()
        return found

    assert [widened(2**32 - 1), widened(3), widened(3), widened(2)] == [2**32 - 1, 2**32 + 3, 2**32 + 3, 2 * 2**32 + 2]
    assert widened(1, since=9) == 1
    counters.began_again()
    assert widened(0, since=9) == 0
    counters.collected()
    assert len(counters) == 0


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ({}, {"sysUpTime": 5}, False),
        ({"sysUpTime": 5}, {"sysUpTime": 5}, False),
        ({"sysUpTime": 5}, {"sysUpTime": 4}, True),
        ({"sysUpTime": 4, "snmpEngineTime": 9}, {"sysUpTime": 5, "snmpEngineTime": 1}, True),
        ({"snmpEngineTime": 9}, {"sysUpTime": 5}, False),
    ],
)
def test_a_clock_that_goes_back_is_a_restart(before: dict[str, int], now: dict[str, int], expected: bool) -> None:
    assert restarted(before, now) is expected


def test_the_catalogue_names_objects_of_the_tables_and_none_stands_in_two() -> None:
    columns = [name for table in tables() for name in table.columns]
    known = {*columns, "sysUpTime", "snmpEngineTime"}
    assert len(columns) == len(set(columns))
    assert {origin.name for _, origin in origins_of("snmp")} <= known
    about = {one for table in tables() for one in (table.since, table.good.object if table.good else "")}
    ignored = {name for each in source("snmp").ignored for name in each.names}
    assert known - about - ignored == {origin.name for _, origin in origins_of("snmp")} - ignored


def test_a_counter_of_64_bits_is_none_of_32() -> None:
    (table,) = (one for one in tables() if one.name == "ifTable")
    rows: Rows = {table.column("ifInErrors"): {(1,): Counter32(5)}, table.column("ifOutErrors"): {(1,): 6}}
    assert [one.counter for one in decode(table, rows, Texts(), {}).readings] == [5, None]
