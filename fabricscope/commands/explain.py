"""A series of a file as a picture."""

import sys
from pathlib import Path

from analytics.offline.columns import Choice
from analytics.offline.explain import Window, moment, series_window
from analytics.offline.picture import draw
from analytics.offline.times import TIME_NS_MAX, TIME_NS_MIN
from common.errors import BadInput
from common.printing import printable


def draw_file(file: Path, path: Path, choice: Choice, first: str, last: str, series: str) -> None:
    """Draws ``series`` ('': the one that scored highest) from ``first`` to ``last`` ('': the end) into ``path``."""
    if not file.is_file():
        raise BadInput(f"{file}: no such file; a pipe will not do, as it is read twice")
    from_ns, to_ns = (
        moment(text, choice.zone) if text else end for text, end in ((first, TIME_NS_MIN), (last, TIME_NS_MAX))
    )
    drawn = series_window(str(file), choice, Window(from_ns, to_ns), series, _print_note)
    try:
        draw(drawn, " · ".join(part for part in (file.name, drawn.name, drawn.column) if part), path)
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from error


def _print_note(line: str) -> None:
    print(printable(line), file=sys.stderr)
