"""Configuration of SNMP jobs: one entry of ``snmp_configs`` is a set of similar devices."""

from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from common.units import Seconds
from ingest.admission.line import Priority


class AuthProtocol(StrEnum):
    MD5 = "md5"
    SHA = "sha"
    SHA224 = "sha224"
    SHA256 = "sha256"
    SHA384 = "sha384"
    SHA512 = "sha512"


class PrivProtocol(StrEnum):
    DES = "des"
    AES = "aes"
    AES192 = "aes192"
    AES192C = "aes192c"
    AES256 = "aes256"
    AES256C = "aes256c"


class UserConfig(BaseModel):
    """A user of SNMPv3 (USM, RFC 3414). With privacy all is encrypted, without it only signed."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    username: str = Field(min_length=1, max_length=32, description="Name of the user on the device.")
    auth_protocol: AuthProtocol = Field(AuthProtocol.SHA, description="md5, sha, sha224, sha256, sha384 or sha512.")
    auth_password_file: Path = Field(description="File with the password that signs, read again at each collection.")
    priv_protocol: PrivProtocol = Field(
        PrivProtocol.AES, description="des, aes, aes192, aes256; Cisco: aes192c, aes256c."
    )
    priv_password_file: Path | None = Field(
        None, description="File with the password that encrypts, read again at each collection. Absent: in the clear."
    )
    context_name: str = Field("", description="Of devices that have several contexts.")


class TargetConfig(BaseModel):
    """One device."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    address: str = Field(
        pattern=r"^(\[[0-9a-fA-F:]+\]|[^:\s@/\[\]]+)(:\d{1,5})?$", description="host, host:port or [IPv6]:port"
    )
    device: str = Field(min_length=1, description="The label device of all its series.")
    labels: dict[str, str] = Field({}, description="Added to all its series.")

    @property
    def host_and_port(self) -> tuple[str, int]:
        """Port 161 where none is given."""
        if self.address.endswith("]"):
            return self.address[1:-1], 161
        host, colon, port = self.address.rpartition(":")
        return (host.strip("[]"), int(port)) if colon else (self.address, 161)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.host_and_port[1] not in range(1, 65536):
            raise ValueError("address: expected a port between 1 and 65535")
        if "device" in self.labels:
            raise ValueError("labels: device stands beside them")
        return self


class Config(BaseModel):
    """Devices with the same settings.

    A device gets one request at a time, ``requests_per_s`` at most. The whole collection ends within ``timeout_s``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    job_name: str = Field("snmp", min_length=1, description="First part of the targets' names.")
    targets: tuple[TargetConfig, ...] = Field(min_length=1, description="The devices.")
    community_file: Path | None = Field(
        None, description="SNMPv2c: file with the community, read again at each collection. It is sent in the clear."
    )
    user: UserConfig | None = Field(None, description="SNMPv3, in place of community_file.")
    interval_s: Seconds = Field(60.0, ge=30, description="At least 30 s: agents refresh their counters slowly.")
    timeout_s: Seconds | None = Field(
        None, description="Of a whole collection; three quarters of the interval if absent."
    )
    request_timeout_s: Seconds = Field(2.0, description="Until a request is sent again.")
    retries: int = Field(2, ge=0, le=10, description="How often it is sent again.")
    requests_per_s: float = Field(50.0, gt=0, le=1000, description="To one device.")
    varbinds_max: int = Field(
        40,
        ge=1,
        le=500,
        description="Objects in one response. Halved for a device that says tooBig. 40 fit into 1500 bytes.",
    )
    series_max: int = Field(50_000, gt=0, description="Of one device.")
    tables: tuple[str, ...] = Field((), description="Tables to read, as ifXTable; all that are known if absent.")
    priority: Priority = Field(
        Priority.NORMAL, description="high, normal or low: who is left out first when not all can be collected."
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.community_file is None) == (self.user is None):
            raise ValueError("expected community_file (SNMPv2c) or user (SNMPv3)")
        if self.deadline_s > self.interval_s:
            raise ValueError("timeout_s: expected at most interval_s")
        addresses = Counter(target.address for target in self.targets)
        if twice := [address for address, count in addresses.items() if count > 1]:
            raise ValueError(f"targets: two targets have the same address: {twice[0]!r}")
        return self

    @property
    def deadline_s(self) -> float:
        return 0.75 * self.interval_s if self.timeout_s is None else self.timeout_s

    @property
    def secret_files(self) -> dict[str, Path | None]:
        """By the key that names them."""
        user = self.user
        return {
            "community_file": self.community_file,
            "user.auth_password_file": user.auth_password_file if user else None,
            "user.priv_password_file": user.priv_password_file if user else None,
        }
