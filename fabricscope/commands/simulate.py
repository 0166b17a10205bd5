"""A simulated cluster, served until somebody ends it."""

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from rich.console import Console

from common.errors import ConfigError
from fabricscope.running.stopping import parent_is_gone, stop_on_signals
from fabricscope.timeline import STARTING_SIMULATOR
from simulator.cluster_file import Cluster, read_cluster, read_schedule, rejected
from simulator.config import SimulatorConfig
from simulator.faults.schedule import ScheduledFault, parse_fault
from simulator.servers.config import ServeConfig
from simulator.servers.service import SimulatorService


def cluster_of(path: Path | None, **given: float | None) -> Cluster:
    """What the options say, or the cluster file at ``path``; ConfigError for both at once."""
    settings = {key: value for key, value in given.items() if value is not None}
    if path is None:
        return Cluster(SimulatorConfig.model_validate(settings))
    if settings:
        raise ConfigError(f"{', '.join(settings)}: expected in {path}, not also as an option")
    return read_cluster(path)


def faults_of(cluster: Cluster, texts: Sequence[str], schedule: Path | None) -> tuple[ScheduledFault, ...]:
    """Those of ``--fault``, of the cluster file and of ``schedule``; ConfigError for what cannot happen in the
    cluster."""
    given = tuple(parse_fault(text) for text in texts)
    problems = [f"fault {texts[number]!r}: {problem}" for number, problem in rejected(cluster.config, given)]
    if problems:
        raise ConfigError("\n".join(problems))
    scheduled = () if schedule is None else read_schedule(schedule, cluster.config)
    return (*given, *cluster.faults, *scheduled)


def serve_config(**given: Any) -> ServeConfig:
    """ConfigError for what the simulator cannot serve."""
    try:
        return ServeConfig.model_validate(given)
    except ValidationError as error:
        raise ConfigError(
            "\n".join(problem["msg"].removeprefix("Value error, ") for problem in error.errors())
        ) from error


async def serve_cluster(config: ServeConfig, config_out: Path | None) -> None:
    """Until Ctrl-C, SIGTERM, or the death of the process that supervises this one."""
    console = Console()
    service = SimulatorService(config)
    stopping = stop_on_signals()
    console.print(STARTING_SIMULATOR)
    await service.start()
    try:
        if config_out is not None:
            service.write_config(config_out)
            console.print(f"settings that collect from it: {config_out}")
        console.print(
            f"serving {config.cluster.hosts} hosts; what is broken: {service.control_url}/truth (Ctrl-C ends it)"
        )
        waits = [asyncio.create_task(one) for one in (stopping.wait(), parent_is_gone(), service.wait())]
        done, pending = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        for task in done:
            with contextlib.suppress(asyncio.CancelledError):
                await task
    finally:
        await service.stop()
