"""Reads the columns of a table side by side by GETBULK (RFC 3416, 4.2.3). Pure: what to ask next, and what came."""

from collections.abc import Mapping, Sequence

from common.errors import BadInput
from ingest.collectors.snmp.objects import Oid


class Counter32(int):
    """A number that goes on from 0 after 2^32 - 1."""


Value = int | bytes | None
"""None: the agent has no such object, no such instance, or nothing more."""
Varbind = tuple[Oid, Value]
Rows = Mapping[Oid, Mapping[Oid, int | bytes]]
"""By column, by index."""


class Walk:
    """One table.

    columns: OIDs. varbinds_max: objects of one response; a row with more columns takes several requests.
    values_max: of all columns together. BadInput (``too_many_series``) beyond it, and (``bad_format``) from an agent
    whose OIDs do not increase, which would never end, or that answers with other objects than those asked for.
    """

    def __init__(self, columns: Sequence[Oid], *, varbinds_max: int, values_max: int) -> None:
        self._found: dict[Oid, dict[Oid, int | bytes]] = {column: {} for column in columns}
        self._at: dict[Oid, Oid] = {column: column for column in columns}  # those that may have more
        self._asked: list[Oid] = []
        self._varbinds, self._values_left = varbinds_max, values_max

    @property
    def rows(self) -> Rows:
        return self._found

    def request(self) -> tuple[list[Oid], int] | None:
        """OIDs to go on from, and how often (max-repetitions); None when the table is read."""
        if not self._at:
            return None
        behind = sorted(self._at, key=self._at_index)  # those whose rows are behind the others' come first
        self._asked = behind[: self._varbinds]
        return [self._at[column] for column in self._asked], self._varbinds // len(self._asked)

    def accept(self, varbinds: Sequence[Varbind]) -> None:
        """The response to the last request: rows of the columns asked for, cut off where the agent likes."""
        if not varbinds:
            raise BadInput("a response without objects", "bad_format")
        for place, (oid, value) in enumerate(varbinds):
            column = self._asked[place % len(self._asked)]
            if column in self._at:
                self._take(column, oid, value)

    def reduce(self) -> int:
        """After ``tooBig``: half as many objects in one response, and how many. BadInput when it was one alone."""
        if self._varbinds == 1:
            raise BadInput("one object alone is too big for a response", "too_large")
        self._varbinds //= 2
        return self._varbinds

    def _take(self, column: Oid, oid: Oid, value: Value) -> None:
        if value is None or oid[: len(column)] != column:
            del self._at[column]
            return
        if oid <= self._at[column]:
            raise BadInput(f"{dotted(oid)} follows {dotted(self._at[column])}: expected a greater one", "bad_format")
        self._values_left -= 1
        if self._values_left < 0:
            raise BadInput("more values than values_max", "too_many_series")
        self._at[column] = oid
        self._found[column][oid[len(column) :]] = value

    def _at_index(self, column: Oid) -> Oid:
        return self._at[column][len(column) :]


def dotted(oid: Oid) -> str:
    """As people write it.

    >>> dotted((1, 3, 6))
    '1.3.6'
    """
    return ".".join(map(str, oid))
