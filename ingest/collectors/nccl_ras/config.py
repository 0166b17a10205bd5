"""Configuration of NCCL jobs whose RAS subsystem is asked."""

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from common.units import Seconds

PORT = 28028  # of NCCL_RAS_ADDR, when that is not set


def host_and_port(address: str) -> tuple[str, int]:
    """Of ``host``, ``host:port`` or ``[address]:port``. ValueError for anything else."""
    parts = urlsplit(f"//{address}")
    if parts.hostname is None or parts.netloc != address or "@" in address:
        raise ValueError(f"{address!r}: expected host or host:port")
    return parts.hostname, parts.port or PORT


def _checked(address: str) -> str:
    host_and_port(address)
    return address


class Target(BaseModel):
    """One job."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    addresses: tuple[Annotated[str, AfterValidator(_checked)], ...] = Field(
        min_length=1,
        description="Some hosts of the job, host or host:port; the first that answers speaks for all.",
    )
    device: str = Field(min_length=1, description="The host under which what concerns the whole job is kept.")
    job_id: str = Field("", description="Label of all its series.")
    monitor: bool = Field(
        False, description="Whether a connection stays open on which RAS streams its events, as NCCL 2.29 does."
    )


class Limits(BaseModel):
    """What is read of one job: a larger reply is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    body_bytes_max: int = Field(32 << 20, gt=0, description="Of one reply.")
    communicators_max: int = Field(20_000, gt=0, description="Of one job.")
    ranks_max: int = Field(200_000, gt=0, description="Of all its communicators together.")
    hosts_max: int = Field(5_000, gt=0, description="Of one job.")
    events_max: int = Field(
        1_000, gt=0, description="Events of one job, by process and kind, in 15 minutes; further ones are dropped."
    )


class Config(BaseModel):
    """Jobs with the same settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    job_name: str = Field("nccl-ras", min_length=1, description="First part of the targets' names.")
    targets: tuple[Target, ...] = Field(min_length=1, description="The jobs, each of them once.")
    hosts: dict[str, str] = Field(
        {}, description="Devices by the address that NCCL knows them by; others keep that address as their name."
    )
    interval_s: Seconds = Field(60.0, description="How often each job is asked; all its processes answer each time.")
    timeout_s: Seconds = Field(30.0, description="Deadline of one collection, all addresses of it.")
    limits: Limits = Field(Limits(), description="Of what one job says.")

    @model_validator(mode="after")
    def _fits(self) -> "Config":
        if self.timeout_s > self.interval_s:
            raise ValueError("timeout_s: expected at most interval_s")
        first = [target.addresses[0] for target in self.targets]
        if twice := sorted({address for address in first if first.count(address) > 1}):
            raise ValueError(f"targets: the first address {twice[0]!r} is duplicated")
        return self
