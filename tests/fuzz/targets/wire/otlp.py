"""OTLP requests: whatever was sent before, a request is refused or all of its samples are counted."""

from common.errors import BadInput
from ingest.collectors.otlp.answer import answer
from ingest.collectors.otlp.decode.decoder import Decoder
from ingest.collectors.pushed_series import PushedSeries
from tests.unit.ingest.otlp.requests import NOW_NS, RULE, gauge, request, total

_PORT = {"interface": "swp1"}
SEEDS = (
    request(gauge("state", (_PORT, 1)), total("octets", _PORT, 7.0)).SerializeToString(),
    request(total("octets", _PORT, 7.0, temporality=1)).SerializeToString(),
    request(gauge("octets", ({"interface": 3, "x": True, "y": 0.5}, 1.5)), device="").SerializeToString(),
    request(gauge("outside", ({}, 1))).SerializeToString(),
    b"",
)


def target(data: bytes) -> None:
    series = PushedSeries("fuzz", (RULE,), 0, series_max=20, targets_max=3)
    decoder = Decoder(series)
    for message in (data, SEEDS[0], data):
        try:
            decoded = decoder.decode(message, "sender", NOW_NS)
        except BadInput:
            continue
        admitted = decoded.admitted
        assert admitted.received == sum(map(len, admitted.batches)) + admitted.dropped.total()
        partial = answer(decoded).partial_success
        assert 0 <= partial.rejected_data_points <= decoded.points
