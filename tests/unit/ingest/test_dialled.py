"""Messages that one read of a call gave, by the device that each is for."""

import pytest

from ingest.collectors.dialled import _by_node
from ingest.transport.grpc_messages import CallEnded
from telemetry.samples import DownReason


def unwrap(message: bytes) -> tuple[str, bytes] | None:
    """``node:body``; nothing for a part of one."""
    if message == b"bad":
        raise CallEnded(DownReason.BAD_FORMAT, "no message")
    node, colon, body = message.decode().partition(":")
    return (node, body.encode()) if colon else None


def test_messages_of_one_device_that_follow_each_other_are_together() -> None:
    sent = [b"a:1", b"a:2", b"part", b"b:3", b"a:4"]
    assert list(_by_node(sent, unwrap)) == [("a", [b"1", b"2"]), ("b", [b"3"]), ("a", [b"4"])]
    assert list(_by_node([b"part"], unwrap)) == []


def test_what_came_before_the_end_of_a_call_is_kept() -> None:
    groups = _by_node([b"a:1", b"b:2", b"bad", b"b:3"], unwrap)
    assert [next(groups), next(groups)] == [("a", [b"1"]), ("b", [b"2"])]
    with pytest.raises(CallEnded, match="no message"):
        next(groups)
