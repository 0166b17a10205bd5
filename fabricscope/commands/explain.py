"""A series of a file as a picture."""

from pathlib import Path

from analytics.offline.columns import Choice
from analytics.offline.explain import Window, moment, series_window
from analytics.offline.picture import draw
from analytics.offline.times import TIME_NS_MAX, TIME_NS_MIN
from common.errors import BadInput


def draw_file(file: Path, path: Path, choice: Choice, first: str, last: str, series: str) -> None:
    """Draws ``series`` ('': the one that scored highest) from ``first`` to ``last`` ('': the end) into ``path``."""
    if not file.is_file():
        raise BadInput(f"{file}: no such file; a pipe will not do, as it is read twice")
    window = Window(moment(first) if first else TIME_NS_MIN, moment(last) if last else TIME_NS_MAX)
    drawn = series_window(str(file), choice, window, series)
    try:
        draw(drawn, " · ".join(part for part in (file.name, drawn.name, drawn.column) if part), path)
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from error
