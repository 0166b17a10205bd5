"""The metric catalogue, as data: ``metrics/<domain>.yaml`` and ``systems/<system>.yaml`` beside this file.

Every canonical metric stands once, in a file of its domain::

    gpu_energy_joules_total:
      kind: counter
      unit: joules
      labels: [device, gpu]
      help: Energy that the GPU used since its driver was loaded.
      resets: driver reload

and every system that can be collected in a file of its own, with what it calls those metrics::

    help: NVIDIA dcgm-exporter, all versions
    formats: [exposition]
    labels:
      gpu: ["{UUID}", "{uuid}"]

    metrics:
      gpu_energy_joules_total:
        - {name: DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION, scale: 0.001}

Collectors map vendor names through it, detectors and boards are checked against it, ``docs/metrics.md`` is generated
from it.
"""

from functools import cache
from importlib.resources import files

from telemetry.catalogue.entries import Kind, Metric, Origin, Source
from telemetry.catalogue.reading import names, read_metrics, read_source

__all__ = ["Kind", "Metric", "Origin", "Source", "metrics", "origins_of", "source", "source_names", "sources"]

_METRICS, _SYSTEMS = files(__name__).joinpath("metrics"), files(__name__).joinpath("systems")


@cache
def metrics() -> dict[str, Metric]:
    """All metrics by name, in the files' order."""
    return read_metrics(_METRICS)


@cache
def source_names() -> tuple[str, ...]:
    """Of all systems, sorted."""
    return names(_SYSTEMS)


@cache
def source(name: str) -> Source:
    """One of ``source_names``. Reads no other system's file."""
    return read_source(_SYSTEMS, name, metrics())


def sources() -> dict[str, Source]:
    """All systems by name. Reads all their files."""
    return {name: source(name) for name in source_names()}


def origins_of(name: str) -> list[tuple[Metric, Origin]]:
    """Everything that one system can report; nothing for a name that is none."""
    if name not in source_names():
        return []
    return [(metrics()[metric], origin) for metric, origins in source(name).metrics.items() for origin in origins]
