"""What the settings of the bus accept and refuse."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from bus.config import BusConfig, KafkaConfig
from bus.embedded.bus import EmbeddedBus
from bus.kafka.bus import KafkaBus
from bus.kafka.client import connection_settings
from bus.open import open_bus
from common.errors import ConfigError

FAR = ["kafka.example.org:9092"]
SASL = {"username": "fabricscope", "password": "canary-4711"}


def test_the_default_is_the_embedded_engine() -> None:
    assert isinstance(open_bus(BusConfig()), EmbeddedBus)


async def test_kafka_when_asked_for() -> None:
    assert isinstance(open_bus(BusConfig(kind="kafka")), KafkaBus)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"bootstrap": FAR}, "expected 'tls' or 'sasl_tls', or insecure: true"),
        ({"bootstrap": FAR, "security": "sasl_plaintext", **SASL}, "expected 'tls' or 'sasl_tls', or insecure: true"),
        ({"bootstrap": ["127.0.0.1:9092", *FAR]}, "kafka.example.org:9092"),
        ({"bootstrap": ["localhost.evil.org:9092"]}, "localhost.evil.org"),
        ({"bootstrap": ["kafka"]}, "expected host:port"),
        ({"bootstrap": []}, "bootstrap"),
        ({"security": "sasl_tls"}, "expected username, and password or password_file"),
        ({"security": "tls", "cert_file": "a.pem"}, "expected both or none"),
        ({"brokers": FAR}, "brokers"),
    ],
)
def test_refused(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint.replace(".", r"\.")) as refusal:
        KafkaConfig.model_validate(settings)
    assert "canary" not in str(refusal.value.errors(include_input=False))


@pytest.mark.parametrize(
    ("settings", "exposed"),
    [
        ({}, False),
        ({"bootstrap": ["127.1.2.3:9092", "[::1]:9092", "localhost:9092"]}, False),
        ({"bootstrap": FAR, "security": "tls"}, False),
        ({"bootstrap": FAR, "insecure": True}, True),
    ],
)
def test_accepted(settings: dict[str, Any], exposed: bool) -> None:
    assert KafkaConfig.model_validate(settings).exposed is exposed


def test_a_password_file_is_read_and_never_shown(tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("canary-4711\n")
    settings: dict[str, Any] = {"security": "sasl_tls", "username": "f", "password_file": secret}
    config = KafkaConfig.model_validate(settings)
    assert connection_settings(config)["sasl_plain_password"] == "canary-4711"
    assert "canary" not in repr(KafkaConfig.model_validate({"security": "sasl_tls", **SASL}))
    secret.unlink()
    with pytest.raises(ConfigError, match="password_file"):
        connection_settings(config)


def test_certificates_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="ca_file"):
        connection_settings(KafkaConfig(security="tls", ca_file=tmp_path / "missing.pem"))
