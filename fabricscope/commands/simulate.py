"""``fabricscope simulate``: a fabric to practise on, behind the real protocols."""

import asyncio
import contextlib
import signal
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError
from rich.console import Console

from common.errors import ConfigError
from common.units import seconds
from fabricscope.supervisor import parent_is_gone
from simulator.config import SimulatorConfig
from simulator.faults import FAULTS
from simulator.servers.config import ServeConfig
from simulator.servers.service import SimulatorService

_FAULT_HELP = (
    f"NAME@AT[+LENGTH][:TARGET], like slow-receiver@30s+60s:node3/mlx5_2; may be repeated. Names: {', '.join(FAULTS)}."
)


def register(app: typer.Typer) -> None:
    app.command("simulate")(run)


def run(
    hosts: Annotated[int, typer.Option(min=2, max=1024, help="GPU hosts, 8 GPUs each.")] = 8,
    fault: Annotated[list[str] | None, typer.Option(help=_FAULT_HELP)] = None,
    schedule: Annotated[
        Path | None, typer.Option(help="Faults, as a YAML list of {fault, at_s, lasts_s, target}.")
    ] = None,
    interval: Annotated[str, typer.Option(help="How often it will be collected from, in simulated time.")] = "10s",
    speed: Annotated[float, typer.Option(min=0.01, max=100, help="Simulated seconds per second.")] = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="Fixes names, noise and random targets.")] = 1,
    address_offset: Annotated[
        int, typer.Option(min=0, max=250, help="Moves all addresses, for a second simulator.")
    ] = 0,
    config_out: Annotated[
        Path | None, typer.Option("--config.out", help="Write settings that collect from it.")
    ] = None,
    truth: Annotated[Path | None, typer.Option(help="Write what is broken, from when to when, as JSON lines.")] = None,
) -> None:
    """Serve a simulated cluster over gNMI, exporter pages and Slurm's JSON, on loopback addresses, until Ctrl-C."""
    try:
        config = ServeConfig(
            cluster=SimulatorConfig(hosts=hosts, seed=seed, interval_s=seconds(interval)),
            speed=speed,
            address_offset=address_offset,
            faults=tuple(fault or ()),
            schedule_file=schedule,
            truth_file=truth,
        )
    except (ValidationError, ValueError) as error:
        raise ConfigError(str(error)) from error
    asyncio.run(_serve(config, config_out))


async def _serve(config: ServeConfig, config_out: Path | None) -> None:
    console = Console()
    service = SimulatorService(config)
    stopping = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
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
