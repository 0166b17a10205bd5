"""Messages of Telegraf's and gnmic's topics: whatever came before, the next one is read, and what is found are columns.

And whether a compiled scan reads a message or a plain reader, what is found is the same.
"""

from common.errors import BadInput
from ingest.collectors.kafka_topics.config import TopicRule
from ingest.collectors.kafka_topics.decode.fields import Lines
from ingest.collectors.kafka_topics.decode.gnmic_event import EventReader
from ingest.collectors.kafka_topics.decode.gnmic_json import JsonReader as NotificationReader
from ingest.collectors.kafka_topics.decode.influx_line import LineReader
from ingest.collectors.kafka_topics.decode.responses import Responses
from ingest.collectors.kafka_topics.decode.telegraf_json import JsonReader
from ingest.collectors.pushed_series import PushedSeries
from tests.servers.telegraf import messages
from tests.unit.ingest.kafka_topics.as_gnmic import as_json, events, responses
from tests.unit.ingest.kafka_topics.updates_of import updates_of

_NOW_NS = 1_795_761_040_000_000_000
_OF_GNMIC = responses("arista_interface_counters", _NOW_NS)[0]
_GOOD: dict[type[LineReader] | type[JsonReader], bytes] = {
    LineReader: b"infiniband,host=n9,device=mlx5_0,port=1 symbol_error=1i %d" % _NOW_NS,
    JsonReader: b'{"fields":{"symbol_error":1},"name":"infiniband","tags":{"device":"mlx5_0","host":"n9","port":"1"},'
    b'"timestamp":%d}' % _NOW_NS,
}
_GOOD_OF_GNMIC: dict[type[EventReader] | type[NotificationReader], bytes] = {
    EventReader: events(_OF_GNMIC),
    NotificationReader: as_json(_OF_GNMIC),
}
SEEDS = (
    *messages("influx")[-3:],
    *messages("json")[-3:],
    b'{"metrics":[%b]}' % messages("json")[0].strip(),
    *_GOOD.values(),
    *_GOOD_OF_GNMIC.values(),
)


def target(data: bytes) -> None:
    for make, good in _GOOD.items():
        _read_fields(make, data, good)
    for make_of_gnmic, good in _GOOD_OF_GNMIC.items():
        plain, scanned, of_no_use = Responses(), Responses(), 0
        reader, fast = make_of_gnmic(), make_of_gnmic()
        for message in (good, data, good, data):
            try:
                reader.read(message, plain)
            except BadInput:
                assert message is data
                of_no_use += 1
        found = fast.read_all((good, data), scanned) + fast.read_all((good, data), scanned)
        assert (found, scanned.dropped, scanned.by_source.keys()) == (of_no_use, plain.dropped, plain.by_source.keys())
        for source, parts in plain.by_source.items():
            assert updates_of(scanned.by_source[source]) == updates_of(parts)


def _read_fields(make: type[LineReader] | type[JsonReader], data: bytes, good: bytes) -> None:
    reader, fast = _reader(make), _reader(make)
    lines, scanned, of_no_use = Lines(), Lines(), 0
    for message in (data, good, data):
        try:
            reader.read(message, lines)
        except BadInput:
            assert message is data
            of_no_use += 1
    assert fast.read_all((data,), scanned) + fast.read_all((good, data), scanned) == of_no_use
    assert (lines.slots, lines.times_ns, lines.dropped) == (scanned.slots, scanned.times_ns, scanned.dropped)
    assert lines.values.tobytes() == scanned.values.tobytes()
    assert len(lines.slots) == len(lines.times_ns) == len(lines.values) >= 1
    admitted = reader.admit(lines, _NOW_NS)
    assert admitted.received + admitted.unmapped <= 10 * len(lines.slots)
    assert any('device="n9"' in key for batch in admitted.batches for key in batch.table.keys)


def _reader(make: type[LineReader] | type[JsonReader]) -> LineReader | JsonReader:
    return make(PushedSeries("kafka", (TopicRule(source="telegraf"),), 0, series_max=100, targets_max=10))
