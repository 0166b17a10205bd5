"""Numbers of a cluster that follow from its hosts."""

import pytest
from pydantic import ValidationError

from simulator.config import JobMix, SimulatorConfig


@pytest.mark.parametrize(
    ("hosts", "pod_hosts", "leaf_rails", "spines", "servers", "uplink"),
    [
        (2, 1, 2, 4, 2, 800e9),
        (8, 4, 2, 4, 2, 800e9),
        (15, 8, 2, 4, 2, 800e9),
        (16, 8, 2, 4, 2, 800e9),
        (17, 9, 1, 8, 2, 400e9),
        (64, 16, 1, 32, 8, 400e9),
        (1024, 16, 1, 512, 128, 400e9),
        (4096, 64, 1, 64, 512, 400e9),
    ],
)
def test_what_is_left_at_0_follows_from_the_hosts(
    hosts: int, pod_hosts: int, leaf_rails: int, spines: int, servers: int, uplink: float
) -> None:
    config = SimulatorConfig(hosts=hosts)
    assert (config.pod_hosts, config.leaf_rails, config.spine_count) == (pod_hosts, leaf_rails, spines)
    assert (config.server_count, config.uplink_bits_per_second) == (servers, uplink)


def test_what_is_given_is_kept() -> None:
    config = SimulatorConfig(
        hosts=64, hosts_per_pod=5, rails_per_leaf=4, spines=7, storage_servers=3, uplink_gbps=100.0
    )
    assert (config.pod_hosts, config.leaf_rails, config.spine_count, config.server_count) == (5, 4, 7, 3)
    assert config.uplink_bits_per_second == 100e9


@pytest.mark.parametrize(("gpus", "rails"), [(1, 1), (2, 2), (3, 1), (5, 1), (8, 2)])
def test_default_rails_divide_any_number_of_gpus(gpus: int, rails: int) -> None:
    assert SimulatorConfig(hosts=4, gpus_per_host=gpus).leaf_rails == rails


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hosts": 1}, "hosts"),
        ({"hosts": 4097}, "hosts"),
        ({"gpus_per_host": 9}, "gpus_per_host"),
        ({"rails_per_leaf": 3}, "rails_per_leaf 3: must divide gpus_per_host 8"),
        ({"step_ms": 0}, "step_ms"),
        ({"interval_s": 0.0}, "interval_s"),
        ({"racks": 4}, "racks"),
    ],
)
def test_impossible_clusters_are_rejected_with_the_key(settings: dict[str, float], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        SimulatorConfig.model_validate(settings)


def test_a_mix_has_limits_too() -> None:
    assert JobMix(jobs=0).jobs == 0
    with pytest.raises(ValidationError, match="compute_s"):
        JobMix(compute_s=0.0)
