"""``fabricscope detect``: the scores of live telemetry for series in files."""

from typing import Annotated

import typer

from fabricscope.arguments.options import By, OneSeries, TimeColumn, TimeFormat, TimeZone, chosen_labels

ALERTED = 3


def register(app: typer.Typer) -> None:
    app.command("detect")(detect)


def detect(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="CSV or Parquet; - is standard input.")],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help=".csv or .parquet; a folder takes a file for each.")
    ] = "",
    time: TimeColumn = "",
    value: Annotated[
        list[str] | None, typer.Option("--value", metavar="COLUMN", help="Column to score; may come again.")
    ] = None,
    by: By = None,
    wide: Annotated[bool, typer.Option("--wide", help="Score each numeric column.")] = False,
    one_series: OneSeries = False,
    time_format: TimeFormat = None,
    timezone: TimeZone = "UTC",
    fail_on_alert: Annotated[bool, typer.Option("--fail-on-alert", help="Exit status 3 when a row alerts.")] = False,
) -> None:
    """Score each row of a series by what came before it.

    The rows come back with score, alert, alert_start, expected, lower, upper and reason; a score of 1 is the alert
    level. Columns are found by their names and contents.
    """
    from common.garbage import all_kept, collect_less_often

    with all_kept():  # a quarter of the time of a start is spent looking for garbage otherwise
        from common.load_alone import load_alone

        load_alone()
        from analytics.offline.columns import Choice
        from fabricscope.commands.detect import score_files
    collect_less_often()
    if wide and value:
        raise typer.BadParameter("--wide scores each numeric column, and --value some: expected one of them")
    choice = Choice(time, tuple(value or ()), chosen_labels(by, one_series), wide, time_format, timezone)
    if score_files(files, output, choice) and fail_on_alert:
        raise typer.Exit(ALERTED)
