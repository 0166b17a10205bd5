"""Configuration of a folder with results of nccl-tests."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, model_validator

from common.units import Seconds
from ingest.collectors.folder_glob import GlobBelow


class Limits(BaseModel):
    """What is read; a file beyond them is refused as a whole."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    file_bytes_max: int = Field(8 << 20, gt=0, description="Of one file.")
    files_max: int = Field(2_000, gt=0, description="Of the folder; of more, the newest ones are read.")
    rows_max: int = Field(2_000, gt=0, description="Of one file, of all tests in it.")
    samples_max: int = Field(50_000, gt=0, description="Of all files; the oldest results beyond them are left out.")


class Config(BaseModel):
    """One folder. Each result is filed under the host of its first rank."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    job_name: str = Field("nccl-tests", min_length=1, description="The target's name.")
    folder: Path = Field(description="Where the results are: what the tests print, or their JSON (`-J`).")
    glob: GlobBelow = Field("*", description="Which files of the folder; `**/*` reads folders below it, too.")
    device: str = Field(
        min_length=1,
        description="The host that is stated as silent when the folder cannot be read, and that results "
        "without the name of a host are filed under.",
    )
    hosts: dict[str, str] = Field({}, description="Devices by the name that a host has in results, where they differ.")
    settle_s: float = Field(
        30.0, ge=0, description="A file is read when it has been unchanged for so long: tests write while they run."
    )
    interval_s: Seconds = Field(60.0, description="How often the folder is looked at, and its results are stated.")
    timeout_s: Seconds = Field(30.0, description="Deadline of one look, all files of it.")
    limits: Limits = Field(Limits(), description="Of the folder and its files.")

    @model_validator(mode="after")
    def _fits(self) -> "Config":
        if self.timeout_s > self.interval_s:
            raise ValueError("timeout_s: expected at most interval_s")
        return self
