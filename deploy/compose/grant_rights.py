"""Makes the topics, and grants each stage what it does with them: ``grant_rights.py SETTINGS``, as the super user.

The service "rights" of docker-compose.secure.yml runs it before the stages. It may run again at any time; what it no
longer grants stays granted until ``kafka-acls.sh --remove``.
"""

import asyncio
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import NoError, for_code
from aiokafka.protocol.admin import CreateAclsRequest

from bus.config import KafkaConfig
from bus.kafka.client import close_with_timeout, connection_settings, start_client, within
from bus.kafka.topics import ensure_topics
from common.errors import ConfigError, Unavailable
from fabricscope.settings import load_settings
from telemetry import topics
from telemetry.topics import Topic

READS: Mapping[str, tuple[Topic, ...]] = {
    "analytics": (topics.SAMPLES, topics.TOPOLOGY, topics.CHANGES, topics.OWNERS),
    "ingest": (topics.OWNERS,),
    "alerts": (topics.INCIDENTS, topics.LEDGER, topics.OWNERS),
    "export": (
        *(topics.SAMPLES, topics.FINDINGS, topics.INCIDENTS),
        *(topics.TOPOLOGY, topics.CHANGES, topics.OWNERS),
    ),
    "recorder": (topics.SAMPLES, topics.TOPOLOGY, topics.CHANGES),
    "api": tuple(topic for topic in topics.ALL if topic not in (topics.OWNERS, topics.DEADLETTER)),
}
WRITES: Mapping[str, tuple[Topic, ...]] = {
    "ingest": (topics.SAMPLES, topics.TOPOLOGY, topics.CHANGES, topics.OWNERS, topics.LEDGER),
    "analytics": (
        *(topics.FINDINGS, topics.INCIDENTS, topics.STARVATION, topics.TRENDS, topics.EVENTS),
        *(topics.OWNERS, topics.LEDGER, topics.DEADLETTER),
    ),
    "alerts": (topics.OWNERS, topics.LEDGER, topics.DEADLETTER),
    "export": (topics.OWNERS, topics.LEDGER, topics.DEADLETTER),
    "recorder": (topics.DEADLETTER,),
    "api": (topics.CHANGES, topics.DEADLETTER),  # planned work that people post
}
# Numbers of Kafka's protocol: operations, kinds of resource, literal names, permission. Read and Write imply Describe.
_READ, _WRITE, _IDEMPOTENT_WRITE = 3, 4, 12
_TOPIC, _CLUSTER, _LITERAL, _ALLOW = 2, 4, 3, 3


class Right(NamedTuple):
    """What one user may do with one resource, in numbers of Kafka's protocol."""

    user: str
    operation: int
    kind: int
    resource: str


async def grant(config: KafkaConfig) -> None:
    """Unavailable when the broker does not answer or refuses."""
    await ensure_topics(config, list(topics.ALL))
    admin = AIOKafkaAdminClient(**connection_settings(config))
    try:
        await start_client(config, admin.start())
        for right in _rights():
            await within(config.attempt_deadline_s, _allow(admin, right))
    finally:
        await close_with_timeout(admin.close(), seconds=1)


def _rights() -> Iterator[Right]:
    for operation, granted in ((_READ, READS), (_WRITE, WRITES)):
        for user, names in granted.items():
            yield from (Right(user, operation, _TOPIC, topic.name) for topic in names)
    # The bus of every stage opens a producer, which asks for a number of its own. Who may write some topic may have
    # one; for the others this right lets nothing be written.
    for user in READS.keys() - WRITES.keys():
        yield Right(user, _IDEMPOTENT_WRITE, _CLUSTER, "kafka-cluster")


async def _allow(admin: Any, right: Right) -> None:
    request = CreateAclsRequest(
        right.kind, right.resource, _LITERAL, f"User:{right.user}", "*", right.operation, _ALLOW
    )
    response = await admin._send_request(request)
    for code, detail in response.creation_responses:
        if for_code(code) is not NoError:
            raise Unavailable(f"{right}: {for_code(code).__name__}: {detail}")


if __name__ == "__main__":
    try:
        asyncio.run(grant(load_settings(Path(sys.argv[1])).bus.kafka))
    except (ConfigError, Unavailable) as error:
        sys.exit(str(error))
