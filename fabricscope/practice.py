"""``fabricscope run`` without settings: the whole program on a simulated fabric in which one thing breaks."""

import asyncio
import shutil
from pathlib import Path

from rich.console import Console

from fabricscope.supervisor import Child
from fabricscope.tree import run_tree
from fabricscope.version import VERSION
from telemetry.errors import ConfigError, Unavailable

MARKER = "practice"
SIMULATOR_START_S = 60.0


async def practise(fault: str, data_dir: Path) -> None:
    """Until Ctrl-C. fault: as for ``fabricscope simulate --fault``."""
    console = Console()
    console.print(f"[bold]Fabricscope {VERSION}[/] practises on a simulated fabric; fault: {fault}")
    _empty(data_dir)
    config_file = data_dir / "fabricscope.yaml"
    simulator = Child(
        "simulate",
        ["simulate", "--hosts", "8", "--interval", "2s", "--fault", fault, "--config.out", str(config_file)],
        data_dir / "logs" / "simulate.log",
    )
    await simulator.start()
    try:
        await _wait_for(config_file, simulator)
    except BaseException:
        await simulator.stop()
        raise
    await run_tree(config_file, running=[simulator])


def _empty(data_dir: Path) -> None:
    """Only a folder that an earlier practice made is ever emptied."""
    marker = data_dir / MARKER
    if data_dir.exists() and any(data_dir.iterdir()) and not marker.exists():
        raise ConfigError(f"{data_dir} holds files that no practice made: choose another --data-dir")
    shutil.rmtree(data_dir, ignore_errors=True)
    data_dir.mkdir(parents=True)
    marker.touch()


async def _wait_for(config_file: Path, simulator: Child) -> None:
    try:
        async with asyncio.timeout(SIMULATOR_START_S):
            while not config_file.exists():  # noqa: ASYNC110, ASYNC240  # another process writes it
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise Unavailable(
            f"the simulator did not start in {SIMULATOR_START_S:.0f} s: see {simulator.log_path}"
        ) from None
