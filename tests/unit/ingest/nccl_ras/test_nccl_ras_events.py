"""The events that RAS streams, in text and JSON, however they are cut into chunks."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.units import NS_PER_S
from ingest.collectors.nccl_ras.event_stream import LINE_BYTES_MAX, EventReader, Heard, RasEvent
from ingest.collectors.nccl_ras.peer_events import HOLD_NS, PeerEvents
from ingest.ledger import DropReason

NOW_NS = 1_766_149_627 * NS_PER_S
TIME = "2025-12-19 13:07:07"
DEAD = RasEvent("PEER_DEAD", NOW_NS, "172.16.64.245", "1524345", "1")


def text_event(name: str, about: str, details: str = "") -> bytes:
    """As RAS writes it."""
    return f"[{TIME}] {name}: {about} {details}\n".encode()


def json_event(name: str, peer: str, details: str = "") -> bytes:
    """As RAS writes it: details are not escaped."""
    about = f'  "peer": {{\n{peer}\n  }},\n' if peer else ""
    head = f'{{\n  "timestamp": "{TIME}",\n  "group": "LIFECYCLE",\n  "event": "{name}",\n'
    return f'{head}{about}  "details": "{details}"\n}}\n'.encode()


def json_peer(host: str = DEAD.host, pid: int = 1524345, cuda: str = "1", nvml: str = "1") -> str:
    return f'    "host": "{host}",\n    "pid": {pid},\n    "cuda_devs": [{cuda}],\n    "nvml_devs": [{nvml}]'


def heard(chunks: Sequence[bytes], *, is_json: bool) -> Heard:
    reader, all_of_it = EventReader(is_json=is_json), Heard()
    for chunk in chunks:
        found = reader.feed(chunk)
        all_of_it.events += found.events
        all_of_it.unreadable += found.unreadable
    return all_of_it


TEXTS = [
    (text_event("PEER_DEAD", "Process 1524345 on node 172.16.64.245 managing GPU 1"), DEAD),
    (
        text_event(
            "PEER_UNRESPONSIVE", "Process 4 on node ::1 managing GPUs 0,1 (NVML 2,3)", "peer not responding for 5s"
        ),
        RasEvent("PEER_UNRESPONSIVE", NOW_NS, "::1", "4", "2,3"),
    ),
    (text_event("PEER_DEAD", "10.0.0.1<45821>"), RasEvent("PEER_DEAD", NOW_NS, "10.0.0.1")),
    (f"[{TIME}] NEW_ONE: whatever\r\n".encode(), RasEvent("NEW_ONE", NOW_NS)),
]
OBJECTS = [
    (json_event("PEER_DEAD", json_peer()), DEAD),
    (json_event("PEER_DEAD", json_peer("::1", 4, "0,1", "2,3")), RasEvent("PEER_DEAD", NOW_NS, "::1", "4", "2,3")),
    (json_event("PEER_DEAD", '    "addr": "10.0.0.1<45821>"'), RasEvent("PEER_DEAD", NOW_NS, "10.0.0.1")),
    (json_event("NEW_ONE", "", "whatever"), RasEvent("NEW_ONE", NOW_NS)),
]


@pytest.mark.parametrize(("is_json", "written"), [(False, TEXTS), (True, OBJECTS)])
@given(cuts=st.lists(st.integers(0, 1000)))
def test_events_are_read_however_they_are_cut(
    is_json: bool, written: Sequence[tuple[bytes, RasEvent]], cuts: list[int]
) -> None:
    stream = b"SERVER PROTOCOL 2\n".join(text for text, _ in written)
    places = [0, *sorted(cuts), len(stream)]
    chunks = [stream[begin:end] for begin, end in pairwise(places)]
    assert heard(chunks, is_json=is_json) == Heard([event for _, event in written])


@pytest.mark.parametrize(
    "line",
    [
        b"what is this\n",
        b"[yesterday] PEER_DEAD: 10.0.0.1<1>\n",
        b"[2025-13-19 13:07:07] PEER_DEAD: 10.0.0.1<1>\n",
        text_event("PEER_DEAD", "somebody<1>"),
        text_event("PEER_DEAD", "Process 1 on node unknown managing GPU 1"),
        text_event("PEER_DEAD", "Process 1 on node ::1 managing GPU " + "0," * 65),
        b"x" * (LINE_BYTES_MAX + 1) + b"\n",
        b"x" * (3 * LINE_BYTES_MAX) + b"\n",
    ],
)
def test_a_line_that_is_no_event_is_counted_and_the_next_one_read(line: bytes) -> None:
    stream = line + TEXTS[0][0]
    for chunks in ([stream], [stream[at : at + 500] for at in range(0, len(stream), 500)]):
        assert heard(chunks, is_json=False) == Heard([DEAD], 1)


@pytest.mark.parametrize(
    ("text", "unreadable"),
    [
        (json_event("PEER_DEAD", json_peer(), 'a "quoted" word'), 1),
        (json_event("PEER_DEAD", json_peer("unknown")), 1),
        (json_event("PEER_DEAD", json_peer(pid=-1)), 1),
        (json_event("PEER_DEAD", json_peer(nvml='"all"')), 1),
        (json_event("peer dead", json_peer()), 1),
        (json_event("PEER_DEAD", json_peer()).replace(b'"peer": {', b'"peer": [').replace(b"},", b"],"), 1),
        (b"{\n  1\n}\n", 1),
        (b"{\n", 1),
        (OBJECTS[0][0][:100] + b"\n", 1),
        (b"1\n2\n", 2),
        (b"{\n" + b"  1,\n" * 2000, 362),  # what follows the limit of an object is a line by itself
    ],
)
def test_an_object_that_is_no_event_is_counted_and_the_next_one_read(text: bytes, unreadable: int) -> None:
    assert heard([text + OBJECTS[0][0]], is_json=True) == Heard([DEAD], unreadable)


@given(st.binary(), st.booleans())
def test_any_bytes_are_events_or_counted(data: bytes, is_json: bool) -> None:
    heard([data, b"\n"], is_json=is_json)


def labelled(events: PeerEvents, now_ns: int = NOW_NS) -> list[tuple[str, float]]:
    return [(sample.labels["event"], sample.value) for sample in events.reading(now_ns)]


def test_the_newest_of_one_kind_counts_and_the_others_are_no_samples() -> None:
    events = PeerEvents(10, "7", {DEAD.host: "node7"})
    assert events.add(DEAD, NOW_NS) is None
    assert events.add(DEAD._replace(local_ns=NOW_NS + NS_PER_S), NOW_NS + NS_PER_S) is DropReason.DUPLICATE
    (sample,) = events.reading(NOW_NS)
    labels = {"job_id": "7", "host": "node7", "process": "1524345", "gpus": "1", "event": "dead"}
    assert sample == ("process_event_timestamp", labels, NOW_NS / NS_PER_S + 1)
    assert not events.has_unread


def test_what_was_read_is_repeated_for_a_while() -> None:
    events = PeerEvents(10, "", {})
    events.add(DEAD, NOW_NS)
    assert labelled(events, NOW_NS + 2 * HOLD_NS) == [("dead", NOW_NS / NS_PER_S)], "late, but not read yet"
    events.add(DEAD._replace(name="PEER_RECOVERED"), NOW_NS)
    assert labelled(events, NOW_NS + HOLD_NS - 1) == [("dead", NOW_NS / NS_PER_S), ("recovered", NOW_NS / NS_PER_S)]
    assert labelled(events, NOW_NS + HOLD_NS) == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda event: event._replace(host=""), DropReason.BAD_FORMAT),
        (lambda event: event._replace(process="2"), DropReason.QUOTA),
        (lambda event: event, DropReason.DUPLICATE),
    ],
)
def test_what_is_no_sample_has_a_reason(change: Callable[[RasEvent], RasEvent], reason: DropReason) -> None:
    events = PeerEvents(1, "", {})
    events.add(DEAD, NOW_NS)
    assert events.add(change(DEAD), NOW_NS) is reason
