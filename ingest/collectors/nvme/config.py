"""Configuration of a host whose NVMe drives are asked by nvme-cli."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field


class Config(BaseModel):
    """``nvme smart-log`` for each drive of the host."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str = Field("nvme", min_length=1, description="First part of the target's name.")
    device: str = Field(min_length=1, description="The host on which it runs.")
    command: tuple[str, ...] = Field(
        ("nvme", "smart-log", "--output-format=json"),
        min_length=1,
        description="Program and arguments, no shell; the drive's device file is added, as /dev/nvme0.",
    )
    drives_folder: Path = Field(Path("/sys/class/nvme"), description="Has a name for each drive that there is.")
    drives_max: int = Field(64, gt=0, description="Of more, the first by name are asked.")
    interval_s: float = Field(60.0, gt=0, description="How often all drives are asked, one after the other.")
    timeout_s: float = Field(30.0, gt=0, description="Deadline of one collection; each drive has its part of it.")
    body_bytes_max: int = Field(1 << 20, gt=0, description="Of one answer.")

    @property
    def job_name(self) -> str:
        return self.name
