"""Tables of an SNMP agent: whatever rows and texts it has, each number is a sample, or counted as dropped."""

import math

from common.errors import BadInput
from ingest.collectors.snmp.decode import Texts, began_of, decode
from ingest.collectors.snmp.objects import Oid, Table, tables
from ingest.collectors.snmp.samples import SampleReader
from ingest.collectors.snmp.walk import Counter32, Rows

_RECORD = 9
_VALUES = 4  # kinds of them
_NAMED = b"DOM RX Power Sensor for "


def _record(table: str, column: str, index: int, value: int) -> bytes:
    """One object with a number, as ``_rows`` reads it."""
    place = next(place for place, one in enumerate(tables()) if one.name == table)
    names = (*tables()[place].columns, *tables()[place].texts)
    return bytes((place, names.index(column), index, 1, 1, 0, 0, 0, value))


SEEDS = (
    b"".join(_record("ifXTable", column, 1, 7) for column in ("ifHCInOctets", "ifCounterDiscontinuityTime", "ifName")),
    b"".join(
        _record("entPhySensorTable", f"entPhySensor{name}", 1, value)
        for name, value in (("Value", 41), ("OperStatus", 1), ("Type", 6), ("Scale", 8), ("Precision", 2))
    ),
    _record("bgpPeerTable", "bgpPeerState", 1, 6) + _record("ifTable", "ifInErrors", 2, 5),
    _record("st4OutletMonitorTable", "st4OutletActivePower", 1, 200),
    b"",
)


def target(data: bytes) -> None:
    reader, texts = SampleReader({"device": "leaf1"}, series_max=50), Texts()
    for place in range(2):
        rows = _rows(data[place:])
        for table, of_table in rows.items():
            texts.add(table, of_table)
        began = began_of(rows)
        decoded = [decode(table, of_table, texts, began) for table, of_table in rows.items()]
        readings = [reading for one in decoded for reading in one.readings]
        try:
            samples = reader.read(readings)
        except BadInput:
            continue
        assert samples.received == len(samples.values) + samples.dropped.total()
        assert samples.unmapped <= len(readings)
        assert not any(map(math.isnan, samples.values.values()))


def _rows(data: bytes) -> dict[Table, Rows]:
    """Objects of nine bytes each: table, column, four of an index, kind of value, and its content."""
    found: dict[Table, dict[Oid, dict[Oid, int | bytes]]] = {table: {} for table in tables()}
    for start in range(0, len(data) - _RECORD + 1, _RECORD):
        place, column, *index, kind, high, low = data[start : start + _RECORD]
        table = tables()[place % len(tables())]
        names = (*table.columns, *table.texts)
        size = 4 if kind & 128 or "peer ipv4" in table.index else len(table.index)
        number = (high << 32) + low - (2**40 if kind & 64 else 0)
        value = (number, Counter32(abs(number) % 2**32), bytes((high, low)), _NAMED + bytes((low,)))[kind % _VALUES]
        found[table].setdefault(table.column(names[column % len(names)]), {})[tuple(index[:size])] = value
    return dict(found)
