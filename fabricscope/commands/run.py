"""``fabricscope run``: every stage in one process tree; without settings, on a simulated fabric."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from fabricscope.all_in_one import run_tree
from fabricscope.commands.options import ConfigFile
from fabricscope.demo import practise


def register(app: typer.Typer) -> None:
    app.command("run")(run)


def run(
    config_file: ConfigFile = None,
    fault: Annotated[
        str, typer.Option(help="Practice: the fault to inject, see `fabricscope simulate --help`.")
    ] = "slow-receiver@15s",
    data_dir: Annotated[Path, typer.Option(help="Practice: where its files go; emptied at start.")] = Path(
        "data/practice"
    ),
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Practice: port of the NOC page and API.", show_default="9099")
    ] = None,
    address_offset: Annotated[
        int, typer.Option(min=0, max=250, help="Practice: moves all simulated addresses, for a second one beside it.")
    ] = 0,
) -> None:
    """Run all stages on one machine. Without --config.file, practise on a simulated fabric with one fault."""
    asyncio.run(run_tree(config_file) if config_file else practise(fault, data_dir, port, address_offset))
