"""Times that clocks of a zone show: those that they skip, those that they show twice, and zones that texts name."""

from collections.abc import Callable

import polars as pl

from common.errors import BadInput

UTC_ZONE = "UTC"
# 2026-01-01 00:00 Europe/Berlin, 2026-01-01T00:00+01:00[Europe/Berlin]. Not EST: others call other zones so.
_NAMED = r"^(.*\S)\s*[\s\[]([A-Z][A-Za-z_]+(?:/[A-Za-z0-9_+-]+)+)\]?$"


def checked(zone: str) -> str:
    """The zone. Raises BadInput when there is none of that name."""
    if not is_zone(zone):
        raise BadInput(f"{zone!r}: expected a time zone such as Europe/Berlin", "timezone")
    return zone


def is_zone(name: str) -> bool:
    try:
        localised(pl.Series([0]), name)
    except pl.exceptions.ComputeError:
        return False
    return True


def localised(clocks_ns: pl.Series, zone: str, later: bool = False) -> pl.Series:
    """int64[n], nanoseconds since the epoch, of what clocks show as if they were in UTC; null where they skip it.

    later: of a time that clocks show twice, the second; else the first.
    """
    if zone == UTC_ZONE:
        return clocks_ns
    times = clocks_ns.cast(pl.Datetime("ns")).dt.replace_time_zone(
        zone, ambiguous="latest" if later else "earliest", non_existent="null"
    )
    return times.to_physical()


def parted(texts: pl.Series) -> tuple[pl.Series, pl.Series]:
    """The texts before the names of their zones, and those; null where a text ends with none."""
    return texts.str.extract(_NAMED, 1), texts.str.extract(_NAMED, 2)


def name_zone(texts: pl.Series) -> bool:
    """Whether the first text ends with the name of a zone."""
    _, zones = parted(texts.head(1))
    return len(zones) == 1 and zones[0] is not None and is_zone(zones[0])


def of_zones(texts: pl.Series, read: Callable[[pl.Series, str], pl.Series]) -> pl.Series:
    """int64[n] of texts that end with the names of their zones; null where there is none of that name.

    read: gives the times of texts without those names, in the zone given.
    """
    plain, zones = parted(texts)
    times = pl.Series([None], dtype=pl.Int64).new_from_index(0, len(texts))
    for zone in filter(is_zone, zones.drop_nulls().unique(maintain_order=True)):
        mine = zones.eq_missing(zone)
        times = times.zip_with(~mine, read(plain.set(~mine, None), zone))
    return times
