"""Events of gnmic become the samples that the device's own messages would have been."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.errors import BadInput
from ingest.collectors.gnmi.decode.decoder import Decoder
from ingest.collectors.gnmi.paths.naming import Naming
from ingest.collectors.kafka_topics.decode.gnmic_event import EventReader, keyed_path
from ingest.collectors.kafka_topics.decode.responses import Responses
from ingest.collectors.kafka_topics.gnmic import device_name
from telemetry.gnmi import gnmi_pb2
from tests.samples import SAMPLES
from tests.unit.ingest.kafka_topics.as_gnmic import SOURCE, events, responses
from tests.unit.ingest.kafka_topics.updates_of import responses_of

NOW = 1_700_000_000_000_000_000
OCTETS = "/interfaces/interface/state/counters/in-octets"
RECORDED = json.loads((SAMPLES / "gnmic" / "event_messages.json").read_text())


def decoded(messages: list[bytes]) -> tuple[dict[str, list[float]], set[str]]:
    """Values by series, and the paths that nothing maps."""
    decoder = Decoder("kafka/leaf1", "leaf1", Naming(("arista", "openconfig")))
    result = decoder.decode(messages, NOW)
    found: dict[str, list[float]] = {}
    for row, value in zip(result.rows.tolist(), result.values.tolist(), strict=True):
        found.setdefault(result.table.keys[row], []).append(value)
    return found, set(decoder.unmapped.names)


def read(*bodies: object) -> Responses:
    reader, into = EventReader(), Responses()
    for body in bodies:
        reader.read(body if isinstance(body, bytes) else json.dumps(body).encode(), into)
    return into


def event(values: object = None, tags: object = None, **changes: object) -> dict[str, object]:
    named = {"source": SOURCE, "interface_name": "Ethernet1"} if tags is None else tags
    return {
        "name": "sub1",
        "timestamp": NOW,
        "tags": named,
        "values": {OCTETS: 7} if values is None else values,
        **changes,
    }


def values_of(into: Responses) -> dict[str, list[float]]:
    assert not into.dropped
    return decoded(responses_of(into, SOURCE))[0]


@pytest.mark.parametrize(
    ("name", "series"),
    [
        ("arista_interface_counters", 13),
        ("bgp_neighbor_session_state", 1),
        ("platform_psu_temperature", 13),
        ("eos_cpu_memory", 1),
    ],
)
def test_events_give_what_the_messages_of_the_device_give(name: str, series: int) -> None:
    sent = responses(name, NOW)
    own = decoded([response.SerializeToString() for response in sent])
    into = read(*(events(response) for response in sent))
    assert list(into.by_source) == [SOURCE]
    assert not into.dropped
    assert decoded(responses_of(into, SOURCE)) == own
    assert len(own[0]) == series


@pytest.mark.parametrize("page", RECORDED, ids=lambda page: page["doc"])
def test_what_the_documentation_of_gnmic_shows_is_read(page: dict[str, Any]) -> None:
    into = read(page["events"])
    messages = responses_of(into, *into.by_source)
    assert len(messages) == len(page["events"])
    assert not into.dropped
    for message, shown in zip(messages, page["events"], strict=True):
        found = gnmi_pb2.SubscribeResponse.FromString(message).update
        assert found.timestamp == shown["timestamp"]
        assert len(found.update) == len(shown.get("values", {}))


def test_split_events_are_messages_of_one() -> None:
    assert values_of(read(event())) == values_of(read([event()]))


def test_a_known_path_of_other_tags_is_another_series() -> None:
    tags = [{"source": SOURCE, "interface_name": name} for name in ("Ethernet1", "Ethernet2", "Ethernet1")]
    found = values_of(read([event({OCTETS: n}, one) for n, one in enumerate(tags)]))
    assert sorted(found.values()) == [[0.0, 2.0], [1.0]]


@pytest.mark.parametrize(
    ("value", "number"),
    [("12142", 12142.0), (2**63 - 1, 2.0**63), (2**64 - 1, 2.0**64), (1.5, 1.5), (True, 1.0)],
)
def test_numbers_arrive_however_they_are_written(value: object, number: float) -> None:
    assert list(values_of(read(event({OCTETS: value}))).values()) == [[number]]


@pytest.mark.parametrize("value", [None, "N/A", [1], {"a": 1}])
def test_what_is_no_number_is_no_sample(value: object) -> None:
    assert values_of(read(event({OCTETS: value}))) == {}


def test_a_tag_belongs_to_the_longest_element_that_it_fits() -> None:
    path = keyed_path("/a/a_b/c", {"a_b_name": "x", "a_id": "1", "a_": "y", "source": "s"})
    assert [(elem.name, dict(elem.key)) for elem in path.elem] == [
        ("a", {"id": "1"}),
        ("a_b", {"name": "x"}),
        ("c", {}),
    ]


def test_a_deleted_path_ends_its_series() -> None:
    gone = event({}, deletes=["/interfaces/interface[name=Ethernet1]"])
    (first, last) = responses_of(read(event(), gone), SOURCE)
    decoder = Decoder("kafka/leaf1", "leaf1", Naming(("openconfig",)))
    assert len(decoder.decode([first], NOW).table.keys) == 1
    decoder.decode([last], NOW)
    assert len(decoder.decode([], NOW).table.keys) == 0


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ("text", "malformed"),
        (event(timestamp=None), "malformed"),
        (event(timestamp=1.5), "malformed"),
        (event(timestamp=2**63), "malformed"),
        (event(values=[1]), "malformed"),
        (event(tags={"source": SOURCE, "of": ["a"]}), "malformed"),
        (event({"/a[b": 1}), "malformed"),
        (event(tags={}), "no_source"),
        (event(tags={"source": 7}), "no_source"),
    ],
)
def test_a_broken_event_costs_itself_alone(broken: object, reason: str) -> None:
    into = read([event(), broken, event()])
    assert (len(into.by_source[SOURCE]), dict(into.dropped)) == (2, {reason: 1})


@pytest.mark.parametrize("message", [b"", b"{", b"\xff", b"7", b'"text"', b"null"])
def test_a_message_that_is_no_list_of_events_says_so(message: bytes) -> None:
    with pytest.raises(BadInput, match="expected") as error:
        read(message)
    assert error.value.reason == "malformed"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
_EVENTS = st.fixed_dictionaries(
    {},
    optional={
        "timestamp": st.integers() | _JSON,
        "tags": st.dictionaries(st.sampled_from(["source", "interface_name", "_", ""]), _JSON) | _JSON,
        "values": st.dictionaries(st.text() | st.just(OCTETS), _JSON) | _JSON,
        "deletes": st.lists(st.text()) | _JSON,
    },
)


@given(st.lists(_EVENTS | _JSON, max_size=4))
@settings(deadline=None)
def test_any_events_are_read_or_counted(body: list[object]) -> None:
    into = read(body)
    read_ones = responses_of(into, *into.by_source)
    assert len(read_ones) + into.dropped.total() == len(body)
    decoded(read_ones)


def test_a_source_without_its_port_is_the_device() -> None:
    found = [device_name(source) for source in ("leaf1:57400", "10.0.0.1:57400", "leaf1", "[::1]:57400", "::1", "a:b")]
    assert found == ["leaf1", "10.0.0.1", "leaf1", "::1", "::1", "a:b"]
