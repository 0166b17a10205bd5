"""What the lines of a body become, as samples of the device ``node1``."""

from common.units import NS_PER_S
from ingest.collectors.exposition.decode.body import BodyReader
from ingest.collectors.exposition.decode.mapping import Mapper
from ingest.collectors.series_layout import COMPILED
from ingest.ledger import DropReason
from telemetry.catalogue import origins_of, sources
from telemetry.series import series_key

NOW_NS = 1_760_000_000 * NS_PER_S


def reader_of(source: str, compiled: bool = COMPILED) -> BodyReader:
    found = sources()[source]
    mapper = Mapper(found, {"device": "node1"}, origins_of(source))
    return BodyReader("job/a:1", "node1", mapper, sentinels=found.sentinels, compiled=compiled)


def canonical(source: str, body: str, compiled: bool = COMPILED) -> dict[str, float]:
    found = reader_of(source, compiled).read(body.encode(), NOW_NS)
    return {found.table.keys[row]: value for row, value in zip(found.series, found.values.tolist(), strict=True)}


def dropped(source: str, body: str, compiled: bool = COMPILED) -> dict[DropReason, int]:
    return reader_of(source, compiled).read(body.encode(), NOW_NS).dropped


def key(metric: str, device: str = "node1", **labels: str) -> str:
    """Of a canonical series."""
    return series_key(metric, {"device": device, **labels})
