"""The metric catalogue: every canonical metric once, as data in the ``*.yaml`` files beside this one.

Collectors map vendor names through it, detectors and boards are checked against it, ``docs/metrics.md`` is generated
from it. A metric of a file::

    gpu_energy_joules_total:
      kind: counter
      unit: joules
      labels: [device, gpu]
      help: Energy that the GPU used since its driver was loaded.
      resets: driver reload
      origins:
        - {source: dcgm, name: DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION, scale: 0.001}
"""

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Literal

import yaml
from pydantic import ConfigDict, TypeAdapter


class Kind(StrEnum):
    COUNTER = "counter"  # monotonic until a reset: use its rate
    GAUGE = "gauge"
    STATE = "state"  # a small set of values, 1 = good where there are two
    PEAK = "peak"  # the maximum since something cleared it (label ``reset``): never rate or sum
    INFO = "info"  # always 1: the labels are the message


@dataclass(frozen=True, slots=True)
class Origin:
    """The name of a metric in one source.

    source: a source of ``sources.yaml``: dcgm, node_exporter, lustre, sonic, openconfig, arista, …
    name:   exposition: the sample's name; gNMI: the path, with labels in braces: ``COUNTERS/{port}/SAI_…``.
    scale:  canonical value = source's value x scale.
    labels: canonical label -> text with the source's labels in braces ("{device}/{port}"), or a constant.
    where:  only samples with these values of the source's labels; ``|`` separates alternatives.
    states: texts to values, for a source that sends words.
    bit:    the value is a bit mask, and this bit of it the canonical value.
    sum:    samples that become one canonical series add up.
    weight: a label of the source whose number also multiplies the value (the upper end of a bucket).

    In ``name`` a label in braces matches digits: ``node_ethtool_rx_prio{priority}_pause``. A label with empty text is
    left out.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")
    source: str
    name: str
    scale: float = 1.0
    labels: dict[str, str] = field(default_factory=dict)
    where: dict[str, str] = field(default_factory=dict)
    states: dict[str, float] = field(default_factory=dict)
    bit: int | None = None
    sum: bool = False
    weight: str = ""


@dataclass(frozen=True, slots=True)
class Metric:
    """One canonical metric. labels: in reading order; identity labels come first.

    width: bits of a counter, 64 unless it wraps earlier. minimum, maximum: values outside are no sample
    (sentinels, broken firmware); None is unbounded.
    saturates: bits of a counter that stays at its maximum instead of wrapping; that maximum is no sample. 0: none.
    refresh_s: how long the slowest source may repeat a value before it reads the hardware again; a repetition within it
    is no fresh sample. 0 where that is not certain.
    worse: on which side it is bad; '' where that depends: a GPU that draws less power waits, and one that draws more is
    late.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")
    name: str
    kind: Kind
    unit: str
    labels: tuple[str, ...]
    help: str
    width: int = 64
    resets: str = ""
    saturates: int = 0
    refresh_s: float = 0.0
    worse: Literal["higher", "lower", ""] = ""
    minimum: float | None = None
    maximum: float | None = None
    origins: tuple[Origin, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """How one source names its objects; ``sources.yaml`` explains the fields."""

    __pydantic_config__ = ConfigDict(extra="forbid")
    name: str
    help: str
    labels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    extra: dict[str, str] = field(default_factory=dict)
    parts: dict[str, str] = field(default_factory=dict)
    sentinels: tuple[tuple[float, float], ...] = ()


@cache
def metrics() -> dict[str, Metric]:
    """All metrics by name, in the files' order."""
    found: dict[str, Metric] = {}
    for file in sorted(files(__name__).iterdir(), key=lambda entry: entry.name):
        if not file.name.endswith(".yaml") or file.name == "sources.yaml":
            continue
        for name, entry in yaml.load(file.read_text(), yaml.CSafeLoader).items():
            if name in found:
                raise ValueError(f"{file.name}: {name} is duplicated in the catalogue")
            found[name] = _metric.validate_python({"name": name, **entry})
    return found


@cache
def sources() -> dict[str, Source]:
    """All sources by name."""
    entries = yaml.load(files(__name__).joinpath("sources.yaml").read_text(), yaml.CSafeLoader)
    return {name: _source.validate_python({"name": name, **entry}) for name, entry in entries.items()}


def origins_of(source: str) -> list[tuple[Metric, Origin]]:
    """Everything that one source can report."""
    return [(metric, origin) for metric in metrics().values() for origin in metric.origins if origin.source == source]


_metric = TypeAdapter(Metric)
_source = TypeAdapter(Source)
