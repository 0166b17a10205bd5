"""What the OTLP receiver costs, beside protobuf's own classes on the same requests: from bytes to canonical samples.

The plain decoder reads a request with the official classes and looks each series up by name and attributes in a dict,
which is the least that a receiver does.
"""

import time
from collections.abc import Callable, Sequence

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from benchmarks.rows import Row, print_rows, row
from common.units import NS_PER_S
from ingest.collectors.otlp.config import OtlpRule
from ingest.collectors.otlp.decode.decoder import Decoder
from ingest.collectors.pushed_series import PushedSeries

_ROUND_S = 2.0
_NOW_NS = 1_780_000_000 * NS_PER_S
_QUEUES = 8
_METRICS = (
    ("nvswitch_interface_tc_tx_octet", "fabric_queue_transmit_bytes_total"),
    ("nvswitch_interface_tc_tx_frames", "fabric_queue_transmit_packets_total"),
    ("nvswitch_interface_tc_tx_ecn_marked_tc", "fabric_queue_ecn_marked_packets_total"),
    ("nvswitch_interface_tc_tx_no_buffer_discard_uc", "fabric_queue_dropped_packets_total"),
)
POINTS_A_PORT = _QUEUES * len(_METRICS)
_SHAPES = {64: 40, 1: 2000}  # ports a request: requests in a round


def run() -> list[Row]:
    rows = []
    for ports, count in _SHAPES.items():
        points = ports * POINTS_A_PORT
        ours, theirs = _Rounds(_own, ports, count).per_s(points), _Rounds(_plain, ports, count).per_s(points)
        rows.append(row(f"otlp_decode_{points}_points_a_request", ours, "samples/CPU-s", theirs))
    return rows


class _Rounds:
    """Rounds of requests whose times go on: a repetition of a sample would be dropped, and cost less."""

    def __init__(self, reader: "Callable[[], Callable[[bytes], int]]", ports: int, count: int) -> None:
        self._read, self._ports, self._count, self._at_ns = reader(), ports, count, _NOW_NS

    def per_s(self, points: int) -> float:
        """Samples per CPU-second of the best round, after one that brings all series."""
        best, deadline = 0.0, 0.0
        while not deadline or time.monotonic() < deadline:
            requests = self._requests()
            began = time.process_time()
            read = sum(map(self._read, requests))
            passed = time.process_time() - began
            assert read == points * self._count, "each point is a sample of a canonical series"
            if deadline:
                best = max(best, read / passed)
            deadline = deadline or time.monotonic() + _ROUND_S
        return best

    def _requests(self) -> Sequence[bytes]:
        made = []
        for _ in range(self._count):
            self._at_ns += NS_PER_S // 1000
            made.append(request_of(self._ports, self._at_ns))
        return made


def request_of(ports: int, at_ns: int, switch: str = "leaf1") -> bytes:
    """All queues of a switch as Cumulus sends them: gauges with doubles, port and queue as attributes."""
    message = ExportMetricsServiceRequest()
    of_device = message.resource_metrics.add()
    of_device.resource.attributes.add(key="host.name").value.string_value = switch
    scope = of_device.scope_metrics.add()
    for name, _ in _METRICS:
        points = scope.metrics.add(name=name).gauge.data_points
        for port in range(ports):
            for queue in range(_QUEUES):
                point = points.add(time_unix_nano=at_ns, as_double=1e12 + port)
                point.attributes.add(key="interface").value.string_value = f"swp{port}s0"
                point.attributes.add(key="tc").value.string_value = str(queue)
    return message.SerializeToString()


def mapping() -> list[dict[str, object]]:
    """Of a rule that makes each point a sample."""
    labels = {"port": "{interface}", "queue": "{tc}"}
    return [{"name": name, "metric": metric, "labels": labels} for name, metric in _METRICS]


def _own() -> Callable[[bytes], int]:
    rule = OtlpRule.model_validate({"source": "bench", "mapping": mapping()})
    decoder = Decoder(PushedSeries("bench", (rule,), 0, series_max=100_000, targets_max=10))

    def read(data: bytes) -> int:
        return sum(map(len, decoder.decode(data, "bench", _NOW_NS).admitted.batches))

    return read


def _plain() -> Callable[[bytes], int]:
    rows: dict[tuple[str, str, tuple[tuple[str, str], ...]], int] = {}

    def read(data: bytes) -> int:
        samples = []
        for of_device in ExportMetricsServiceRequest.FromString(data).resource_metrics:
            device = of_device.resource.attributes[0].value.string_value
            for scope in of_device.scope_metrics:
                for metric in scope.metrics:
                    name = metric.name
                    for point in metric.gauge.data_points:
                        labels = tuple([(each.key, each.value.string_value) for each in point.attributes])
                        at = rows.setdefault((device, name, labels), len(rows))
                        samples.append((at, point.time_unix_nano, point.as_double))
        return len(samples)

    return read


if __name__ == "__main__":
    print_rows(run())
