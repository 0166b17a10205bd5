"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config.file", envvar="FABRICSCOPE_CONFIG_FILE", help="Settings, YAML. See `fabricscope config print`."
    ),
]
# How a file of series is to be read, where its columns do not say.
TimeColumn = Annotated[str, typer.Option("--time", metavar="COLUMN", help="Column of times.")]
TimeFormat = Annotated[
    str | None, typer.Option("--time-format", metavar="FORMAT", help="As in strptime, where 03/04/2024 is not clear.")
]
By = Annotated[
    list[str] | None, typer.Option("--by", metavar="COLUMN", help="Column that tells series apart; may come again.")
]
OneSeries = Annotated[bool, typer.Option("--one-series", help="All rows are one series, whatever their texts say.")]


def chosen_labels(by: list[str] | None, one_series: bool) -> tuple[str, ...] | None:
    """Columns that tell series apart; none for one series, None where the file decides."""
    if by and one_series:
        raise typer.BadParameter(
            "--by tells series apart, and --one-series says that there is one: expected one of them"
        )
    return () if one_series else tuple(by) if by else None
