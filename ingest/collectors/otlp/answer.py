"""The answer to a request, in words. Pure."""

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse

from ingest.collectors.otlp.decode.decoder import Decoded
from ingest.ledger import DropReason


def answer(decoded: Decoded) -> ExportMetricsServiceResponse:
    """It says how many points were refused, and why; empty where none was.

    A repetition of what is here already is accepted: its sender had no answer to the first one. So is what nothing
    maps: it is not ours to judge.
    """
    response = ExportMetricsServiceResponse()
    reasons = {reason: n for reason, n in decoded.admitted.dropped.items() if n and reason is not DropReason.DUPLICATE}
    if not reasons:
        return response
    refused = min(sum(reasons.values()), decoded.points)
    texts = [f"{n} {reason.value}" for reason, n in sorted(reasons.items())]
    if decoded.changes:
        texts.append(f"{decoded.changes} of delta temporality: expected cumulative sums and histograms")
    response.partial_success.rejected_data_points = refused
    response.partial_success.error_message = "samples refused: " + ", ".join(texts)
    return response
