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

A site may ``define`` metrics of its own beside them.
"""

from collections.abc import Iterable
from functools import cache

from telemetry.catalogue.entries import Ignored, Kind, Metric, Origin, Source
from telemetry.catalogue.known import canonical, source, source_names, sources
from telemetry.catalogue.own import OwnMetric

__all__ = [
    "Ignored",
    "Kind",
    "Metric",
    "Origin",
    "OwnMetric",
    "Source",
    "define",
    "defined",
    "metrics",
    "origins_of",
    "source",
    "source_names",
    "sources",
]

_own: list[OwnMetric] = []


@cache
def metrics() -> dict[str, Metric]:
    """All metrics by name: the catalogue's in the files' order, then those that the site defined."""
    return canonical() | {one.name: one.metric for one in _own}


def define(own: Iterable[OwnMetric]) -> None:
    """The site's own metrics, in place of those that were defined before. Of the whole process, as its settings are."""
    _own[:] = own
    metrics.cache_clear()


def defined() -> tuple[OwnMetric, ...]:
    """The site's own metrics."""
    return tuple(_own)


def origins_of(name: str) -> list[tuple[Metric, Origin]]:
    """Everything that one system can report, the site's own metrics included; nothing for a name that is none."""
    found = source(name).metrics if name in source_names() else {}
    listed = [(metrics()[metric], origin) for metric, origins in found.items() for origin in origins]
    return listed + [(metrics()[one.name], origin) for one in _own for origin in one.origins_of(name)]
