"""``fabricscope explain``: a picture of a series, what was expected of it, and why it alerted."""

from pathlib import Path
from typing import Annotated

import typer

from fabricscope.arguments.options import By, OneSeries, TimeColumn, TimeFormat, TimeZone, chosen_labels


def register(app: typer.Typer) -> None:
    app.command("explain")(explain)


def explain(
    file: Annotated[Path, typer.Argument(help="CSV or Parquet.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The picture; else FILE.png.")] = None,
    first: Annotated[str, typer.Option("--from", metavar="TIME", help="First time to draw.")] = "",
    last: Annotated[str, typer.Option("--to", metavar="TIME", help="Last time to draw.")] = "",
    series: Annotated[
        str, typer.Option("--series", metavar="LABELS", help="host=node1,gpu=3; else the one that scored highest.")
    ] = "",
    time: TimeColumn = "",
    value: Annotated[str, typer.Option("--value", metavar="COLUMN", help="Column to draw.")] = "",
    by: By = None,
    one_series: OneSeries = False,
    time_format: TimeFormat = None,
    timezone: TimeZone = "UTC",
) -> None:
    """Draw a series with its expected band, scores and alerts as a PNG of 1600 by 900 pixels.

    The whole file is scored, as by `detect`; --from and --to choose what is drawn.
    """
    from analytics.offline.columns import Choice
    from fabricscope.commands.explain import draw_file

    choice = Choice(time, (value,) if value else (), chosen_labels(by, one_series), False, time_format, timezone)
    path = output or file.with_name(f"{file.name}.png")
    draw_file(file, path, choice, first, last, series)
    print(path)
