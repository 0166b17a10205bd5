"""Requests of remote write: whatever was sent before, the next one is read, and every sample is accounted for."""

import cramjam

from common.errors import BadInput
from ingest.collectors.pushed_rule import PushedRule
from ingest.collectors.pushed_series import PushedSeries
from ingest.collectors.remote_write.decode.body import Message, RequestReader
from tests.unit.ingest.remote_write.test_remote_write_body import NOW_MS, NOW_NS, encoded, first, gpu, second

_SERIES = [(gpu(1), [(40.0, NOW_MS), (41.0, NOW_MS + 1)]), ({"__name__": "a", "job": "b"}, [(1.0, 0)])]
_RULES = (PushedRule(source="dcgm"),)
_GOOD = encoded([(gpu(9), [(1.0, NOW_MS)])], Message.FIRST)
SEEDS = (first(_SERIES), second(_SERIES), first([]), second([]))


def target(data: bytes) -> None:
    reader = RequestReader(PushedSeries("p", _RULES, 0, series_max=100, targets_max=10), 1 << 20)
    read = 0
    for body in (data, bytes(cramjam.snappy.compress_raw(data))):
        for message in Message:
            try:
                found = reader.read(body, message)
            except BadInput:
                continue
            assert found.bad + found.refused <= found.samples
            read += found.samples
    read += reader.read(_GOOD, Message.FIRST).samples
    admitted = reader.admit(NOW_NS)
    # a sample of a series of the catalogue may feed more than one of ours
    assert admitted.received + admitted.unmapped <= 10 * read
    assert any("GPU-9" in key for batch in admitted.batches for key in batch.table.keys)
