"""Rows of a file that are damaged, and so neither scored nor written."""

from dataclasses import dataclass


@dataclass(slots=True)
class LeftOut:
    """rows: how many. first: what is wrong with the first one, and its line."""

    rows: int = 0
    first: str = ""

    def add(self, what: str) -> None:
        self.first = self.first or what
        self.rows += 1

    def in_words(self) -> str:
        return (
            f"1 row left out: {self.first}" if self.rows == 1 else f"{self.rows:,} rows left out, first: {self.first}"
        )
