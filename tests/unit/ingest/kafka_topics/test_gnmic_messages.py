"""gnmic's formats json, proto, protojson and prototext become what the device's own messages would have been."""

import json
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.errors import BadInput
from ingest.collectors.gnmi.decode.decoder import Decoder
from ingest.collectors.gnmi.paths.naming import Naming
from ingest.collectors.kafka_topics.decode.gnmic_json import JsonReader
from ingest.collectors.kafka_topics.decode.gnmic_proto import ProtoJsonReader, ProtoReader, ProtoTextReader
from ingest.collectors.kafka_topics.decode.responses import Reader, Responses
from telemetry.gnmi import gnmi_pb2
from tests.unit.ingest.kafka_topics.as_gnmic import (
    SOURCE,
    as_json,
    as_proto,
    as_protojson,
    as_prototext,
    responses,
)
from tests.unit.ingest.kafka_topics.updates_of import responses_of

NOW = 1_700_000_000_000_000_000
_PROTO = (ProtoReader, ProtoJsonReader, ProtoTextReader)
RECORDED = {
    "arista_interface_counters": 13,
    "bgp_neighbor_session_state": 1,
    "platform_psu_temperature": 13,
    "junos_queue_monitor": 130,
    "delete_notification": 0,
}


def decoded(messages: list[bytes]) -> tuple[dict[str, list[float]], set[str]]:
    """Values by series, and the paths that nothing maps."""
    decoder = Decoder("kafka/leaf1", "leaf1", Naming(("arista", "junos", "openconfig")))
    result = decoder.decode(messages, NOW)
    found: dict[str, list[float]] = {}
    for row, value in zip(result.rows.tolist(), result.values.tolist(), strict=True):
        found.setdefault(result.table.keys[row], []).append(value)
    return found, set(decoder.unmapped.names)


def read(reader: Reader, *messages: bytes) -> Responses:
    into = Responses()
    for message in messages:
        reader.read(message, into)
    return into


def notification(**changes: object) -> bytes:
    update = {"Path": "in-octets", "values": {"in-octets": "12142"}}
    body = {"source": SOURCE, "timestamp": NOW, "prefix": "interfaces/interface[name=eth1]/state/counters"}
    return json.dumps({**body, "updates": [update], **changes}).encode()


@pytest.mark.parametrize(
    ("written", "make"),
    [
        (as_json, JsonReader),
        (as_proto, ProtoReader),
        (as_protojson, ProtoJsonReader),
        (as_prototext, ProtoTextReader),
    ],
)
@pytest.mark.parametrize("name", RECORDED)
def test_each_gives_what_the_messages_of_the_device_give(
    name: str, written: Callable[[gnmi_pb2.SubscribeResponse], bytes], make: Callable[[], Reader]
) -> None:
    sent = responses(name, NOW)
    own = decoded([response.SerializeToString() for response in sent])
    into = read(make(), *map(written, sent))
    assert (list(into.by_source), dict(into.dropped)) == ([SOURCE], {})
    assert decoded(responses_of(into, SOURCE)) == own
    assert len(own[0]) == RECORDED[name]


def test_paths_without_a_slash_before_them_are_read_as_older_versions_write_them() -> None:
    found, _ = decoded(responses_of(read(JsonReader(), notification()), SOURCE))
    assert found == {'fabric_port_receive_bytes_total{device="leaf1",port="eth1"}': [12142.0]}


def test_the_end_of_a_first_answer_is_nothing() -> None:
    assert read(JsonReader(), b'{"sync-response": true}') == Responses()
    assert read(ProtoReader(), gnmi_pb2.SubscribeResponse(sync_response=True).SerializeToString()) == Responses()


def test_a_deleted_path_ends_its_series() -> None:
    reader = JsonReader()
    into = read(
        reader, notification(), notification(updates=[], prefix="", deletes=["/interfaces/interface[name=eth1]"])
    )
    decoder = Decoder("kafka/leaf1", "leaf1", Naming(("openconfig",)))
    first, last = responses_of(into, SOURCE)
    assert len(decoder.decode([first], NOW).table.keys) == 1
    decoder.decode([last], NOW)
    assert len(decoder.decode([], NOW).table.keys) == 0


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"timestamp": "now"}, "malformed"),
        ({"timestamp": None}, "malformed"),
        ({"prefix": 7}, "malformed"),
        ({"prefix": "/a[b"}, "malformed"),
        ({"updates": 7}, "malformed"),
        ({"updates": [{"Path": "a"}]}, "malformed"),
        ({"updates": [{"Path": "a", "values": {}}]}, "malformed"),
        ({"deletes": ["/a[b"]}, "malformed"),
        ({"source": ""}, "no_source"),
    ],
)
def test_a_broken_notification_is_counted(changes: dict[str, object], reason: str) -> None:
    assert read(JsonReader(), notification(**changes)) == Responses(dropped=Counter({reason: 1}))


def test_a_message_without_its_device_is_counted() -> None:
    into = read(ProtoReader(), as_proto(responses("arista_interface_counters", NOW)[0], ""))
    assert (into.by_source, dict(into.dropped)) == ({}, {"no_source": 1})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (JsonReader, b"{"),
        (JsonReader, b"7"),
        *[(make, each) for make in _PROTO for each in (b"\xff", b"")],
    ],
)
def test_what_is_no_message_of_the_format_says_so(make: Callable[[], Reader], message: bytes) -> None:
    with pytest.raises(BadInput, match="expected") as error:
        read(make(), message)
    assert error.value.reason == "malformed"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["Path", "values", "a"]), inner),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["timestamp", "prefix", "updates", "deletes", "source"]), _JSON))
@settings(deadline=None)
def test_any_notification_is_read_or_counted(changes: dict[str, object]) -> None:
    into = read(JsonReader(), notification(**changes))
    messages = responses_of(into, *into.by_source)
    assert len(messages) + into.dropped.total() == 1
    decoded(messages)


@given(st.binary(max_size=60))
@settings(deadline=None)
def test_any_bytes_are_read_or_refused(message: bytes) -> None:
    for make in (JsonReader, ProtoReader, ProtoJsonReader, ProtoTextReader):
        try:
            into = read(make(), message)
        except BadInput:
            continue
        decoded(responses_of(into, *into.by_source))
