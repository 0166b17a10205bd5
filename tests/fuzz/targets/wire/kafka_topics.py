"""Messages of Telegraf's topics: whatever came before, the next one is read, and what is found are columns."""

from common.errors import BadInput
from ingest.collectors.kafka_topics.config import TopicRule
from ingest.collectors.kafka_topics.decode.fields import Lines
from ingest.collectors.kafka_topics.decode.influx_line import LineReader
from ingest.collectors.kafka_topics.decode.telegraf_json import JsonReader
from ingest.collectors.pushed_series import PushedSeries
from tests.servers.telegraf import messages

_NOW_NS = 1_795_761_040_000_000_000
SEEDS = (*messages("influx")[-3:], *messages("json")[-3:], b'{"metrics": [%b]}' % messages("json")[0])
_GOOD: dict[type[LineReader] | type[JsonReader], bytes] = {
    LineReader: b"infiniband,host=n9,device=mlx5_0,port=1 symbol_error=1i %d" % _NOW_NS,
    JsonReader: b'{"name": "infiniband", "tags": {"host": "n9", "device": "mlx5_0", "port": "1"}, '
    b'"fields": {"symbol_error": 1}, "timestamp": %d}' % _NOW_NS,
}


def target(data: bytes) -> None:
    for make, good in _GOOD.items():
        series = PushedSeries("kafka", (TopicRule(source="telegraf"),), 0, series_max=100, targets_max=10)
        reader: LineReader | JsonReader = make(series)
        lines = Lines()
        for message in (data, good):
            try:
                reader.read(message, lines)
            except BadInput:
                assert message is data
        assert len(lines.slots) == len(lines.times_ns) == len(lines.values) >= 1
        admitted = reader.admit(lines, _NOW_NS)
        assert admitted.received + admitted.unmapped <= 10 * len(lines.slots)
        assert any('device="n9"' in key for batch in admitted.batches for key in batch.table.keys)
