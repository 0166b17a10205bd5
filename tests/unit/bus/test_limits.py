"""What both engines check of messages before they accept them."""

import pytest

from bus.base import MESSAGE_BYTES_MAX, Message
from bus.limits import HEADERS_BYTES_MAX, bytes_of
from common.errors import BadInput


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([], 0),
        ([Message(b"", b"")], 0),
        ([Message(b"key", b"value")], 8),
        ([Message(b"key", None)], 3),
        ([Message(b"k", b"v", {"name": b"12", "n": b""})], 9),
        ([Message(b"k", b"v"), Message(b"k", b"v")], 4),
        ([Message(b"k", bytes(MESSAGE_BYTES_MAX - 1))], MESSAGE_BYTES_MAX),
        ([Message(b"", b"", {"n": bytes(HEADERS_BYTES_MAX - 1)})], HEADERS_BYTES_MAX),
    ],
)
def test_keys_values_and_headers_count(messages: list[Message], expected: int) -> None:
    assert bytes_of(messages) == expected


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (Message(b"k", bytes(MESSAGE_BYTES_MAX)), "message of 4194305 bytes: at most 4194304"),
        (Message(bytes(MESSAGE_BYTES_MAX + 1), None), "message of 4194305 bytes: at most 4194304"),
        (Message(b"", b"", {"n": bytes(HEADERS_BYTES_MAX)}), "headers of 65537 bytes: at most 65536"),
        (Message(b"", b"", {"a" * 40_000: b"", "b" * 40_000: b""}), "headers of 80000 bytes: at most 65536"),
    ],
)
def test_one_message_above_a_limit_is_refused_with_all_that_come_with_it(message: Message, text: str) -> None:
    with pytest.raises(BadInput, match=text) as error:
        bytes_of([Message(b"k", b"small"), message])
    assert error.value.reason == "too_large"
