"""Cluster files: the simulated cluster, its faults and telemetry in YAML, with the place of all that is wrong."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args

import numpy as np
from pydantic import BaseModel, BeforeValidator, ValidationError

from common.documents.yaml_positions import Positions, load_list_with_positions, load_with_positions, locate
from common.errors import ConfigError
from simulator.cluster import SimulatedCluster
from simulator.collection.config import CollectionConfig, Timing
from simulator.collection.groups import SeriesGroup
from simulator.collection.presets import preset
from simulator.config import SimulatorConfig
from simulator.faults import FAULTS
from simulator.faults.schedule import ScheduledFault

_KEY = re.compile(r"\w+")


def _preset(value: object) -> object:
    """The settings behind names of presets."""
    return preset(value) if isinstance(value, str) else value


class ClusterFile(SimulatorConfig):
    """The keys of ``SimulatorConfig``, the faults, and how the telemetry is collected."""

    faults: tuple[ScheduledFault, ...] = ()
    collection: Annotated[CollectionConfig | None, BeforeValidator(_preset)] = None


class Cluster(NamedTuple):
    """What a cluster file describes. collection: None when the file has none: telemetry is perfect."""

    config: SimulatorConfig
    faults: tuple[ScheduledFault, ...] = ()
    collection: CollectionConfig | None = None


def read_cluster(path: Path) -> Cluster:
    """The cluster of a file, its faults, and its collection: presets joined by ``+``, or settings::

        hosts: 64
        shape: three-tier
        jobs: {jobs: 4}
        collection: mixed-intervals+lossy
        faults:
          - {fault: link-down, at_s: 60, lasts_s: 30, target: leaf1/Ethernet64}

    ConfigError with file:line:column and what was expected, for values out of range, numbers that contradict each
    other, jobs without hosts, and faults at what does not exist.
    """
    document, positions = load_with_positions(path)
    found = _validated(path, positions, document)
    _check_jobs(path, positions, found)
    _check_jitter(path, positions, found)
    config = SimulatorConfig.model_validate(found.model_dump(exclude={"faults", "collection"}))
    _check_targets(path, positions, config, found.faults)
    return Cluster(config, found.faults, found.collection)


def read_schedule(path: Path, config: SimulatorConfig) -> tuple[ScheduledFault, ...]:
    """The faults of a file that is a list of them, as under ``faults`` of a cluster file, in this cluster::

        - {fault: slow-receiver, at_s: 30, lasts_s: 60, target: node3/mlx5_2}
        - {fault: dirty-optic, at_s: 300, lasts_s: 600, strength: 0.3, on_s: 20, off_s: 40, silent: true}

    ConfigError as of a cluster file.
    """
    entries, places = load_list_with_positions(path)
    positions: Positions = {("faults", *where): place for where, place in places.items()}
    found = _validated(path, positions, {"faults": entries})
    _check_targets(path, positions, config, found.faults)
    return found.faults


def rejected(config: SimulatorConfig, faults: Sequence[ScheduledFault]) -> Iterator[tuple[int, str]]:
    """The position of each fault that cannot happen in this cluster, and why.

    Begins and ends every fault on a cluster of its own, on which all jobs run.
    """
    if not faults:
        return
    machine = SimulatedCluster(config, 0).machine
    for number, fault in enumerate(faults):
        for slot in machine.jobs.slots:
            if slot.job is None:
                slot.starts_ns = machine.now_ns
        machine.step()
        tried = FAULTS[fault.fault](machine, np.random.default_rng(0), fault.target, fault.strength)
        try:
            tried.begin()
        except ConfigError as error:
            yield number, str(error)
        else:
            tried.end()


def _validated(path: Path, positions: Positions, document: dict[str, Any]) -> ClusterFile:
    try:
        return ClusterFile.model_validate(document)
    except ValidationError as error:
        raise ConfigError("\n".join(_describe(path, positions, problem) for problem in error.errors())) from error


def _describe(path: Path, positions: Positions, problem: Any) -> str:
    where, text = tuple(problem["loc"]), problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "extra_forbidden":
        text = f"unknown key, expected one of {', '.join(_keys(where[:-1]))}"
    key = _KEY.match(text)
    if key and (*where, key[0]) in positions:  # numbers that contradict each other: the message begins with the key
        place = locate(path, positions, (*where, key[0]))
    else:
        place = locate(path, positions, where)
    return f"{place}: {'.'.join(map(str, where))}: {text}" if where else f"{place}: {text}"


def _keys(where: tuple[str | int, ...]) -> list[str]:
    """The keys that there are at a place of the file."""
    model: type[BaseModel] = ClusterFile
    for key in where:
        if isinstance(key, str):
            annotation = model.model_fields[key].annotation
            inside = next((one for one in get_args(annotation) if isinstance(one, type)), annotation)
            assert isinstance(inside, type)
            model = inside
    return list(model.model_fields)


def _check_jobs(path: Path, positions: Positions, found: ClusterFile) -> None:
    """A job has two hosts, or all that there are."""
    most = max(1, found.hosts // 2)
    if ("jobs", "jobs") in positions and found.jobs.jobs > most:
        where = locate(path, positions, ("jobs", "jobs"))
        raise ConfigError(
            f"{where}: jobs.jobs: {found.jobs.jobs} jobs have no hosts to send between, expected at most {most} "
            f"on {found.hosts} hosts"
        )


def _check_jitter(path: Path, positions: Positions, found: ClusterFile) -> None:
    """What has no interval of its own has that of the cluster."""
    for group in SeriesGroup:
        timing: Timing = getattr(found.collection, group, Timing())
        if not timing.interval_s and timing.jitter_s >= found.interval_s:
            where = locate(path, positions, ("collection", group.value, "jitter_s"))
            raise ConfigError(
                f"{where}: collection.{group}.jitter_s: {timing.jitter_s:g}, expected less than the cluster's "
                f"interval_s, {found.interval_s:g}"
            )


def _check_targets(
    path: Path, positions: Positions, config: SimulatorConfig, faults: tuple[ScheduledFault, ...]
) -> None:
    problems = [
        f"{locate(path, positions, ('faults', number, 'target'))}: faults.{number}: {problem}"
        for number, problem in rejected(config, faults)
    ]
    if problems:
        raise ConfigError("\n".join(problems))
