"""``fabricscope explain``: a picture of a series, what was expected of it, and why it alerted."""

import logging
from pathlib import Path
from typing import Annotated

import typer

from common.errors import BadInput
from fabricscope.commands.options import By, OneSeries, TimeColumn, TimeFormat, chosen_labels


def register(app: typer.Typer) -> None:
    app.command("explain")(run)


def run(
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
) -> None:
    """Draw a series with its expected band, scores and alerts as a PNG of 1600 by 900 pixels.

    The whole file is scored, as by `detect`; --from and --to choose what is drawn.
    """
    if not file.is_file():
        raise BadInput(f"{file}: no such file; a pipe will not do, as it is read twice")
    # Loaded here: it takes a second that no other command should wait for.
    from analytics.offline.columns import Choice
    from analytics.offline.explain import Window, moment, series_window
    from analytics.offline.picture import draw
    from analytics.offline.times import TIME_NS_MAX, TIME_NS_MIN

    logging.getLogger("matplotlib").setLevel(logging.WARNING)  # it tells of each font that it finds
    choice = Choice(time, (value,) if value else (), chosen_labels(by, one_series), False, time_format)
    window = Window(moment(first) if first else TIME_NS_MIN, moment(last) if last else TIME_NS_MAX)
    drawn = series_window(str(file), choice, window, series)
    path = output or file.with_name(f"{file.name}.png")
    try:
        draw(drawn, " · ".join(part for part in (file.name, drawn.name, drawn.column) if part), path)
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from error
    print(path)
