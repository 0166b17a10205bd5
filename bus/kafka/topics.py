"""Makes topics that are missing, and refuses those that differ from what the code expects."""

from typing import Any

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError, NoError, TopicAlreadyExistsError, for_code

from bus.base import MESSAGE_BYTES_MAX
from bus.config import KafkaConfig
from bus.kafka.client import close_with_timeout, connection_settings, start_client, within
from bus.limits import HEADERS_BYTES_MAX
from common.errors import ConfigError, Unavailable
from telemetry.topics import Topic

RECORD_BYTES_MAX = MESSAGE_BYTES_MAX + HEADERS_BYTES_MAX + 4096
"""A record at our limits with Kafka's framing around it."""


async def ensure_topics(config: KafkaConfig, topics: list[Topic]) -> None:
    """Unavailable when the cluster does not answer or refuses; ConfigError when a topic has other partitions."""
    admin = AIOKafkaAdminClient(**connection_settings(config))
    try:
        await start_client(config, admin.start())
        await within(config.attempt_deadline_s, _ensure(config, topics, admin))
    except (KafkaError, OSError, AttributeError) as error:  # AttributeError: aiokafka, while no controller is known
        raise Unavailable(f"topics cannot be made: {error!r}") from error
    finally:
        await close_with_timeout(admin.close(), seconds=1)


async def _ensure(config: KafkaConfig, topics: list[Topic], admin: Any) -> None:
    found = await _partitions(admin, topics)
    missing = [topic for topic in topics if topic.name not in found]
    if missing:
        brokers = len((await admin.describe_cluster())["brokers"])
        replicas = config.replication or min(3, brokers)
        wanted = [
            NewTopic(t.name, t.partitions, replicas, topic_configs=_settings(t, config, replicas)) for t in missing
        ]
        response = await admin.create_topics(wanted)
        for name, code, *detail in response.topic_errors:
            if for_code(code) not in (NoError, TopicAlreadyExistsError):
                raise Unavailable(f"topic {name} cannot be made: {for_code(code).__name__} {detail}")
    for topic in topics:
        if found.get(topic.name, topic.partitions) != topic.partitions:
            raise wrong_partitions(topic, found[topic.name])


def wrong_partitions(topic: Topic, found: int) -> ConfigError:
    """Another number of partitions would scatter the records of one key."""
    return ConfigError(f"topic {topic.name}: {found} partitions on the broker, expected {topic.partitions}")


async def _partitions(admin: Any, topics: list[Topic]) -> dict[str, int]:
    """The number of partitions of those topics that are there."""
    described = await admin.describe_topics([topic.name for topic in topics])
    return {each["topic"]: len(each["partitions"]) for each in described if for_code(each["error_code"]) is NoError}


def _settings(topic: Topic, config: KafkaConfig, replicas: int) -> dict[str, str]:
    settings: dict[str, int | str] = {
        # What is acknowledged outlives the loss of a broker, where one of three may be away; as Kafka's documentation
        # recommends it for acks=all.
        "min.insync.replicas": 2 if replicas >= 3 else 1,
        "max.message.bytes": RECORD_BYTES_MAX,
        "compression.type": "producer",  # the broker must not compress: aiokafka cannot read every codec of a broker
        "message.timestamp.type": "LogAppendTime",
    }
    if topic.compacted:
        settings |= {
            "cleanup.policy": "compact",
            "min.compaction.lag.ms": topic.retention_s * 1000,
            "delete.retention.ms": int(config.tombstone_s * 1000),
            "min.cleanable.dirty.ratio": "0.1",
            "segment.ms": 3600 * 1000,
        }
    else:
        retention_ms = topic.retention_s * 1000
        settings |= {
            "cleanup.policy": "delete",
            "retention.ms": retention_ms,
            "retention.bytes": config.partition_bytes_max,
            # Kafka deletes whole closed segments: without this, retention would come a week late.
            "segment.ms": max(1000, retention_ms // 6),
        }
    return {name: str(value) for name, value in settings.items()}
