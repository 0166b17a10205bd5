"""``fabricscope record``: the bus into a recording, until Ctrl-C or for a while."""

from pathlib import Path
from typing import Annotated

import typer

from fabricscope.arguments.options import ConfigFile, duration


def register(app: typer.Typer) -> None:
    app.command("record")(record)


def record(
    out: Annotated[Path, typer.Argument(help="Folder of the recording; continued when it holds one.")],
    config_file: ConfigFile = None,
    last: Annotated[
        float | None,
        typer.Option(parser=duration, metavar="DURATION", help="Also this much of the past, if the bus still has it."),
    ] = None,
    lasts: Annotated[
        float | None,
        typer.Option("--for", parser=duration, metavar="DURATION", help="Stop after this time; else at Ctrl-C."),
    ] = None,
) -> None:
    """Record telemetry, topology and changes as Parquet with a manifest of hashes."""
    import asyncio

    from fabricscope.commands.record import record_bus
    from fabricscope.settings import load_settings

    asyncio.run(record_bus(load_settings(config_file), out, past_s=last or 0.0, lasts_s=lasts))
