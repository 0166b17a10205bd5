"""Cluster files: what they give, and that every error names its place and what was expected."""

from pathlib import Path

import pytest

from common.errors import ConfigError
from simulator.cluster_file import read_cluster, read_schedule
from simulator.collection.config import CollectionConfig, Timing
from simulator.collection.presets import PRESETS
from simulator.config import JobMix, SimulatorConfig
from simulator.faults.schedule import ScheduledFault
from simulator.shapes.shape import Shape


def test_a_file_gives_the_cluster_and_its_faults(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(
        "hosts: 4\nshape: three-tier\njobs: {jobs: 2}\nseed: 3\n"
        "faults:\n"
        "  - {fault: late-checkpoint, at_s: 60, target: node2}\n"
        "  - {fault: xid, at_s: 90, target: node2/3}\n"
        "  - {fault: spine-down, at_s: 120, lasts_s: 30, target: core4}\n"
    )
    config, faults, collection = read_cluster(file)
    assert collection is None
    assert config == SimulatorConfig(hosts=4, shape=Shape.THREE_TIER, jobs=JobMix(jobs=2), seed=3)
    assert type(config) is SimulatorConfig
    assert faults[2] == ScheduledFault(fault="spine-down", at_s=120, lasts_s=30, target="core4")


def test_an_empty_file_is_the_default_cluster(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text("")
    assert read_cluster(file) == (SimulatorConfig(), (), None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("collection: lossy", PRESETS["lossy"]),
        ("collection: ideal", CollectionConfig()),
        (
            "collection: frames-only+slow-slurm",
            CollectionConfig(absent=PRESETS["frames-only"].absent, jobs_interval_s=(15.0, 30.0, 60.0)),
        ),
        ("collection: {dcgm: {interval_s: [30]}}", CollectionConfig(dcgm=Timing(interval_s=(30.0,)))),
    ],
)
def test_a_collection_is_presets_or_settings(tmp_path: Path, text: str, expected: CollectionConfig) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(text)
    assert read_cluster(file) == (SimulatorConfig(), (), expected)


@pytest.mark.parametrize(
    ("text", "errors"),
    [
        ("hosts: 4\nspines: 200\n", ["2:1: spines: Input should be less than or equal to 128"]),
        ("hosts: 4\nspine: 2\n", ["2:1: spine: unknown key, expected one of hosts, "]),
        ("shape: ring\n", ["1:1: shape: Input should be 'two-tier', 'three-tier', 'rail-only'"]),
        ("hosts: 4\nspines: 2\nshape: rail-only\n", ["2:1: spines: expected 0: a rail-only cluster"]),
        ("rails_per_leaf: 3\n", ["1:1: rails_per_leaf 3: must divide gpus_per_host 8"]),
        ("hosts: 4\njobs:\n  jobs: 3\n", ["3:3: jobs.jobs: 3 jobs have no hosts to send between, expected at most 2"]),
        ("jobs: {size: 3}\n", ["1:8: jobs.size: unknown key, expected one of jobs, compute_s"]),
        (
            "faults:\n  - {fault: incast, target: node9/mlx5_0}\n",
            ["2:21: faults.0: incast: no target 'node9/mlx5_0', expected host/NIC such as node1/mlx5_0"],
        ),
        (
            "hosts: 4\nfaults:\n  - fault: late-checkpoint\n    target: node5\n",
            ["4:5: faults.0: late-checkpoint: no target 'node5', expected host with a running job"],
        ),
        (
            "shape: rail-only\nfaults:\n  - fault: spine-down\n",
            ["3:5: faults.0: spine-down: no target '', this cluster has no spine"],
        ),
        (
            "faults:\n  - {fault: incast, strength: 9}\n  - {fault: sharks}\n  - {fault: xid, when: 3}\n",
            [
                "2:21: faults.0: strength 9: incast has a meaning from 0.1 to 2",
                "3:6: faults.1.fault: no fault 'sharks', expected one of ",
                "4:18: faults.2.when: unknown key, expected one of fault, at_s",
            ],
        ),
        (
            "faults:\n  - {fault: xid, target: node9/1}\n  - {fault: spine-down}\n"
            "  - {fault: leaf-down, target: leaf77}\n",
            [
                "2:18: faults.0: xid: no target 'node9/1', expected host/index or host/UUID",
                "4:24: faults.2: leaf-down: no target 'leaf77', expected leaf such as leaf1",
            ],
        ),
        (
            "conditions:\n  - name: power-cap\n    strength: 7\n  - {name: sun}\n",
            [
                "3:5: conditions.0: strength 7: power-cap has a meaning up to 1.5",
                "4:6: conditions.1.name: no condition 'sun', expected one of pcie-hiccups",
            ],
        ),
        (
            "nic_gbps: .inf\njobs: {compute_s: .inf}\n",
            ["1:1: nic_gbps: Input should be a finite number", "2:8: jobs.compute_s: Input should be a finite number"],
        ),
        ("hosts: 4\nfilesystem: a/b\n", ["2:1: filesystem: String should match pattern"]),
        (
            "seed: 2\ncollection: mixed\n",
            ["2:1: collection: no preset 'mixed', expected some of ideal, mixed-intervals, "],
        ),
        (
            "collection: mixed-intervals+cached\n",
            ["1:1: collection: mixed-intervals+cached: expected presets that do not contradict: cached has other "],
        ),
        ("collection: [lossy]\n", ["1:1: collection: Input should be a valid dictionary"]),
        ("collection: {lossy: 1}\n", ["1:14: collection.lossy: unknown key, expected one of states, ports, "]),
        (
            "collection:\n  ports: {interval_s: [1], jitter_s: 2}\n",
            ["2:28: collection.ports: jitter_s 2: expected less than the shortest period, 1"],
        ),
        (
            "interval_s: 5\ncollection:\n  dcgm: {jitter_s: 6}\n",
            ["3:10: collection.dcgm.jitter_s: 6, expected less than the cluster's interval_s, 5"],
        ),
        (
            "collection: {absent: [gpu_hopes]}\n",
            ["1:14: collection.absent: gpu_hopes: expected metrics of the catalogue"],
        ),
        ("collection: {losses: {bad_share: 2}}\n", ["1:23: collection.losses.bad_share: Input should be less "]),
        ("faults: {fault: incast}\n", ["1:1: faults: Input should be a valid "]),
        ("- hosts\n", ["1:1: expected keys with values, found list"]),
        ("hosts: [\n", ["2:1: "]),
    ],
)
def test_an_error_names_its_line_and_column_and_what_was_expected(tmp_path: Path, text: str, errors: list[str]) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_cluster(file)
    lines = str(caught.value).splitlines()
    assert len(lines) == len(errors)
    for line, expected in zip(lines, errors, strict=True):
        assert line.startswith(f"{file}:{expected}")


def test_a_schedule_is_a_list_of_faults(tmp_path: Path) -> None:
    file = tmp_path / "faults.yaml"
    file.write_text("- {fault: incast, at_s: 3}\n- {fault: xid, at_s: 4, lasts_s: 2, target: node1/0}\n")
    assert read_schedule(file, SimulatorConfig(hosts=2)) == (
        ScheduledFault(fault="incast", at_s=3),
        ScheduledFault(fault="xid", at_s=4, lasts_s=2, target="node1/0"),
    )


@pytest.mark.parametrize(
    ("text", "errors"),
    [
        ("fault: incast\n", ["1:1: expected a list, found dict"]),
        ("", ["1:1: expected a list, found NoneType"]),
        ("- [", ["2:1: "]),
        ("- xid@3s\n", ["1:3: faults.0: Input should be a valid dictionary"]),
        (
            "- {fault: sharks}\n- {fault: incast, when: 3}\n- {fault: incast, at_s: .nan}\n",
            [
                "1:4: faults.0.fault: no fault 'sharks', expected one of ",
                "2:19: faults.1.when: unknown key, expected one of fault, at_s",
                "3:19: faults.2.at_s: Input should be a finite number",
            ],
        ),
        (
            "- {fault: incast}\n- fault: nvlink-down\n  strength: 1.5\n",
            ["3:3: faults.1: strength 1.5: nvlink-down has a meaning from 0.1 to 1"],
        ),
        ("- {fault: incast, strength: 0.05}\n", ["1:19: faults.0: strength 0.05: incast has a meaning from 0.1 to 2"]),
        ("- {fault: incast, on_s: 5}\n", ["1:19: faults.0: on_s 5, off_s 0: expected both"]),
        ("- {fault: incast, on_s: 0.01, off_s: 5}\n", ["1:19: faults.0: on_s 0.01, off_s 5: expected both, at least"]),
        (
            "- {fault: spine-down, target: spine9}\n- {fault: xid}\n- {fault: xid, target: node3/0}\n",
            [
                "1:23: faults.0: spine-down: no target 'spine9', expected spine such as spine1",
                "3:16: faults.2: xid: no target 'node3/0', expected host/index or host/UUID",
            ],
        ),
    ],
)
def test_an_error_of_a_schedule_names_its_line_and_column(tmp_path: Path, text: str, errors: list[str]) -> None:
    file = tmp_path / "faults.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_schedule(file, SimulatorConfig(hosts=2))
    lines = str(caught.value).splitlines()
    assert len(lines) == len(errors)
    for line, expected in zip(lines, errors, strict=True):
        assert line.startswith(f"{file}:{expected}")


def test_a_schedule_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent\.yaml: cannot be read"):
        read_schedule(tmp_path / "absent.yaml", SimulatorConfig(hosts=2))
