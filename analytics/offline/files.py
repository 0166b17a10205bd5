"""Files one after the other through scorers of their own."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import polars as pl

from analytics.offline.columns import Choice
from analytics.offline.reading import open_table
from analytics.offline.scored import TableScorer
from analytics.offline.time_columns import LOOKED_AT, listed
from analytics.offline.writing import Piece, pieces
from common.errors import BadInput

_LATE = 0.3  # share of late rows from which one may doubt that they are one series


class ScoredFiles:
    """Scores files; each is for itself, what one taught is not known in the next.

    tell: takes a line about a file for the person. progress: takes the share of a file that is read, 0 to 1.
    alerts: rows that alerted so far.
    """

    def __init__(self, choice: Choice, tell: Callable[[str], None], progress: Callable[[float], None]) -> None:
        self.alerts = 0
        self._choice, self._tell, self._progress = choice, tell, progress
        # Who names the columns waits for no more rows to find them: each row of a pipe is answered when it comes.
        named = choice.time and choice.values and choice.labels is not None
        self._rows_first = 1 if named else LOOKED_AT

    def pieces(self, paths: list[str], as_text: bool) -> Iterator[Piece]:
        """The scored rows; of several files they start with the column ``file``, and must have the same columns.

        as_text: what was read as text stays text. Raises BadInput, naming the file.
        """
        schema: pl.Schema | None = None
        for path in paths:
            for piece in self._of_file(path, as_text):
                frame = piece.frame
                if len(paths) > 1:
                    frame = frame.select(pl.lit(path).alias("file"), pl.all().exclude("file"))
                if schema is not None and frame.schema != schema:
                    raise BadInput(
                        f"{path}: has the columns {', '.join(frame.columns)}, and {paths[0]} {', '.join(schema)}: "
                        "expected the same, or --output FOLDER/ for a file each",
                        "columns",
                    )
                schema = frame.schema
                yield replace(piece, frame=frame)

    def _of_file(self, path: str, as_text: bool) -> Iterator[Piece]:
        with open_table(path, self._rows_first) as table:
            scorer = TableScorer(table, self._choice)
            self._say_what_it_is(scorer)
            alerts = 0
            for piece in pieces(scorer, as_text):
                alerts += piece.alerts
                if table.share is not None:
                    self._progress(table.share())
                yield piece
            self.alerts += alerts
            self._say_what_was_done(scorer, alerts)

    def _say_what_it_is(self, scorer: TableScorer) -> None:
        """What was decided without being asked, where it may be wrong."""
        name, meant = scorer.table.name, scorer.roles
        if meant.others and not self._choice.values and not self._choice.wide:
            others = listed(meant.others)
            self._tell(
                f"{name}: scored {listed(list(meant.values))}; others are numeric too: {others} (--value, --wide)"
            )
        if not meant.time.names:
            self._tell(f"{name}: no column of times: rows are taken in their order, a second apart (--time)")
        if scorer.table.windows:
            self._tell(f"{name}: read as Windows-1252, since it is no UTF-8")

    def _say_what_was_done(self, scorer: TableScorer, alerts: int) -> None:
        name, labels = scorer.table.name, scorer.roles.labels
        many = f", {len(scorer.series.names):,} series by {', '.join(labels)}" if labels else ""
        self._tell(f"{name}: {scorer.rows:,} row{'' if scorer.rows == 1 else 's'}{many}: {alerts:,} alert")
        if scorer.late:
            what = "is not newer than one" if scorer.late == 1 else "are not newer than others"
            doubt = scorer.late > _LATE * scorer.rows
            advice = ": sort them, or name the column that tells series apart with --by" if doubt else ""
            self._tell(f"{name}: {scorer.late:,} of them {what} before, and taught nothing{advice}")
