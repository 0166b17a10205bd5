"""Settings of collectors that read each target at its own interval, and the records that people keep."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from ingest.collectors.exposition.config import ScrapeConfig
from ingest.collectors.gnmi.config import Config as GnmiConfig
from ingest.collectors.inventory.parse import parse_inventory
from simulator.collection.config import CollectionConfig, Timing
from simulator.collection.draws import Draws
from simulator.collection.inventory import recorded
from simulator.collection.presets import PRESETS, preset
from simulator.config import SimulatorConfig
from simulator.layout import Exporter, topology_facts
from simulator.servers.config import ServeConfig
from simulator.servers.settings import collection, settings_text
from simulator.wiring import build_layout
from telemetry.topology import Link

CLUSTER = SimulatorConfig(hosts=8, interval_s=10.0, seed=4)
LAYOUT = build_layout(CLUSTER)
PATH = Path("fabricscope.yaml")


def serving(how: CollectionConfig, **options: Any) -> ServeConfig:
    return ServeConfig(cluster=CLUSTER, collection=how, **options)


def collected(how: CollectionConfig, **options: Any) -> dict[str, Any]:
    return collection(serving(how, **options), LAYOUT, Path("inventory.yaml"))


def scraped(found: dict[str, Any]) -> dict[str, float]:
    """Interval by exporter and device."""
    return {
        f"{job['source']}/{group['labels']['device']}": job["scrape_interval"]
        for job in found["scrape_configs"]
        for group in job["static_configs"]
    }


def paths(found: dict[str, Any], device: str) -> dict[str, float]:
    """Sample interval by path of one switch."""
    (job,) = (job for job in found["gnmi_configs"] if device in {target["device"] for target in job["targets"]})
    return {
        path["path"]: path["interval_s"]
        for subscription in job["subscriptions"]
        for path in subscription["paths"]
        if "interval_s" in path
    }


def test_each_target_has_the_interval_that_a_campaign_draws_for_it() -> None:
    found = scraped(collected(PRESETS["mixed-intervals"]))
    draws = Draws(PRESETS["mixed-intervals"], CLUSTER.seed, 10.0, 0)
    for endpoint in LAYOUT.endpoints:
        if endpoint.exporter is Exporter.NODE:
            (times,) = draws.target(endpoint).times.values()
            assert found[f"node_exporter/{endpoint.device}"] == times.interval_s
    assert {found[f"node_exporter/node{k}"] for k in range(1, 9)} == {15.0, 30.0, 60.0}
    assert found["dcgm/node1"] == found["lustre/oss1"] == 30.0


@pytest.mark.parametrize(
    ("device", "ports", "states", "queues", "optics"),
    [
        ("leaf1", "COUNTERS/Ethernet*", "PORT_TABLE", "COUNTERS/Ethernet*/Queues", "TRANSCEIVER_DOM_SENSOR"),
        (
            "spine1",
            "/interfaces/interface[name=*]/state/counters",
            "/interfaces/interface[name=*]/state/oper-status",
            "/qos/interfaces/interface[interface-id=*]/output/queues/queue[name=*]/state",
            "/components/component[name=*]/transceiver",
        ),
    ],
)
def test_groups_of_a_switch_are_sampled_at_intervals_of_their_own(
    device: str, ports: str, states: str, queues: str, optics: str
) -> None:
    found = paths(collected(PRESETS["mixed-intervals"]), device)
    assert [found[path] for path in (ports, states, queues, optics)] == [1.0, 10.0, 10.0, 60.0]
    fast = paths(collected(PRESETS["mixed-intervals"], speed=4.0), device)
    assert [fast[path] for path in (ports, states, queues, optics)] == [0.25, 2.5, 2.5, 15.0]


def test_switches_with_other_intervals_are_other_jobs() -> None:
    found = collected(CollectionConfig(ports=Timing(interval_s=(1.0, 5.0))))
    intervals = {switch: paths(found, switch) for switch in LAYOUT.switches}
    assert {min(of.values()) for of in intervals.values()} == {1.0, 5.0}
    names = [job["job_name"] for job in found["gnmi_configs"]]
    assert len(set(names)) == len(names) > 2


@pytest.mark.parametrize("name", PRESETS)
def test_the_settings_of_every_preset_are_those_of_the_collectors(name: str) -> None:
    found = collected(PRESETS[name], speed=3.0)
    scrapes = [ScrapeConfig.model_validate(job) for job in found["scrape_configs"]]
    streams = [GnmiConfig.model_validate(job) for job in found["gnmi_configs"]]
    assert {target.device for job in streams for target in job.targets} == set(LAYOUT.switches)
    assert len(scrapes) >= 3


def test_slurm_is_polled_as_slowly_as_drawn() -> None:
    every_s, _ = Draws(PRESETS["slow-slurm"], CLUSTER.seed, 10.0, 0).job_polls()
    assert collected(PRESETS["slow-slurm"])["job_sources"][0]["interval_s"] == every_s > 10.0
    assert collected(PRESETS["ideal"])["job_sources"][0]["interval_s"] == 10.0


def test_a_scrape_gives_up_when_a_campaigns_poll_does() -> None:
    found = collected(preset("lossy+mixed-intervals"), speed=2.0)
    assert {job["scrape_timeout"] for job in found["scrape_configs"]} == {5.0}
    assert {job["scrape_timeout"] for job in collected(PRESETS["lossy"], speed=4.0)["scrape_configs"]} == {2.5}


def test_an_old_inventory_has_the_records_of_a_campaign_and_no_neighbours_correct_it() -> None:
    how = PRESETS["stale-inventory"]
    texts = settings_text(serving(how), LAYOUT, PATH, 0, 0)
    file = PATH.with_name("fabricscope.inventory.yaml")
    found = parse_inventory(texts[file], str(file))
    facts = recorded(topology_facts(LAYOUT, 0), how.inventory, Draws(how, CLUSTER.seed, 10.0, 0).rng("inventory"))
    assert dict(found) == {fact.entity.key: fact.entity for fact in facts}
    assert 0 < sum(isinstance(entity, Link) for entity in found.values()) < len(LAYOUT.links)
    subscribed = yaml.safe_load(texts[PATH])["gnmi_configs"]
    assert "lldp" not in str(subscribed).lower()
    assert "lldp" in str(collected(PRESETS["lossy"])["gnmi_configs"]).lower()


def test_without_an_inventory_there_is_no_file() -> None:
    texts = settings_text(serving(PRESETS["no-inventory"]), LAYOUT, PATH, 0, 0)
    assert list(texts) == [PATH]
    assert "inventory" not in yaml.safe_load(texts[PATH])
