"""A SONiC switch: ``prefix.target`` chooses a database, a path gives a map of strings, one leaf a string."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray

from simulator.layout import Layout
from simulator.servers.collection.omitted import Omits, omits_nothing
from simulator.servers.gnmi.paths import Elem, elems_of, json_value, to_proto
from simulator.servers.gnmi.query import Absent, Query
from simulator.servers.gnmi.sonic_schema import TABLES, Cell, Rows, Table, alias
from simulator.servers.snapshot import Snapshot
from telemetry.gnmi import gnmi_pb2


class SonicTree:
    """The databases of one switch.

    wildcard_alias: whether ``Ethernet*`` answers with vendor names (``etp5``), as platforms with aliases do.
    omits: paths of fields that it does not have, as the catalogue writes them: ``RATES/{port}/FEC_PRE_BER``.
    """

    encodings: Sequence[int] = (gnmi_pb2.JSON, gnmi_pb2.JSON_IETF)
    models: Sequence[gnmi_pb2.ModelData] = (gnmi_pb2.ModelData(name="sonic-db", organization="SONiC", version="0.1.0"),)

    def __init__(self, layout: Layout, switch: str, wildcard_alias: bool = False, omits: Omits = omits_nothing) -> None:
        self._layout = layout
        ports = layout.switch_ports[switch]
        self._all = list(ports)
        self._uplinks = [i for i in ports if layout.ports[i].peer_port >= 0]
        self._wildcard_alias = wildcard_alias
        self._tables = [left for table in TABLES if (left := _without(table, omits)).rows]

    def query(self, prefix: gnmi_pb2.Path, path: gnmi_pb2.Path, encoding: int) -> Query:
        elems = elems_of(prefix, path)
        selection = self._select(prefix.target, [elem.name for elem in elems])
        return Absent() if selection is None else TableQuery(selection, elems, prefix.target, encoding)

    def get(
        self, prefix: gnmi_pb2.Path, path: gnmi_pb2.Path, encoding: int, snapshot: Snapshot, now_ns: int
    ) -> gnmi_pb2.Notification | None:
        encoded = next(iter(self.query(prefix, path, encoding).full(snapshot, now_ns)), None)
        return None if encoded is None else gnmi_pb2.SubscribeResponse.FromString(encoded).update

    def _select(self, database: str, names: list[str]) -> "_Selection | None":
        """TABLE · TABLE/key · TABLE/key/field, and for virtual paths TABLE/key/Queues."""
        name, key, last = (*names, "", "")[:3]
        if len(names) > 3:
            return None
        for table in self._tables:
            if table.database != database or table.name != name or (table.below and table.below != last):
                continue
            if not table.below and last and last not in _fields(table):
                continue
            field = "" if table.below else last
            ports = [i for i in self._ports(table) if fnmatchcase(table.key(self._layout, i), key or "*")]
            single = bool(key) and "*" not in key
            if ports:
                return _Selection(self._layout, table, np.array(ports), field, single, self._names_by(table, single))
        return None

    def _ports(self, table: Table) -> list[int]:
        return self._uplinks if table.between_switches else self._all

    def _names_by(self, table: Table, single: bool) -> bool:
        return self._wildcard_alias and not single and table.database == "COUNTERS_DB"


@dataclass(frozen=True, slots=True)
class _Selection:
    """What a path selects. field: the one field asked for, "" for all; single: one row by its key, no wildcard."""

    layout: Layout
    table: Table
    ports: NDArray[np.int64]
    field: str
    single: bool
    aliased: bool

    @property
    def flat(self) -> bool:
        """Whether the answer is the row itself and not a map of rows."""
        return self.single and not self.table.below


def _without(table: Table, omits: Omits) -> Table:
    """The table without the fields that are omitted."""
    place = f"{table.name}/{table.below}/" if table.below else f"{table.name}/"
    rows = []
    for one in table.rows:
        key = one.pattern.format(key="port")
        cells = tuple(cell for cell in one.cells if not omits(f"{place}{key}/{cell.name}"))
        rows += [replace(one, cells=cells)] if cells else []
    return replace(table, rows=tuple(rows))


def _fields(table: Table) -> set[str]:
    return {cell.name for rows in table.rows for cell in rows.cells}


class _Block:
    """Rows of one shape: the text around the values is built once for every port."""

    def __init__(self, selection: _Selection, rows: Rows) -> None:
        layout = selection.layout
        self._cells = [cell for cell in rows.cells if selection.field in ("", cell.name)]
        self._moving = [cell for cell in self._cells if cell.text is None]
        key = alias if selection.aliased else selection.table.key
        ports = selection.ports.tolist()
        self.keys = [rows.pattern.format(key=key(layout, port)) for port in ports]
        self._forms = [self._form(layout, port) for port in ports]

    def texts(self, snapshot: Snapshot, ports: NDArray[np.int64]) -> list[str]:
        """JSON of each row, in the order of ``ports``."""
        columns = [_column(cell, snapshot, ports) for cell in self._moving]
        if not columns:
            return self._forms
        return [form % values for form, values in zip(self._forms, zip(*columns, strict=True), strict=True)]

    def _form(self, layout: Layout, port: int) -> str:
        pairs = [
            f'"{cell.name}":"{cell.spec if not cell.enum else "%s"}"'
            if cell.text is None
            else f'"{cell.name}":"{cell.text(layout, port)}"'
            for cell in self._cells
        ]
        return "{" + ",".join(pairs) + "}"


def _column(cell: Cell, snapshot: Snapshot, ports: NDArray[np.int64]) -> list[float] | list[str]:
    assert cell.of is not None
    values = cell.of(snapshot.readings.ports)[ports]
    if cell.enum:
        return [cell.enum[int(i)] for i in values.tolist()]
    numbers: list[float] = values.tolist()
    return numbers


class TableQuery:
    """A path of one database: one update with a JSON map, or with a string for a single field."""

    def __init__(self, selection: _Selection, elems: Sequence[Elem], target: str, encoding: int) -> None:
        self.counts = selection.table.counts
        self._selection = selection
        self._path = to_proto(elems)
        self._table = elems[0]
        self._target = target
        self._encoding = encoding
        self._blocks = [_Block(selection, rows) for rows in selection.table.rows]
        self._sent: dict[str, str] = {}

    def full(self, snapshot: Snapshot, now_ns: int) -> Iterator[bytes]:
        self._sent = self._rows(snapshot)
        if self._sent or not self._selection.flat:
            yield self._encoded(self._sent, (), now_ns)

    def changes(self, snapshot: Snapshot, now_ns: int) -> Iterator[bytes]:
        rows = self._rows(snapshot)
        changed = {key: text for key, text in rows.items() if self._sent.get(key) != text}
        gone = [key for key in self._sent if key not in rows]
        self._sent = rows
        if changed or gone:
            yield self._encoded(changed, gone, now_ns)

    def _rows(self, snapshot: Snapshot) -> dict[str, str]:
        """JSON of every row that exists now, by key."""
        ports, known = self._selection.ports, self._selection.table.known
        rows: dict[str, str] = {}
        for block in self._blocks:
            rows.update(zip(block.keys, block.texts(snapshot, ports), strict=True))
        if known is not None:
            exists = known(snapshot.readings, ports).tolist()
            for block in self._blocks:
                for key, here in zip(block.keys, exists, strict=True):
                    if not here:
                        del rows[key]
        return rows

    def _encoded(self, rows: dict[str, str], gone: Sequence[str], now_ns: int) -> bytes:
        notification = gnmi_pb2.Notification(timestamp=now_ns, prefix=gnmi_pb2.Path(target=self._target))
        for key in gone:
            notification.delete.append(to_proto((self._table, Elem(key))))
        if rows or not gone:
            notification.update.add(path=self._path, val=self._value(rows))
        return gnmi_pb2.SubscribeResponse(update=notification).SerializeToString()

    def _value(self, rows: dict[str, str]) -> gnmi_pb2.TypedValue:
        if not self._selection.flat:
            body = "{" + ",".join(f'"{key}":{text}' for key, text in rows.items()) + "}"
            return json_value(body.encode(), self._encoding)
        (text,) = rows.values()
        if self._selection.field:
            return gnmi_pb2.TypedValue(string_val=text[len(f'{{"{self._selection.field}":"') : -2])
        return json_value(text.encode(), self._encoding)
