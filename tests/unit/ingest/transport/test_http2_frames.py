"""Frames of HTTP/2 by hand (RFC 9113): what they mean for the one call of a connection."""

import random

import pytest
from hpack import Encoder

from ingest.transport import http2_frames as frames
from ingest.transport.grpc_messages import CallEnded, ended_with_status
from ingest.transport.http2_frames import STREAM_ID, frame
from ingest.transport.http2_response import ResponseReader
from telemetry.samples import DownReason

WINDOW = 1000
SETTINGS = frame(frames.SETTINGS, 0, 0, b"")
SETTINGS_ACK = frame(frames.SETTINGS, frames.ACK, 0, b"")


def reader(message_bytes_max: int = 10_000, window: int = WINDOW) -> ResponseReader:
    return ResponseReader(window, message_bytes_max)


def grpc(message: bytes) -> bytes:
    return b"\0" + len(message).to_bytes(4, "big") + message


def data(body: bytes, flags: int = 0) -> bytes:
    return frame(frames.DATA, flags, STREAM_ID, body)


def headers(*pairs: tuple[str, str], flags: int = frames.END_HEADERS) -> bytes:
    return frame(frames.HEADERS, flags, STREAM_ID, Encoder().encode(list(pairs)))


def ended(sent: bytes) -> CallEnded:
    one = reader()
    with pytest.raises(CallEnded) as caught:
        one.feed(sent)
    return caught.value


@pytest.mark.parametrize(
    ("made", "hexadecimal"),
    [
        (SETTINGS, "000000 04 00 00000000"),
        (SETTINGS_ACK, "000000 04 01 00000000"),
        (frame(frames.PING, 0, 0, b"12345678"), "000008 06 00 00000000 3132333435363738"),
        (frame(frames.WINDOW_UPDATE, 0, 1, b"\0\0\1\0"), "000004 08 00 00000001 00000100"),
        (frame(frames.RST_STREAM, 0, 1, b"\0\0\0\x08"), "000004 03 00 00000001 00000008"),
        (frame(frames.DATA, frames.END_STREAM, 1, b"x" * 300)[:9], "00012c 00 01 00000001"),
    ],
)
def test_frames_on_the_wire(made: bytes, hexadecimal: str) -> None:
    """Section 4.1: length in 24 bits, type, flags, stream."""
    assert made == bytes.fromhex(hexadecimal)


def test_settings_are_acknowledged_and_prove_that_the_peer_speaks_http2() -> None:
    one = reader()
    assert not one.settings_received
    one.feed(SETTINGS)
    assert one.settings_received
    assert one.pop_replies() == SETTINGS_ACK
    assert one.pop_replies() == b""
    one.feed(SETTINGS_ACK)
    assert one.pop_replies() == b""


def test_a_ping_is_answered_with_its_own_bytes_and_an_answer_is_not() -> None:
    one = reader()
    one.feed(frame(frames.PING, 0, 0, b"abcdefgh"))
    assert one.pop_replies() == frame(frames.PING, frames.ACK, 0, b"abcdefgh")
    one.feed(frame(frames.PING, frames.ACK, 0, b"abcdefgh"))
    assert one.pop_replies() == b""


def test_messages_are_cut_from_data_and_given_once() -> None:
    one = reader()
    one.feed(data(grpc(b"one") + grpc(b"")) + data(grpc(b"two")))
    assert one.messages == [b"one", b"", b"two"]
    assert one.pop_messages() == [b"one", b"", b"two"]
    assert one.pop_messages() == []


def test_however_the_connection_is_cut_the_messages_are_the_same() -> None:
    dice = random.Random(2)
    messages = [dice.randbytes(dice.choice((0, 1, 90, 400))) for _ in range(50)]
    stream, parts, at = b"".join(map(grpc, messages)), b"", 0
    while at < len(stream):
        size = dice.choice((1, 5, 100, 700))
        parts += data(stream[at : at + size])
        at += size
    one, at = reader(), 0
    while at < len(parts):
        size = dice.choice((1, 8, 9, 10, 500))
        one.feed(parts[at : at + size])
        at += size
    assert one.pop_messages() == messages


@pytest.mark.parametrize("padding", [0, 1, 200])
def test_padding_is_no_data(padding: int) -> None:
    one = reader()
    one.feed(data(bytes([padding]) + grpc(b"x") + bytes(padding), frames.PADDED))
    assert one.messages == [b"x"]


def test_credit_is_given_for_data_once_half_of_the_window_is_used() -> None:
    one = reader(window=WINDOW)
    one.feed(data(grpc(bytes(WINDOW // 2 - 5))))
    assert one.pop_replies() == b""
    one.feed(data(grpc(b"")))
    credit = (WINDOW // 2 + 5).to_bytes(4, "big")
    assert one.pop_replies() == frame(frames.WINDOW_UPDATE, 0, 0, credit) + frame(
        frames.WINDOW_UPDATE, 0, STREAM_ID, credit
    )
    one.feed(SETTINGS_ACK)
    assert one.pop_replies() == b""


def test_padding_uses_the_window_too() -> None:
    one = reader(window=100)
    one.feed(data(bytes([200]) + bytes(200), frames.PADDED))
    assert one.pop_replies()[9:13] == (201).to_bytes(4, "big")


@pytest.mark.parametrize(
    ("status", "message", "reason"),
    [
        ("0", "", DownReason.CLOSED),
        ("1", "cancelled", DownReason.CLOSED),
        ("3", "bad%20path", DownReason.BAD_FORMAT),
        ("4", "", DownReason.TIMEOUT),
        ("5", "", DownReason.BAD_FORMAT),
        ("7", "", DownReason.AUTH),
        ("8", "", DownReason.TOO_LARGE),
        ("12", "", DownReason.BAD_FORMAT),
        ("14", "", DownReason.CLOSED),
        ("16", "", DownReason.AUTH),
        ("99", "", DownReason.CLOSED),
    ],
)
def test_trailers_end_the_call_with_the_status_of_grpc(status: str, message: str, reason: DownReason) -> None:
    pairs = [("grpc-status", status), *([("grpc-message", message)] if message else [])]
    found = ended(headers(*pairs, flags=frames.END_HEADERS | frames.END_STREAM))
    assert found.reason is reason
    assert found.message == ended_with_status(status, message).message


@pytest.mark.parametrize(
    ("status", "message", "expected"),
    [("0", "x", "the target ended the stream"), ("14", "", "gRPC status 14"), ("3", "a%2Fb%20c", "a/b c")],
)
def test_the_message_of_a_status(status: str, message: str, expected: str) -> None:
    assert ended_with_status(status, message).message == expected


@pytest.mark.parametrize(
    ("sent", "reason", "message"),
    [
        (headers((":status", "401")), DownReason.AUTH, "HTTP status 401"),
        (headers((":status", "403")), DownReason.AUTH, "HTTP status 403"),
        (headers((":status", "502")), DownReason.HTTP_STATUS, "HTTP status 502"),
        (
            headers((":status", "200"), flags=frames.END_HEADERS | frames.END_STREAM),
            DownReason.CLOSED,
            "the target ended the stream without a status",
        ),
        (data(b"", frames.END_STREAM), DownReason.CLOSED, "the target ended the stream without a status"),
        (frame(frames.RST_STREAM, 0, STREAM_ID, b"\0\0\0\2"), DownReason.CLOSED, "the target reset the stream: code 2"),
        (
            frame(frames.GOAWAY, 0, 0, bytes(4) + b"\0\0\0\x0bbye"),
            DownReason.CLOSED,
            "the target sent GOAWAY: code 11 bye",
        ),
        (frame(frames.GOAWAY, 0, 0, bytes(8)), DownReason.CLOSED, "the target sent GOAWAY: code 0"),
        (data(grpc(bytes(10_001))), DownReason.TOO_LARGE, "a message of 10001 bytes: at most 10000"),
        (data(b"\1" + grpc(b"x")[1:]), DownReason.BAD_ENCODING, "a compressed message, which was not asked for"),
    ],
)
def test_what_ends_the_call(sent: bytes, reason: DownReason, message: str) -> None:
    found = ended(sent)
    assert (found.reason, found.message) == (reason, message)


def test_a_goaway_that_lets_the_stream_go_on_is_remembered_and_ends_nothing() -> None:
    one = reader()
    one.feed(frame(frames.GOAWAY, 0, 0, b"\0\0\0\1" + bytes(4) + b"restarting") + data(grpc(b"x")))
    assert one.messages == [b"x"]
    assert one.goaway == "the target sent GOAWAY: code 0 restarting"


def test_headers_of_a_good_response_end_nothing_whole_or_in_parts() -> None:
    block = Encoder().encode([(":status", "200"), ("content-type", "application/grpc")])
    one = reader()
    one.feed(frame(frames.HEADERS, frames.END_HEADERS, STREAM_ID, block))
    first = frame(frames.HEADERS, 0, STREAM_ID, block[:2])
    one.feed(first + frame(frames.CONTINUATION, frames.END_HEADERS, STREAM_ID, block[2:]))
    prioritised = frame(frames.HEADERS, frames.END_HEADERS | frames.PRIORITY, STREAM_ID, bytes(5) + block)
    one.feed(prioritised + data(grpc(b"x")))
    assert one.messages == [b"x"]


def test_what_came_before_the_end_is_kept() -> None:
    one = reader()
    with pytest.raises(CallEnded):
        one.feed(SETTINGS + data(grpc(b"last")) + frame(frames.RST_STREAM, 0, STREAM_ID, bytes(4)))
    assert (one.pop_messages(), one.pop_replies()) == ([b"last"], SETTINGS_ACK)


def test_priorities_and_unknown_types_are_ignored() -> None:
    one = reader()
    one.feed(frame(frames.PRIORITY_FRAME, 0, 3, bytes(5)) + frame(0x21, 7, 9, b"new in a later version"))
    one.feed(frame(frames.WINDOW_UPDATE, 0, 0, b"\0\0\1\0") + data(grpc(b"x")))
    assert (one.messages, one.pop_replies()) == ([b"x"], b"")


def test_the_reserved_bit_of_a_stream_is_ignored() -> None:
    one = reader()
    one.feed(frame(frames.DATA, 0, STREAM_ID | 1 << 31, grpc(b"x")))
    assert one.messages == [b"x"]


@pytest.mark.parametrize(
    "sent",
    [
        frame(frames.DATA, 0, 3, grpc(b"x")),
        frame(frames.DATA, 0, 0, grpc(b"x")),
        frame(frames.DATA, frames.PADDED, 2, b"\0" + grpc(b"x")),
        frame(frames.HEADERS, frames.END_HEADERS, 3, Encoder().encode([("grpc-status", "16")])),
        frame(frames.HEADERS, 0, STREAM_ID, b"") + frame(frames.CONTINUATION, frames.END_HEADERS, 3, b""),
        frame(frames.RST_STREAM, 0, 3, bytes(4)),
        frame(frames.WINDOW_UPDATE, 0, 3, b"\0\0\1\0"),
        frame(frames.SETTINGS, 0, STREAM_ID, b""),
        frame(frames.PING, 0, STREAM_ID, bytes(8)),
        frame(frames.GOAWAY, 0, STREAM_ID, bytes(8)),
    ],
)
def test_a_frame_of_a_stream_that_nobody_opened_is_refused(sent: bytes) -> None:
    """Sections 5.1 and 6: on a connection with one stream and no push all others are idle."""
    one = reader()
    with pytest.raises(ValueError, match=r"frame of type \d on stream \d+, which is not open"):
        one.feed(sent)
    assert one.messages == []


@pytest.mark.parametrize(
    "sent",
    [
        frame(frames.PING, 0, 0, bytes(7)),
        frame(frames.PING, 0, 0, bytes(16_384)),
        frame(frames.SETTINGS, 0, 0, bytes(5)),
        frame(frames.SETTINGS, frames.ACK, 0, bytes(6)),
        frame(frames.RST_STREAM, 0, STREAM_ID, bytes(3)),
        frame(frames.WINDOW_UPDATE, 0, 0, bytes(5)),
        frame(frames.GOAWAY, 0, 0, bytes(7)),
        frame(frames.PRIORITY_FRAME, 0, STREAM_ID, bytes(4)),
    ],
)
def test_a_frame_of_the_wrong_size_is_refused(sent: bytes) -> None:
    with pytest.raises(ValueError, match=r"frame of type \d of \d+ bytes"):
        reader().feed(sent)


def test_push_was_not_allowed() -> None:
    with pytest.raises(ValueError, match="PUSH_PROMISE"):
        reader().feed(frame(frames.PUSH_PROMISE, frames.END_HEADERS, STREAM_ID, b"\0\0\0\2"))


def test_frames_without_data_are_allowed_by_time() -> None:
    ping, one = frame(frames.PING, frames.ACK, 0, bytes(8)), reader()
    one.feed(ping * frames.IDLE_FRAMES_MAX + data(grpc(b"x")) * 10)
    one.allow_idle_frames(2.0)
    one.feed(ping * 2 * frames.IDLE_FRAMES_PER_S)
    with pytest.raises(CallEnded, match="frames without data") as caught:
        one.feed(ping)
    assert caught.value.reason is DownReason.TOO_LARGE


def test_quiet_time_is_not_saved_up() -> None:
    one = reader()
    one.allow_idle_frames(86_400.0)
    with pytest.raises(CallEnded, match="frames without data"):
        one.feed(frame(frames.PING, frames.ACK, 0, bytes(8)) * (frames.IDLE_FRAMES_MAX + 1))


def test_small_parts_of_messages_are_as_few_as_frames_without_data() -> None:
    """A prefix in a frame of its own is usual; a message cut into bytes is not."""
    one = reader(message_bytes_max=2**16)
    one.feed((data(grpc(b"xy")[:5]) + data(b"xy")) * (2 * frames.IDLE_FRAMES_MAX))
    one.feed(data(grpc(bytes(2**15))[:16384]) + data(bytes(16384)) + data(bytes(5)))
    assert len(one.pop_messages()) == 2 * frames.IDLE_FRAMES_MAX + 1
    one.feed(data(grpc(bytes(2000))[:5]) + data(b"\0") * frames.IDLE_FRAMES_MAX)
    with pytest.raises(CallEnded, match="frames without data"):
        one.feed(data(b"\0"))


def test_headers_are_octets_and_need_not_be_text() -> None:
    one = reader()
    block = Encoder().encode([(b":status", b"200"), (b"server", b"gnmi \xb5\xff"), (b"x\xff", b"1")])
    one.feed(frame(frames.HEADERS, frames.END_HEADERS, STREAM_ID, block) + data(grpc(b"x")))
    assert one.messages == [b"x"]


def test_a_message_of_the_peer_that_is_no_text_is_shown_as_far_as_it_is() -> None:
    block = Encoder().encode([(b"grpc-status", b"7"), (b"grpc-message", b"b\xf6se")])
    found = ended(frame(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, STREAM_ID, block))
    assert (found.reason, found.message) == (DownReason.AUTH, r"b\xf6se")


@pytest.mark.parametrize(
    "sent",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        frame(frames.DATA, 0, STREAM_ID, bytes(frames.FRAME_BYTES_MAX + 1)),
        frame(frames.CONTINUATION, frames.END_HEADERS, STREAM_ID, b""),
        frame(frames.HEADERS, 0, STREAM_ID, b"") + data(b""),
        frame(frames.HEADERS, frames.END_HEADERS, STREAM_ID, b"\xff\xff\xff\xff\xff"),
        frame(frames.DATA, frames.PADDED, STREAM_ID, b""),
        frame(frames.DATA, frames.PADDED, STREAM_ID, b"\5abc"),
        frame(frames.HEADERS, 0, STREAM_ID, b"")
        + frame(frames.CONTINUATION, 0, STREAM_ID, bytes(frames.FRAME_BYTES_MAX)) * 5,
    ],
)
def test_what_is_not_http2_is_refused(sent: bytes) -> None:
    with pytest.raises(ValueError, match=r"frame|header|continuation"):
        reader().feed(sent)
