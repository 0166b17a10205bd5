"""Settings of the bus: the key ``bus`` of the settings file."""

import ipaddress
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

from common.renamed import accept_renamed
from common.tls import TlsConfig, check_pair

Security = Literal["plaintext", "tls", "sasl_plaintext", "sasl_tls"]


def _is_loopback(address: str) -> bool:
    host = address.rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class EmbeddedConfig(BaseModel):
    """The log in one SQLite file, on a local disk: processes of one machine share it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: Path = Field(Path("data/bus.sqlite"), description="the file; its folder is made when missing")
    commit_interval_ms: float = Field(20, ge=0, le=100, description="least time between two commits")
    poll_interval_ms: float = Field(40, ge=5, le=1000, description="how often readers look for new records")
    publish_deadline_s: float = Field(30, gt=0, description="publish gives up after this")
    queue_bytes_max: int = Field(64 << 20, gt=0, description="publishes that wait for the disk")
    log_bytes_max: int = Field(8 << 30, gt=0, description="the oldest records go when the file holds more than this")
    retention_interval_s: float = Field(10, gt=0, description="how often retention and compaction run")
    tombstone_s: float = Field(24 * 3600, ge=0, description="a compacted topic keeps tombstones this long")

    @model_validator(mode="before")
    @classmethod
    def _accept_renamed(cls, settings: Any) -> Any:
        return accept_renamed(settings, {"upkeep_interval_s": "retention_interval_s"})


class KafkaConnection(BaseModel):
    """How to reach Kafka brokers. Off loopback the connection is encrypted and checked, unless ``insecure`` says
    otherwise.

    section: where these settings stand, for errors.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    section: ClassVar[str] = "kafka"

    bootstrap: tuple[str, ...] = Field(("127.0.0.1:9092",), min_length=1, description="host:port of some brokers")
    security: Security = Field(
        "plaintext", description="plaintext, tls, sasl_plaintext or sasl_tls; sasl needs a user name and a password"
    )
    insecure: bool = Field(False, description="allows an unencrypted connection off loopback; warns at every start")
    ca_file: Path | None = Field(None, description="certificates that sign the brokers'; default: the system's")
    cert_file: Path | None = Field(None, description="our own certificate, for mutual TLS")
    key_file: Path | None = Field(None, description="its key")
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = Field(
        "SCRAM-SHA-512", description="PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512, as the broker has it"
    )
    username: str | None = Field(None, description="of this stage, for sasl")
    password: SecretStr | None = Field(None, description="its password; better in password_file")
    password_file: Path | None = Field(None, description="read at every connection, so that it can rotate")
    client_id: str = Field("fabricscope", description="our name in the broker's logs and metrics")
    attempt_deadline_s: float = Field(
        10, gt=0, description="one attempt of a request to one broker; then the client is rebuilt"
    )
    stall_s: float = Field(
        30, gt=0, description="a consumer that brings nothing for so long while records wait is rebuilt"
    )

    @model_validator(mode="after")
    def _is_safe_and_complete(self) -> Self:
        for address in self.bootstrap:
            if not address.rpartition(":")[0] or not address.rpartition(":")[2].isdigit():
                raise ValueError(f"bootstrap {address!r}: expected host:port")
        if not self.encrypted and not self.insecure and (far := [a for a in self.bootstrap if not _is_loopback(a)]):
            raise ValueError(
                f"security {self.security!r} to {', '.join(far)}: expected 'tls' or 'sasl_tls', or insecure: true"
            )
        if self.security.startswith("sasl") and not (self.username and (self.password or self.password_file)):
            raise ValueError(f"security {self.security!r}: expected username, and password or password_file")
        check_pair(self.cert_file, self.key_file)
        return self

    @property
    def tls(self) -> TlsConfig:
        """Its flat keys are librdkafka's; a name other than the broker's address is not supported by aiokafka."""
        return TlsConfig(ca_file=self.ca_file, cert_file=self.cert_file, key_file=self.key_file)

    @property
    def encrypted(self) -> bool:
        return self.security in ("tls", "sasl_tls")

    @property
    def exposed(self) -> bool:
        """Whether records, and perhaps the password, cross a network unencrypted."""
        return not self.encrypted and not all(map(_is_loopback, self.bootstrap))


class KafkaConfig(KafkaConnection):
    """The brokers that carry the bus, and what is written there."""

    section: ClassVar[str] = "bus.kafka"

    replication: int | None = Field(
        None, ge=1, description="of topics we make; default: 3, or as many as there are brokers"
    )
    partition_bytes_max: int = Field(8 << 30, gt=0, description="retention by size, of topics we make")
    tombstone_s: float = Field(24 * 3600, ge=0, description="a compacted topic keeps tombstones this long")
    publish_deadline_s: float = Field(30, gt=0, description="publish gives up after this")
    send_interval_ms: float = Field(20, ge=0, le=100, description="least time between two rounds of requests")
    queue_bytes_max: int = Field(64 << 20, gt=0, description="publishes that wait for the broker")


class BusConfig(BaseModel):
    """Which engine carries the records between the stages."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["embedded", "kafka"] = Field(
        "embedded", description="embedded: all stages on one machine; kafka: on as many as you like"
    )
    embedded: EmbeddedConfig = EmbeddedConfig()
    kafka: KafkaConfig = KafkaConfig()
