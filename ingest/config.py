"""What the ingest stage collects, and how it gets to the bus."""

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from common.renamed import accept_renamed
from ingest.admission.device_pace import DevicePace
from ingest.collectors.cisco_mdt.config import Config as MdtConfig
from ingest.collectors.exposition.config import ScrapeConfig
from ingest.collectors.gnmi.config import Config as GnmiConfig
from ingest.collectors.gnmi_dialout.config import Config as DialOutConfig
from ingest.collectors.host_counters.config import Config as HostCountersConfig
from ingest.collectors.infiniband.config import Config as InfinibandConfig
from ingest.collectors.inventory.config import Config as InventoryConfig
from ingest.collectors.kafka_topics.config import Config as KafkaTopicsConfig
from ingest.collectors.kernel_log.config import Config as KernelLogConfig
from ingest.collectors.kubernetes.config import Config as KubernetesConfig
from ingest.collectors.mmpmon.config import Config as MmpmonConfig
from ingest.collectors.nccl_inspector.config import Config as NcclInspectorConfig
from ingest.collectors.nccl_ras.config import Config as NcclRasConfig
from ingest.collectors.nccl_tests.config import Config as NcclTestsConfig
from ingest.collectors.nvidia_smi.config import Config as NvidiaSmiConfig
from ingest.collectors.nvme.config import Config as NvmeConfig
from ingest.collectors.nvml.config import Config as NvmlConfig
from ingest.collectors.otlp.config import Config as OtlpConfig
from ingest.collectors.pushed_rule import PushedRule
from ingest.collectors.redfish.config import Config as RedfishConfig
from ingest.collectors.remote_write.config import Config as RemoteWriteReceiverConfig
from ingest.collectors.slurm.config import Config as SlurmConfig
from ingest.collectors.slurm.config import NodesConfig
from ingest.collectors.snmp.config import Config as SnmpConfig

_EVERYWHERE = frozenset({"0.0.0.0", "[::]"})  # read, not listened on


class SchedulerConfig(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    unhealthy_max: int = Field(
        default=1000,
        gt=0,
        description="Concurrent collections of unhealthy targets: those that never answered or failed last time.",
    )
    device_requests_max: int = Field(
        default=4,
        gt=0,
        description="Of one device at once, by its label, however many targets of scrape jobs it has.",
    )
    device_spacing_s: float = Field(
        default=0.0, ge=0, le=60, description="From the begin of one of these requests to that of the next."
    )
    page_bytes_max: int = Field(
        default=256 << 20, gt=0, description="Fetched pages that wait to be decoded; beyond it no collection begins."
    )

    @model_validator(mode="before")
    @classmethod
    def _accept_renamed(cls, settings: Any) -> Any:
        return accept_renamed(settings, {"doubtful_max": "unhealthy_max"})

    def device_pace(self) -> DevicePace:
        """What holds these limits, for all requests of a process."""
        return DevicePace(self.device_requests_max, self.device_spacing_s)


class SpoolConfig(BaseModel):
    """Where samples, facts and changes wait on the disk while the bus does not take them."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    folder: Path | None = Field(
        default=Path("data/ingest/ingest-0"), description="For one process alone. null: memory is all there is."
    )
    after_s: float = Field(default=1.0, gt=0, description="What the bus has not taken after this goes to the disk.")
    bytes_max: int = Field(default=8 << 30, ge=8 << 20, description="Then the oldest samples are dropped.")
    age_max_s: float = Field(default=6 * 3600.0, gt=0, description="What has waited for longer is dropped.")
    free_bytes_min: int = Field(
        default=512 << 20, ge=0, description="With less than this left on the disk, samples stay in memory."
    )


class PublishConfig(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    linger_s: float = Field(default=0.02, ge=0, description="How long batches are collected into one call.")
    messages_max: int = Field(default=1000, gt=0, description="Messages in one call.")
    queue_samples_max: int = Field(default=5_000_000, gt=0, description="Samples that wait in memory.")
    queue_batches_max: int = Field(default=100_000, gt=0, description="Batches that wait in memory.")
    queue_events_max: int = Field(default=100_000, gt=0, description="Facts and changes that wait in memory.")
    spool: SpoolConfig = SpoolConfig(folder=None)  # a settings file always gives one

    @model_validator(mode="before")
    @classmethod
    def _accept_renamed(cls, settings: Any) -> Any:
        names = {
            "spool_samples_max": "queue_samples_max",
            "spool_batches_max": "queue_batches_max",
            "spool_facts_max": "queue_events_max",
        }
        return accept_renamed(settings, names)


class CollectorSections(BaseModel):
    """One field for each kind of collector; ``ingest/registry.py`` builds them.

    A section of several jobs is a tuple of models with a ``job_name``. In the settings file the sections may also be at
    the top level, as Prometheus' are.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    scrape_configs: tuple[ScrapeConfig, ...] = Field(default=(), description="Prometheus exporters over HTTP.")
    gnmi_configs: tuple[GnmiConfig, ...] = Field(default=(), description="Switches over gNMI.")
    gnmi_dialout_receivers: tuple[DialOutConfig, ...] = Field(
        default=(), description="Where switches push gNMI updates."
    )
    cisco_mdt_receivers: tuple[MdtConfig, ...] = Field(
        default=(), description="Where Cisco switches push model-driven telemetry."
    )
    snmp_configs: tuple[SnmpConfig, ...] = Field(
        default=(), description="Switches and power distribution units over SNMP; needs the extra `snmp`."
    )
    otlp_receivers: tuple[OtlpConfig, ...] = Field(default=(), description="Where devices push metrics over OTLP.")
    job_sources: tuple[SlurmConfig, ...] = Field(default=(), description="Running jobs.")
    node_sources: tuple[NodesConfig, ...] = Field(
        default=(), description="Which nodes are drained, rebooted or in maintenance."
    )
    kubernetes_sources: tuple[KubernetesConfig, ...] = Field(
        default=(), description="Jobs on whole nodes and cordoned nodes, from kube-state-metrics."
    )
    remote_write_receivers: tuple[RemoteWriteReceiverConfig, ...] = Field(
        default=(), description="Where Prometheus and others write to, by remote write 1.0 and 2.0."
    )
    kafka_sources: tuple[KafkaTopicsConfig, ...] = Field(
        default=(), description="Kafka topics that gnmic and Telegraf fill."
    )
    host_counters: tuple[HostCountersConfig, ...] = Field(
        default=(), description="RDMA counters in sysfs and ethtool statistics of the host itself."
    )
    infiniband_sources: tuple[InfinibandConfig, ...] = Field(
        default=(), description="Links and counters of an InfiniBand fabric, from ibnetdiscover and perfquery."
    )
    mmpmon_sources: tuple[MmpmonConfig, ...] = Field(
        default=(), description="I/O of hosts in IBM Storage Scale, from mmpmon."
    )
    nvme_sources: tuple[NvmeConfig, ...] = Field(
        default=(), description="Health and wear of NVMe drives of the host itself, by nvme-cli."
    )
    redfish_configs: tuple[RedfishConfig, ...] = Field(
        default=(), description="Management controllers of hosts, over Redfish."
    )
    nvidia_smi_sources: tuple[NvidiaSmiConfig, ...] = Field(
        default=(), description="GPUs of hosts without DCGM, by nvidia-smi."
    )
    nvml_sources: tuple[NvmlConfig, ...] = Field(
        default=(), description="GPUs of the host itself, by NVML; needs the extra `nvml`."
    )
    nccl_ras_sources: tuple[NcclRasConfig, ...] = Field(
        default=(), description="Ranks of NCCL jobs, from its RAS subsystem."
    )
    nccl_inspector_sources: tuple[NcclInspectorConfig, ...] = Field(
        default=(), description="Records of NCCL Inspector in files: collectives of running jobs."
    )
    nccl_tests_sources: tuple[NcclTestsConfig, ...] = Field(
        default=(), description="Results of nccl-tests in files: baselines of NCCL's bandwidth."
    )
    kernel_log_sources: tuple[KernelLogConfig, ...] = Field(
        default=(), description="Kernel logs, for the XIDs that the NVIDIA driver writes there."
    )
    inventory: InventoryConfig | None = Field(default=None, description="Devices and what they contain, from a file.")

    def mapped(self) -> frozenset[str]:
        """The metrics that a ``mapping`` names."""
        pushed: list[OtlpConfig | RemoteWriteReceiverConfig | KafkaTopicsConfig]
        pushed = [*self.otlp_receivers, *self.remote_write_receivers, *self.kafka_sources]
        named: list[ScrapeConfig | PushedRule] = [*self.scrape_configs, *(rule for job in pushed for rule in job.rules)]
        return frozenset(entry.metric for each in named for entry in each.mapping)

    @model_validator(mode="after")
    def _names_differ(self) -> "CollectorSections":
        """Targets are named by job and address, so jobs of all kinds need different names."""
        seen: set[str] = set()
        for section in type(self).model_fields:
            jobs = getattr(self, section)
            for job in jobs if isinstance(jobs, tuple) else ():
                if job.job_name in seen:
                    raise ValueError(f"{section}: the name {job.job_name!r} is duplicated")
                seen.add(job.job_name)
        return self

    @model_validator(mode="after")
    def _addresses_differ(self) -> "CollectorSections":
        """Two receivers cannot listen on one port of one address; 0.0.0.0 and :: are all addresses."""
        seen: dict[str, dict[str, str]] = {}
        for section in ("gnmi_dialout_receivers", "cisco_mdt_receivers", "otlp_receivers", "remote_write_receivers"):
            for job in getattr(self, section):
                host, _, port = job.listen.rpartition(":")
                others = seen.setdefault(port, {})
                both = [name for other, name in others.items() if other == host or _EVERYWHERE & {host, other}]
                if port != "0" and both:
                    raise ValueError(f"{section}: {job.job_name}: expected another address than that of {both[0]}")
                others[host] = job.job_name
        return self

    @model_validator(mode="after")
    def _fabrics_are_here(self) -> "CollectorSections":
        fabrics = {fabric.name for fabric in self.infiniband_sources}
        for job in self.scrape_configs:
            if job.guids_from and job.guids_from not in fabrics:
                raise ValueError(f"scrape_configs: {job.job_name}: guids_from: expected the name of infiniband_sources")
        return self


class IngestConfig(CollectorSections):
    """All targets of one ingest process."""

    scheduler: SchedulerConfig = Field(default=SchedulerConfig(), description="How many are collected at a time.")
    publish: PublishConfig = Field(
        default=PublishConfig(), description="The way to the bus, and what waits while it is away."
    )
    new_series_per_hour: int = Field(
        default=50_000,
        gt=0,
        description="New series of one target; as many may come at once. Samples of further ones are dropped.",
    )
    memory_bytes_max: int | None = Field(
        default=None,
        ge=64 << 20,
        description="Memory of this process; from 80 % on collections are left out, those of low priority first. "
        "null: the limit of its cgroup.",
    )
    report_interval_s: float = Field(default=5.0, gt=0, description="Between two reports on the ledger topic.")
    instance: str = Field(
        default="ingest-0",
        min_length=1,
        description="Name of this process within its stage; each ingest on a bus needs one of its own.",
    )
