"""OTLP/gRPC: calls of ``MetricsService/Export``."""

from ingest.collectors.grpc_receiver import GrpcServer
from ingest.collectors.otlp.answer import answer
from ingest.collectors.otlp.config import Config
from ingest.collectors.otlp.decode.json_body import Encoding
from ingest.collectors.otlp.exporting import Exporting
from ingest.transport.grpc_call import ServerCall

METHOD = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"


def grpc_server(config: Config, exporting: Exporting) -> GrpcServer:
    """Not started yet."""

    async def export(call: ServerCall) -> bytes:
        """A serialised ExportMetricsServiceRequest, answered by a serialised response."""
        sender = exporting.sender(call.address, call.certificate)
        decoded = await exporting.export(await call.only_message(), Encoding.PROTOBUF, sender)
        return answer(decoded).SerializeToString()

    limits = config.limits
    return GrpcServer(config, limits.message_bytes_max, {METHOD: export}, connections_max=limits.senders_max)
