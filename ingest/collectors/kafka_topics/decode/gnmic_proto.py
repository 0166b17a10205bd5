"""gnmic's proto format: the devices' own messages, which name the device where gnmic is set to add it."""

from google.protobuf.message import DecodeError

from common.errors import BadInput
from ingest.collectors.kafka_topics.decode.responses import MALFORMED, Responses, source_of
from telemetry.gnmi import gnmi_pb2


class ProtoReader:
    """Has no state."""

    def read(self, message: bytes, into: Responses) -> None:
        """Adds a SubscribeResponse, whose prefix has the device as target. BadInput when it is none."""
        try:
            response = gnmi_pb2.SubscribeResponse.FromString(message)
        except DecodeError:
            raise BadInput("expected a SubscribeResponse", MALFORMED) from None
        if not response.HasField("update"):
            if not response.HasField("sync_response"):
                raise BadInput("expected a SubscribeResponse", MALFORMED)
            return
        try:
            into.add(source_of(response.update.prefix.target), message)
        except BadInput as error:
            into.dropped[error.reason] += 1
