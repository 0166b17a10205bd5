"""gnmic's proto, protojson and prototext: the devices' own messages, which name the device where gnmic adds it."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from google.protobuf import json_format, text_format
from google.protobuf.message import DecodeError

from common.errors import BadInput
from ingest.collectors.kafka_topics.decode.responses import MALFORMED, Responses, source_of
from telemetry.gnmi import gnmi_pb2


class _EachReader(ABC):
    """Has no state."""

    @abstractmethod
    def read(self, message: bytes, into: Responses) -> None:
        """Adds what a message holds. BadInput when it is none of this format."""

    def read_all(self, messages: Sequence[bytes], into: Responses) -> int:
        """Adds what all of these hold; how many are none of this format."""
        of_no_use = 0
        for message in messages:
            try:
                self.read(message, into)
            except BadInput:
                of_no_use += 1
        return of_no_use


class ProtoReader(_EachReader):
    def read(self, message: bytes, into: Responses) -> None:
        """Adds a SubscribeResponse, whose prefix has the device as target. BadInput when it is none."""
        try:
            response = gnmi_pb2.SubscribeResponse.FromString(message)
        except DecodeError:
            raise BadInput("expected a SubscribeResponse", MALFORMED) from None
        _add(response, message, into)


class ProtoJsonReader(_EachReader):
    def read(self, message: bytes, into: Responses) -> None:
        """The same of protobuf's JSON."""
        response = gnmi_pb2.SubscribeResponse()
        try:
            json_format.Parse(message, response, ignore_unknown_fields=True)
        except (json_format.ParseError, UnicodeDecodeError, ValueError, RecursionError) as error:
            raise BadInput(f"expected a SubscribeResponse as JSON: {str(error)[:200]}", MALFORMED) from None
        _add(response, None, into)


class ProtoTextReader(_EachReader):
    def read(self, message: bytes, into: Responses) -> None:
        """The same of protobuf's text format."""
        response = gnmi_pb2.SubscribeResponse()
        try:
            text_format.Parse(message, response, allow_unknown_field=True)
        except (text_format.ParseError, UnicodeDecodeError, ValueError, RecursionError) as error:
            raise BadInput(f"expected a SubscribeResponse as text: {str(error)[:200]}", MALFORMED) from None
        _add(response, None, into)


def _add(response: gnmi_pb2.SubscribeResponse, message: bytes | None, into: Responses) -> None:
    """message: the response serialised, None where it is not yet."""
    if not response.HasField("update"):
        if not response.HasField("sync_response"):
            raise BadInput("expected a SubscribeResponse", MALFORMED)
        return
    try:
        source = source_of(response.update.prefix.target)
    except BadInput as error:
        into.dropped[error.reason] += 1
        return
    into.add(source, response.SerializeToString() if message is None else message)
