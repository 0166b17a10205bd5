"""Configuration of a folder with records of NCCL Inspector."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from common.patterns import compile_bounded
from common.units import Seconds
from ingest.collectors.folder_glob import GlobBelow


class Limits(BaseModel):
    """What is read and remembered."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    files_max: int = Field(2_000, gt=0, description="Of the folder; of more, those that changed last are followed.")
    read_bytes_max: int = Field(64 << 20, gt=0, description="In one look; the rest waits for the next one.")
    series_max: int = Field(
        100_000,
        gt=0,
        description="Operations by rank and size, two series each; records of further ones are dropped.",
    )


class Config(BaseModel):
    """One folder. Each series is filed under the host that its records name."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    job_name: str = Field("nccl-inspector", min_length=1, description="The target's name.")
    folder: Path = Field(description="NCCL_INSPECTOR_DUMP_DIR, or a folder above those of several jobs.")
    glob: GlobBelow = Field("**/*-pid*.log*", description="Which files of the folder.")
    device: str = Field(min_length=1, description="The host that is stated as silent when the folder cannot be read.")
    hosts: dict[str, str] = Field({}, description="Devices by the name that a host has in records, where they differ.")
    job_folder: str = Field(
        r"(?:nccl-inspector-)?([0-9]+)",
        description="Pattern of the name of a job's folder; its group is the job. The innermost folder that it matches "
        "counts. Records themselves name no job.",
    )
    interval_s: Seconds = Field(30.0, description="How often the folder is looked at, and what one sample sums up.")
    age_max_s: Seconds = Field(300.0, description="Records that were written earlier are history, and no samples.")
    timeout_s: Seconds = Field(30.0, description="Deadline of one look, all files of it.")
    limits: Limits = Field(Limits(), description="Of the folder and its files.")

    @field_validator("job_folder")
    @classmethod
    def _has_a_group(cls, pattern: str) -> str:
        if compile_bounded(pattern).groups != 1:
            raise ValueError(f"{pattern!r}: expected one group, such as job-([0-9]+)")
        return pattern

    @model_validator(mode="after")
    def _fits(self) -> "Config":
        if self.timeout_s > self.interval_s:
            raise ValueError("timeout_s: expected at most interval_s")
        if self.age_max_s < 2 * self.interval_s:
            raise ValueError("age_max_s: expected twice interval_s or more, as a look may come late")
        return self
