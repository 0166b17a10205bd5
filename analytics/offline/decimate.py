"""Long series for a picture: what each column of pixels must show, so that no spike is lost."""

import numpy as np
import polars as pl

_GAP_STEPS = 8  # usual steps that may pass without a value before the line is broken


def per_pixel(rows: pl.DataFrame, pixels: int) -> pl.DataFrame:
    """The rows of each of ``pixels`` equal spans of time as one: least and greatest value, the outermost band, mean
    expectation, highest score. Short series stay as they are.

    rows: by time; time_ns, value, score, alert, expected, lower, upper. Returns time_ns, least, greatest, and them.
    """
    span = max(int(rows["time_ns"][-1]) - int(rows["time_ns"][0]), 1)
    pixel = (
        ((pl.col("time_ns") - pl.col("time_ns").first()).cast(pl.Float64) * (pixels / span))
        .cast(pl.Int64)
        .clip(0, pixels - 1)
    )
    value = pl.col("value").fill_nan(None)
    columns = (
        pl.col("time_ns").min(),
        value.min().alias("least"),
        value.max().alias("greatest"),
        pl.col("lower").min(),
        pl.col("upper").max(),
        pl.col("expected").mean(),
        pl.col("score").max(),
        pl.col("alert").max(),
    )
    each = pixel if rows.height > 2 * pixels else pl.int_range(pl.len())
    return rows.group_by(each.alias("pixel"), maintain_order=True).agg(*columns).drop("pixel")


def line(drawn: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    """Times and values of a line through least and greatest of each column of pixels."""
    both = drawn.select("time_ns", pl.concat_list("least", "greatest").alias("value")).explode("value")
    return both["time_ns"], both["value"]


def broken_at_gaps(drawn: pl.DataFrame) -> pl.DataFrame:
    """With a row of nulls in each gap, where the line then ends."""
    steps = np.diff(drawn["time_ns"].to_numpy())
    if not steps.size:
        return drawn
    gaps = steps > _GAP_STEPS * np.median(steps)
    ends = drawn.filter(pl.Series(np.append(gaps, False))).select(pl.col("time_ns") + 1)
    return pl.concat([drawn, ends], how="diagonal").sort("time_ns", maintain_order=True)
