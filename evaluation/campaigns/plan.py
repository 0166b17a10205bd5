"""Plans of campaigns: which fault breaks which simulated cluster when. A plan is a function of its seed."""

from dataclasses import dataclass

import numpy as np

from simulator.config import JobMix, SimulatorConfig
from simulator.faults import FAULTS, STANDARD
from simulator.faults.power import PlannedRebootWave
from simulator.faults.schedule import ScheduledFault

INTERVAL_S = 10.0
STEP_MS = 50  # the longest that the model allows: the queues are at their equilibria within a step in any case
WARM_UP_S = 300.0
PARTS = 4  # of an interval: each target is read in one of them
LASTS_S, RECOVERS_S = (50.0, 180.0), (170.0, 260.0)
STRENGTH = (0.5, 1.5)
HEALTHY_S, WAVE_AFTER_S = 3600.0, (900.0, 2700.0)  # every healthy hour has one planned wave of reboots
# Shares of collections: lost, and failed. A target never loses two consecutive ones: that would be silence.
LOST, FAILED = 0.004, 0.002
SINGLES, PAIRS = STANDARD, 4  # of one seed: every kind of fault alone, and this many overlapping pairs
WAVE = PlannedRebootWave.name
CAMPAIGN_FAULTS = 4  # in one campaign


@dataclass(frozen=True, slots=True)
class Plan:
    """One campaign: a simulated cluster, its faults, its length. seed: of the collections that are lost."""

    config: SimulatorConfig
    faults: tuple[ScheduledFault, ...]
    lasts_s: float
    seed: int

    @property
    def healthy(self) -> bool:
        """Whether it has no faults but announced maintenance."""
        return all(FAULTS[fault.fault].planned for fault in self.faults)


def faulty(seed: int) -> list[Plan]:
    """Campaigns with each kind of fault alone, at random times, targets and strengths, and one of ``PAIRS`` pairs."""
    rng = np.random.default_rng([seed, 1])
    kinds = [SINGLES[at] for at in rng.permutation(len(SINGLES))]
    alone: list[tuple[str, ...]] = [(kind,) for kind in kinds]
    pairs = [tuple(str(one) for one in rng.choice(SINGLES, 2, replace=False)) for _ in range(PAIRS)]
    groups_of = [alone[at : at + CAMPAIGN_FAULTS] for at in range(0, len(alone), CAMPAIGN_FAULTS)]
    return [_plan(rng, seed * 100 + number, groups) for number, groups in enumerate([*groups_of, pairs])]


def healthy(seed: int, hours: int = 1) -> Plan:
    """Hours without faults: jobs start, write checkpoints and end, some collections are lost, and hosts reboot in
    announced waves."""
    rng = np.random.default_rng([seed, 2])
    config = _config(rng, seed * 100 + 99)
    begins_s = [hour * HEALTHY_S + float(rng.uniform(*WAVE_AFTER_S)) for hour in range(hours)]
    waves = tuple(ScheduledFault(fault=WAVE, at_s=at_s) for at_s in begins_s)
    return Plan(config, waves, hours * HEALTHY_S, seed)


def _plan(rng: np.random.Generator, seed: int, groups: list[tuple[str, ...]]) -> Plan:
    """Groups of faults one after the other, each with time to recover; the faults of a group overlap."""
    at_s, faults = WARM_UP_S, []
    for group in groups:
        at_s += float(rng.uniform(0.0, 2 * INTERVAL_S))
        over_s = at_s
        for position, kind in enumerate(group):
            begins_s = at_s + position * float(rng.uniform(0.0, 4 * INTERVAL_S))
            lasts_s = FAULTS[kind].lasts_s or float(rng.uniform(*LASTS_S))
            strength = float(rng.uniform(*STRENGTH))
            faults.append(ScheduledFault(fault=kind, at_s=begins_s, lasts_s=lasts_s, strength=strength))
            over_s = max(over_s, begins_s + lasts_s)
        at_s = over_s + float(rng.uniform(*RECOVERS_S))
    return Plan(_config(rng, seed), tuple(faults), at_s, seed)


def _config(rng: np.random.Generator, seed: int) -> SimulatorConfig:
    mix = JobMix(
        jobs=int(rng.integers(1, 4)),
        compute_s=float(rng.uniform(0.8, 2.0)),
        checkpoint_period_s=float(rng.uniform(120.0, 300.0)),
        lifetime_s=float(rng.uniform(600.0, 1800.0)),
    )
    return SimulatorConfig(hosts=8, jobs=mix, seed=seed, step_ms=STEP_MS, interval_s=INTERVAL_S)
