"""Files of series into files of scores."""

import sys
from pathlib import Path

from analytics.offline.columns import Choice
from analytics.offline.writing import PARQUET, ScoredFiles, write, write_csv
from common.errors import BadInput
from fabricscope.commands.progress import progress

_SUFFIXES = (*PARQUET, ".csv", ".tsv", ".txt")


def score_files(files: list[str], output: str, choice: Choice) -> bool:
    """Writes the scored rows of ``files`` to a file, a folder, or ('') standard output; whether a row alerts."""
    targets = _targets(files, output)
    with progress(shown=bool(output) or not sys.stdout.isatty()) as (print_line, show_share):
        scored = ScoredFiles(choice, print_line, show_share)
        for target, sources in targets.items():
            write(scored.pieces(sources, as_text=target.suffix not in PARQUET), target)
        if not output:
            try:
                write_csv(scored.pieces(files, as_text=True), sys.stdout.buffer)
            except BrokenPipeError:  # as by `head`, which has what it wanted
                raise
            except OSError as error:
                raise BadInput(f"standard output: {error.strerror}") from error
    return bool(scored.alerts)


def _targets(files: list[str], output: str) -> dict[Path, list[str]]:
    """The files to write, each with those it is made of; none for standard output."""
    if not output:
        return {}
    if not output.endswith("/") and not Path(output).is_dir():
        if Path(output).suffix not in _SUFFIXES:
            raise BadInput(f"{output}: expected a name that ends in one of {', '.join(_SUFFIXES)}, or a folder")
        return {Path(output): files}
    Path(output).mkdir(parents=True, exist_ok=True)
    targets: dict[Path, list[str]] = {}
    for file in files:
        name = "standard-input.csv" if file == "-" else Path(file).name.removesuffix(".gz")
        target = Path(output, name if Path(name).suffix in _SUFFIXES else f"{name}.csv")
        if target in targets:
            raise BadInput(f"{file} and {targets[target][0]} would both be {target}: expected names that differ")
        targets[target] = [file]
    return targets
