"""Each section of the settings has its collectors, and a process loads the code of the sections in use alone."""

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from google.protobuf.internal import api_implementation

from common.errors import ConfigError
from ingest.collectors.base import CollectorContext
from ingest.config import CollectorSections, IngestConfig
from ingest.ledger import Ledger
from ingest.registry import build_collectors

INVENTORY = "devices: [{name: leaf1, role: leaf}]"


class Example(NamedTuple):
    """One section of the settings, the collectors that it has, and the heavy libraries that they may load."""

    settings: Any
    collectors: list[str]
    libraries: set[str]


WRITE = {"job_name": "prometheus", "rules": [{"source": "dcgm"}]}
SCRAPE = {"job_name": "node", "source": "node_exporter", "static_configs": [{"targets": ["a:1", "b:1"]}]}
GNMI = {"job_name": "leaves", "tls": {"insecure": True}, "targets": [{"address": "a:1", "device": "leaf1"}]}
SLURM = [{"name": "slurm", "command": ["squeue"]}, {"name": "test", "command": ["squeue"]}]
DIALOUT = {"listen": "127.0.0.1:0", "allow": ["127.0.0.1"]}
SNMP = {"job_name": "room", "community_file": __file__, "targets": [{"address": "a", "device": "pdu1"}]}
OTLP = {"listen": "127.0.0.1:0", "allow": ["127.0.0.1"], "rules": [{"source": "cumulus"}]}
TOPICS = {"job_name": "gnmic", "topics": ["telemetry", "bgp"], "format": "gnmic_event"}
FABRIC = {"topology": {"command": ["ibnetdiscover", "-p"]}, "counters": {"file": "perfquery.txt"}}
REDFISH = {"targets": [{"address": "a", "device": "node1"}]}
RAS = {
    "targets": [
        {"device": "node1", "addresses": ["node1"]},
        {"device": "node2", "addresses": ["node2"], "monitor": True},
    ]
}
EXAMPLES = {
    "scrape_configs": Example([SCRAPE], ["node/a:1", "node/b:1"], {"numba", "isal"}),
    "gnmi_configs": Example([GNMI], ["leaves/a:1"], {"numba", "hpack"}),
    "gnmi_dialout_receivers": Example([DIALOUT], ["dialout/127.0.0.1:0"], {"numba", "isal", "hpack"}),
    "cisco_mdt_receivers": Example([DIALOUT], ["mdt/127.0.0.1:0"], {"numba", "isal", "hpack"}),
    "snmp_configs": Example([SNMP], ["room/a"], set()),
    "otlp_receivers": Example([OTLP], ["otlp/127.0.0.1:0"], {"numba", "isal", "hpack"}),
    "job_sources": Example(SLURM, ["slurm", "test"], {"isal"}),
    "node_sources": Example([{"command": ["scontrol"]}], ["slurm-nodes"], {"isal"}),
    "kubernetes_sources": Example([{"url": "http://a:8080/metrics"}], ["kubernetes"], {"isal"}),
    "remote_write_receivers": Example([WRITE], ["prometheus"], {"numba", "aiohttp"}),
    "kafka_sources": Example([TOPICS], ["gnmic/telemetry,bgp"], {"numba", "zstandard"}),
    "host_counters": Example([{"device": "node1"}], ["host-counters"], {"numba"}),
    "infiniband_sources": Example([FABRIC], ["infiniband", "infiniband/counters"], {"numba"}),
    "mmpmon_sources": Example([{"device": "node1", "file": "mmpmon.txt"}], ["mmpmon/node1"], {"numba"}),
    "nvme_sources": Example([{"device": "node1"}], ["nvme/node1"], {"numba"}),
    "redfish_configs": Example([REDFISH], ["redfish/a"], {"numba", "aiohttp"}),
    "nvidia_smi_sources": Example([{"targets": [{"device": "node1"}]}], ["nvidia-smi/node1"], {"numba"}),
    "nvml_sources": Example([{"device": "node1"}], ["nvml/node1"], {"numba"}),
    "nccl_ras_sources": Example([RAS], ["nccl-ras/node1", "nccl-ras/node2"], {"numba"}),
    "nccl_inspector_sources": Example([{"folder": "dumps", "device": "node1"}], ["nccl-inspector"], {"numba"}),
    "nccl_tests_sources": Example([{"folder": "results", "device": "node1"}], ["nccl-tests"], {"numba"}),
    "kernel_log_sources": Example([{"device": "node1"}], ["kernel/node1"], {"numba"}),
    "inventory": Example({"file": "cluster.yaml"}, ["inventory"], set()),
}
HEAVY = ("numba", "grpc", "polars", "zstandard", "isal", "hpack", "aiohttp")


@pytest.fixture
def context() -> Iterator[CollectorContext]:
    workers = ThreadPoolExecutor(1)
    yield CollectorContext(Ledger(0), time.time_ns, workers)
    workers.shutdown()


@pytest.fixture(params=EXAMPLES)
def section(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def settings(section: str, tmp_path: Path) -> Any:
    """Those of the section; the inventory needs its file."""
    if section != "inventory":
        return EXAMPLES[section].settings
    file = tmp_path / "cluster.yaml"
    file.write_text(INVENTORY)
    return {"file": str(file)}


def test_the_examples_cover_every_section() -> None:
    assert set(EXAMPLES) == set(CollectorSections.model_fields)


async def test_every_section_has_its_collectors(section: str, settings: Any, context: CollectorContext) -> None:
    (collectors,) = build_collectors(IngestConfig.model_validate({section: settings}), context)
    found = [each.name for each in collectors.polled] + [each.name for each in collectors.streaming]
    for job in collectors.discovering:
        changes = await job.refresh()
        assert changes.removed == []
        found += [collector.name for collector in changes.added]
    assert found == EXAMPLES[section].collectors


def test_sections_that_are_not_in_use_build_nothing(context: CollectorContext) -> None:
    assert list(build_collectors(IngestConfig(), context)) == []


@pytest.mark.parametrize(
    ("section", "value", "message"),
    [
        ("inventory", {"file": "absent.yaml"}, "absent.yaml: No such file"),
        (
            "scrape_configs",
            [{"job_name": "a", "source": "dcgm", "authorization": {"credentials_file": "absent"}}],
            "authorization.credentials_file",
        ),
        ("snmp_configs", [{**SNMP, "community_file": "absent"}], "room: community_file: absent is not"),
        ("snmp_configs", [{**SNMP, "tables": ["ifTables"]}], "tables: ifTables: expected some of ifTable, ifXTable"),
        (
            "gnmi_configs",
            [{**GNMI, "subscriptions": [{"paths": [{"path": "/a[b"}]}]}],
            "expected / or",
        ),
    ],
)
def test_a_file_or_path_that_cannot_be_used_is_an_error_at_the_start(
    section: str, value: Any, message: str, context: CollectorContext
) -> None:
    with pytest.raises(ConfigError, match=message):
        build_collectors(IngestConfig.model_validate({section: value}), context)


def loaded_after(program: str) -> set[str]:
    """The heavy libraries that a fresh process has loaded after a program."""
    listing = f"import sys; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    command = [sys.executable, "-W", "ignore", "-c", f"{program}\n{listing}"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


BUILD = """
from concurrent.futures import ThreadPoolExecutor
from ingest.collectors.base import CollectorContext
from ingest.config import IngestConfig
from ingest.ledger import Ledger
from ingest.registry import build_collectors
build_collectors(IngestConfig.model_validate({{{section!r}: {value!r}}}), CollectorContext(Ledger(0), int, None))
"""


@pytest.mark.parametrize("module", ["ingest.config", "ingest.registry", "ingest.scheduler", "telemetry.topology"])
def test_configuration_and_registry_load_no_heavy_library(module: str) -> None:
    assert loaded_after(f"import {module}") == set()


def test_a_section_loads_its_own_libraries_alone(section: str, settings: Any) -> None:
    assert loaded_after(BUILD.format(section=section, value=settings)) <= EXAMPLES[section].libraries


def test_another_parser_of_protobuf_stops_the_start(context: CollectorContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_implementation, "Type", lambda: "python")
    with pytest.raises(ConfigError, match="gnmi_configs: protobuf parses with 'python', expected 'upb'"):
        list(build_collectors(CollectorSections.model_validate({"gnmi_configs": [GNMI]}), context))


@pytest.mark.parametrize(
    ("section", "package", "extra"), [("snmp_configs", "pysnmp", "snmp"), ("nvml_sources", "pynvml", "nvml")]
)
def test_a_section_whose_extra_is_not_installed_says_how_to(
    section: str, package: str, extra: str, context: CollectorContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    for module in [name for name in sys.modules if name.startswith((f"{package}.", f"ingest.collectors.{extra}."))]:
        monkeypatch.delitem(sys.modules, module)
    with pytest.raises(ConfigError, match=rf"{section}: needs {package}.*: pip install 'fabricscope\[{extra}\]'"):
        list(build_collectors(CollectorSections.model_validate({section: EXAMPLES[section].settings}), context))


def test_otlp_over_http_costs_no_import_of_grpc() -> None:
    settings = [{**OTLP, "protocol": "http"}]
    assert loaded_after(BUILD.format(section="otlp_receivers", value=settings)) == {"numba", "isal", "hpack", "aiohttp"}


@pytest.mark.parametrize("section", ["otlp_receivers", "gnmi_dialout_receivers", "cisco_mdt_receivers"])
def test_senders_that_are_named_are_targets_before_they_push(section: str, context: CollectorContext) -> None:
    settings = {**EXAMPLES[section].settings[0], "job_name": "pushed", "senders": {"10.0.0.1": "leaf1"}}
    (collectors,) = build_collectors(CollectorSections.model_validate({section: [settings]}), context)
    assert collectors.fixed == {"pushed": (("pushed/leaf1", "leaf1"),)}


def test_devices_of_topics_that_are_named_are_targets_before_they_are_heard_of(context: CollectorContext) -> None:
    settings = {**TOPICS, "devices": {"10.0.0.1:57400": "leaf1"}}
    (collectors,) = build_collectors(CollectorSections.model_validate({"kafka_sources": [settings]}), context)
    assert collectors.fixed == {"gnmic": (("gnmic/leaf1", "leaf1"),)}


@pytest.mark.parametrize(("protocol", "port"), [("grpc", 4317), ("http", 4318)])
def test_otlp_is_listened_for_at_the_port_of_its_protocol(protocol: str, port: int) -> None:
    job = {"protocol": protocol, "allow": ["127.0.0.1"], "rules": [{"source": "cumulus"}]}
    (config,) = CollectorSections.model_validate({"otlp_receivers": [job]}).otlp_receivers
    assert config.listen == f"0.0.0.0:{port}"
    (config,) = CollectorSections.model_validate({"otlp_receivers": [{**job, "listen": "[::]:1"}]}).otlp_receivers
    assert config.listen == "[::]:1"


def test_a_receiver_that_says_nobody_may_push_is_refused() -> None:
    with pytest.raises(ValueError, match="who may push"):
        CollectorSections.model_validate({"otlp_receivers": [{"rules": [{"source": "cumulus"}]}]})
