"""docker-compose.yml without a Docker: the schema, the settings that the tests use, and every file that it mounts."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from typer.testing import CliRunner

from common import jit
from deploy.compose.write_settings import HOSTS, INTERVAL_S, texts
from fabricscope.cli import app
from fabricscope.running.status_pages import StatusPages
from fabricscope.settings import load_settings
from fabricscope.stages import Stage
from ingest.collectors.inventory.collector import InventoryCollector
from ingest.collectors.inventory.config import Config as InventoryConfig
from tests.servers.alertmanager import Alertmanager
from tests.servers.kafka import OLD_VERSION, SHIPPED, VERSION, KafkaServer, shipped_settings
from tests.servers.process import free_port
from tests.servers.prometheus import Prometheus
from tests.waiting import DEADLINE_S

ROOT = Path(__file__).parents[3]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"].startswith("fabricscope:")}
SETTINGS = ROOT / "deploy" / "compose" / "fabricscope.yaml"


def schema_errors(document: object) -> list[str]:
    schema = json.loads((ROOT / "build" / "compose-spec.json").read_text())
    return [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(document)]


def test_compose_file_fits_the_schema():
    assert schema_errors(COMPOSE) == []


def test_the_schema_finds_a_wrong_key():
    broken = json.loads(json.dumps(COMPOSE))
    broken["services"]["api"]["comand"] = broken["services"]["api"].pop("command")
    assert schema_errors(broken)


def test_kafka_runs_with_the_settings_of_the_tests():
    """The tests' brokers read the mounted files, but for addresses, folders and times; so they must be mounted."""
    assert shipped_settings("server.properties").keys() <= KafkaServer(Path("/tmp"))._settings().keys()
    kafka = SERVICES["kafka"]
    mounted = {config["target"]: COMPOSE["configs"][config["source"]]["file"] for config in kafka["configs"]}
    _, script, settings = kafka["command"]
    assert ROOT / mounted[script] == SHIPPED / "start.sh"
    assert ROOT / mounted[settings] == SHIPPED / "server.properties"
    log = kafka["environment"]["KAFKA_LOG4J_OPTS"].partition("=")[2]
    assert (ROOT / mounted[log]).is_file()
    data = {mount.partition(":")[2] for mount in kafka["volumes"]}
    assert {shipped_settings("server.properties")["log.dirs"]} == data


def test_only_the_container_reaches_the_controller():
    """Its users may do everything, and one of the open broker is asked for nothing."""
    for name in ("server.properties", "secure.properties"):
        settings = shipped_settings(name)
        listeners = dict(part.split("://") for part in settings["listeners"].split(","))
        assert listeners[settings["controller.listener.names"]].startswith("localhost:")


@pytest.mark.parametrize(("name", "server"), [("prometheus", Prometheus), ("alertmanager", Alertmanager)])
def test_server_has_the_flags_that_it_has_in_the_tests(tmp_path, name, server):
    """The same set, and the same values but for folders and addresses."""
    tested = server(tmp_path / name)
    tested.start()
    try:
        words = Path(f"/proc/{tested._process.pid}/cmdline").read_text().split("\0")[1:-1]
    finally:
        tested.kill()
    flags = {word for word in map(_flag, words) if not word.startswith("--web.listen-address")}
    assert {_flag(word) for word in SERVICES[name]["command"]} == flags


def _flag(word: str) -> str:
    """Without the value, where that is a path."""
    name, _, value = word.partition("=")
    return f"{name}=" if "/" in value else word


@pytest.mark.parametrize(
    "command",
    [
        ["promtool", "check", "config", "deploy/prometheus/prometheus.yml"],
        ["amtool", "check-config", "deploy/alertmanager/alertmanager.yml"],
    ],
    ids=lambda command: command[0],
)
def test_the_servers_own_tools_accept_their_files(command):
    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_prometheus_scrapes_every_stage_that_has_metrics():
    document = yaml.safe_load((ROOT / "deploy" / "prometheus" / "prometheus.yml").read_text())
    job = document["scrape_configs"][0]
    resolved = {f"{name}:{found['port']}" for found in job["dns_sd_configs"] for name in found["names"]}
    settings = load_settings(SETTINGS)
    ports = {**settings.general.metrics_ports.model_dump(), "api": settings.api.port}
    assert {*job["static_configs"][0]["targets"], *resolved} == {f"{stage}:{port}" for stage, port in ports.items()}
    assert {name.partition(":")[0] for name in resolved} == {name for name in OURS if "profiles" in OURS[name]}
    assert settings.general.metrics_host == settings.api.host == "0.0.0.0"
    assert "api" in settings.api.allowed_hosts, "Prometheus asks for it by this name"


def test_each_container_is_asked_for_its_own_page():
    settings = load_settings(SETTINGS)
    ports = {**settings.general.metrics_ports.model_dump(), "api": settings.api.port}
    pages = {name: service["environment"]["STATUS_PAGE"] for name, service in OURS.items()}
    assert pages.pop("simulator") == "http://127.4.0.1:6821/clock"
    assert pages == {stage: f"http://127.0.0.1:{port}/-/healthy" for stage, port in ports.items()}


def test_the_healthcheck_tells_a_process_that_runs_from_one_that_does_not():
    port = free_port()
    kind, _, *arguments = OURS["ingest"]["healthcheck"]["test"]
    assert kind == "CMD"
    command = [sys.executable, *arguments]
    environment = {**os.environ, "STATUS_PAGE": f"http://127.0.0.1:{port}/-/healthy"}
    assert (
        subprocess.run(command, env=environment, capture_output=True, check=False, timeout=DEADLINE_S).returncode != 0
    )
    StatusPages("127.0.0.1", port, lambda: "the stage starts").start()
    assert (
        subprocess.run(command, env=environment, capture_output=True, check=False, timeout=DEADLINE_S).returncode == 0
    )


def test_one_container_for_each_stage():
    assert set(OURS) == {stage.value for stage in Stage} | {"simulator"}


@pytest.mark.parametrize("name", OURS)
def test_command_exists_and_takes_these_options(name):
    command, *options = OURS[name]["command"]
    assert command == {"simulator": "simulate"}.get(name, name)
    helped = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"})
    assert helped.exit_code == 0
    for option in options:
        if option.startswith("--"):
            assert option in helped.output


@pytest.mark.parametrize("name", SERVICES)
def test_container_has_no_more_rights_than_it_needs(name):
    service = SERVICES[name]
    assert service["user"] not in ("0", "root")
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert all("size=" in folder for folder in service["tmpfs"]), "it counts as memory"
    assert "privileged" not in service


@pytest.mark.parametrize("name", SERVICES)
def test_container_is_bounded(name):
    service = SERVICES[name]
    assert re.fullmatch(r"\d+[mg]", service["mem_limit"])
    assert 0 < service["pids_limit"] <= 1024
    assert service["cpu_shares"] > 0


@pytest.mark.parametrize("name", OURS)
def test_stage_writes_to_a_volume_of_its_own(name):
    assert OURS[name]["volumes"] == [f"{name}:/data"], "numba and the stage itself write there"


def test_images_are_named_by_an_exact_version():
    """A tag such as latest or 13 is another program tomorrow."""
    images = {service["image"] for service in SERVICES.values()}
    assert {image for image in images if not re.fullmatch(r"[\w./-]+:v?\d+\.\d+\.\d+", image)} == set()


def test_the_limits_and_images_are_documented():
    text = (ROOT / "docs" / "compose.md").read_text()
    for name, service in SERVICES.items():
        assert f"\n| `{name}` | {service['mem_limit']} | {service['cpu_shares']} |" in text, name
        if name not in OURS:
            assert f"| {service['image'].partition(':')[2].removeprefix('v')} |" in text, service["image"]
    for version in (VERSION, OLD_VERSION):
        assert version in text


def test_only_loopback_ports_are_published():
    ports = [port for service in SERVICES.values() for port in service.get("ports", ())]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_everything_that_is_mounted_exists():
    named = set(COMPOSE["volumes"])
    for name, service in SERVICES.items():
        for mount in service.get("volumes", ()):
            source = mount.partition(":")[0]
            assert source in named or (ROOT / source).exists(), f"{name}: {mount}"
        for config in service.get("configs", ()):
            assert (ROOT / COMPOSE["configs"][config["source"]]["file"]).is_file()


def test_settings_of_the_containers_are_valid_and_what_the_simulator_serves():
    for name, text in texts().items():
        assert (SETTINGS.parent / name).read_text() == text, "run: python deploy/compose/write_settings.py"
    checked = CliRunner().invoke(app, ["check", "config", str(SETTINGS)])
    assert checked.exit_code == 0, checked.output
    simulator = OURS["simulator"]["command"]
    assert simulator[simulator.index("--hosts") + 1] == str(HOSTS)
    assert simulator[simulator.index("--interval") + 1] == f"{INTERVAL_S}s"
    assert OURS["simulator"]["network_mode"] == "service:ingest", "its devices are on loopback addresses"


def test_settings_name_services_and_files_that_are_there():
    settings = load_settings(SETTINGS)
    assert settings.bus.kind == "kafka"
    urls = [*settings.bus.kafka.bootstrap, *(str(one.url) for one in settings.alerting.receivers)]
    urls += [target.url for target in settings.remote_write]
    assert {re.sub(r"^https?://", "", url).partition(":")[0] for url in urls} <= set(SERVICES)
    assert settings.general.data_dir == Path("/data")
    targets = {config["target"] for config in OURS["ingest"]["configs"]}
    assert settings.ingest.inventory is not None
    assert str(settings.ingest.inventory.file) in targets
    InventoryCollector(InventoryConfig(file=SETTINGS.with_name("fabricscope.inventory.yaml"))).load()


def test_grafana_finds_its_data_source_and_boards():
    provisioning = ROOT / "deploy" / "grafana" / "provisioning"
    (source,) = yaml.safe_load((provisioning / "datasources" / "prometheus.yaml").read_text())["datasources"]
    assert set(source) <= {"name", "uid", "type", "access", "url", "isDefault", "jsonData", "editable"}
    assert (source["type"], source["access"], source["url"]) == ("prometheus", "proxy", "http://prometheus:9090")
    (provider,) = yaml.safe_load((provisioning / "dashboards" / "fabricscope.yaml").read_text())["providers"]
    keys = {"name", "orgId", "folder", "folderUid", "type", "disableDeletion", "allowUiUpdates", "options"}
    assert set(provider) <= keys
    mounted = {mount.split(":")[1] for mount in SERVICES["grafana"]["volumes"]}
    assert provider["options"]["path"] in mounted
    home = Path(SERVICES["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])
    assert str(home.parent) in mounted
    assert (ROOT / "deploy" / "grafana" / "dashboards" / home.name).is_file()


def test_image_is_non_root_and_compiled_code_goes_to_data():
    text = (ROOT / "Dockerfile").read_text()
    assert f"USER {OURS['ingest']['user']}" in text
    assert "NUMBA_CACHE_DIR=/data/" in text
    assert re.search(r"install -d -o fabricscope /data", text), "a new volume takes its owner from the image"


def test_the_image_has_all_that_make_compiles():
    text = (ROOT / "Dockerfile").read_text()
    compiled = re.findall(r"-m (\w+)\.warm_up", (ROOT / "Makefile").read_text())
    assert re.findall(r"for stage in (.+); do", text) == [" ".join(compiled)]
    (folder,) = re.findall(r"NUMBA_CACHE_DIR=(/opt\S+)", text)
    assert f"{jit.SHIPPED}={folder}\n" in text
    assert len(re.findall(r"NUMBA_CPU_NAME=x86-64-v3 NUMBA_CPU_FEATURES= ?", text)) == 2, "at build and at run time"
