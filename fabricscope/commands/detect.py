"""``fabricscope detect``: the scores of live telemetry for series in files."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from common.errors import BadInput
from fabricscope.commands.options import By, OneSeries, TimeColumn, TimeFormat, chosen_labels
from fabricscope.commands.progress import progress

ALERTED = 3
_CSV = (".csv", ".tsv", ".txt")


def register(app: typer.Typer) -> None:
    app.command("detect")(run)


def run(
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
    fail_on_alert: Annotated[bool, typer.Option("--fail-on-alert", help="Exit status 3 when a row alerts.")] = False,
) -> None:
    """Score each row of a series by what came before it.

    The rows come back with score, alert, expected, lower, upper and reason; a score of 1 is the alert level.
    Columns are found by their names and contents.
    """
    # Loaded here: it takes a second that no other command should wait for.
    from analytics.offline.columns import Choice
    from analytics.offline.writing import PARQUET, ScoredFiles, write, write_csv

    if wide and value:
        raise typer.BadParameter("--wide scores each numeric column, and --value some: expected one of them")
    choice = Choice(time, tuple(value or ()), chosen_labels(by, one_series), wide, time_format)
    targets = _targets(files, output, (*PARQUET, *_CSV))
    with progress(shown=bool(output) or not sys.stdout.isatty()) as (tell, show):
        scored = ScoredFiles(choice, tell, show)
        for target, sources in targets.items():
            write(scored.pieces(sources, as_text=target.suffix not in PARQUET), target)
        if not output:
            try:
                write_csv(scored.pieces(files, as_text=True), sys.stdout.buffer)
            except BrokenPipeError:  # as by `head`, which has what it wanted
                raise
            except OSError as error:
                raise BadInput(f"standard output: {error.strerror}") from error
    if fail_on_alert and scored.alerts:
        raise typer.Exit(ALERTED)


def _targets(files: list[str], output: str, suffixes: tuple[str, ...]) -> dict[Path, list[str]]:
    """The files to write, each with those it is made of; none for standard output."""
    if not output:
        return {}
    if not output.endswith("/") and not Path(output).is_dir():
        if Path(output).suffix not in suffixes:
            raise BadInput(f"{output}: expected a name that ends in one of {', '.join(suffixes)}, or a folder")
        return {Path(output): files}
    Path(output).mkdir(parents=True, exist_ok=True)
    targets: dict[Path, list[str]] = {}
    for file in files:
        name = "standard-input.csv" if file == "-" else Path(file).name.removesuffix(".gz")
        target = Path(output, name if Path(name).suffix in suffixes else f"{name}.csv")
        if target in targets:
            raise BadInput(f"{file} and {targets[target][0]} would both be {target}: expected names that differ")
        targets[target] = [file]
    return targets
