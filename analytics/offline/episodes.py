"""Alerts that belong together, as people count them."""

from dataclasses import dataclass

import numpy as np
import polars as pl

_ROWS_BETWEEN = 10  # rows without an alert that do not end an episode


@dataclass(frozen=True, slots=True)
class Episode:
    """First to last alert; rows: how many alert; reason: of the highest score."""

    first_ns: int
    last_ns: int
    rows: int
    score: float
    reason: str


def episodes(rows: pl.DataFrame) -> list[Episode]:
    """rows: by time; time_ns, score, alert, reason."""
    alerting = np.flatnonzero(rows["alert"].to_numpy())
    if not alerting.size:
        return []
    parts = np.split(alerting, np.flatnonzero(np.diff(alerting) > _ROWS_BETWEEN) + 1)
    return [_episode(rows[part]) for part in parts]


def _episode(rows: pl.DataFrame) -> Episode:
    highest = int(rows["score"].arg_max() or 0)
    first_ns, last_ns = int(rows["time_ns"][0]), int(rows["time_ns"][-1])
    return Episode(first_ns, last_ns, rows.height, float(rows["score"][highest]), rows["reason"][highest] or "")
