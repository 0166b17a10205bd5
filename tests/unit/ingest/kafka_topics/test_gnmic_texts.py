"""gnmic's protojson and prototext of any depth and any bytes are read or refused, and the next message is read."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import BadInput
from ingest.collectors.kafka_topics.decode.gnmic_proto import ProtoJsonReader, ProtoTextReader
from ingest.collectors.kafka_topics.decode.responses import Responses

DEPTH = 50_000
GOOD = {
    ProtoJsonReader: b'{"update": {"prefix": {"target": "leaf1"}}}',
    ProtoTextReader: b'update { prefix { target: "leaf1" } }',
}
_ANY = '{"@type": "type.googleapis.com/google.protobuf.Any", "value": '
DEEP = (
    (ProtoJsonReader, '{"update": ' * DEPTH),
    (ProtoJsonReader, '{"update": {"update": [{"val": {"anyVal": ' + _ANY * DEPTH),
    (ProtoJsonReader, '{"unknown": ' + "[" * DEPTH),
    (ProtoTextReader, "update { update { val { any_val { " + "[type.googleapis.com/google.protobuf.Any] { " * DEPTH),
    (ProtoTextReader, "unknown { " * DEPTH),
)
Reader = type[ProtoJsonReader] | type[ProtoTextReader]


def reads_on(make: Reader, message: bytes) -> None:
    into = Responses()
    with suppress(BadInput):
        make().read(message, into)
    good = Responses()
    make().read(GOOD[make], good)
    assert len(good.by_source["leaf1"]) == 1


@pytest.mark.parametrize(("make", "text"), DEEP)
def test_a_message_without_end_is_refused(make: Reader, text: str) -> None:
    with pytest.raises(BadInput, match="expected a SubscribeResponse"):
        make().read(text.encode(), Responses())
    reads_on(make, text.encode())


@given(st.sampled_from([ProtoJsonReader, ProtoTextReader]), st.binary())
def test_any_bytes_are_read_or_refused(make: Reader, message: bytes) -> None:
    reads_on(make, message)
