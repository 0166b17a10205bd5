"""How a stage reports what it has counted to the ledger."""

import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType

from bus.base import Message
from common.errors import Unavailable
from telemetry import topics
from telemetry.codec.records import encode_record
from telemetry.ledger import StageReport
from telemetry.topics import Topic

Publish = Callable[[Topic, Sequence[Message]], Awaitable[None]]  # as Bus.publish


async def publish_report(
    publish: Publish,
    report: StageReport,
    topic: Topic = topics.LEDGER,
    headers: Mapping[str, bytes] = MappingProxyType({}),
) -> None:
    """One record for each stage process, which its next report replaces; a bus that is away misses this one."""
    key = f"{report.stage}/{report.instance}".encode()
    with contextlib.suppress(Unavailable):  # counts are since the start: the next report has them all
        await publish(topic, [Message(key, encode_record(report), headers)])
