"""Cluster files: the simulated cluster and its faults in YAML, with the place of everything that is wrong."""

import re
from pathlib import Path
from typing import Any, get_args

import numpy as np
from pydantic import BaseModel, ValidationError

from common.documents.yaml_positions import Positions, load_with_positions, locate
from common.errors import ConfigError
from simulator.cluster import SimulatedCluster
from simulator.config import SimulatorConfig
from simulator.faults import FAULTS
from simulator.faults.schedule import ScheduledFault

_KEY = re.compile(r"\w+")


class ClusterFile(SimulatorConfig):
    """The keys of ``SimulatorConfig``, and the faults."""

    faults: tuple[ScheduledFault, ...] = ()


def read_cluster(path: Path) -> tuple[SimulatorConfig, tuple[ScheduledFault, ...]]:
    """The cluster of a file and its faults::

        hosts: 64
        shape: three-tier
        jobs: {jobs: 4}
        faults:
          - {fault: link-down, at_s: 60, lasts_s: 30, target: leaf1/Ethernet64}

    ConfigError with file:line:column and what was expected, for values out of range, numbers that contradict each
    other, jobs without hosts, and faults at what does not exist.
    """
    document, positions = load_with_positions(path)
    try:
        found = ClusterFile.model_validate(document)
    except ValidationError as error:
        raise ConfigError("\n".join(_describe(path, positions, problem) for problem in error.errors())) from error
    _check_jobs(path, positions, found)
    config = SimulatorConfig.model_validate(found.model_dump(exclude={"faults"}))
    _check_targets(path, positions, config, found.faults)
    return config, found.faults


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


def _check_targets(
    path: Path, positions: Positions, config: SimulatorConfig, faults: tuple[ScheduledFault, ...]
) -> None:
    """Begins and ends every fault on a cluster of its own, on which all jobs run."""
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
            where = locate(path, positions, ("faults", number, "target"))
            raise ConfigError(f"{where}: faults.{number}: {error}") from error
        tried.end()
