"""Configuration of GPUs that nvidia-smi reads."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, model_validator

from common.units import Seconds


class Config(BaseModel):
    """One host: a command that prints the XML of ``nvidia-smi -q -x``, or a file with it."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    job_name: str = Field("nvidia-smi", min_length=1, description="First part of the target's name.")
    device: str = Field(min_length=1, description="The host that has the GPUs.")
    command: tuple[str, ...] = Field(
        ("nvidia-smi", "-q", "-x"), description="Program and arguments; no shell. Through ssh for another host."
    )
    file: Path | None = Field(None, description="With the same XML, written by something else; instead of command.")
    interval_s: Seconds = Field(30.0, description="How often it is read.")
    timeout_s: Seconds = Field(20.0, description="Deadline of the command; then it is killed.")
    age_max_s: Seconds = Field(120.0, description="A file that nobody has written for longer is silence.")
    body_bytes_max: int = Field(16 << 20, gt=0, description="Of what is printed.")

    @model_validator(mode="after")
    def _fits(self) -> "Config":
        if not self.command and self.file is None:
            raise ValueError("give command or file")
        if self.timeout_s > self.interval_s:
            raise ValueError("timeout_s: expected at most interval_s")
        return self
