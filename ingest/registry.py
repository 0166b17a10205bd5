"""The one list of all kinds of collectors: from a section of the settings to its collectors.

Each branch imports its own collector, so that a process loads the code of the sections that it uses and no other.
"""

import time
from collections.abc import Iterable, Mapping

from common.errors import ConfigError
from ingest.collectors.base import CollectorContext, Collectors
from ingest.collectors.receiver_config import ReceiverConfig
from ingest.config import CollectorSections


def build_collectors(config: CollectorSections, context: CollectorContext) -> Iterable[Collectors]:
    """The collectors of each section in use. ConfigError when a file that one names is missing or wrong."""
    return [build(section, config, context) for section in CollectorSections.model_fields if getattr(config, section)]


def build(section: str, config: CollectorSections, context: CollectorContext) -> Collectors:
    """The collectors of one section: a new kind is added here and in ``CollectorSections``."""
    match section:
        case "scrape_configs":
            from ingest.collectors.exposition.job import scrape_jobs

            return Collectors(discovering=scrape_jobs(config.scrape_configs, context))
        case "gnmi_configs":
            from ingest.collectors.gnmi.collector import collectors_of

            streaming = collectors_of(config.gnmi_configs, context.ledger, context.clock)
            fixed = {
                job.job_name: tuple((f"{job.job_name}/{target.address}", target.device) for target in job.targets)
                for job in config.gnmi_configs
            }
            return Collectors(streaming=streaming, fixed=fixed)
        case "gnmi_dialout_receivers":
            from ingest.collectors.gnmi.links import LinkTable
            from ingest.collectors.gnmi_dialout.collector import dialout_receiver

            links, dialled = LinkTable(), config.gnmi_dialout_receivers
            receivers = [dialout_receiver(job, context, links) for job in dialled]
            return Collectors(streaming=receivers, fixed=_senders(dialled))
        case "cisco_mdt_receivers":
            from ingest.collectors.cisco_mdt.collector import mdt_receiver
            from ingest.collectors.gnmi.links import LinkTable

            links, dialling = LinkTable(), config.cisco_mdt_receivers
            switches = [mdt_receiver(job, context, links) for job in dialling]
            return Collectors(streaming=switches, fixed=_senders(dialling))
        case "snmp_configs":
            try:
                from ingest.collectors.snmp.collector import snmp_collectors
            except ModuleNotFoundError as error:
                raise ConfigError(f"{section}: needs {error.name}: pip install 'fabricscope[snmp]'") from None

            return Collectors(polled=snmp_collectors(config.snmp_configs, context))
        case "otlp_receivers":
            from ingest.collectors.otlp.collector import OtlpReceiver

            pushed = [OtlpReceiver(job, context) for job in config.otlp_receivers]
            return Collectors(streaming=pushed, fixed=_senders(config.otlp_receivers))
        case "job_sources":
            from ingest.collectors.slurm.collector import SlurmCollector

            return Collectors(polled=[SlurmCollector(source) for source in config.job_sources])
        case "node_sources":
            from ingest.collectors.slurm.collector import SlurmNodesCollector

            return Collectors(polled=[SlurmNodesCollector(source) for source in config.node_sources])
        case "kubernetes_sources":
            from ingest.collectors.kubernetes.collector import KubernetesCollector

            return Collectors(polled=[KubernetesCollector(source, context) for source in config.kubernetes_sources])
        case "remote_write_receivers":
            from ingest.collectors.remote_write.collector import RemoteWriteCollector

            return Collectors(streaming=[RemoteWriteCollector(job, context) for job in config.remote_write_receivers])
        case "kafka_sources":
            from ingest.collectors.gnmi.links import LinkTable
            from ingest.collectors.kafka_topics.collector import KafkaTopics

            links, topics = LinkTable(), config.kafka_sources
            named = {job.job_name: _targets(job.job_name, job.devices) for job in topics if job.devices}
            return Collectors(streaming=[KafkaTopics(job, context, links) for job in topics], fixed=named)
        case "host_counters":
            from ingest.collectors.host_counters.collector import HostCountersCollector

            return Collectors(polled=[HostCountersCollector(host, context) for host in config.host_counters])
        case "infiniband_sources":
            from ingest.collectors.infiniband.collector import infiniband_collectors

            return Collectors(polled=infiniband_collectors(config.infiniband_sources, context))
        case "mmpmon_sources":
            from ingest.collectors.mmpmon.collector import mmpmon_collectors

            return Collectors(polled=mmpmon_collectors(config.mmpmon_sources, context))
        case "nvme_sources":
            from ingest.collectors.nvme.collector import nvme_collectors

            return Collectors(polled=nvme_collectors(config.nvme_sources, context))
        case "redfish_configs":
            from ingest.collectors.redfish.collector import redfish_collectors

            return Collectors(polled=redfish_collectors(config.redfish_configs, context))
        case "nvidia_smi_sources":
            from ingest.collectors.nvidia_smi.collector import nvidia_smi_collectors

            return Collectors(polled=nvidia_smi_collectors(config.nvidia_smi_sources, context))
        case "nvml_sources":
            try:
                from ingest.collectors.nvml.collector import nvml_collectors
            except ModuleNotFoundError as error:
                raise ConfigError(f"{section}: needs {error.name}: pip install 'fabricscope[nvml]'") from None

            return Collectors(polled=nvml_collectors(config.nvml_sources, context))
        case "nccl_ras_sources":
            from ingest.collectors.nccl_ras.collector import nccl_ras_collectors
            from ingest.collectors.nccl_ras.monitor import monitored_jobs

            ras = config.nccl_ras_sources
            return Collectors(polled=nccl_ras_collectors(ras, context), streaming=monitored_jobs(ras, context))
        case "nccl_inspector_sources":
            from ingest.collectors.nccl_inspector.collector import nccl_inspector_collectors

            return Collectors(polled=nccl_inspector_collectors(config.nccl_inspector_sources, context))
        case "nccl_tests_sources":
            from ingest.collectors.nccl_tests.collector import nccl_tests_collectors

            return Collectors(polled=nccl_tests_collectors(config.nccl_tests_sources, context))
        case "kernel_log_sources":
            from ingest.collectors.kernel_log.collector import kernel_logs

            logs = config.kernel_log_sources
            hosts = {job.job_name: _targets(job.job_name, {job.device: job.device}) for job in logs if job.device}
            return Collectors(streaming=kernel_logs(logs, context, time.monotonic_ns()), fixed=hosts)
        case "inventory":
            from ingest.collectors.inventory.collector import inventory_collectors

            return Collectors(polled=inventory_collectors(config.inventory))
    raise AssertionError(f"{section}: no collector")


def _senders(jobs: Iterable[ReceiverConfig]) -> dict[str, tuple[tuple[str, str], ...]]:
    """The devices that the settings name: known to be missing before they push for the first time."""
    return {job.job_name: _targets(job.job_name, job.senders) for job in jobs if job.senders}


def _targets(job_name: str, devices: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Name and device of each target, from the devices by what the settings know them by."""
    return tuple((f"{job_name}/{device}", device) for device in devices.values())
