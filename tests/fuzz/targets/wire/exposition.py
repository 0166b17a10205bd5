"""Scrape bodies: the readers in plain Python and compiled agree, on a new body and on a layout that is known."""

import math
from collections.abc import Mapping
from typing import Any

from common.errors import BadInput
from common.units import NS_PER_S
from ingest.collectors.exposition.decode.body import BodyReader
from ingest.collectors.exposition.decode.mapping import Entry
from ingest.collectors.exposition.decode.template import PLAIN
from telemetry.series import series_key
from tests.samples import SAMPLES

_NOW_NS = 1_760_000_000 * NS_PER_S
SEEDS = (
    *(b"t" + path.read_bytes()[:1000] for path in sorted(SAMPLES.rglob("*.prom"))[::4]),
    b'oa_total{b="1"} 1 1760000000 # {trace_id="x"} 0.5 1.5\n# EOF\n',
    b'ta{b="\\\\\\"\\n",c=""} +Inf 1760000000000\na NaN\n',
)


class _Everything:
    """Maps each series to itself."""

    def map(self, name: str, labels: Mapping[str, str], /) -> list[Entry]:
        return [Entry(series_key(name, labels), 1.0, PLAIN, -math.inf, math.inf, math.nan, False)]


def target(data: bytes) -> None:
    openmetrics, body = data[:1] == b"o", data[1:]
    readers = [BodyReader("t", "d", _Everything(), series_max=500, compiled=compiled) for compiled in (True, False)]
    new = [_read(reader, body, openmetrics) for reader in readers]
    known = [_read(reader, body, openmetrics) for reader in readers]
    assert new[0] == new[1] == known[0] == known[1]


def _read(reader: BodyReader, body: bytes, openmetrics: bool) -> Any:
    try:
        found = reader.read(body, _NOW_NS, openmetrics=openmetrics)
    except BadInput as error:
        return error.reason
    columns = (found.times_ns, found.series, found.values)
    return found.table.keys, [column.tobytes() for column in columns], found.dropped
