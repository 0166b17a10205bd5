"""Each stage's user on the broker of docker-compose.secure.yml: what a stage does is allowed, and nothing else is."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import (
    ClusterAuthorizationFailedError,
    KafkaError,
    NoError,
    TopicAuthorizationFailedError,
    for_code,
)
from aiokafka.protocol.admin import CreateAclsRequest, DeleteAclsRequest, DeleteRecordsRequest
from aiokafka.protocol.fetch import FetchRequest

from analytics.stage_topics import StageTopics
from bus.base import Message
from bus.config import BusConfig, KafkaConfig
from bus.kafka.client import connection_settings
from common.errors import Unauthorized
from deploy.compose.grant_rights import READS, WRITES, grant
from fabricscope.api.read_model import ReadModel
from fabricscope.stages import Stage
from recordings.service import TOPICS as RECORDED
from telemetry import topics
from telemetry.topics import Topic
from tests.conformance.bus.publishing import published, refusal
from tests.conformance.bus.reading import read, running
from tests.servers.secured_kafka import SecuredKafka

STAGES = [stage.value for stage in Stage]
DENIED = (TopicAuthorizationFailedError, ClusterAuthorizationFailedError)
FOREIGN = Topic("payroll.v1")


@pytest.fixture(scope="module")
def secured_kafka() -> Iterator[SecuredKafka]:
    with tempfile.TemporaryDirectory() as folder:
        server = SecuredKafka(folder)
        server.start()
        try:
            asyncio.run(grant(server.config("admin")))
            yield server
        finally:
            server.stop()


@asynccontextmanager
async def admin_client(config: KafkaConfig) -> AsyncIterator[Any]:
    client = AIOKafkaAdminClient(**connection_settings(config))
    try:
        await client.start()
        yield client
    finally:
        await client.close()


def as_bus(config: KafkaConfig) -> BusConfig:
    return BusConfig(kind="kafka", kafka=config)


def test_the_rights_are_those_of_stages_that_exist() -> None:
    assert READS.keys() | WRITES.keys() == set(STAGES)


def test_what_the_code_reads_and_writes_is_granted() -> None:
    live = StageTopics()
    read_only = {live.samples, live.topology, live.changes}
    assert set(READS["analytics"]) == {*read_only, live.owners}
    assert set(WRITES["analytics"]) == set(live) - read_only
    assert all(live.owners in READS[stage] and live.owners in WRITES[stage] for stage in ("ingest", "alerts", "export"))
    assert set(READS["recorder"]) == set(RECORDED)
    assert set(READS["api"]) == set(ReadModel.TOPICS)


async def test_each_stage_writes_its_topics_and_reads_those_of_others(secured_kafka: SecuredKafka) -> None:
    written: dict[str, int] = dict.fromkeys((topic.name for topic in topics.ALL), 0)
    for user, own in WRITES.items():
        async with running(as_bus(secured_kafka.config(user))) as bus:
            for topic in own:
                await bus.publish(topic, [Message(user.encode(), b"")])
                written[topic.name] += 1
    assert all(written.values()), "every topic has a writer"
    for user, others in READS.items():
        async with running(as_bus(secured_kafka.config(user))) as bus:
            since = await bus.offsets_since(others, 0)
            assert {topic for topic, _ in since} == {topic.name for topic in others}
            found = await read(bus.consume(list(others), {}), sum(written[topic.name] for topic in others))
            assert {record.topic for record in found} == {topic.name for topic in others}
            assert bus.problem() is None


@pytest.mark.parametrize("user", STAGES)
async def test_no_stage_writes_another_topic(secured_kafka: SecuredKafka, user: str) -> None:
    await make_foreign_topic(secured_kafka)
    refused = set()
    producer = AIOKafkaProducer(**connection_settings(secured_kafka.config(user)), acks="all")
    await producer.start()
    try:
        for topic in (*topics.ALL, FOREIGN):
            if topic not in WRITES.get(user, ()):
                with pytest.raises(TopicAuthorizationFailedError):
                    await producer.send_and_wait(topic.name, b"", key=b"forged", partition=0)
                refused.add(topic)
    finally:
        await producer.stop()
    assert refused == {*topics.ALL, FOREIGN} - set(WRITES.get(user, ()))


@pytest.mark.parametrize("user", STAGES)
async def test_no_stage_reads_another_topic(secured_kafka: SecuredKafka, user: str) -> None:
    """The bytes themselves are asked for: clients look at other answers first."""
    await make_foreign_topic(secured_kafka)
    async with admin_client(secured_kafka.config(user)) as client:
        answers = {topic: await fetch_error(client, topic) for topic in (*topics.ALL, FOREIGN)}
    expected = {topic: NoError if topic in READS.get(user, ()) else TopicAuthorizationFailedError for topic in answers}
    assert answers == expected


async def fetch_error(client: Any, topic: Topic) -> type[KafkaError]:
    """What the broker answers to a request for the records of partition 0 from offset 0."""
    wanted = FetchRequest(0, 0, 1 << 20, 0, [(topic.name, [(0, 0, 1 << 20)])])
    response = await client._send_request(wanted)
    ((_, ((_, code, *_),)),) = response.topics
    error: type[KafkaError] = for_code(code)
    return error


async def make_foreign_topic(broker: SecuredKafka) -> None:
    async with admin_client(broker.config("admin")) as client:
        await client.create_topics([NewTopic(FOREIGN.name, FOREIGN.partitions, 1)])


@pytest.mark.parametrize("user", STAGES)
async def test_no_stage_changes_topics_rights_or_the_broker(secured_kafka: SecuredKafka, user: str) -> None:
    samples = topics.SAMPLES.name
    async with admin_client(secured_kafka.config(user)) as client:
        await client.describe_cluster()  # so that a refusal below is no lost connection
        for name in ("fabricscope.samples.v2", "other.v1"):
            created = await client.create_topics([NewTopic(name, 1, 1)])
            assert for_code(created.topic_errors[0][1]) in DENIED
        deleted = await client.delete_topics([samples])
        assert for_code(deleted.topic_error_codes[0][1]) is TopicAuthorizationFailedError
        with pytest.raises(DENIED):
            await client.create_partitions({samples: NewPartitions(8)})
        emptied = await client._send_request(DeleteRecordsRequest([(samples, [(0, 1)])], 5000))
        ((_, ((_, _, code, *_),), *_),) = emptied.topics
        assert for_code(code) is TopicAuthorizationFailedError
        for kind, name in ((ConfigResourceType.TOPIC, samples), (ConfigResourceType.BROKER, "1")):
            responses = await client.alter_configs([ConfigResource(kind, name, {"retention.ms": "1"})])
            assert {for_code(one[0]) for answer in responses for one in answer.resources} <= set(DENIED)
        right = CreateAclsRequest(2, samples, 3, f"User:{user}", "*", 2, 3)
        granted = await client._send_request(right)
        assert for_code(granted.creation_responses[0][0]) is ClusterAuthorizationFailedError


async def test_a_refused_publish_names_the_topic(secured_kafka: SecuredKafka) -> None:
    async with running(as_bus(secured_kafka.config("recorder"))) as bus:
        with pytest.raises(Unauthorized, match=topics.SAMPLES.name):
            await bus.publish(topics.SAMPLES, [Message(b"leaf1", b"")])


@pytest.mark.parametrize(
    "changes",
    [
        {"password_file": "analytics.password"},
        {"sasl_mechanism": "PLAIN", "username": "admin", "password_file": "admin.password"},
    ],
    ids=["another stage's password", "the controller's mechanism"],
)
async def test_other_credentials_are_refused(secured_kafka: SecuredKafka, changes: dict[str, str]) -> None:
    file = secured_kafka.secrets / changes["password_file"]
    config = secured_kafka.config("ingest", **{"publish_deadline_s": 5, **changes, "password_file": file})
    async with running(as_bus(config)) as bus:
        with pytest.raises(Unauthorized, match="authentication"):
            await bus.publish(topics.SAMPLES, [Message(b"leaf1", b"")])


async def test_a_right_that_is_taken_away_is_missed_by_name_and_used_again_when_it_is_back(
    secured_kafka: SecuredKafka,
) -> None:
    message = Message(b"leaf1", b"")
    async with running(as_bus(secured_kafka.config("ingest"))) as bus:
        await bus.publish(topics.SAMPLES, [message])
        await take_away(secured_kafka, "ingest", topics.SAMPLES)
        assert topics.SAMPLES.name in await refusal(bus, topics.SAMPLES)
        await bus.publish(topics.LEDGER, [message])
        await grant(secured_kafka.config("admin"))
        await published(bus, topics.SAMPLES)


async def take_away(broker: SecuredKafka, user: str, topic: Topic) -> None:
    """The right to write it."""
    async with admin_client(broker.config("admin")) as client:
        response = await client._send_request(DeleteAclsRequest(2, topic.name, 3, f"User:{user}", "*", 4, 3))
    ((code, _, matching),) = response.filter_responses
    assert (for_code(code), len(matching)) == (NoError, 1)


async def test_rights_may_be_granted_again(secured_kafka: SecuredKafka) -> None:
    await grant(secured_kafka.config("admin"))
