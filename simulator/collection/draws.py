"""What chance decides about the collection of each target: a function of the seed and of the target's name."""

from dataclasses import dataclass

import numpy as np

from common.units import NS_PER_S
from simulator.collection.clocks import Clock, draw_clock
from simulator.collection.config import Clocks, CollectionConfig, Losses, Timing
from simulator.collection.groups import GROUPS, SeriesGroup
from simulator.collection.losses import LossState
from simulator.collection.schedule import GroupTimes, Turn, on_grid, one_of
from simulator.layout import Endpoint, Exporter

_CONNECTED_S = 3600.0  # targets were connected within this time before the start
_SLURM = "slurm"


@dataclass(frozen=True, slots=True)
class TargetDraws:
    """One target. times: of each of its groups. timeout_s: of its polls. losses: None when nothing is lost.

    durations: draws those of its polls.
    """

    times: dict[SeriesGroup, GroupTimes]
    timeout_s: float
    losses: LossState | None
    clock: Clock
    durations: np.random.Generator


class Draws:
    """The draws of one run. interval_s: of the cluster, for what has none of its own. start_ns: of the simulation."""

    def __init__(self, config: CollectionConfig, seed: int, interval_s: float, start_ns: int) -> None:
        self._config, self._seed, self._interval_s, self._start_ns = config, seed, interval_s, start_ns

    def target(self, endpoint: Endpoint, part: int = 0, parts: int = 1) -> TargetDraws:
        """part, parts: of the cluster's interval, for a target without an interval of its own."""
        config, name = self._config, f"{endpoint.exporter}/{endpoint.address}"
        turn = Turn(self._interval_s, part, parts)
        connected_ns = round(float(self.rng("phase", name).uniform(0.0, _CONNECTED_S)) * NS_PER_S)
        times = {}
        for group in GROUPS[endpoint.exporter]:
            timing: Timing = getattr(config, group)
            times[group] = GroupTimes(timing, turn, connected_ns, self.rng("times", name, group))
        clocks = config.clocks if endpoint.exporter is Exporter.GNMI else Clocks()
        return TargetDraws(
            times,
            min(config.durations.timeout_s, *(one.interval_s for one in times.values())),
            _loss_state(config.losses, endpoint.exporter, self.rng("losses", name)),
            draw_clock(clocks, self._start_ns, self.rng("clock", name)),
            self.rng("durations", name),
        )

    def job_polls(self) -> tuple[float, int]:
        """Time between two polls of Slurm in seconds, 0 when nothing is late, and when the first one is."""
        rng = self.rng("jobs")
        every_s = one_of(self._config.jobs_interval_s, rng)
        return every_s, on_grid(round(float(rng.random()) * every_s * NS_PER_S)) if every_s else 0

    def job_losses(self) -> LossState | None:
        return _loss_state(self._config.losses, Exporter.SLURM, self.rng("losses", _SLURM))

    def rng(self, *name: str) -> np.random.Generator:
        """Random numbers that depend on the seed and on this name alone."""
        return np.random.default_rng([self._seed, *"/".join(("collection", *name)).encode()])


def _loss_state(config: Losses, exporter: Exporter, rng: np.random.Generator) -> LossState | None:
    lossless = not config.bad_share and not config.loss_in_good
    return None if lossless else LossState(config, exporter, rng)
