"""What NCCL Inspector exports (``inspector_otel.cc``), as an OpenTelemetry collector hands it on to us.

It sends JSON over HTTP, which a collector decodes; gauges alone, all attributes as texts.
"""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from ingest.collectors.otlp.config import OtlpRule
from ingest.collectors.otlp.decode.decoder import Decoded, Decoder
from ingest.collectors.pushed_series import PushedSeries
from tests.unit.ingest.otlp.requests import NOW_NS

RULE = OtlpRule(job="nccl-inspector", source="nccl_inspector", device_from=("node",))
COMMON = {"gpu": "GPU0", "comm_name": "DP Group 0", "version": "v5.1", "node": "node1", "n_nodes": "2", "nranks": "16"}
COLLECTIVE = COMMON | {"message_size": "4-5GB", "collective": "AllReduce", "algo_proto": "RING_SIMPLE"}
SEND = COMMON | {"message_size": "512-513MB", "p2p_operation": "Send"}
DEVICE = {"version": "v5.1", "node": "node1", "gpu": "GPU0"}
EXACT = COMMON | {"version": "v5.2", "comm_id": "0x7f8c496ae9f661", "coll_msg_size_bytes": "4294967296"}
EXACT |= {"collective": "AllReduce", "coll_sn": "1407", "algo_proto": "RING_SIMPLE"}
WHERE = 'communicator="DP Group 0",device="node1",index="GPU0",job_id="1234",nodes="2",'
ALL_REDUCE = f'{{algorithm="RING_SIMPLE",{WHERE}op="AllReduce",ranks="16",size="4-5GB"}}'
SENDS = f'{{{WHERE}op="Send",ranks="16",size="512-513MB"}}'
ON_GPU = 'device="node1",index="GPU0",job_id="1234",kind='


def body(*points: tuple[str, str, Mapping[str, str], float], at_ns: int = NOW_NS) -> str:
    """Name, unit, attributes and value of each point. Each metric once, by name."""
    named: dict[str, dict[str, Any]] = {}
    for name, unit, attributes, value in sorted(points, key=lambda point: point[0]):
        metric = named.setdefault(
            name, {"name": name, "description": "NCCL", "unit": unit, "gauge": {"dataPoints": []}}
        )
        point = {"attributes": written(attributes), "timeUnixNano": str(at_ns), "asDouble": value}
        metric["gauge"]["dataPoints"].append(point)
    resource = {"attributes": written({"service.name": "nccl-inspector", "slurm.job.id": "1234"})}
    scope = {"scope": {"name": "nccl-inspector"}, "metrics": list(named.values())}
    return json.dumps({"resourceMetrics": [{"resource": resource, "scopeMetrics": [scope]}]})


def written(attributes: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": text}} for key, text in attributes.items()]


def received(text: str, rule: OtlpRule = RULE) -> tuple[dict[str, float], Decoded, set[str]]:
    request = json_format.Parse(text, ExportMetricsServiceRequest()).SerializeToString()
    series = PushedSeries("otlp", (rule,), 0, series_max=100, targets_max=10)
    decoded = Decoder(series).decode(request, "10.0.0.1", NOW_NS)
    batches = decoded.admitted.batches
    values = {
        batch.table.keys[row]: value
        for batch in batches
        for row, value in zip(batch.series.tolist(), batch.values.tolist(), strict=True)
    }
    assert {batch.table.device for batch in batches} <= {"node1"}
    assert {at_ns for batch in batches for at_ns in batch.times_ns.tolist()} <= {NOW_NS}
    return values, decoded, series.unmapped


def test_sums_over_an_interval_are_the_series_of_the_textfile() -> None:
    values, decoded, unmapped = received(
        body(
            ("nccl_bus_bandwidth_gbs", "GB/s", COLLECTIVE, 678.263),
            ("nccl_collective_exec_time_microseconds", "us", COLLECTIVE, 9498.47),
            ("nccl_p2p_bus_bandwidth_gbs", "GB/s", SEND, 464.9),
            ("nccl_p2p_exec_time_microseconds", "us", SEND, 1154.87),
        )
    )
    assert values == {
        f"nccl_bus_bandwidth_bytes_per_second{ALL_REDUCE}": pytest.approx(678.263e9),
        f"nccl_collective_duration_seconds{ALL_REDUCE}": pytest.approx(0.00949847),
        f"nccl_p2p_bandwidth_bytes_per_second{SENDS}": pytest.approx(464.9e9),
        f"nccl_p2p_duration_seconds{SENDS}": pytest.approx(0.00115487),
    }
    assert not decoded.admitted.dropped
    assert not unmapped


def test_single_operations_are_counted_as_unmapped_and_the_totals_of_their_gpu_read() -> None:
    """NCCL_INSPECTOR_OTEL_VERBOSE=1: exact sizes are no ranges, and each operation is a series of its own."""
    values, decoded, unmapped = received(
        body(
            ("nccl_bus_bandwidth_gbs", "GB/s", EXACT, 678.263),
            ("nccl_collective_exec_time_microseconds", "us", EXACT, 9498.0),
            ("nccl_collective_algobw_gbs", "GB/s", EXACT, 387.0),
            ("nccl_collectives_total", "1", DEVICE, 2048.0),
            ("nccl_collectives_dropped_total", "1", DEVICE, 1024.0),
            ("nccl_p2p_total", "1", DEVICE, 7.0),
            ("nccl_p2p_dropped_total", "1", DEVICE, 0.0),
        )
    )
    assert values == {
        f'nccl_inspector_operations_total{{{ON_GPU}"collective"}}': 2048,
        f'nccl_inspector_lost_operations_total{{{ON_GPU}"collective"}}': 1024,
        f'nccl_inspector_operations_total{{{ON_GPU}"p2p"}}': 7,
        f'nccl_inspector_lost_operations_total{{{ON_GPU}"p2p"}}': 0,
    }
    assert unmapped == {"nccl_bus_bandwidth_gbs", "nccl_collective_exec_time_microseconds"}
    assert decoded.admitted.unmapped == 2
