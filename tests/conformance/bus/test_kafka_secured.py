"""The Kafka engine and a broker that wants TLS and a password: who is let in, and what the others are answered."""

import asyncio
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest

from bus.config import BusConfig, KafkaConfig
from common.errors import Unauthorized, Unavailable
from tests.conformance.bus.publishing import published, refusal
from tests.conformance.bus.reading import fresh_topic, numbered, numbers, read, running
from tests.servers.kafka import KafkaServer
from tests.waiting import until

PASSWORD, OTHER, WRONG = "canary-4711", "canary-5822", "canary-9999"


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaServer]:
    with tempfile.TemporaryDirectory() as folder:
        started = KafkaServer(folder, users={"admin": "for-the-broker", "fabricscope": PASSWORD})
        started.start()
        yield started
        started.stop()


def signed_in(broker: KafkaServer, **changes: Any) -> BusConfig:
    settings = {
        "security": "sasl_tls",
        "sasl_mechanism": "PLAIN",
        "username": "fabricscope",
        "password": PASSWORD,
        "ca_file": broker.ca_file,
        "publish_deadline_s": 3,
    }
    return BusConfig(kind="kafka", kafka=KafkaConfig(bootstrap=(broker.address,), **(settings | changes)))


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
async def test_the_right_password_opens_it(broker: KafkaServer, mechanism: str) -> None:
    topic = fresh_topic()
    async with running(signed_in(broker, sasl_mechanism=mechanism, publish_deadline_s=30)) as bus:
        await bus.publish(topic, numbered(5))
        assert numbers(await read(bus.consume([topic], {}), 5)) == list(range(5))


@pytest.mark.parametrize(
    "changes",
    [
        {"password": WRONG},
        {"password": WRONG, "sasl_mechanism": "SCRAM-SHA-512"},
        {"username": "nobody"},
        {"sasl_mechanism": "SCRAM-SHA-256"},
    ],
    ids=["password", "SCRAM password", "user", "mechanism"],
)
async def test_wrong_credentials_differ_from_a_broker_that_is_away(
    broker: KafkaServer, changes: dict[str, Any]
) -> None:
    words = f"{broker.address}: authentication of user .* failed: .*; check sasl_mechanism, username and password"
    async with running(signed_in(broker, **changes)) as bus:
        with pytest.raises(Unauthorized, match=words) as refusal:
            await bus.publish(fresh_topic(), numbered(1))
        assert "authentication" in (bus.problem() or "")
        assert "canary" not in f"{refusal.value} {bus.problem()}"
        with pytest.raises(Unauthorized, match="authentication"):
            await bus.offsets_since([fresh_topic()], 0)


async def test_a_reader_with_a_wrong_password_says_so(broker: KafkaServer) -> None:
    async with running(signed_in(broker, password=WRONG)) as bus:
        reader = bus.consume([fresh_topic()], {})
        assert await reader.poll(wait_s=0.1) == []
        await until(lambda: "authentication" in (getattr(reader, "problem", None) or ""))


@pytest.mark.parametrize(
    "changes",
    [{"ca_file": None}, {"security": "plaintext"}],
    ids=["an authority that is not known", "no encryption"],
)
async def test_a_broker_that_is_not_spoken_to_is_unavailable(broker: KafkaServer, changes: dict[str, Any]) -> None:
    async with running(signed_in(broker, **changes)) as bus:
        with pytest.raises(Unavailable) as failure:
            await bus.publish(fresh_topic(), numbered(1))
        assert not isinstance(failure.value, Unauthorized)
        assert "canary" not in f"{failure.value} {bus.problem()}"


async def test_a_password_that_is_fixed_is_read_again(broker: KafkaServer, tmp_path: Any) -> None:
    file = tmp_path / "password"
    file.write_text(WRONG)
    topic = fresh_topic()
    async with running(signed_in(broker, password=None, password_file=file)) as bus:
        with pytest.raises(Unauthorized):
            await bus.publish(topic, numbered(1))
        file.write_text(PASSWORD)
        await until(lambda: bus.problem() is None)
        await published(bus, topic)


async def test_a_password_that_is_changed_on_the_broker_is_a_refusal_until_ours_is_changed_too(
    broker: KafkaServer, tmp_path: Any
) -> None:
    file, settings = tmp_path / "password", broker.folder / "server.properties"
    file.write_text(PASSWORD)
    topic, before = fresh_topic(), settings.read_text()
    async with running(signed_in(broker, password=None, password_file=file, attempt_deadline_s=1)) as bus:
        await published(bus, topic)
        settings.write_text(before.replace(PASSWORD, OTHER))
        try:
            await asyncio.to_thread(broker.restart)
            assert "authentication" in await refusal(bus, topic)
            file.write_text(OTHER)
            await published(bus, topic)
        finally:
            settings.write_text(before)
            await asyncio.to_thread(broker.restart)
