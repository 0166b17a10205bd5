"""What the ingest stage collects, and how it gets to the bus."""

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ingest.collectors.exposition.config import ScrapeConfig
from ingest.collectors.gnmi.config import Config as GnmiConfig
from ingest.collectors.inventory.schema import Config as InventoryConfig
from ingest.collectors.slurm.config import Config as SlurmConfig


class SchedulerConfig(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    doubtful_max: int = Field(
        default=1000, gt=0, description="Collections at once of targets that have never answered or failed last time."
    )


class PublishConfig(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    linger_s: float = Field(default=0.02, ge=0, description="How long batches gather before they are published.")
    messages_max: int = Field(default=1000, gt=0, description="Messages a call.")
    spool_samples_max: int = Field(default=5_000_000, gt=0, description="Samples kept while the bus is away.")
    spool_batches_max: int = Field(default=100_000, gt=0, description="Batches kept while the bus is away.")
    spool_facts_max: int = Field(
        default=100_000, gt=0, description="Topology facts and changes kept while the bus is away."
    )


class IngestConfig(BaseModel):
    """All targets of one ingest process."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    scrape_configs: tuple[ScrapeConfig, ...] = Field(default=(), description="Pages over HTTP.")
    gnmi_configs: tuple[GnmiConfig, ...] = Field(default=(), description="Switches over gNMI.")
    job_sources: tuple[SlurmConfig, ...] = Field(default=(), description="Running jobs.")
    inventory: InventoryConfig | None = Field(default=None, description="Devices and what is in them, from a file.")
    scheduler: SchedulerConfig = SchedulerConfig()
    publish: PublishConfig = PublishConfig()
    report_interval_s: float = Field(default=5.0, gt=0, description="Between two reports on the ledger topic.")
    instance: str = Field(default="ingest-0", min_length=1, description="Names this process among others of its stage.")

    @model_validator(mode="after")
    def _names_differ(self) -> "IngestConfig":
        """Targets are named by job and address, so jobs of all kinds need different names."""
        sections = {
            "scrape_configs": [job.job_name for job in self.scrape_configs],
            "gnmi_configs": [job.job_name for job in self.gnmi_configs],
            "job_sources": [source.name for source in self.job_sources],
        }
        seen: set[str] = set()
        for section, names in sections.items():
            for name in names:
                if name in seen:
                    raise ValueError(f"{section}: the name {name!r} stands there twice")
                seen.add(name)
        return self
