"""``fabricscope init`` as people and scripts use it."""

import json
import os
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from common.errors import ConfigError
from fabricscope.arguments.init import Exporter, Gnmi
from fabricscope.cli import app
from fabricscope.first_settings.documents import GNMI_PORTS
from fabricscope.first_settings.targets import PORTS
from fabricscope.settings import load_settings
from ingest.collectors.gnmi.config import Source
from ingest.collectors.inventory.parse import parse_inventory
from telemetry.catalogue import sources
from telemetry.topology import Device
from tests.samples import SAMPLES

NODE1 = f"node1={SAMPLES / 'lldp' / 'node1.json'}"
NODES = str(SAMPLES / "slurm" / "slurmrestd_nodes.json")
QUIET = ("--no-discover", "--no-ask")


def init(folder: Path, *arguments: str, answers: str = "") -> Result:
    return CliRunner().invoke(app, ["init", "--out", str(folder), *arguments], input=answers)


def test_everything_that_was_found_is_in_settings_that_load(tmp_path: Path) -> None:
    targets = tmp_path / "dcgm.json"
    targets.write_text(json.dumps([{"targets": ["10.0.1.9:9400"], "labels": {"device": "node9"}}]))
    done = init(
        tmp_path,
        *QUIET,
        *("--cluster", "pod1", "--targets", str(targets), "--lldp", NODE1, "--slurm-nodes", NODES),
        *("--exporter", "node_exporter", "--gnmi", "sonic", "--alertmanager", "http://127.0.0.1:9093"),
        *("--remote-write", "http://127.0.0.1:9090/api/v1/write"),
    )
    assert done.exit_code == 0, done.output + str(done.exception)
    checked = CliRunner().invoke(app, ["check", "config", str(tmp_path / "fabricscope.yaml")])
    assert checked.exit_code == 0, checked.output
    settings = load_settings(tmp_path / "fabricscope.yaml")
    assert settings.general.cluster == "pod1"
    node, dcgm = settings.ingest.scrape_configs
    hosts = ["naboo145", "naboo146", "naboo147", "node1", "node9"]
    assert [one.targets for one in node.static_configs] == [(f"{name}:9100",) for name in hosts]
    assert dcgm.file_sd_configs[0].files == (str(targets),)
    (job,) = settings.ingest.gnmi_configs
    assert [(one.address, one.device) for one in job.targets] == [
        ("10.0.2.1:8080", "leaf1"),
        ("10.0.2.2:8080", "leaf2"),
    ]
    entities = parse_inventory((tmp_path / "inventory.yaml").read_text(), "x")
    devices = {entity.name for entity in entities.values() if isinstance(entity, Device)}
    assert devices == {*hosts, "leaf1", "leaf2"}
    assert "5 host, 2 leaf, 2 links" in done.output


def test_a_cluster_of_which_nothing_is_known_has_settings_too(tmp_path: Path) -> None:
    done = init(tmp_path, *QUIET)
    assert done.exit_code == 0, done.output
    assert "0 scrape jobs, 0 gNMI jobs" in done.output
    assert "no devices yet" in done.output
    load_settings(tmp_path / "fabricscope.yaml")


@pytest.mark.parametrize("name", ["fabricscope.yaml", "inventory.yaml"])
def test_nothing_is_written_over_without_force(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    refused = init(tmp_path, *QUIET)
    assert str(refused.exception) == f"{tmp_path / name}: is there already; --force writes over it"
    assert [file.name for file in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"
    assert init(tmp_path, *QUIET, "--force").exit_code == 0
    assert (tmp_path / name).read_text() != "mine"


def test_questions_are_only_for_what_no_option_gives(tmp_path: Path) -> None:
    answers = "dcgm, cpu\ndcgm,node_exporter\nsonic\nhttp://127.0.0.1:9093\n\n"
    done = init(tmp_path, "--ask", "--no-discover", "--cluster", "pod1", "--lldp", NODE1, answers=answers)
    assert done.exit_code == 0, done.output + str(done.exception)
    assert "cpu: expected dcgm, node_exporter" in done.output
    assert "Name of the cluster" not in done.output
    written = yaml.safe_load((tmp_path / "fabricscope.yaml").read_text())
    assert [job["job_name"] for job in written["scrape_configs"]] == ["dcgm", "node_exporter"]
    assert written["alerting"]["receivers"][0]["url"] == "http://127.0.0.1:9093"
    assert "remote_write" not in written


def test_a_pipe_is_not_asked(tmp_path: Path) -> None:
    assert init(tmp_path, "--no-discover", answers="").exit_code == 0


def test_commands_of_the_machine_are_asked_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They print what the real ones did."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, file in (("lldpcli", SAMPLES / "lldp" / "node1.json"), ("scontrol", NODES), ("squeue", NODES)):
        (folder / name).write_text(f"#!/bin/sh\ncat '{file}'\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    done = init(tmp_path, "--no-ask")
    assert done.exit_code == 0, done.output + str(done.exception)
    assert "lldpcli: 2 neighbours of" in done.output
    assert "scontrol: 3 nodes of Slurm" in done.output
    settings = load_settings(tmp_path / "fabricscope.yaml")
    assert settings.ingest.job_sources[0].command == ("squeue", "--json")
    assert settings.ingest.node_sources[0].command == ("scontrol", "show", "nodes", "--json")


def test_a_command_that_fails_is_named_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "lldpcli").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "lldpcli").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    done = init(tmp_path / "out", "--no-ask")
    assert done.exit_code == 0
    assert "lldpcli -f json show neighbors" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--lldp", "missing.json"), "missing.json: No such file or directory"),
        (("--lldp", NODES), "expected the output of `lldpcli -f json show neighbors`"),
        (("--slurm-nodes", NODE1.partition("=")[2]), "expected the output of `scontrol show nodes --json`"),
        (("--targets", NODES), "Input should be a valid"),
    ],
)
def test_a_file_of_no_use_is_named_and_nothing_is_written(tmp_path: Path, arguments, expected: str) -> None:
    refused = init(tmp_path / "out", *QUIET, *arguments)
    assert refused.exit_code == 1
    assert expected in str(refused.exception)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--cluster", "x" * 65), "global.cluster: String should have at most 64 characters"),
        (("--alertmanager", "nowhere"), "alerting.receivers.0"),
        (("--remote-write", "ftp://127.0.0.1/write"), "remote_write.0.url"),
    ],
)
def test_what_the_settings_would_refuse_is_refused_before_anything_is_written(tmp_path: Path, arguments, expected):
    refused = init(tmp_path / "out", *QUIET, *arguments)
    assert refused.exit_code == 1
    assert str(refused.exception).startswith(expected), refused.exception
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_written_is_one_plain_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    refused = init(tmp_path / "file" / "out", *QUIET)
    assert isinstance(refused.exception, ConfigError)
    assert str(refused.exception) == f"{tmp_path}/file/out: Not a directory"
    refused = init(Path("/proc/nowhere"), *QUIET)
    assert str(refused.exception) == "/proc/nowhere: No such file or directory"

    def denied(_: Path) -> bool:
        raise PermissionError(13, "Permission denied")  # as to any other user than root, who may run the tests

    monkeypatch.setattr(Path, "exists", denied)
    assert str(init(tmp_path, *QUIET).exception) == f"{tmp_path}: Permission denied"


def test_choices_are_those_of_the_program() -> None:
    assert [each.value for each in Exporter] == list(PORTS)
    assert set(PORTS) <= set(sources())
    assert {each.value for each in Gnmi} == set(GNMI_PORTS) == {each.value for each in Source}
