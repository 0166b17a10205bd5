"""``fabricscope run``: all stages on one machine; without settings, a demo on a simulated fabric."""

from pathlib import Path
from typing import Annotated

import typer

from fabricscope.arguments.options import ConfigFile


def register(app: typer.Typer) -> None:
    app.command("run")(run)


def run(
    config_file: ConfigFile = None,
    fault: Annotated[
        str, typer.Option(help="Demo: the fault to inject, see `fabricscope simulate --help`.")
    ] = "slow-receiver@15s",
    data_dir: Annotated[Path, typer.Option(help="Demo: where its files go; emptied at start.")] = Path("data/demo"),
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Demo: port of the NOC page and API.", show_default="9099")
    ] = None,
    address_offset: Annotated[
        int, typer.Option(min=0, max=250, help="Demo: moves all simulated addresses, for a second one beside it.")
    ] = 0,
) -> None:
    """Run all stages on one machine. Without --config, a demo: a simulated fabric with one fault."""
    import asyncio

    if config_file:
        from fabricscope.all_in_one import run_all_in_one

        asyncio.run(run_all_in_one(config_file))
    else:
        from fabricscope.demo import run_demo

        asyncio.run(run_demo(fault, data_dir, port, address_offset))
