"""Which series a row is of: numbers for the engine, labels for people."""

import numpy as np
import polars as pl
from numpy.typing import NDArray


class SeriesNumbers:
    """Numbers series by their labels, in the order in which they appear.

    columns: names of the label columns; none: all rows are of one series.
    names: of each number, one label a column. Memory: one entry a series.
    """

    def __init__(self, columns: tuple[str, ...]) -> None:
        self.columns = columns
        self.names: list[tuple[str, ...]] = [] if columns else [()]
        self._known: dict[tuple[str, ...], int] = {}

    def of(self, rows: pl.DataFrame) -> NDArray[np.int64]:
        """int64[n]: the series of each row; a label that is missing is an empty one."""
        if not self.columns or rows.is_empty():
            return np.zeros(rows.height, np.int64)
        labels = rows.select(pl.col(*self.columns).cast(pl.String).fill_null(""))
        distinct = labels.unique(maintain_order=True)
        numbers = pl.Series("number", [self._number(name) for name in distinct.iter_rows()], dtype=pl.Int64)
        found = labels.join(distinct.with_columns(numbers), on=self.columns, how="left", maintain_order="left")
        return found["number"].to_numpy()

    def words(self, number: int) -> str:
        """``host=node1, gpu=3``."""
        return ", ".join(f"{column}={label}" for column, label in zip(self.columns, self.names[number], strict=True))

    def _number(self, name: tuple[str, ...]) -> int:
        number = self._known.setdefault(name, len(self.names))
        if number == len(self.names):
            self.names.append(name)
        return number
