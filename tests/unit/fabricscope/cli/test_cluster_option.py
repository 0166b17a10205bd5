"""``fabricscope simulate``: the cluster from options or from a file, never from both."""

from pathlib import Path

import pytest

from common.errors import ConfigError
from fabricscope.commands.simulate import cluster_of, serve_config
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


def test_a_fabric_that_no_collector_reads_is_not_served() -> None:
    with pytest.raises(ConfigError, match="shape infiniband: expected another one"):
        serve_config(cluster=SimulatorConfig.model_validate({"shape": "infiniband"}))
