"""The catalogue's files, each read once."""

from functools import cache
from importlib.resources import files

from telemetry.catalogue.entries import Metric, Source
from telemetry.catalogue.reading import names, read_metrics, read_source

_METRICS = files("telemetry.catalogue").joinpath("metrics")
_SYSTEMS = files("telemetry.catalogue").joinpath("systems")


@cache
def canonical() -> dict[str, Metric]:
    """The catalogue's own metrics by name, in the files' order."""
    return read_metrics(_METRICS)


@cache
def source_names() -> tuple[str, ...]:
    """Of all systems, sorted."""
    return names(_SYSTEMS)


@cache
def source(name: str) -> Source:
    """One of ``source_names``. Reads no other system's file."""
    return read_source(_SYSTEMS, name, canonical())


def sources() -> dict[str, Source]:
    """All systems by name. Reads all their files."""
    return {name: source(name) for name in source_names()}
