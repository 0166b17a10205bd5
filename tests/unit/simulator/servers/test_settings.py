"""Settings that collect from a simulator: addresses, intervals, TLS, and the inventory beside them."""

import resource
from pathlib import Path
from typing import Any

import pytest
import yaml

from common.errors import ConfigError
from simulator.config import SimulatorConfig
from simulator.layout import Exporter, Flavour
from simulator.servers.addresses import CONTROL_PORT, SLURM_HOST, served_endpoints, with_offset
from simulator.servers.config import ServeConfig
from simulator.servers.listeners import flavour_of, gnmi_credentials
from simulator.servers.open_files import allow_open_files
from simulator.servers.settings import collection, inventory_document, settings_text
from simulator.wiring import build_layout

CLUSTER = SimulatorConfig(hosts=2, gpus_per_host=2, interval_s=10.0)
LAYOUT = build_layout(CLUSTER)


def collected(**options: Any) -> dict[str, Any]:
    return collection(ServeConfig(cluster=CLUSTER, **options), LAYOUT, Path("inventory.yaml"))


def test_every_exporter_is_scraped_where_it_is_served() -> None:
    jobs = {job["job_name"]: job for job in collected()["scrape_configs"]}
    assert {name: job["source"] for name, job in jobs.items()} == {
        "dcgm": "dcgm",
        "node": "node_exporter",
        "lustre": "lustre",
    }
    assert jobs["dcgm"]["static_configs"] == [
        {"targets": ["127.1.0.1:9400"], "labels": {"device": "node1"}},
        {"targets": ["127.1.0.2:9400"], "labels": {"device": "node2"}},
    ]
    assert [one["labels"]["device"] for one in jobs["lustre"]["static_configs"]] == ["oss1", "oss2", "node1", "node2"]


def test_an_offset_is_in_every_address() -> None:
    found = yaml.dump(collected(address_offset=7))
    moved = [one.address for one in served_endpoints(LAYOUT, 7)]
    assert all(address in found for address in moved)
    assert not set(moved) & {one.address for one in served_endpoints(LAYOUT, 0)}


@pytest.mark.parametrize(("speed", "interval_s"), [(1.0, 10.0), (20.0, 0.5), (3.0, 3.333)])
def test_a_fast_simulation_is_read_more_often(speed: float, interval_s: float) -> None:
    found = collected(speed=speed)
    assert {job["scrape_interval"] for job in found["scrape_configs"]} == {interval_s}
    assert {job["interval_s"] for job in (*found["gnmi_configs"], *found["job_sources"])} == {interval_s}


@pytest.mark.parametrize(
    ("leaf", "spine", "jobs"),
    [
        (Flavour.SONIC, Flavour.OPENCONFIG, {"gnmi-sonic": "sonic", "gnmi-openconfig": "arista"}),
        (Flavour.SONIC, Flavour.SONIC, {"gnmi-sonic": "sonic"}),
        (Flavour.OPENCONFIG, Flavour.OPENCONFIG, {"gnmi-openconfig": "arista"}),
    ],
)
def test_switches_are_subscribed_by_flavour(leaf: Flavour, spine: Flavour, jobs: dict[str, str]) -> None:
    found = collected(leaf_flavour=leaf, spine_flavour=spine)["gnmi_configs"]
    assert {job["job_name"]: job["source"] for job in found} == jobs
    assert sorted(one["device"] for job in found for one in job["targets"]) == sorted(LAYOUT.switches)
    config = ServeConfig(cluster=CLUSTER, leaf_flavour=leaf, spine_flavour=spine)
    assert {flavour_of(config, LAYOUT, name) for name in LAYOUT.leaves} == {leaf}
    assert {flavour_of(config, LAYOUT, name) for name in LAYOUT.spines} == {spine}


@pytest.mark.parametrize(("tls", "expected"), [(False, {"insecure": True}), (True, {"insecure_skip_verify": True})])
def test_a_self_signed_identity_is_not_verified(tls: bool, expected: dict[str, bool]) -> None:
    assert [job["tls"] for job in collected(gnmi_tls=tls)["gnmi_configs"]] == [expected] * 2


def test_the_time_of_a_fast_simulation_is_in_the_settings() -> None:
    path = Path("/var/lib/fabricscope/fabricscope.yaml")
    texts = settings_text(ServeConfig(cluster=CLUSTER, speed=20.0), LAYOUT, path, wall_ns=11, event_ns=7)
    assert list(texts) == [path.with_name("fabricscope.inventory.yaml"), path]
    settings = yaml.safe_load(texts[path])
    assert settings["global"] == {
        "cluster": "simulated",
        "data_dir": "/var/lib/fabricscope/data",
        "simulated_time": {"wall_ns": 11, "event_ns": 7, "speed": 20.0},
    }
    assert settings["analytics"]["engine"]["interval_s"] == 10.0
    assert settings["inventory"]["file"] == str(path.with_name("fabricscope.inventory.yaml"))
    real_time = settings_text(ServeConfig(cluster=CLUSTER), LAYOUT, path, 11, 7)
    assert "simulated_time" not in yaml.safe_load(real_time[path])["global"]


def test_the_inventory_has_what_no_protocol_reports() -> None:
    found = inventory_document(LAYOUT)
    assert {"name": "node1", "role": "host", "pod": "pod1", "rack": "r1"} in found["devices"]
    assert [device["asic"] for device in found["devices"] if device["role"] == "spine"] == ["Spectrum-3"] * 4
    gpu = LAYOUT.gpus[1]
    assert found["gpus"][1] == {
        "device": "node1",
        "uuid": gpu.uuid,
        "index": 1,
        "nic_port": "mlx5_1",
        "model": "NVIDIA H100 80GB HBM3",
    }
    assert found["storage_targets"][2] == {"filesystem": "scratch", "target": "OST0002", "server": "oss2"}
    assert found["mounts"] == [{"device": host, "filesystem": "scratch"} for host in ("node1", "node2")]
    assert "links" not in found, "links come by LLDP"


def test_no_two_listeners_have_one_address() -> None:
    addresses = [one.address for one in served_endpoints(LAYOUT, 3)]
    assert len(set(addresses)) == len(addresses)
    assert f"{with_offset(SLURM_HOST, 3)}:{CONTROL_PORT}" not in addresses
    assert {one.exporter for one in served_endpoints(LAYOUT, 3)} == set(Exporter)


def test_an_offset_that_leaves_too_few_addresses_is_refused_with_the_largest() -> None:
    large = build_layout(SimulatorConfig(hosts=600, gpus_per_host=1))
    assert {one.host for one in served_endpoints(large, 253)} >= {"127.1.253.1", "127.1.255.88"}
    with pytest.raises(ConfigError, match=r"600 hosts \(127\.1\.254\.1 to 127\.1\.256\.88\); expected at most 253"):
        served_endpoints(large, 254)


def test_open_files_are_allowed_as_far_as_the_hard_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        allow_open_files(200)
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (500, hard)
        with pytest.raises(ConfigError, match=r"addresses, each with a connection, need .* expected fewer hosts, or"):
            allow_open_files(hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_certificate_without_its_key_is_refused(tmp_path: Path) -> None:
    config = ServeConfig(cluster=CLUSTER, gnmi_tls=True, gnmi_cert_file=tmp_path / "cert.pem")
    with pytest.raises(ConfigError, match="belong together"):
        gnmi_credentials(config, LAYOUT, tmp_path)


def test_credentials_without_tls_have_no_identity(tmp_path: Path) -> None:
    config = ServeConfig(cluster=CLUSTER, gnmi_username="admin", gnmi_password="secret")
    found = gnmi_credentials(config, LAYOUT, tmp_path)
    assert (found.key, found.chain, found.username, found.password) == (None, None, "admin", "secret")
    assert list(tmp_path.iterdir()) == []
