"""CollectionConfig: what stands between the simulated cluster and whoever consumes its telemetry.

Every default is the ideal: each target is read once an interval of the cluster, with the values of that moment.
"""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from telemetry import catalogue

Seconds = Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Timing(_Frozen):
    """When one group of series is collected, and how old its values are then.

    Of several intervals each target has one, drawn by the seed, and a phase of its own.
    """

    interval_s: tuple[Seconds, ...] = Field((), description="time between two collections; empty: the cluster's")
    jitter_s: float = Field(0.0, ge=0, le=60, description="a collection begins up to so much later, uniform")
    refresh_s: tuple[Seconds, ...] = Field((), description="age that values may reach; empty: read at each collection")
    refresh_jitter_s: float = Field(0.0, ge=0, le=60, description="a refresh happens up to so much later, uniform")

    @model_validator(mode="after")
    def _in_order(self) -> "Timing":
        for name, jitter_s, periods in (
            ("jitter_s", self.jitter_s, self.interval_s),
            ("refresh_jitter_s", self.refresh_jitter_s, self.refresh_s),
        ):
            if periods and jitter_s >= min(periods):
                raise ValueError(f"{name} {jitter_s:g}: expected less than the shortest period, {min(periods):g}")
        return self


class Durations(_Frozen):
    """How long polls of exporters take: log-normal. Streams (gNMI) have no duration but the window of a batch.

    timeout_s: a poll that takes longer fails with that duration; at most the target's interval.
    """

    median_s: float = Field(0.01, gt=0, le=60)
    sigma: float = Field(0.0, ge=0, le=3, description="standard deviation of the duration's natural logarithm")
    timeout_s: float = Field(10.0, gt=0, le=600)


class Losses(_Frozen):
    """Bursts of lost collections: each target is in a good or a bad state (Gilbert 1960, Elliott 1963).

    The states change in continuous time, so a burst lasts as long for a target that is read every second as for one
    that is read every minute. See ``simulator.collection.losses``.
    """

    bad_share: float = Field(0.0, ge=0, le=0.5, description="share of time that a target is in the bad state")
    burst_s: Seconds = Field(40.0, description="mean time in the bad state")
    loss_in_bad: Share = Field(1.0, description="share of collections that are lost in the bad state")
    loss_in_good: Share = Field(0.0, description="the same in the good state")
    failed_share: Share = Field(0.5, description="share of bursts that the collector sees as failures; others vanish")
    worse_share: Share = Field(0.0, description="share of targets that are worse than others")
    worse_factor: float = Field(1.0, ge=1, le=50, description="of those the bad share, times this, at most 0.5")


class Clocks(_Frozen):
    """Clocks of sources that put their own time on samples (gNMI). Scraped samples have the collector's time."""

    skewed_share: Share = Field(0.0, description="share of these sources whose clock is wrong")
    offset_s: float = Field(0.0, ge=0, le=240, description="wrong by up to this, either way, uniform")
    drift_ppm: float = Field(0.0, ge=0, le=500, description="and gaining or losing up to this, uniform")


class Inventory(_Frozen):
    """What the records of the cluster say, compared with what it is. Shares are of links, devices, hosts or GPUs."""

    known: bool = Field(True, description="False: no fact but those about jobs")
    age_s: float = Field(0.0, ge=0, le=86_400 * 365, description="how long ago it was observed")
    links_missing: Share = 0.0
    links_elsewhere: Share = Field(0.0, description="host links recorded at the NIC of another one of them")
    racks_missing: Share = Field(0.0, description="devices without a rack")
    racks_exchanged: Share = Field(0.0, description="hosts that are recorded in another host's rack")
    gpus_missing: Share = 0.0
    hosts_replaced: Share = Field(0.0, description="hosts whose GPUs are those of the machine before this one")


class CollectionConfig(_Frozen):
    """How the telemetry of a simulated cluster is collected. ``CollectionConfig()`` is ideal; presets: ``PRESETS``."""

    states: Timing = Field(Timing(), description="switches: whether ports are up, and their speed")
    ports: Timing = Field(Timing(), description="switches: counters of ports")
    queues: Timing = Field(Timing(), description="switches: counters of queues")
    watermarks: Timing = Field(Timing(), description="switches: highest use of buffers")
    optics: Timing = Field(Timing(), description="switches: transceivers")
    dcgm: Timing = Field(Timing(), description="GPUs")
    node: Timing = Field(Timing(), description="hosts and their NICs")
    lustre: Timing = Field(Timing(), description="storage servers")
    durations: Durations = Durations()
    absent: tuple[str, ...] = Field((), description="metrics that no target has")
    losses: Losses = Losses()
    clocks: Clocks = Clocks()
    jobs_interval_s: tuple[Seconds, ...] = Field(
        (), description="time between two polls of Slurm, one of these by the seed; empty: nothing is late"
    )
    jobs_known: bool = Field(True, description="False: nobody asks Slurm, so no fact or change is about a job")
    sessions: bool = Field(False, description="switches: also the BGP sessions of their ports towards other switches")
    inventory: Inventory = Inventory()
    maintenance_announced: bool = Field(True, description="False: changes of kind maintenance are withheld")

    @field_validator("absent")
    @classmethod
    def _known(cls, absent: tuple[str, ...]) -> tuple[str, ...]:
        unknown = sorted(set(absent) - catalogue.metrics().keys())
        if unknown:
            raise ValueError(f"{', '.join(unknown)}: expected metrics of the catalogue")
        return absent
