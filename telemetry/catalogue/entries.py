"""What the files of the catalogue hold."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from pydantic import ConfigDict


class Kind(StrEnum):
    COUNTER = "counter"  # monotonic until a reset: use its rate
    GAUGE = "gauge"
    STATE = "state"  # a small set of values, 1 = good where there are two
    PEAK = "peak"  # the maximum since something cleared it (label ``reset``): never rate or sum
    INFO = "info"  # always 1: the labels are the message


@dataclass(frozen=True, slots=True)
class Origin:
    """The name of a metric in one system.

    source: the system: dcgm, node_exporter, lustre, sonic, openconfig, arista, …
    name:   exposition: the sample's name; gNMI: the path, with labels in braces: ``COUNTERS/{port}/SAI_…``.
    scale:  canonical value = source's value x scale.
    labels: canonical label -> text with the source's labels in braces ("{device}/{port}"), or a constant.
    where:  only samples with these values of the source's labels; ``|`` separates alternatives.
    states: texts to values, for a source that sends words.
    bit:    the value is a bit mask, and this bit of it the canonical value.
    clear:  the canonical value is 1 where that bit is not set.
    sum:    samples that become one canonical series add up.
    weight: a label of the source whose number also multiplies the value (the upper end of a bucket), or whose word does
            by ``states``: of one series for each word, of which one is 1, the sum is the state.

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
    clear: bool = False
    sum: bool = False
    weight: str = ""

    def __hash__(self) -> int:
        """By name alone: few entries of one system have the same."""
        return hash((self.source, self.name))


@dataclass(frozen=True, slots=True)
class Metric:
    """One canonical metric. labels: in reading order; identity labels come first.

    width: bits of a counter, 64 unless it wraps earlier. minimum, maximum: values outside are no sample
    (sentinels, broken firmware); None is unbounded, and a counter without a minimum has 0.
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

    def __post_init__(self) -> None:
        if self.kind is Kind.COUNTER and self.minimum is None:
            object.__setattr__(self, "minimum", 0.0)


@dataclass(frozen=True, slots=True)
class Ignored:
    """Names that a system sends and the catalogue leaves out. They are no news to whoever reads what is not mapped.

    names: as in a shell, ``go_*``. Of a name that is mapped by its labels: its other series.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")
    names: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Source:
    """A system: how it is collected, how it names devices, ports, GPUs and other objects, what it calls each metric.

    formats:   how it hands out its values; each is a folder of ``ingest/collectors/``.
    labels:    canonical label -> texts with the source's labels in braces; the first one whose labels are all present
               is used. An empty text at the end: the label may be absent. A canonical label without a rule is taken
               from the source's label of the same name. ``device`` is configuration, but for a system that speaks for
               others (a fabric manager): where its rule for it applies, the series is about the device named there.
    extra:     labels that are added to every series whose sample carries them.
    parts:     source label -> pattern; its named groups become labels of the source.
    sentinels: closed ranges of values that mean "no value".
    pages:     real payloads in ``tests/data/samples`` by which its names are tested -> the path or resource of one,
               "" where that stands in it; ``docs/sources.md`` shows how much of them is read.
    ignored:   what it sends and the catalogue leaves out, and why.
    metrics:   canonical metric -> its names here; the first one of a body or message that gives a series counts.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")
    name: str
    help: str
    formats: tuple[str, ...] = ()
    labels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    extra: dict[str, str] = field(default_factory=dict)
    parts: dict[str, str] = field(default_factory=dict)
    sentinels: tuple[tuple[float, float], ...] = ()
    pages: dict[str, str] = field(default_factory=dict)
    ignored: tuple[Ignored, ...] = ()
    metrics: dict[str, tuple[Origin, ...]] = field(default_factory=dict)

    def __hash__(self) -> int:
        """By name alone: few systems have the same."""
        return hash(self.name)
