"""Settings of the analytics stage."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, field_validator

from analytics.models.multivariate.config import MultivariateConfig
from analytics.models.pace import WARMUP, Pace
from telemetry import catalogue
from telemetry.limits import LOSSLESS_QUEUES, PAUSE_RATIO_MAX, PAUSE_THRESHOLD_BYTES

# Of these it is not known what a bad value is, only that healthy ones repeat themselves.
_SCORED = {
    "nic_pcie_stalled_ratio": 0.1,
    "rdma_out_of_sequence_total": 10.0,
    "rdma_packet_sequence_errors_total": 10.0,
    "rdma_ack_timeouts_total": 1.0,
    "gpu_pcie_replays_total": 1.0,
    "gpu_nvlink_errors_total": 1.0,
    # What the correlation takes for an effect (telemetry/kinds/effects.yaml) when it rises. Why no others, with what
    # was measured: docs/evaluation/scoring.md
    "nic_pfc_pause_seconds_total": 0.1,
    "fabric_port_errors_total": 1.0,
    "ib_port_receive_errors_total": 1.0,
    "fabric_transceiver_temperature_celsius": 60.0,
}


# What is collected reaches the bus within a fraction of this, however long the interval: exporters answer within tenths
# of a second, and ingest waits for hundredths (``linger_s``). Assumption: all of it takes a second at most.
HOLDBACK_NS_MAX = 10**9
# Parts of a tick; hard evidence waits for the end of one alone. Why: docs/decisions/2026-11-25-light-ticks.md
LIGHT_TICKS = 4


class DetectionConfig(BaseModel):
    """Limits that depend on the site and not on a standard; everything else is a constant beside its detector."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    lossless_queues: tuple[str, ...] = Field(
        LOSSLESS_QUEUES, description="Queues and priorities on which PFC is enabled."
    )
    link_bits_per_second: float = Field(400e9, gt=0, description="Speed of a link that reports none.")
    pause_ratio_max: float = Field(PAUSE_RATIO_MAX, gt=0, le=1, description="Share of time that a port may be paused.")
    pause_threshold_bytes: float = Field(
        PAUSE_THRESHOLD_BYTES,
        gt=0,
        description="Buffer use of a queue at which a switch of unknown ASIC sends PFC pause (XOFF).",
    )
    collective_baseline_share: float = Field(
        0.5,
        gt=0,
        le=1,
        description="Share of the bus bandwidth of nccl-tests that collectives of jobs reach; less is reported.",
    )
    trend_horizon_days: float = Field(14.0, gt=0, description="What will reach its limit within this time is reported.")
    trend_history_days: float = Field(3.0, ge=1, description="History that such a forecast rests on at least.")
    scored: dict[str, PositiveFloat] = Field(
        _SCORED, description="Metrics with an anomaly score (1 KiB a series), and the least of each that matters."
    )

    @field_validator("scored")
    @classmethod
    def _known(cls, scored: dict[str, float]) -> dict[str, float]:
        unknown = sorted(scored.keys() - catalogue.metrics().keys())
        if unknown:
            raise ValueError(f"{', '.join(unknown)}: expected metrics of the catalogue")
        return scored


class EngineConfig(BaseModel):
    """Settings of the pure engine: all of them change its results. What each costs of a snapshot: docs/state.md."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    interval_s: float = Field(10.0, gt=0, description="Collection interval of the targets.")
    holdback_s: float | None = Field(
        None,
        ge=0,
        description="How long a tick waits for late batches, in event time; default 1, half an interval at most.",
    )
    series_max: int = Field(2_000_000, gt=0, description="Series kept; samples of further ones are dropped.")
    series_ttl_s: float = Field(3600.0, gt=0, description="A series that is silent for so long is forgotten.")
    baseline_horizon_s: float = Field(1800.0, gt=0, description="Time constant of the baselines.")
    baseline_follow_s: float = Field(1800.0, gt=0, description="After so long a new level is the normal one.")
    reported_follow_s: float = Field(
        86_400.0, gt=0, description="The same where there is a finding about it: a fault may last for a day."
    )
    detection: DetectionConfig = DetectionConfig()
    multivariate: MultivariateConfig = MultivariateConfig()

    @property
    def baseline(self) -> Pace:
        alpha = min(1.0, self.interval_s / self.baseline_horizon_s)
        return Pace(alpha, WARMUP, max(2, round(self.baseline_follow_s / self.interval_s)))

    @property
    def interval_ns(self) -> int:
        return round(self.interval_s * 1e9)

    def reported_since_ns(self, end_ns: int) -> int:
        """Since when findings have to be active by ``end_ns`` for what they are about not to be the normal yet."""
        return end_ns - round(self.reported_follow_s * 1e9)

    @property
    def light_tick_ns(self) -> int:
        return max(1, self.interval_ns // (2 * LIGHT_TICKS))

    @property
    def tick_ns(self) -> int:
        return LIGHT_TICKS * self.light_tick_ns

    @property
    def holdback_ns(self) -> int:
        if self.holdback_s is None:
            return min(HOLDBACK_NS_MAX, self.interval_ns // 2)
        return round(self.holdback_s * 1e9)


class AnalyticsConfig(BaseModel):
    """Settings of the analytics stage."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    engine: EngineConfig = EngineConfig()
    state_dir: Path = Field(Path("data/analytics"), description="Folder of the snapshot.")
    snapshot_every_s: float = Field(30.0, gt=0, description="Time between two snapshots.")
    report_every_s: float = Field(5.0, gt=0, description="Time between two reports on the ledger topic.")
    records_max: int = Field(1000, gt=0, description="Records taken from the bus at once.")
    aligned_samples_max: int = Field(
        4_000_000, gt=0, description="Samples held while partitions are brought back into one order of time."
    )
    instance: str = Field("analytics-0", description="Name of this process on the ledger.")
