"""gnmic's JSON of known devices and paths is read by compiled scans, as by the plain readers: to the same updates."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.errors import BadInput
from ingest.collectors.kafka_topics.decode import gnmic_event, gnmic_json
from ingest.collectors.kafka_topics.decode.gnmic_event import EventReader
from ingest.collectors.kafka_topics.decode.gnmic_json import JsonReader
from ingest.collectors.kafka_topics.decode.responses import Responses
from telemetry.gnmi import gnmi_pb2
from tests.unit.ingest.kafka_topics.as_gnmic import as_json, events, responses
from tests.unit.ingest.kafka_topics.updates_of import Update, messages_of, updates_of

NOW = 1_700_000_000_000_000_000
Make = type[EventReader] | type[JsonReader]
Found = tuple[dict[str, tuple[int, list[Update]]], dict[str, int], int]


def plainly(of: EventReader | JsonReader, sent: Sequence[bytes]) -> Found:
    """Messages and updates of each device, drops, and messages of no use."""
    into, of_no_use = Responses(), 0
    for message in sent:
        try:
            of.read(message, into)
        except BadInput:
            of_no_use += 1
    return found_in(into), dict(into.dropped), of_no_use


def found_in(into: Responses) -> dict[str, tuple[int, list[Update]]]:
    return {source: (messages_of(parts), updates_of(parts)) for source, parts in into.by_source.items()}


def scanned(of: EventReader | JsonReader, sent: Sequence[bytes]) -> Found:
    into = Responses()
    of_no_use = of.read_all(sent, into)
    return found_in(into), dict(into.dropped), of_no_use


def assert_same(make: Make, *polls: Sequence[bytes]) -> None:
    plain, fast = make(), make()
    for sent in polls:
        assert scanned(fast, sent) == plainly(plain, sent)


class _NotPlain(AssertionError):
    pass


def _never(*_: object) -> None:
    raise _NotPlain


@pytest.mark.parametrize(
    ("make", "written", "name"),
    [
        (EventReader, events, "arista_interface_counters"),
        (EventReader, events, "platform_psu_temperature"),
        (JsonReader, as_json, "arista_interface_counters"),
    ],
)
def test_what_gnmic_writes_again_reaches_no_plain_reader(
    make: Make,
    written: Callable[[gnmi_pb2.SubscribeResponse], bytes],
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, again = responses(name, NOW), responses(name, NOW + 12_345)
    for response in again:
        for update in response.update.update:
            if update.val.WhichOneof("value") == "uint_val":
                update.val.uint_val = 3 * update.val.uint_val + 7
    of = make()
    scanned(of, [written(response) for response in first])
    expected = plainly(make(), [written(response) for response in again])
    monkeypatch.setattr(of, "read", _never)
    assert scanned(of, [written(response) for response in again]) == expected
    with pytest.raises(_NotPlain):
        scanned(of, [written(again[0]).replace(b"leaf1", b"leaf2")])


EVENT = (
    b'{"name":"sub1","timestamp":1700000000000000000,"tags":{"interface_name":"eth1","source":"leaf1:1"},'
    b'"values":{"/a/b":1,"/a/c":"UP","/a/d":-2.5,"/a/e":true}}'
)
UPDATE = b'{"Path":"a/b[n=1]","values":{"a/b":1}}'
NOTIFICATION = (
    b'{"source":"leaf1:1","subscription-name":"s","timestamp":1700000000000000000,"time":"2023-11-14T22:13:20Z",'
    b'"prefix":"openconfig:/x","updates":[%b,{"Path":"a/c","values":{"a/c":"UP"}}]}' % UPDATE
)
VALUES = (
    *(b"0", b"-0", b"-0.0", b"7", b"007", b"-12", b"1.5", b"1.", b".5", b"98.46153846151328", b"1e5", b"1e400", b"+1"),
    *(b"9223372036854775807", b"-9223372036854775808", b"9223372036854775808", b"18446744073709551615"),
    *(b"18446744073709551616", b"1" * 30, b"true", b"false", b"null", b"{}", b"[1]", b"tru", b""),
    *(b'""', b'"12142"', b'"a&b"', b'"a\\u0041"', b'"\\q"', b'"\xc3\xa4"', b'"\xff"', b'"\n"', b'"', b'"x"y'),
)
TIMES = (b"0", b"05", b"-5", b"5.0", b"5", b"9223372036854775807", b"9223372036854775808", b'"5"', b"")
EVENTS = [
    EVENT,
    b"[%b]" % EVENT,
    b"[%b,%b]" % (EVENT, EVENT.replace(b"eth1", b"eth2")),
    b"[%b,%b]" % (EVENT, EVENT.replace(b"leaf1", b"leaf2")),
    b"[%b %b]" % (EVENT, EVENT),
    b"[%b,]" % EVENT,
    b"[%b" % EVENT,
    b"[]",
    b"",
    EVENT + b"\n",
    EVENT + EVENT,
    EVENT[:-1],
    EVENT.replace(b"sub1", b"s\\u0041"),
    EVENT.replace(b"sub1", b"\xff"),
    EVENT.replace(b'"source":"leaf1:1"', b'"source":7'),
    EVENT.replace(b',"source":"leaf1:1"', b""),
    EVENT.replace(b'"interface_name":"eth1"', b'"interface_name":"eth1","interface_name":"eth2"'),
    EVENT.replace(b'"interface_name":"eth1"', b'"interface_name":1'),
    EVENT.replace(b'"interface_name":"eth1"', b'"interface_name":true'),
    EVENT.replace(b"eth1", b"et\\u0068"),
    EVENT.replace(b"eth1", b"e\xc3\xa4"),
    EVENT.replace(b'"/a/b":1', b'"/a/b":1,"/a/b":2'),
    EVENT.replace(b'"/a/b"', b'"/z/b"'),
    EVENT.replace(b'"/a/b"', b'"a[b"'),
    EVENT.replace(b"}}", b'},"deletes":["/a"]}'),
    EVENT.replace(b'"values":{', b'"values":{}, "x":{'),
    b'[{"name":"sub1","timestamp":5,"tags":{"source":"leaf1:1"},"values":{}}]',
    b'[{"name":"sub1","timestamp":5,"tags":{"source":"leaf1:1"}}]',
    b'[7,{"name":"sub1"}]',
    *(EVENT.replace(b'"/a/b":1', b'"/a/b":%b' % value) for value in VALUES),
    *(EVENT.replace(b"1700000000000000000", time) for time in TIMES),
]
NOTIFICATIONS = [
    NOTIFICATION,
    NOTIFICATION.replace(b'"prefix":"openconfig:/x",', b""),
    NOTIFICATION.replace(b'"prefix":"openconfig:/x"', b'"prefix":""'),
    NOTIFICATION.replace(b'"prefix":"openconfig:/x"', b'"prefix":"openconfig:/x","target":"t"'),
    NOTIFICATION.replace(b'"subscription-name":"s",', b""),
    NOTIFICATION.replace(b'"subscription-name"', b'"system-name":"n","subscription-name"'),
    NOTIFICATION.replace(b'"time":"2023-11-14T22:13:20Z",', b""),
    NOTIFICATION.replace(b"2023", b"\xff"),
    NOTIFICATION.replace(b"leaf1", b"leaf2"),
    NOTIFICATION.replace(b'"source":"leaf1:1",', b""),
    NOTIFICATION.replace(b'"updates":[', b'"updates":[],"x":['),
    NOTIFICATION.replace(b"]}", b'],"deletes":["a"]}'),
    NOTIFICATION.replace(b'"values":{"a/b":1}', b'"values":{"a/b":1,"a/c":2}'),
    NOTIFICATION.replace(b'"values":{"a/b":1}', b'"values":{}'),
    NOTIFICATION.replace(b'{"a/b"', b'{"a\\u0041"'),
    NOTIFICATION.replace(b'"Path":"a/b[n=1]"', b'"Path":"a[b"'),
    NOTIFICATION.replace(b'"Path":"a/b[n=1]"', b'"Path":"a/b[n=2]"'),
    b"[%b]" % NOTIFICATION,
    NOTIFICATION + b"\n",
    NOTIFICATION[:-1],
    NOTIFICATION[:-2],
    b'{"sync-response":true}',
    b"",
    *(NOTIFICATION.replace(b'{"a/b":1}', b'{"a/b":%b}' % value) for value in VALUES),
    *(NOTIFICATION.replace(b"1700000000000000000", time) for time in TIMES),
]


@pytest.mark.parametrize("one", EVENTS)
def test_events_are_the_same_however_they_are_read(one: bytes) -> None:
    assert_same(EventReader, [EVENT, one], [one, EVENT, one], [EVENT])


@pytest.mark.parametrize("one", NOTIFICATIONS)
def test_notifications_are_the_same_however_they_are_read(one: bytes) -> None:
    assert_same(JsonReader, [NOTIFICATION, one], [one, NOTIFICATION, one], [NOTIFICATION])


@given(st.lists(st.lists(st.sampled_from(EVENTS), max_size=4), min_size=2, max_size=4))
@settings(deadline=None)
def test_any_events_are_the_same_however_they_are_read(polls: list[list[bytes]]) -> None:
    assert_same(EventReader, *polls, *polls)


@given(st.lists(st.lists(st.sampled_from(NOTIFICATIONS), max_size=4), min_size=2, max_size=4))
@settings(deadline=None)
def test_any_notifications_are_the_same_however_they_are_read(polls: list[list[bytes]]) -> None:
    assert_same(JsonReader, *polls, *polls)


def test_paths_that_were_forgotten_are_known_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader remembers only so many."""
    for module in (gnmic_event, gnmic_json):
        monkeypatch.setattr(module, "PATHS_MAX", 3)
    for make, one, name in ((EventReader, EVENT, b"eth1"), (JsonReader, NOTIFICATION, b"openconfig")):
        many = [one.replace(name, b"o%d" % n) for n in range(4)]
        assert_same(make, many, many, [one], many[::-1])
        assert_same(make, [one.replace(b"leaf1", b"leaf%d" % n) for n in range(9)], [one])
