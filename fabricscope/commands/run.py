"""``fabricscope run``: every stage in one process tree; without settings, on a simulated fabric."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from fabricscope.commands.options import ConfigFile
from fabricscope.practice import practise
from fabricscope.tree import run_tree


def register(app: typer.Typer) -> None:
    app.command("run")(run)


def run(
    config_file: ConfigFile = None,
    fault: Annotated[
        str, typer.Option(help="Practice: the fault to inject, see `fabricscope simulate --help`.")
    ] = "slow-receiver@20s",
    data_dir: Annotated[Path, typer.Option(help="Practice: where its files go; emptied at start.")] = Path(
        "data/practice"
    ),
) -> None:
    """Run all stages on one machine. Without --config.file, practise on a simulated fabric with one fault."""
    asyncio.run(run_tree(config_file) if config_file else practise(fault, data_dir))
