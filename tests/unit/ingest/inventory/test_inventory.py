from pathlib import Path

import pytest

from common.errors import ConfigError
from ingest.collectors.inventory.collector import InventoryCollector
from ingest.collectors.inventory.config import Config
from ingest.collectors.inventory.parse import facts_between, parse_inventory
from telemetry.samples import DownReason, SampleBatch
from telemetry.topology import Device, Gpu, Job, Link, Mount, Role, StorageTarget, TopologyFact

FILE = """\
devices:
  - {name: leaf1, role: leaf, pod: pod1, rack: net1, rail: 0, asic: spectrum 4}
  - {name: "node[1-2]", role: host, pod: pod1, rack: r1}
links:
  - {from: node1/mlx5_0, to: leaf1/Ethernet1/1, speed: 400G}
gpus:
  - {device: node1, uuid: GPU-1, index: 0, nic_port: mlx5_0, model: H100, serial: "1650321004242"}
storage_targets:
  - {filesystem: scratch, target: OST0000, server: oss1}
mounts:
  - {device: "node[1-2]", filesystem: scratch}
jobs:
  - {job_id: 4711, nodes: "node[1-2]", gpu_indices: [0, 1]}
"""


def test_everything_that_a_file_can_hold() -> None:
    assert list(parse_inventory(FILE, "cluster.yaml").values()) == [
        Device("leaf1", Role.LEAF, "pod1", "net1", "0", "Spectrum-4"),
        Device("node1", Role.HOST, "pod1", "r1"),
        Device("node2", Role.HOST, "pod1", "r1"),
        Link("leaf1", "Ethernet1/1", "node1", "mlx5_0", 4e11),
        Gpu("node1", "GPU-1", 0, "mlx5_0", "H100", "1650321004242"),
        StorageTarget("scratch", "OST0000", "oss1"),
        Mount("node1", "scratch"),
        Mount("node2", "scratch"),
        Job("4711", ("node1", "node2"), gpu_indices=(0, 1)),
    ]


ALIASES = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40))


@pytest.mark.parametrize("text", ["", "devices: []", "# nothing yet"])
def test_an_empty_file_is_an_empty_inventory(text: str) -> None:
    assert parse_inventory(text, "cluster.yaml") == {}


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("devices:\n  - {name: leaf1, role: boss}", "2:19", "devices.0.role"),
        ("devices:\n  - {name: leaf1, role: leaf, colour: red}", "2:31", "devices.0.colour"),
        ("devices:\n  - {name: leaf1, role: leaf, asic: Bison}", "2:31", "Bison: expected one of Spectrum-1,"),
        ("devices:\n  - {role: leaf}", "2:5", "devices.0.name"),
        ("devicess: []", "1:1", "devicess"),
        ("links:\n  - {from: leaf1, to: node1/mlx5_0}", "2:6", "links.0.from"),
        ("links:\n  - {from: a/1, to: b/1, speed: fast}", "2:26", "links.0.speed"),
        ("mounts:\n  - {device: 'node[1-', filesystem: scratch}", "2:6", "brackets"),
        ("devices:\n  - {name: a, role: leaf}\n  - {name: a, role: spine}", "3:6", "is duplicated"),
        ("devices:\n  - {name: a\n", "3:1", "expected"),
        ("devices: @x", "1:10", "token"),
        ("devices: []\ndevices: []", "2:1", "devices is defined twice"),
        ("devices: [{name: a, role: leaf, name: b}]", "1:33", "name is defined twice"),
        ("devices: &a [*a]", "1:10", "an alias of what it is part of"),
        (ALIASES, "19:6", "more than 1000000 values, with aliases"),
        ("devices: 2026-13-01", "1:1", "month must be in 1..12"),
        ("gpus:\n  - {device: a, uuid: u, index: 4294967296}", "2:26", "gpus.0.index"),
        ("links:\n  - {from: a/1, to: b/1, speed: .inf}", "2:26", "links.0.speed"),
        (f"devices:\n  - {{name: 'n{'x' * 1025}', role: leaf}}", "2:6", "more than 1024 characters"),
        ("- a", "1:1", "file"),
        ("devices: " + "[" * 60, "1:60", "deeper than 50 levels"),
    ],
)
def test_an_error_names_file_line_and_column(text: str, where: str, what: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_inventory(text, "cluster.yaml")
    assert str(caught.value).startswith(f"cluster.yaml:{where}: ")
    assert what in str(caught.value)


def test_the_facts_between_two_inventories() -> None:
    before = parse_inventory("devices: [{name: a, role: leaf}, {name: b, role: leaf}]", "f")
    after = parse_inventory("devices: [{name: a, role: spine}, {name: c, role: leaf}]", "f")
    facts = [(fact.entity, fact.gone) for fact in facts_between(before, after, 5)]
    assert facts == [
        (Device("a", Role.SPINE), False),
        (Device("c", Role.LEAF), False),
        (Device("b", Role.LEAF), True),
    ]


async def test_the_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(FILE)
    collector = InventoryCollector(Config(file=file))
    facts = await collector.collect(1)
    assert not isinstance(facts, SampleBatch)
    assert len(facts) == 9
    assert await collector.collect(2) == []
    file.write_text(FILE.replace("rack: net1", "rack: net2"))
    facts = await collector.collect(3)
    assert not isinstance(facts, SampleBatch)
    assert [fact.entity for fact in facts if isinstance(fact, TopologyFact)] == [
        Device("leaf1", Role.LEAF, "pod1", "net2", "0", "Spectrum-4")
    ]


async def test_a_file_with_an_error_changes_nothing_and_is_down(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(FILE)
    collector = InventoryCollector(Config(file=file))
    await collector.collect(1)
    for breakage in (b"devices: 7", b"\xff\xfe", b"x: " + b"y" * 2000, b"[" * 300_000):
        file.write_bytes(breakage)
        batch = await InventoryCollector(Config(file=file, file_bytes_max=1000)).collect(2)
        assert isinstance(batch, SampleBatch)
        assert batch.collection.down is DownReason.BAD_FORMAT
        assert isinstance(await collector.collect(2), SampleBatch)
    file.write_text(FILE)
    assert await collector.collect(3) == []
    with pytest.raises(ConfigError, match="No such file"):
        InventoryCollector(Config(file=tmp_path / "absent.yaml")).load()


@pytest.mark.parametrize(
    ("text", "bits_per_second"),
    [
        ("400G", 4e11),
        ("1.6T", 1.6e12),
        ("100M", 1e8),
        ("400 Gb/s", 4e11),
        ("400Gbps", 4e11),
        ("400gbit/s", 4e11),
        ("' 25G '", 2.5e10),
        ("400000000000", 4e11),
        ("4e11", 4e11),
        ("0", 0.0),
    ],
)
def test_speeds(text: str, bits_per_second: float) -> None:
    (link,) = parse_inventory(f"links: [{{from: a/1, to: b/1, speed: {text}}}]", "f").values()
    assert isinstance(link, Link)
    assert link.bits_per_second == pytest.approx(bits_per_second)


@pytest.mark.parametrize("text", ["fast", "400K", "G", "-1", "400 G b", ".5G"])
def test_other_speeds_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"links\.0\.speed"):
        parse_inventory(f"links: [{{from: a/1, to: b/1, speed: '{text}'}}]", "f")


@pytest.mark.parametrize(
    ("ends", "link"),
    [
        ("{from: a/1, to: b/2}", Link("a", "1", "b", "2")),
        ("{from: b/2, to: a/1}", Link("a", "1", "b", "2")),
        ("{from: leaf1/Ethernet1/1, to: a/1}", Link("a", "1", "leaf1", "Ethernet1/1")),
        ("{one: a/1, other: b/2}", Link("a", "1", "b", "2")),
    ],
)
def test_a_link_is_the_same_from_either_end(ends: str, link: Link) -> None:
    assert list(parse_inventory(f"links: [{ends}]", "f").values()) == [link]


@pytest.mark.parametrize("end", ["a", "/1", "a/", "'a b/1'", "''"])
def test_an_end_of_a_link_is_a_device_and_a_port(end: str) -> None:
    with pytest.raises(ConfigError, match=r"f:1:\d+: links\.0\.from"):
        parse_inventory(f"links: [{{from: {end}, to: b/2}}]", "f")


@pytest.mark.parametrize(
    ("value", "name"),
    [("4711", "4711"), ("'007'", "007"), ("0", "0"), ("a.b-c_d", "a.b-c_d")],
)
def test_numbers_are_names_where_a_name_is_meant(value: str, name: str) -> None:
    (job,) = parse_inventory(f"jobs: [{{job_id: {value}, nodes: n1}}]", "f").values()
    assert isinstance(job, Job)
    assert job.job_id == name


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("devices:\n  - {name: true, role: leaf}", "2:6", "devices.0.name"),
        ("devices:\n  - {name: '', role: leaf}", "2:6", "devices.0.name"),
        ("gpus:\n  - {device: a, uuid: x, index: -1}", "2:26", "gpus.0.index"),
        ("gpus:\n  - {device: a, uuid: x, index: 0}\n  - {device: a, uuid: x, index: 1}", "3:17", "gpu/a/x is"),
        ("mounts:\n  - {device: a, filesystem: s}\n  - {device: 'a,b', filesystem: s}", "3:5", "mount/a/s is"),
        ("jobs:\n  - {job_id: 1, nodes: 'n[1-99999999]'}", "2:17", "jobs.0.nodes: hostlist"),
        ("links:\n  - {from: a/1, to: b/1}\n  - {from: b/1, to: a/1}", "3:5", "link/a/1--b/1 is duplicated"),
        ("devices:\n  leaf1: {role: leaf}", "1:1", "devices"),
        ("devices: [1]", "1:11", "devices.0"),
        ("a: &x 1\ndevices: *y", "2:10", "undefined alias"),
        ("\tdevices: []", "1:1", "token"),
    ],
)  # fmt: skip
def test_more_errors_with_their_place(text: str, where: str, what: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_inventory(text, "cluster.yaml")
    assert str(caught.value).startswith(f"cluster.yaml:{where}: ")
    assert what in str(caught.value)


def test_the_facts_of_equal_inventories_are_none() -> None:
    entities = parse_inventory(FILE, "f")
    assert facts_between(entities, entities, 5) == []
    assert {fact.gone for fact in facts_between(entities, {}, 5)} == {True}
    assert all((fact.observed_ns, fact.source) == (5, "inventory") for fact in facts_between({}, entities, 5))
