"""Configuration of the inventory file."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field


class Config(BaseModel):
    """Where the inventory file is, and how often it is read."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    file: Path
    interval_s: float = Field(10.0, gt=0)
    file_bytes_max: int = Field(16 * 1024 * 1024, gt=0)
