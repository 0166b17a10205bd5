"""Configuration of the inventory file."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field


class Config(BaseModel):
    """Where the inventory file is, and how often it is read."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    file: Path = Field(description="YAML; docs and an example: ingest/collectors/inventory/README.md.")
    interval_s: float = Field(10.0, gt=0, description="How often it is looked at; read when it has changed.")
    file_bytes_max: int = Field(16 * 1024 * 1024, gt=0, description="Of the file.")
