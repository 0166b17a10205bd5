"""Configuration of a host whose GPUs are read by NVML."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from common.units import Seconds


class Config(BaseModel):
    """The host that this process runs on: NVML has no other."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    job_name: str = Field("nvml", min_length=1, description="First part of the target's name.")
    device: str = Field("", description="Name of the host; that of this machine when empty.")
    interval_s: Seconds = Field(10.0, description="How often all GPUs are read.")
    timeout_s: Seconds = Field(5.0, description="Deadline of one collection, all GPUs.")
    xids: bool = Field(
        False,
        description="Reads XIDs, as events of NVML. Not beside a kernel log of this host: each would count twice.",
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.timeout_s > self.interval_s:
            raise ValueError("timeout_s: expected at most interval_s")
        return self
