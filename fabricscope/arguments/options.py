"""Options that several commands share, in one style: ``--kebab-case``, durations with their unit."""

import re
from pathlib import Path
from typing import Annotated

import typer

ConfigFile = Annotated[
    Path | None,
    typer.Option(
        *("--config", "-c"),
        metavar="FILE",
        envvar="FABRICSCOPE_CONFIG",
        help="Settings, YAML. See `fabricscope config print`.",
    ),
]
# How to read a file of series when its columns leave it open.
TimeColumn = Annotated[str, typer.Option("--time", metavar="COLUMN", help="Column of times.")]
TimeFormat = Annotated[
    str | None, typer.Option("--time-format", metavar="FORMAT", help="As in strptime, where 03/04/2024 is not clear.")
]
TimeZone = Annotated[
    str, typer.Option("--timezone", metavar="ZONE", help="Of times without a zone, such as Europe/Berlin.")
]
By = Annotated[
    list[str] | None, typer.Option("--by", metavar="COLUMN", help="Column that identifies a series; may come again.")
]
OneSeries = Annotated[bool, typer.Option("--one-series", help="All rows are one series, whatever the text columns.")]


def duration(value: str | float) -> float:
    """Seconds of an option like ``90s`` or ``2h30m``; a default is a number already.

    A plain number, which older releases read as seconds, is accepted with a hint.
    """
    from common.units import seconds  # here, as pydantic costs more time than `--help` should

    if isinstance(value, float):
        return value
    try:
        if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", value):
            return seconds(value)
        found = seconds(float(value))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    written = f"{found:.0f}s" if found.is_integer() else f"{found * 1000:.0f}ms"
    typer.echo(f"{value}: a duration needs its unit; write {written}", err=True)
    return found


def chosen_labels(by: list[str] | None, one_series: bool) -> tuple[str, ...] | None:
    """Columns that identify a series; none for one series, None where the file decides."""
    if by and one_series:
        raise typer.BadParameter("--by splits the rows into series, and --one-series does not: expected one of them")
    return () if one_series else tuple(by) if by else None
