"""Configuration of a source of Slurm's jobs or nodes."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, model_validator

from common.tls import TlsConfig
from ingest.collectors.document_address import check_address


class SourceConfig(BaseModel):
    """One cluster: a command, slurmrestd's address, or a file of the same JSON; one of them."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str = Field("slurm", min_length=1, description="The target's name, and the source of the facts.")
    command: tuple[str, ...] = Field((), description="Program and arguments; no shell.")
    url: str = Field("", pattern=r"^(https?://\S+)?$", description="Of slurmrestd's list.")
    file: Path | None = Field(None, description="With the same JSON, written by something else.")
    user: str = Field("", description="slurmrestd: X-SLURM-USER-NAME.")
    tls_config: TlsConfig = TlsConfig()
    token_file: Path | None = Field(None, description="slurmrestd: X-SLURM-USER-TOKEN, read at each collection.")
    interval_s: float = Field(15.0, gt=0, description="How often it is asked.")
    timeout_s: float = Field(10.0, gt=0, description="Deadline of one answer, all of it.")
    body_bytes_max: int = Field(64 * 1024 * 1024, gt=0, description="Of one answer.")

    @property
    def job_name(self) -> str:
        return self.name

    @model_validator(mode="after")
    def _one_source(self) -> "SourceConfig":
        if sum(map(bool, (self.command, self.url, self.file))) != 1:
            raise ValueError("give one of command, url and file")
        if self.token_file is not None and not self.url:
            raise ValueError("token_file belongs to url")
        if self.url:
            check_address(self.url)
        return self


class Config(SourceConfig):
    """``squeue --json``, or as http://slurm:6820/slurm/v0.0.41/jobs"""

    gpu_jobs_only: bool = Field(True, description="Leave out jobs without a GPU.")


class NodesConfig(SourceConfig):
    """``scontrol show nodes --json``, or as http://slurm:6820/slurm/v0.0.41/nodes"""

    name: str = Field("slurm-nodes", min_length=1, description="The target's name, and the source of the facts.")
    interval_s: float = Field(30.0, gt=0, description="How often it is asked.")
