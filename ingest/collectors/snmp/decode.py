"""From the rows of tables to what the catalogue maps: names, labels and numbers. Pure."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ingest.collectors.snmp.objects import Oid, Table
from ingest.collectors.snmp.ports import port_of
from ingest.collectors.snmp.walk import Counter32, Rows

TEXT_CHARS_MAX = 255  # of an SnmpAdminString (RFC 3411); a label has no more
_INTERFACE, _NAMES = ("ifIndex",), ("ifName", "ifDescr", "ifAlias")
_SENSORS = ("entPhysicalDescr", "entPhysicalName")
_UNITS = 9  # EntitySensorDataScale (RFC 3433): units(9); one more is a thousand times as much


@dataclass(frozen=True, slots=True)
class Reading:
    """One object of one row.

    labels: the parts of the row's index, and the texts of all rows of the same object. value: scaled; None where there
    is none; 1 of an enumeration, whose word is a label under its own name. counter: the number of a counter of 32 bits,
    else None. since: when the row's counters began.
    """

    name: str
    labels: Mapping[str, str]
    value: float | None
    counter: int | None = None
    since: int | None = None


@dataclass(slots=True)
class Texts:
    """What names and describes the rows of all tables. by_parts: parts of an index -> index -> object -> text."""

    by_parts: dict[tuple[str, ...], dict[tuple[str, ...], dict[str, str]]] = field(default_factory=dict)
    interfaces: dict[str, str] = field(default_factory=dict)

    def add(self, table: Table, rows: Rows) -> None:
        """The texts of one table."""
        named = self.by_parts.setdefault(table.parts, {})
        for name in table.texts:
            for suffix, value in rows.get(table.column(name), {}).items():
                index = table.index_of(suffix)
                if index is not None:
                    named.setdefault(index, {})[name] = _text(value, table.words.get(name, {}))
        if table.parts == _INTERFACE:
            self.interfaces = _interfaces(named)

    def labels(self, table: Table, index: tuple[str, ...]) -> tuple[dict[str, str], bool]:
        """The labels of a row, and whether all tables that describe such rows know it."""
        labels, known = dict(zip(table.parts, index, strict=True)), True
        for parts, named in self.by_parts.items():
            if not set(parts) <= labels.keys():
                continue
            found = named.get(tuple(labels[part] for part in parts))
            known = known and found is not None
            labels |= found or {}
        for name in _SENSORS:
            if (port := port_of(labels.get(name, ""), self.interfaces)) is not None:
                labels |= {"sensorPort": port[0], "sensorLane": port[1]}
                break
        return labels, known


Began = Mapping[tuple[str, ...], Mapping[tuple[str, ...], int]]
"""When the counters of a row began, on the agent's clock: by the parts of its index, by index."""


def began_of(rows_by_table: Mapping[Table, Rows]) -> Began:
    """What the tables that have such an object say of their rows, and of those of others about the same objects."""
    found: dict[tuple[str, ...], dict[tuple[str, ...], int]] = {}
    for table, rows in rows_by_table.items():
        for suffix, value in rows.get(table.column(table.since), {}).items() if table.since else ():
            index = table.index_of(suffix)
            if index is not None and isinstance(value, int):
                found.setdefault(table.parts, {})[index] = value
    return found


@dataclass(slots=True)
class Decoded:
    """unknown: whether a row has no text yet. bad: values of rows whose index is not the table's."""

    readings: list[Reading] = field(default_factory=list)
    unknown: bool = False
    bad: int = 0


@dataclass(frozen=True, slots=True)
class _Row:
    labels: dict[str, str]
    began: int | None
    is_good: bool


def decode(table: Table, rows: Rows, texts: Texts, began: Began) -> Decoded:
    """All numbers of a table's columns, but for those that say something about the others."""
    decoded = Decoded()
    found: dict[Oid, _Row | None] = {}
    for name in table.columns:
        if name == table.since or (table.good and name == table.good.object):
            continue
        for suffix, value in rows.get(table.column(name), {}).items():
            if suffix not in found:
                found[suffix] = _row(table, suffix, rows, texts, began, decoded)
            row = found[suffix]
            if row is None:
                decoded.bad += 1
            else:
                decoded.readings.append(_reading(table, name, row, value))
    return decoded


def _row(table: Table, suffix: Oid, rows: Rows, texts: Texts, began: Began, decoded: Decoded) -> _Row | None:
    index = table.index_of(suffix)
    if index is None:
        return None
    labels, known = texts.labels(table, index)
    decoded.unknown = decoded.unknown or not known
    since = [of[key] for parts, of in began.items() if (key := tuple(labels.get(part, "") for part in parts)) in of]
    good = table.good
    is_good = good is None or rows.get(table.column(good.object), {}).get(suffix) == good.value
    return _Row(labels, since[0] if since else None, is_good)


def _reading(table: Table, name: str, row: _Row, value: int | bytes) -> Reading:
    if not row.is_good:
        return Reading(name, row.labels, None)
    if name in table.words:
        return Reading(name, {**row.labels, name: _text(value, table.words[name])}, 1.0)
    number = _number(value)
    if number is None or number in table.no_value:
        return Reading(name, row.labels, None)
    counter = int(value) if isinstance(value, Counter32) else None
    return Reading(name, row.labels, _scaled(table, row.labels, number), counter, row.began)


def _scaled(table: Table, labels: Mapping[str, str], number: float) -> float | None:
    """None where the row does not say yet how it is scaled."""
    exponent = 0
    if table.precision:
        if (digits := _exponent(labels.get(table.precision, ""))) is None:
            return None
        exponent -= digits
    if table.scale:
        if (scale := _exponent(labels.get(table.scale, ""))) is None:
            return None
        exponent += 3 * (scale - _UNITS)
    return number * 10.0**exponent if exponent >= 0 else number / 10.0**-exponent


def _exponent(text: str) -> int | None:
    """RFC 3433 has precisions of -8 to 9 and scales of 1 to 17."""
    try:
        number = int(text)
    except ValueError:
        return None
    return number if -20 <= number <= 20 else None


def _number(value: int | bytes) -> float | None:
    """A text is a number where it reads as one."""
    if isinstance(value, int):
        return value
    try:
        number = float(value[:TEXT_CHARS_MAX])
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _text(value: int | bytes, words: Mapping[int, str]) -> str:
    if isinstance(value, int):
        return words.get(value, str(value))
    text = value[: 4 * TEXT_CHARS_MAX].decode(errors="replace")
    return "".join(filter(str.isprintable, text)).strip()[:TEXT_CHARS_MAX]


def _interfaces(named: Mapping[tuple[str, ...], Mapping[str, str]]) -> dict[str, str]:
    """The name of each interface by all that it is called. A name is nobody else's alias."""
    found: dict[str, str] = {}
    for kind in reversed(_NAMES):
        for texts in named.values():
            name = texts.get("ifName") or texts.get("ifDescr")
            if name and texts.get(kind):
                found[texts[kind]] = name
    return found


def scalar_readings(values: Mapping[str, int]) -> Iterator[Reading]:
    """What a device has once."""
    return (Reading(name, {}, value) for name, value in values.items())
