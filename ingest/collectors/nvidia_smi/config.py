"""Configuration of GPUs that nvidia-smi reads."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, model_validator

from common.units import Seconds


class Target(BaseModel):
    """One host: a command that prints the XML of ``nvidia-smi -q -x``, or a file with it."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    device: str = Field(min_length=1, description="The host that has the GPUs.")
    command: tuple[str, ...] = Field(
        ("nvidia-smi", "-q", "-x"),
        min_length=1,
        description="Program and arguments; no shell. Through ssh for another host.",
    )
    file: Path | None = Field(None, description="With the same XML, written by something else; instead of command.")


class Config(BaseModel):
    """Hosts with the same settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    job_name: str = Field("nvidia-smi", min_length=1, description="First part of the targets' names.")
    targets: tuple[Target, ...] = Field(min_length=1, description="The hosts.")
    interval_s: Seconds = Field(30.0, description="How often each is read.")
    timeout_s: Seconds = Field(20.0, description="Deadline of the command; then it is killed.")
    age_max_s: Seconds = Field(120.0, description="A file that nobody has written for longer is silence.")
    body_bytes_max: int = Field(16 << 20, gt=0, description="Of what is printed.")

    @model_validator(mode="after")
    def _fits(self) -> "Config":
        if self.timeout_s > self.interval_s:
            raise ValueError("timeout_s: expected at most interval_s")
        devices = [target.device for target in self.targets]
        if twice := sorted({device for device in devices if devices.count(device) > 1}):
            raise ValueError(f"targets: the device {twice[0]!r} is duplicated")
        return self
