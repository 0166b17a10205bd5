"""``fabricscope simulate``: the cluster from options or from a file, never from both."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from common.errors import ConfigError
from fabricscope.cli import app
from fabricscope.commands.simulate import cluster_of, faults_of, serve_config
from simulator.cluster_file import Cluster
from simulator.collection.presets import PRESETS
from simulator.config import SimulatorConfig
from simulator.faults.schedule import ScheduledFault


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.yaml"
    path.write_text("hosts: 4\nshape: rail-only\nfaults: [{fault: incast, at_s: 5}]\ncollection: lossy\n")
    return path


def test_options_that_are_left_out_have_their_defaults() -> None:
    assert cluster_of(None, hosts=None, seed=7, interval_s=None) == Cluster(SimulatorConfig(seed=7))


def test_a_cluster_file_says_everything(file: Path) -> None:
    config, faults, collection = cluster_of(file, hosts=None, seed=None, interval_s=None)
    assert config.shape == "rail-only"
    assert faults == (ScheduledFault(fault="incast", at_s=5),)
    assert collection == PRESETS["lossy"]


def test_an_option_beside_the_file_is_refused(file: Path) -> None:
    with pytest.raises(ConfigError, match=r"hosts, seed: expected in .*cluster\.yaml, not also as an option"):
        cluster_of(file, hosts=8, seed=1, interval_s=None)


def test_as_many_hosts_can_be_asked_for_as_a_cluster_file_takes() -> None:
    (most,) = (limit.le for limit in SimulatorConfig.model_fields["hosts"].metadata if hasattr(limit, "le"))
    answer = CliRunner().invoke(app, ["simulate", "--hosts", str(most + 1)], env={"COLUMNS": "200"})
    assert answer.exit_code == 2
    assert f"'--hosts': Input should be less than or equal to {most}" in answer.output


def test_a_fabric_that_no_collector_reads_is_not_served() -> None:
    with pytest.raises(ConfigError, match=r"^shape infiniband: expected another one: [a-z ]+$"):
        serve_config(cluster=SimulatorConfig.model_validate({"shape": "infiniband"}))


def test_faults_come_from_the_command_line_a_cluster_file_and_a_schedule(file: Path, tmp_path: Path) -> None:
    schedule = tmp_path / "faults.yaml"
    schedule.write_text("- {fault: link-down, at_s: 7}\n")
    cluster = cluster_of(file, hosts=None, seed=None, interval_s=None)
    assert [fault.at_s for fault in faults_of(cluster, ["xid@2s:node2/1"], schedule)] == [2.0, 5.0, 7.0]
    assert faults_of(cluster, [], None) == cluster.faults


def test_a_fault_at_nothing_is_refused_before_anything_is_served() -> None:
    with pytest.raises(ConfigError) as caught:
        faults_of(Cluster(SimulatorConfig(hosts=2)), ["xid@2s", "xid@2s:node9/1", "leaf-down@9s:leaf99"], None)
    wrong, other = str(caught.value).splitlines()
    assert wrong.startswith("fault 'xid@2s:node9/1': xid: no target 'node9/1', expected host/index")
    assert other.startswith("fault 'leaf-down@9s:leaf99': leaf-down: no target 'leaf99', expected leaf")
