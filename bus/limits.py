"""What both engines check of messages before they take them."""

from collections.abc import Sequence

from bus.base import MESSAGE_BYTES_MAX, Message
from common.errors import BadInput

HEADERS_BYTES_MAX = 64 * 1024


def bytes_of(messages: Sequence[Message]) -> int:
    """All keys, values and headers; BadInput (reason ``too_large``) when one message is above a limit."""
    total = 0
    for message in messages:
        size = len(message.key) + len(message.value or b"")
        if size > MESSAGE_BYTES_MAX:
            raise BadInput(f"message of {size} bytes: at most {MESSAGE_BYTES_MAX}", "too_large")
        headers = sum(len(name) + len(value) for name, value in message.headers.items())
        if headers > HEADERS_BYTES_MAX:
            raise BadInput(f"headers of {headers} bytes: at most {HEADERS_BYTES_MAX}", "too_large")
        total += size + headers
    return total
