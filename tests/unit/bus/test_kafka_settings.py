"""What Kafka is asked for: connections, topics, and what its answers mean."""

from pathlib import Path
from typing import Any

import pytest
from aiokafka import TopicPartition

from bus.config import EmbeddedConfig, KafkaConfig
from bus.kafka.client import connection_settings
from bus.kafka.consumer import _gap
from bus.kafka.topics import _settings, wrong_partitions
from telemetry.topics import Topic

COMMON = {
    "min.insync.replicas": "1",
    "max.message.bytes": "4263936",
    "compression.type": "producer",
    "message.timestamp.type": "LogAppendTime",
}


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        (
            Topic("t", retention_s=600),
            {"cleanup.policy": "delete", "retention.ms": "600000", "retention.bytes": "1000", "segment.ms": "100000"},
        ),
        (
            Topic("t", retention_s=1),
            {"cleanup.policy": "delete", "retention.ms": "1000", "retention.bytes": "1000", "segment.ms": "1000"},
        ),
        (
            Topic("t", compacted=True, retention_s=60),
            {
                "cleanup.policy": "compact",
                "min.compaction.lag.ms": "60000",
                "delete.retention.ms": "7500",
                "min.cleanable.dirty.ratio": "0.1",
                "segment.ms": "3600000",
            },
        ),
    ],
    ids=["kept for a time", "kept for a second", "compacted"],
)
def test_topics_are_made_with_our_retention(topic: Topic, expected: dict[str, str]) -> None:
    assert _settings(topic, KafkaConfig(partition_bytes_max=1000, tombstone_s=7.5), replicas=1) == COMMON | expected


@pytest.mark.parametrize(("replicas", "in_sync"), [(1, "1"), (2, "1"), (3, "2"), (5, "2")])
def test_of_three_replicas_two_have_what_is_acknowledged(replicas: int, in_sync: str) -> None:
    assert _settings(Topic("t"), KafkaConfig(), replicas)["min.insync.replicas"] == in_sync


def test_a_topic_with_other_partitions_is_named() -> None:
    assert str(wrong_partitions(Topic("t", partitions=4), 3)) == "topic t: 3 partitions on the broker, expected 4"


@pytest.mark.parametrize(
    ("security", "protocol", "encrypted", "signed_in"),
    [
        ("plaintext", "PLAINTEXT", False, False),
        ("tls", "SSL", True, False),
        ("sasl_plaintext", "SASL_PLAINTEXT", False, True),
        ("sasl_tls", "SASL_SSL", True, True),
    ],
)
def test_a_connection_is_as_secure_as_configured(
    security: Any, protocol: str, encrypted: bool, signed_in: bool
) -> None:
    config = KafkaConfig(security=security, username="me", password="canary", attempt_deadline_s=2.5)
    settings = connection_settings(config)
    assert (settings["security_protocol"], settings["request_timeout_ms"]) == (protocol, 2500)
    assert ("ssl_context" in settings) is encrypted
    assert ("sasl_plain_password" in settings) is signed_in
    if signed_in:
        assert settings["sasl_mechanism"] == "SCRAM-SHA-512"
        assert (settings["sasl_plain_username"], settings["sasl_plain_password"]) == ("me", "canary")


@pytest.mark.parametrize(
    ("position", "begin", "end", "lost"),
    [
        (4, 10, 20, (4, 9)),  # retention has passed it
        (9, 10, 20, (9, 9)),
        (25, 0, 20, (20, 24)),  # the log was cut, or replaced by a shorter one
        (21, 0, 20, (20, 20)),
    ],
)
def test_what_is_lost_when_the_position_is_outside_the_log(
    position: int, begin: int, end: int, lost: tuple[int, int]
) -> None:
    gap = _gap(TopicPartition("t", 2), position, begin, end)
    assert (gap.topic, gap.partition, (gap.first, gap.last)) == ("t", 2, lost)


def test_the_old_key_of_retention_is_accepted() -> None:
    assert EmbeddedConfig.model_validate({"upkeep_interval_s": 3}) == EmbeddedConfig(retention_interval_s=3)


def test_flat_keys_are_one_tls_configuration() -> None:
    tls = KafkaConfig(ca_file=Path("ca"), cert_file=Path("c"), key_file=Path("k")).tls
    assert tls.files == {"ca_file": Path("ca"), "cert_file": Path("c"), "key_file": Path("k")}
