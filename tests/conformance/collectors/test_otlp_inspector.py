"""NCCL Inspector's export, decoded from JSON as an OpenTelemetry collector does, sent to a receiver that runs."""

import time

from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from tests.conformance.collectors.otlp_receiving import receiving
from tests.unit.ingest.otlp.test_otlp_inspector import ALL_REDUCE, COLLECTIVE, RULE, body


async def test_what_inspector_exports_is_a_sample_of_its_hosts_gpu() -> None:
    text = body(
        ("nccl_bus_bandwidth_gbs", "GB/s", COLLECTIVE, 678.25),
        ("nccl_collective_exec_time_microseconds", "us", COLLECTIVE, 9498.47),
        at_ns=time.time_ns(),
    )
    async with receiving(rules=(RULE,)) as receiver:
        answer = await receiver.export(json_format.Parse(text, ExportMetricsServiceRequest()).SerializeToString())
        assert answer == b""
        assert receiver.values[f"nccl_bus_bandwidth_bytes_per_second{ALL_REDUCE}"] == [678.25e9]
        assert {batch.table.device for batch in receiver.emitted.batches} == {"node1"}
        assert not receiver.receiver.unmapped
