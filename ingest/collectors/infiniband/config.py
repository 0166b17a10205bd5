"""Configuration of an InfiniBand fabric that is read with its own tools."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from ingest.collectors.command_config import CommandConfig


class TopologyConfig(CommandConfig):
    """``ibnetdiscover -p``, or a file with what it prints."""

    interval_s: float = Field(60.0, gt=0, description="How often it is run or read.")
    timeout_s: float = Field(60.0, gt=0, description="Deadline of one output, all of it.")


class CountersConfig(CommandConfig):
    """A command that runs ``perfquery`` for each port, or a file with what it prints."""

    timeout_s: float = Field(30.0, gt=0, description="Deadline of one output, all of it.")


class Config(BaseModel):
    """One fabric, or one subnet of it: local identifiers are unique within."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str = Field("infiniband", min_length=1, description="The target's name, and the source of the facts.")
    topology: TopologyConfig = Field(description="What is connected to what: links, and the names of devices.")
    counters: CountersConfig | None = Field(None, description="Counters of all ports.")
    switches_by: Literal["name", "guid"] = Field(
        "name", description="What names a switch: guid where other sources of the same switch name it so."
    )
    adapters: dict[str, str] = Field({}, description="Port of a host by the second word of its name: {HCA-1: mlx5_0}.")

    @property
    def job_name(self) -> str:
        return self.name
