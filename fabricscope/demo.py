"""``fabricscope run`` without settings: the whole program on a simulated fabric in which one thing breaks."""

import asyncio
import shutil
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from common.errors import ConfigError, Unavailable
from common.tasks import cancel
from fabricscope.all_in_one import run_all_in_one
from fabricscope.running.supervisor import Child
from fabricscope.settings import MetricsPorts
from fabricscope.timeline import STARTING_SIMULATOR, Timeline
from fabricscope.version import VERSION
from simulator.faults.schedule import parse_fault

MARKERS = ("demo", "practice")  # the second: of the release before
SIMULATOR_START_S = 300.0  # its first start compiles: half a minute alone, minutes on a busy machine


async def run_demo(fault: str, data_dir: Path, port: int | None = None, address_offset: int = 0) -> None:
    """Until Ctrl-C. fault, address_offset: as for ``fabricscope simulate``; port: see ``beside_another``.

    ConfigError for a fault that there is not, and with the words of a process that cannot start.
    """
    parse_fault(fault)
    console = Console()
    console.print(f"[bold]Fabricscope {VERSION}[/] demo on a simulated fabric; fault: {fault}")
    _empty(data_dir)
    timeline = Timeline(console)
    timeline.step(STARTING_SIMULATOR)
    config_file, truth_file = data_dir / "fabricscope.yaml", data_dir / "truth.jsonl"
    simulator = Child(
        "simulate",
        [
            *("simulate", "--hosts", "8", "--interval", "2s", "--address-offset", str(address_offset)),
            *("--fault", fault, "--config-out", str(config_file), "--truth", str(truth_file)),
        ],
        data_dir / "logs" / "simulate.log",
    )
    await simulator.start()
    try:
        timeline.wait_for(STARTING_SIMULATOR)
        with console.status(timeline):
            await _wait_for(config_file, simulator)
    except BaseException:
        await simulator.stop()
        raise
    if port is not None:
        settings = yaml.load(config_file.read_text(), yaml.CSafeLoader)
        config_file.write_text(yaml.dump(beside_another(settings, port), Dumper=yaml.CSafeDumper, sort_keys=False))
    await run_all_in_one(config_file, running=[simulator], timeline=timeline, truth_file=truth_file)


def beside_another(settings: dict[str, Any], port: int) -> dict[str, Any]:
    """The settings of a second demo on this machine: its API listens on ``port``, its stages' /metrics nowhere."""
    closed = dict.fromkeys(MetricsPorts.model_fields, 0)
    return {**settings, "global": {**settings["global"], "metrics_ports": closed}, "api": {"port": port}}


def _empty(data_dir: Path) -> None:
    """Only a folder that an earlier demo made is ever emptied."""
    is_demo = any((data_dir / marker).exists() for marker in MARKERS)
    if data_dir.exists() and any(data_dir.iterdir()) and not is_demo:
        raise ConfigError(f"{data_dir} holds files that no demo made: choose another --data-dir")
    shutil.rmtree(data_dir, ignore_errors=True)
    data_dir.mkdir(parents=True)
    (data_dir / MARKERS[0]).touch()


async def _wait_for(config_file: Path, simulator: Child) -> None:
    refused = asyncio.create_task(simulator.refusal())
    try:
        async with asyncio.timeout(SIMULATOR_START_S):
            while not config_file.exists():  # noqa: ASYNC240  # another process writes it
                await asyncio.wait([refused], timeout=0.1)
                if refused.done():
                    raise ConfigError(refused.result())
    except TimeoutError:
        raise Unavailable(
            f"the simulator did not start in {SIMULATOR_START_S:.0f} s: see {simulator.log_path}"
        ) from None
    finally:
        await cancel([refused])
