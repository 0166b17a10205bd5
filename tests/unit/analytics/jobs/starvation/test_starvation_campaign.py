"""Faults of the simulated cluster, and what the ledger says that its GPUs waited for."""

from dataclasses import dataclass
from functools import cache

import pytest

from analytics.config import EngineConfig
from analytics.engine import Engine
from analytics.worker import build_engine
from simulator.config import JobMix, SimulatorConfig
from simulator.direct import campaign
from simulator.faults.schedule import ScheduledFault
from telemetry.starvation import HostLosses, WaitCause
from tests.unit.analytics.restart import restarted

INTERVAL_S, BEGINS_S, LASTS_S, ENDS_S = 10, 160, 120, 300
HOSTS, GPUS = 4, 32
HEALTHY = ""
THROTTLE = WaitCause.THROTTLE
CAUSE_OF = {
    "slow-storage-target": WaitCause.STORAGE,
    "slow-receiver": WaitCause.FABRIC,
    "incast": WaitCause.FABRIC,
    "straggler-gpu": WaitCause.PEER,
}


@dataclass(frozen=True)
class Story:
    """losses: the newest of each host, by its name. iterations: of the job. root: name of what was broken."""

    losses: dict[str, HostLosses]
    iterations: int
    root: str

    def seconds(self, cause: WaitCause) -> float:
        return sum(gpu.lost_s.get(cause, 0.0) for host in self.losses.values() for gpu in host.gpus)

    @property
    def lost_s(self) -> float:
        return sum(map(self.seconds, WaitCause))

    @property
    def watched_s(self) -> float:
        return sum(gpu.watched_s for host in self.losses.values() for gpu in host.gpus)

    @property
    def worst(self) -> WaitCause:
        return max(WaitCause, key=self.seconds)


@cache
def story(fault: str, restarts: bool = False, target: str = "", checkpoint_period_s: float = 1e6) -> Story:
    jobs = JobMix(jobs=1, load_bytes=1.5e9, checkpoint_period_s=checkpoint_period_s, lifetime_s=1e6)
    config = SimulatorConfig(hosts=HOSTS, interval_s=INTERVAL_S, jobs=jobs, seed=3)
    faults = [ScheduledFault(fault=fault, at_s=BEGINS_S, lasts_s=LASTS_S, target=target)] if fault else []
    engine, cluster = _engine(), None
    losses: dict[str, HostLosses] = {}
    for number, tick in enumerate(campaign(config, faults, ENDS_S)):
        cluster = tick.cluster
        engine.add_facts(tick.facts)
        for batch in tick.batches:
            engine.observe(batch)
        engine.advance()
        losses |= {told.device: told for told in engine.starvation.pop_due()}
        if restarts and number % 4 == 3:
            engine = restarted(engine, _engine())
    assert cluster is not None
    root = cluster.truth[0].root.name if fault else ""
    return Story(losses, cluster.readings.jobs[0].iterations, root)


def _engine() -> Engine:
    return build_engine(EngineConfig(interval_s=INTERVAL_S))


def test_a_healthy_job_loses_little() -> None:
    healthy = story(HEALTHY)
    assert healthy.watched_s == pytest.approx(GPUS * (ENDS_S - 60), rel=0.15)
    assert healthy.lost_s < 0.03 * healthy.watched_s


@pytest.mark.parametrize("fault", CAUSE_OF)
def test_lost_time_has_the_cause_of_the_fault(fault: str) -> None:
    told = story(fault)
    assert told.worst is CAUSE_OF[fault]
    assert told.seconds(told.worst) > 0.8 * told.lost_s


@pytest.mark.parametrize("fault", CAUSE_OF)
def test_lost_time_is_what_the_job_did_not_do(fault: str) -> None:
    told, healthy = story(fault), story(HEALTHY)
    slowed = (1.0 - told.iterations / healthy.iterations) * told.watched_s
    assert told.lost_s == pytest.approx(slowed, rel=0.15)


def test_a_slow_gpu_holds_its_peers_up_and_itself_waits_for_nobody() -> None:
    own_causes = {"straggler-gpu": THROTTLE, "gpu-thermal-throttle": THROTTLE, "hung-gpu": WaitCause.HUNG}
    for fault, cause in own_causes.items():
        told = story(fault)
        for host in told.losses.values():
            for gpu in host.gpus:
                own = f"{host.device}/{gpu.gpu}" == told.root
                expected, other = (cause, WaitCause.PEER)[:: 1 if own else -1]
                assert gpu.lost_s[expected] > 5.0
                assert gpu.lost_s.get(other, 0.0) == 0.0


def test_checkpoints_are_told_from_reading() -> None:
    told = story(HEALTHY, checkpoint_period_s=100.0)
    assert told.worst is WaitCause.CHECKPOINT
    assert told.seconds(WaitCause.CHECKPOINT) > 0.8 * told.lost_s


def test_no_second_has_two_causes() -> None:
    for told in (story(fault) for fault in (HEALTHY, *CAUSE_OF)):
        for host in told.losses.values():
            for gpu in host.gpus:
                assert 0.0 <= sum(gpu.lost_s.values()) <= gpu.watched_s


def test_a_restart_changes_nothing() -> None:
    assert story("slow-receiver", restarts=True) == story("slow-receiver")
